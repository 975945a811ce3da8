# SPDX-License-Identifier: GPL-2.0-only
"""What the tests of plans have in common: a plan, the commands of a node, a shell that reads."""

import subprocess
from collections.abc import Iterable, Iterator, Sequence

from airtcp.backends import shell
from airtcp.parameters import Parameters
from airtcp.parameters.quantity import Plain
from airtcp.steps import step
from airtcp.steps.plan import plan
from airtcp.steps.step import Step
from airtcp.testbed.default import testbed


def planned(**values: Plain) -> list[Step]:
    return plan(testbed(Parameters().replace(values)))


def each(steps: Iterable[Step]) -> Iterator[Step]:
    """All steps and, after it, those of each block."""
    for one in steps:
        yield one
        if isinstance(one, step.In | step.Start) and _is_block(one):
            yield from each(one.steps)


def section(steps: Iterable[Step], node: str) -> list[str]:
    """The commands that run in blocks of a node, each by itself."""
    blocks = (one for one in each(steps) if isinstance(one, step.In) and one.node == node)
    return [line for block in blocks for line in commands(block.steps)]


def commands(steps: Iterable[Step]) -> list[str]:
    """All of them, each by itself, whatever they may share."""
    alone = (one for one in each(steps) if not _is_block(one))
    return [line for one in alone for line in shell.one_step(one).splitlines()]


def _is_block(one: Step) -> bool:
    if isinstance(one, step.Start):
        return not isinstance(one.steps[0], step.Run) or len(one.steps) > 1
    return isinstance(one, step.In)


def text(steps: Iterable[Step]) -> str:
    return "".join(f"{line}\n" for line in commands(steps))


def check_shell(steps: Sequence[Step], nodes: Iterable[str]) -> None:
    """A shell can read the plan, and what these nodes are to do."""
    bodies = ["\n".join(section(steps, node)) for node in nodes]
    assert all(bodies)
    for body in (shell.render(steps), *bodies):
        checked = subprocess.run(
            ["sh", "-n"], input=body, text=True, capture_output=True, check=False
        )
        assert checked.stderr == ""
