# SPDX-License-Identifier: GPL-2.0-only
"""The steps that the guest's program `configure` executes, many in one process, in all nodes.

It knows exactly these forms of the commands of ip, iw, ethtool and ping; other programs start for
all other commands.
"""

import re
from collections.abc import Iterable

from airtcp.steps import step
from airtcp.steps.step import Step

_WORD = r"[\w./:@+=-]+"
_VETH_END = rf"{_WORD} netns {_WORD}(?: address {_WORD})?"
_COMMANDS = re.compile(
    "|".join(
        form.replace("*", _WORD)
        for form in (
            "ip netns add *",
            f"ip link add {_VETH_END} type veth peer name {_VETH_END}",
            "ip link add * type (?:bridge|ifb)",
            "ip link set *(?: up| master *| name *| gso_max_segs *)+",
            "ip address add * dev *",
            "ip neighbour replace * lladdr * nud permanent dev *",
            "iw phy phy[0-9]+ set netns name *",
            "iw phy phy[0-9]+ set (?:txq limit|rts) [0-9]+",
            "iw dev * set power_save off",
            "ethtool -K *(?: (?:gro|gso|tso) off)+",
            "ping -nq -c 1 -w 10 *",
        )
    )
)


def line(item: Step) -> str | None:
    """The line for `configure`, without the node; None if it needs another program."""
    match item:
        case step.Run(argv, _, stdout, stdin, required):
            command = " ".join(argv)
            plain = stdout in ("", "/dev/null") and not stdin and required and not item.blocking
            return command if plain and _COMMANDS.fullmatch(command) else None
        case step.Sysctl(name, value):
            return f"sysctl {name} {value}"
        case step.Put(value, path):
            return f"put {path} {value}" if " " not in path else None
        case step.Offload(device, feature):
            return f"offload {device} {feature}"
        case step.AwaitCarrier(device, seconds, what):
            return f"carrier {device} {seconds} {what}"
        case step.Associate(ssid, mhz, seconds, bssid):
            return f"associate wlan0 {ssid} {mhz} {seconds} {bssid}".rstrip()
    return None


def script(commands: Iterable[tuple[str, str]]) -> str:
    """The call of `configure` with lines for nodes; "" is the node of the caller."""
    lines, current = [], ""
    for node, line in commands:
        if node != current and line and not line.startswith("#"):
            lines.append(f"node {node}".rstrip())
            current = node
        lines.append(line)
    return "".join(f"{line}\n" for line in ["configure <<'END' || exit 1", *lines, "END"])
