# SPDX-License-Identifier: GPL-2.0-only
"""What a workload has to say of itself."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from airtcp.parameters import Parameters
from airtcp.steps.step import Run, Step
from airtcp.testbed.model import Flow


def _nothing(flow: Flow) -> list[Step]:
    return []


def _no_files(flow: Flow, seed: int) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True)
class Workload:
    """Of a flow: what listens, before anything is sent; what is measured, a program that ends with
    it; what has then to end at the other host; files of the run that these read, by their names.

    expected_s: virtual time that it takes, about. timeout_s: time of the host, far more than it can
    take.
    """

    listening: Callable[[Flow], list[Step]]
    measured: Callable[[Flow], Run]
    expected_s: Callable[[Parameters], float]
    timeout_s: Callable[[Flow, float], float]
    ending: Callable[[Flow], list[Step]] = _nothing
    files: Callable[[Flow, int], Mapping[str, str]] = _no_files
