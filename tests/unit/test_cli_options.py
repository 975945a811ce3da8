# SPDX-License-Identifier: GPL-2.0-only
"""Options of subcommands reach the code that measures, queries or serves."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from fake_sweep import write_sweep
from small_hosts import hosts
from small_tournament import small

from airtcp import cli
from airtcp.backends import hostcpu
from airtcp.backends.guesttools import GuestTools
from airtcp.cli import doctor, sweeping
from airtcp.errors import AirtcpError
from airtcp.experiment import tournament as field
from airtcp.experiment.tournament import Condition
from airtcp.kernel import image
from airtcp.kernel.image import Kernel
from airtcp.sweep import clusterservers
from airtcp.sweep.session import Planned, SweepResult

CABLE = Condition(
    name="cable",
    aspect="Wire",
    title="",
    set={"access": "ethernet"},
    delays=("15ms", "20ms"),
    quick=True,
)


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Replace the kernel and the guest's programs; the options of each kernel that is built."""
    built: list[dict[str, Any]] = []

    def build(source: Path | None = None, **given: Any) -> Kernel:
        built.append({"source": source, **given})
        return Kernel(Path("a/linux"), "6.12.9", "0123456789abcdef")

    monkeypatch.setattr(image, "build", build)
    monkeypatch.setattr(doctor, "require_programs", lambda **_: None)
    monkeypatch.setattr(sweeping, "build_tools", lambda _say: GuestTools(Path("tools")))
    return built


@pytest.mark.parametrize(
    ("given", "names", "duration_s", "seeds"),
    [
        ("", ["lan", "cable"], 5, 2),
        ("--quick", ["lan", "cable"], 5, 2),
        ("--full", ["lan", "far", "no-sack", "cable"], 20, 5),
        ("--full --seeds 3", ["lan", "far", "no-sack", "cable"], 20, 3),
        ("--full --conditions far", ["far"], 20, 5),
        ("--conditions far,lan", ["lan", "far"], 5, 2),
    ],
)
def test_a_tournament_has_the_conditions_duration_and_seeds_of_its_extent(
    built: list[dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    given: str,
    names: list[str],
    duration_s: int,
    seeds: int,
) -> None:
    planned: list[Planned] = []

    def measure_all(_options: object, each: Iterable[Planned]) -> list[Any]:
        planned.extend(each)
        return []

    lan, far, _, no_sack = small().conditions
    lan = lan.model_copy(update={"quick": True})
    tournament = small().model_copy(update={"conditions": (lan, far, no_sack, CABLE)})
    monkeypatch.setattr(field, "load", lambda: tournament)
    monkeypatch.setattr("airtcp.cli.tournament.measure_all", measure_all)
    assert cli.main(["tournament", "--out", str(tmp_path), *given.split()]) == 0
    assert [each.experiment.name for each in planned] == names
    durations = {case.parameters.duration_s for each in planned for case in each.cases}
    assert durations == {duration_s}
    # Delays take the place of seeds.
    expected = [1 if name == "cable" else seeds for name in names]
    assert [each.options.seeds for each in planned] == expected
    assert len(built) == 1


@pytest.mark.parametrize("on_hosts", [False, True])
def test_options_of_run_reach_the_sweep(
    built: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, on_hosts: bool
) -> None:
    measured: list[Any] = []

    def measure(options: object, *_: object) -> SweepResult:
        measured.append(options)
        return SweepResult(None, failed=False, interrupted=False)

    monkeypatch.setattr("airtcp.cli.run.measure", measure)
    hosts(tmp_path)
    given = ["--hosts", str(tmp_path / "hosts.yaml")] if on_hosts else []
    command = ["run", "thesis-lan", "--out", str(tmp_path), *given]
    assert cli.main(command) == 0
    more = ["--verify", "--seeds", "4", *([] if on_hosts else ["--jobs", "3"])]
    assert cli.main([*command, *more]) == 0
    assert [(each.verify, each.seeds) for each in measured] == [(False, 1), (True, 4)]
    if not on_hosts:
        assert [each.jobs for each in measured] == [None, 3]
    assert len(built) == (0 if on_hosts else 2)


@pytest.mark.parametrize(
    ("given", "printed"),
    [
        ("query SQL one", "seed\n   1\n   2\n"),
        ("query SQL one --csv", "seed\n1\n2\n"),
        ("query SQL one --json", '[\n {\n  "seed": 1\n },\n {\n  "seed": 2\n }\n]\n'),
        (
            "compare one other --csv",
            "case,metric,n,first,second,ratio,ci95\nmcs=7,goodput_mbps,2,100.0,200.0,2.0,0.0\n",
        ),
        (
            "compare one other --csv --metric tx_retries --metric collisions",
            "case,metric,n,first,second,ratio,ci95\nmcs=7,tx_retries,0,,,,\nmcs=7,collisions,0,,,,\n",
        ),
    ],
)
def test_results_are_printed_in_the_form_and_with_the_metrics_of_the_options(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    given: str,
    printed: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, goodput in (("one", 100.0), ("other", 200.0)):
        write_sweep(Path(name), {(7, 1): goodput, (7, 2): goodput})
    sql = "SELECT seed FROM runs ORDER BY seed"
    arguments = [sql if word == "SQL" else word for word in given.split()]
    assert cli.main(["results", *arguments]) == 0
    assert capsys.readouterr().out == printed


@pytest.mark.parametrize("jobs", [None, 3])
def test_a_worker_has_as_many_places_as_jobs(
    built: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, jobs: int | None
) -> None:
    places: list[int] = []

    def worker(_scheduler: str, count: int, _certificates: object) -> None:
        places.append(count)
        raise AirtcpError("the scheduler has exited")

    monkeypatch.setattr(clusterservers, "worker", worker)
    given = ["--jobs", str(jobs)] if jobs else []
    assert cli.main(["worker", "tcp://127.0.0.1:8786", *given]) == 1
    assert places == [jobs or hostcpu.default_jobs()]
    assert built == []


@pytest.mark.parametrize(
    ("command", "printed"),
    [("build", "a/linux (Linux 6.12.9, 0123456789abcdef)\n"), ("path", "a/linux\n")],
)
@pytest.mark.parametrize("arch", ["um", "x86_64"])
@pytest.mark.parametrize("plain", [False, True])
def test_kernel_builds_and_prints_the_kernel_of_its_options(
    built: list[dict[str, Any]],
    capsys: pytest.CaptureFixture[str],
    command: str,
    printed: str,
    arch: str,
    plain: bool,
) -> None:
    given = ["--plain"] if plain else []
    assert cli.main(["kernel", command, "--arch", arch, *given]) == 0
    assert capsys.readouterr().out == printed
    [kernel] = built
    assert kernel["plain"] is plain
    assert kernel.get("arch", "um") == arch
