# SPDX-License-Identifier: GPL-2.0-only
"""An interactive prompt in the network of an experiment, in real time."""

import tempfile
from pathlib import Path

from airtcp.backends import shell, uml
from airtcp.backends.guesttools import GuestTools
from airtcp.experiment.experiment import Case
from airtcp.kernel.image import Kernel
from airtcp.steps import network
from airtcp.testbed.build import testbed_of

_DAY_S = 86400.0

_PROMPT = """\
# For each node, a command with its name enters it or runs one command in it.
must mkdir /tmp/bin
for node in {nodes}; do
	cat >/tmp/bin/$node <<END
#!/bin/sh
[ \\$# -gt 0 ] || set -- env PS1='$node# ' sh -i
exec ip netns exec $node "\\$@"
END
	chmod +x /tmp/bin/$node
done
echo "{addresses}: type the name of a node to enter it;"
echo "\\`{example}\\` runs one command in it; exit shuts down the guest."
PATH=/tmp/bin:$PATH PS1='airtcp# ' sh -i
true
"""


def plan(case: Case) -> str:
    """The script that builds the network and gives a prompt."""
    testbed = testbed_of(case)
    nodes = [node for node in testbed.nodes if node.kind != "switch"]
    flow = testbed.flows[0]
    prompt = _PROMPT.format(
        nodes=" ".join(node.name for node in nodes),
        addresses=", ".join(" ".join([node.name, *node.addresses[:1]]) for node in nodes),
        example=f"{flow.receiver} ping {flow.sender_address}",
    )
    return f"{shell.render(network.plan(testbed))}\n{prompt}"


def interact(kernel: Kernel, tools: GuestTools, case: Case) -> int:
    """Run the prompt until the user exits. Returns 0, or 1 if the network did not come up."""
    with tempfile.TemporaryDirectory(prefix="airtcp-shell-") as scratch:
        run_dir = Path(scratch)
        (run_dir / "plan.sh").write_text(plan(case))
        ended = uml.boot(kernel, tools, run_dir, seed=1, timeout_wall_s=_DAY_S, interactive=True)
    return 0 if ended.status == "ok" else 1
