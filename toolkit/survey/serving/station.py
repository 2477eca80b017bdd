"""Stations: the researchers' devices, on which many people answer one after the other, even without a network.

A station's link contains a secret and a number of uses. Each use is a token derived from the secret and the number of
the use, and the server accepts each token once, as with personal links. A station with n uses can therefore send at
most n reports. Reports wait on the device, encrypted with the collection's public key and padded to the same length, so
that neither somebody who finds the device nor its next user can read them. When the reports are sent, they are matched
with tokens at random, and they do not contain the station's link.

A report is encrypted with AES-256-GCM. HKDF with SHA-256 derives the key from an ECDH exchange on P-256 with a fresh
key pair and binds it to both public keys. Since each key is used once, the nonce is zero. The collection's private key
is stored in its database and deleted on close, after which waiting reports can never be decrypted. A station therefore
returns its unused tokens when it is removed from its tablet. Closing a collection requires that all stations have
returned their unused tokens, or that the researcher gives them up.

References
----------
Krawczyk, Eronen (2010). HMAC-based Extract-and-Expand Key Derivation Function (HKDF). RFC 5869.
"""

import base64
import hashlib
import secrets
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from toolkit.core.checks import check_integer, reject
from toolkit.core.extras import check_extras
from toolkit.survey.serving.access import TOKEN_BYTES, token_hash
from toolkit.survey.serving.payload import TOKEN, PayloadError, padded_length, parse_json
from toolkit.survey.spec import Survey
from toolkit.survey.storage import Collection

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

KEY_SETTING = "station key"
"""The setting of a collection with the private key; it is deleted on close."""
MAX_USES = 10_000
MAX_RETURNED_USES = 1_000
"""Largest number of uses that a station returns in one request, given the limit on a request's body."""
_MAX_REPORT_BYTES = 45_000  # when encrypted and in base64, a report must stay below the limit on a request's body
_POINT_BYTES = 65  # bytes of a point on the curve


def station_padded_length(survey: Survey) -> int:
    """Return the length in bytes to which a station pads every report: at least that of the longest possible report."""
    length = padded_length(survey)
    if length > _MAX_REPORT_BYTES:
        rule = f"on a station the longest possible report must stay below {_MAX_REPORT_BYTES} bytes"
        reject(rule, length, "all reports are padded to this length; ask for fewer free texts")
    return length


def station_tokens(secret: str, n_uses: int) -> list[str]:
    digests = (hashlib.sha256(f"{secret}:{use}".encode()).digest()[:TOKEN_BYTES] for use in range(n_uses))
    return [base64.urlsafe_b64encode(digest).decode().rstrip("=") for digest in digests]


def new_station_link(url: str, n_uses: int) -> tuple[str, list[str]]:
    """Make a link for a station; return the link and the tokens for its uses."""
    secret = secrets.token_urlsafe(TOKEN_BYTES)
    tokens = station_tokens(secret, check_integer(n_uses, "uses", maximum=MAX_USES))
    return f"{url.partition('#')[0].rstrip('/')}/station#s={secret}.{n_uses}", tokens


@dataclass(frozen=True)
class StationKey:
    """The private key that decrypts reports from stations. `repr` does not show the key."""

    private_value: int = field(repr=False)

    @classmethod
    def generate(cls) -> "StationKey":
        check_extras("cryptography")
        from cryptography.hazmat.primitives.asymmetric import ec

        return cls(ec.generate_private_key(ec.SECP256R1()).private_numbers().private_value)

    @classmethod
    def load_or_create(cls, store: Collection) -> "StationKey | None":
        """Return the key of a collection, which is generated once and stored; None if the survey has no stations."""
        if store.survey().field is None:
            return None
        number = store.get_setting(KEY_SETTING) or store.set_default(KEY_SETTING, f"{cls.generate().private_value:x}")
        return cls(int(number, 16))

    @cached_property
    def _key(self) -> "EllipticCurvePrivateKey":
        check_extras("cryptography")
        from cryptography.hazmat.primitives.asymmetric import ec

        return ec.derive_private_key(self.private_value, ec.SECP256R1())

    @cached_property
    def public_key(self) -> str:
        """The public key as an uncompressed point in hexadecimal digits, the form that stations expect."""
        numbers = self._key.public_key().public_numbers()
        return f"04{numbers.x:064x}{numbers.y:064x}"

    def decrypt(self, sealed: bytes) -> bytes:
        """Decrypt a report from a station; raise `PayloadError` for anything else."""
        check_extras("cryptography")
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        point = sealed[:_POINT_BYTES]
        try:
            station_key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
            shared = self._key.exchange(ec.ECDH(), station_key)
            key = HKDF(SHA256(), 32, salt=None, info=point + bytes.fromhex(self.public_key)).derive(shared)
            return AESGCM(key).decrypt(bytes(12), sealed[_POINT_BYTES:], None)
        except (ValueError, InvalidTag):
            pass  # an exception raised here would refer to the caught exception and thereby to the body
        raise PayloadError("This was not sealed for this collection.")


def parse_sealed(key: StationKey, raw: bytes) -> tuple[bytes, Any, str]:
    """Parse a station's request; return the report, its token, and the hash with which to acknowledge it."""
    data = parse_json(raw)
    if not isinstance(data, dict) or set(data) != {"sealed", "token"} or not isinstance(data["sealed"], str):
        raise PayloadError("A station's request must have exactly the fields sealed, token.")
    text = data["sealed"]
    try:
        sealed = base64.b64decode(text, validate=True)
    except ValueError:
        sealed = b""
    return key.decrypt(sealed), data["token"], hashlib.sha256(text.encode()).hexdigest()[:32]


def parse_returned_uses(raw: bytes) -> list[bytes]:
    """Parse the uses that a station returns; return the SHA-256 hashes of their tokens."""
    data = parse_json(raw)
    uses = data.get("tokens") if isinstance(data, dict) and len(data) == 1 else None
    if not isinstance(uses, list) or len(uses) > MAX_RETURNED_USES:
        raise PayloadError(f"A station must return its uses in the field tokens, at most {MAX_RETURNED_USES} of them.")
    if not all(isinstance(token, str) and TOKEN.fullmatch(token) for token in uses):
        raise PayloadError("Each token must be 22 letters, digits, - and _.")
    return [token_hash(token) for token in uses]
