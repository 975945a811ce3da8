# SPDX-License-Identifier: GPL-2.0-only
"""`make verify` with short steps: resuming, interruptions, failures, skipped tests, the page."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import verify
from verification import record as records
from verification.kernel import KernelId
from verification.page import page, verdict
from verification.record import Outcome, Record, load_notes
from verification.runner import run_part, run_steps
from verification.steps import Part, Step, clean_environment
from waiting import wait_until

from airtcp.errors import AirtcpError, InputError
from airtcp.paths import REPOSITORY

OLD = KernelId("0123456789abcdef", "6.12.9", "0123456789abcdef")
NEW = KernelId("fedcba9876543210", "6.12.10", "fedcba9876543210")


def program(name: str, text: str) -> Part:
    return Part(name, ("-c", text), 1, tests=False)


def counted(directory: Path, name: str, text: str = "pass") -> Part:
    """A program that writes a line each time it runs."""
    return program(name, f"open({str(directory / name)!r}, 'a').write('ran\\n'); {text}")


def runs(directory: Path, name: str) -> int:
    path = directory / name
    return len(path.read_text().splitlines()) if path.is_file() else 0


def run(
    steps: list[Step], directory: Path, kernel: KernelId = OLD, again: bool = False
) -> tuple[Record, list[str]]:
    """Run steps as a new process does, with the record on disk."""
    lines: list[str] = []
    record = Record.load(directory / "verification.json")
    run_steps(steps, record, directory / "logs", lambda: kernel, lines.append, again=again)
    return Record.load(directory / "verification.json"), lines


def test_recorded_part_reruns_only_on_a_new_kernel(tmp_path: Path) -> None:
    step = Step("fuzz", "", [counted(tmp_path, "one"), counted(tmp_path, "two")])
    run([step], tmp_path)
    record, lines = run([step], tmp_path)
    assert lines == []
    assert (runs(tmp_path, "one"), runs(tmp_path, "two")) == (1, 1)
    assert verdict(step, record.of(OLD.hash, "fuzz")) == "passed"

    record, _ = run([step], tmp_path, NEW)
    assert (runs(tmp_path, "one"), runs(tmp_path, "two")) == (2, 2)
    # Once all steps have run on the new kernel, the old one is removed.
    assert record.of(OLD.hash, "fuzz") == {}


def test_only_new_parts_are_run(tmp_path: Path) -> None:
    first, second = counted(tmp_path, "one"), counted(tmp_path, "two")
    run([Step("fuzz", "", [first])], tmp_path)
    run([Step("fuzz", "", [first, second])], tmp_path)
    assert (runs(tmp_path, "one"), runs(tmp_path, "two")) == (1, 1)


def test_other_parts_run_after_a_failure(tmp_path: Path) -> None:
    failing = "print('bench: aad: +9%'); print('more'); raise SystemExit(1)"
    step = Step("soak", "", [counted(tmp_path, "bad", failing), counted(tmp_path, "good")])
    record, _ = run([step], tmp_path)
    known = record.of(OLD.hash, "soak")
    assert known["bad"].result == "failed"
    assert known["bad"].detail == "bench: aad: +9% (exit code 1)"
    assert known["good"].result == "passed"
    assert verdict(step, known) == "**failed** (1 failed, 1 passed)"

    run([step], tmp_path)
    assert runs(tmp_path, "bad") == 1
    run([step], tmp_path, again=True)
    assert (runs(tmp_path, "bad"), runs(tmp_path, "good")) == (2, 1)


def test_last_line_is_the_detail_and_all_output_is_logged(tmp_path: Path) -> None:
    text = f"print('a table'); print('0 verdicts differ, see {REPOSITORY}/results'); print()"
    outcome = run_part(program("comparison", text), tmp_path / "a.log")
    assert outcome.detail == "0 verdicts differ, see ./results"
    assert "a table" in (tmp_path / "a.log").read_text()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", outcome.date)


def test_a_part_that_hangs_fails(tmp_path: Path) -> None:
    outcome = run_part(program("hangs", "import time; time.sleep(60)"), tmp_path / "a.log", 0.5)
    assert (outcome.result, outcome.detail) == ("failed", "not finished after 0.5 s")


def test_detail_of_a_killed_part_has_the_signal(tmp_path: Path) -> None:
    outcome = run_part(program("dies", "import os; os.kill(os.getpid(), 9)"), tmp_path / "a.log")
    assert (outcome.result, outcome.detail) == ("failed", "no output (signal 9)")


def pytest_part(directory: Path, text: str) -> Part:
    """A part that runs the tests in this text."""
    file = directory / "test_sample.py"
    file.write_text(f"import pytest\n\n{text}")
    (directory / "pytest.ini").write_text("[pytest]\n")
    return Part("sample", (str(file), "-c", str(directory / "pytest.ini")), 1)


def test_values_and_skipped_tests_of_pytest_are_recorded(tmp_path: Path) -> None:
    part = pytest_part(
        tmp_path,
        "def test_a(record_property): record_property('segments', '70')\n"
        "def test_b(record_property): record_property('segments', 5)\n"
        "@pytest.mark.skip(reason='qemu is missing')\n"
        "def test_c(): pass\n",
    )
    outcome = run_part(part, tmp_path / "a.log")
    assert outcome.result == "passed", (tmp_path / "a.log").read_text()
    assert outcome.figures == {"tests": 2, "segments": 75}
    assert outcome.skipped == ["1 skipped: qemu is missing"]
    step = Step("fuzz", "", [part])
    assert verdict(step, {"sample": outcome}) == "passed, with tests skipped"


def test_part_with_only_skipped_tests_counts_as_not_run(tmp_path: Path) -> None:
    text = "pytestmark = pytest.mark.skip(reason='takes minutes')\ndef test_a(): pass\n"
    step = Step("deb-check", "", [pytest_part(tmp_path, text)])
    record, _ = run([step], tmp_path)
    outcome = record.of(OLD.hash, "deb-check")["sample"]
    assert (outcome.result, outcome.detail) == ("not run", "1 skipped: takes minutes")
    assert verdict(step, {"sample": outcome}) == "not run"
    _, lines = run([step], tmp_path)
    assert "parts to run: 1," in lines[0]


@pytest.mark.parametrize(
    ("text", "result", "detail"),
    [
        (
            "def test_a(): assert 0, 'splat\\nmore'\n",
            "failed",
            "test_a: AssertionError: splat",
        ),
        ("def other(): pass\n", "not run", "no test is chosen"),
        ("import nosuch\n", "failed", "nosuch"),
        ("import os\ndef test_a(): os._exit(3)\n", "failed", "(exit code 3)"),
    ],
)
def test_failures_of_pytest_are_recorded(
    tmp_path: Path, text: str, result: str, detail: str
) -> None:
    outcome = run_part(pytest_part(tmp_path, text), tmp_path / "a.log")
    assert outcome.result == result
    assert detail in outcome.detail


def test_a_part_during_which_the_kernel_changes_is_not_recorded(tmp_path: Path) -> None:
    kernels = [OLD, OLD, NEW]
    record = Record.load(tmp_path / "verification.json")
    step = Step("fuzz", "", [program("one", "pass"), program("two", "pass")])
    with pytest.raises(AirtcpError, match=r"kernel/ changed while fuzz: two ran"):
        run_steps([step], record, tmp_path, lambda: kernels.pop(0), lambda _: None)
    assert list(record.of(OLD.hash, "fuzz")) == ["one"]
    assert record.of(NEW.hash, "fuzz") == {}


MAIN = """\
import sys
from pathlib import Path
import verify
from verification.kernel import KernelId
from verification.steps import Part, Step
verify.kernel_id = lambda: KernelId("0123456789abcdef", "6.12.9", "0123456789abcdef")
verify.REPOSITORY = Path(sys.argv.pop(1))
text = (
    "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); "
    "time.sleep(float(sys.argv[2]))"
)
def part(name, seconds):
    return Part(name, ("-c", text, str(verify.REPOSITORY / name), str(seconds)), 1, tests=False)
verify.real_steps = lambda size: [Step("soak", "", [part("short", 0), part("long", LONG)])]
sys.exit(verify.main())
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interruption_loses_only_the_active_part(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "docs" / "reference").mkdir(parents=True)
    (tmp_path / "cache").mkdir()
    path = os.pathsep.join(map(str, (REPOSITORY / "tests", REPOSITORY / "lab")))
    environment = {**os.environ, "PYTHONPATH": path, "AIRTCP_CACHE": str(tmp_path / "cache")}

    def start(seconds: float) -> "subprocess.Popen[str]":
        command = [sys.executable, "-c", MAIN.replace("LONG", str(seconds)), str(tmp_path), "soak"]
        return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)

    verifying = start(100)
    wait_until(
        lambda: (tmp_path / "long").is_file() and (tmp_path / "long").read_text(), timeout_s=60
    )
    child = int((tmp_path / "long").read_text())
    verifying.send_signal(number)
    stderr = verifying.communicate(timeout=60)[1]
    wait_until(lambda: not Path(f"/proc/{child}").exists() or is_zombie(child), timeout_s=60)
    assert verifying.returncode == (130 if number != signal.SIGKILL else -9)
    if number != signal.SIGKILL:
        assert stderr.splitlines()[-1].startswith("verify: interrupted;")
        assert (
            "not finished (1 passed, 1 not run)"
            in (tmp_path / "docs" / "reference" / "verification.md").read_text()
        )
    kernels = json.loads((tmp_path / "docs" / "reference" / "verification.json").read_text())[
        "kernels"
    ]
    assert list(kernels[OLD.hash]["steps"]["soak"]) == ["short"]

    (tmp_path / "short").unlink()
    again = start(0)
    stderr = again.communicate(timeout=60)[1]
    assert again.returncode == 0, stderr
    assert "1/1 soak: long" in stderr
    assert not (tmp_path / "short").exists()
    assert "| passed |" in (tmp_path / "docs" / "reference" / "verification.md").read_text()


def is_zombie(pid: int) -> bool:
    return ") Z " in Path(f"/proc/{pid}/stat").read_text()


def outcome(
    result: records.Result, detail: str = "", figures: dict[str, int] | None = None
) -> Outcome:
    return Outcome(result, "2026-11-22T10:00:00Z", 61.0, "abc", detail, figures or {})


def page_lines(steps: list[Step], record: Record, notes: records.Notes | None = None) -> list[str]:
    return page(steps, record, notes or {}, NEW).splitlines()


def test_the_page_without_outcomes_says_not_run(tmp_path: Path) -> None:
    step = Step("soak", "connections", [program("one", "")])
    lines = page_lines([step], Record(tmp_path / "verification.json"))
    assert "| `soak` |  |  |  | not run |  |" in lines
    assert "- `soak`: connections; 1 part" in lines
    assert not any("## Failures" in line or "## Parts" in line for line in lines)


def test_the_page_sums_values_over_parts(tmp_path: Path) -> None:
    step = Step("fuzz", "", [program("one", ""), program("two", "")])
    record = Record(tmp_path / "verification.json")
    record.add(NEW, "fuzz", "one", outcome("passed", figures={"segments": 700_000}))
    lines = page_lines([step], record)
    row = f"| `fuzz` | 2026-11-22 | `{NEW.hash}` | 0:01:01 | not finished (1 passed, 1 not run)"
    assert f"{row} | 700,000 segments |" in lines
    record.add(NEW, "fuzz", "two", outcome("passed", figures={"segments": 300_001}))
    assert any("| passed | 1,000,001 segments |" in line for line in page_lines([step], record))


def test_the_page_marks_outcomes_of_an_earlier_kernel(tmp_path: Path) -> None:
    step = Step("fuzz", "", [program("one", "")])
    record = Record(tmp_path / "verification.json")
    record.add(OLD, "fuzz", "one", outcome("passed"))
    text = f"earlier kernel `{OLD.hash}` (Linux 6.12.9), 2026-11-22: passed"
    assert f"| `fuzz` |  |  |  | not run | {text} |" in page_lines([step], record)


def test_the_page_counts_outcomes_of_renamed_parts_of_an_earlier_kernel(tmp_path: Path) -> None:
    step = Step("fuzz", "", [program("one", ""), program("two", "")])
    record = Record(tmp_path / "verification.json")
    record.add(OLD, "fuzz", "first", outcome("passed"))
    record.add(OLD, "fuzz", "second", outcome("passed"))
    text = "2026-11-22: 2 passed, in parts with other names"
    assert any(text in line for line in page_lines([step], record))


def test_the_page_has_failures_with_reason_and_fix(tmp_path: Path) -> None:
    step = Step("soak", "", [program("one", ""), program("two", "")])
    record = Record(tmp_path / "verification.json")
    record.add(NEW, "soak", "one", outcome("failed", "BUG: a | b"))
    record.add(NEW, "soak", "two", outcome("failed", "stalled"))
    (tmp_path / "notes.yaml").write_text("soak:\n  one: {reason: a race, fix: a lock}\n")
    notes = load_notes(tmp_path / "notes.yaml", {"soak": ["one", "two"]})
    lines = page_lines([step], record, notes)
    assert "| soak | one | BUG: a \\| b | a race | a lock |" in lines
    assert "| soak | two | stalled | not known yet | none yet |" in lines
    assert any("**failed** (2 failed) | one: BUG: a \\| b |" in line for line in lines)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("soap: {}\n", "soap: no such step; allowed are soak"),
        ("soak: {two: {reason: a, fix: b}}\n", "soak: two: no such part; allowed are one"),
        ("soak: {one: {reason: a}}\n", "soak: one: fix: Field required; allowed is STEP"),
        ("soak: [\n", "notes.yaml: while parsing"),
    ],
)
def test_errors_of_notes_are_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "notes.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as failure:
        load_notes(path, {"soak": ["one"]})
    assert message in str(failure.value)
    assert "\n" not in str(failure.value)


@pytest.mark.parametrize("text", ["", "[]", '{"schema": 9}', '{"schema": 1, "kernels": {"a": 1}}'])
def test_error_of_a_damaged_record_is_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "verification.json"
    path.write_text(text)
    with pytest.raises(InputError) as failure:
        Record.load(path)
    assert str(failure.value).startswith(f"{path}: ")
    assert "\n" not in str(failure.value)


def test_outcome_without_uml_outlives_a_change_of_the_radio(tmp_path: Path) -> None:
    steps = [Step("soak", "", [program("one", "pass")])]
    steps += [Step("test-debug", "", [program("one", "pass")], uml=True)]
    first, second = (KernelId(name, "6.12.9", "fedcba9876543210") for name in ("0" * 16, "1" * 16))
    run(steps, tmp_path, first)
    record, said = run(steps, tmp_path, second)
    assert "parts to run: 1," in said[0]
    text = page(steps, record, {}, second)
    assert "| `soak` |" in text and "`fedcba9876543210` |" in text
    assert text.count("| passed |") == 4


def test_expected_time_of_a_part_is_that_of_the_last_run(tmp_path: Path) -> None:
    step = Step("soak", "", [program("one", "pass")])
    record = Record(tmp_path / "verification.json")
    record.add(OLD, "soak", "one", Outcome("passed", "2026-11-22T10:00:00Z", 7200, "abc"))
    lines: list[str] = []
    run_steps([step], record, tmp_path, lambda: NEW, lines.append)
    assert lines[0] == f"kernel {NEW.hash}: parts to run: 1, which takes some 2.0 h"


def test_an_unknown_step_is_bad_input() -> None:
    with pytest.raises(InputError, match="STEPS: soap: no such step; allowed are soak, fuzz"):
        verify.chosen([Step("soak", "", []), Step("fuzz", "", [])], ["soap"])


def test_environment_of_the_caller_does_not_select_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRTCP_TEST_DEBUG", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-k nothing")
    environment = clean_environment(Part("", (), 1, {"AIRTCP_SOAK": "40"}))
    assert environment["AIRTCP_SOAK"] == "40"
    assert not {"AIRTCP_TEST_DEBUG", "PYTEST_ADDOPTS"} & environment.keys()


def test_make_has_a_target_for_each_step() -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    names = ("soak", "kcsan", "fuzz", "selftests", "series-check", "deb-check", "bpf-check")
    for target in ("verify", "test-debug", "instructions", *names):
        assert re.search(rf"^{target}:.* ## ", makefile, re.M), target


def test_the_recipe_forwards_signals() -> None:
    """make signals only its child, a shell, which therefore must exec Python."""
    done = subprocess.run(
        ["make", "--no-print-directory", "-n", "verify", "STEPS=fuzz soak", "AGAIN=1"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    argv = done.stdout.replace("\\\n", "").split()
    assert "exec" in argv
    assert argv[-3:] == ["--again", "fuzz", "soak"]
