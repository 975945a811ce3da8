# SPDX-License-Identifier: GPL-2.0-only
"""Checks of the hosts before the first run, and facts about them for the results."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from airtcp.errors import AirtcpError, InputError
from airtcp.hosts.inventory import EndEntry, ServerEntry
from airtcp.hosts.ssh import Remote
from airtcp.steps.instruments import CAPTURED_BYTES

# Programs of all hosts; iw is needed only with a radio.
_TOOLS_OF_ALL = ("nstat", "tar", "iw")
# Those of hosts that send or receive.
_TOOLS_OF_ENDS = ("ip", "tc", "ss", "ethtool", "iperf3", "ping", "awk", "stdbuf", "timeout")

# The most that clocks may differ, without a synchronised clock at either end. It is corrected.
_CLOCK_ERROR_S = 0.5


@dataclass(frozen=True)
class Needs:
    """ACK policies and congestion controls that the runs need on a host."""

    policies: frozenset[str] = frozenset()
    congestion_controls: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Facts:
    """What a host is like.

    policies: its ACK policies that are loaded; empty on plain Linux. congestion_controls: those
    that are loaded, and that the user may choose. clock_ahead_s: how far its clock was ahead of
    ours when the last run began; clock_error_s: the uncertainty of that. radio: what iw reports
    about the radio at its interface, by key; None without one.
    """

    name: str
    kernel: str
    boot: str
    policies: tuple[str, ...]
    congestion_controls: tuple[str, ...]
    clock_ahead_s: float
    clock_error_s: float
    radio: Mapping[str, str | float] | None


def check(remote: Remote, captures: bool, needs: Needs) -> Facts:
    """Raise AirtcpError or InputError if the host cannot measure.

    Loads the modules of what is needed, if the host has them.
    """
    entry = remote.entry
    end = isinstance(entry, EndEntry)
    tools = [*(_TOOLS_OF_ENDS if end else ()), *(("tcpdump",) if end and captures else ())]
    found = _sections(remote.call(("facts", entry.interface or "", *_TOOLS_OF_ALL, *tools)))
    if missing := [tool for tool in found["missing"].split() if tool != "iw" or "radio" in found]:
        raise AirtcpError(f"{remote}: missing: {' '.join(missing)}; install them there")
    if entry.interface:
        _check_interface(remote, found)
    if isinstance(entry, ServerEntry) and entry.netem:
        kind, _, handle = found["qdisc"].partition(" ")
        if handle not in ("0:", ""):
            raise InputError(
                f"{remote}: {entry.interface} has the qdisc {kind} {handle}, and `netem: on` "
                "replaces only the default one: remove it, or choose `netem: off`"
            )
    ahead_s, error_s = clock(remote)
    modules = _modules(needs, found)
    as_root: list[tuple[object, ...]] = [("modprobe", module) for module in modules]
    as_root += [_capture(remote)] if captures and end else []
    remote.call(*(("rights", "root", *command) for command in as_root))
    if modules:
        found |= _sections(remote.call(("load", *modules)))
    return Facts(
        str(remote),
        found["kernel"],
        found["boot"],
        tuple(found["policies"].split()),
        tuple(found.get("allowed", found["congestion"]).split()),
        ahead_s,
        error_s,
        radio(found) if "radio" in found else None,
    )


def clock(remote: Remote) -> tuple[float, float]:
    """Measure clock_ahead_s and clock_error_s. Raises AirtcpError if an end is too uncertain."""
    ahead_s, error_s = remote.clock()
    if isinstance(remote.entry, EndEntry) and error_s > _CLOCK_ERROR_S:
        raise AirtcpError(f"{remote}: its clock cannot be read within {_CLOCK_ERROR_S:g} s")
    return ahead_s, error_s


def _modules(needs: Needs, found: Mapping[str, str]) -> list[str]:
    """The modules of what is needed and not available; plain Linux cannot have policies."""
    policies = found["policies"].split()
    controls = needs.congestion_controls - set(found["congestion"].split())
    return sorted(
        [f"tcp-ackpol-{name}" for name in needs.policies.difference(policies) if policies]
        + [f"tcp_{name}" for name in controls]
    )


def _check_interface(remote: Remote, found: Mapping[str, str]) -> None:
    entry = remote.entry
    devices = found["devices"].split()
    if entry.interface not in devices:
        raise InputError(
            f"{remote}: interface {entry.interface}: does not exist; allowed: {' '.join(devices)}"
        )
    if not isinstance(entry, EndEntry):
        if "radio" not in found:
            raise InputError(f"{remote}: interface {entry.interface}: is not a radio")
        return
    addresses = re.findall(r"inet ([0-9.]+)", found["addresses"])
    if entry.address not in addresses:
        raise InputError(
            f"{remote}: address {entry.address}: {entry.interface} does not have it; allowed: "
            f"{' '.join(addresses) or 'none, as it has no IPv4 address'}"
        )
    if found["carrier"] != "1":
        raise AirtcpError(f"{remote}: {entry.interface} is not connected")


def _capture(remote: Remote) -> tuple[object, ...]:
    """The command of a capture, to check that it may run as root."""
    timeout = ("timeout", "--preserve-status", "-s", "INT", 1)
    tcpdump = f"tcpdump -Z root -n -i {remote.entry.interface} -s {CAPTURED_BYTES}".split()
    return (*timeout, *tcpdump, "--time-stamp-precision=nano", "-w", "-")


def _sections(text: str) -> dict[str, str]:
    parts = re.split(r"^== (\w+)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], map(str.strip, parts[2::2]), strict=True))


_INFO = {
    "ssid": ("radio", r"^\s*ssid (.+)$"),
    "type": ("radio", r"^\s*type (.+)$"),
    "channel": ("radio", r"^\s*channel (\d+)"),
    "frequency_mhz": ("radio", r"\((\d+) MHz\)"),
    "width_mhz": ("radio", r"width: (\d+) MHz"),
    "tx_power_dbm": ("radio", r"txpower ([0-9.]+) dBm"),
    "signal_dbm": ("link", r"signal: (-?\d+) dBm"),
    "tx_bitrate": ("link", r"tx bitrate: (.+)$"),
    "rx_bitrate": ("link", r"rx bitrate: (.+)$"),
    "power_save": ("power_save", r"Power save: (\w+)"),
}
_NUMBERS = {"channel", "frequency_mhz", "width_mhz", "tx_power_dbm", "signal_dbm"}
_SURVEY = re.compile(r"\[in use\](.*?)(?=Survey data|\Z)", re.DOTALL)


def radio(found: Mapping[str, str]) -> dict[str, str | float]:
    """Facts about a radio, from the output of iw."""
    facts: dict[str, str | float] = {}
    for name, (section, pattern) in _INFO.items():
        if match := re.search(pattern, found.get(section, ""), re.MULTILINE):
            facts[name] = float(match[1]) if name in _NUMBERS else match[1].strip()
    if survey := _SURVEY.search(found.get("survey", "")):
        times = {
            name: re.search(rf"channel {name} time:\s*(\d+) ms", survey[1])
            for name in ("active", "busy")
        }
        if times["active"] and times["busy"] and int(times["active"][1]):
            busy = int(times["busy"][1]) / int(times["active"][1])
            facts["channel_busy_share"] = round(busy, 4)
    return facts
