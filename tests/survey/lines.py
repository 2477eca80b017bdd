"""Plain sockets: clients that are not browsers."""

import datetime as dt
import ipaddress
import socket
import ssl
import threading
import time
from contextlib import contextmanager

from toolkit.survey.serving.connection import HttpServer
from toolkit.survey.serving.limits import Limits

QUICK = Limits(
    head_bytes=4096, body_bytes=8192, drain_bytes=65536, head_seconds=0.4, body_seconds=0.4, response_seconds=0.8,
    idle_seconds=0.4, linger_seconds=0.3, max_connections=20,
)  # fmt: skip


@contextmanager
def watched(app, limits=QUICK, **settings):
    """A real server in a thread, on a free port."""
    ready = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = HttpServer(app, limits, ready.set, **{"grace_seconds": 5, **settings})
        thread = threading.Thread(target=server.run, args=(listening,), daemon=True)
        thread.start()
        assert ready.wait(10)
        try:
            yield listening.getsockname()[1], server
        finally:
            server.should_exit = True
            thread.join(20)
            assert not thread.is_alive()
            assert listening.fileno() == -1, "the server closes the socket that it was given"


@contextmanager
def line(port, *, host="127.0.0.1", timeout=60.0):
    with socket.create_connection((host, port), timeout=timeout) as connection:
        yield connection


def read_to_end(connection):
    """Return all bytes until the server closes or resets the connection."""
    received = b""
    try:
        while chunk := connection.recv(65536):
            received += chunk
    except ConnectionResetError:
        pass
    return received


def read_answer(connection):
    """Read one response with a Content-Length; return its status, head and body, with no status if it is incomplete."""
    received = b""
    while b"\r\n\r\n" not in received:
        chunk = connection.recv(65536)
        if not chunk:
            return None, received, b""
        received += chunk
    head, _, body = received.partition(b"\r\n\r\n")
    (length,) = [
        int(field.split(b":")[1]) for field in head.split(b"\r\n") if field.lower().startswith(b"content-length:")
    ]
    while len(body) < length:
        chunk = connection.recv(65536)
        if not chunk:
            return None, head, body
        body += chunk
    return int(head.split(b" ")[1]), head, body


def exchange(port, request):
    """Send one request on a new connection; return the response's status, head and body."""
    with line(port) as connection:
        connection.sendall(request)
        return read_answer(connection)


def talk(port, request):
    """Return everything that is received on a new connection until the server closes it."""
    with line(port) as connection:
        connection.sendall(request)
        return read_to_end(connection)


def until(met, seconds=60.0):
    """Wait for a condition, and fail if it does not hold in time."""
    end = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < end
        time.sleep(0.01)


def post(body, path="/report", kind="application/json"):
    return (
        f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body


GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


def certificate(folder, days=1):
    """Make a self-signed certificate for this machine, for its address and its name."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, "localhost")])
    now, day = dt.datetime.now(dt.UTC), dt.timedelta(days=1)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("localhost")])
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(now - day).not_valid_after(now + days * day)
    made = made.add_extension(names, critical=False).sign(key, hashes.SHA256())
    (folder / "certificate.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    (folder / "private.pem").write_bytes(pem)
    return folder / "certificate.pem", folder / "private.pem"


def server_context(public, private):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(public, private)
    return context
