"""The address that a server listens on: without TLS one of this machine alone, unless told otherwise."""

import ipaddress
import os
import socket

from toolkit.core.checks import refuse
from toolkit.survey.serving.connecting.watched import BACKLOG

ALLOW = "--plain-http-beyond-this-machine"
"""What a person says who wants plain HTTP to other machines all the same."""


def check_address(host: str, *, tls: bool, allowed: bool = False) -> None:
    """Refuse to speak plain HTTP to other machines, unless told so.

    >>> check_address("127.0.0.1", tls=False)
    >>> check_address("0.0.0.0", tls=True)
    """
    if tls or allowed or all(_local(address) for address in _addresses(host)):
        return
    refuse(
        "without TLS the host must be an address of this machine alone, such as 127.0.0.1",
        repr(host),
        "on the way anybody could read the reports, and change the page so that it sends the truth. Give "
        "--certificate and --private-key, or put a proxy with TLS in front, or "
        f"say {ALLOW}",
    )


def _addresses(host: str) -> list[str]:
    found = socket.getaddrinfo(host or "0.0.0.0", None, type=socket.SOCK_STREAM)  # noqa: S104  # looked at, not listened on
    return [str(entry[4][0]) for entry in found]


def _local(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def listening_at(host: str, port: int, descriptor: int | None = None) -> socket.socket:
    """A socket that listens: the one behind a descriptor, or a new one; port 0 is any free one."""
    if descriptor is not None:
        return socket.socket(fileno=descriptor)
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    try:
        return socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except OSError as problem:
        refuse(
            f"port {port} of {host} must be free and allowed",
            os.strerror(problem.errno or 0),
            "end the program that has it, or name another port; links that were handed out lead to the old one",
            OSError,
        )
