# SPDX-License-Identifier: GPL-2.0-only
"""ACK filters on the path: what each stage drops, and what it must not drop."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy
import pytest
from guests import GUEST, TIME_LIMIT_S, Say, assert_silent, copy_helpers, guest_output
from wifi_timing import ACK, legacy, ppdu_us

from airtcp.backends import shell, uml
from airtcp.backends.guesttools import GuestTools
from airtcp.experiment.experiment import Case, Setting
from airtcp.experiment.reader import load
from airtcp.files.airsim import read_airsim
from airtcp.kernel import ackhold, image
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters
from airtcp.parameters.ack_filter import ACKHOLD, STAGES
from airtcp.parameters.quantity import Plain
from airtcp.paths import REPOSITORY
from airtcp.steps import network
from airtcp.sweep.request import RunRequest
from airtcp.sweep.run import run_one
from airtcp.testbed.default import testbed

SEEDS = 1000
# No offloads: each TCP segment is a frame.
BARE: dict[str, Plain] = {"gro": "off", "gso": "off", "tso": "off", "gso_segments": 1}
RADIO: dict[str, Plain] = {"standard": "802.11a", "preset": "wifi-11a", "wmm": "off"}
# A return path that ACKs fill, for filters that act on queued ACKs.
NARROW: dict[str, Plain] = {"return_rate": "500kbit"}
# Conditions under which each stage drops ACKs.
WORK: dict[str, dict[str, Plain]] = {
    "police": {"ack_filter_rate": "200kbit"},
    "shape": {"ack_filter_rate": "200kbit"},
    "cake": NARROW,
    "cake-aggressive": NARROW,
    # The station's ACKs wait for a channel that is busy with the access point's aggregates.
    "ackhold": {},
    "txq": {},
    "txq-aggressive": {},
    "hold": {},
    "multicast": {**RADIO, "direction": "upload"},
}


def run_case(kernel: Kernel, tools: GuestTools, out_dir: Path, **values: Plain) -> dict[str, float]:
    case = Case(values, Parameters().replace({"duration": "3s", **BARE, **values}))
    result = run_one(RunRequest.of(kernel, tools, case, 1), out_dir)
    assert result.error is None
    return result.values


@pytest.fixture
def ackhold_kernel(fragments: tuple[str, ...], say: Say) -> Kernel:
    return image.build(fragments=fragments, extra=ackhold.changes(), say=say)


@pytest.fixture
def stage_kernel(request: pytest.FixtureRequest, stage: str) -> Any:
    """The kernel for a stage."""
    return request.getfixturevalue("ackhold_kernel" if stage == ACKHOLD else "lab_kernel")


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_drops_acks_without_reducing_goodput(
    stage_kernel: Kernel, tools: GuestTools, tmp_path: Path, stage: str
) -> None:
    alone = {name: value for name, value in WORK[stage].items() if name != "ack_filter_rate"}
    plain = run_case(stage_kernel, tools, tmp_path, **alone)
    thinned = run_case(stage_kernel, tools, tmp_path, ack_filter=stage, **WORK[stage])
    assert "acks_filtered" not in plain
    assert thinned["goodput_mbps"] and plain["goodput_mbps"]
    assert thinned["goodput_mbps"] > 0.9 * plain["goodput_mbps"]
    if stage != "multicast":
        assert thinned["acks_filtered"] and thinned["acks_sent"]
        assert 0.05 < thinned["acks_filtered"] / thinned["acks_sent"] <= 1


@pytest.mark.parametrize("stage", STAGES)
def test_last_ack_is_lost_only_with_stages_that_do_not_protect_it(
    stage_kernel: Kernel, tools: GuestTools, tmp_path: Path, stage: str
) -> None:
    """Without the last ACK of a file, the sender waits and retransmits the end of the file.

    The policer drops any packet above its rate; group-addressed frames are not retransmitted after
    a collision.
    """
    tight: dict[str, dict[str, Plain]] = {
        "police": {"ack_filter_rate": "20kbit", "ack_filter_burst": "64B"},
        "shape": {"ack_filter_rate": "20kbit"},
    }
    metrics = run_case(
        stage_kernel,
        tools,
        tmp_path,
        workload="transfer",
        transfer_size="30000B",
        transfers=50,
        ack_filter=stage,
        **{**WORK[stage], **tight.get(stage, {})},
    )
    if stage in ("police", "multicast"):
        assert metrics["retransmits"]
    else:
        assert metrics["retransmits"] == 0


def ack(number: int, **other: Plain) -> dict[str, Plain]:
    return {"ack": number, **other}


FIN_ACK, PSH_ACK, ECE_ACK = 0x11, 0x18, 0x50
SACK_10_20, SACK_10_30 = (f"0101050a{10:08x}{end:08x}" for end in (20, 30))
STAMPS_5, STAMPS_6 = (f"0101080a{value:08x}{1:08x}" for value in (5, 6))

# Segments that are queued at once; indices of those that CAKE keeps with ack-filter, and with
# ack-filter-aggressive. Unpatched Linux 6.12 gives the same.
QUEUED: dict[str, tuple[list[dict[str, Plain]], list[int], list[int]]] = {
    "increasing numbers": ([ack(1), ack(2), ack(3), ack(4)], [2, 3], [3]),
    "duplicates": ([ack(5), ack(5), ack(5)], [0, 1, 2], [0, 1, 2]),
    "numbers that wrap": ([ack(2**32 - 2), ack(2**32 - 1), ack(1)], [1, 2], [2]),
    "windows": ([ack(1, window=7), ack(2), ack(3, window=9), ack(3)], [1, 2, 3], [2, 3]),
    "data": ([ack(1, payload=9), ack(2), ack(3), ack(4, payload=9)], [0, 2, 3], [0, 3]),
    "FIN, PSH": (
        [ack(1, flags=PSH_ACK), ack(2), ack(3), ack(4, flags=FIN_ACK)],
        [0, 2, 3],
        [0, 3],
    ),
    "ECE starts": ([ack(1), ack(2), ack(3, flags=ECE_ACK)], [1, 2], [1, 2]),
    "ECE ends": ([ack(1, flags=ECE_ACK), ack(2), ack(3)], [0, 1, 2], [0, 2]),
    "SACK": (
        [ack(1, options=SACK_10_20), ack(1, options=SACK_10_30), ack(1, options=SACK_10_30)],
        [0, 1, 2],
        [1, 2],
    ),
    "SACK ends": ([ack(1, options=SACK_10_20), ack(30), ack(31)], [0, 1, 2], [0, 2]),
    "timestamps": (
        [ack(1, options=STAMPS_6), ack(2, options=STAMPS_6), ack(3, options=STAMPS_5)],
        [0, 1, 2],
        [1, 2],
    ),
    "two connections": (
        [ack(1), ack(1, port=1), ack(2), ack(2, port=1), ack(3), ack(3, port=1)],
        [2, 3, 4, 5],
        [2, 3, 4, 5],
    ),
    "IPv6": ([ack(1, family=6), ack(2, family=6), ack(3, family=6)], [1, 2], [2]),
    "6in4": ([ack(1, family=64), ack(2, family=64), ack(3, family=64)], [1, 2], [2]),
}


@pytest.mark.parametrize(("mode", "column"), [("ack-filter", 1), ("ack-filter-aggressive", 2)])
def test_cake_drops_redundant_acks(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path, mode: str, column: int
) -> None:
    """CAKE shares the comparison of ACKs with mac80211, but not the walk over the queue."""
    (tmp_path / "cases.json").write_text(json.dumps([case[0] for case in QUEUED.values()]))
    output = guest_output(GUEST / "cake_acks.py", lab_kernel, tools, tmp_path, mode, "cases.json")
    expected = {name: case[column] for name, case in QUEUED.items()}
    assert dict(zip(QUEUED, output["left"], strict=True)) == expected
    queued = sum(len(case[0]) for case in QUEUED.values())
    assert output["ack_drops"] == queued - sum(map(len, output["left"]))


def rules() -> list[str]:
    """Qdiscs, policers, links and firewall rules of the host."""
    commands = ["tc qdisc show", "tc action list action police", "ip -o link", "nft list ruleset"]
    return [
        subprocess.run(command.split(), capture_output=True, text=True, check=False).stdout
        for command in commands
    ]


def guests(out_dir: Path) -> list[str]:
    """Command lines of processes that contain a directory."""
    lines = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            lines.append(process.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return [line for line in lines if str(out_dir) in line]


@pytest.mark.parametrize("ending", [None, signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_rules_are_removed_however_the_run_ends(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path, ending: signal.Signals | None
) -> None:
    assert lab_kernel and tools  # built beforehand, so that runs start at once
    before = rules()
    command = [sys.executable, "-m", "airtcp", "run", "ackfilter-80211a", "--out", str(tmp_path)]
    command += ["--set", "ack_filter=police+multicast", "--set", "ack_filter_rate=100kbit"]
    command += ["--duration", "60s" if ending else "1s", "--seeds", "1"]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "lab")}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, start_new_session=True
    ) as run:
        while not list(tmp_path.rglob("airsim-before.txt")):
            assert run.poll() is None
            time.sleep(0.1)
        if ending:
            run.send_signal(ending)
        run.wait(timeout=60)
    deadline = time.monotonic() + 10
    while guests(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert guests(tmp_path) == []
    assert rules() == before


def test_group_addressed_acks_are_not_answered(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    values: dict[str, Plain] = {**RADIO, "direction": "upload", "capture": "air", **BARE}
    frames = {}
    for stage in ("none", "multicast"):
        case = Case({"ack_filter": stage}, Parameters().replace({**values, "ack_filter": stage}))
        result = run_one(RunRequest.of(lab_kernel, tools, case, 1), tmp_path)
        assert result.error is None
        run_dir = tmp_path / "runs" / case.slug / "seed-1"
        stats = dict(
            line.split() for line in (run_dir / "airsim-after.txt").read_text().splitlines()
        )
        frames[stage] = int(stats["tx_unanswerable"])
    assert frames["none"] < 1000 < frames["multicast"]


# Appended to the plan of a network: transfers of files under losses that depend on a seed.
LOSSES = """\
. ./helpers.sh
ip netns exec server exchange -C cubic serve 100 {size} {seeds} & server=$!
sleep 1
must ip netns exec server python3 -S -B netem_losses.py eth0 10000 10000 {seeds} \\
	ip netns exec station exchange -C cubic fetch 10.0.0.1 100 {size} 1
wait "$server" || fail "exchange at the server"
ip netns exec ap tc -s -j qdisc show dev eth0 >qdisc.json
"""


def times_under_loss(
    kernel: Kernel, tools: GuestTools, run_dir: Path, parameters: Parameters
) -> Any:
    run_dir.mkdir()
    shutil.copy(GUEST / "netem_losses.py", run_dir)
    copy_helpers(run_dir)
    script = LOSSES.format(seeds=SEEDS, size=150_000)
    (run_dir / "plan.sh").write_text(f"{shell.render(network.plan(testbed(parameters)))}\n{script}")
    result = uml.boot(kernel, tools, run_dir, seed=1, timeout_wall_s=900)
    assert result.status == "ok", result.reason
    assert_silent(result.console)
    rows = [line.split(",") for line in (run_dir / "times.csv").read_text().splitlines()]
    assert len(rows) == SEEDS
    return numpy.array([(int(end) - int(start)) / 1e6 for _, start, end, *_ in rows])


@pytest.mark.slow
def test_default_filter_does_not_slow_recovery(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    """With and without the filter, the same 1% of losses, 10 ms, and a return path filled by ACKs.

    Rare effects, such as a timeout instead of a fast retransmit, appear in the slowest tenth.
    """
    base = Parameters().replace({"access": "ethernet", "return_rate": "1Mbit", **BARE})
    filtered = base.replace({"ack_filter": "cake"})
    with ThreadPoolExecutor() as pool:
        plain_ms, cake_ms = pool.map(
            partial(times_under_loss, lab_kernel, tools),
            (tmp_path / "none", tmp_path / "cake"),
            (base, filtered),
        )
    qdiscs = json.loads((tmp_path / "cake" / "qdisc.json").read_text())
    assert sum(tin["ack_drops"] for qdisc in qdiscs for tin in qdisc.get("tins", [])) > SEEDS
    lossy = plain_ms > 1.05 * numpy.median(plain_ms)
    assert lossy.sum() > SEEDS / 10
    assert cake_ms.mean() <= 1.005 * plain_ms.mean()
    assert cake_ms[lossy].mean() <= 1.005 * plain_ms[lossy].mean()
    assert numpy.percentile(cake_ms, 90) <= 1.005 * numpy.percentile(plain_ms, 90)


# The same over the air, then the counters of mac80211.
COUNTS = """\
. ./helpers.sh
ip netns exec server exchange -C cubic serve 100 5000000 1 & server=$!
sleep 1
must ip netns exec station exchange -C cubic fetch 10.0.0.1 100 5000000 1
wait "$server" || fail "exchange at the server"
cd /sys/kernel/debug/ieee80211
must cat phy*/ack_filter >/run/airtcp/radios.txt
must cat phy*/netdev:*/stations/*/acks_filtered >/run/airtcp/stations.txt
"""


def test_mac80211_counts_dropped_acks_of_radios_and_stations(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    parameters = Parameters().replace({"ack_filter": "txq", **BARE})
    (tmp_path / "plan.sh").write_text(
        f"{shell.render(network.plan(testbed(parameters)))}\n{COUNTS}"
    )
    copy_helpers(tmp_path)
    result = uml.boot(lab_kernel, tools, tmp_path, seed=1, timeout_wall_s=TIME_LIMIT_S)
    assert result.status == "ok", result.reason
    lines = (tmp_path / "radios.txt").read_text().splitlines()
    radios = [int(line.split()[1]) for line in lines if line.startswith("filtered ")]
    stations = [int(line) for line in (tmp_path / "stations.txt").read_text().splitlines()]
    assert len(radios) == len(stations) == 2
    # The receiver's ACKs wait in the queue of its radio, for the access point.
    assert sorted(radios) == sorted(stations)
    assert max(radios) > 100


# A long download with ackhold in a node that its ACKs leave, and one in the other.
HOLDS = """\
ip netns exec server exchange -C cubic serve 100 100000000 2 & server=$!
sleep 1
for node in router station; do
	must tc -n $node qdisc replace dev eth0 root ackhold
	must ip netns exec station exchange -C cubic fetch 10.0.0.1 100 100000000 1
	must tc -n $node -s -j qdisc show dev eth0 >$node.json
	must tc -n $node qdisc del dev eth0 root
done
wait "$server" || fail "exchange at the server"
"""


def test_ackhold_holds_no_forwarded_acks(
    ackhold_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    # A queue of more than 3 ms, which the window fills in slow start. TSQ would keep it shorter.
    wire: dict[str, Plain] = {"delay": "10ms", "rate": "300Mbit", "hystart": "off", **BARE}
    wire |= {"tsq": "off", "access": "ethernet", "router": "custom"}
    steps = network.plan(testbed(Parameters().replace(wire)))
    (tmp_path / "plan.sh").write_text(f"{shell.render(steps)}\n{HOLDS}")
    result = uml.boot(ackhold_kernel, tools, tmp_path, seed=1, timeout_wall_s=TIME_LIMIT_S)
    assert result.status == "ok", result.reason
    sent, held = {}, {}
    for node in ("router", "station"):
        [qdisc] = (
            qdisc
            for qdisc in json.loads((tmp_path / f"{node}.json").read_text())
            if qdisc["kind"] == ACKHOLD
        )
        sent[node], held[node] = qdisc["packets"], qdisc["overlimits"]
    assert held["station"] > 10_000
    assert sent["router"] > 10_000
    assert held["router"] == 0


def equation_1_24_mbps(segments: int) -> float:
    """A. Statkus' dissertation (2017), section 1.14: N segments and a TCP ACK, each a DCF exchange.

    The equation adds the backoffs of data and TCP ACKs, and nothing collides. In reality two
    stations count down at the same time and collide once in 16 times or less: the two effects
    cancel to within 1%.
    """

    def exchange_us(payload_octets: int) -> float:
        # MAC header and FCS; LLC and SNAP; IPv4; TCP with timestamps.
        mpdu_octets = 28 + 8 + 20 + 32 + payload_octets
        difs_us, sifs_us, mean_backoff_us = 34, 16, 15 / 2 * 9
        data_us, ack_us = ppdu_us(legacy(54_000), mpdu_octets), ppdu_us(legacy(24_000), ACK)
        return difs_us + mean_backoff_us + data_us + sifs_us + ack_us

    return 8 * segments * 1448 / (segments * exchange_us(1448) + exchange_us(0))


@pytest.mark.parametrize("segments", [1, 2, 3, 4, 6, 8, 12, 16])
def test_goodput_over_802_11a_matches_equation_1_24(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path, segments: int
) -> None:
    cases = load("ackfilter-80211a").cases(
        [
            Setting.parse("ack_policy=count"),
            Setting.parse("ack_count_delay=100ms"),
            Setting.parse(f"ack_count={segments}"),
            Setting.parse("duration=5s"),
        ]
    )
    result = run_one(RunRequest.of(lab_kernel, tools, cases[0], 1), tmp_path)
    assert result.error is None
    assert result.values["goodput_mbps"] == pytest.approx(equation_1_24_mbps(segments), rel=0.03)


def test_policing_all_packets_to_the_sender_drops_all_others(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    """With the rate of Figure 1.9 of Statkus' dissertation, a transfer keeps its rate."""
    cables: dict[str, Plain] = {"access": "ethernet", "ethernet_rate": "100Mbit"}
    script: dict[str, Plain] = {
        **{"ack_filter": "police", "ack_filter_match": "destination"},
        **{"ack_filter_rate": "100kbit", "ack_filter_burst": "102400B"},
    }
    values = run_case(lab_kernel, tools, tmp_path, **cables, **script, duration="20s")
    assert values["goodput_mbps"] > 90
    assert values["acks_filtered"] > 0.8 * values["acks_sent"]
    [counters] = tmp_path.glob("runs/**/ack-filter-police.txt")
    [limiting, dropping] = counters.read_text().split("police 0x")[1:]
    assert "rate 8bit" in dropping and "rate 100Kbit" in limiting


def test_on_802_11a_every_acknowledged_frame_has_an_ack_on_the_air(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    upload: dict[str, Plain] = {**RADIO, "direction": "upload", "duration": "5s"}
    values = run_case(lab_kernel, tools, tmp_path, **upload, capture="air")
    [run_dir] = {path.parent for path in tmp_path.glob("runs/**/airsim-after.txt")}
    counters = read_airsim(run_dir)
    acked_per_s = counters["tx_acked"] / (counters["time_ns"] / 1e9)
    assert values["mac_acks_per_s"] == pytest.approx(acked_per_s, rel=0.02)
    assert values["mac_acks_per_s"] == pytest.approx(values["packets_per_s"], rel=0.02)
