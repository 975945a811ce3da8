# SPDX-License-Identifier: GPL-2.0-only
"""Outcomes of verification by kernel (docs/reference/verification.json), and notes on them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from airtcp import atomicfile
from airtcp.errors import InputError
from verification.kernel import KernelId

SCHEMA = 1

Result = Literal["passed", "failed", "not run"]


@dataclass(frozen=True)
class Outcome:
    """The outcome of a part.

    date: when it ended, UTC, ISO 8601. commit: that of the tests, with "+" if files had changed.
    figures: counts that are added up over the parts of a step. detail: one line, the first failure,
    the reason why it was not run, or the last line of output.
    """

    result: Result
    date: str
    duration_s: float
    commit: str
    detail: str = ""
    figures: dict[str, int] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)

    @property
    def settled(self) -> bool:
        """Whether the part passed or failed."""
        return self.result != "not run"


@dataclass
class Record:
    """Outcomes by kernel hash, step and part; versions of Linux by kernel hash."""

    path: Path
    linux: dict[str, str] = field(default_factory=dict)
    outcomes: dict[str, dict[str, dict[str, Outcome]]] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> "Record":
        """Read the file, if it exists. Raises InputError if it is not a record."""
        if not path.is_file():
            return cls(path)
        try:
            document = json.loads(path.read_text())
            if document["schema"] != SCHEMA:
                raise InputError(f"{path}: schema {document['schema']}; allowed is {SCHEMA}")
            kernels = document["kernels"]
            outcomes = TypeAdapter(dict[str, dict[str, dict[str, Outcome]]]).validate_python(
                {name: kernel["steps"] for name, kernel in kernels.items()}
            )
            return cls(path, {name: str(k["linux"]) for name, k in kernels.items()}, outcomes)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            cause = str(error).splitlines()[0]
            raise InputError(
                f"{path}: not a record of verification ({cause}); restore it from git, or remove it"
            ) from None

    def of(self, kernel: str, step: str) -> Mapping[str, Outcome]:
        """The outcomes of a step's parts, by name."""
        return self.outcomes.get(kernel, {}).get(step, {})

    def add(self, kernel: KernelId, step: str, part: str, outcome: Outcome) -> None:
        """Add or replace an outcome and write the file atomically."""
        self.linux[kernel.hash] = kernel.linux
        self.outcomes.setdefault(kernel.hash, {}).setdefault(step, {})[part] = outcome
        self._write()

    def drop_earlier(self, kernel: str, step: str) -> None:
        """Remove a step's outcomes with other kernels, after it is complete with this one."""
        for other, steps in list(self.outcomes.items()):
            if other != kernel and steps.pop(step, None) is not None and not steps:
                del self.outcomes[other], self.linux[other]
        self._write()

    def earlier(self, kernel: str, step: str) -> str | None:
        """The other kernel with the newest outcome of a step, if any."""
        newest = {
            other: max(outcome.date for outcome in steps[step].values())
            for other, steps in self.outcomes.items()
            if other != kernel and steps.get(step)
        }
        return max(newest, key=newest.__getitem__) if newest else None

    def duration_s(self, step: str, part: str) -> float | None:
        """Duration of the last run of a part, with any kernel."""
        known = [
            outcome
            for steps in self.outcomes.values()
            if (outcome := steps.get(step, {}).get(part)) and outcome.settled
        ]
        return max(known, key=lambda outcome: outcome.date).duration_s if known else None

    def _write(self) -> None:
        kernels = {
            name: {
                "linux": self.linux[name],
                "steps": {
                    step: {part: asdict(outcome) for part, outcome in sorted(parts.items())}
                    for step, parts in sorted(steps.items())
                },
            }
            for name, steps in sorted(self.outcomes.items())
        }
        atomicfile.write_json(self.path, {"schema": SCHEMA, "kernels": kernels})


class Note(BaseModel):
    """Why a part fails and the planned fix, written by a person."""

    model_config = ConfigDict(extra="forbid")

    reason: str
    fix: str


Notes = dict[str, dict[str, Note]]
"""By step and part."""


def load_notes(path: Path, parts: Mapping[str, Sequence[str]]) -> Notes:
    """Read the notes. Raises InputError for a step or part that is not in `parts`."""
    if not path.is_file():
        return {}
    try:
        notes = TypeAdapter(Notes).validate_python(yaml.safe_load(path.read_text()) or {})
    except yaml.YAMLError as error:
        raise InputError(f"{path}: {' '.join(str(error).split())}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ": ".join(map(str, first["loc"]))
        raise InputError(
            f"{path}: {where}: {first['msg']}; allowed is STEP: PART: {{reason: ..., fix: ...}}"
        ) from None
    for step, by_part in notes.items():
        if step not in parts:
            raise InputError(f"{path}: {step}: no such step; allowed are {', '.join(parts)}")
        for part in by_part:
            if part not in parts[step]:
                allowed = ", ".join(parts[step])
                raise InputError(f"{path}: {step}: {part}: no such part; allowed are {allowed}")
    return notes
