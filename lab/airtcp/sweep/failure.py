# SPDX-License-Identifier: GPL-2.0-only
"""Why a run failed: one line, from the console and the files of its programs."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from airtcp.backends import shell
from airtcp.backends.base import STALLED, GuestResult
from airtcp.files import iperf3
from airtcp.kernel import policies
from airtcp.testbed.model import Flow, Testbed

_TCPWATCH = "tcpwatch: "
_TCPWATCH_FAILED = "tcpwatch failed "
_UDPFLOW = "udpflow: "
_ENDED_EARLY = "an instrument ended early"
_REFUSED_POLICY = "net.ipv4.tcp_ack_policy refuses the value "
_NOT_REGISTERED = (
    ": the module of --policy has not registered it; tcp_register_ackpol() fails without .name and "
    ".ack_delay_us, and if a policy or sysctl has the same name; .name must be the name in "
    "MODULE_ALIAS_TCP_ACKPOL"
)
_OF_USER = re.compile(r"(server-)?command[\w-]*: ")
_SUCCESS = ": exit code 0"
_TOO_EARLY = ", before the command began; it must stay in the foreground"
_NOT_IN_TMP = re.compile(r"/tmp/.*(No such file|not found)", re.I)


def of_guest(ended: GuestResult, testbed: Testbed, run_dir: Path) -> str:
    """Why a guest has failed."""
    reason = _reason(ended, run_dir)
    if ended.status == "timeout":
        reason += _unfinished(testbed.bulk, run_dir)
    return with_cause(reason, testbed)


def of_command(ended: GuestResult, run_dir: Path) -> str:
    """Why a program of the user has failed, in a guest that has not; empty if none has failed."""
    failed = _failed_command(_console(ended), run_dir)
    return f"{failed} (console: {ended.console})" if failed else ""


def with_cause(failure: str, testbed: Testbed) -> str:
    """The failure, preceded by its likely cause in the parameters, if nothing arrived."""
    for server in testbed.servers:
        for name in ("wire_loss", "return_loss"):
            if getattr(server.parameters, name) == 1:
                return f"{name} 1.0 loses every packet: {failure}"
    if STALLED not in failure and "no answer" not in failure:
        return failure
    _, cause = min(_snrs(testbed), default=(0.0, ""))
    return f"{cause}: {failure}" if cause else failure


def _console(ended: GuestResult) -> list[str]:
    return ended.console.read_text(errors="replace").splitlines()


def _reason(ended: GuestResult, run_dir: Path) -> str:
    """One line: the failed command, the error message of the program, the console file."""
    lines = _console(ended)
    failed = next((line for line in lines if line.startswith(shell.FAILURE)), None)
    if ended.status != "failed" or not failed:
        return ended.reason
    message = failed.strip().removeprefix(shell.FAILURE)
    before, early = lines[: lines.index(failed)], message.startswith(_ENDED_EARLY)
    if of_user := _failed_command(before, run_dir, early):
        return f"{of_user} (console: {ended.console})"
    refused = message.removeprefix(_REFUSED_POLICY)
    if refused != message and refused not in policies.names():
        message += _NOT_REGISTERED
    of_watch = (line.removeprefix(_TCPWATCH) for line in before if line.startswith(_TCPWATCH))
    if message.startswith(_TCPWATCH_FAILED) and (said := next(of_watch, "")):
        return f"{message}: {said} (console: {ended.console})"
    of_udp = (line.removeprefix(_UDPFLOW) for line in lines if line.startswith(_UDPFLOW))
    of_tcp = iperf3.error_in(run_dir, "iperf3-client*.json")
    if said := of_tcp or next(map(iperf3.explained, of_udp), ""):
        message += f": {said}"
    return f"{message} (console: {ended.console})"


def _snrs(testbed: Testbed) -> Iterator[tuple[float, str]]:
    """The SNRs in dB of stations with the error model `snr`, in the weaker direction, with texts.

    Without stations whose SNR does not depend on their distance, or that move or choose access
    points.
    """
    places = {radio.node: radio.position for radio in testbed.radios}
    for station in testbed.wireless("station"):
        parameters, access_point = station.parameters, testbed.by_name[station.access_point]
        here, there = places[station.name], places[access_point.name]
        if here is None or there is None or parameters.snr_db is not None:
            continue
        moves = len(parameters.walk or ()) > 1 or station in testbed.roaming
        if moves or parameters.error_model != "snr":
            continue
        distance_m = here.distance_m(there)
        senders = (parameters, access_point.parameters)
        weaker_dbm = min(sender.received_dbm(distance_m) for sender in senders)
        snr_db = weaker_dbm - parameters.noise_dbm
        place = f"{station.name}, {distance_m:.4g} m from {access_point.name}"
        yield snr_db, f"{place}, has an SNR of {snr_db:.1f} dB"


def _unfinished(flows: Sequence[Flow], run_dir: Path) -> str:
    """For messages: the flows of which one end has written no result, unless these are all."""
    unfinished = []
    for flow in flows:
        paths = [run_dir / flow.file("client"), run_dir / flow.file("server")]
        if not all(path.is_file() and path.stat().st_size for path in paths):
            unfinished.append(flow)
    if len(unfinished) in (0, len(flows)):
        return ""
    names = (flow.label or f"{flow.direction} of station {flow.station}" for flow in unfinished)
    return f"; unfinished: {', '.join(dict.fromkeys(names))}"  # classes of RRUL share one


def _failed_command(lines: Sequence[str], run_dir: Path, early: bool = False) -> str:
    """Which program of the user failed first, how, and the last line that it wrote to stderr.

    early: a server that has ended without an error has failed, too. Empty if none has failed.
    """
    ends = [line for line in lines if _OF_USER.match(line)]
    failed = [line for line in ends if not line.endswith(_SUCCESS)] or (ends if early else [])
    if not failed:
        return ""
    path = run_dir / f"{failed[0].partition(':')[0]}.err"
    said = path.read_text(errors="replace").strip() if path.is_file() else ""
    ended = failed[0] + (_TOO_EARLY if failed[0].endswith(_SUCCESS) else "")
    if not said:
        return ended
    last = said.splitlines()[-1]
    hint = "; the guest has its own /tmp" if _NOT_IN_TMP.search(last) else ""
    return f"{ended}: {last}{hint}"
