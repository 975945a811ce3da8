# SPDX-License-Identifier: GPL-2.0-only
"""Which worker of a cluster gets which run, and what happens to the runs of one that leaves."""

import importlib.metadata
from pathlib import Path
from typing import Any

import pytest

from airtcp.backends.guesttools import GuestTools
from airtcp.errors import StopError
from airtcp.experiment.experiment import Case
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters
from airtcp.sweep import assignment, cluster, clusterworker
from airtcp.sweep.request import requests


class FakeFuture:
    def __init__(self) -> None:
        self.released = False

    def release(self) -> None:
        self.released = True


class FakeClient:
    """A scheduler with workers: address and number of threads."""

    def __init__(self, **workers: int) -> None:
        self.workers = workers
        self.assigned: list[str] = []
        self.cancelled: list[Any] = []

    def scheduler_info(self) -> dict[str, Any]:
        described = {"host": "h", "resources": clusterworker.resources()}
        return {"workers": {name: {**described, "nthreads": n} for name, n in self.workers.items()}}

    def submit(self, *_: object, workers: list[str], **__: object) -> FakeFuture:
        self.assigned += workers
        return FakeFuture()

    def cancel(self, futures: list[Any]) -> None:
        self.cancelled += futures


@pytest.fixture(autouse=True)
def ask_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assignment, "POLL_S", -1e9)


def runs_of(client: Any, number: int) -> "cluster._Runs":
    kernel, tools = Kernel(Path("k"), "6.12.0", "k"), GuestTools(Path("t"))
    todo = requests(kernel, tools, [Case({"mcs": 7}, Parameters())], range(1, number + 1))
    return cluster._Runs(client, "sweep", todo, assignment.Workers(client, print))


def test_each_place_gets_one_run_and_none_waits_at_a_worker() -> None:
    client = FakeClient(a=2, b=1)
    runs = runs_of(client, 5)
    assert runs.update() == []
    begun = list(runs.begin())
    assert sorted(client.assigned) == ["a", "a", "b"]
    assert list(runs.begin()) == []
    on_b = next(run for run in begun if run.address == "b")
    runs.done(on_b)
    # The next one starts before the files of the first are stored.
    [fourth] = runs.begin()
    assert fourth.address == "b"
    assert runs.stored(on_b) and on_b.future.released  # type: ignore[attr-defined]


def test_a_worker_that_joins_gets_runs() -> None:
    client = FakeClient()
    runs = runs_of(client, 2)
    runs.update()
    assert list(runs.begin()) == []
    client.workers["late"] = 1
    runs.update()
    assert [run.address for run in runs.begin()] == ["late"]


def test_a_free_worker_that_leaves_gets_no_runs() -> None:
    client = FakeClient(a=1, b=1)
    runs = runs_of(client, 2)
    runs.update()
    client.workers = {"b": 1}
    runs.update()
    assert [run.address for run in runs.begin()] == ["b"]


def test_a_worker_with_other_versions_is_reported_once() -> None:
    client, lines = FakeClient(a=1, b=1), list[str]()
    described = client.scheduler_info()
    described["workers"]["a"]["resources"] = {}
    client.scheduler_info = lambda: described  # type: ignore[method-assign]
    workers = assignment.Workers(client, lines.append)  # type: ignore[arg-type]
    for _ in range(2):
        workers.update()
    assert [line[:37] for line in lines] == ["airtcp: the worker on h differs from "]
    assert (workers.take(), workers.take()) == ("b", None)


def test_a_sweep_says_once_that_it_waits_for_workers() -> None:
    client, lines = FakeClient(a=1, b=1), list[str]()
    workers = assignment.Workers(client, lines.append)  # type: ignore[arg-type]
    for left in ({"a": 1, "b": 1}, {"a": 1}, {}, {}):
        client.workers = left
        workers.update()
    assert lines == ["airtcp: no workers are left; the sweep waits for others"]


def test_a_sweep_whose_last_fitting_worker_leaves_keeps_its_runs() -> None:
    """StopError ends a sweep with its tables."""
    client = FakeClient(a=1)
    described = client.scheduler_info()
    described["workers"]["a"]["resources"] = {}
    client.scheduler_info = lambda: described  # type: ignore[method-assign]
    with pytest.raises(StopError, match="differs from this machine in airtcp and python and lib"):
        runs_of(client, 1).update()


def test_a_library_that_this_python_does_not_need_is_no_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Dask needs importlib_metadata with Python 3.11 only."""
    version, with_it = importlib.metadata.version, clusterworker._libraries()

    def without(name: str) -> str:
        if name == "importlib_metadata":
            raise importlib.metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(importlib.metadata, "version", without)
    assert clusterworker._libraries() != with_it


def test_runs_of_a_worker_that_leaves_are_repeated_three_times() -> None:
    client = FakeClient(w0=1)
    runs = runs_of(client, 1)
    for attempt in range(1, 5):
        assert runs.update() == []
        [run] = runs.begin()
        assert (run.address, run.attempt) == (f"w{attempt - 1}", attempt)
        client.workers = {f"w{attempt}": 1}
        if attempt < 4:
            assert runs.update() == []
            assert client.cancelled[-1] is run.future
            # What it reports later does not count.
            runs.done(run)
            assert not runs.stored(run)
    assert runs.update() == [run.job]
    assert not runs.left


def test_a_stored_run_of_a_worker_that_has_left_is_not_repeated() -> None:
    client = FakeClient(a=1)
    runs = runs_of(client, 1)
    runs.update()
    [run] = runs.begin()
    runs.done(run)
    assert runs.stored(run)
    client.workers = {}
    assert runs.update() == []
    assert not runs.left
