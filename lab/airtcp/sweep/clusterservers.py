# SPDX-License-Identifier: GPL-2.0-only
"""The processes of a cluster: a Dask scheduler and its workers, with access control."""

import os
import signal
import socket
import sys
from collections.abc import Sequence
from typing import NoReturn

from airtcp.errors import InputError, reason
from airtcp.sweep import certificates
from airtcp.sweep.certificates import Certificates

# Dask opens the port of its dashboard even with --no-dashboard: bind it to the loopback interface.
_NO_PAGES = ("--no-dashboard", "--dashboard-address", "127.0.0.1:0")
_CONFIGURATION = {
    "DASK_DISTRIBUTED__SCHEDULER__HTTP__ROUTES": "[]",
    "DASK_DISTRIBUTED__WORKER__HTTP__ROUTES": "[]",
}
_ENCRYPTED = {"DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "True"}

_SCHEDULER = "airtcp.sweep.schedulerprocess"
WORKER = "airtcp.sweep.workerprocess"


def worker_options() -> list[str]:
    """The options of all Dask workers."""
    # Guests are separate processes; the worker must not limit their memory.
    return ["--no-nanny", "--memory-limit", "0", *_NO_PAGES]


def scheduler(host: str, port: int, known: Certificates | None) -> NoReturn:
    """Become a scheduler. Raises InputError if anyone could connect, or it cannot listen there."""
    if not known and not certificates.loopback(host):
        raise InputError(
            f"--host {host}: other machines could connect and run programs here: give "
            "--certificates DIR (--create-certificates creates them); allowed without: 127.0.0.1"
        )
    try:
        _try(host, port)
    except OSError as error:
        raise InputError(
            f"--host {host} --port {port}: {reason(error)}; allowed: an address of this machine "
            "and a free port"
        ) from None
    where = ["--host", f"[{host}]" if ":" in host else host, "--port", str(port), *_NO_PAGES]
    _become(_SCHEDULER, [*where, *_encryption(known)], known)


def worker(scheduler: str, jobs: int, known: Certificates | None) -> NoReturn:
    """Become a worker of the scheduler. Raises InputError if that would be unsafe."""
    # A worker also accepts connections.
    inner = certificates.address(scheduler, known)
    encrypted = None if inner else known
    where = ["--host", f"[{inner}]" if ":" in inner else inner] if inner else []
    options = [scheduler, "--nthreads", str(jobs), *where, *worker_options()]
    _become(WORKER, [*options, *_encryption(encrypted)], encrypted)


def _encryption(known: Certificates | None) -> list[str]:
    return known.options() if known else ["--protocol", "tcp"]


def _try(host: str, port: int) -> None:
    family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(address)


def _become(program: str, options: Sequence[str], known: Certificates | None) -> NoReturn:
    """Replace this process by a program of Dask in the same Python environment."""
    environment = {**os.environ, **_CONFIGURATION, **(_ENCRYPTED if known else {})}
    # Ctrl-C has to wait until the new process can handle it.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        os.execve(sys.executable, [sys.executable, "-P", "-m", program, *options], environment)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
