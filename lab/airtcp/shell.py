# SPDX-License-Identifier: GPL-2.0-only
"""A prompt in the network of an experiment, in real time."""

import tempfile
from pathlib import Path

from airtcp import guest, topology
from airtcp.experiment import Cell
from airtcp.guesttools import GuestTools
from airtcp.kernel import Kernel
from airtcp.nodes import ADDRESSES
from airtcp.parameters import Parameters

_DAY_S = 86400.0

_PROMPT = """\
# `server`, `ap` and `station` enter a node, or run one command in it.
must mkdir /tmp/bin
for node in server ap station; do
	cat >/tmp/bin/$node <<END
#!/bin/sh
[ \\$# -gt 0 ] || set -- env PS1='$node# ' sh -i
exec ip netns exec $node "\\$@"
END
	chmod +x /tmp/bin/$node
done
echo "server {server}, ap {ap}, station {station}: server, ap or station enters a node;"
echo "\\`station ping {server}\\` runs one command in it; exit ends the guest."
PATH=/tmp/bin:$PATH PS1='airtcp# ' sh -i
true
"""


def plan(parameters: Parameters) -> str:
    """The script that builds the network and gives a prompt."""
    return f"{topology.plan(parameters)}\n{_PROMPT.format(**ADDRESSES)}"


def interact(kernel: Kernel, tools: GuestTools, cell: Cell) -> int:
    """Give the user the prompt until he leaves it: 0, or 1 when the network did not come up."""
    with tempfile.TemporaryDirectory(prefix="airtcp-shell-") as scratch:
        run_dir = Path(scratch)
        (run_dir / "plan.sh").write_text(plan(cell.parameters))
        ended = guest.boot(kernel, tools, run_dir, seed=1, timeout_wall_s=_DAY_S, interactive=True)
    return 0 if ended.status == "ok" else 1
