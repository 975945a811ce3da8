# SPDX-License-Identifier: GPL-2.0-only
"""The interface of workloads: steps, expected time and metrics."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from airtcp.experiment.metrics import METRICS, Value
from airtcp.files.tcpwatch import TcpTrace
from airtcp.statistics import Floats
from airtcp.steps.step import Run, Step
from airtcp.testbed.model import Flow, Testbed


class Headline(NamedTuple):
    """The main metric of a workload. For times less is better, for others more.

    Times are means: a median would hide a policy that occasionally waits for a timer.
    """

    metric: str
    title: str

    @property
    def slug(self) -> str:
        """Base name of the files of its figure."""
        return self.title.replace(" ", "-")

    @property
    def heading(self) -> str:
        """The title with a capital letter."""
        return self.title[0].upper() + self.title[1:]

    @property
    def unit(self) -> str:
        return METRICS[self.metric].unit

    @property
    def less_is_better(self) -> bool:
        return self.unit == "ms"


@dataclass(frozen=True)
class Measured:
    """Metrics of a workload, and the last counters of each TCP connection at both ends.

    times_ms: all times that it measured, by the name of their metrics without `_mean` and the like;
    other workloads may have the same. traces: samples at the senders; without connections that
    are too short for one.
    """

    values: Mapping[str, Value] = field(default_factory=dict)
    times_ms: Mapping[str, Floats] = field(default_factory=dict)
    sent: Sequence[Mapping[str, int]] = ()
    received: Sequence[Mapping[str, int]] = ()
    traces: Sequence[TcpTrace] = ()


def _no_steps(flow: Flow) -> list[Step]:
    return []


def _no_files(flow: Flow, number: int, seed: int) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True)
class Workload:
    """What a workload does and measures.

    headline: its main metric.
    listening: steps for a flow that start its server, before anything is sent.
    client: the program of a flow that sends or requests the data; it ends with the flow.
    ending: steps for a flow that wait for its server.
    files: files that these programs read, by name, for a flow, its number from 0, and a seed.
    expected_s: approximate virtual time that a flow takes from its start.
    timeout_s: wall time after which the run has failed, for a flow and the data rate in bit/s.
    measure: metrics of some flows of the run, from the files in its directory. Raises AirtcpError
    if a file is missing or corrupt.
    """

    headline: Headline
    listening: Callable[[Flow], list[Step]]
    client: Callable[[Flow], Run]
    expected_s: Callable[[Flow], float]
    timeout_s: Callable[[Flow, float], float]
    measure: Callable[[Path, Testbed, Sequence[Flow]], Measured]
    ending: Callable[[Flow], list[Step]] = _no_steps
    files: Callable[[Flow, int, int], Mapping[str, str]] = _no_files
