# SPDX-License-Identifier: GPL-2.0-only
"""Settings of hosts: offloads, initial windows, sysctls of TCP."""

from collections.abc import Mapping

from airtcp.kernel.policies import BASELINE
from airtcp.parameters import Parameters
from airtcp.parameters.ack_policy import AckPolicy
from airtcp.parameters.host import Host
from airtcp.parameters.section import sysctls
from airtcp.parameters.sender import Sender
from airtcp.steps.step import Offload, Put, Run, Step, Sysctl, run
from airtcp.testbed.addresses import NETWORK

# Linux's default pacing rates: relative to cwnd / RTT in slow start and after it, and relative to
# the rates of BBR and BBRv2.
PACING_PERCENT = {
    "tcp_pacing_ss_ratio": 200,
    "tcp_pacing_ca_ratio": 120,
    "tcp_bbr_pacing_percent": 100,
    "tcp_bbr2_pacing_percent": 100,
}

# For all nodes, because CUBIC's parameters are global.
CUBIC = "/sys/module/tcp_cubic/parameters"

OFFLOADS = ("gro", "gso", "tso")


def neighbour(address: str, mac: str, device: str) -> Run:
    """A static neighbour entry, so that no ARP is needed."""
    return run(f"ip neighbour replace {address} lladdr {mac} nud permanent dev {device}")


def offloads(parameters: Parameters, device: str) -> list[Step]:
    """Turn on the offloads in the parameters, and turn off the others."""
    states = {name: bool(getattr(parameters, name)) for name in OFFLOADS}
    off = " ".join(f"{name} off" for name, on in states.items() if not on)
    lines: list[Step] = [run(f"ethtool -K {device} {off}")] if off else []
    return [*lines, *(Offload(device, name) for name, on in states.items() if on)]


def gso_segments(parameters: Parameters, device: str) -> list[Step]:
    """Limit the segments that TCP sends as one packet."""
    segments = parameters.gso_segments
    return [] if segments is None else [run(f"ip link set {device} gso_max_segs {segments}")]


def initial_windows(parameters: Parameters, device: str, sends: bool) -> list[Step]:
    """Set the initial receive window, and the initial window and ssthresh of a sender."""
    windows = {
        "initcwnd": parameters.initcwnd_segments if sends else None,
        "ssthresh lock": parameters.ssthresh_segments if sends else None,
        "initrwnd": parameters.initrwnd_segments,
    }
    given = [f"{name} {segments}" for name, segments in windows.items() if segments is not None]
    if not given:
        return []
    return [run(f"ip route change {NETWORK} dev {device} {' '.join(given)}")]


def tcp(parameters: Parameters, receives: bool, sends: bool) -> list[Step]:
    """The sysctls of a host that receives data, sends data, or both."""
    values = sysctls(parameters, Host)
    if receives:
        values |= ack_policy(parameters)
    if sends:
        values |= sending(parameters)
    if parameters.memory_linux54:
        values["tcp_memory_linux54"] = "1"
    cubic: list[Step] = [] if parameters.hystart else [Put("0", f"{CUBIC}/hystart")]
    if parameters.hystart_linux54:
        cubic.append(Put("1", f"{CUBIC}/hystart_linux54"))
    return cubic + set_sysctls(values)


def set_sysctls(values: Mapping[str, str]) -> list[Step]:
    """Set sysctls of net.ipv4 in the node."""
    return [Sysctl(name, value) for name, value in values.items()]


def changed(before: Parameters, after: Parameters) -> list[Step]:
    """Set the sysctls that differ; those no longer set get their defaults."""
    old, new = ({**ack_policy(parameters), **sending(parameters)} for parameters in (before, after))
    defaults = {"tcp_ack_policy": BASELINE, "tcp_ack_policy_unbounded": "0"}
    defaults |= {name: str(percent) for name, percent in PACING_PERCENT.items()}
    now = {name: new.get(name) or defaults[name] for name in dict.fromkeys([*old, *new])}
    return set_sysctls({name: value for name, value in now.items() if old.get(name) != value})


def sending(parameters: Parameters) -> dict[str, str]:
    """The sysctls of a sender that differ from the kernel's defaults."""
    values = sysctls(parameters, Sender)
    if parameters.pacing_factor != 1:
        for name, percent in PACING_PERCENT.items():
            values[name] = str(round(percent * parameters.pacing_factor))
    if parameters.ssthresh_segments is not None:
        values["tcp_no_ssthresh_metrics_save"] = "0"
    if parameters.forget_cwnd_limited:
        values["tcp_forget_cwnd_limited"] = "1"
    return values


def ack_policy(parameters: Parameters) -> dict[str, str]:
    """The sysctls of a receiver that differ from the kernel's defaults.

    The policy itself is omitted for `default`, which also runs on kernels without policies.
    Parameters of policies are not: a program may choose another policy for its socket.
    """
    values = sysctls(parameters, AckPolicy)
    if parameters.ack_policy == BASELINE:
        return values
    unbounded = {} if parameters.ack_delay_bound else {"tcp_ack_policy_unbounded": "1"}
    return {**unbounded, **values, "tcp_ack_policy": parameters.ack_policy}
