# SPDX-License-Identifier: GPL-2.0-only
"""An index of experiments: index.html, with a card for each directory that has a report."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import get_args
from urllib.parse import quote

from airtcp.errors import AirtcpError, InputError
from airtcp.report.page import fill
from airtcp.report.svg import for_page
from airtcp.results import documents
from airtcp.results.documents import SweepDocument
from airtcp.results.verdicts import Verdict
from airtcp.steps.workloads import HEADLINES


@dataclass(frozen=True)
class Card:
    """One experiment. svg: its first figure, for the page; None if there is none."""

    title: str
    name: str
    source: str
    link: str
    runs: int
    failed: int
    reproduced: str
    svg: str | None


def write_index(directory: Path) -> Path:
    """Write directory/index.html for the experiments in it, and return its path.

    Raises InputError if none has a report or a results.json is corrupt, AirtcpError if the index
    cannot be written.
    """
    path = directory / "index.html"
    cards, without = [], []
    for results in sorted(directory.glob("*/results.json")):
        if (results.parent / "report.html").exists():
            cards.append(_card(results.parent))
        else:
            without.append(results.parent)
    if not cards:
        raise InputError(
            f"{directory}: no directory in it has a report.html, which `report` writes"
        )
    try:
        path.write_text(fill("index.html", cards=cards, without=without), encoding="utf-8")
    except OSError as error:
        raise AirtcpError(f"{path}: {error.strerror}") from error
    return path


def _card(out_dir: Path) -> Card:
    document = documents.read(out_dir)
    done = [run.ok for run in document.runs]
    return Card(
        title=document.title,
        name=out_dir.name,
        source=document.source,
        link=f"{quote(out_dir.name)}/report.html",
        runs=sum(done),
        failed=len(done) - sum(done),
        reproduced=_reproduced(document),
        svg=_picture(out_dir, document.title),
    )


def _reproduced(document: SweepDocument) -> str:
    """How many published values are reproduced, by verdict."""
    counts = Counter(row.agreement for row in document.published)
    parts = [f"{counts[verdict]} {verdict}" for verdict in get_args(Verdict) if counts[verdict]]
    return ", ".join(parts) or "nothing published"


def _picture(out_dir: Path, title: str) -> str | None:
    """The SVG of the first declared figure, or else of the headline metric's figure."""
    names = ["figure-1", *(headline.slug for headline in HEADLINES.values())]
    paths = (out_dir / "figures" / f"{name}.svg" for name in names)
    path = next((path for path in paths if path.exists()), None)
    if path is None:
        return None
    description = f"The first figure of the report of {out_dir.name}"
    return for_page(path.read_text(encoding="utf-8"), f"card-{out_dir.name}", title, description)
