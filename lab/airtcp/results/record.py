# SPDX-License-Identifier: GPL-2.0-only
"""result.json: the record of a run, an element of "runs" in results.json."""

import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from airtcp import __version__, atomicfile, provenance
from airtcp.experiment.metrics import Value
from airtcp.parameters.quantity import Plain
from airtcp.results import earlier, jsonfile
from airtcp.results.earlier import ByParameter
from airtcp.results.jsonfile import Document, JsonObject

SCHEMA = 2
"""Version of the format. Adding a key does not change it; changing a key's meaning does."""

RESULT_FILE = "result.json"
"""The file of a run that is written last: if it exists, all others are complete."""

RUNS = "runs"
"""The directory of a sweep's runs."""


class Cost(Document):
    """The cost of a run: wall and CPU time of the host, and virtual time."""

    wall_s: float
    cpu_s: float
    virtual_s: float | None


class Artifact(Document):
    """A file of a run. path: relative to the directory of the sweep."""

    path: str
    sha256: str


class KernelRecord(Document):
    """The kernel of a run: its version, and the hash of everything it is built from."""

    version: str
    hash: str


class Host(Document):
    """The machine that executed a run. Values that Linux does not report are null."""

    kernel: str
    cpu: str | None
    distribution: str | None


class Provenance(Document):
    """Who wrote a result: version and commit of airtcp, the command, the machine.

    commit is null outside a Git repository, and ends with `-dirty` if files had changed since.
    """

    version: str
    commit: str | None
    command: str
    host: Host

    @classmethod
    def here(cls, command: str) -> "Provenance":
        """This copy of airtcp on this machine, with a command of provenance.command_line()."""
        host = Host(
            kernel=platform.release(),
            cpu=provenance.cpu_model(),
            distribution=provenance.distribution(),
        )
        return cls(version=__version__, commit=provenance.commit(), command=command, host=host)


class FlowRecord(Document):
    """One flow in a custom topology. service: its class with `dscp: rrul`, otherwise null.

    seconds, received_bytes and goodput_mbps are for bulk data, the values after them for TCP, and
    the times for other workloads.
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
    tcp_rtt_ms_mean: Value = None
    tcp_rtt_ms_p50: Value = None
    tcp_rtt_ms_p95: Value = None
    cwnd_segments_mean: Value = None
    cwnd_segments_max: Value = None
    request_response_ms_mean: Value = None
    request_response_ms_p50: Value = None
    request_response_ms_p95: Value = None
    request_response_ms_p99: Value = None
    request_response_ms_max: Value = None
    completion_time_ms_mean: Value = None
    completion_time_ms_p50: Value = None
    completion_time_ms_p95: Value = None
    page_time_ms_mean: Value = None
    page_time_ms_p50: Value = None
    page_time_ms_p95: Value = None
    command_time_ms_mean: Value = None
    command_time_ms_p50: Value = None
    command_time_ms_p95: Value = None


class StationRecord(Document):
    """A station with a radio, in a run with several.

    access_point: with which it is associated at the end; null if with none. airtime_down_s,
    airtime_up_s: duration of the PPDUs that access points have sent to it, and that it has sent to
    access points, since boot.
    """

    name: str
    access_point: str | None = None
    airtime_down_s: Value = None
    airtime_up_s: Value = None


class HostRecord(Document):
    """A real host of a run.

    ssh: its destination in hosts.yaml. ack_policies: empty on plain Linux. clock_ahead_ms: of its
    clock relative to that of the machine that wrote the result, which times are corrected by.
    radio: what iw reported before the first run, null without a radio. driver: increase of the
    driver's counters during the run, by name, for all its stations; null without a radio.
    """

    ssh: str
    kernel: str
    ack_policies: tuple[str, ...]
    clock_ahead_ms: float
    clock_error_ms: float
    radio: Mapping[str, str | float] | None
    driver: Mapping[str, int] | None


class MeasuredOn(Document):
    """Real hosts of a run, by their names in hosts.yaml.

    not_applied: parameters of the case that they ignored; not_measured: metrics that are null. Both
    with the reason.
    """

    hosts: Mapping[str, HostRecord]
    not_applied: Mapping[str, str]
    not_measured: Mapping[str, str]


class RunRecord(Document):
    """One run. status: `ok`, or the kind of failure; error: one line about it.

    parameters and network are as in YAML, with the names of the version that wrote them. Only
    custom topologies have network and flows, only runs with several radios of stations have
    stations. identity: a hash of everything that determines the run. Of equal runs, only cost and
    provenance differ; results of earlier versions have none. measured_on: null for simulated runs;
    for others kernel has the versions of all hosts.
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
    stations: tuple[StationRecord, ...] = ()
    kernel: KernelRecord
    provenance: Provenance | None = None
    measured_on: MeasuredOn | None = None
    identity: str

    @model_serializer(mode="wrap")
    def _without_unused(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        document: dict[str, Any] = handler(self)
        if self.network is None:
            del document["network"], document["flows"]
        if not self.stations:
            del document["stations"]
        return document

    @property
    def ok(self) -> bool:
        """Whether it succeeded, so that its metrics are used."""
        return self.status == "ok"

    @property
    def values(self) -> dict[str, float]:
        """The metrics that apply to the run."""
        return {name: value for name, value in self.metrics.items() if value is not None}

    @property
    def workloads(self) -> set[str]:
        """The workloads of its flows; all flows of early versions were bulk."""
        of_flows = {flow.workload for flow in self.flows}
        return of_flows or {str(self.parameters.get("workload", "bulk"))}

    def directory(self, out_dir: Path) -> Path:
        """The directory of its files; of a failed run without files, that of all runs."""
        for artifact in self.artifacts.values():
            return out_dir / Path(artifact.path).parent
        return out_dir / RUNS


FORM = jsonfile.Form(RunRecord, SCHEMA, {1: earlier.document})
"""Schema 1 has no hash, and earlier names of parameters."""


def read(run_dir: Path) -> RunRecord:
    """Read the record of a run. Raises OSError, and ValueError as jsonfile.Form.parse() does."""
    return FORM.parse((run_dir / RESULT_FILE).read_bytes())


def write(run_dir: Path, record: RunRecord) -> None:
    """Write result.json atomically."""
    atomicfile.write(run_dir / RESULT_FILE, jsonfile.text(record.model_dump()).encode())
