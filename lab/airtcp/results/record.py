# SPDX-License-Identifier: GPL-2.0-only
"""result.json: the record that a run leaves, one element of "runs" in results.json."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from airtcp import atomicfile
from airtcp.experiment.metrics import Value
from airtcp.parameters.quantity import Plain
from airtcp.results import earlier, jsonfile
from airtcp.results.earlier import ByParameter
from airtcp.results.jsonfile import Document, JsonObject

SCHEMA = 2
"""Version of the form. A new key alone is no new version; a key with another meaning is."""

RESULT_FILE = "result.json"
"""The file of a run that is written last: where it is, all others are whole."""

RUNS = "runs"
"""The directory of a sweep's runs."""


class Cost(Document):
    """What a run took: wall and CPU time of the host, and the time that passed in the guest."""

    wall_s: float
    cpu_s: float
    virtual_s: float | None


class Artifact(Document):
    """A file of a run. path: relative to the directory of the sweep."""

    path: str
    sha256: str


class KernelRecord(Document):
    """The kernel of a run: its version, and the hash of all that it is built from."""

    version: str
    hash: str


class FlowRecord(Document):
    """One flow in a custom topology. service: its class, as in `dscp: rrul`; null without.

    seconds, received_bytes and goodput_mbps are of bulk data, the values below them of TCP.
    """

    name: str
    sender: str = Field(alias="from")
    receiver: str = Field(alias="to")
    workload: str = "bulk"
    protocol: str
    congestion_control: str | None
    service: str | None = Field(None, alias="class")
    start_s: int | float
    seconds: Value
    received_bytes: int | None
    goodput_mbps: Value
    retransmits: Value = None
    data_segments: Value = None
    acks_sent: Value = None
    acks_per_segment: Value = None
    tcp_rtt_ms_p50: Value = None
    tcp_rtt_ms_p95: Value = None
    cwnd_segments_mean: Value = None


class RunRecord(Document):
    """One run. status is `ok`, or what went wrong; error says it in one line.

    parameters and network are as they stand in YAML, in the words of the version that wrote them;
    network and flows are of custom topologies alone. identity: a hash of all that decides the run.
    """

    schema_version: int = Field(SCHEMA, alias="schema")
    factors: ByParameter[Plain]
    seed: int
    status: str
    error: str | None
    metrics: Mapping[str, Value]
    cost: Cost
    artifacts: Mapping[str, Artifact]
    parameters: ByParameter[Plain]
    network: JsonObject | None = None
    flows: tuple[FlowRecord, ...] = ()
    kernel: KernelRecord
    identity: str

    @model_serializer(mode="wrap")
    def _without_network(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        document: dict[str, Any] = handler(self)
        if self.network is None:
            del document["network"], document["flows"]
        return document

    @property
    def ok(self) -> bool:
        """Whether it ended well, so that its metrics count."""
        return self.status == "ok"

    @property
    def values(self) -> dict[str, float]:
        """The metrics that apply to the run."""
        return {name: value for name, value in self.metrics.items() if value is not None}

    def directory(self, out_dir: Path) -> Path:
        """Where its files are."""
        first = next(iter(self.artifacts.values()))
        return out_dir / Path(first.path).parent


FORM = jsonfile.Form(RunRecord, SCHEMA, {1: earlier.document})
"""Schema 1 has no hash of the file, and earlier names of parameters."""


def read(run_dir: Path) -> RunRecord:
    """The record of a run. OSError, or ValueError as of jsonfile.Form.parse()."""
    return FORM.parse((run_dir / RESULT_FILE).read_bytes())


def write(run_dir: Path, record: RunRecord) -> None:
    """Write result.json, all or nothing."""
    atomicfile.write(run_dir / RESULT_FILE, jsonfile.text(record.model_dump()).encode())
