"""The phone's part of RSABSSA-SHA384-PSS of RFC 9474: it blinds a message that is to be signed, and unblinds the
signature.
"""

import hashlib
import secrets
from functools import cache

from toolkit.survey.serving.blind import IssuerKey

HASH_BYTES = 48  # SHA-384


@cache
def issuer_key(number=0):  # noqa: ARG001
    """Return one of a few keys; each is made once for all tests, because this takes half a second."""
    return IssuerKey.generate()


def blind(issuer, prepared, *, salt=None, inverse=None):
    """Return the blinded message and the inverse of the blinding factor."""
    n = issuer.n
    salt = secrets.token_bytes(HASH_BYTES) if salt is None else salt
    inverse = 1 + secrets.randbelow(n - 1) if inverse is None else inverse  # a divisor of n is not found by chance
    encoded = int.from_bytes(_encoded(prepared, n.bit_length() - 1, salt))
    return (encoded * pow(inverse, -issuer.e, n) % n).to_bytes(issuer.n_bytes), inverse


def unblind(issuer, signature, inverse):
    """Return the signature of the prepared message."""
    return (int.from_bytes(signature) * inverse % issuer.n).to_bytes(issuer.n_bytes)


def _encoded(message, bits, salt):
    """Return the EMSA-PSS encoding (RFC 8017, 9.1.1) with SHA-384 and MGF1, in `bits` bits."""
    length = (bits + 7) // 8
    digest = hashlib.sha384(bytes(8) + hashlib.sha384(message).digest() + salt).digest()
    block = bytes(length - len(salt) - HASH_BYTES - 2) + b"\x01" + salt
    mask = b"".join(hashlib.sha384(digest + i.to_bytes(4)).digest() for i in range(-(-len(block) // HASH_BYTES)))
    masked = bytearray(a ^ b for a, b in zip(block, mask, strict=False))
    masked[0] &= 0xFF >> (8 * length - bits)
    return bytes(masked) + digest + b"\xbc"
