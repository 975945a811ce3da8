# SPDX-License-Identifier: GPL-2.0-only
"""The plan of every case of every experiment is the recorded one: refactoring must not change it.

plan-hashes.json has the first 16 digits of the SHA-256 of each plan.sh, which is the same for every
seed. After an intended change of plans, update it with `make plan-hashes`.
"""

import hashlib
import json
from pathlib import Path

from airtcp.backends import shell
from airtcp.experiment import experiment, reader, summaries
from airtcp.steps.plan import plan
from airtcp.testbed.build import testbed_of

RECORDED = Path(__file__).parents[1] / "plan-hashes.json"

Hashes = dict[str, dict[str, str]]


def hashes() -> Hashes:
    """Hashes of plans, by experiment and case."""
    loaded = map(reader.load, summaries.names())
    return {each.name: {case.slug: _hash(case) for case in each.cases()} for each in loaded}


def _hash(case: experiment.Case) -> str:
    steps = plan(testbed_of(case))
    return hashlib.sha256(shell.render(steps).encode()).hexdigest()[:16]


def test_plans_are_as_recorded() -> None:
    recorded: Hashes = json.loads(RECORDED.read_text())
    planned = hashes()
    assert planned.keys() == recorded.keys(), "make plan-hashes"
    for name, cases in planned.items():
        assert cases.keys() == recorded[name].keys(), f"{name}: make plan-hashes"
        changed = [case for case, digest in cases.items() if digest != recorded[name][case]]
        assert not changed, f"{name}: the plans of {len(changed)} of {len(cases)} cases differ"


if __name__ == "__main__":
    RECORDED.write_text(json.dumps(hashes(), indent=1) + "\n")
