# SPDX-License-Identifier: GPL-2.0-only
"""Runs parts one after the other and records their outcomes."""

import os
import re
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

from airtcp.cache import cache_dir, make_dir
from airtcp.errors import AirtcpError
from airtcp.paths import REPOSITORY
from verification.kernel import KernelId
from verification.record import Outcome, Record, Result
from verification.steps import Part, Step, clean_environment

LIMIT_S = 4 * 3600
"""A part that takes longer is considered hung."""

_GRACE_S = 30.0
_DETAIL_CHARACTERS = 300

# Messages of programs that then end with a nonzero exit code.
_FAILURE = re.compile(r"^DIFFERS |^bench: |^\S*(?:Error|Exception)\b.*: |^error: ")

Say = Callable[[str], None]


def run_steps(
    steps: Sequence[Step],
    record: Record,
    logs: Path,
    identify: Callable[[], KernelId],
    say: Say,
    *,
    again: bool = False,
) -> None:
    """Run each part that has no outcome for this kernel; each outcome is written at once.

    again: also the parts that failed. identify: returns the kernel of the working tree. Raises
    AirtcpError if it changes while a part runs; the outcome of that part is not recorded.
    """
    kernel = identify()
    todo = [
        (step, part)
        for step in steps
        for part in unsettled(step, record, kernel.of(step.uml), again)
    ]
    minutes = sum(_expected_minutes(record, step, part) for step, part in todo)
    if todo:
        say(f"kernel {kernel.hash}: parts to run: {len(todo)}, which takes some {_hours(minutes)}")
    for number, (step, part) in enumerate(todo, 1):
        own = kernel.of(step.uml)
        log = logs / own.hash / step.name / f"{re.sub(r'[^A-Za-z0-9.]+', '-', part.name)}.log"
        expected = _hours(_expected_minutes(record, step, part))
        say(f"{number}/{len(todo)} {step.name}: {part.name} (some {expected}; log: {log})")
        outcome = run_part(part, log)
        if identify().of(step.uml) != own:
            raise AirtcpError(
                f"kernel/ changed while {step.name}: {part.name} ran, which is not recorded: run "
                "it again"
            )
        record.add(own, step.name, part.name, outcome)
        if not unsettled(step, record, own):
            record.drop_earlier(own.hash, step.name)
        result = f"{outcome.result} in {_hours(outcome.duration_s / 60)}"
        say(f"  {result}{': ' if outcome.detail else ''}{outcome.detail}")


def unsettled(step: Step, record: Record, kernel: KernelId, again: bool = False) -> list[Part]:
    """The parts that have no outcome for this kernel; with `again`, also those that failed."""
    known = record.of(kernel.hash, step.name)
    return [
        part
        for part in step.parts
        if not (outcome := known.get(part.name))
        or not outcome.settled
        or (again and outcome.result == "failed")
    ]


def run_part(part: Part, log: Path, limit_s: float = LIMIT_S) -> Outcome:
    """Run a part, with its output in `log`. An exception ends the part before it propagates."""
    make_dir(log.parent)
    report = log.with_suffix(".xml")
    report.unlink(missing_ok=True)
    command = part.command()
    if part.tests:
        command += ["-p", "no:cacheprovider", "--color=no", f"--junitxml={report}"]
        # The family of JUnit XML that has properties.
        command += ["-o", "junit_family=xunit1", "-o", "tmp_path_retention_policy=failed"]
    began = time.monotonic()
    code = _run(command, part, log, limit_s)
    duration_s = round(time.monotonic() - began, 1)
    date = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if code is None:
        detail = f"not finished after {limit_s:g} s"
        return Outcome("failed", date, duration_s, commit(), detail)
    text = log.read_text(errors="replace")
    if part.tests:
        result, detail, figures, skipped = read_junit(report, code, text)
        return Outcome(result, date, duration_s, commit(), detail, figures, skipped)
    detail = last_line(text) if code == 0 else first_failure(text, code)
    return Outcome("failed" if code else "passed", date, duration_s, commit(), detail)


def _run(command: list[str], part: Part, log: Path, limit_s: float) -> int | None:
    """Returns the exit code, or None after limit_s."""
    with log.open("wb") as file:
        process = subprocess.Popen(
            # The part gets SIGINT if this process ends, even if it is killed.
            ["setpriv", "--pdeathsig", "INT", *command],
            cwd=REPOSITORY,
            env=clean_environment(part),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        return process.wait(limit_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        _stop(process)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """End a process by SIGINT, so that a build can end its compilers, then by SIGKILL."""
    try:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
            process.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        pass
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()


def read_junit(report: Path, code: int, text: str) -> tuple[Result, str, dict[str, int], list[str]]:
    """The outcome of pytest: result, detail, figures, reasons for skipped tests.

    report: its JUnit XML, with integers that tests passed to record_property(). code: its exit
    code. text: its output. The result is "not run" if no test was selected or all were skipped.
    """
    if code == 5:
        return "not run", "no test is chosen", {}, []
    try:
        cases = list(ElementTree.parse(report).iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return "failed", first_failure(text, code), {}, []
    failures = [(case, x) for case in cases for x in case if x.tag in ("failure", "error")]
    skips = [x.get("message") or "no reason" for case in cases for x in case if x.tag == "skipped"]
    reasons = Counter(plain(reason) for reason in skips)
    skipped = [f"{number} skipped: {reason}" for reason, number in sorted(reasons.items())]
    figures: Counter[str] = Counter(tests=len(cases) - len(skips))
    for count in (x for case in cases for x in case.iter("property")):
        if re.fullmatch(r"\d+", value := count.get("value") or ""):
            figures[count.get("name") or ""] += int(value)
    if failures:
        case, failure = failures[0]
        message = (failure.get("message") or "no message").splitlines()[0]
        if error := re.search(r"^E +(.*)", failure.text or "", re.M):
            message = error[1]
        return "failed", plain(f"{case.get('name')}: {message}"), dict(figures), skipped
    if code:
        return "failed", first_failure(text, code), dict(figures), skipped
    if len(skips) == len(cases):
        return "not run", "; ".join(skipped) or "no test is chosen", {}, []
    return "passed", "", dict(figures), skipped


def first_failure(text: str, code: int) -> str:
    """The line with the error in the output of a failed program, and its exit code."""
    lines = text.splitlines()
    message = next((line for line in lines if _FAILURE.search(line)), None)
    ended = f"signal {-code}" if code < 0 else f"exit code {code}"
    return plain(f"{message or last_line(text)} ({ended})")


def last_line(text: str) -> str:
    """The last line of a program's output that is not empty, or "no output"."""
    return plain(next((line for line in reversed(text.splitlines()) if line.strip()), "no output"))


def plain(line: str) -> str:
    """A line for the record: without directories of this machine, and shortened."""
    for path, name in (
        (REPOSITORY, "."),
        (cache_dir(), "CACHE"),
        (Path(tempfile.gettempdir()), "TMP"),
        (Path.home(), "~"),
    ):
        line = line.replace(str(path), name)
    line = " ".join(line.split())
    too_long = len(line) > _DETAIL_CHARACTERS
    return line[: _DETAIL_CHARACTERS - 3] + "..." if too_long else line


def commit() -> str:
    """The commit of the repository, with "+" if files have changed; "" outside of git."""
    git = ["git", "-C", str(REPOSITORY)]
    head = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True)
    if head.returncode:
        return ""
    record = ("--", ":!docs/reference/verification.*")
    changed = subprocess.run([*git, "status", "--porcelain", *record], capture_output=True)
    return head.stdout.strip() + ("+" if changed.stdout else "")


def _expected_minutes(record: Record, step: Step, part: Part) -> float:
    known = record.duration_s(step.name, part.name)
    return part.minutes if known is None else known / 60


def _hours(minutes: float) -> str:
    whole = round(minutes)
    if not whole:
        return f"{minutes * 60:.0f} s"
    return f"{whole} min" if whole < 90 else f"{minutes / 60:.1f} h"
