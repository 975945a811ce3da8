# SPDX-License-Identifier: GPL-2.0-only
"""Run the checks that take hours, in parts, and write docs/reference/verification.md.

`make verify` runs all steps, `make verify STEPS="fuzz soak"` some. A part with an outcome for this
kernel is not run again, so the same command resumes after an interruption. AGAIN=1 repeats the
parts that failed. SMALL=1 runs little of each step, to check that it works on this machine, and
records the outcomes only in the cache. Logs are in the cache, in verify/<kernel>/<step>/.
"""

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from verification.kernel import KernelId, kernel_id
from verification.page import outcomes_of, page, passed, verdict
from verification.record import Notes, Record, load_notes
from verification.runner import Say, run_steps
from verification.steps import FULL, SMALL, Step, real_steps

from airtcp import atomicfile
from airtcp.cache import cache_dir, locked, make_dir
from airtcp.cli.messages import say
from airtcp.errors import AirtcpError, InputError
from airtcp.paths import REPOSITORY


def chosen(steps: Sequence[Step], names: Sequence[str]) -> list[Step]:
    """The steps with these names, in the order of `steps`; without names, all of them."""
    for name in names:
        if name not in [step.name for step in steps]:
            allowed = ", ".join(step.name for step in steps)
            raise InputError(f"STEPS: {name}: no such step; allowed are {allowed}")
    return [step for step in steps if not names or step.name in names]


def write_page(steps: Sequence[Step], record: Record, notes: Notes, kernel: KernelId) -> None:
    path = record.path.with_suffix(".md")
    atomicfile.write(path, page(steps, record, notes, kernel).encode())


def verify(
    steps: Sequence[Step], names: Sequence[str], docs: Path, logs: Path, say: Say, again: bool
) -> int:
    """Run steps by name, write the page and print the outcomes; returns 1 unless all passed."""
    selected = chosen(steps, names)
    parts = {step.name: [part.name for part in step.parts] for step in steps}
    notes = load_notes(docs / "verification-notes.yaml", parts)
    record = Record.load(docs / "verification.json")
    try:
        run_steps(selected, record, logs, kernel_id, say, again=again)
    finally:
        kernel = kernel_id()
        write_page(steps, record, notes, kernel)
    outcomes = [outcomes_of(step, record, kernel) for step in selected]
    for step, parts_of_step in zip(selected, outcomes, strict=True):
        say(f"{step.name}: {verdict(step, parts_of_step).replace('*', '')}")
    say(f"written: {record.path.with_suffix('.md')}")
    return 0 if all(map(passed, selected, outcomes)) else 1


def _interrupt(number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt(signal.Signals(number).name)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("steps", nargs="*", metavar="STEP", help="default: all steps")
    parser.add_argument("--again", action="store_true", help="repeat parts that failed")
    parser.add_argument("--small", action="store_true", help="run little of each step")
    parser.add_argument("--page", action="store_true", help="write the page and run nothing")
    options = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup
            signal.signal(number, _interrupt)
    logs = cache_dir() / "verify"
    docs = REPOSITORY / "docs" / "reference"
    if options.small:
        logs = docs = make_dir(logs / "small")
    try:
        steps = real_steps(SMALL if options.small else FULL)
        with locked(make_dir(cache_dir() / "verify") / "lock", say):
            if options.page:
                names = {step.name: [part.name for part in step.parts] for step in steps}
                notes = load_notes(docs / "verification-notes.yaml", names)
                write_page(steps, Record.load(docs / "verification.json"), notes, kernel_id())
                return 0
            return verify(steps, options.steps, docs, logs, say, options.again)
    except AirtcpError as error:
        say(f"verify: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        say("verify: interrupted; finished parts are recorded, and the same command resumes")
        return 130


if __name__ == "__main__":
    sys.exit(main())
