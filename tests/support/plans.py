# SPDX-License-Identifier: GPL-2.0-only
"""Shared by tests of plans: plans, the commands of a node, a check of shell syntax."""

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
    """All steps, each block followed by the steps in it."""
    for item in steps:
        yield item
        if isinstance(item, step.In | step.Start) and _is_block(item):
            yield from each(item.steps)


def section(steps: Iterable[Step], node: str) -> list[str]:
    """The lines of plan.sh for the steps of a node, each step rendered separately."""
    blocks = (item for item in each(steps) if isinstance(item, step.In) and item.node == node)
    return [line for block in blocks for line in commands(block.steps)]


def commands(steps: Iterable[Step]) -> list[str]:
    """The lines of plan.sh for all steps, each step rendered separately."""
    simple = (item for item in each(steps) if not _is_block(item))
    return [line for item in simple for line in shell.one_step(item).splitlines()]


def _is_block(item: Step) -> bool:
    if isinstance(item, step.Start):
        return not isinstance(item.steps[0], step.Run) or len(item.steps) > 1
    return isinstance(item, step.In)


def text(steps: Iterable[Step]) -> str:
    return "".join(f"{line}\n" for line in commands(steps))


def check_shell(steps: Sequence[Step], nodes: Iterable[str]) -> None:
    """Check the shell syntax of the plan; each of these nodes must have commands."""
    bodies = ["\n".join(section(steps, node)) for node in nodes]
    assert all(bodies)
    for body in (shell.render(steps), *bodies):
        checked = subprocess.run(
            ["sh", "-n"], input=body, text=True, capture_output=True, check=False
        )
        assert checked.stderr == ""
