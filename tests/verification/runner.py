# SPDX-License-Identifier: GPL-2.0-only
"""Runs parts, one after the other, and says what they came to."""

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
from verification.record import KernelId, Outcome, Record, Result
from verification.steps import Part, Step, clean_environment

LIMIT_S = 4 * 3600
"""A part that takes longer hangs."""

_GRACE_S = 30.0
_DETAIL_CHARACTERS = 300

# What programs write before they end with an exit code that is not 0.
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
    """Run every part that has no outcome for this kernel; each outcome is written at once.

    again: those that failed, too. identify: the kernel of the working tree as it is now;
    AirtcpError when it is another one after a part, whose outcome is then not recorded.
    """
    kernel = identify()
    todo = [(step, part) for step in steps for part in unsettled(step, record, kernel, again)]
    minutes = sum(_expected_minutes(record, step, part) for step, part in todo)
    if todo:
        say(f"kernel {kernel.hash}: parts to run: {len(todo)}, which takes some {_hours(minutes)}")
    for number, (step, part) in enumerate(todo, 1):
        log = logs / kernel.hash / step.name / f"{re.sub(r'[^A-Za-z0-9.]+', '-', part.name)}.log"
        expected = _hours(_expected_minutes(record, step, part))
        say(f"{number}/{len(todo)} {step.name}: {part.name} (some {expected}; log: {log})")
        outcome = run_part(part, log)
        if identify() != kernel:
            raise AirtcpError(
                f"kernel/ changed while {step.name}: {part.name} ran, which is not recorded: run "
                "it again"
            )
        record.add(kernel, step.name, part.name, outcome)
        if not unsettled(step, record, kernel):
            record.drop_earlier(kernel.hash, step.name)
        said = f"{outcome.result} in {_hours(outcome.duration_s / 60)}"
        say(f"  {said}{': ' if outcome.detail else ''}{outcome.detail}")


def unsettled(step: Step, record: Record, kernel: KernelId, again: bool = False) -> list[Part]:
    """The parts that have no outcome for this kernel; again: those that failed, too."""
    known = record.of(kernel.hash, step.name)
    return [
        part
        for part in step.parts
        if not (outcome := known.get(part.name))
        or not outcome.settled
        or (again and outcome.result == "failed")
    ]


def run_part(part: Part, log: Path, limit_s: float = LIMIT_S) -> Outcome:
    """Run a part to its end, its output in `log`. Whatever interrupts this ends the part first."""
    make_dir(log.parent)
    report = log.with_suffix(".xml")
    report.unlink(missing_ok=True)
    command = part.command()
    if part.tests:
        command += ["-p", "no:cacheprovider", "--color=no", f"--junitxml={report}"]
        # Of the families of JUnit XML, the one that has properties.
        command += ["-o", "junit_family=xunit1", "-o", "tmp_path_retention_policy=failed"]
    began = time.monotonic()
    code = _run(command, part, log, limit_s)
    duration_s = round(time.monotonic() - began, 1)
    date = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if code is None:
        late = f"not finished after {limit_s:g} s"
        return Outcome("failed", date, duration_s, commit(), late)
    text = log.read_text(errors="replace")
    if part.tests:
        result, detail, figures, skipped = read_junit(report, code, text)
        return Outcome(result, date, duration_s, commit(), detail, figures, skipped)
    detail = last_line(text) if code == 0 else first_failure(text, code)
    return Outcome("failed" if code else "passed", date, duration_s, commit(), detail)


def _run(command: list[str], part: Part, log: Path, limit_s: float) -> int | None:
    """Returns the exit code, or None when time ran out."""
    with log.open("wb") as file:
        process = subprocess.Popen(
            # It ends with us, even if we are killed.
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
    """As Ctrl-C would, which lets a build end its compilers; then by force."""
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
    """What pytest came to: result, detail, figures, why tests were skipped.

    report: its JUnit XML, which has whole numbers that tests gave record_property(); code: its exit
    code; text: its output. All tests skipped, or none there, means not run.
    """
    if code == 5:
        return "not run", "no test is chosen", {}, []
    try:
        cases = list(ElementTree.parse(report).iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return "failed", first_failure(text, code), {}, []
    bad = [(case, x) for case in cases for x in case if x.tag in ("failure", "error")]
    skips = [x.get("message") or "no reason" for case in cases for x in case if x.tag == "skipped"]
    reasons = Counter(plain(reason) for reason in skips)
    skipped = [f"{number} skipped: {reason}" for reason, number in sorted(reasons.items())]
    figures: Counter[str] = Counter(tests=len(cases) - len(skips))
    for found in (x for case in cases for x in case.iter("property")):
        if re.fullmatch(r"\d+", value := found.get("value") or ""):
            figures[found.get("name") or ""] += int(value)
    if bad:
        case, trouble = bad[0]
        said = (trouble.get("message") or "no message").splitlines()[0]
        if reason := re.search(r"^E +(.*)", trouble.text or "", re.M):
            said = reason[1]
        return "failed", plain(f"{case.get('name')}: {said}"), dict(figures), skipped
    if code:
        return "failed", first_failure(text, code), dict(figures), skipped
    if len(skips) == len(cases):
        return "not run", "; ".join(skipped) or "no test is chosen", {}, []
    return "passed", "", dict(figures), skipped


def first_failure(text: str, code: int) -> str:
    """The line of a failed program's output that says what went wrong; code: its exit code."""
    lines = text.splitlines()
    found = next((line for line in lines if _FAILURE.search(line)), None)
    ended = f"signal {-code}" if code < 0 else f"exit code {code}"
    return plain(f"{found or last_line(text)} ({ended})")


def last_line(text: str) -> str:
    """Of a program's output, or that there is none."""
    return plain(next((line for line in reversed(text.splitlines()) if line.strip()), "no output"))


def plain(line: str) -> str:
    """A line for the record: no directories of this machine, not too long."""
    for path, name in (
        (REPOSITORY, "."),
        (cache_dir(), "CACHE"),
        (Path(tempfile.gettempdir()), "TMP"),
        (Path.home(), "~"),
    ):
        line = line.replace(str(path), name)
    line = " ".join(line.split())
    cut = len(line) > _DETAIL_CHARACTERS
    return line[: _DETAIL_CHARACTERS - 3] + "..." if cut else line


def commit() -> str:
    """Of the repository, with "+" when files have changed since; "" outside of git."""
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
