"""RFC 9474, appendix A: all four vectors, number for number; then attacks by strangers."""

import hashlib
import json
import secrets
from pathlib import Path

import pytest

from tests.survey.blinding import blind, issuer_key, unblind
from toolkit.survey.serving.blind import BlindError, Issuer, IssuerKey, prepare_message

RFC = json.loads((Path(__file__).parents[2] / "reference" / "rfc9474.json").read_text())
NAMES = [vector["name"] for vector in RFC["vectors"]]
P, Q, D = (int(RFC[name], 16) for name in "pqd")
RFC_KEY = IssuerKey(Issuer(int(RFC["n"], 16), int(RFC["e"], 16)), D, P, Q)
SURVEY = bytes(range(32))


def number(text):
    return int(text, 16)


def prepared(vector):
    return bytes.fromhex(vector["msg_prefix"] + RFC["msg"])


@pytest.fixture(scope="module")
def key():
    return issuer_key()


@pytest.fixture(scope="module")
def token(key):
    nonce = secrets.token_bytes(32)
    blinded, inverse = blind(key.issuer, prepare_message(nonce, SURVEY))
    return nonce, unblind(key.issuer, key.sign(blinded), inverse)


def test_the_key_of_the_rfc_is_consistent():
    assert RFC_KEY.issuer.n == P * Q
    assert [
        f"RSABSSA-SHA384-{pss}-{kind}" for kind in ("Randomized", "Deterministic") for pss in ("PSS", "PSSZERO")
    ] == NAMES


@pytest.mark.parametrize("vector", RFC["vectors"], ids=NAMES)
def test_blinding_gives_the_blinded_message_of_the_rfc(vector):
    salt, inverse = bytes.fromhex(vector["salt"]), number(vector["inv"])
    blinded, kept = blind(RFC_KEY.issuer, prepared(vector), salt=salt, inverse=inverse)
    assert blinded.hex() == vector["blinded_msg"]
    assert kept == inverse


@pytest.mark.slow
@pytest.mark.parametrize("vector", RFC["vectors"], ids=NAMES)
def test_signing_and_unblinding_give_the_signatures_of_the_rfc(vector):
    signature = RFC_KEY.sign(bytes.fromhex(vector["blinded_msg"]))
    assert signature.hex() == vector["blind_sig"]
    assert unblind(RFC_KEY.issuer, signature, number(vector["inv"])).hex() == vector["sig"]


@pytest.mark.parametrize("vector", RFC["vectors"], ids=NAMES)
def test_the_signature_of_the_rfc_verifies(vector):
    """The signature contains the encoded message, and verifies if it has a salt."""
    issuer, message, signature = RFC_KEY.issuer, prepared(vector), bytes.fromhex(vector["sig"])
    encoded = pow(number(vector["sig"]), issuer.e, issuer.n)
    assert encoded == number(vector.get("encoded_msg", f"{encoded:x}"))  # A.1 does not print it in full
    assert issuer.verify(message, signature) == ("PSSZERO" not in vector["name"])  # our encodings have a salt
    assert not issuer.verify(message + b"x", signature)


def test_a_token_of_the_randomized_variant_is_prefix_and_message():
    vector = RFC["vectors"][0]
    assert prepare_message(bytes.fromhex(vector["msg_prefix"]), bytes.fromhex(RFC["msg"])) == prepared(vector)


@pytest.mark.slow
@pytest.mark.parametrize("bits", [2048, 3072])
def test_whole_way_with_keys_of_both_sizes(bits):
    key = IssuerKey.generate(bits)
    nonce = secrets.token_bytes(32)
    blinded, inverse = blind(key.issuer, prepare_message(nonce, SURVEY))
    assert len(blinded) == key.issuer.n_bytes == bits // 8
    assert key.issuer.verify(prepare_message(nonce, SURVEY), unblind(key.issuer, key.sign(blinded), inverse))


@pytest.mark.slow
def test_a_token_is_of_one_survey_one_nonce_one_key(key, token):
    nonce, signature = token
    assert key.issuer.verify(prepare_message(nonce, SURVEY), signature)
    assert not key.issuer.verify(prepare_message(nonce, bytes(32)), signature)
    assert not key.issuer.verify(prepare_message(bytes(32), SURVEY), signature)
    assert not RFC_KEY.issuer.verify(prepare_message(nonce, SURVEY), signature)


@pytest.mark.parametrize("position", [0, 100, 255])
def test_one_changed_bit_of_a_signature_is_noticed(key, token, position):
    nonce, signature = token
    forged = bytearray(signature)
    forged[position] ^= 1
    assert not key.issuer.verify(prepare_message(nonce, SURVEY), bytes(forged))


@pytest.mark.parametrize("forged", [b"", b"\0" * 256, b"\xff" * 256, b"\0" * 255, b"\0" * 257, b"\0" * 255 + b"\1"])
def test_simple_forgeries_are_refused(key, token, forged):
    assert not key.issuer.verify(prepare_message(token[0], SURVEY), forged)


def test_signing_again_gives_the_same_signature(key):
    """The signer blinds the message anew each time."""
    blinded, _ = blind(key.issuer, prepare_message(bytes(32), SURVEY))
    assert key.sign(blinded) == key.sign(blinded)


def test_the_base_of_the_root_is_blinded_each_time(key, monkeypatch):
    """Its time therefore reveals nothing about the key."""
    bases, root = [], IssuerKey._private_power
    monkeypatch.setattr(IssuerKey, "_private_power", lambda self, base: bases.append(base) or root(self, base))
    blinded, _ = blind(key.issuer, prepare_message(bytes(32), bytes(32)))
    for _ in range(3):
        key.sign(blinded)
    assert len({*bases, int.from_bytes(blinded)}) == 4


def test_blinding_twice_gives_two_messages_that_no_one_can_connect(key):
    """Any blinded message fits any nonce: the factor that connects them exists and is invertible."""
    n, e, d = key.issuer.n, key.issuer.e, key._d
    mine, _ = blind(key.issuer, prepare_message(bytes(32), SURVEY))
    other, inverse = blind(key.issuer, prepare_message(b"\1" * 32, SURVEY))
    encoded = int.from_bytes(other) * pow(inverse, e, n) % n
    factor = pow(int.from_bytes(mine) * pow(encoded, -1, n) % n, d, n)
    assert mine != other
    assert encoded * pow(factor, e, n) % n == int.from_bytes(mine)


def test_what_is_no_blinded_message_is_not_signed(key):
    n, size = key.issuer.n, key.issuer.n_bytes
    for blinded in (b"", bytes(size), n.to_bytes(size), b"\xff" * size, bytes(size - 1), b"\1" * (size + 1)):
        with pytest.raises(BlindError):
            key.sign(blinded)
    assert key.sign((n - 1).to_bytes(size)) == (n - 1).to_bytes(size)  # (-1) ** d = -1: the largest valid value
    assert key.sign((1).to_bytes(size)) == (1).to_bytes(size)  # and the smallest


def test_a_fault_in_one_half_of_the_root_never_leaves(key):
    """Boneh, DeMillo, Lipton 1997: one signature that is right modulo p and wrong modulo q reveals the factors."""
    broken = IssuerKey(key.issuer, key._d + 2, key._p, key._q)
    with pytest.raises(BlindError):
        broken.sign(b"\1" * key.issuer.n_bytes)


def test_a_nonce_of_another_length_is_refused():
    with pytest.raises(BlindError):
        prepare_message(bytes(31), SURVEY)


@pytest.mark.slow
def test_the_key_file_is_private_never_overwritten_and_comes_back(key, tmp_path):
    path = tmp_path / "issuer.pem"
    key.save(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert IssuerKey.load(path) == key
    with pytest.raises(FileExistsError):
        key.save(path)
    path.write_text("no key")
    with pytest.raises(ValueError, match="must be an RSA key in a PEM file"):
        IssuerKey.load(path)


def test_nothing_secret_is_shown(key):
    for secret in (key._d, key._p, key._q):
        assert str(secret) not in repr(key)


def test_small_keys_are_refused():
    with pytest.raises(ValueError, match="must be 2048, 3072 or 4096"):
        IssuerKey.generate(1024)


def test_hexadecimal_of_the_page_keeps_whole_bytes():
    assert RFC_KEY.issuer.to_dict() == {"n": RFC["n"], "e": RFC["e"]}


def test_the_fingerprint_covers_both_numbers_of_a_key():
    """It remains the identifier that databases contain."""
    one = Issuer(n=3233, e=17)
    assert one.fingerprint == hashlib.sha256(b'{"n": "0ca1", "e": "11"}').hexdigest()
    assert len({one.fingerprint, Issuer(n=3127, e=17).fingerprint, Issuer(n=3233, e=7).fingerprint}) == 3
