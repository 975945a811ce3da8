# SPDX-License-Identifier: GPL-2.0-only
"""Names and titles of all experiments, read without loading the experiments."""

from collections.abc import Sequence
from typing import NamedTuple

from airtcp import yamlfile
from airtcp.experiment.papers import CITATIONS, OWN
from airtcp.paths import EXPERIMENTS_DIR


class Summary(NamedTuple):
    """Of an experiment; paper: a key of CITATIONS."""

    name: str
    title: str
    paper: str


def names() -> list[str]:
    """Names of the experiments that come with the laboratory."""
    return sorted(path.stem for path in EXPERIMENTS_DIR.glob("*.yaml"))


def read() -> list[Summary]:
    """All experiments, sorted by name. Raises InputError if a file cannot be read."""
    found = []
    for name in names():
        path = EXPERIMENTS_DIR / f"{name}.yaml"
        first = yamlfile.first_scalars(yamlfile.read(path), str(path), Summary._fields)
        found.append(Summary(name, first.get("title", ""), first.get("paper", OWN)))
    return found


def table(found: Sequence[Summary]) -> str:
    """For `list`: a paragraph for each paper."""
    width = max((len(one.name) for one in found), default=0)
    parts = []
    for paper, citation in CITATIONS.items():
        of_paper = [one for one in found if one.paper == paper]
        if of_paper:
            lines = [f"  {one.name.ljust(width)}  {one.title}" for one in of_paper]
            parts.append("\n".join([citation, *lines]))
    return "\n\n".join(parts)
