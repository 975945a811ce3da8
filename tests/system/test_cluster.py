# SPDX-License-Identifier: GPL-2.0-only
"""A sweep on the workers of a Dask scheduler leaves the same files as a local sweep.

The workers run in network namespaces with their own caches, as on other machines.
"""

import os
import platform
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import mounts
import pytest
import sweeps
from machines import Machine, free_port, start, two_machines
from waiting import TIMEOUT_S, wait_until

from airtcp.backends.guesttools import GuestTools
from airtcp.kernel.image import Kernel

RUNS = ("--set", "mcs=5,7", "--seeds", "3")


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[list[Machine]]:
    with two_machines(tmp_path) as pair:
        yield pair


def created(directory: Path) -> Path:
    """Create certificates by the command line; returns their directory."""
    command = [*sweeps.AIRTCP, "scheduler", "--create-certificates", str(directory)]
    done = subprocess.run(command, env=sweeps.ENVIRONMENT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"{directory}\n"), done.stderr
    return directory


@pytest.fixture
def certificates(tmp_path: Path) -> Path:
    return created(tmp_path / "certificates")


def start_scheduler(port: int, certificates: Path) -> "subprocess.Popen[str]":
    """Start a scheduler that listens on all addresses."""
    options = ("--host", "0.0.0.0", "--port", str(port), "--certificates", certificates)
    return start(*sweeps.AIRTCP, "scheduler", *options)


@pytest.fixture
def port(certificates: Path) -> Iterator[int]:
    """The port of a running scheduler."""
    number = free_port()
    scheduler = start_scheduler(number, certificates)
    yield number
    scheduler.terminate()
    scheduler.communicate()


def cluster(port: int, certificates: Path) -> tuple[str, ...]:
    """The options of a sweep on that scheduler."""
    return ("--cluster", f"tls://127.0.0.1:{port}", "--certificates", str(certificates))


def listening(pid: int) -> set[str]:
    """The addresses on which a process accepts connections."""
    sockets = subprocess.run(["ss", "-Hltnp"], capture_output=True, text=True).stdout
    lines = [line for line in sockets.splitlines() if f"pid={pid}," in line]
    return {line.split()[3].rpartition(":")[0] for line in lines}


def test_two_workers_leave_the_files_of_a_local_sweep(
    lab_kernel: Kernel,
    tools: GuestTools,
    tmp_path: Path,
    machines: list[Machine],
    port: int,
    certificates: Path,
) -> None:
    assert lab_kernel and tools
    local, distributed = tmp_path / "local", tmp_path / "distributed"
    sweeps.run(local, *RUNS)
    for machine in machines:
        machine.work(port, certificates)
    sweep = start(*sweeps.command(distributed, *RUNS, *cluster(port, certificates)))

    # The first machine crashes during a run, which the other one repeats.
    victim = machines[0]
    assert victim.worker
    wait_until(lambda: sweeps.results(distributed), "no run ends")
    wait_until(victim.has_guest, "no guest on the first machine")
    assert sweep.poll() is None
    os.kill(victim.worker.pid, signal.SIGKILL)
    wait_until(lambda: not victim.processes(), "its guest still runs")

    _, stderr = sweep.communicate(timeout=TIMEOUT_S)
    assert sweep.returncode == 0, stderr
    assert stderr.count("Mbit/s") == 6
    sweeps.assert_same(local, distributed)
    # The workers got kernel and programs from this machine, and cached them by their hashes.
    for machine in machines:
        image = machine.cache / "kernel" / lab_kernel.hash / "linux"
        assert image.read_bytes() == lab_kernel.path.read_bytes()
        assert (machine.cache / "tools" / tools.directory.name / "tcpwatch").is_file()


@pytest.mark.slow
def test_ctrl_c_ends_guests_and_keeps_finished_runs(
    lab_kernel: Kernel,
    tools: GuestTools,
    tmp_path: Path,
    machines: list[Machine],
    port: int,
    certificates: Path,
) -> None:
    assert lab_kernel and tools
    machine = machines[0]
    machine.work(port, certificates)
    runs = ("--seeds", "2", "--set", "mcs=7", *cluster(port, certificates))
    sweep = start(*sweeps.command(tmp_path, *runs))
    wait_until(lambda: sweeps.results(tmp_path) or sweep.poll() is not None, "no run ends")
    wait_until(lambda: machine.has_guest() or sweep.poll() is not None, "no second run")
    sweep.send_signal(signal.SIGINT)
    _, stderr = sweep.communicate(timeout=30)
    assert sweep.returncode == 130, stderr
    assert "1 of 2 runs are kept" in stderr
    assert machine.worker
    worker = machine.worker.pid
    wait_until(lambda: not (jobs_of(worker) or machine.has_guest()), "the guest still runs")
    assert len(sweeps.results(tmp_path)) == 1


@pytest.mark.slow
def test_lost_scheduler_is_reported_in_one_line(
    lab_kernel: Kernel,
    tools: GuestTools,
    tmp_path: Path,
    machines: list[Machine],
    certificates: Path,
) -> None:
    assert lab_kernel and tools
    port = free_port()
    scheduler = start_scheduler(port, certificates)
    machine = machines[0]
    machine.work(port, certificates)
    sweep = start(*sweeps.command(tmp_path, "--set", "mcs=7", *cluster(port, certificates)))
    wait_until(machine.has_guest, "no run")
    scheduler.kill()
    scheduler.communicate()
    _, stderr = sweep.communicate(timeout=TIMEOUT_S)
    assert sweep.returncode == 1
    assert stderr.splitlines()[-1].startswith(
        f"airtcp: --cluster tls://127.0.0.1:{port}: the scheduler has disconnected; 0 of "
    )
    wait_until(lambda: not machine.processes(), "its guest still runs")


def test_nobody_connects_without_a_certificate(
    tmp_path: Path, machines: list[Machine], port: int, certificates: Path
) -> None:
    machine = machines[0]
    wait_until(lambda: connects(port), "no scheduler")
    scheduler = f"tls://{machine.gateway}:{port}"
    ask = (
        "import sys; from distributed import Client, Security; from pathlib import Path; "
        "from airtcp.sweep.certificates import Certificates; "
        "known = Certificates(Path(sys.argv[2])).security() if sys.argv[2] else None; "
        "print(len(Client(sys.argv[1], timeout=4, security=known).scheduler_info()['workers']))"
    )

    def asked(address: str, known: Path | str) -> "subprocess.CompletedProcess[str]":
        command = machine.inside(sys.executable, "-c", ask, address, known)
        return subprocess.run(command, env=sweeps.ENVIRONMENT, capture_output=True, text=True)

    # Certificates of another authority, no TLS, no certificate; then valid certificates.
    assert asked(scheduler, created(tmp_path / "others")).returncode != 0
    assert asked(scheduler.replace("tls", "tcp"), "").returncode != 0
    assert bare_tls(machine, port) == "refused"
    assert asked(scheduler, certificates).stdout == "0\n"
    # A worker with certificates of another authority cannot join either.
    machine.work(port, tmp_path / "others")
    assert machine.worker
    time.sleep(4)
    assert machine.worker.poll() is None
    assert asked(scheduler, certificates).stdout == "0\n"


@pytest.fixture
def local() -> Iterator[str]:
    """The address of a scheduler that only this machine can reach."""
    port = free_port()
    with ended(start(*sweeps.AIRTCP, "scheduler", "--port", str(port))):
        yield f"tcp://127.0.0.1:{port}"


@contextmanager
def ended(process: "subprocess.Popen[str]") -> "Iterator[subprocess.Popen[str]]":
    """End a process after use."""
    try:
        yield process
    finally:
        process.terminate()
        process.communicate()


def work_for(address: str) -> list[str]:
    return [*sweeps.AIRTCP, "worker", address, "--jobs", "1"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variable", "size", "message"),
    [
        ("AIRTCP_CACHE", "4m", "the worker on {node} cannot keep {disk}/kernel/"),
        ("TMPDIR", "100k", "on {node}: {disk}/airtcp-job-"),
    ],
)
def test_full_disk_of_a_worker_is_reported_in_one_line(
    lab_kernel: Kernel,
    tools: GuestTools,
    tmp_path: Path,
    local: str,
    variable: str,
    size: str,
    message: str,
) -> None:
    assert lab_kernel and tools
    mounts.require()
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = f'mount -t tmpfs -o size={size} tmpfs {disk}; exec "$@"'
    inside = ["unshare", "-m", "sh", "-e", "-c", mounted, "sh", *work_for(local)]
    with ended(start(*inside, **{variable: str(disk)})):
        runs = ("--set", "mcs=7", "--seeds", "3", "--cluster", local)
        sweep = sweeps.command(tmp_path / "out", *runs)
        done = subprocess.run(sweep, env=sweeps.ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 1
    [*_, line] = done.stderr.splitlines()
    assert line.startswith(f"airtcp: {message.format(node=platform.node(), disk=disk)}")
    assert ": No space left on device" in line


@pytest.mark.slow
def test_full_local_disk_is_reported_in_one_line(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path, local: str
) -> None:
    assert lab_kernel and tools
    mounts.require()
    disk = tmp_path / "disk"
    disk.mkdir()
    runs = ("--set", "mcs=7", "--seeds", "3", "--cluster", local)
    with ended(start(*work_for(local))):
        done = mounts.run(
            f'mount -t tmpfs -o size=300k tmpfs {disk}; "$@"',
            *sweeps.command(disk / "out", *runs),
            **sweeps.ENVIRONMENT,
        )
    assert done.returncode == 1
    line = done.stderr.splitlines()[-1]
    assert line.startswith(f"airtcp: {disk}/out/runs/ack_policy-default_mcs-7/seed-")
    assert ": No space left on device; 1 of 3 runs are kept in " in line


@pytest.mark.slow
def test_run_killed_on_a_worker_leaves_no_files(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path, local: str
) -> None:
    assert lab_kernel and tools
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with ended(start(*work_for(local), TMPDIR=str(scratch))) as worker:
        sweep = start(*sweeps.command(tmp_path / "out", "--set", "mcs=7", "--cluster", local))
        wait_until(lambda: sweeps.guests_of(scratch), "no guest")
        [job] = jobs_of(worker.pid)
        os.kill(job, signal.SIGKILL)
        _, stderr = sweep.communicate(timeout=TIMEOUT_S)
        assert sweep.returncode == 1
        killed = f"on {platform.node()} its process was killed by SIGKILL (probably out of"
        assert killed in stderr.splitlines()[-1]
        assert not sweeps.guests_of(scratch)
        assert not list(scratch.glob("airtcp-*"))


def jobs_of(worker: int) -> list[int]:
    """The process ids of a worker's runs, which a server forks."""

    def children(pid: int) -> list[int]:
        files = Path(f"/proc/{pid}/task").glob("*/children")
        return [int(child) for file in files for child in file.read_text().split()]

    servers = [
        pid for pid in children(worker) if "jobprocess" in Path(f"/proc/{pid}/cmdline").read_text()
    ]
    return [pid for server in servers for pid in children(server)]


def connects(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def bare_tls(machine: Machine, port: int) -> str:
    """The answer to a TLS client without a certificate."""
    ask = (
        "import socket, ssl, sys\n"
        "context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)\n"
        "context.check_hostname, context.verify_mode = False, ssl.CERT_NONE\n"
        "with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as plain:\n"
        "    try:\n"
        "        secure = context.wrap_socket(plain)\n"
        "        print(len(secure.recv(1)))\n"
        "    except ssl.SSLError:\n"
        "        print('refused')\n"
    )
    command = machine.inside(sys.executable, "-c", ask, machine.gateway, str(port))
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def plain_answer(port: int) -> bytes:
    """The first byte of the answer to a client without TLS."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as plain:
        plain.sendall(b"GET / HTTP/1.0\r\n\r\n")
        try:
            return plain.recv(1)
        except ConnectionResetError:
            return b""


def test_addresses_on_which_a_cluster_listens(certificates: Path) -> None:
    port = free_port()
    local = start(*sweeps.AIRTCP, "scheduler", "--port", str(port))
    worker = start(*sweeps.AIRTCP, "worker", f"tcp://127.0.0.1:{port}", "--jobs", "1")
    try:
        wait_until(lambda: len(listening(local.pid)) and len(listening(worker.pid)), "no cluster")
        assert listening(local.pid) == listening(worker.pid) == {"127.0.0.1"}
    finally:
        logs = []
        for process in (worker, local):
            process.terminate()
            logs.append(process.communicate()[1])
    # Dask's web pages are off.
    assert all("dashboard" not in log for log in logs), logs
    # Other machines can reach only the TLS port.
    scheduler = start_scheduler(port, certificates)
    try:
        wait_until(lambda: len(listening(scheduler.pid)) == 2, "no scheduler")
        assert listening(scheduler.pid) == {"127.0.0.1", "0.0.0.0"}
        assert plain_answer(port) in (b"", b"\x15")  # at most a TLS alert
    finally:
        scheduler.terminate()
        scheduler.communicate()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("scheduler", "--host", "0.0.0.0"), "other machines could connect"),
        (("scheduler", "--host", "10.1.2.3"), "other machines could connect"),
        (("scheduler", "--port", "99999"), "allowed: 1 to 65535"),
        (("scheduler", "--certificates", "/none"), "--create-certificates DIR"),
        (("worker", "foo"), "is not a scheduler's address; allowed: tcp://127.0.0.1:PORT"),
        (("worker", "tcp://10.1.2.3:8786"), "for others: tls://HOST:PORT"),
        (("worker", "tls://10.1.2.3:8786"), "--certificates DIR"),
        (("run", "thesis-lan", "--cluster", "bogus://x"), "is not a scheduler's address"),
        (("run", "thesis-lan", "--cluster", "tcp://10.1.2.3:8786"), "for others: tls://HOST:PORT"),
    ],
)
def test_invalid_arguments_are_refused(arguments: tuple[str, ...], message: str) -> None:
    command = [*sweeps.AIRTCP, *arguments]
    done = subprocess.run(
        command, env=sweeps.ENVIRONMENT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert message in done.stderr.splitlines()[-1]


def test_certificates_are_private(certificates: Path) -> None:
    assert stat.S_IMODE(certificates.stat().st_mode) == 0o700
    assert {path.name for path in certificates.iterdir()} == {
        "ca.pem",
        "certificate.pem",
        "key.pem",
    }
    key = certificates / "key.pem"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    key.chmod(0o640)
    command = [*sweeps.AIRTCP, "scheduler", "--certificates", str(certificates)]
    done = subprocess.run(command, env=sweeps.ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 2
    assert f"others may read key.pem: chmod 600 {key}" in done.stderr
