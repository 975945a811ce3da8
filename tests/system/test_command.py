# SPDX-License-Identifier: GPL-2.0-only
"""Programs of the user: workload command, exec, and shell with a script."""

import subprocess
from pathlib import Path

import pytest
import sweeps
from guests import Measure

from airtcp.experiment.metrics import METRICS
from airtcp.results.record import RunRecord

PYTHON = "python3 -c \"open('f', 'w').write('x'); import random; print(random.random())\""
SERVED = "python3 -m http.server 8000 --directory /usr/share/common-licenses"
GPL = Path("/usr/share/common-licenses/GPL-3")


def run(measure: Measure, command: str, *settings: str) -> RunRecord:
    return measure("workload=command", f"command={command}", *settings)


def file(result: RunRecord, directory: Path, name: str) -> str:
    return (directory / result.artifacts[name].path).read_text()


def test_curl_fetches_files_from_a_server(measure: Measure, tmp_path: Path) -> None:
    fetch = "curl -sSf -o page -w '%{size_download}\\n' http://$AIRTCP_SENDER:8000/GPL-3"
    settings = (f"server_command={SERVED}", "command_times=3", "delay=20ms")
    result = run(measure, fetch, *settings)
    assert result.error is None
    assert file(result, tmp_path, "command.out").split() == [str(GPL.stat().st_size)] * 3
    assert file(result, tmp_path, "server-command.err").count("GET /GPL-3") == 3
    # A handshake and a request: at least two round trips over 20 ms.
    assert 40 < result.values["command_time_ms_mean"] < 500
    other = (
        "goodput",
        "flow_jain",
        "airtime_jain",
        "ping_",
        "udp_",
        "page_time",
        "completion",
        "request_resp",
    )
    of_tcp = ("retransmits", "data_", "delivery", "acks_", "packets", "tcp_rtt", "cwnd")
    path = ("router_", "host_", "mac_acks", "station_")
    missing = {name for name in METRICS if name.startswith((*other, *of_tcp, *path))}
    assert METRICS.keys() - result.values.keys() == missing


def test_upload_swaps_the_roles(measure: Measure, tmp_path: Path) -> None:
    result = run(measure, "ip -br -4 address; echo $AIRTCP_RECEIVER", "direction=upload")
    words = file(result, tmp_path, "command.out").split()
    assert "10.0.0.1/24" in words and words[-1] == "10.0.0.1"


def test_a_seed_determines_a_program_in_python(measure: Measure, tmp_path: Path) -> None:
    outputs = []
    for seed in (1, 1, 2):
        result = measure("workload=command", f"command={PYTHON}", seed=seed)
        assert result.error is None
        outputs.append(file(result, tmp_path, "command.out"))
    assert outputs[0] == outputs[1] != outputs[2]


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("kill -SEGV $$", "command: ended by signal 11 (Segmentation fault)"),
        ("sleep 100", "command: ended after 5 s, its limit"),
        ("echo first >&2; echo why >&2; exit 3", "command: exit code 3: why"),
        ("nothing-like-it", "command: exit code 127: sh: 1: nothing-like-it: not found"),
        ("cat /dev/zero", "command: exit code 153: File size limit exceeded"),
        (
            "for i in 1 2 3 4 5 6 7 8; do head -c 50000000 /dev/zero >$i || exit 9; done",
            "command: exit code 9: head: error writing 'standard output': No space left on device",
        ),
        ("echo x >/run/airtcp/result.json", "Read-only file system"),
    ],
    ids=["crash", "hang", "failure", "unknown", "output", "disk", "directory"],
)
def test_failures_are_one_line(measure: Measure, command: str, reason: str) -> None:
    result = run(measure, command, "command_limit=5s")
    assert result.status == "failed" and result.error is not None
    assert "\n" not in result.error and reason in result.error
    assert "console.log)" in result.error


def test_forks_without_end_are_limited(measure: Measure, tmp_path: Path) -> None:
    bomb = "bomb() { bomb | bomb & }; bomb; sleep 3; exit 0"
    result = run(measure, bomb, "command_limit=10s")
    assert result.error is None or "command: " in result.error
    assert "Cannot fork" in file(result, tmp_path, "command.err")


def test_a_program_that_never_waits_ends_by_time_of_the_host(
    measure: Measure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Virtual time stands still meanwhile, so that command_limit does not end it."""
    for limit_s in (4, 16, 64):  # on a busy machine the guest takes long to start
        monkeypatch.setattr("airtcp.sweep.run._timeout_wall_s", lambda _, limit=limit_s: limit)
        result = run(measure, "echo started >&2; while :; do :; done", "command_limit=5s")
        assert result.status == "timeout" and result.error is not None
        assert result.error.startswith(f"not finished after {limit_s} s of the host's time")
        assert "\n" not in result.error and "console.log)" in result.error
        if file(result, tmp_path, "command.err") == "started\n":
            return
    pytest.fail("the command has not started")


@pytest.mark.parametrize(
    ("served", "command", "error"),
    [
        ("echo cannot listen >&2; exit 4", "sleep 1", "server-command: exit code 4: cannot listen"),
        (
            "true",
            "sleep 1",
            "server-command: exit code 0, before the command began; it must stay in the foreground",
        ),
        ("sleep 2; echo lost >&2; exit 4", "sleep 3", "server-command: exit code 4: lost"),
        ("sleep 2; kill -9 $$", "sleep 3; exit 1", "server-command: ended by signal 9 (Killed)"),
        ("sleep 2", "sleep 3", None),
        ("sleep 9; exit 4", "sleep 3", None),
    ],
    ids=["at once", "ends at once", "later", "first", "ends", "after the client"],
)
def test_a_server_that_fails_is_reported(
    measure: Measure, served: str, command: str, error: str | None
) -> None:
    result = run(measure, command, f"server_command={served}")
    reported = result.error and result.error.partition(" (console: ")[0]
    assert (reported, result.status) == (error, "failed" if error else "ok")


def airtcp(*arguments: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    command = [*sweeps.AIRTCP, *arguments]
    return subprocess.run(
        command, env=sweeps.ENVIRONMENT, input=stdin, capture_output=True, text=True
    )


@pytest.mark.usefixtures("lab_kernel", "tools")
def test_exec_passes_input_output_and_exit_code() -> None:
    script = "cat; ip -br -4 address show wlan0; echo to stderr >&2; exit 7"
    done = airtcp("exec", "thesis-lan", "station", "--", "sh", "-c", script, stdin="from stdin\n")
    assert done.returncode == 7
    first, second = done.stdout.splitlines()
    assert first == "from stdin" and second.split() == ["wlan0", "UP", "10.0.0.2/24"]
    assert done.stderr == "to stderr\n"


@pytest.mark.usefixtures("lab_kernel", "tools")
@pytest.mark.parametrize(
    ("program", "code", "reason"),
    [("nosuch", 127, "No such file or directory"), ("/etc", 126, "Permission denied")],
)
def test_exec_of_an_unknown_program_is_reported(program: str, code: int, reason: str) -> None:
    done = airtcp("exec", "thesis-lan", "station", "--", program)
    assert (done.returncode, done.stderr) == (code, f"{program}: {reason}\n")


@pytest.mark.usefixtures("lab_kernel", "tools")
def test_exec_is_in_virtual_time_and_reproducible() -> None:
    command = ["sh", "-c", "date +%s%N; sleep 3000; date +%s%N; od -An -N8 -x /dev/urandom"]
    outputs = [
        airtcp("exec", "thesis-lan", *seed, "server", "--", *command).stdout
        for seed in ([], ["--seed", "1"], ["--seed", "2"])
    ]
    begin, end, *_ = outputs[0].split()
    assert int(end) - int(begin) == pytest.approx(3000e9, rel=1e-3)
    assert outputs[0] == outputs[1] != outputs[2]


@pytest.mark.usefixtures("lab_kernel", "tools")
def test_shell_runs_a_script_from_a_pipe() -> None:
    script = "server ping -c 1 -q 10.0.0.2 | grep -o '1 received'\nstation true\nexit 5\n"
    done = airtcp("shell", "thesis-lan", stdin=script)
    assert (done.returncode, done.stdout) == (5, "1 received\n")


@pytest.mark.usefixtures("lab_kernel", "tools")
def test_unknown_nodes_are_refused() -> None:
    done = airtcp("exec", "thesis-lan", "sever", "--", "true")
    assert (done.returncode, done.stdout) == (2, "")
    expected = "'sever' is not a node; did you mean 'server'? allowed: server ap station"
    assert done.stderr == f"airtcp: {expected}\n"


def test_sample_of_the_documentation_is_the_file() -> None:
    root = Path(__file__).parents[2]
    text = (root / "samples" / "fetch.yaml").read_text().partition("\n")[2]
    page = (root / "docs" / "how-to" / "own-program.md").read_text()
    assert f"```yaml\n{text}```" in page


@pytest.mark.usefixtures("lab_kernel", "tools")
def test_a_node_may_have_the_name_of_a_program(tmp_path: Path) -> None:
    path = tmp_path / "named.yaml"
    path.write_text(
        "name: named\ntitle: A station with the name of a program\n"
        "topology: {servers: {srv: {}}, access_points: {ap: {}}, "
        "stations: {node: {access_point: ap}}}\n"
        "flows: [{from: srv, to: node}]\n"
    )
    done = airtcp("exec", str(path), "node", "--", "echo", "inside")
    assert (done.returncode, done.stdout) == (0, "inside\n")
