# SPDX-License-Identifier: GPL-2.0-only
"""The workload: what is sent, and by which hosts."""

from collections.abc import Iterator
from typing import Annotated, Literal

from airtcp.parameters.quantity import (
    Command,
    OnOff,
    count,
    duration,
    rate,
    size,
    whole_seconds,
)
from airtcp.parameters.section import (
    Conflict,
    DefaultTopologyOnly,
    OnlyWith,
    Section,
    not_with,
    parameter,
)

_BULK = OnlyWith("workload", "bulk")
_EXCHANGE = OnlyWith("workload", "request_response")
_TRANSFER = OnlyWith("workload", "transfer")
_MESSAGE = OnlyWith("workload", "request_response", "transfer")
_WEB = OnlyWith("workload", "web")
_COMMAND = OnlyWith("workload", "command")


class Stations(Section):
    """The size of the default topology, and its senders."""

    stations: Annotated[int, count(1, 64), _BULK, DefaultTopologyOnly()] = parameter(
        "stations", 1, "number of stations, each with its own transfers at the same time"
    )
    start_interval_s: Annotated[float, whole_seconds(0, 3600), _BULK, DefaultTopologyOnly()] = (
        parameter(
            "start_interval",
            0.0,
            "time from the start of a station's transfers to that of the next station's; all end "
            "together; whole seconds",
        )
    )
    direction: Annotated[Literal["download", "upload", "both"], DefaultTopologyOnly()] = parameter(
        "direction",
        "download",
        "download: the server sends; upload: the station sends; both: both at the same time; "
        "sender parameters then apply to the station, the ACK policy to both hosts",
    )


class Traffic(Section):
    """The traffic of a flow."""

    workload: Literal["bulk", "request_response", "transfer", "web", "command"] = parameter(
        "workload",
        "bulk",
        "bulk: data for `duration`; request_response: small messages back and forth over one "
        "connection; transfer: files of one size, each over a new connection; web: pages of "
        "objects of various sizes, each over a new connection; command: your own program",
    )
    message_bytes: Annotated[int, size(1, 1 << 30), _MESSAGE] = parameter(
        "message",
        64,
        "request_response: size of request and reply; transfer: size of the request for a file",
    )
    exchanges: Annotated[int, count(1, 10**6), _EXCHANGE] = parameter(
        "exchanges", 1000, "request_response: number of exchanges, one after another"
    )
    transfer_size_bytes: Annotated[int | None, size(1, 1 << 30, "none"), _TRANSFER] = parameter(
        "transfer_size", None, "transfer: size of a file"
    )
    transfers: Annotated[int, count(1, 10000), _TRANSFER] = parameter(
        "transfers", 20, "transfer: number of files, one after another"
    )
    pages: Annotated[int, count(1, 10000), _WEB] = parameter(
        "pages", 20, "web: number of pages, one after another"
    )
    reading_time_s: Annotated[float, duration(0, 3600), _WEB] = parameter(
        "reading_time", 1.0, "web: mean reading time before each page (30s in the model's source)"
    )
    command: Annotated[Command, _COMMAND] = parameter(
        "command",
        None,
        "command: a line for sh, run at the receiver; $AIRTCP_SENDER and $AIRTCP_RECEIVER are the "
        "addresses",
    )
    server_command: Annotated[Command, _COMMAND] = parameter(
        "server_command", None, "command: a line for sh, run at the sender alongside the command"
    )
    command_times: Annotated[int, count(1, 10000), _COMMAND] = parameter(
        "command_times", 1, "command: how many times it is run, one after another"
    )
    command_limit_s: Annotated[float, whole_seconds(1, 86400), _COMMAND] = parameter(
        "command_limit", 60.0, "command: time after which it is killed, and the run fails"
    )
    protocol: Annotated[Literal["tcp", "udp"], _BULK] = parameter(
        "protocol", "tcp", "transport protocol of the data"
    )
    flows: Annotated[int, count(1, 128), _BULK] = parameter(
        "flows", 1, "parallel flows; in the default topology, per station and direction"
    )
    dscp: Annotated[Literal["none", "rrul"], _BULK] = parameter(
        "dscp",
        "none",
        "bulk: DSCPs of the flows; rrul: best effort, background (CS1), CS5 and EF in turn, as in "
        "the RRUL test",
    )
    read_rate_bps: Annotated[
        float | None, rate("unlimited"), _BULK, OnlyWith("protocol", "tcp")
    ] = parameter(
        "read_rate", None, "bulk: rate at which a receiving program (iperf3) reads its sockets"
    )

    @property
    def lasts(self) -> bool:
        """Whether data are sent for a duration, not until all data have been exchanged."""
        return self.workload == "bulk"


class Workload(Traffic, Stations):
    """All parameters of the workload."""

    udp_rate_bps: Annotated[float | None, rate("unlimited")] = parameter(
        "udp_rate", None, "rate at which UDP is sent; unlimited: that of the radio"
    )
    iperf3_block: OnOff = parameter(
        "iperf3_block",
        True,
        "iperf3 blocks in the kernel instead of polling: faster, with slightly different times",
    )

    def own_conflicts(self) -> Iterator[Conflict]:
        if self.direction == "both" and self.workload != "bulk":
            yield not_with("direction", "both", f"workload {self.workload}", "download upload")

    def missing_traffic(self) -> Iterator[Conflict]:
        """A missing parameter that flows of a custom topology may provide."""
        if self.workload == "command" and self.command is None:
            yield Conflict("workload", "command needs command, as in ping -c 3 $AIRTCP_SENDER")
        if self.workload == "transfer" and self.transfer_size_bytes is None:
            yield Conflict("workload", "transfer needs transfer_size, as in 100000B")

    @property
    def station_numbers(self) -> range:
        return range(1, self.stations + 1)

    @property
    def sender(self) -> Literal["server", "station"]:
        """The host that sends data; parameters of senders apply to it."""
        return "server" if self.direction == "download" else "station"

    @property
    def receiver(self) -> Literal["server", "station"]:
        """The host that receives the sender's data."""
        return "station" if self.direction == "download" else "server"

    @property
    def receivers(self) -> tuple[str, ...]:
        """All hosts that receive data; the ACK policy applies to them."""
        return ("station", "server") if self.direction == "both" else (self.receiver,)

    @property
    def senders(self) -> tuple[str, ...]:
        """All hosts that send data; the congestion control applies to them."""
        return ("server", "station") if self.direction == "both" else (self.sender,)

    @property
    def exchange_count(self) -> int:
        """The number of exchanges of a flow, if it is known in advance; otherwise 0."""
        counts = {"request_response": self.exchanges, "transfer": self.transfers}
        return counts.get(self.workload, 0)
