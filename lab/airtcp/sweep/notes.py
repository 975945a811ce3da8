# SPDX-License-Identifier: GPL-2.0-only
"""Lines about the runs of a sweep for its user."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from airtcp.backends import console
from airtcp.results import record
from airtcp.results.record import RESULT_FILE, RUNS
from airtcp.sweep.request import Request
from airtcp.units import counted


def replaced(todo: Sequence[Request], out_dir: Path) -> str:
    """A line about runs in the directory that others replace; empty if there are none."""
    number, settings = 0, set[str]()
    for job in todo:
        try:
            recorded = record.read(job.directory(out_dir))
        except (OSError, ValueError):
            continue
        if recorded.identity != job.identity:
            number += 1
            # Parameters that the version of that run did not have are not settings of the user.
            plain = job.case.parameters.plain()
            earlier = recorded.parameters
            settings |= {key for key, value in plain.items() if earlier.get(key, value) != value}
            network = job.case.network.plain() if job.case.network else None
            if recorded.network != network:
                settings.add("topology")
    if not number:
        return ""
    other = ", ".join(sorted(settings)) or "kernel or version"
    return (
        f"note: {counted(number, 'run')} in {out_dir} had another {other}: new ones replace them; "
        "to keep them, give --out another directory"
    )


def kernel_warning(jobs: Sequence[Request], out_dir: Path) -> str:
    """A line about warnings of the guests' kernels; empty if there are none."""
    consoles = [job.directory(out_dir) / console.FILE for job in jobs]
    found = [(path, line) for path in consoles if path.exists() and (line := console.warning(path))]
    if not found:
        return ""
    path, line = found[0]
    return f"note: the kernel warned in {counted(len(found), 'run')}: {line} (console: {path})"


def left_out(jobs: Sequence[Request], out_dir: Path) -> str:
    """A line about runs in the directory that are not among the jobs; empty if there are none."""
    own = {job.directory(out_dir) for job in jobs}
    found = out_dir.glob(f"{RUNS}/*/seed-*/{RESULT_FILE}")
    others = sum(path.parent not in own for path in found)
    if not others:
        return ""
    return (
        f"note: results.json leaves out {counted(others, 'run')} in {out_dir} with other settings "
        "or seeds; to include them, run one command with all settings and seeds, and the same "
        "kernel"
    )


def failures(messages: Mapping[Request, str], out_dir: Path) -> Iterator[str]:
    """A line for each failure; for seeds of a case that failed in the same way, that of one."""
    alike: dict[tuple[str, str], list[Request]] = {}
    for job, message in messages.items():
        without_path = message.replace(str(job.directory(out_dir)), "")
        alike.setdefault((job.case.slug, without_path), []).append(job)
    for first, *others in alike.values():
        also = f"; the same with {counted(len(others), 'other seed')}" if others else ""
        yield f"{first.name}: {messages[first]}{also}"
