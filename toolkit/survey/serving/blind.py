"""Blind signatures, which let a server admit each invited person once without linking reports to invitations.

This module is experimental. The browser blinds a random nonce with a random factor, the server signs the blinded
message in exchange for an invitation, and the browser removes the factor and keeps (nonce, signature). This pair is
sent with the report. The pair proves only that some invited person sent the report, because for every report and every
signature request there is a factor that would connect them.

The signed message is nonce || hash of the survey, under RSABSSA-SHA384-PSS-Randomized of RFC 9474 with the nonce as the
RFC's random prefix. A token is therefore valid for a single survey, and one key serves all its respondents. The scheme
has three limits: a person is hidden only among the holders of unused tokens, the operator sees network addresses, and a
token can be sold. The running time of Python's arithmetic depends on its operands, so the server blinds every message
again before it signs.

References
----------
Denis, Jacobs, Wood (2023). RSA Blind Signatures. RFC 9474.
"""

import hashlib
import json
import math
import os
import secrets
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from toolkit.core.checks import check_integer, reject
from toolkit.core.extras import check_extras

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey

NONCE_BYTES = 32
_SALT_BYTES = 48
_EXPONENT = 65537
_KEY_BITS = (2048, 3072, 4096)


class BlindError(ValueError):
    """An invalid blinded message, signature or token; the message reveals no details to its sender."""


@dataclass(frozen=True)
class Issuer:
    """The public key, with which browsers blind messages and the server verifies reports."""

    n: int
    e: int

    @property
    def n_bytes(self) -> int:
        return (self.n.bit_length() + 7) // 8

    @cached_property
    def _key(self) -> "RSAPublicKey":
        check_extras("cryptography")
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers

        return RSAPublicNumbers(self.e, self.n).public_key()

    def verify(self, message: bytes, signature: bytes) -> bool:
        """Return whether this is a signature of the prepared message under this key."""
        check_extras("cryptography")
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.padding import MGF1, PSS
        from cryptography.hazmat.primitives.hashes import SHA384

        try:
            self._key.verify(signature, message, PSS(MGF1(SHA384()), _SALT_BYTES), SHA384())
        except InvalidSignature:
            return False
        return True

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(json.dumps(self.to_dict()).encode()).hexdigest()

    def to_dict(self) -> dict[str, str]:
        """Return modulus and exponent as hexadecimal text, the form in which the page embeds them."""
        return {"n": self.n.to_bytes(self.n_bytes).hex(), "e": self.e.to_bytes((self.e.bit_length() + 7) // 8).hex()}


@dataclass(frozen=True)
class IssuerKey:
    """The private key that issues blind signatures. `repr` does not show the key."""

    issuer: Issuer
    _d: int = field(repr=False)
    _p: int = field(repr=False)
    _q: int = field(repr=False)

    @classmethod
    def generate(cls, bits: int = 2048) -> "IssuerKey":
        check_extras("cryptography")
        from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key

        if check_integer(bits, "bits") not in _KEY_BITS:
            reject("`bits` must be 2048, 3072 or 4096", bits, "shorter keys can be broken, and other sizes are unusual")
        return cls._from_rsa(generate_private_key(_EXPONENT, bits))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "IssuerKey":
        check_extras("cryptography")
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        try:
            key = load_pem_private_key(Path(path).read_bytes(), password=None)
        except ValueError:
            key = None
        if not isinstance(key, RSAPrivateKey):
            reject(
                "the issuer's key must be an RSA key in a PEM file without a password",
                path,
                "the server could not sign tokens with it",
            )
        return cls._from_rsa(key)

    @classmethod
    def _from_rsa(cls, key: "RSAPrivateKey") -> "IssuerKey":
        numbers = key.private_numbers()
        public = numbers.public_numbers
        return cls(Issuer(public.n, public.e), numbers.d, numbers.p, numbers.q)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a new PEM file that only its owner can read; never overwrite an existing file."""
        check_extras("cryptography")
        from cryptography.hazmat.primitives import serialization as form
        from cryptography.hazmat.primitives.asymmetric import rsa

        p, q, d = self._p, self._q, self._d
        public = rsa.RSAPublicNumbers(self.issuer.e, self.issuer.n)
        numbers = rsa.RSAPrivateNumbers(
            p, q, d, rsa.rsa_crt_dmp1(d, p), rsa.rsa_crt_dmq1(d, q), rsa.rsa_crt_iqmp(p, q), public
        )
        pem = numbers.private_key().private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(pem)

    def sign(self, blinded: bytes) -> bytes:
        """Compute the blind signature `blinded ** d mod n`; the base is blinded again, and the result is verified."""
        n, e = self.issuer.n, self.issuer.e
        message = int.from_bytes(blinded)
        if len(blinded) != self.issuer.n_bytes or not 0 < message < n:
            raise BlindError("A blinded message is a number below the issuer's modulus, in as many bytes.")
        factor, inverse = _draw_factor(n)
        signature = self._private_power(message * pow(factor, e, n) % n) * inverse % n
        # A computation error modulo only one of the two primes would reveal the private key (Boneh et al. 1997).
        if pow(signature, e, n) != message:
            raise BlindError("The signature could not be made.")
        return signature.to_bytes(self.issuer.n_bytes)

    def _private_power(self, base: int) -> int:
        """Compute `base ** d mod n` by the Chinese remainder theorem, which is four times as fast as a single power."""
        p, q, d = self._p, self._q, self._d
        mod_p, mod_q = pow(base, d % (p - 1), p), pow(base, d % (q - 1), q)
        return mod_q + (mod_p - mod_q) * pow(q, -1, p) % p * q


def prepare_message(nonce: bytes, message: bytes) -> bytes:
    """Return the bytes to sign: the random prefix followed by the message (here the hash of the survey)."""
    if len(nonce) != NONCE_BYTES:
        raise BlindError("A nonce has 32 bytes.")
    return nonce + message


def _draw_factor(modulus: int) -> tuple[int, int]:
    """Draw a uniform invertible number below n; return it with its inverse."""
    while True:
        factor = 1 + secrets.randbelow(modulus - 1)
        if math.gcd(factor, modulus) == 1:
            return factor, pow(factor, -1, modulus)
