# SPDX-License-Identifier: GPL-2.0-only
"""A figure with its texts, as a builder returns it for the page."""

from dataclasses import dataclass
from functools import cached_property

from airtcp.report.figure import Figure
from airtcp.report.table import Table, data_table


@dataclass(frozen=True, eq=False)
class Plot:
    """slug: name of its files. description: its content, for people who cannot see it.

    table: replaces the table of the values that the figure shows.
    """

    slug: str
    title: str
    caption: str
    description: str
    figure: Figure
    table: Table | None = None

    @cached_property
    def data(self) -> Table | None:
        """The table below the figure; None for pictures."""
        if self.table or self.figure.is_picture:
            return self.table
        return data_table(self.figure)
