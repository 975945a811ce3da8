# SPDX-License-Identifier: GPL-2.0-only
"""A user's policy, built into the laboratory's kernel, is used; build errors are reported."""

import csv
import re
import shutil
from pathlib import Path

import pytest
from guests import Say, thesis_case
from test_packets import copy_interpreter, run_scripts

from airtcp.backends import console
from airtcp.backends.guesttools import GuestTools
from airtcp.errors import AirtcpError
from airtcp.experiment.experiment import Setting
from airtcp.experiment.reader import load
from airtcp.kernel import own_policy
from airtcp.kernel.image import Kernel
from airtcp.kernel.names import Names
from airtcp.parameters.kernelnames import context
from airtcp.sweep.request import RunRequest
from airtcp.sweep.run import run_one

SAMPLES = Path(__file__).parents[2] / "samples"
PACKETS = Path(__file__).parents[1] / "packets"
SAMPLE = SAMPLES / "ackpol"

TCP_INFINITE_SSTHRESH = 0x7FFFFFFF


def test_users_policy_decides_when_acks_are_sent(
    lab_kernel: Kernel, tools: GuestTools, say: Say, tmp_path: Path
) -> None:
    """The sample delays an ACK by 5 ms from the first segment that it acknowledges."""
    policy = own_policy.read(SAMPLE)
    built = own_policy.build(policy, None, say=say)
    assert built.hash != lab_kernel.hash

    case = thesis_case("ack_policy=fixed", "ack_trace=on", "duration=1s", own=policy.names)
    result = run_one(RunRequest.of(built, tools, case, 1), tmp_path)
    assert result.error is None
    [trace] = tmp_path.rglob("ack-trace.txt")
    delays_us = re.findall(r"reason=delayed .* ato_us=(\d+) segs=1 ", trace.read_text())
    assert len(delays_us) > 100
    assert set(delays_us) == {"5000"}


def test_users_congestion_control_reduces_its_window(
    lab_kernel: Kernel, tools: GuestTools, say: Say, tmp_path: Path
) -> None:
    """After the first loss, until which both runs are the same, `aimd` keeps 80%, Reno 50%."""
    policy = own_policy.read(SAMPLES / "congestion-control")
    built = own_policy.build(policy, None, say=say)
    kept = {}
    for name in ("reno", "aimd"):
        case = thesis_case(f"congestion_control={name}", "sack=on", own=policy.names)
        out_dir = tmp_path / name
        assert run_one(RunRequest.of(built, tools, case, 1), out_dir).error is None
        [samples] = out_dir.rglob("tcp-server.csv")
        with samples.open() as file:
            found = [int(row["ssthresh"]) for row in csv.DictReader(file)]
        kept[name] = next(value for value in found if value != TCP_INFINITE_SSTHRESH)
    assert kept["aimd"] / kept["reno"] == pytest.approx(0.8 / 0.5, abs=0.01)


def test_readings_of_aad_differ_in_when_they_acknowledge(
    lab_kernel: Kernel, tools: GuestTools, say: Say, tmp_path: Path
) -> None:
    """Only aad-ns3 has no rule of two segments, neither on arrival nor on reading."""
    policy = own_policy.read(SAMPLES / "aad-readings")
    built = own_policy.build(policy, None, say=say)
    rates = {}
    for name in policy.names["ack_policy"]:
        case = thesis_case(f"ack_policy={name}", "sack=on", own=policy.names)
        result = run_one(RunRequest.of(built, tools, case, 1), tmp_path)
        assert result.error is None
        rates[name] = result.values["acks_per_segment"]
    assert rates.pop("aad-ns3") < 0.1
    assert set(rates) == {"aad-at-read", "aad-no-quick", "aad-uptime"}
    assert min(rates.values()) > 0.2


@pytest.fixture
def limit_readings(lab_kernel: Kernel, say: Say) -> tuple[Kernel, Names]:
    """A kernel with the policies of samples/limit-readings, and their names."""
    policy = own_policy.read(SAMPLES / "limit-readings")
    return own_policy.build(policy, None, say=say), policy.names


def as_window(script: str) -> str:
    """A script of limit with limit-window, which by default has the same windows."""
    start = "" if "tcp_ack_limit=" in script else "--sysctl net.ipv4.tcp_limit_start_segs=0\n"
    script = script.replace("tcp_ack_limit=", "tcp_limit_start_segs=")
    return script.replace("--policy=limit\n", f"--policy=limit-window\n{start}")


def test_readings_of_limit_acknowledge_as_documented(
    limit_readings: tuple[Kernel, Names], tools: GuestTools, tmp_path: Path
) -> None:
    kernel, own = limit_readings
    scripts = {path.name: path.read_text() for path in (PACKETS / "limit-readings").glob("*.pkt")}
    for name in own["ack_policy"]:
        if name not in ("limit-win100", "limit-win2000", "limit-list100", "limit-unset-hz"):
            assert f"--policy={name}\n" in scripts[f"{name}.pkt"]
    of_limit = {path.name: path.read_text() for path in PACKETS.glob("limit-*.pkt")}
    del of_limit["limit-max.pkt"]  # limit-window has no sysctl for the maximum
    scripts |= {f"window of {name}": as_window(script) for name, script in of_limit.items()}
    copy_interpreter(tmp_path)
    for name, script in scripts.items():
        (tmp_path / "scripts" / name).write_text(script)
    results = run_scripts(kernel, tools, tmp_path)
    assert {name: result["problem"] for name, result in results.items()} == dict.fromkeys(
        scripts, ""
    )


def test_readings_of_limit_send_fewer_acks_unless_reading_sends_them(
    limit_readings: tuple[Kernel, Names], tools: GuestTools, tmp_path: Path
) -> None:
    """Linux acknowledges every two segments as they are read, whatever the ratio is."""
    kernel, own = limit_readings
    names = own["ack_policy"]
    experiment = load("acklimit-vm", context(own))
    rates = {}
    for name in names:
        settings = (f"ack_policy={name}", "duration=2s", "capture=off")
        [case] = experiment.cases([Setting.parse(text) for text in settings])
        result = run_one(RunRequest.of(kernel, tools, case, 1), tmp_path)
        assert result.error is None
        rates[name] = result.values["acks_per_segment"]
    assert all(rate is not None for rate in rates.values())
    assert {name for name in names if rates[name] > 0.45} == {"limit-listing", "limit-list100"}
    assert rates["limit-win10"] < rates["limit-win100"] < rates["limit-window"]
    assert 1.5 * rates["limit-unset-hz"] < rates["limit-unset"] < rates["limit-no-read"]


def changed_sample(tmp_path: Path, old: str, new: str) -> Path:
    """A copy of the sample with another text in its C file."""
    copy = tmp_path / "changed"
    shutil.copytree(SAMPLE, copy)
    module = copy / "tcp_ackpol_fixed.c"
    text = module.read_text()
    assert text.count(old) == 1
    module.write_text(text.replace(old, new))
    return copy


def test_first_error_of_the_compiler_is_reported(
    lab_kernel: Kernel, say: Say, tmp_path: Path
) -> None:
    broken = changed_sample(tmp_path, "READ_ONCE(delay_us)", "READ_ONCE(delay_u)")
    module = broken / "tcp_ackpol_fixed.c"
    line = (
        module.read_text().splitlines().index("\tu64 due_us = ap->first_us + READ_ONCE(delay_u);")
    )
    with pytest.raises(AirtcpError) as error:
        own_policy.build(own_policy.read(broken), None, say=say)
    assert f"{module}:{line + 1}:" in str(error.value)
    assert "delay_u" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_policy_cannot_take_the_name_of_a_built_in_one(
    lab_kernel: Kernel, tools: GuestTools, say: Say, tmp_path: Path
) -> None:
    """MODULE_ALIAS_TCP_ACKPOL has another name than .name, which only the kernel reads."""
    policy = own_policy.read(changed_sample(tmp_path, '.name\t\t= "fixed"', '.name = "auto"'))
    built = own_policy.build(policy, None, say=say)

    case = thesis_case("ack_policy=auto", "duration=1s", own=policy.names)
    runs = [
        run_one(RunRequest.of(kernel, tools, case, 1), tmp_path / kernel.hash)
        for kernel in (lab_kernel, built)
    ]
    assert runs[0].error is None
    assert runs[0].metrics == runs[1].metrics
    case = thesis_case("ack_policy=fixed", "duration=1s", own=policy.names)
    refused = run_one(RunRequest.of(built, tools, case, 1), tmp_path)
    assert "refuses the value fixed: the module of --policy has not reg" in str(refused.error)


def test_a_warning_is_on_the_console(
    lab_kernel: Kernel, tools: GuestTools, say: Say, tmp_path: Path
) -> None:
    warns = changed_sample(tmp_path, "\n\tu64 due_us", "\n\tWARN_ON_ONCE(1);\n\tu64 due_us")
    policy = own_policy.read(warns)
    built = own_policy.build(policy, None, say=say)
    case = thesis_case("ack_policy=fixed", "duration=1s", own=policy.names)
    request = RunRequest.of(built, tools, case, 1)
    assert run_one(request, tmp_path).error is None
    assert "tcp_ackpol_fixed.c:" in console.warning(request.directory(tmp_path) / console.FILE)


def test_makefile_without_a_module_is_reported(
    lab_kernel: Kernel, say: Say, tmp_path: Path
) -> None:
    empty = tmp_path / "empty"
    shutil.copytree(SAMPLE, empty)
    (empty / "Makefile").write_text("# nothing\n")
    with pytest.raises(AirtcpError, match="obj-m of the Makefile names no module"):
        own_policy.build(own_policy.read(empty), None, say=say)
