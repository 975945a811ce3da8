# SPDX-License-Identifier: GPL-2.0-only
"""An index of experiments: index.html, with a card for each directory that has a report."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import get_args
from urllib.parse import quote

from airtcp import atomicfile
from airtcp.errors import InputError
from airtcp.report.model import settings_of
from airtcp.report.page import fill
from airtcp.results import documents
from airtcp.results.documents import SweepDocument
from airtcp.results.verdicts import Verdict


@dataclass(frozen=True)
class Card:
    """One experiment. finding: what its report says first, or nothing; svg: its first figure."""

    name: str
    title: str
    finding: str
    settings: Sequence[str]
    source: str
    link: str
    runs: int
    failed: int
    reproduced: str
    svg: str | None


def write_index(directory: Path, failed: Collection[Path] = ()) -> Path:
    """Write directory/index.html for the experiments in it, and return its path.

    failed: directories whose report, if there is one, is not that of their results. Raises
    InputError if none has a report or a results.json is corrupt.
    """
    path = directory / "index.html"
    cards: list[Card] = []
    without: list[Path] = []
    for results in sorted(directory.glob("*/results.json")):
        if results.parent not in failed and (results.parent / "report.html").exists():
            cards.append(_card(results.parent, len(cards) + 1))
        else:
            without.append(results.parent)
    if not cards:
        raise InputError(
            f"{directory}: no directory in it has a report.html, which `report` writes"
        )
    atomicfile.write(path, fill("index.html", cards=cards, without=without).encode())
    return path


def _card(out_dir: Path, number: int) -> Card:
    document = documents.read(out_dir)
    report = (out_dir / "report.html").read_text(encoding="utf-8", errors="replace")
    done = [run.ok for run in document.runs]
    return Card(
        name=out_dir.name,
        title=_text("<title>(.*?)</title>", report) or document.title,
        finding=_text('<p class="finding">(.*?)</p>', report),
        settings=settings_of(document.command),
        source=document.source,
        link=f"{quote(out_dir.name)}/report.html",
        runs=sum(done),
        failed=len(done) - sum(done),
        reproduced=_reproduced(document),
        svg=_picture(report, number),
    )


def _reproduced(document: SweepDocument) -> str:
    """How many published values of the measured cases there are, by verdict."""
    counts = Counter(row.agreement for row in document.published if not row.derived)
    known = [verdict for verdict in get_args(Verdict) if verdict != "not measured"]
    parts = [f"{counts[verdict]} {verdict}" for verdict in known if counts[verdict]]
    return ", ".join(parts) or ("none for these cases" if counts else "none")


def _text(pattern: str, report: str) -> str:
    """The text of the first element of a report that matches the pattern; empty if none does."""
    element = re.search(pattern, report, re.DOTALL)
    return unescape(element[1]) if element else ""


def _picture(report: str, number: int) -> str | None:
    """The SVG of the first figure of a report, with the number of the card in its ids."""
    figure = re.search(r'<svg [^>]*aria-labelledby="(\S+)-t .*?</svg>', report, re.DOTALL)
    if figure is None:
        return None
    slug = re.escape(figure[1])
    ids = rf'(\bid="|href="#|url\(#|labelledby="|-t )(?={slug}-)'
    return re.sub(ids, rf"\1card-{number}-", figure[0])
