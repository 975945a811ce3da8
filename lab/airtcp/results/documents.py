# SPDX-License-Identifier: GPL-2.0-only
"""results.json: the runs of a sweep, a summary of each case and metric, published values."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, computed_field, field_validator, model_serializer, model_validator

from airtcp import atomicfile
from airtcp.errors import InputError, reason
from airtcp.experiment import figures
from airtcp.experiment.figures import Figure
from airtcp.experiment.papers import SIGNS, Precision
from airtcp.experiment.published import Published
from airtcp.parameters.quantity import Plain
from airtcp.results import earlier, jsonfile, record, verdicts
from airtcp.results.earlier import ByParameter
from airtcp.results.jsonfile import Document, JsonObject
from airtcp.results.modelfit import MeanAbsoluteError, Point
from airtcp.results.record import KernelRecord, Provenance, RunRecord
from airtcp.results.verdicts import IN_SCHEMA_1, Verdict
from airtcp.units import rounded

SCHEMA = 3
FILE = "results.json"


class PublishedValue(Document):
    """The published value for the conditions of a case."""

    value: float
    precision: Precision
    source: str

    def text(self, digits: int = 6) -> str:
        """The value with its digits as published, and whether it is approximate or a bound."""
        return SIGNS[self.precision] + rounded(self.value, digits)


class SummaryRow(Document):
    """A metric of a case, over its successful runs.

    mean is null without such runs; ci95 (half width of the 95% interval, Student's t) is null with
    fewer than two.
    """

    factors: ByParameter[Plain]
    metric: str
    mean: float | None
    ci95: float | None
    n: int
    published: PublishedValue | None


class Comparison(Document):
    """A published value and ours.

    With relative_to the value is a ratio, or a word. measured and ci95 are null if not measured;
    ratio (measured over published) is also null for words and for 0. derived: a gain, the ratio of
    two published values that differ only in the ACK policy. verdict: the agreement in words of
    schema 1.
    """

    factors: ByParameter[str]
    relative_to: ByParameter[str]
    metric: str
    published: float | str
    precision: Precision
    source: str
    measured: float | None
    ci95: float | None
    n: int
    ratio: float | None
    agreement: Verdict
    reason: str
    derived: bool

    @computed_field  # type: ignore[prop-decorator]
    @property
    def verdict(self) -> str:
        return IN_SCHEMA_1[self.agreement]

    def declared(self) -> Published:
        """As declared by the experiment. Raises ValidationError for older declarations."""
        return Published(
            when=dict(self.factors),
            relative_to=dict(self.relative_to),
            metric=self.metric,
            value=self.published,
            precision=self.precision,
            source=self.source,
            reason=self.reason,
        )


class ModelComparison(Document):
    """The comparison of every case with a model; mean_absolute_error: null without points."""

    points: tuple[Point, ...]
    mean_absolute_error: MeanAbsoluteError | None


class FigureRecord(Document):
    """A figure that the experiment declares. In the file, the keys of both fields are merged."""

    figure: Figure
    compared: ModelComparison | None = None

    @model_validator(mode="before")
    @classmethod
    def _apart(cls, given: Any) -> Any:
        if not isinstance(given, dict) or "figure" in given:
            return given
        keys = ModelComparison.model_fields
        figure = {key: value for key, value in given.items() if key not in keys}
        compared = {key: given[key] for key in keys if key in given}
        return {"figure": figure, "compared": compared or None}

    @model_serializer(mode="plain")
    def _beside(self) -> dict[str, Any]:
        compared = self.compared.model_dump(mode="json") if self.compared else {}
        return figures.documented(self.figure) | compared


class SweepDocument(Document):
    """The document of a sweep; runs are in the order of cases and seeds.

    expects, reason: the expected result, and why values differ from published ones. compares: the
    main factor, if the experiment declares it.
    published_duration_s: that of the published measurements; null if not known. provenance: of the
    command that wrote the document; runs may be of earlier commands. parameters: those common to
    all cases; null in documents of schema 1. tables: SHA-256 of the other files of the sweep, such
    as results.parquet.
    """

    schema_version: int = Field(SCHEMA, alias="schema")
    experiment: str
    title: str
    source: str
    expects: str = ""
    reason: str = ""
    compares: str = ""
    published_duration_s: float | None = None
    command: str
    kernel: KernelRecord
    provenance: Provenance | None = None
    parameters: ByParameter[Plain] | None = None
    runs: tuple[RunRecord, ...]
    summary: tuple[SummaryRow, ...]
    published: tuple[Comparison, ...] = ()
    figures: tuple[FigureRecord, ...] = ()
    tables: Mapping[str, str] = Field(default_factory=dict)

    @field_validator("runs", mode="before")
    @classmethod
    def _upgraded(cls, runs: Any) -> Any:
        if not isinstance(runs, list | tuple):
            return runs  # which the type of the field rejects
        return [run if isinstance(run, RunRecord) else record.FORM.upgraded(run) for run in runs]

    def text(self) -> str:
        """The content of results.json."""
        return jsonfile.text(self.model_dump())


def _of_schema_1(document: JsonObject) -> JsonObject:
    """Upgrade from schema 1: earlier names of parameters, other words of verdicts, no hash."""
    rows: Any = document.get("published", [])
    published = [row | {"agreement": _IN_SCHEMA_2[row["verdict"]]} for row in rows]
    return earlier.document(document | {"published": published})


_IN_SCHEMA_2 = {
    **{"in size": "within tolerance", "in direction": "same trend"},
    **{"no": "not reproduced", "not measured": "not measured"},
}


def _of_schema_2(document: JsonObject) -> JsonObject:
    """Upgrade from schema 2, where approximate values were within tolerance up to 20%."""
    rows: Any = document.get("published", [])
    published = [row | {"agreement": _judged_again(row)} for row in rows]
    return document | {"published": published}


def _judged_again(row: Mapping[str, Any]) -> Verdict:
    if row["agreement"] == "not reproduced":
        return "differs"
    if row["agreement"] != "within tolerance" or row["ratio"] is None:
        return "within 10%" if row["agreement"] == "within tolerance" else row["agreement"]
    if row["relative_to"]:
        return verdicts.of_ratio(row["measured"], row["published"], row["precision"])
    return verdicts.of_value(row["measured"], row["published"], row["precision"], ordered=True)


FORM = jsonfile.Form(SweepDocument, SCHEMA, {1: _of_schema_1, 2: _of_schema_2})


def read(out_dir: Path) -> SweepDocument:
    """Read results.json of a directory of runs. Raises InputError if missing or corrupt."""
    path = out_dir / FILE
    try:
        return FORM.parse(path.read_bytes())
    except OSError as error:
        remedy = "give a directory that `run` wrote"
        if (out_dir / record.RUNS).is_dir():
            remedy = "`run` writes it at its end; if it was killed, the same command resumes"
        raise InputError(f"{path}: {reason(error)}; {remedy}") from None
    except jsonfile.VersionMismatchError as error:
        raise InputError(f"{path} {error}") from None
    except ValueError as error:
        raise InputError(f"{path} {error}; repeat its `run` to write it again") from None


def write(out_dir: Path, document: SweepDocument) -> Path:
    """Write results.json into the directory of the runs."""
    path = out_dir / FILE
    atomicfile.write(path, document.text().encode())
    return path
