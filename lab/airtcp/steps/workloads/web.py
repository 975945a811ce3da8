# SPDX-License-Identifier: GPL-2.0-only
"""web: pages of objects, each object over a new connection, with a reading time between pages.

The model is that of the evaluation methodology of IEEE 802.16m (10.2, web browsing), which 3GPP2
uses as well: log-normal sizes, a Pareto number of embedded objects, exponential reading times.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy

from airtcp.errors import AirtcpError
from airtcp.parameters import Parameters
from airtcp.steps.step import Instrument, Run, Step, run
from airtcp.steps.workloads.exchange import measured, options, read_complete
from airtcp.steps.workloads.workload import Headline, Measured, Workload
from airtcp.testbed.model import Flow, Testbed


class _LogNormal(NamedTuple):
    mu: float
    sigma: float
    least_bytes: int
    most_bytes: int = 2_000_000

    def draw(self, chance: numpy.random.Generator) -> int:
        """A size; sizes outside the limits are drawn again."""
        while True:
            size = round(float(chance.lognormal(self.mu, self.sigma)))
            if self.least_bytes <= size <= self.most_bytes:
                return size


_MAIN = _LogNormal(8.37, 1.37, 100)  # mean 10.7 kB
_EMBEDDED = _LogNormal(6.17, 2.36, 50)  # mean 7.8 kB
# Number of embedded objects: Pareto, from _FEWEST to _MOST, less _FEWEST; its mean is 5.6.
_SHAPE, _FEWEST, _MOST = 1.1, 2, 55
_PARSE_S = 0.13


class Page(NamedTuple):
    """Reading time before the page, time to parse its main object, and sizes of its objects."""

    reading_us: int
    parse_us: int
    sizes_bytes: tuple[int, ...]


def pages(parameters: Parameters, seed: int, flow: int = 0) -> Iterator[Page]:
    """The pages of a flow, numbered from 0; the same for all ACK policies with the same seed."""
    chance = numpy.random.default_rng([seed, flow])
    for _ in range(parameters.pages):
        pareto = _FEWEST * (1 - chance.random()) ** (-1 / _SHAPE)
        embedded = min(_MOST, round(pareto)) - _FEWEST
        yield Page(
            round(chance.exponential(parameters.reading_time_s) * 1e6),
            round(chance.exponential(_PARSE_S) * 1e6),
            (_MAIN.draw(chance), *(_EMBEDDED.draw(chance) for _ in range(embedded))),
        )


def _files(flow: Flow, number: int, seed: int) -> Mapping[str, str]:
    """Pages for the guest's program `exchange`: a line each, with the times and then the sizes."""
    lines = (
        f"{page.reading_us} {page.parse_us} {' '.join(map(str, page.sizes_bytes))}\n"
        for page in pages(flow.parameters, seed, number)
    )
    return {flow.pages_file: "".join(lines)}


def object_count(path: Path) -> int:
    """The number of objects of the pages in a file. Raises AirtcpError if it cannot be read."""
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        raise AirtcpError(f"{path}: {error.strerror}") from None
    return sum(len(line.split()) - 2 for line in lines)


def _listening(flow: Flow) -> list[Step]:
    return [Instrument(run(f"exchange {options(flow)} host", node=flow.sender))]


def _client(flow: Flow) -> Run:
    command = f"exchange {options(flow)} browse {flow.sender_address} {flow.pages_file}"
    return run(command, node=flow.receiver, stdout=flow.exchanges_file)


def _expected_s(flow: Flow) -> float:
    return flow.parameters.pages * (flow.parameters.reading_time_s + 1)


def _timeout_s(flow: Flow, rate_bps: float) -> float:
    return flow.start_s + flow.parameters.pages * (5 + flow.parameters.reading_time_s)


def _measure(run_dir: Path, testbed: Testbed, flows: Sequence[Flow]) -> Measured:
    exchanges = [
        read_complete(run_dir / flow.exchanges_file, object_count(run_dir / flow.pages_file))
        for flow in flows
    ]
    objects_ms = numpy.concatenate([flow_exchanges.times_ms for flow_exchanges in exchanges])
    pages_ms = numpy.concatenate(
        [flow_exchanges.by_page().times_ms for flow_exchanges in exchanges]
    )
    times_ms = {"completion_time_ms": objects_ms, "page_time_ms": pages_ms}
    return measured(run_dir, flows, exchanges, times_ms)


WORKLOADS = {
    "web": Workload(
        Headline("page_time_ms_mean", "mean page time"),
        _listening,
        _client,
        _expected_s,
        _timeout_s,
        _measure,
        files=_files,
    )
}
