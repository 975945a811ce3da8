# SPDX-License-Identifier: GPL-2.0-only
"""web: pages of objects, each over a new connection, with pauses between.

The model is that of IEEE 802.16m's evaluation methodology (10.2, web browsing), which 3GPP2 uses
too: log-normal sizes, a Pareto number of embedded objects, exponential pauses.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy

from airtcp.errors import AirtcpError
from airtcp.parameters import Parameters
from airtcp.steps.step import Instrument, Run, Step, run
from airtcp.steps.workloads.exchange import options
from airtcp.steps.workloads.workload import Workload
from airtcp.testbed.model import Flow


class _LogNormal(NamedTuple):
    mu: float
    sigma: float
    least_bytes: int
    most_bytes: int = 2_000_000

    def draw(self, chance: numpy.random.Generator) -> int:
        """Sizes beyond the ends are drawn again."""
        while True:
            size = round(float(chance.lognormal(self.mu, self.sigma)))
            if self.least_bytes <= size <= self.most_bytes:
                return size


_MAIN = _LogNormal(8.37, 1.37, 100)  # mean 10.7 kB
_EMBEDDED = _LogNormal(6.17, 2.36, 50)  # mean 7.8 kB
# Embedded objects: a Pareto number from _FEWEST to _MOST, of which _FEWEST are taken off: mean 5.6.
_SHAPE, _FEWEST, _MOST = 1.1, 2, 55
_PARSE_S = 0.13


class Page(NamedTuple):
    """Before the page nothing is loaded; after its main object that is parsed, then come others."""

    reading_us: int
    parse_us: int
    sizes_bytes: tuple[int, ...]


def pages(parameters: Parameters, seed: int) -> Iterator[Page]:
    """The same for every policy that is run with a seed."""
    chance = numpy.random.default_rng(seed)
    for _ in range(parameters.pages):
        pareto = _FEWEST * (1 - chance.random()) ** (-1 / _SHAPE)
        embedded = min(_MOST, round(pareto)) - _FEWEST
        yield Page(
            round(chance.exponential(parameters.reading_time_s) * 1e6),
            round(chance.exponential(_PARSE_S) * 1e6),
            (_MAIN.draw(chance), *(_EMBEDDED.draw(chance) for _ in range(embedded))),
        )


def _files(flow: Flow, seed: int) -> Mapping[str, str]:
    """The pages for the guest's program exchange: a line each, pauses first, then sizes."""
    lines = (
        f"{page.reading_us} {page.parse_us} {' '.join(map(str, page.sizes_bytes))}\n"
        for page in pages(flow.parameters, seed)
    )
    return {flow.pages_file: "".join(lines)}


def object_count(path: Path) -> int:
    """How many objects the pages of a file have. Raises AirtcpError when it cannot be read."""
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        raise AirtcpError(f"{path}: {error.strerror}") from None
    return sum(len(line.split()) - 2 for line in lines)


def _listening(flow: Flow) -> list[Step]:
    return [Instrument(run(f"exchange {options(flow)} host", node=flow.sender))]


def _measured(flow: Flow) -> Run:
    words = f"exchange {options(flow)} browse {flow.sender_address} {flow.pages_file}"
    return run(words, node=flow.receiver, stdout=flow.exchanges_file)


def _expected_s(parameters: Parameters) -> float:
    return parameters.pages * (parameters.reading_time_s + 1)


def _timeout_s(flow: Flow, rate_bps: float) -> float:
    return flow.start_s + flow.parameters.pages * (5 + flow.parameters.reading_time_s)


WORKLOADS = {"web": Workload(_listening, _measured, _expected_s, _timeout_s, files=_files)}
