# SPDX-License-Identifier: GPL-2.0-only
"""The tournament of ACK policies: its entrants and conditions, from tournament.yaml.

Each condition becomes an experiment of its own, with a case for each entrant.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import yaml
from pydantic import Field, ValidationError

from airtcp.experiment.experiment import Case, Experiment
from airtcp.kernel.names import Names
from airtcp.kernel.policies import BASELINE
from airtcp.parameters import CONFLICT, Parameters, kernelnames
from airtcp.parameters.section import Strict

_FILE = Path(__file__).with_name("tournament.yaml")

_SOURCE = "tournament of ACK policies; lab/airtcp/experiment/tournament.yaml"


class Extent(Strict):
    """Seeds per case, and the duration of bulk transfers, as in YAML."""

    seeds: int
    duration: str


class Entrant(Strict):
    """What competes: parameters that change how data is acknowledged.

    opt_in: competes only if named, because all runs then need another kernel.
    """

    name: str
    title: str
    changes: dict[str, str] = Field(alias="set")
    opt_in: bool = False


class Condition(Strict):
    """Parameters under which all entrants are measured.

    aspect: in what it differs from the centre of the design. quick: measured by --quick. side: in a
    table of its own, and not counted. delays: on a path without randomness, where all seeds would
    be alike, delays that take the place of seeds.
    """

    name: str
    aspect: str
    title: str
    changes: dict[str, str] = Field(alias="set")
    quick: bool = False
    side: bool = False
    delays: tuple[str, ...] = ()

    @property
    def parameters(self) -> dict[str, str]:
        """Those that differ from the centre, as text."""
        return self.changes | ({"delay": ", ".join(self.delays)} if self.delays else {})

    @property
    def full_title(self) -> str:
        return f"{self.aspect}: {self.title}"


class Tournament(Strict):
    """The entrants, the conditions, and the radio of those that do not have another."""

    quick: Extent
    full: Extent
    radio: dict[str, str]
    entrants: tuple[Entrant, ...]
    conditions: tuple[Condition, ...]

    def with_policies(self, names: Sequence[str]) -> "Tournament":
        """Also with the user's own policies as entrants."""
        own = tuple(
            Entrant(name=name, title="from --policy", set={"ack_policy": name}) for name in names
        )
        return self.model_copy(update={"entrants": self.entrants + own})

    def only(self, entrants: Sequence[str] | None) -> "Tournament":
        """Only with these entrants, and the baseline. None: with all that are not opt_in."""
        kept = tuple(
            entrant
            for entrant in self.entrants
            if entrant.name == BASELINE
            or (not entrant.opt_in if entrants is None else entrant.name in entrants)
        )
        return self.model_copy(update={"entrants": kept})

    def conditions_of(self, is_quick: bool) -> list[Condition]:
        return [condition for condition in self.conditions if condition.quick or not is_quick]


@cache
def load() -> Tournament:
    """The tournament."""
    return Tournament.model_validate(yaml.load(_FILE.read_text(), Loader=yaml.CBaseLoader))


def contest(
    tournament: Tournament, condition: Condition, duration: str, own: Names | None = None
) -> tuple[Experiment, dict[str, tuple[Case, ...]]]:
    """The experiment of a condition, and its cases for each entrant that is possible under it.

    An entrant has one case, or one for each of the condition's delays, in their order. duration: of
    bulk transfers. own: the names of --policy.
    """
    context = kernelnames.context(own)
    given = condition.changes
    if given.get("access", "wifi") == "wifi":
        given = tournament.radio | given
    if given.get("workload", "bulk") == "bulk":
        given = given | {"duration": duration}
    base = Parameters().replace(given, context)
    bases = [base.replace({"delay": delay}, context) for delay in condition.delays] or [base]
    possible = [
        (entrant, parameters)
        for entrant in tournament.entrants
        if (parameters := _under(bases, entrant, context))
    ]
    delays = {"delay": list(condition.delays)} if condition.delays else {}
    experiment = Experiment.model_validate(
        {
            "name": condition.name,
            "title": condition.full_title,
            "source": _SOURCE,
            "description": "; ".join(f"{entrant.name}: {entrant.title}" for entrant, _ in possible),
            "parameters": given,
            "design": [
                {name: [value] for name, value in entrant.changes.items()} | delays
                for entrant, _ in possible
            ],
        },
        context=context,
    )
    names = experiment.factors
    return experiment, {
        entrant.name: tuple(Case(each.plain(names), each) for each in parameters)
        for entrant, parameters in possible
    }


def _under(bases: Sequence[Parameters], entrant: Entrant, context: Names) -> list[Parameters]:
    """The parameters of an entrant; none if they conflict, such as a filter in an absent queue."""
    try:
        found = [base.replace(entrant.changes, context) for base in bases]
    except ValidationError as error:
        if any(each["type"] == CONFLICT for each in error.errors()):
            return []
        raise
    return [] if any(any(parameters.misfits()) for parameters in found) else found
