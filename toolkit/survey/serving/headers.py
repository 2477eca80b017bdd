"""The headers of every answer, errors too: the page may load only its own files, and nothing of it stays
anywhere.
"""

import base64
import hashlib

from toolkit.survey import client

# The style stands in the page, so that nobody waits for one more answer; no other style has this hash.
_STYLE = base64.b64encode(hashlib.sha256(client.asset("style.css")).digest()).decode()

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        f"style-src 'sha256-{_STYLE}'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    )
)

HEADERS = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
