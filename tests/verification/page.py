# SPDX-License-Identifier: GPL-2.0-only
"""docs/reference/verification.md, from the record and the notes."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from verification.record import KernelId, Notes, Outcome, Record
from verification.steps import Step

_HEAD = """\
# Verification

Checks that take too long for `make test`, and their outcomes. `make verify` writes this page; do
not edit it. Reasons for failures and planned fixes come from
[verification-notes.yaml](verification-notes.yaml).

An outcome holds for one kernel: the content of `kernel/` and the Linux source it is built from. A
step has passed when all its parts have. Durations are wall time, with the building of kernels.
"""


def page(steps: Sequence[Step], record: Record, notes: Notes, kernel: KernelId) -> str:
    """The whole page; `kernel` is the one whose outcomes count."""
    lines = [_HEAD, f"Written for kernel `{kernel.hash}` (Linux {kernel.linux}).\n"]
    summary = ("Step", "Date", "Kernel", "Duration", "Outcome", "Detail")
    lines += _table(summary, [_row(step, record, kernel) for step in steps])
    lines += _failures(steps, record, notes, kernel)
    lines += _parts(steps, record, kernel)
    lines += ["\n## Steps\n"]
    lines += [f"- `{step.name}`: {step.what}; {_count(len(step.parts), 'part')}" for step in steps]
    return "\n".join(lines) + "\n"


def results(step: Step, outcomes: Mapping[str, Outcome]) -> Counter[str]:
    """How many parts of a step have passed, failed, or not been run."""
    return Counter(
        outcomes[part.name].result if part.name in outcomes else "not run" for part in step.parts
    )


def passed(step: Step, outcomes: Mapping[str, Outcome]) -> bool:
    """A step without parts has nothing to show."""
    return bool(step.parts) and results(step, outcomes)["passed"] == len(step.parts)


def verdict(step: Step, outcomes: Mapping[str, Outcome]) -> str:
    """What a step came to: passed, failed or not run, and how many parts where they differ."""
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
    """A row of the first table: this kernel's, and until it is complete an earlier one's."""
    ours = record.of(kernel.hash, step.name)
    ran = [ours[part.name] for part in step.parts if part.name in ours and ours[part.name].settled]
    detail = [said for said in (_summary(step, ours), _earlier(step, record, kernel)) if said]
    facts = ("", "", "")
    if ran:
        date = max(outcome.date for outcome in ran)[:10]
        facts = (date, f"`{kernel.hash}`", _duration(sum(one.duration_s for one in ran)))
    return (f"`{step.name}`", *facts, verdict(step, ours), "; ".join(detail))


def _earlier(step: Step, record: Record, kernel: KernelId) -> str:
    """What a step came to with another kernel, while it is not complete with this one."""
    other = record.earlier(kernel.hash, step.name)
    if not other:
        return ""
    theirs = record.of(other, step.name)
    date = max(outcome.date for outcome in theirs.values())[:10]
    said = verdict(step, theirs)
    return f"earlier kernel `{other}` (Linux {record.linux[other]}), {date}: {said}"


def _summary(step: Step, outcomes: Mapping[str, Outcome]) -> str:
    """One line: the first failure, else figures added up, what was skipped, what was said."""
    known = [(part.name, outcomes[part.name]) for part in step.parts if part.name in outcomes]
    for name, outcome in known:
        if outcome.result == "failed":
            return _with_name(step, name, outcome.detail)
    figures: Counter[str] = Counter()
    for _, outcome in known:
        figures.update(outcome.figures)
    words = _figures(figures)
    words += [_with_name(step, name, text) for name, one in known for text in one.skipped]
    words += [_with_name(step, n, one.detail) for n, one in known if one.result == "not run"]
    told = [one.detail for _, one in known if one.result == "passed" and one.detail]
    return "; ".join([*words, *told[-1:]])


def _with_name(step: Step, part: str, text: str) -> str:
    return f"{part}: {text}" if len(step.parts) > 1 else text


def _failures(
    steps: Sequence[Step], record: Record, notes: Notes, kernel: KernelId
) -> Iterable[str]:
    rows = []
    for step in steps:
        outcomes = record.of(kernel.hash, step.name)
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
        outcomes = record.of(kernel.hash, step.name)
        for part in step.parts:
            if one := outcomes.get(part.name):
                said = "; ".join([*([one.detail] if one.detail else []), *_figures(one.figures)])
                date = one.date[:16].replace("T", " ")
                facts = (date, _duration(one.duration_s), one.commit, one.result)
                rows.append((step.name, part.name, *facts, "; ".join([said, *one.skipped])))
    heads = ("Step", "Part", "Date", "Duration", "Commit", "Outcome", "Detail")
    return ["\n## Parts\n", *_table(heads, rows)] if rows else []


def _figures(figures: Mapping[str, int]) -> list[str]:
    return [f"{number:,} {name.replace('_', ' ')}" for name, number in figures.items()]


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
