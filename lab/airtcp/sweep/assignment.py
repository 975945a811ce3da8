# SPDX-License-Identifier: GPL-2.0-only
"""Which worker of a cluster executes which run.

The client assigns each run to a worker with a free place. Dask would compare all workers for each
run, several times because runs require resources, and again for each attempt to move a waiting run
to another worker: with a thousand workers, its scheduler does nothing else.
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from distributed import Client

from airtcp.errors import StopError
from airtcp.sweep.clusterworker import mismatches

POLL_S = 1
"""The scheduler is asked about its workers once in this time at most."""


class Workers:
    """The workers of a scheduler that can execute runs for this machine, and their free places."""

    def __init__(self, client: Client, say: Callable[[str], None]) -> None:
        self._client = client
        self._say = say
        self._reported: set[str] = set()
        self._excluded: dict[str, str] = {}
        self._places: dict[str, int] = {}
        self._used: Counter[str] = Counter()
        self._free: dict[str, None] = {}  # in the order in which they became free
        self._asked = -math.inf

    def update(self) -> None:
        """Ask the scheduler for its workers, unless it has been asked recently.

        Raises StopError if none of them can execute runs.
        """
        now = time.monotonic()
        if now < self._asked + POLL_S:
            return
        places = self._ask()
        if self._places and not places:
            self._say("airtcp: no workers are left; the sweep waits for others")
        self._free = {address: None for address in self._free if address in places}
        for address in places.keys() - self._places.keys():
            self._free[address] = None
        self._places = places
        # An answer about a thousand workers takes a while; leave most of the time for runs.
        self._asked = time.monotonic() + 10 * (time.monotonic() - now)

    def __contains__(self, address: str) -> bool:
        """Whether a worker was connected when the scheduler was asked last, and is not excluded."""
        return address in self._places

    @property
    def places(self) -> int:
        """The number of runs that all of them can execute at once."""
        return sum(self._places.values())

    def take(self) -> str | None:
        """Use a place of the worker that has been free for the longest time; None if none is."""
        address = next(iter(self._free), None)
        if address is not None:
            self._used[address] += 1
            del self._free[address]
            self._offer(address)
        return address

    def give_back(self, address: str) -> None:
        """A run of a worker has ended."""
        self._used[address] -= 1
        self._offer(address)

    def exclude(self, address: str, message: str) -> None:
        """Give no more runs to a worker that cannot execute any, for the reason in the message."""
        self._excluded[address] = message
        self._places.pop(address, None)
        self._free.pop(address, None)
        if self._places:  # or else update() raises StopError with the message
            self._report({address: message})

    def _offer(self, address: str) -> None:
        if self._used[address] < self._places.get(address, 0):
            self._free[address] = None

    def _ask(self) -> dict[str, int]:
        """The number of places of each worker."""
        workers = self._client.scheduler_info()["workers"]
        wrong = {
            address: message
            for address, worker in workers.items()
            if (message := self._excluded.get(address) or _difference(worker))
        }
        if wrong and len(wrong) == len(workers):
            raise StopError(next(iter(wrong.values())))
        self._report(wrong)
        return {
            address: worker["nthreads"]
            for address, worker in workers.items()
            if address not in wrong
        }

    def _report(self, wrong: Mapping[str, str]) -> None:
        for address in wrong.keys() - self._reported:
            self._say(f"airtcp: {wrong[address]}; this worker gets no runs")
            self._reported.add(address)


def _difference(worker: Mapping[str, Any]) -> str:
    """In which versions a worker differs from this machine; empty if in none."""
    parts = " and ".join(mismatches(worker["resources"]))
    where = f"the worker on {worker['host']}"
    return parts and f"{where} differs from this machine in {parts}: install the same versions"
