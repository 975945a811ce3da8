# SPDX-License-Identifier: GPL-2.0-only
"""The colours of ACK policies, the same in all figures of a report."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from airtcp.report.figure import Entry, Legend, Style
from airtcp.report.palette import policy_role

_LEGEND_COLUMNS = 5


@dataclass(frozen=True)
class Policies:
    """names: all policies of the report, in their order."""

    names: Sequence[str]

    def colour(self, policy: str, kind: str = "policy") -> str:
        """The colour of a policy; kind "tint": its lighter shade."""
        return policy_role(self.names.index(policy), kind)

    def line(self, policy: str, width: float = 0.9) -> Style:
        return Style(self.colour(policy), "solid", width)

    def legend(
        self, shown: Iterable[str], more: Sequence[Entry] = (), *, lines: bool = False
    ) -> Legend:
        """The policies as patches or lines, and more entries."""
        looks = {policy: self.line(policy) if lines else self.colour(policy) for policy in shown}
        entries = [*(Entry(policy, look) for policy, look in looks.items()), *more]
        return Legend(entries, min(len(entries), _LEGEND_COLUMNS), spacing=2)
