# SPDX-License-Identifier: GPL-2.0-only
"""Names and titles of all experiments, read without loading the experiments."""

from collections.abc import Sequence
from typing import NamedTuple

from airtcp import yamlfile
from airtcp.experiment.papers import CITATIONS, OWN
from airtcp.paths import EXPERIMENTS_DIR


class Summary(NamedTuple):
    """Name and title of an experiment. paper: a key of CITATIONS."""

    name: str
    title: str
    paper: str


def names() -> list[str]:
    """Names of the experiments that come with the laboratory."""
    return sorted(path.stem for path in EXPERIMENTS_DIR.glob("[!.]*.yaml"))


def read() -> list[Summary]:
    """All experiments, sorted by name. Raises InputError if a file cannot be read."""
    summaries = []
    for name in names():
        path = EXPERIMENTS_DIR / f"{name}.yaml"
        first = yamlfile.first_scalars(yamlfile.read(path), str(path), Summary._fields)
        summaries.append(Summary(name, first.get("title", ""), first.get("paper", OWN)))
    return summaries


def table(summaries: Sequence[Summary]) -> str:
    """For `list`: a paragraph for each paper."""
    width = max((len(summary.name) for summary in summaries), default=0)
    parts = []
    for paper, citation in CITATIONS.items():
        of_paper = [summary for summary in summaries if summary.paper == paper]
        if of_paper:
            lines = [f"  {summary.name.ljust(width)}  {summary.title}" for summary in of_paper]
            parts.append("\n".join([citation, *lines]))
    return "\n\n".join(parts)
