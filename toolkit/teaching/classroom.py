"""A class that answers on its phones: this machine's address, a certificate for it, and the collection behind both."""

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

_NOWHERE = "192.0.2.1"  # an address for documentation (RFC 5737): nothing is sent to it
_LONGEST = 90  # days: phones refuse what lasts for years


@dataclass(frozen=True)
class Certificate:
    """A certificate that this machine signed itself, as `certificate` returns it.

    Parameters
    ----------
    certificate : Path
        Its file.
    private_key : Path
        The file of its key.
    fingerprint : str
        What phones show of it.

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
    """Find the address by which others on the same network reach this machine; a cable or a hotspot counts too.

    Nothing is sent: the system is asked which of its addresses it would send from.

    Returns
    -------
    str
        The address.

    Raises
    ------
    ConnectionError
        If the machine is on no network.

    Examples
    --------
    >>> from toolkit.teaching import own_address
    >>> own_address()  # doctest: +SKIP
    '192.168.1.20'
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        try:
            line.connect((_NOWHERE, 9))
            address: str = line.getsockname()[0]
        except OSError:
            address = "127.0.0.1"
    if ipaddress.ip_address(address).is_loopback:
        instead = "join a wireless network or a phone's hotspot, or use the printed cards"
        reject("this machine must be on a network that the phones are on, too", "none", instead, ConnectionError)
    return address


def certificate(folder: str | Path, address: str, *, days: int = 7) -> Certificate:
    """Make a certificate for an address of this machine, or find the one in a folder.

    A new one is made for another address, and when less than a day is left. Nobody but this machine vouches for it,
    so a phone warns once; comparing the fingerprint that the phone shows with that on the projector proves that
    nobody stands between.

    Parameters
    ----------
    folder : str or Path
        Where the certificate and its key are kept.
    address : str
        The address, as `own_address` finds it.
    days : int, default 7
        How long it lasts, at most 90 days.

    Returns
    -------
    Certificate
        The files and the fingerprint.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = certificate(folder, "192.168.1.20")
    >>> len(made.fingerprint) > 40
    True
    """
    check_extras("cryptography")
    lasts = check_integer(days, "days")
    if lasts > _LONGEST:
        reject(f"`days` must be at most {_LONGEST}", days, "make a new one for another course")
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    files = place / "certificate.pem", place / "private.pem"
    if not (all(path.exists() for path in files) and _good(files[0].read_bytes(), address)):
        _make(files, address, lasts)
    return Certificate(*files, _fingerprint(files[0].read_bytes()))


def open_class(
    survey: "Survey", *, folder: str | Path = "class", address: str | None = None, **options: Any
) -> "Collector":
    """Open a collection for the phones in the room: over TLS, at this machine's address on its network.

    The folder keeps the certificate, its key and the database; the same call finds the collection again.

    Parameters
    ----------
    survey : Survey
        The survey that the class answers.
    folder : str or Path, default "class"
        Where everything is kept.
    address : str, optional
        Address of this machine, if it has several; by default it is found.
    **options : Any
        As for `toolkit.collect`, such as `port` or `rehearsal`.

    Returns
    -------
    Collector
        The open collection.

    Raises
    ------
    ConnectionError
        If the machine is on no network, or has another address than before.

    Examples
    --------
    >>> from toolkit.teaching import open_class
    >>> room = open_class(survey)  # link, QR code and a live count  # doctest: +SKIP
    >>> room.close()  # doctest: +SKIP
    """
    from toolkit.survey.collector import start
    from toolkit.survey.serving.options import ServeOptions

    here = own_address() if address is None else str(ipaddress.ip_address(address))
    files = certificate(folder, here)
    served = ServeOptions(host=here, certificate=files.certificate, private_key=files.private_key, **options)
    collector = start(survey, f"sqlite:///{Path(folder) / 'class.db'}", served)
    if (there := urlsplit(collector.url).hostname) != here:
        instead = "the network has changed: close the collection, or take another folder"
        reject("the collection must be served at this machine's address", there, instead, ConnectionError)
    return collector


def _good(pem: bytes, address: str) -> bool:
    """Whether a certificate is for this address, and lasts another day."""
    from cryptography import x509

    parsed = x509.load_pem_x509_certificate(pem)
    names = parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    left = parsed.not_valid_after_utc - _now()
    return ipaddress.ip_address(address) in names.get_values_for_type(x509.IPAddress) and left.days >= 1


def _make(files: tuple[Path, Path], address: str, days: int) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, "A class answers")])
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
    now, hour = _now(), dt.timedelta(hours=1)
    built = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    built = built.serial_number(x509.random_serial_number())
    built = built.not_valid_before(now - hour).not_valid_after(now + days * 24 * hour + 24 * hour)
    built = built.add_extension(names, critical=False)
    built = built.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    plain = serialization.NoEncryption()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    files[1].unlink(missing_ok=True)
    files[1].touch(mode=0o600, exist_ok=False)
    files[1].write_bytes(pem)
    files[0].write_bytes(built.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def _fingerprint(pem: bytes) -> str:
    """SHA-256 in pairs, as phones show it."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    return x509.load_pem_x509_certificate(pem).fingerprint(hashes.SHA256()).hex(":").upper()
