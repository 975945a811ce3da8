# SPDX-License-Identifier: GPL-2.0-only
"""How a run fails: errors of the guest, of files, and of the programs of the user."""

import errno
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from small_experiment import GOOD, write

from airtcp import atomicfile
from airtcp.backends import base, console, shell, uml
from airtcp.backends.base import STALLED, GuestResult, Status
from airtcp.backends.guesttools import GuestTools
from airtcp.backends.shell import FAILURE
from airtcp.errors import AirtcpError, StopError
from airtcp.experiment.experiment import Case
from airtcp.experiment.reader import load
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters
from airtcp.parameters.quantity import Plain
from airtcp.results import flent, metrics, timeseries
from airtcp.results.index import Index
from airtcp.sweep import failure, run, sweep
from airtcp.sweep.request import RunRequest, requests
from airtcp.testbed.build import testbed_of

KERNEL = Kernel(Path("linux"), "6.12.0", "0123456789abcdef")
TOOLS = GuestTools(Path("tools"))
CASE = Case({"mcs": 0}, Parameters().replace({"mcs": 0}))

_UNANSWERED = " (no answer: is a station out of reach?)"


def test_files_of_a_run_are_flushed_before_its_result_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def boot(_kernel: Kernel, _tools: GuestTools, run_dir: Path, **_rest: object) -> object:
        console = run_dir / "console.log"
        console.write_text("hello\n")
        return base.GuestResult("failed", 1, 1.0, 0.9, console, "it broke")

    def flush(directory: Path) -> None:
        flushed.extend(path.name for path in directory.iterdir())

    flushed: list[str] = []
    monkeypatch.setattr(uml, "boot", boot)
    monkeypatch.setattr(atomicfile, "flush", flush)
    failed = run.run_one(RunRequest.of(KERNEL, TOOLS, CASE, 1), tmp_path)
    assert sorted(flushed) == sorted(failed.artifacts) == ["console.log", "plan.sh"]


@pytest.mark.parametrize(
    ("iperf3", "printed", "said"),
    [
        ("", "", ""),
        ("{", "", ""),
        ("{}", "", ""),
        ('{"error": "unable to connect"}', "", ": unable to connect"),
        ("", "udpflow: receiving: timed out\n", f": receiving: timed out{_UNANSWERED}"),
    ],
)
def test_error_of_a_failed_guest_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, iperf3: str, printed: str, said: str
) -> None:
    def boot(_kernel: Kernel, _tools: GuestTools, run_dir: Path, **_rest: object) -> object:
        console = run_dir / "console.log"
        console.write_text(
            f"RTNETLINK answers: Invalid argument\n{printed}"
            "airtcp: failed: tc qdisc add dev eth0 (exit code 2)\n"
            "airtcp: failed: ip netns exec server sh /tmp/server.sh (exit code 1)\n"
        )
        (run_dir / "iperf3-client.json").write_text(iperf3)
        return base.GuestResult("failed", 1, 1.0, 0.9, console, "plan.sh failed with exit code 1")

    monkeypatch.setattr(uml, "boot", boot)
    failed = run.run_one(RunRequest.of(KERNEL, TOOLS, CASE, 1), tmp_path)
    assert failed.status == "failed"
    assert failed.metrics == {}
    console = tmp_path / failed.artifacts["console.log"].path
    assert failed.error == f"tc qdisc add dev eth0 (exit code 2){said} (console: {console})"
    jobs = requests(KERNEL, TOOLS, [CASE], [1])
    assert sweep.split(jobs, tmp_path, Index(tmp_path), (), print, verify=False) == ([], jobs)


SNR: dict[str, Plain] = {"error_model": "snr"}
WEAK = "{access_point: ap, distance: 5m, tx_power: -20dBm}"
TWO_STATIONS = """\
topology:
  servers: {server: {}}
  access_points: {ap: {}}
  stations:
    near: {access_point: ap, distance: 5m}
    far: {access_point: ap, distance: 100m}
flows: [{from: server, to: near}, {from: server, to: far}]
parameters:
  error_model: snr
"""


@pytest.mark.parametrize(
    ("values", "why", "cause"),
    [
        ({"wire_loss": 1.0}, "ping: no answer", "wire_loss 1.0 loses every packet: "),
        ({"wire_loss": 0.9}, "ping: no answer", ""),
        ({"return_loss": 1.0}, "ping: no answer", "return_loss 1.0 loses every packet: "),
        ({**SNR, "distance": "90m"}, "exchange (exit code 1)", ""),
        ({**SNR, "distance": "90m"}, STALLED, "station, 90 m from ap, has an SNR of 8.7 dB: "),
        ({**SNR, "walk": "0s=500m,1s=5m"}, STALLED, ""),
        ({**SNR, "snr": "10dB"}, STALLED, ""),
    ],
)
def test_failures_have_causes_in_the_parameters(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, values: dict[str, Plain], why: str, cause: str
) -> None:
    def boot(_kernel: Kernel, _tools: GuestTools, run_dir: Path, **_rest: object) -> object:
        console = run_dir / "console.log"
        console.write_text("hello\n")
        return base.GuestResult("timeout", None, 1.0, 0.9, console, why)

    monkeypatch.setattr(uml, "boot", boot)
    case = Case(values, Parameters().replace(values))
    failed = run.run_one(RunRequest.of(KERNEL, TOOLS, case, 1), tmp_path)
    assert failed.error == f"{cause}{why}"


def test_the_station_with_the_weakest_signal_is_named(tmp_path: Path) -> None:
    changes = ("parameters:\n", TWO_STATIONS)
    [case] = load(write(tmp_path, GOOD.partition("design:")[0], changes)).cases()
    failed = failure.with_cause(STALLED, testbed_of(case))
    assert failed == f"far, 100 m from ap, has an SNR of 7.3 dB: {STALLED}"


def test_the_snr_is_that_of_the_weaker_direction(tmp_path: Path) -> None:
    changes = ("parameters:\n", TWO_STATIONS.replace("{access_point: ap, distance: 5m}", WEAK))
    [case] = load(write(tmp_path, GOOD.partition("design:")[0], changes)).cases()
    failed = failure.with_cause(STALLED, testbed_of(case))
    assert failed == f"near, 5 m from ap, has an SNR of 6.3 dB: {STALLED}"


@pytest.mark.parametrize(
    ("code", "kind"),
    [(errno.ENOSPC, StopError), (errno.EROFS, StopError), (errno.EIO, AirtcpError)],
)
def test_error_of_a_file_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: int, kind: type[AirtcpError]
) -> None:
    """If it ends the sweep, the files of the unfinished run are removed, which makes room."""

    def boot(_kernel: Kernel, _tools: GuestTools, run_dir: Path, **_rest: object) -> object:
        raise OSError(code, os.strerror(code), str(run_dir / "console.log"))

    monkeypatch.setattr(uml, "boot", boot)
    [request] = requests(KERNEL, TOOLS, [CASE], [1])
    with pytest.raises(AirtcpError, match=rf"console.log: {os.strerror(code)}$") as error:
        run.run_one(request, tmp_path)
    assert error.type is kind
    assert request.directory(tmp_path).exists() == (kind is AirtcpError)


FULL = os.strerror(errno.ENOSPC)


@pytest.mark.parametrize(
    ("error", "full", "status"),
    [("", "", "ok"), ("", FULL, "ok"), ("no ping", "", "failed"), ("no ping", FULL, None)],
)
def test_a_failed_run_ends_the_sweep_if_the_disk_is_full(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: str, full: str, status: str | None
) -> None:
    """Not all programs of a guest report that; a complete run is kept."""

    def boot(_kernel: Kernel, _tools: GuestTools, run_dir: Path, **_rest: object) -> object:
        (run_dir / "console.log").write_text("hello\n")
        return base.GuestResult("ok", 0, 1.0, 0.9, run_dir / "console.log", "")

    def compute(*_: object) -> dict[str, float]:
        if error:
            raise AirtcpError(error)
        return {"goodput_mbps": 1.0}

    monkeypatch.setattr(uml, "boot", boot)
    monkeypatch.setattr(metrics, "compute", compute)
    monkeypatch.setattr(timeseries, "write_csv", lambda path, *_: path.touch())
    monkeypatch.setattr(flent, "write", lambda path, *_: path.touch())
    monkeypatch.setattr(atomicfile, "no_room", lambda _: full)
    [request] = requests(KERNEL, TOOLS, [CASE], [1], "./airtcp run")
    if status is None:
        with pytest.raises(StopError, match=full):
            run.run_one(request, tmp_path)
        assert not request.directory(tmp_path).exists()
    else:
        done = run.run_one(request, tmp_path)
        assert (done.status, done.error) == (status, error or None)
        assert done.metrics == ({} if error else {"goodput_mbps": 1.0})
        assert done.provenance and done.provenance.command == "./airtcp run"


CLIENT = f"{FAILURE}node a AIRTCP_SENDER=10.0.0.1 AIRTCP_RECEIVER=10.0.0.2 command command-a run"
EARLY = f"{FAILURE}an instrument ended early: see the console"


def reason(directory: Path, *console: str, status: Status = "failed") -> str:
    log = directory / "console.log"
    log.write_bytes(b"\xff\n" + "\n".join(console).encode())
    found = failure._reason(GuestResult(status, 1, 1.0, 1.0, log, "it ended early"), directory)
    return found.removesuffix(f" (console: {log})")


@pytest.mark.parametrize(
    ("console", "message"),
    [
        (("command-a: exit code 3", CLIENT), "command-a: exit code 3: \N{REPLACEMENT CHARACTER}no"),
        (("command-b: exit code 3", CLIENT), "command-b: exit code 3"),
        (("command-c: exit code 3", CLIENT), "command-c: exit code 3"),
        (
            ("server-command-b: exit code 0", "server-command-a: exit code 4", CLIENT),
            "server-command-a: exit code 4: GET /",
        ),
        (
            ("command-b: exit code 3", "command-a: exit code 4", CLIENT),
            "command-b: exit code 3",
        ),
        (
            ("server-command-a: exit code 0", EARLY),
            "server-command-a: exit code 0, before the command began; it must stay in the "
            "foreground: GET /",
        ),
        (("server-command-a: exit code 0", f"{FAILURE}ls"), "ls"),
    ],
)
def test_the_program_of_the_user_that_failed_first_is_named(
    tmp_path: Path, console: tuple[str, ...], message: str
) -> None:
    (tmp_path / "command-a.err").write_bytes(b"first\n\xffno\n\n")
    (tmp_path / "command-b.err").write_text("\n")
    (tmp_path / "command-0.err").write_text("a warning of another one\n")
    (tmp_path / "server-command-a.err").write_text("GET /\n")
    assert reason(tmp_path, *console, "command-0: ended after 60 s, its limit") == message


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("", "tcpwatch failed with exit code 3"),
        (
            "tcpwatch: tcp-ap.csv: connections are still open\ntcpwatch: tcp-b.csv: the same",
            "tcpwatch failed with exit code 3: tcp-ap.csv: connections are still open",
        ),
    ],
)
def test_a_failure_of_tcpwatch_is_explained_in_its_words(
    tmp_path: Path, said: str, message: str
) -> None:
    fails = f"kill() {{ :; }}\n{{ echo '{said}' >&2; exit 3; }} & watching=$!\nclosed\n"
    script = shell.HELPERS + shell._INSTRUMENTS + fails
    ended = subprocess.run(["sh", "-c", script], capture_output=True, text=True)
    assert ended.returncode == 1
    assert reason(tmp_path, *ended.stderr.splitlines()) == message


@pytest.mark.parametrize(
    "said",
    [
        "python3: can't open file '/tmp/client.py': [Errno 2] No such file or directory",
        "sh: 1: /tmp/client: not found",
    ],
)
def test_a_program_missing_in_tmp_is_explained(tmp_path: Path, said: str) -> None:
    (tmp_path / "command.err").write_text(f"{said}\n")
    ended = "command: exit code 2"
    assert reason(tmp_path, ended, CLIENT) == f"{ended}: {said}; the guest has its own /tmp"


def test_a_guest_that_panics_has_failed_for_that_reason(tmp_path: Path) -> None:
    console = ("command: exit code 3", CLIENT)
    assert reason(tmp_path, *console, status="panic") == "it ended early"
    assert reason(tmp_path, "hello") == "it ended early"


@pytest.mark.parametrize(
    ("files", "virtual_s"),
    [
        ({"uptime": "15.5 10.0\n", "progress": "15\n"}, 15.5),
        ({"uptime": "", "progress": "15\n"}, 15.0),
        ({"progress": "15\n"}, 15.0),
        ({"progress": "fifteen\n"}, None),
        ({}, None),
    ],
)
def test_virtual_time_of_a_guest_that_was_killed_is_its_last_progress(
    tmp_path: Path, files: dict[str, str], virtual_s: float | None
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert base.virtual_time_s(tmp_path, ("uptime", "progress")) == virtual_s


@pytest.mark.parametrize(
    ("lines", "panic"),
    [
        (
            ["[    3.3] RIP: 0033:f+0x12/0x40", "[    3.3] Kernel panic"],
            "[    3.3] Kernel panic in f+0x12/0x40",
        ),
        (["RIP: 0033:0x60001234", "Kernel panic"], "Kernel panic"),
        (["Kernel panic", "RIP: 0010:g+0x1/0x2"], "Kernel panic"),
    ],
)
def test_a_panic_is_reported_with_the_function_that_faulted(
    tmp_path: Path, lines: Sequence[str], panic: str
) -> None:
    (tmp_path / "console.log").write_text("\n".join(lines))
    assert console.read(tmp_path / "console.log") == (panic, lines[-1])


def test_a_stalled_run_names_the_flows_that_have_not_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def boot(_kernel: Kernel, _tools: GuestTools, run_dir: Path, **_rest: object) -> object:
        console = run_dir / "console.log"
        console.touch()
        for flow, text in zip(request.testbed.flows, written, strict=True):
            (run_dir / flow.file("client")).write_text("{}")
            (run_dir / flow.file("server")).write_text(text)
        return base.GuestResult("timeout", None, 1.0, 0.9, console, "not finished")

    monkeypatch.setattr(uml, "boot", boot)
    three: dict[str, Plain] = {"stations": 3}
    rrul: dict[str, Plain] = {"stations": 2, "dscp": "rrul", "flows": 4}
    expected: list[tuple[dict[str, Plain], list[str], str]] = [
        (three, ["{}", "", ""], "; unfinished: download of station 2, download of station 3"),
        (three, ["", "", ""], ""),
        (three, ["{}", "{}", "{}"], ""),
        (rrul, ["{}"] * 4 + [""] * 4, "; unfinished: download of station 2"),
    ]
    for changes, texts, said in expected:
        written = texts
        case = Case({}, Parameters().replace(changes))
        request = RunRequest.of(KERNEL, TOOLS, case, 1)
        assert run.run_one(request, tmp_path).error == f"not finished{said}"
