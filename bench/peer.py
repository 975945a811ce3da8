# SPDX-License-Identifier: GPL-2.0-only
"""Cross-check of airsim with ns-3: the same scenarios in both, side by side.

Writes docs/reference/bench-peer.md. Exit code 1 if a scenario differs by more than 3% in goodput
without a recorded explanation, or if a run fails. Outcomes are kept in results/bench-peer, and used
again while settings, kernel, ns-3 and its scenario stay the same. --only TEXT: only scenarios with
TEXT in their names, without writing the page.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import Lock

import numpy
from ns3scenario import (
    COMPILE,
    SOURCE,
    arguments,
    compile_scenario,
    values,
    version,
)
from peer_radios import RADIOS
from peer_scenarios import (
    CAPTURE_SECONDS,
    LONG_SECONDS,
    NOTES,
    SECONDS,
    SLOW_WARMUP_S,
    WARMUP_S,
    Scenario,
    scenarios,
)
from radio import OCTETS, Cell, difference, flow, nodes_of, run

from airtcp import atomicfile
from airtcp.backends.guesttools import GuestTools, build_tools
from airtcp.cli.messages import say
from airtcp.errors import AirtcpError
from airtcp.files.airsim import ampdu_sizes, read_airsim
from airtcp.files.tcpwatch import read_connections
from airtcp.kernel.image import Kernel, build
from airtcp.parameters import Parameters
from airtcp.paths import REPOSITORY

SEED = 1
TOLERANCE = 0.03
PAGE = REPOSITORY / "docs" / "reference" / "bench-peer.md"
RESULTS = REPOSITORY / "results" / "bench-peer"
STATS = "/sys/kernel/debug/airsim/stats"

# Scenarios that differ on one side only share the outcome of the other side.
_LOCKS: dict[Path, Lock] = {}


@dataclass(frozen=True)
class Outcome:
    """Goodput of all stations, and mean number of MPDUs in a PPDU with data (ns-3: or ACKs).

    first_mbps: goodput of the first station, if it is compared on its own.
    """

    goodput_mbps: float
    mpdus: float
    first_mbps: float | None = None

    def of(self, counted: str) -> "Outcome":
        """The same with the goodput of the stations that count."""
        if self.first_mbps is None:
            return self
        rest_mbps = self.goodput_mbps - self.first_mbps
        mbps = {"all": self.goodput_mbps, "near": self.first_mbps, "far": rest_mbps}
        return replace(self, goodput_mbps=mbps[counted])


@dataclass(frozen=True)
class Pair:
    """Outcomes of a scenario.

    expected_mbps: by the standard's arithmetic; expected_of_ns3_mbps: by ns-3's simplifications of
    it; None where there is no such arithmetic.
    """

    scenario: Scenario
    ns3: Outcome
    airtcp: Outcome
    expected_mbps: float | None = None
    expected_of_ns3_mbps: float | None = None

    @property
    def ratio(self) -> float:
        return self.airtcp.goodput_mbps / self.ns3.goodput_mbps

    @property
    def verdict(self) -> str:
        if near(self.airtcp.goodput_mbps, self.ns3.goodput_mbps):
            return "agree"
        if not self.scenario.comparable:
            return "not comparable"
        explained = near(self.ns3.goodput_mbps, self.expected_of_ns3_mbps) and near(
            self.airtcp.goodput_mbps, self.expected_mbps
        )
        return "explained" if self.scenario.notes and explained else "NOT EXPLAINED"


def near(value: float, expected: float | None) -> bool:
    """Whether a value is within the tolerance, if there is an expected one."""
    return expected is None or abs(value / expected - 1) <= TOLERANCE


def ns3_outcome(output: str) -> Outcome:
    """What ns3-scenario printed. AirtcpError if it sent no data."""
    found = values(output)
    if not found["ppdus"]:
        raise AirtcpError("ns-3 sent no data")
    mpdus = found["mpdus"] / found["ppdus"]
    return Outcome(found["goodput_mbps"], mpdus, found["goodput_first_mbps"])


def mean_mpdus(directory: Path) -> float:
    """Mean number of MPDUs in a PPDU with data, from airsim's counters."""
    sizes = ampdu_sizes(read_airsim(directory))
    return sum(size * count for size, count in sizes.items()) / sum(sizes.values())


def steady_mbps(run_dir: Path, direction: str, warmup_s: float, seconds: float) -> float:
    """Goodput of all connections of a run for `seconds`, from warmup_s after they started.

    The server counts bytes: acknowledged ones if it sends, received ones otherwise. AirtcpError if
    the run is too short.
    """
    name = "bytes_acked" if direction == "download" else "bytes_received"
    connections = read_connections(run_dir, "server")
    counted = []
    for rows in connections.samples.values():
        columns = dict(zip(connections.columns, numpy.array(rows, dtype=float).T, strict=True))
        # iperf3's control connection has little data.
        if columns[name][-1] > 1e6:
            counted.append((columns["time_ns"] / 1e9, columns[name]))
    if not counted:
        raise AirtcpError(f"{run_dir}: no connection has data")
    began_s = max(times_s[0] for times_s, _ in counted) + warmup_s
    ended_s = began_s + seconds
    if ended_s > min(times_s[-1] for times_s, _ in counted):
        raise AirtcpError(f"{run_dir}: the connections end before {ended_s:.1f} s")
    sums = [numpy.diff(numpy.interp((began_s, ended_s), *pair))[0] for pair in counted]
    return float(8 * sum(sums) / seconds / 1e6)


def udp_cell(scenario: Scenario) -> Cell:
    """The cell of a scenario with UDP."""
    parameters = Parameters().replace(scenario.parameters())
    stations = [f"sta{number}" for number in range(scenario.stations)]
    legacy = Parameters().replace({**RADIOS["a"].parameters(), "preset": "wifi-11a"})
    own = dict.fromkeys(stations[: scenario.legacy_stations], legacy)
    return Cell("ap", stations, parameters, own)


def udp_script(scenario: Scenario, cell: Cell) -> str:
    """The guest's script: places, flows, counters before and after the measurement."""
    lines = []
    if scenario.rts:
        lines += [
            f"must node {name} iw phy phy{number} set rts 0\n"
            for number, name in enumerate(nodes_of([cell]))
        ]
    errors = "errors snr capture on " if scenario.capture else ""
    lines += [
        f"must airsim radio set {number} {errors}x_mm {x} y_mm {y}\n"
        for number, (x, y) in enumerate(places_mm(scenario))
    ]
    for name in cell.stations:
        ends = ("ap", name) if scenario.direction == "download" else (name, "ap")
        lasts_s = scenario.warmup_s + scenario.seconds + 1
        lines.append(flow([cell], *ends, lasts_s, 0, scenario.buffer_bytes))
    lines.append(f"sleep {scenario.warmup_s}\nsample before\ncat {STATS} >airsim-before.txt\n")
    lines.append(f"sleep {scenario.seconds}\nsample after\ncat {STATS} >airsim-after.txt\n")
    return "".join(lines)


def places_mm(scenario: Scenario) -> list[tuple[int, int]]:
    """Positions of the access point and the stations, 1 m away from it without capture."""
    if scenario.capture:
        far_mm = (1000 * scenario.capture.far_m, 0)
        return [(0, 0), (1000 * scenario.capture.near_m, 0), *[far_mm] * (scenario.stations - 1)]
    turns = numpy.arange(scenario.stations) / scenario.stations * 2 * numpy.pi
    if scenario.place == "point":
        turns[:] = 0
    xs, ys = 1000 * numpy.cos(turns), 1000 * numpy.sin(turns)
    return [(0, 0), *((round(x), round(y)) for x, y in zip(xs, ys, strict=True))]


def airtcp_udp(kernel: Kernel, tools: GuestTools, scenario: Scenario, directory: Path) -> Outcome:
    cell = udp_cell(scenario)
    run(kernel, tools, directory, [cell], udp_script(scenario, cell), seed=SEED)
    sample = difference(directory / "before", directory / "after")
    receivers = cell.stations if scenario.direction == "download" else [cell.ap]
    packets = sum(sample.nodes[name]["packets"] for name in receivers)
    mbps_of_one = 8 * OCTETS / sample.time_s / 1e6
    # Without A-MPDUs, a packet is an MPDU.
    first = sample.nodes[cell.stations[0]]["acked"] * mbps_of_one if scenario.capture else None
    return Outcome(packets * mbps_of_one, mean_mpdus(directory), first)


def experiment(scenario: Scenario) -> str:
    """An experiment file with one case."""
    document = {
        "name": "bench-peer",
        "title": scenario.name,
        "source": "bench/peer.py",
        "description": "a scenario that ns-3 runs too",
        "parameters": scenario.tcp_parameters(),
    }
    return json.dumps(document)


def airtcp_tcp(scenario: Scenario, directory: Path) -> Outcome:
    directory.mkdir()
    file = directory / "bench-peer.yaml"
    file.write_text(experiment(scenario))
    output(["./airtcp", "run", str(file), "--jobs", "1", "--out", str(directory / "out")])
    [counters] = directory.rglob("airsim-after.txt")
    run_dir = counters.parent
    mbps = steady_mbps(run_dir, scenario.direction, scenario.warmup_s, scenario.seconds)
    return Outcome(mbps, mean_mpdus(run_dir))


def output(command: Sequence[str]) -> str:
    """What a command prints. AirtcpError with its messages if it fails."""
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    if done.returncode:
        raise AirtcpError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def cached(what: object, measure: Callable[[], Outcome]) -> Outcome:
    """The outcome of a measurement, from the cache if `what`, which determines it, is the same."""
    path = RESULTS / f"{hashlib.sha256(repr(what).encode()).hexdigest()[:16]}.json"
    with _LOCKS.setdefault(path, Lock()):
        if path.exists():
            return Outcome(**json.loads(path.read_text()))
        outcome = measure()
        atomicfile.write_json(path, asdict(outcome))
        return outcome


@dataclass(frozen=True)
class Simulators:
    """Both simulators, built."""

    program: Path
    kernel: Kernel
    tools: GuestTools

    def version(self) -> str:
        ns3 = f"ns-3 {version()} (Debian, `{' '.join(COMPILE)}`)"
        return f"{ns3}, Linux {self.kernel.version}"

    def measure(self, scenario: Scenario) -> list[Pair]:
        """Run a scenario in both; a pair for each of its parts. AirtcpError if a run fails."""
        options = scenario.options(SEED)
        command = [str(self.program), *arguments(options)]
        source = version(), SOURCE.read_bytes()
        ns3 = cached(("ns-3", options, source), lambda: ns3_outcome(output(command)))
        what = "airtcp", scenario.settings(), self.kernel.hash
        ours = cached(what, lambda: self._airtcp(scenario))
        pairs = [
            Pair(
                part,
                ns3.of(part.counted),
                ours.of(part.counted),
                part.expected_mbps(),
                part.expected_of_ns3_mbps(),
            )
            for part in scenario.parts()
        ]
        print(*map(line, pairs), sep="\n", flush=True)
        return pairs

    def _airtcp(self, scenario: Scenario) -> Outcome:
        with tempfile.TemporaryDirectory() as name:
            directory = Path(name) / "run"
            if scenario.protocol == "tcp":
                return airtcp_tcp(scenario, directory)
            return airtcp_udp(self.kernel, self.tools, scenario, directory)


HEADER = """\
| Scenario | ns-3 | airtcp | Ratio | Standard | ns-3's rules | MPDUs: ns-3 | airtcp | Verdict |
|---|---:|---:|---:|---:|---:|---:|---:|---|
"""


def line(pair: Pair) -> str:
    """A row of the table."""
    expected = [
        "" if mbps is None else f"{mbps:.1f}"
        for mbps in (pair.expected_mbps, pair.expected_of_ns3_mbps)
    ]
    mpdus = [f"{outcome.mpdus:.1f}" for outcome in (pair.ns3, pair.airtcp)]
    if pair.scenario.protocol == "tcp":
        # ns3-scenario also counts PPDUs with nothing but TCP's ACKs.
        mpdus = ["", ""]
    verdict = " ".join([pair.verdict, *(f"[{note}]" for note in pair.scenario.notes)])
    cells = [
        pair.scenario.name,
        f"{pair.ns3.goodput_mbps:.1f}",
        f"{pair.airtcp.goodput_mbps:.1f}",
        f"{pair.ratio:.3f}",
        *expected,
        *mpdus,
        verdict,
    ]
    return f"| {' | '.join(cells)} |"


def page(pairs: Sequence[Pair], version: str) -> str:
    """The page of docs. version: those of both simulators."""
    used = {note for pair in pairs for note in pair.scenario.notes}
    notes = "".join(f"- **{key}**: {text}\n" for key, text in NOTES.items() if key in used)
    rows = "".join(f"{line(pair)}\n" for pair in pairs)
    agree = sum(pair.verdict == "agree" for pair in pairs)
    return f"""\
# Comparison with ns-3

Generated by `make bench-peer`: {version}; seed {SEED}. {agree} of {len(pairs)} scenarios agree
within {TOLERANCE:.0%} in goodput; the command fails if another one has no explanation.

Goodput in Mbit/s is that of all stations together, or of those that the scenario names last. It
is measured for {SECONDS} s ({LONG_SECONDS} s with TCP and with A-MPDUs of 16 stations that
collide, {CAPTURE_SECONDS} s with stations at different distances). The measurement begins
{WARMUP_S} s after the start of the flows ({SLOW_WARMUP_S} s with a wire of 20 ms or TCP of 16
stations). Ratio: airtcp to ns-3. Standard: arithmetic
independent of both (`tests/support/wifi_timing.py`; contending stations:
`tests/support/edca_simulation.py`, at different distances `tests/support/capture_model.py`). ns-3's
rules: the same with the simplification that explains the difference. MPDUs: mean number in a PPDU
with UDP data.

Unless the scenario says otherwise, both have the same settings: stations 1 m from the access
point, at one point; channel 36; 802.11a at 54 Mbit/s, 802.11n with MCS 5 on each of two streams
and short guard interval, 802.11ac with 80 MHz, MCS 9, two streams and short guard interval,
802.11ax with 80 MHz, MCS 11, two streams and 0.8 us; A-MPDUs of up to 5484 us, 65535 octets
(802.11n) or 1048575, and 64 MPDUs or 256 (802.11ax); no A-MSDUs, MPDU spacing, RTS, TXOP limit or
MSDU lifetime; best effort with AIFSN 3 and CWmin 15 (CWmax of the access point 63 with TCP, else
1023); a BlockAckReq after a missing BlockAck; responses at 24 Mbit/s; 7 attempts; losses only by
collision. Stations at different distances: 20 dBm, path loss exponent 3, NIST's error model and
capture (airtcp: `capture_effect`; ns-3: `SimpleFrameCaptureModel`). TCP: CUBIC without HyStart,
segments of 1448 octets, timestamps, SACK, no offloads; queues without drops and AQM, in turn over
the stations; send buffers of 3 MiB divided by the number of stations, at least 384 KiB.

{HEADER}{rows}
{notes}"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="TEXT")
    jobs = len(os.sched_getaffinity(0))
    parser.add_argument("--jobs", type=int, default=jobs, metavar="N", help="runs at once")
    options = parser.parse_args()
    selected = [scenario for scenario in scenarios() if options.only in scenario.name]
    try:
        RESULTS.mkdir(parents=True, exist_ok=True)
        simulators = Simulators(compile_scenario(RESULTS), build(say=say), build_tools(say))
        with ThreadPoolExecutor(options.jobs) as pool:
            pairs = [pair for pairs in pool.map(simulators.measure, selected) for pair in pairs]
    except AirtcpError as error:
        say(f"bench: {error}")
        return 1
    if not options.only:
        PAGE.write_text(page(pairs, simulators.version()), encoding="utf-8")
    return int(any(pair.verdict == "NOT EXPLAINED" for pair in pairs))


if __name__ == "__main__":
    sys.exit(main())
