# SPDX-License-Identifier: GPL-2.0-only
"""Which parameters of a case real hosts can have, and which metrics they can provide."""

from collections.abc import Mapping

from airtcp.errors import InputError
from airtcp.experiment.experiment import Case
from airtcp.experiment.metrics import METRICS, Value
from airtcp.hosts.inventory import Inventory
from airtcp.parameters import Parameters
from airtcp.parameters.section import key_of, own_fields, sections

SAMPLE_S = 0.1
"""Interval at which agent.sh samples the state of TCP."""


def _of_modules(*names: str) -> frozenset[str]:
    """The attributes whose sections are in these modules of airtcp.parameters."""
    return frozenset(
        attribute
        for section in sections(Parameters)
        if section.__module__.rpartition(".")[2] in names
        for attribute in own_fields(section)
    )


_RADIO = _of_modules("radio", "bss", "errors", "absence")
_LAB_ONLY = {
    "access": "the stations are connected as they are",
    "ethernet_rate": "the stations are connected as they are",
    "ack_delay_bound": "only the laboratory's kernel can remove the bound, so it is on",
    "iperf3_block": "only in the laboratory's guest",
    "cwnd_trace": "needs root's tracefs",
    "ack_trace": "needs root's tracefs",
}
_BY_NETEM = {"delay", "rate", "wire_loss", "rate_burst", "rate_latency", "rate_at", "wire_queue"}
_TCP_BULK = {
    "workload",
    "protocol",
    "udp_rate",
    "read_rate",
    "udp_ping_interval",
    "stations",
    "start_interval",
}

_IMPOSSIBLE = _of_modules("path", "cable", "ack_filter") | {
    "forget_cwnd_limited",
    "hystart_linux54",
    "memory_linux54",
    "ssthresh_segments",
}


def not_applied(case: Case, inventory: Inventory) -> dict[str, str]:
    """The parameters that the hosts ignore, with the reason.

    Those are properties of the simulated radio and of the laboratory. Raises InputError if the case
    has another parameter that the hosts cannot have.
    """
    if case.network:
        raise InputError("topology: real hosts have the default topology, with one station")
    parameters, defaults = case.parameters, Parameters.model_construct()
    ignored: dict[str, str] = {}
    for attribute in Parameters.model_fields:
        if getattr(parameters, attribute) == getattr(defaults, attribute):
            continue
        name, value = key_of(Parameters, attribute), parameters.text(attribute)
        if attribute in _RADIO:
            ignored[name] = "describes the simulated radio"
        elif name in _LAB_ONLY:
            ignored[name] = _LAB_ONLY[name]
        elif name in _BY_NETEM:
            if not inventory.server.netem and name in ("delay", "rate", "wire_loss"):
                raise InputError(
                    f"{name} {value}: needs `netem: on` at the server in hosts.yaml; allowed "
                    f"without: {defaults.text(attribute)}"
                )
        elif name in _TCP_BULK or attribute in _IMPOSSIBLE:
            raise InputError(
                f"{name} {value}: cannot be applied to real hosts; allowed: "
                f"{defaults.text(attribute)}"
            )
    if parameters.tcp_sample_s != SAMPLE_S:
        ignored["tcp_sample"] = f"hosts sample every {SAMPLE_S * 1e3:g}ms"
    if "air" in parameters.capture:
        ignored["capture"] = "air: hosts capture only at server and station"
    return ignored


_OF_AIRSIM = (
    *("ampdu_mpdus_mean", "airtime_data_share", "airtime_ack_share", "airtime_idle_share"),
    *("airtime_collision_share", "mac_acks_per_s", "collisions", "tx_retries", "tx_drops"),
    *("triggers", "he_tb_ppdus", "airtime_jain", "station_tx_share", "station_rx_share"),
    *("station_doze_share", "station_wakeups_per_s", "station_power_w", "station_energy_j_per_gb"),
)
_NOT_APPLICABLE = "does not apply to the case"


def not_measured(metrics: Mapping[str, Value]) -> dict[str, str]:
    """Why metrics are null."""
    reasons = dict.fromkeys(
        _OF_AIRSIM, "counted only by the simulated radio; measured_on has the driver's counters"
    )
    return {
        name: reasons.get(name, _NOT_APPLICABLE) for name in METRICS if metrics.get(name) is None
    }
