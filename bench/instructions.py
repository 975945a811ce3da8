# SPDX-License-Identifier: GPL-2.0-only
"""Instructions per received segment, in plain Linux and in ours with every ACK policy.

QEMU counts the guest's instructions: one takes a nanosecond of the guest's clock, so the host's
speed and load have no effect. receive_cost.c sends bursts of segments to a socket through a TUN
device, which has no GRO, so TCP processes each segment. Everything the guest does counts: writing
to the device, IP and TCP, ACKs and timers, reading. The cost of as many periods without segments
(ticks, system calls that find nothing) is subtracted.

Bursts of 32 are typical of Wi-Fi. Policies send different numbers of ACKs, which are part of the
cost. With an RTT of 24 ms and 6 ms in a queue, `auto` delays an ACK by 1.9 ms; without the queue it
would leave ACKs to TCP. Bursts of 2 get one ACK with `default` and with the policies compared with
it, which shows the policy's own cost, mainly its timer; `aad` has half its delay there, so that it
expires in time, and `auto` leaves so few segments to TCP.

Interrupts other than the timers of policies change a cost by about a percent. The cost of twenty
periods, which have the same number of ticks, is one value; the mean of the middle half of the
values of all repetitions counts, so that rare interrupts do not. Rows with a bound, and those with
which they are compared, are repeated more often than others. For `default`, which sets no timers of
its own, the median of the bursts shows the cost of the hooks without interrupts. The hooks are
no-ops until any socket of the machine has a policy. So `default` has a guest in which none has,
and `in use` is `default` in the guest of the other policies.
"""

import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import numpy as np
import qemu
from scipy.stats import sem, trim_mean

from airtcp.backends.guesttools import GuestTools, build_tools, compile_program
from airtcp.cli.messages import say
from airtcp.errors import AirtcpError
from airtcp.kernel import image, policies
from airtcp.kernel.image import Kernel
from airtcp.paths import REPOSITORY

# The kernels of `make selftests`, with TCP-AO, MD5, TLS, MPTCP and VRFs, like distributions.
FRAGMENT = "x86-selftests"
BURSTS = 600
PERIOD_US = 1000
RTT_US = 24000
QUEUE_US = 6000
REPETITIONS, REPETITIONS_WITHOUT_BOUND = 27, 3

# Maximum cost over `default`, in percent, by burst.
BOUNDS = {(32, "aad"): 3.0, (32, "auto"): 0.0, (2, "auto"): 2.0}
# Maximum cost of `default` over plain Linux, in percent of the median burst.
HOOKS_BOUND = 0.1

# Copies then move several bytes per instruction; QEMU counts `rep movsb` as one per byte.
PARAMETERS = ("clearcpuid=erms",)


class Row(NamedTuple):
    """A setting: segments in a burst (0: the cost to subtract), and sysctls of net.ipv4."""

    name: str
    burst: int
    sysctls: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cost:
    """Per segment: instructions and their standard error, those of median bursts, ACKs."""

    instructions: float
    error: float
    medians: tuple[float, ...]
    acks: float


def rows_of_default(name: str) -> list[Row]:
    return [Row(name, 32), Row(name, 2), Row("idle", 0)]


def rows_of_policies() -> list[Row]:
    names = [name for name in policies.names() if name != "default"]
    return [
        *(Row(name, 32, (f"tcp_ack_policy={name}",)) for name in names),
        Row("auto", 2, ("tcp_ack_policy=auto",)),
        Row("aad", 2, ("tcp_ack_policy=aad", "tcp_aad_beta_percent=50")),
        Row("count", 2, ("tcp_ack_policy=count", "tcp_ack_count=2")),
        *rows_of_default("in use"),
    ]


def repeated(selected: Sequence[Row]) -> list[Row]:
    """The rows in the order in which they are measured, each as often as it is to be."""
    often = {"idle", "plain", "default", "in use"}
    return [
        row
        for repetition in range(REPETITIONS)
        for row in selected
        if repetition < REPETITIONS_WITHOUT_BOUND
        or row.name in often
        or (row.burst, row.name) in BOUNDS
    ]


def count(built: Kernel, tools: GuestTools, directory: Path, plan: str) -> None:
    """Run a plan in a guest whose clock counts instructions. AirtcpError if it fails."""
    (directory / "plan.sh").write_text(plan)
    result = qemu.boot(
        built,
        tools,
        directory,
        cpus=1,
        instructions=True,
        parameters=PARAMETERS,
        timeout_wall_s=7200,
    )
    if result.status != "ok":
        raise AirtcpError(f"{result.reason}\n{result.console.read_text(errors='replace')}")


def measure(built: Kernel, tools: GuestTools, selected: list[Row]) -> dict[Row, Cost]:
    """Run each row in its own network namespace, in one guest. AirtcpError if it fails."""
    order = repeated(selected)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        source = REPOSITORY / "bench" / "receive_cost.c"
        include = REPOSITORY / "tests" / "guest"
        compile_program(directory / "receive_cost", source, f"-I{include}")
        # Kill the loop that reports the guest's progress once a second.
        plan = 'for pid in $(pgrep -P 1); do [ "$pid" = $$ ] || kill "$pid"; done\n'
        plan += "cp receive_cost /tmp\n"
        for row in order:
            settings = "".join(f"sysctl -q -w net.ipv4.{text} && " for text in row.sysctls)
            run = f"/tmp/receive_cost {BURSTS} {row.burst} {PERIOD_US} {RTT_US} {QUEUE_US}"
            plan += f"unshare -n sh -c '{settings}{run}' >>costs || exit 1\n"
        count(built, tools, directory, plan)
        lines = (directory / "costs").read_text().splitlines()
    runs: dict[Row, list[list[int]]] = {}
    for row, line in zip(order, lines, strict=True):
        runs.setdefault(row, []).append([int(value) for value in line.split()])
    *rows, without_segments = selected
    idle, _ = middle_half(runs[without_segments])
    costs = {}
    for row in rows:
        spent, error = middle_half(runs[row])
        costs[row] = Cost(
            (spent - idle) / row.burst,
            error / row.burst,
            tuple(values[2] / row.burst for values in runs[row]),
            mean(values[1] / values[0] for values in runs[row]),
        )
    return costs


def middle_half(runs: Sequence[Sequence[int]]) -> tuple[float, float]:
    """Instructions per burst, and the standard error, from lines of receive_cost.

    The mean of the values of all runs between their quartiles. Values of one run resemble each
    other, so the error is that of the runs.
    """
    values = np.array([line[3:] for line in runs])
    values = values * values.shape[1] / BURSTS  # each is of several bursts
    return float(trim_mean(values, 0.25, axis=None)), float(sem(trim_mean(values, 0.25, axis=1)))


def compare_medians(costs: Mapping[Row, Cost], burst: int, name: str) -> tuple[str, float]:
    """The median burst of a row beside that of plain Linux, and what it costs more in percent.

    Both of the repetition in which it costs least: interrupts only add to it.
    """
    parts, middles = [], []
    for of in ("plain", name):
        [medians] = [cost.medians for row, cost in costs.items() if row[:2] == (of, burst)]
        middles.append(min(medians))
        parts.append(f"{of} {middles[-1]:.1f} (to {max(medians):.1f})")
    over = 100 * (middles[1] / middles[0] - 1)
    return f"median burst of {burst}, per segment: {', '.join(parts)}, {over:+.2f}%", over


def main() -> int:
    plain, patched = image.build_pair(FRAGMENT, say)
    tools = build_tools(say)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    costs = measure(plain, tools, rows_of_default("plain"))
    costs |= measure(patched, tools, rows_of_default("default"))
    costs |= measure(patched, tools, rows_of_policies())

    print("instructions per received segment; ± is their standard error")
    print(f"{'burst':>5}  {'policy':11}  {'instructions':>12}  {'±':>4}  {'ACKs':>5}  over")
    failed: list[str] = []
    shares: list[str] = []
    spent = {(row.burst, row.name): cost.instructions for row, cost in costs.items()}
    for row, cost in costs.items():
        base = "plain" if row.name == "default" else "default"
        over = 100 * (cost.instructions / spent[row.burst, base] - 1)
        share = f"{over:+.2f}% {base}" if row.name != "plain" else ""
        print(
            f"{row.burst:5}  {row.name:11}  {cost.instructions:12.1f}  {cost.error:4.1f}  "
            f"{cost.acks:5.3f}  {share}"
        )
        most = BOUNDS.get((row.burst, row.name))
        if most is None:
            continue
        shares.append(f"{row.name} {over:+.2f}% in bursts of {row.burst} (at most {most}%)")
        if over > most:
            failed.append(f"{shares[-1]} over default")
    for name in ("default", "in use"):
        for burst in (32, 2):
            text, over = compare_medians(costs, burst, name)
            print(text)
            if name == "default":
                shares.append(f"hooks {over:+.2f}% in bursts of {burst} (at most {HOOKS_BOUND}%)")
                if over > HOOKS_BOUND:
                    failed.append(f"{shares[-1]} over plain")
    print(f"additional cost: {', '.join(shares)}")
    for text in failed:
        say(f"bench: {text}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
