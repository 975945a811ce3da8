# SPDX-License-Identifier: GPL-2.0-only
"""What hosts are told of their interface and of TCP: offloads, first windows, sysctls."""

from collections.abc import Mapping

from airtcp.parameters import Parameters
from airtcp.testbed.addresses import NETWORK

# The kernel's own values of tcp_rmem and tcp_wmem, of which an experiment sets the last.
_RMEM_MIN_DEFAULT = "4096 131072"
_WMEM_MIN_DEFAULT = "4096 16384"

# Linux' own pacing rates over cwnd / RTT: in slow start, after it, and over what BBR and BBRv2 say.
_PACING_PERCENT = {
    "tcp_pacing_ss_ratio": 200,
    "tcp_pacing_ca_ratio": 120,
    "tcp_bbr_pacing_percent": 100,
    "tcp_bbr2_pacing_percent": 100,
}

# Of all nodes: a kernel has one CUBIC.
_HYSTART = "/sys/module/tcp_cubic/parameters/hystart"

_OFFLOADS = ("gro", "gso", "tso")


def neighbour(address: str, mac: str, device: str) -> str:
    """Shell: where an address is, so that nobody asks."""
    return f"must ip neighbour replace {address} lladdr {mac} nud permanent dev {device}\n"


def offloads(parameters: Parameters, device: str) -> str:
    """Shell: those that the parameters want, and no others."""
    states = {name: bool(getattr(parameters, name)) for name in _OFFLOADS}
    off = "".join(f" {name} off" for name, on in states.items() if not on)
    lines = [f"must ethtool -K {device}{off}"] if off else []
    lines += [f"try_offload {device} {name}" for name, on in states.items() if on]
    return "\n".join(lines) + "\n"


def gso_segments(parameters: Parameters, device: str) -> str:
    """Shell: the most that TCP hands down as one packet."""
    segments = parameters.gso_segments
    return "" if segments is None else f"must ip link set {device} gso_max_segs {segments}\n"


def initcwnd(parameters: Parameters, device: str) -> str:
    """Shell: of a sender."""
    segments = parameters.initcwnd_segments
    if segments is None:
        return ""
    return f"must ip route change {NETWORK} dev {device} initcwnd {segments}\n"


def tcp(parameters: Parameters, receives: bool, sends: bool) -> str:
    """Shell: the sysctls of a host that receives data, or sends them, or both."""
    sysctls = {
        "tcp_sack": str(int(parameters.sack)),
        "tcp_timestamps": str(int(parameters.timestamps)),
        "tcp_rmem": f'"{_RMEM_MIN_DEFAULT} {parameters.tcp_rmem_max_bytes}"',
        "tcp_wmem": f'"{_WMEM_MIN_DEFAULT} {parameters.tcp_wmem_max_bytes}"',
    }
    if receives:
        sysctls |= ack_policy(parameters)
    if sends:
        sysctls |= sending(parameters)
    hystart = "" if parameters.hystart else f"put 0 {_HYSTART}\n"
    return hystart + set_sysctls(sysctls)


def set_sysctls(sysctls: Mapping[str, str]) -> str:
    """Shell: values of net.ipv4 in the node."""
    return "".join(f"set_sysctl {name} {value}\n" for name, value in sysctls.items())


def changed(before: Parameters, after: Parameters) -> str:
    """Shell: the sysctls that differ by now; what has gone from them is Linux' own again."""
    old, new = ({**ack_policy(one), **sending(one)} for one in (before, after))
    usual = {"tcp_ack_policy": "default", "tcp_ack_policy_unbounded": "0"}
    usual |= {name: str(percent) for name, percent in _PACING_PERCENT.items()}
    now = {name: new.get(name) or usual[name] for name in dict.fromkeys([*old, *new])}
    return set_sysctls({name: value for name, value in now.items() if old.get(name) != value})


def sending(parameters: Parameters) -> dict[str, str]:
    """Only what differs from the kernel's own."""
    sysctls = {}
    if parameters.divack_sender is not None:
        sysctls["tcp_divack_sender"] = str(parameters.divack_sender)
    if parameters.tso_rtt_log is not None:
        sysctls["tcp_tso_rtt_log"] = str(parameters.tso_rtt_log)
    if parameters.tsq is not None:
        sysctls["tcp_small_queue"] = f'"{parameters.tsq}"'
    if parameters.pacing_factor != 1:
        for name, percent in _PACING_PERCENT.items():
            sysctls[name] = str(round(percent * parameters.pacing_factor))
    return sysctls


def ack_policy(parameters: Parameters) -> dict[str, str]:
    """Only what differs from the kernel's own: a kernel without policies runs `default`."""

    def scaled(value: float | None, factor: float) -> str | None:
        return None if value is None else str(round(value * factor))

    policy = None if parameters.ack_policy == "default" else parameters.ack_policy
    asked = {
        "tcp_ack_policy_unbounded": "1" if policy and not parameters.ack_delay_bound else None,
        "tcp_aad_alpha_percent": scaled(parameters.aad_alpha, 100),
        "tcp_aad_beta_percent": scaled(parameters.aad_beta, 100),
        "tcp_aad_min_iat_us": scaled(parameters.aad_min_iat_s, 1e6),
        "tcp_aad_reset_ms": scaled(parameters.aad_reset_s, 1e3),
        "tcp_aad_segments": scaled(parameters.aad_segments, 1),
        "tcp_aad_max_delay_us": scaled(parameters.aad_max_delay_s, 1e6),
        "tcp_ack_limit": scaled(parameters.ack_limit, 1),
        "tcp_ack_limit_max": scaled(parameters.ack_limit_max, 1),
        "tcp_ack_count": scaled(parameters.ack_count, 1),
        "tcp_ack_count_delay_us": scaled(parameters.ack_count_delay_s, 1e6),
        "tcp_tack_segments": scaled(parameters.tack_segments, 1),
        "tcp_tack_beta": scaled(parameters.tack_beta, 1),
        "tcp_divack": scaled(parameters.divack, 1),
        "tcp_divack_spread_us": scaled(parameters.divack_spread_s, 1e6),
        "tcp_ack_policy": policy,
    }
    return {name: value for name, value in asked.items() if value is not None}
