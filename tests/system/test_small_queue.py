# SPDX-License-Identifier: GPL-2.0-only
"""The limit of TCP small queues: how it is chosen, and that a socket keeps to it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from guests import GUEST, guest_output

from airtcp.backends.guesttools import GuestTools
from airtcp.experiment.experiment import Setting
from airtcp.experiment.figures import ModelFigure
from airtcp.experiment.reader import load
from airtcp.kernel.image import Kernel
from airtcp.results.modelfit import expected
from airtcp.sweep.request import RunRequest
from airtcp.sweep.run import run_one

SCRIPT = GUEST / "small_queue.py"

OneCase = Callable[..., dict[str, float]]


@pytest.fixture(scope="module")
def said(
    lab_kernel: Kernel, tools: GuestTools, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    return guest_output(SCRIPT, lab_kernel, tools, tmp_path_factory.mktemp("queue"))


def test_a_namespace_chooses_in_words(said: dict[str, Any]) -> None:
    told = said["texts"]
    assert told["at first"] == "driver"
    spelt = {"4000us": "4000 us", "8000  us": "8000 us"}
    assert told["taken"] == {text: spelt.get(text, text) for text in told["taken"]}
    assert set(told["refused"].values()) == {"EINVAL"}
    assert told["kept"] == "65535 packets"
    assert told["elsewhere"] == "driver"


def test_a_socket_chooses_for_itself(said: dict[str, Any]) -> None:
    told = said["options"]
    assert told["at first"] == ["inherit", 0]
    assert told["of the listener"] == ["packets", 77]
    assert all(told["taken"])
    assert set(told["refused"]) == {told["short"]} == {"EINVAL"}
    assert told["kept"] == ["us", 4000]
    assert told["short answer"] == [4]


def test_so_many_packets_are_queued(said: dict[str, Any]) -> None:
    # Linux never holds back the second packet.
    assert {n: held["packets"] for n, held in said["packets"].items()} == {
        n: max(int(n), 2) for n in said["packets"]
    }
    assert all(held["throttled"] for held in said["packets"].values())


@pytest.mark.parametrize("bytes_allowed", [20000, 50000])
def test_so_many_bytes_are_queued(said: dict[str, Any], bytes_allowed: int) -> None:
    assert_just_above(said["bytes"][str(bytes_allowed)], bytes_allowed)


def test_one_byte_still_lets_two_packets_go(said: dict[str, Any]) -> None:
    assert said["bytes"]["1"]["packets"] == 2


@pytest.mark.parametrize("time_us", [2500, 10000])
def test_as_much_is_queued_as_the_pacing_rate_sends_in_that_time(
    said: dict[str, Any], time_us: int
) -> None:
    assert_just_above(said["us"][str(time_us)], 4 * time_us)


def test_a_short_time_lets_two_packets_wait(said: dict[str, Any]) -> None:
    assert said["us"]["1"]["packets"] == 2


def test_driver_means_1_ms_on_a_wire(said: dict[str, Any]) -> None:
    # 4 MB/s >> 10 is less than two packets.
    assert said["driver"]["packets"] == 2


def test_off_means_that_the_window_decides(said: dict[str, Any]) -> None:
    # 40 segments, and what the ACK of the one that got through adds.
    assert 40 <= said["off"]["packets"] <= 42
    assert said["off"]["throttled"] == 0


def test_changes_under_load_stall_nothing(said: dict[str, Any]) -> None:
    told = said["under load"]
    assert told["steps"] > 150
    # 50 Mbit/s are 625 KB in 100 ms; two packets at a time are enough for most of that on a wire.
    assert min(told["arrived"]) > 300_000, told["arrived"]


def assert_just_above(held: dict[str, int], bytes_allowed: int) -> None:
    """Packets are let go until their memory is above the limit."""
    of_one = held["memory"] / held["packets"]
    assert held["memory"] - of_one <= bytes_allowed < held["memory"]
    assert held["throttled"]


@pytest.fixture
def case(lab_kernel: Kernel, tools: GuestTools, tmp_path: Path) -> OneCase:
    """The metrics of one case of an experiment, 5 s."""

    def one(experiment: str, *settings: str) -> dict[str, float]:
        texts = ("duration=5s", "baseline=0s", *settings)
        [case] = load(experiment).cases([Setting.parse(text) for text in texts])
        result = run_one(RunRequest.of(lab_kernel, tools, case, 1), tmp_path / experiment)
        assert result.error is None
        metrics: dict[str, float] = result.values
        return metrics

    return one


def test_an_upload_stays_far_below_a_download(case: OneCase) -> None:
    down, up = (
        case("tsq-updown", "preset=ar9580", "streams=2", f"direction={direction}")["goodput_mbps"]
        for direction in ("download", "upload")
    )
    assert up < 0.75 * down


@pytest.mark.parametrize("name", ["cubic", "bbr_plain"])
def test_larger_queue_gives_larger_aggregates_and_latency(case: OneCase, name: str) -> None:
    """That plain BBR does not respond, as the paper has it, does not reproduce."""
    small, large = (
        case("tsq-size", f"congestion_control={name}", f"tsq={tsq}") for tsq in ("1ms", "8ms")
    )
    assert large["ampdu_mpdus_mean"] > 2 * small["ampdu_mpdus_mean"]
    assert large["goodput_mbps"] > 1.3 * small["goodput_mbps"]
    assert large["tcp_rtt_ms_p50"] > 2 * small["tcp_rtt_ms_p50"]
    assert large["ping_rtt_ms_p50"] > 2 * small["ping_rtt_ms_p50"]


def test_plain_bbr_responds_to_pacing(case: OneCase) -> None:
    once, thrice = (
        case("tp-rate", "congestion_control=bbr_plain", "tsq=1ms", f"pacing_factor={factor}")
        for factor in (1, 3)
    )
    assert once["ampdu_mpdus_mean"] < 2 < 2 * once["ampdu_mpdus_mean"] < thrice["ampdu_mpdus_mean"]
    assert thrice["goodput_mbps"] > 1.5 * once["goodput_mbps"]


def test_aggregates_formed_ahead_are_why(case: OneCase) -> None:
    when_won, ahead = (
        case("tsq-size", "congestion_control=bbr_plain", "tsq=1ms", f"formed_ppdus={formed}")
        for formed in (0, 2)
    )
    assert ahead["ampdu_mpdus_mean"] < when_won["ampdu_mpdus_mean"] / 2
    assert ahead["goodput_mbps"] < 0.8 * when_won["goodput_mbps"]


def test_tcp_that_joins_segments_aggregates_all_the_same(case: OneCase) -> None:
    apart, joined = (
        case("tsq-size", "congestion_control=bbr_plain", "tsq=1ms", f"gso_segments={segments}")
        for segments in ("1", "kernel")
    )
    assert joined["ampdu_mpdus_mean"] > 3 * apart["ampdu_mpdus_mean"]
    assert joined["goodput_mbps"] > 2 * apart["goodput_mbps"]


def test_hystart_is_why_cubic_stays_below_new_reno_at_1_ms(case: OneCase) -> None:
    cubic, without, reno = (
        case("tsq-size", "tsq=1ms", *settings)
        for settings in (
            ("congestion_control=cubic",),
            ("congestion_control=cubic", "hystart=off"),
            ("congestion_control=reno",),
        )
    )
    assert cubic["ampdu_mpdus_mean"] < 0.6 * reno["ampdu_mpdus_mean"]
    assert cubic["goodput_mbps"] < 0.8 * reno["goodput_mbps"]
    assert without["goodput_mbps"] > 0.95 * reno["goodput_mbps"]


def test_larger_station_queue_shares_the_medium_under_rrul(case: OneCase) -> None:
    def unfairness(tsq: str) -> float:
        metrics = case("rrul", "congestion_control=cubic", f"tsq={tsq}")
        down, up = metrics["goodput_download_mbps"], metrics["goodput_upload_mbps"]
        return (down - up) / (down + up)

    assert unfairness("1ms") > 0.6
    assert abs(unfairness("32ms")) < 0.3


def test_ac_needs_a_larger_queue_than_n(case: OneCase) -> None:
    def share_at_1_ms(experiment: str, *radio: str) -> float:
        small, large = (
            case(experiment, *radio, "congestion_control=cubic", f"tsq={tsq}")["goodput_mbps"]
            for tsq in ("1ms", "8ms")
        )
        return small / large

    n = share_at_1_ms("tsq-size")
    ac = share_at_1_ms("tsq-size-ac", "queue=txq", "formed_ppdus=2")
    # With six seeds the one was 0.82 to 0.93 of the other.
    assert ac < 0.95 * n < 0.7


def test_paper_model_predicts_throughput_within_5_percent(case: OneCase) -> None:
    [figure] = load("tsq-model").figures
    assert isinstance(figure, ModelFigure)
    errors = []
    for packets in (4, 8, 16, 40, 100, 400):
        metrics = case("tsq-model", "pacing_factor=1", f"tsq={packets}packets")
        backlog, model_mbps, _ = expected(figure, packets, factor=1)
        # All of the limit is at the radio, as far as an aggregate has room for it.
        assert metrics["ampdu_mpdus_mean"] == pytest.approx(min(backlog, 42), rel=0.05)
        errors.append(abs(model_mbps / metrics["goodput_mbps"] - 1))
    assert sum(errors) / len(errors) < 0.05
