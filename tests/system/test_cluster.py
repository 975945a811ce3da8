# SPDX-License-Identifier: GPL-2.0-only
"""A sweep on the workers of a Dask scheduler leaves what a sweep here does, byte for byte.

The workers are in network namespaces and have caches of their own, as on other machines.
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
from machines import PATIENCE_S, Machine, free_port, start, two_machines, wait_until

from airtcp.backends.guesttools import GuestTools
from airtcp.kernel.image import Kernel

RUNS = ("--set", "mcs=5,7", "--seeds", "3")


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[list[Machine]]:
    with two_machines(tmp_path) as made:
        yield made


def created(directory: Path) -> Path:
    """Certificates, as a user makes them."""
    command = [*sweeps.AIRTCP, "scheduler", "--create-certificates", str(directory)]
    done = subprocess.run(command, env=sweeps.ENVIRONMENT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"{directory}\n"), done.stderr
    return directory


@pytest.fixture
def certificates(tmp_path: Path) -> Path:
    return created(tmp_path / "certificates")


def start_scheduler(port: int, certificates: Path) -> "subprocess.Popen[str]":
    """On all addresses."""
    where = ("--host", "0.0.0.0", "--port", str(port), "--certificates", certificates)
    return start(*sweeps.AIRTCP, "scheduler", *where)


@pytest.fixture
def port(certificates: Path) -> Iterator[int]:
    """Where a scheduler listens."""
    chosen = free_port()
    scheduler = start_scheduler(chosen, certificates)
    yield chosen
    scheduler.terminate()
    scheduler.communicate()


def cluster(port: int, certificates: Path) -> tuple[str, ...]:
    """The options of a sweep there."""
    return ("--cluster", f"tls://127.0.0.1:{port}", "--certificates", str(certificates))


def listening(pid: int) -> set[str]:
    """The addresses on which a process takes connections."""
    found = subprocess.run(["ss", "-Hltnp"], capture_output=True, text=True).stdout
    mine = [line for line in found.splitlines() if f"pid={pid}," in line]
    return {line.split()[3].rpartition(":")[0] for line in mine}


def test_two_workers_leave_what_a_sweep_here_does(
    lab_kernel: Kernel,
    tools: GuestTools,
    tmp_path: Path,
    machines: list[Machine],
    port: int,
    certificates: Path,
) -> None:
    assert lab_kernel and tools
    here, there = tmp_path / "here", tmp_path / "there"
    sweeps.run(here, *RUNS)
    for machine in machines:
        machine.work(port, certificates)
    sweep = start(*sweeps.command(there, *RUNS, *cluster(port, certificates)))

    # The first machine crashes in the middle of a run: the other one does it again.
    victim = machines[0]
    assert victim.worker
    wait_until(lambda: sweeps.results(there), "no run ends")
    wait_until(victim.has_guest, "no guest on the first machine")
    assert sweep.poll() is None
    os.kill(victim.worker.pid, signal.SIGKILL)
    wait_until(lambda: not victim.processes(), "its guest goes on")

    _, said = sweep.communicate(timeout=PATIENCE_S)
    assert sweep.returncode == 0, said
    assert said.count("Mbit/s") == 6
    sweeps.assert_same(here, there)
    # Kernel and programs came from here, and are kept by their hashes.
    for machine in machines:
        image = machine.cache / "kernel" / lab_kernel.hash / "linux"
        assert image.read_bytes() == lab_kernel.path.read_bytes()
        assert (machine.cache / "tools" / tools.directory.name / "tcpwatch").is_file()


@pytest.mark.slow
def test_ctrl_c_ends_guests_and_keeps_runs(
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
    wait_until(lambda: sweeps.results(tmp_path), "no run ends")
    wait_until(machine.has_guest, "no second run")
    sweep.send_signal(signal.SIGINT)
    _, said = sweep.communicate(timeout=30)
    assert sweep.returncode == 130, said
    assert "1 of 2 runs are kept" in said
    assert machine.worker
    worker = machine.worker.pid
    wait_until(lambda: machine.processes() == {worker}, "the guest goes on")
    assert len(sweeps.results(tmp_path)) == 1


@pytest.mark.slow
def test_a_lost_scheduler_is_one_line(
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
    _, said = sweep.communicate(timeout=PATIENCE_S)
    assert sweep.returncode == 1
    assert said.splitlines()[-1].startswith(
        f"airtcp: --cluster tls://127.0.0.1:{port}: the scheduler is gone"
    )
    wait_until(lambda: not machine.processes(), "its guest goes on")


def test_without_a_certificate_nobody_connects(
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

    # Of no authority, of another, in clear: Dask's own client; it is no fault of the cable.
    assert asked(scheduler, created(tmp_path / "others")).returncode != 0
    assert asked(scheduler.replace("tls", "tcp"), "").returncode != 0
    assert bare_tls(machine, port) == "refused"
    assert asked(scheduler, certificates).stdout == "0\n"
    # Neither does a worker join, with others' certificates.
    machine.work(port, tmp_path / "others")
    assert machine.worker
    time.sleep(4)
    assert machine.worker.poll() is None
    assert asked(scheduler, certificates).stdout == "0\n"


@pytest.fixture
def alone() -> Iterator[str]:
    """The address of a scheduler for this machine alone."""
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
def test_a_full_disk_of_a_worker_is_one_line(
    lab_kernel: Kernel,
    tools: GuestTools,
    tmp_path: Path,
    alone: str,
    variable: str,
    size: str,
    message: str,
) -> None:
    assert lab_kernel and tools
    mounts.require()
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = f'mount -t tmpfs -o size={size} tmpfs {disk}; exec "$@"'
    inside = ["unshare", "-m", "sh", "-e", "-c", mounted, "sh", *work_for(alone)]
    with ended(start(*inside, **{variable: str(disk)})):
        runs = ("--set", "mcs=7", "--seeds", "3", "--cluster", alone)
        sweep = sweeps.command(tmp_path / "out", *runs)
        done = subprocess.run(sweep, env=sweeps.ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 1
    [*_, line] = done.stderr.splitlines()
    assert line.startswith(f"airtcp: {message.format(node=platform.node(), disk=disk)}")
    assert ": No space left on device" in line


@pytest.mark.slow
def test_no_room_for_what_workers_send_is_one_line(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path, alone: str
) -> None:
    assert lab_kernel and tools
    mounts.require()
    disk = tmp_path / "disk"
    disk.mkdir()
    runs = ("--set", "mcs=7", "--seeds", "3", "--cluster", alone)
    with ended(start(*work_for(alone))):
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
def test_a_run_that_is_killed_on_a_worker_leaves_nothing(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path, alone: str
) -> None:
    assert lab_kernel and tools
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with ended(start(*work_for(alone), TMPDIR=str(scratch))) as worker:
        sweep = start(*sweeps.command(tmp_path / "out", "--set", "mcs=7", "--cluster", alone))
        wait_until(lambda: sweeps.guests_of(scratch), "no guest")
        [job] = jobs_of(worker.pid)
        os.kill(job, signal.SIGKILL)
        _, said = sweep.communicate(timeout=PATIENCE_S)
        assert sweep.returncode == 1
        killed = f"on {platform.node()} its process was killed by SIGKILL (probably out of"
        assert killed in said.splitlines()[-1]
        assert not sweeps.guests_of(scratch)
        assert not list(scratch.glob("airtcp-*"))


def jobs_of(worker: int) -> list[int]:
    """The processes of a worker's runs."""
    children = Path(f"/proc/{worker}/task").glob("*/children")
    found = [int(pid) for path in children for pid in path.read_text().split()]
    return [pid for pid in found if "jobprocess" in Path(f"/proc/{pid}/cmdline").read_text()]


def connects(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def bare_tls(machine: Machine, port: int) -> str:
    """What a TLS client gets that shows no certificate."""
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
    """The first byte that one gets who does not speak TLS."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as plain:
        plain.sendall(b"GET / HTTP/1.0\r\n\r\n")
        try:
            return plain.recv(1)
        except ConnectionResetError:
            return b""


def test_what_a_cluster_listens_on(tmp_path: Path, certificates: Path) -> None:
    port = free_port()
    alone = start(*sweeps.AIRTCP, "scheduler", "--port", str(port))
    worker = start(*sweeps.AIRTCP, "worker", f"tcp://127.0.0.1:{port}", "--jobs", "1")
    try:
        wait_until(lambda: len(listening(alone.pid)) and len(listening(worker.pid)), "no cluster")
        assert listening(alone.pid) == listening(worker.pid) == {"127.0.0.1"}
    finally:
        for process in (worker, alone):
            process.terminate()
            process.communicate()
    # Open to others: one port alone, that of TLS.
    scheduler = start_scheduler(port, certificates)
    try:
        wait_until(lambda: len(listening(scheduler.pid)) == 2, "no scheduler")
        assert listening(scheduler.pid) == {"127.0.0.1", "0.0.0.0"}
        assert plain_answer(port) in (b"", b"\x15")  # at most TLS' alert
    finally:
        scheduler.terminate()
        scheduler.communicate()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("scheduler", "--host", "0.0.0.0"), "others can reach it"),
        (("scheduler", "--host", "10.1.2.3"), "others can reach it"),
        (("scheduler", "--port", "99999"), "allowed: 1 to 65535"),
        (("scheduler", "--certificates", "/none"), "--create-certificates DIR"),
        (("worker", "foo"), "is not a scheduler's address; allowed: tcp://127.0.0.1:PORT"),
        (("worker", "tcp://10.1.2.3:8786"), "for others: tls://HOST:PORT"),
        (("worker", "tls://10.1.2.3:8786"), "--certificates DIR"),
        (("run", "thesis-lan", "--cluster", "bogus://x"), "is not a scheduler's address"),
        (("run", "thesis-lan", "--cluster", "tcp://10.1.2.3:8786"), "for others: tls://HOST:PORT"),
    ],
)
def test_what_is_refused(arguments: tuple[str, ...], message: str) -> None:
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
