# SPDX-License-Identifier: GPL-2.0-only
"""command: a program of the user at the receiver, and optionally one at the sender."""

from collections.abc import Sequence
from pathlib import Path

import numpy

from airtcp.files.exchanges import read_exchanges
from airtcp.steps.step import Instrument, Run, Step
from airtcp.steps.workloads.workload import Headline, Measured, Workload
from airtcp.testbed.model import Flow, Testbed


def _run(flow: Flow, node: str, name: str, *arguments: str, stdout: str = "") -> Run:
    """Run the guest's program `command`, which writes the output to NAME.out and NAME.err."""
    addresses = (f"AIRTCP_SENDER={flow.sender_address}", f"AIRTCP_RECEIVER={flow.receiver_address}")
    argv = (*addresses, "command", f"{name}{flow.suffix}", *arguments)
    return Run(argv, node=node, stdout=stdout)


def _listening(flow: Flow) -> list[Step]:
    served = flow.parameters.server_command
    if served is None:
        return []
    return [Instrument(_run(flow, flow.sender, "server-command", "serve", served))]


def _client(flow: Flow) -> Run:
    parameters = flow.parameters
    limit = f"{parameters.command_limit_s:g}"
    arguments = "run", limit, str(parameters.command_times), str(parameters.command)
    return _run(flow, flow.receiver, "command", *arguments, stdout=flow.exchanges_file)


def _expected_s(flow: Flow) -> float:
    return float(flow.parameters.command_times)


def _timeout_s(flow: Flow, rate_bps: float) -> float:
    """Long enough for traffic at the data rate; it ends programs that never wait."""
    parameters = flow.parameters
    limit_s = parameters.command_limit_s * parameters.command_times
    return flow.start_s + min((30 + rate_bps / 10e6) * limit_s, 120 + 10 * limit_s)


def _measure(run_dir: Path, testbed: Testbed, flows: Sequence[Flow]) -> Measured:
    times_ms = [read_exchanges(run_dir / flow.exchanges_file).times_ms for flow in flows]
    return Measured(times_ms={"command_time_ms": numpy.concatenate(times_ms)})


WORKLOADS = {
    "command": Workload(
        Headline("command_time_ms_mean", "mean time of the command"),
        _listening,
        _client,
        _expected_s,
        _timeout_s,
        _measure,
    )
}
