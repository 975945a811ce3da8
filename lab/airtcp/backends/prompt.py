# SPDX-License-Identifier: GPL-2.0-only
"""Commands of the user in the network of an experiment: a prompt, a script, or a single command.

A prompt runs in real time, everything else in virtual time.
"""

import shlex
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from airtcp import programs, suggest
from airtcp.backends import shell, uml
from airtcp.backends.guesttools import GuestTools
from airtcp.errors import AirtcpError, InputError
from airtcp.experiment.experiment import Case
from airtcp.kernel.image import Kernel
from airtcp.paths import GUEST_DIR, RUN_DIR_IN_GUEST
from airtcp.steps import network
from airtcp.testbed.build import testbed_of
from airtcp.testbed.model import Node, Testbed

_DAY_S = 86400.0
_LIBRARIES = ":".join(
    f"/run/guest/{name}"
    for name in ("lib/x86_64-linux-gnu", "lib64", "usr/lib64", "lib", "usr/lib")
)
_LOADER = f"/run/guest/lib64/ld-linux-x86-64.so.2 --library-path {_LIBRARIES}"

_NODES = """\
# For each node, a command with its name enters it or runs one command in it. Programs are the
# host's, and the laboratory's if the host does not have them.
must mkdir /tmp/bin /tmp/programs
for node in {nodes}; do
	cat >/tmp/bin/$node <<END
#!/bin/sh
[ \\$# -gt 0 ] || set -- env PS1='$node# ' sh -i
exec {enter} $node "\\$@"
END
done
for program in {programs}; do
	cat >/tmp/programs/$program <<END
#!/bin/sh
exec {loader} /run/guest/bin/$program "\\$@"
END
done
must chmod +x /tmp/bin/* /tmp/programs/*
PATH=/tmp/bin:$PATH:/tmp/programs
"""
_PROMPT = """\
echo "{addresses}: type the name of a node to enter it;"
echo "\\`{example}\\` runs one command in it; exit shuts down the guest."
PS1='airtcp# ' hostroot sh -i
true
"""
# Files of the directory of the run, which are passed to and from the user.
_INPUT, _OUTPUT, _ERRORS, _STATUS = "input", "output", "errors", "status"
_COMMAND = """\
cd /tmp
hostroot {command} <{run}/{input} >>{run}/{output} 2>>{run}/{errors}
echo $? >{run}/{status}
"""


def _nodes(testbed: Testbed) -> list[Node]:
    return [node for node in testbed.nodes if node.kind != "switch"]


def _network(testbed: Testbed) -> str:
    """The script that builds the network and has a command for each node."""
    nodes = " ".join(node.name for node in _nodes(testbed))
    commands = _NODES.format(
        nodes=nodes, enter=f"{GUEST_DIR}/node", programs=" ".join(programs.GUEST), loader=_LOADER
    )
    return f"{shell.render(network.plan(testbed))}\n{commands}"


def plan(case: Case) -> str:
    """The script that builds the network and gives a prompt."""
    testbed = testbed_of(case)
    flow = testbed.flows[0]
    prompt = _PROMPT.format(
        addresses=", ".join(" ".join([node.name, *node.addresses[:1]]) for node in _nodes(testbed)),
        example=f"{flow.receiver} ping {flow.sender_address}",
    )
    return _network(testbed) + prompt


def interact(kernel: Kernel, tools: GuestTools, case: Case) -> int:
    """Run the prompt until the user exits. Returns 0, or 1 if the network did not come up."""
    with tempfile.TemporaryDirectory(prefix="airtcp-shell-") as scratch:
        run_dir = Path(scratch)
        (run_dir / "plan.sh").write_text(plan(case), encoding="utf-8")
        ended = uml.boot(
            kernel,
            tools,
            run_dir,
            seed=1,
            memory_mb=testbed_of(case).memory_mb,
            timeout_wall_s=_DAY_S,
            root=tools.root,
            interactive=True,
        )
    return 0 if ended.status == "ok" else 1


def command_plan(case: Case, node: str | None, argv: Sequence[str]) -> str:
    """The script that builds the network and runs a command, in a node or in none.

    Raises InputError for an unknown node.
    """
    testbed = testbed_of(case)
    known = [known.name for known in _nodes(testbed)]
    if node is not None and node not in known:
        raise InputError(f"{node!r} is not a node; {suggest.allowed(node, known)}")
    words = [*([] if node is None else [node]), *argv]
    command = _COMMAND.format(
        command=shlex.join(words),
        run=RUN_DIR_IN_GUEST,
        input=_INPUT,
        output=_OUTPUT,
        errors=_ERRORS,
        status=_STATUS,
    )
    return _network(testbed) + command


def execute(kernel: Kernel, tools: GuestTools, case: Case, script: str, seed: int = 1) -> int:
    """Run the case's command_plan() in virtual time; returns the exit code of its command.

    Its standard input is what this process can read there now, unless that is a terminal; its
    output is passed on. Raises AirtcpError if the network does not come up.
    """
    with tempfile.TemporaryDirectory(prefix="airtcp-exec-") as scratch:
        run_dir = Path(scratch)
        (run_dir / "plan.sh").write_text(script, encoding="utf-8")
        with (run_dir / _INPUT).open("wb") as file:
            if not sys.stdin.isatty():
                shutil.copyfileobj(sys.stdin.buffer, file)
        for name in (_OUTPUT, _ERRORS):
            (run_dir / name).touch()
        with (run_dir / _OUTPUT).open("rb") as output, (run_dir / _ERRORS).open("rb") as errors:

            def pass_on(_virtual_s: float = 0.0) -> None:
                _copy(output, sys.stdout.buffer)
                _copy(errors, sys.stderr.buffer)

            ended = uml.boot(
                kernel,
                tools,
                run_dir,
                seed=seed,
                memory_mb=testbed_of(case).memory_mb,
                timeout_wall_s=_DAY_S,
                root=tools.root,
                on_progress=pass_on,
            )
            pass_on()
        try:
            return int((run_dir / _STATUS).read_text())
        except (OSError, ValueError):
            raise AirtcpError(ended.reason or "the guest ended without running it") from None


def _copy(source: BinaryIO, destination: BinaryIO) -> None:
    shutil.copyfileobj(source, destination)
    destination.flush()
