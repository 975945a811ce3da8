# SPDX-License-Identifier: GPL-2.0-only
"""The progress of a sweep, for the user."""

import os
import sys
import time
from collections.abc import Callable, Sequence

from airtcp.experiment.casenames import usual_values
from airtcp.results.record import RunRecord
from airtcp.steps.workloads import headline_of
from airtcp.sweep.request import Request
from airtcp.sweep.run import expected_virtual_s
from airtcp.sweep.sweep import Event, Failure


class Progress:
    """Shows progress: a line that is rewritten on a terminal, otherwise a line for each run.

    name: of the sweep, for each line, if there are several.
    """

    def __init__(
        self, todo: Sequence[Request], write: Callable[[str], None], tty: bool, name: str = ""
    ) -> None:
        self._name = f"{name} " if name else ""
        self._weights = {job: expected_virtual_s(job.testbed) for job in todo}
        self._total_s = sum(self._weights.values())
        self._usual = usual_values([job.case.factors for job in todo])
        self._ended = 0
        self._ended_s = 0.0
        self._write = write
        self._tty = tty
        self._began = time.monotonic()

    def __call__(self, event: Event) -> None:
        if event.ended:
            job, end = event.ended
            self._ended += 1
            self._ended_s += self._weights[job]
            text = f"{self._count} {job.short_name(self._usual)}: {_verdict(end)}\n"
            self._write(f"\r\033[K{text}" if self._tty else text)
        elif self._tty and event.running:
            now = "  ".join(
                f"{job.short_name(self._usual)} at {virtual_s:.0f} s"
                for job, virtual_s in event.running
            )
            eta = self._eta_s(event.running)
            left = f"  {eta:.0f} s left" if eta is not None else ""
            line = f"{self._count}{left}  {now}"
            self._write(f"\r\033[K{line[: _columns() - 1]}")

    @property
    def _count(self) -> str:
        return f"{self._name}[{self._ended}/{len(self._weights)}]"

    def _eta_s(self, running: Sequence[tuple[Request, float]]) -> float | None:
        """Remaining wall time in seconds, at the average speed so far; None before a run has ended.

        The first runs boot and warm up first, so their speed says little.
        """
        if not self._ended:
            return None
        done = self._ended_s + sum(min(virtual_s, self._weights[job]) for job, virtual_s in running)
        elapsed_s = time.monotonic() - self._began
        return elapsed_s * (self._total_s - done) / done


def _columns() -> int:
    """The width of the terminal of progress; standard output may be another one, or a file."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except OSError:
        return 80


def _verdict(end: RunRecord | Failure) -> str:
    # Errors are reported once, at the end of the sweep.
    if isinstance(end, Failure):
        return "failed"
    if end.error:
        return end.status
    headline = headline_of(str(end.parameters["workload"]), end.metrics)
    value = f"{end.metrics[headline.metric]:.2f} {headline.unit}"
    return f"{value}, {end.cost.wall_s:.1f} s"
