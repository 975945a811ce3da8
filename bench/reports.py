# SPDX-License-Identifier: GPL-2.0-only
"""CPU seconds of reports, next to those of their runs: 12 runs, 54 cases, all experiments.

The runs are real. They are kept in results/bench-reports, so a repetition measures only reports.
Transfers last ten seconds, but of all experiments at most --seconds (default: 10; 0: as long as the
experiments say). Each report is a process of its own, whose start counts.
"""

import argparse
import resource
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from airtcp.backends.guesttools import build_tools
from airtcp.cli.messages import say
from airtcp.errors import InputError
from airtcp.experiment import catalogue
from airtcp.experiment.experiment import Experiment, Setting
from airtcp.experiment.reader import load
from airtcp.kernel.image import build
from airtcp.results import documents
from airtcp.sweep.session import SweepOptions, measure

OUT = Path("results/bench-reports")
COMMAND = (sys.executable, "-P", "-m", "airtcp", "report")

# Of thesis-lan.
TWELVE = ("ack_policy=default,aad,auto", "delay=0ms,10ms", "duration=10s")
CASES = ("ack_policy=default,aad,auto", "delay=0ms,10ms,50ms", "rate=unlimited,100Mbit,50Mbit")
FIFTY_FOUR = (*CASES, "gro=off,on", "duration=10s")


@dataclass(frozen=True)
class Sweep:
    """A sweep and the arguments of its reports. runs_s: CPU time of its runs."""

    name: str
    runs: int
    runs_s: float
    reports: Sequence[Sequence[str]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=10, help="limit of transfers; 0: none")
    parser.add_argument("--out", type=Path, default=OUT, help="directory of the runs")
    options = parser.parse_args()
    print(f"{'runs':>5}  {'CPU s of runs':>13}  {'of report':>9}  {'ratio':>6}  sweep")
    for sweep in sweeps(options.out, options.seconds):
        report_s = sum(map(cpu_s, sweep.reports))
        print(
            f"{sweep.runs:5}  {sweep.runs_s:13.1f}  {report_s:9.2f}  "
            f"{report_s / sweep.runs_s:6.1%}  {sweep.name}",
            flush=True,
        )
    return 0


def sweeps(out: Path, most_s: int) -> Iterator[Sweep]:
    """Do the runs that are missing."""
    lan = load("thesis-lan")
    for name, settings, seeds in (("12 runs", TWELVE, 2), ("54 cases", FIFTY_FOUR, 1)):
        directory = out / name.replace(" ", "-")
        done = run(lan, directory, settings, seeds)
        yield Sweep(name, *done, [[str(directory)]])
    everything = out / (f"all-{most_s}s" if most_s else "all")
    runs, runs_s = 0, 0.0
    experiments = catalogue.experiments()
    for number, experiment in enumerate(experiments, start=1):
        say(f"{experiment.name} ({number} of {len(experiments)})")
        more, more_s = run(limited(experiment, most_s), everything / experiment.name)
        runs, runs_s = runs + more, runs_s + more_s
    reports = [[str(everything)], [str(everything), "--published"]]
    yield Sweep("all experiments: reports, index, published values", runs, runs_s, reports)


def limited(experiment: Experiment, most_s: int) -> Experiment:
    """The experiment with transfers of at most most_s, or of 10 s if events need longer ones."""
    if not most_s:
        return experiment
    try:
        shorter = catalogue.shortened(experiment.model_copy(update={"quick_duration_s": most_s}))
        shorter.cases()
    except (InputError, ValidationError):
        return catalogue.shortened(experiment)
    return shorter


def run(
    experiment: Experiment, directory: Path, settings: Sequence[str] = (), seeds: int = 1
) -> tuple[int, float]:
    """Number of finished runs, and their CPU time in seconds."""
    directory.mkdir(parents=True, exist_ok=True)
    command = shlex.join(["bench/reports.py", "--out", str(directory.parent)])
    options = SweepOptions(
        kernel=build(say=say),
        tools=build_tools(say),
        seeds=seeds,
        jobs=None,
        cluster=None,
        certificates=None,
        command=command,
        say=say,
    )
    cases = experiment.cases([Setting.parse(text) for text in settings])
    if measure(options, experiment, cases, directory).interrupted:
        raise KeyboardInterrupt
    done = [one for one in documents.read(directory).runs if one.ok]
    return len(done), sum(one.cost.cpu_s for one in done)


def cpu_s(arguments: Sequence[str]) -> float:
    """CPU time of a process that writes a report, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*COMMAND, *arguments], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


if __name__ == "__main__":
    sys.exit(main())
