# SPDX-License-Identifier: GPL-2.0-only
"""TLS certificates with which the machines of a cluster authenticate each other.

Anyone who can connect to a scheduler or a worker can run programs there. Therefore both either
listen only on the loopback interface, or accept only TLS connections with a certificate of the
cluster.
"""

import ipaddress
import re
import shutil
import socket
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from airtcp import interrupts, programs
from airtcp.cache import make_dir, require_writable
from airtcp.errors import InputError
from airtcp.paths import PROGRAM

if TYPE_CHECKING:
    from distributed import Security

ENVIRONMENT = "AIRTCP_CERTIFICATES"
"""The environment variable with the directory; the option overrides it."""

_AUTHORITY, _CERTIFICATE, _KEY = "ca.pem", "certificate.pem", "key.pem"
_DAYS = "3650"
_ADDRESS = re.compile(r"(\w+)://(\[[0-9a-fA-F:.]+\]|[^\[\]:/]+):(\d{1,5})")


@dataclass(frozen=True)
class Certificates:
    """A directory with the authority's certificate, a certificate signed by it, and its key."""

    directory: Path

    def security(self) -> "Security":
        """Settings of Dask: only TLS, and both sides must present a certificate."""
        from distributed import Security

        files = {
            f"tls_{role}_{what}": str(self.directory / name)
            for role in ("client", "scheduler", "worker")
            for what, name in (("cert", _CERTIFICATE), ("key", _KEY))
        }
        authority = str(self.directory / _AUTHORITY)
        return Security(require_encryption=True, tls_ca_file=authority, **files)

    def options(self) -> list[str]:
        """The same as options of Dask's programs."""
        files = (("ca-file", _AUTHORITY), ("cert", _CERTIFICATE), ("key", _KEY))
        options = [(f"--tls-{what}", str(self.directory / name)) for what, name in files]
        return ["--protocol", "tls", *(text for option in options for text in option)]


def address(text: str, certificates: Certificates | None) -> str | None:
    """Check tcp://HOST:PORT or tls://HOST:PORT; return the loopback address for tcp://, else None.

    Raises InputError for an invalid address, or if certificates are missing.
    """
    match = _ADDRESS.fullmatch(text)
    if not match or match[1] not in ("tcp", "tls") or not 1 <= int(match[3]) <= 65535:
        raise InputError(
            f"{text!r} is not a scheduler's address; allowed: tcp://127.0.0.1:PORT on this "
            "machine, tls://HOST:PORT with certificates, PORT from 1 to 65535"
        )
    if match[1] == "tls":
        if not certificates:
            raise InputError(f"{text}: needs the cluster's certificates: --certificates DIR")
        return None
    inner = loopback(match[2].strip("[]"))
    if not inner:
        raise InputError(
            f"{text}: tcp:// is not authenticated and is allowed only on this machine "
            "(127.0.0.1); for others: tls://HOST:PORT with --certificates DIR"
        )
    return inner


def loopback(host: str) -> str | None:
    """The loopback address of a host name; None if other machines can reach it.

    Raises InputError for an unknown host.
    """
    try:
        known = {str(entry[4][0]) for entry in socket.getaddrinfo(host, None)}
    except (OSError, UnicodeError):
        raise InputError(f"{host}: no such host") from None
    inner = [
        name for name in sorted(known) if ipaddress.ip_address(name.partition("%")[0]).is_loopback
    ]
    return inner[0] if len(inner) == len(known) else None


def read(directory: Path) -> Certificates:
    """Read a directory. Raises InputError if a file is missing or public, or TLS refuses them."""
    certificates = Certificates(directory.absolute())
    where = f"--certificates {directory}"
    try:
        for name in (_AUTHORITY, _CERTIFICATE, _KEY):
            (directory / name).open("rb").close()
        if (directory / _KEY).stat().st_mode & 0o077:
            raise InputError(f"{where}: others may read {_KEY}: chmod 600 {directory / _KEY}")
        _connect(*(_context(directory, server) for server in (True, False)))
    except ssl.SSLError as error:
        problem = getattr(error, "verify_message", None) or error.reason or "not PEM"
        raise InputError(
            f"{where}: {_AUTHORITY}, {_CERTIFICATE} and {_KEY} cannot be used together ({problem})"
        ) from None
    except OSError as error:
        raise InputError(
            f"{where}: {error.filename}: {error.strerror}; create them once with "
            f"{PROGRAM} scheduler --create-certificates DIR, and copy DIR to every machine"
        ) from None
    return certificates


def _context(directory: Path, server: bool) -> ssl.SSLContext:
    """As Dask's: the other end must have a certificate of the authority, for any name."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(directory / _AUTHORITY)
    # Without this argument OpenSSL would ask for a password on the terminal.
    context.load_cert_chain(directory / _CERTIFICATE, directory / _KEY, password="")
    return context


def _connect(server: ssl.SSLContext, client: ssl.SSLContext) -> None:
    """Connect both in memory. Raises SSLError if one does not accept the other's certificate."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = (
        client.wrap_bio(to_client, to_server),
        server.wrap_bio(to_server, to_client, server_side=True),
    )
    for end in 2 * ends:
        with suppress(ssl.SSLWantReadError):
            end.do_handshake()


def create(directory: Path) -> Certificates:
    """Create certificates in a new or empty directory with mode 0700; the key has mode 0600.

    The authority's key is deleted, so that no other certificate can be signed.
    """
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise InputError(
            f"--create-certificates {directory}: already exists; allowed: a new directory"
        )
    require_writable(directory.parent, "--create-certificates")
    programs.require({"openssl": "openssl"})
    make_dir(directory.absolute().parent)
    with interrupts.deferred():  # openssl must have ended before its files are removed
        _create(directory)
    return Certificates(directory.absolute())


def _create(directory: Path) -> None:
    scratch = Path(tempfile.mkdtemp(prefix=".certificates-", dir=directory.absolute().parent))
    authority = scratch / "authority.key"
    usage = ("basicConstraints=critical,CA:FALSE", "extendedKeyUsage=serverAuth,clientAuth")
    try:
        _openssl(authority, scratch / _AUTHORITY, "/CN=airtcp cluster authority")
        _openssl(
            *(scratch / _KEY, scratch / _CERTIFICATE, "/CN=airtcp cluster"),
            *("-CA", scratch / _AUTHORITY, "-CAkey", authority),
            *(text for extension in usage for text in ("-addext", extension)),
        )
        authority.unlink()
        (scratch / _KEY).chmod(0o600)
        scratch.rename(directory)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def temporary(parent: Path) -> Iterator[Certificates]:
    """Create certificates in a temporary directory."""
    with tempfile.TemporaryDirectory(prefix="certificates-", dir=make_dir(parent)) as scratch:
        yield create(Path(scratch) / "cluster")


def _openssl(key: Path, certificate: Path, subject: str, *options: str | Path) -> None:
    """Create a key and its certificate: self-signed, or with -CA signed by another one."""
    command = [
        *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
        *("-nodes", "-days", _DAYS, "-subj", subject),
        *("-keyout", key, "-out", certificate, *options),
    ]
    programs.run(command, "openssl cannot create certificates")
