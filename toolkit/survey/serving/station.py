"""Stations: devices of the researchers on which many people answer, one after the other, also without a network.

A station's link carries a secret and a number of uses; each use is a token that is made from both, and the server lets
in each token once, as it does those of personal links. So n uses are n reports, whoever sends them how often. Reports
wait on the device sealed for the collection's key, all of one length: neither who finds the device nor its next user
can read them. Which use goes with which report is drawn when they are sent, and the link is in none of them.

A report is sealed by a fresh key of ECDH on P-256: HKDF with SHA-256 of the shared secret, bound to both public keys,
gives the key of AES-256-GCM, which is used once, and therefore with a nonce of zeros. The collection's private key lies
in its database until it is closed; what still waits then can never be opened. So a station gives its unused uses back
when it is removed from its tablet, and a collection is closed only when none is out, or when they are given up.

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

from toolkit.core.checks import reject, whole
from toolkit.core.extras import check_extras
from toolkit.survey.serving.access import TOKEN_BYTES, token_hash
from toolkit.survey.serving.payload import TOKEN, PayloadError, padded_length, parse_json
from toolkit.survey.spec import Survey
from toolkit.survey.storage import Collection

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

SETTING = "station key"
"""Where the private key is kept with a collection; it is forgotten when that is closed."""
MOST_USES = 10_000
MOST_RETURNED = 1_000
"""Uses that a station gives back at a time: more would not pass as the body of a request."""
_MOST_BYTES = 45_000  # of what is sealed: written in base64 it must pass as the body of a request
_POINT = 65  # bytes of a point on the curve


def sealed_length(survey: Survey) -> int:
    """Bytes to which every report is filled up: no fewer than the longest possible one has."""
    most = padded_length(survey)
    if most > _MOST_BYTES:
        rule = f"on a station the longest possible report must stay below {_MOST_BYTES} bytes"
        reject(rule, most, "all are filled up to one length; ask for fewer free texts")
    return most


def station_tokens(secret: str, uses: int) -> list[str]:
    digests = (hashlib.sha256(f"{secret}:{use}".encode()).digest()[:TOKEN_BYTES] for use in range(uses))
    return [base64.urlsafe_b64encode(digest).decode().rstrip("=") for digest in digests]


def new_station_link(url: str, uses: int) -> tuple[str, list[str]]:
    """A link for one station, and the tokens of its uses."""
    secret = secrets.token_urlsafe(TOKEN_BYTES)
    tokens = station_tokens(secret, whole(uses, "uses", most=MOST_USES))
    return f"{url.partition('#')[0].rstrip('/')}/station#s={secret}.{uses}", tokens


@dataclass(frozen=True)
class StationKey:
    """The private key that opens what stations have sealed. `repr` does not show it."""

    number: int = field(repr=False)

    @classmethod
    def generate(cls) -> "StationKey":
        check_extras("cryptography")
        from cryptography.hazmat.primitives.asymmetric import ec

        return cls(ec.generate_private_key(ec.SECP256R1()).private_numbers().private_value)

    @classmethod
    def of(cls, store: Collection) -> "StationKey | None":
        """The key of a collection whose survey has stations: made once, and then the same for every server."""
        if store.survey().field is None:
            return None
        number = store.get_setting(SETTING) or store.set_default(SETTING, f"{cls.generate().number:x}")
        return cls(int(number, 16))

    @cached_property
    def _key(self) -> "EllipticCurvePrivateKey":
        check_extras("cryptography")
        from cryptography.hazmat.primitives.asymmetric import ec

        return ec.derive_private_key(self.number, ec.SECP256R1())

    @cached_property
    def public(self) -> str:
        """The public key as stations take it: a point, in hexadecimal digits."""
        numbers = self._key.public_key().public_numbers()
        return f"04{numbers.x:064x}{numbers.y:064x}"

    def decrypt(self, sealed: bytes) -> bytes:
        """What a station has sealed; raises `PayloadError` for anything else."""
        check_extras("cryptography")
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        point = sealed[:_POINT]
        try:
            theirs = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
            shared = self._key.exchange(ec.ECDH(), theirs)
            key = HKDF(SHA256(), 32, salt=None, info=point + bytes.fromhex(self.public)).derive(shared)
            return AESGCM(key).decrypt(bytes(12), sealed[_POINT:], None)
        except (ValueError, InvalidTag):
            pass  # and not raised here: an error that another one was the context of would carry the body along
        raise PayloadError("This was not sealed for this collection.")


def parse_sealed(key: StationKey, raw: bytes) -> tuple[bytes, Any, str]:
    """What a station sends: the report, the token that comes with it, and the name by which it is acknowledged."""
    data = parse_json(raw)
    if not isinstance(data, dict) or set(data) != {"sealed", "token"} or not isinstance(data["sealed"], str):
        raise PayloadError("What a station sends must have exactly the fields sealed, token.")
    text = data["sealed"]
    try:
        sealed = base64.b64decode(text, validate=True)
    except ValueError:
        sealed = b""
    return key.decrypt(sealed), data["token"], hashlib.sha256(text.encode()).hexdigest()[:32]


def parse_returned_uses(raw: bytes) -> list[bytes]:
    """The SHA-256 of each use that a station gives back."""
    data = parse_json(raw)
    uses = data.get("tokens") if isinstance(data, dict) and len(data) == 1 else None
    if not isinstance(uses, list) or len(uses) > MOST_RETURNED:
        raise PayloadError(f"What a station gives back must be the field tokens, with at most {MOST_RETURNED} of them.")
    if not all(isinstance(token, str) and TOKEN.fullmatch(token) for token in uses):
        raise PayloadError("Each token must be 22 letters, digits, - and _.")
    return [token_hash(token) for token in uses]
