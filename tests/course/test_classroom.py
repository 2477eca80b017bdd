"""A class that answers, in parts: an address, a certificate in one step. tests/browser has the whole."""

import datetime as dt
import re
import socket
import stat

import pytest

from toolkit.course import certificate, classroom, own_address

HERE = "127.0.0.1"


def test_a_certificate_is_made_once_for_an_address_and_its_key_is_for_its_owner_alone(tmp_path):
    made = certificate(tmp_path / "class", "192.0.2.7")
    assert stat.S_IMODE(made.private_key.stat().st_mode) == 0o600
    assert re.fullmatch("(?:[0-9A-F]{2}:){31}[0-9A-F]{2}", made.fingerprint)
    assert certificate(tmp_path / "class", "192.0.2.7") == made
    assert certificate(tmp_path / "class", "192.0.2.8").fingerprint != made.fingerprint


def test_a_certificate_that_ends_within_a_day_is_made_anew(tmp_path, monkeypatch):
    made = certificate(tmp_path, HERE, days=1)
    later = dt.datetime.now(dt.UTC) + dt.timedelta(hours=25)
    monkeypatch.setattr(classroom, "_now", lambda: later)
    assert certificate(tmp_path, HERE, days=1).fingerprint != made.fingerprint


def test_a_certificate_for_years_is_refused(tmp_path):
    with pytest.raises(ValueError, match="`days` must be at most 90, got 91"):
        certificate(tmp_path, HERE, days=91)


@pytest.mark.parametrize("answer", [OSError("no network"), HERE])
def test_without_a_network_the_cards_are_named(monkeypatch, answer):
    class Alone(socket.socket):
        def connect(self, _address):
            if isinstance(answer, OSError):
                raise answer

        def getsockname(self):
            return answer, 0

    monkeypatch.setattr(classroom.socket, "socket", Alone)
    with pytest.raises(ConnectionError, match="or use the printed cards"):
        own_address()
