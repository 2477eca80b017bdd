"""The headers of every answer, errors too: the page may load only its own files, and nothing of it stays anywhere."""

import base64
import hashlib

from toolkit.survey import client


class RefusalError(Exception):
    """A status of HTTP and a sentence of ours, never one of the client's."""

    def __init__(self, status: int, sentence: str, *, retry_after: int | None = None) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.retry_after = status, sentence, retry_after

    @property
    def headers(self) -> dict[str, str]:
        """When to come again."""
        return {} if self.retry_after is None else {"retry-after": str(self.retry_after)}


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
