"""The parts of a class collection: an address and a certificate in one step. tests/browser tests the whole."""

import datetime as dt
import re
import socket
import stat
from unittest import mock

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509 import load_pem_x509_certificate

from toolkit.teaching import certificate, classroom, open_class, own_address

HERE = "127.0.0.1"


def test_a_certificate_is_created_once_for_each_address(tmp_path):
    """Only its owner can read its private key."""
    made = certificate(tmp_path / "class", "192.0.2.7")
    assert stat.S_IMODE(made.private_key.stat().st_mode) == 0o600
    assert re.fullmatch("(?:[0-9A-F]{2}:){31}[0-9A-F]{2}", made.fingerprint)
    assert certificate(tmp_path / "class", "192.0.2.7") == made
    key = load_pem_private_key(made.private_key.read_bytes(), None)
    assert key.public_key() == load_pem_x509_certificate(made.certificate.read_bytes()).public_key()
    assert certificate(tmp_path / "class", "192.0.2.8").fingerprint != made.fingerprint


@pytest.mark.parametrize("days", [1, 90])
def test_a_certificate_is_renewed_when_less_than_a_day_is_left(tmp_path, monkeypatch, days):
    """Until then the same certificate is reused."""
    made, now = certificate(tmp_path, HERE, days=days), dt.datetime.now(dt.UTC)
    for hours, same in ((-0.1, True), (0.1, False)):
        later = now + dt.timedelta(days=days, hours=hours)
        monkeypatch.setattr(classroom, "_now", lambda later=later: later)
        assert (certificate(tmp_path, HERE, days=days) == made) is same
    parsed = load_pem_x509_certificate(made.certificate.read_bytes())
    assert parsed.not_valid_before_utc < later  # for the new one; a phone's clock may be almost an hour late
    assert later - parsed.not_valid_before_utc == pytest.approx(dt.timedelta(hours=1), abs=dt.timedelta(seconds=2))


def test_a_certificate_for_years_is_refused(tmp_path):
    with pytest.raises(ValueError, match="`days` must be at most 90, got 91"):
        certificate(tmp_path, HERE, days=91)


def test_a_collection_at_an_address_that_the_machine_had_before_is_said(tmp_path, monkeypatch):
    asked = []
    served = mock.Mock(url="https://192.0.2.8:8443/")
    monkeypatch.setattr("toolkit.survey.collector.start", lambda _, *given: asked.append(given) or served)
    assert open_class(None, folder=tmp_path, address="192.0.2.8", port=8443) is served
    with pytest.raises(ConnectionError, match=r"this machine's address, got 192\.0\.2\.8: the network has changed"):
        open_class(None, folder=tmp_path, address="192.0.2.9")
    database = f"sqlite:///{tmp_path / 'class.db'}"
    assert [(where, options.host, options.port) for where, options in asked] == [
        (database, "192.0.2.8", 8443),
        (database, "192.0.2.9", 0),
    ]


@pytest.mark.parametrize("answer", [OSError("no network"), HERE, "192.0.2.7"])
def test_the_address_of_the_classroom_is_that_of_the_network(monkeypatch, answer):
    """Without a network the message recommends the printed cards."""

    class Alone(socket.socket):
        def connect(self, _address):
            if isinstance(answer, OSError):
                raise answer

        def getsockname(self):
            return answer, 0

    monkeypatch.setattr(classroom.socket, "socket", Alone)
    if answer == "192.0.2.7":
        assert own_address() == answer
        return
    with pytest.raises(ConnectionError, match="or use the printed cards"):
        own_address()
