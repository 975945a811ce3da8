# SPDX-License-Identifier: GPL-2.0-only
"""What the tests of plans have in common: a plan, the commands of a node, a shell that reads."""

import re
import subprocess
from collections.abc import Iterable

from airtcp.parameters import Parameters
from airtcp.parameters.quantity import Plain
from airtcp.steps.plan import plan


def planned(**values: Plain) -> str:
    return plan(Parameters().replace(values))


def section(text: str, node: str) -> list[str]:
    """The commands that run in a node, each by itself."""
    body = text.partition(f"in_node {node} <<'END'\n")[2].partition("\nEND")[0]
    return apart(body).splitlines()


def apart(text: str) -> str:
    """A plan whose commands share no programs."""

    def commands(match: re.Match[str]) -> str:
        return re.sub("^", f"must {match[1]} ", match[2], flags=re.MULTILINE)

    return re.sub(r"^batch (\w+) '\n(.*?)\n'$", commands, text, flags=re.DOTALL | re.MULTILINE)


def check_shell(text: str, nodes: Iterable[str]) -> None:
    """A shell can read the plan, and what these nodes are to do."""
    bodies = ["\n".join(section(text, node)) for node in nodes]
    assert all(bodies)
    for body in (text, *bodies):
        checked = subprocess.run(
            ["sh", "-n"], input=body, text=True, capture_output=True, check=False
        )
        assert checked.stderr == ""
