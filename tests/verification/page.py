# SPDX-License-Identifier: GPL-2.0-only
"""Generates docs/reference/verification.md from the record and the notes."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from verification.kernel import KernelId
from verification.record import Notes, Outcome, Record
from verification.steps import Step

_HEAD = """\
# Verification

Checks that take too long for `make test`, and their outcomes. `make verify` writes this page; do
not edit it. Reasons for failures and planned fixes come from
[verification-notes.yaml](verification-notes.yaml).

An outcome holds for one kernel: the content of `kernel/` and the Linux source it is built from.
Commit messages, documentation and the help of Kconfig do not matter, and for most steps, whose
guests are x86-64, nor does what only User Mode Linux uses (its code, hostfs, the simulated radio).
A step has passed when all its parts have. Durations are wall time,
with the building of kernels.
"""


def page(steps: Sequence[Step], record: Record, notes: Notes, kernel: KernelId) -> str:
    """The text of the page, for the outcomes of `kernel`."""
    hashes = f"Kernel `{kernel.hash}` (Linux {kernel.linux}); without the code that only"
    lines = [_HEAD, f"{hashes} User Mode Linux uses, `{kernel.without_uml}`.\n"]
    summary = ("Step", "Date", "Kernel", "Duration", "Outcome", "Detail")
    lines += _table(summary, [_row(step, record, kernel.of(step.uml)) for step in steps])
    lines += _failures(steps, record, notes, kernel)
    lines += _parts(steps, record, kernel)
    lines += ["\n## Steps\n"]
    lines += [f"- `{step.name}`: {step.what}; {_count(len(step.parts), 'part')}" for step in steps]
    return "\n".join(lines) + "\n"


def outcomes_of(step: Step, record: Record, kernel: KernelId) -> Mapping[str, Outcome]:
    """The outcomes of a step's parts, by name."""
    return record.of(kernel.of(step.uml).hash, step.name)


def results(step: Step, outcomes: Mapping[str, Outcome]) -> Counter[str]:
    """The number of parts of a step that passed, failed or were not run."""
    return Counter(
        outcomes[part.name].result if part.name in outcomes else "not run" for part in step.parts
    )


def passed(step: Step, outcomes: Mapping[str, Outcome]) -> bool:
    """Whether a step has parts and all of them passed."""
    return bool(step.parts) and results(step, outcomes)["passed"] == len(step.parts)


def verdict(step: Step, outcomes: Mapping[str, Outcome]) -> str:
    """The outcome of a step, with the number of parts of each outcome if they differ."""
    counts = results(step, outcomes)
    if passed(step, outcomes):
        skipped = any(outcomes[part.name].skipped for part in step.parts)
        return "passed, with tests skipped" if skipped else "passed"
    if not counts["passed"] and not counts["failed"]:
        return "not run"
    shares = [f"{counts[name]} {name}" for name in ("failed", "passed", "not run") if counts[name]]
    head = "**failed**" if counts["failed"] else "not finished"
    return f"{head} ({', '.join(shares)})" if len(step.parts) > 1 else head


def _row(step: Step, record: Record, kernel: KernelId) -> tuple[str, ...]:
    """A row of the first table, with the outcome of an earlier kernel until it is complete."""
    outcomes = record.of(kernel.hash, step.name)
    known = [outcomes[part.name] for part in step.parts if part.name in outcomes]
    settled = [outcome for outcome in known if outcome.settled]
    detail = [text for text in (_summary(step, outcomes), _earlier(step, record, kernel)) if text]
    facts = ("", "", "")
    if settled:
        date = max(outcome.date for outcome in settled)[:10]
        duration = _duration(sum(outcome.duration_s for outcome in settled))
        facts = (date, f"`{kernel.hash}`", duration)
    return (f"`{step.name}`", *facts, verdict(step, outcomes), "; ".join(detail))


def _earlier(step: Step, record: Record, kernel: KernelId) -> str:
    """The outcome of a step with an earlier kernel, if it is not complete with this one."""
    other = record.earlier(kernel.hash, step.name)
    if not other:
        return ""
    earlier = record.of(other, step.name)
    date = max(outcome.date for outcome in earlier.values())[:10]
    if any(part.name in earlier for part in step.parts):
        text = verdict(step, earlier)
    else:
        counts = Counter(outcome.result for outcome in earlier.values())
        shares = ", ".join(f"{number} {result}" for result, number in counts.items())
        text = f"{shares}, in parts with other names"
    return f"earlier kernel `{other}` (Linux {record.linux[other]}), {date}: {text}"


def _summary(step: Step, outcomes: Mapping[str, Outcome]) -> str:
    """One line: the first failure; or the sums of counts, the tests skipped, the last message."""
    known = [(part.name, outcomes[part.name]) for part in step.parts if part.name in outcomes]
    for name, outcome in known:
        if outcome.result == "failed":
            return _with_name(step, name, outcome.detail)
    sums: Counter[str] = Counter()
    for _, outcome in known:
        sums.update(outcome.figures)
    texts = _counts(sums)
    texts += [_with_name(step, name, text) for name, outcome in known for text in outcome.skipped]
    not_run = [(name, outcome) for name, outcome in known if outcome.result == "not run"]
    texts += [_with_name(step, name, outcome.detail) for name, outcome in not_run]
    messages = [o.detail for _, o in known if o.result == "passed" and o.detail]
    return "; ".join([*texts, *messages[-1:]])


def _with_name(step: Step, part: str, text: str) -> str:
    return f"{part}: {text}" if len(step.parts) > 1 else text


def _failures(
    steps: Sequence[Step], record: Record, notes: Notes, kernel: KernelId
) -> Iterable[str]:
    rows = []
    for step in steps:
        outcomes = outcomes_of(step, record, kernel)
        for part in step.parts:
            if part.name in outcomes and outcomes[part.name].result == "failed":
                note = notes.get(step.name, {}).get(part.name)
                why = (note.reason, note.fix) if note else ("not known yet", "none yet")
                rows.append((step.name, part.name, outcomes[part.name].detail, *why))
    heads = ("Step", "Part", "First failure", "Reason", "Planned fix")
    return ["\n## Failures\n", *_table(heads, rows)] if rows else []


def _parts(steps: Sequence[Step], record: Record, kernel: KernelId) -> list[str]:
    rows = []
    for step in steps:
        outcomes = outcomes_of(step, record, kernel)
        for part in step.parts:
            if outcome := outcomes.get(part.name):
                detail = [outcome.detail] if outcome.detail else []
                text = "; ".join([*detail, *_counts(outcome.figures)])
                date = outcome.date[:16].replace("T", " ")
                facts = (date, _duration(outcome.duration_s), outcome.commit, outcome.result)
                rows.append((step.name, part.name, *facts, "; ".join([text, *outcome.skipped])))
    heads = ("Step", "Part", "Date", "Duration", "Commit", "Outcome", "Detail")
    return ["\n## Parts\n", *_table(heads, rows)] if rows else []


def _counts(counts: Mapping[str, int]) -> list[str]:
    return [f"{number:,} {name.replace('_', ' ')}" for name, number in counts.items()]


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in rows:
        cells = (cell.replace("|", "\\|").replace("<", "&lt;") for cell in row)
        lines.append(f"| {' | '.join(cells)} |")
    return lines
