# SPDX-License-Identifier: GPL-2.0-only
"""What a kernel without the patches of this repository cannot do."""

from collections.abc import Iterator

from airtcp.errors import InputError
from airtcp.experiment.experiment import Case
from airtcp.kernel import ports
from airtcp.kernel.source import SERIES, numbers_of
from airtcp.parameters import Parameters
from airtcp.parameters.ieee80211 import STANDARDS
from airtcp.parameters.section import Conflict, Sysctl, facts, key_of, listed
from airtcp.testbed.build import testbed_of
from airtcp.testbed.model import Change, Testbed

LINUX_SYSCTLS = frozenset(("tcp_sack", "tcp_timestamps", "tcp_rmem", "tcp_wmem", "tcp_tso_rtt_log"))
"""The sysctls of parameters that Linux has; all others are those of the patches."""

_NEEDS_PATCHES = (
    *(("congestion_control", name) for name in ("bbr_plain", "bbr2", "bbrp")),
    ("ack_trace", "on"),
)


def check(case: Case, version: str) -> None:
    """Raise InputError if a plain kernel of this version cannot do the case."""
    for parameters in _all_parameters(testbed_of(case)):
        for conflict in unavailable(parameters, version):
            raise InputError(f"{conflict.name}: {conflict.text}")


def unavailable(parameters: Parameters, version: str) -> Iterator[Conflict]:
    """The parameters at fault."""
    names = [name for name, fact in facts(Parameters, Sysctl) if fact.name not in LINUX_SYSCTLS]
    patched = (
        *("pacing_factor", "ssthresh_segments"),
        *("forget_cwnd_limited", "hystart_linux54", "memory_linux54"),
    )
    for attribute in ("ack_policy", *names, *patched):
        default = Parameters.model_fields[attribute].default
        if getattr(parameters, attribute) != default:
            allowed = Parameters.model_construct().text(attribute)
            yield _conflict(parameters, attribute, version, f"allowed: {allowed}")
    for name, value in _NEEDS_PATCHES:
        if str(parameters.text(name)) == value:
            others = "off" if value == "on" else "those of Linux, such as cubic, reno, bbr"
            yield _conflict(parameters, name, version, f"allowed: {others}")
    in_txqs = any(stage.startswith("txq") for stage in parameters.ack_filter)
    if in_txqs and not ports.has_policies(version):
        yield _conflict(parameters, "ack_filter", version, "allowed: stages other than txq")
    if numbers_of(version) < numbers_of(SERIES) and STANDARDS[parameters.standard].has("eht"):
        older = [name for name, standard in STANDARDS.items() if not standard.has("eht")]
        yield _conflict(parameters, "standard", version, f"allowed: {listed(older)}")


def _conflict(parameters: Parameters, attribute: str, version: str, allowed: str) -> Conflict:
    return Conflict(
        key_of(Parameters, attribute),
        f"{parameters.text(attribute)} is not available in the plain kernel Linux {version}; "
        f"{allowed}",
    )


def _all_parameters(testbed: Testbed) -> Iterator[Parameters]:
    """Those of the case, and of nodes, flows and changes, each once."""
    yield testbed.parameters
    for node in testbed.nodes:
        yield node.parameters
    for flow in testbed.flows:
        yield flow.parameters
    for event in testbed.events:
        if isinstance(event, Change):
            yield event.after
