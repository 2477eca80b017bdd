"""Addresses at which a server may listen without TLS, and the message if a port is in use."""

import socket

import pytest

from toolkit.survey.serving.process import bind_socket, check_address


@pytest.mark.parametrize("host", ["127.0.0.1", "127.5.5.5", "localhost", "::1"])
def test_this_machine_needs_no_tls(host):
    check_address(host, has_tls=False)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "10.0.0.1", "8.8.8.8", "fe80::1", ""])  # noqa: S104
def test_other_machines_need_tls_or_an_explicit_word(host):
    with pytest.raises(ValueError, match="change the page so that it sends the truth"):
        check_address(host, has_tls=False)
    check_address(host, has_tls=True)
    check_address(host, has_tls=False, is_allowed=True)


def test_a_name_with_an_outside_address_is_not_local(monkeypatch):
    """One of its addresses belongs to this machine and one does not."""
    entries = [(None, None, None, "", (address, 0)) for address in ("127.0.0.1", "192.168.1.5")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: entries)
    with pytest.raises(ValueError, match="of this machine only"):
        check_address("both", has_tls=False)


def test_a_socket_listens_on_a_free_port_or_on_one_that_listens_already():
    with bind_socket("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with bind_socket("elsewhere", 1, socket.dup(first.fileno())) as again:
            assert again.getsockname() == ("127.0.0.1", port)
        with pytest.raises(OSError, match=f"port {port} of 127.0.0.1 must be free and allowed"):
            bind_socket("127.0.0.1", port)
