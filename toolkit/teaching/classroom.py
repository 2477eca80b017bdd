"""Collecting answers in a classroom: this machine's address, a certificate for it, and the collection itself."""

import datetime as dt
import ipaddress
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from toolkit.core.checks import check_integer, reject
from toolkit.core.extras import check_extras

if TYPE_CHECKING:
    from toolkit.survey.collector import Collector
    from toolkit.survey.spec import Survey

_DOCUMENTATION_ADDRESS = "192.0.2.1"  # reserved for documentation (RFC 5737); nothing is sent to it
_MAX_DAYS = 90  # phones reject certificates that are valid for years


@dataclass(frozen=True)
class Certificate:
    """A self-signed certificate, as returned by `certificate`.

    Parameters
    ----------
    certificate : Path
        The file of the certificate.
    private_key : Path
        The file of its private key.
    fingerprint : str
        The SHA-256 fingerprint, as phones show it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     certificate(folder, "192.168.1.20").private_key.name
    'private.pem'
    """

    certificate: Path
    private_key: Path
    fingerprint: str


def own_address() -> str:
    """Find the address at which other devices on the same network reach this machine.

    The network can be wireless, wired or a hotspot. Nothing is sent: the system is asked which of its addresses it
    would send from.

    Returns
    -------
    str
        The address.

    Raises
    ------
    ConnectionError
        If the machine is not connected to a network.

    Examples
    --------
    >>> from toolkit.teaching import own_address
    >>> own_address()  # doctest: +SKIP
    '192.168.1.20'
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((_DOCUMENTATION_ADDRESS, 9))
            address: str = probe.getsockname()[0]
        except OSError:
            address = "127.0.0.1"
    if ipaddress.ip_address(address).is_loopback:
        instead = "join a wireless network or a phone's hotspot, or use the printed cards"
        reject("this machine must be on the same network as the phones", "none", instead, ConnectionError)
    return address


def certificate(folder: str | Path, address: str, *, days: int = 7) -> Certificate:
    """Make a certificate for an address of this machine, or reuse a certificate from a folder.

    A new certificate is made if the address differs or if less than a day of validity is left. The certificate is
    self-signed, so each phone shows one warning. If the fingerprint on the phone equals the fingerprint on the
    projector, nobody intercepts the connection.

    Parameters
    ----------
    folder : str or Path
        The folder of the certificate and its key.
    address : str
        The address, as returned by `own_address`.
    days : int, default 7
        Number of days for which the certificate is valid, at most 90.

    Returns
    -------
    Certificate
        The files and the fingerprint.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = certificate(folder, "192.168.1.20")
    >>> len(result.fingerprint) > 40
    True
    """
    check_extras("cryptography")
    n_days = check_integer(days, "days")
    if n_days > _MAX_DAYS:
        reject(f"`days` must be at most {_MAX_DAYS}", days, "make a new one for another course")
    directory = Path(folder)
    directory.mkdir(parents=True, exist_ok=True)
    files = directory / "certificate.pem", directory / "private.pem"
    if not (all(path.exists() for path in files) and _is_usable(files[0].read_bytes(), address)):
        _write_certificate(files, address, n_days)
    return Certificate(*files, _fingerprint(files[0].read_bytes()))


def open_class(
    survey: "Survey", *, folder: str | Path = "class", address: str | None = None, **options: Any
) -> "Collector":
    """Open a collection for the phones in a classroom, over TLS and at this machine's network address.

    The folder holds the certificate, its key and the database; the same call reconnects to the collection.

    Parameters
    ----------
    survey : Survey
        The survey that the class answers.
    folder : str or Path, default "class"
        The folder for all files.
    address : str, optional
        The address of this machine; required only if it has several addresses.
    **options : Any
        Options of `toolkit.collect`, such as `port` or `rehearsal`.

    Returns
    -------
    Collector
        The open collection.

    Raises
    ------
    ConnectionError
        If the machine is not connected to a network, or if its address has changed.

    Examples
    --------
    >>> from toolkit.teaching import open_class
    >>> room = open_class(survey)  # link, QR code and a live count  # doctest: +SKIP
    >>> room.close()  # doctest: +SKIP
    """
    from toolkit.survey.collector import start
    from toolkit.survey.serving.options import ServeOptions

    host = own_address() if address is None else str(ipaddress.ip_address(address))
    files = certificate(folder, host)
    serve_options = ServeOptions(host=host, certificate=files.certificate, private_key=files.private_key, **options)
    collector = start(survey, f"sqlite:///{Path(folder) / 'class.db'}", serve_options)
    if (served_host := urlsplit(collector.url).hostname) != host:
        instead = "the network has changed: close the collection, or use another folder"
        reject("the collection must be served at this machine's address", served_host, instead, ConnectionError)
    return collector


def _is_usable(pem: bytes, address: str) -> bool:
    """Return whether a certificate is for this address and valid for at least another day."""
    from cryptography import x509

    parsed = x509.load_pem_x509_certificate(pem)
    names = parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    remaining = parsed.not_valid_after_utc - _now()
    return ipaddress.ip_address(address) in names.get_values_for_type(x509.IPAddress) and remaining.days >= 1


def _write_certificate(files: tuple[Path, Path], address: str, days: int) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, "A class answers")])
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
    now, hour = _now(), dt.timedelta(hours=1)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now - hour).not_valid_after(now + days * 24 * hour + 24 * hour)
    builder = builder.add_extension(names, critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    plain = serialization.NoEncryption()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    files[1].unlink(missing_ok=True)
    files[1].touch(mode=0o600, exist_ok=False)
    files[1].write_bytes(pem)
    files[0].write_bytes(builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def _fingerprint(pem: bytes) -> str:
    """Return the SHA-256 fingerprint as pairs of hexadecimal digits, as phones show it."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    return x509.load_pem_x509_certificate(pem).fingerprint(hashes.SHA256()).hex(":").upper()
