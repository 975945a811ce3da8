# SPDX-License-Identifier: GPL-2.0-only
"""The comparison with ns-3 (bench/peer.py): settings, parsing, table, verdict."""

from dataclasses import replace
from pathlib import Path

import ns3scenario
import peer
import peer_radios
import peer_scenarios
import pytest
from peer_scenarios import Capture, Scenario
from wifi_timing import rate_mbps

from airtcp.errors import AirtcpError
from airtcp.experiment.reader import load
from airtcp.parameters import Parameters

SCENARIOS = list(peer_scenarios.scenarios())


def pair(scenario: Scenario, ns3_mbps: float, airtcp_mbps: float) -> peer.Pair:
    return peer.Pair(scenario, peer.Outcome(ns3_mbps, 42), peer.Outcome(airtcp_mbps, 41.26))


def test_scenarios_have_different_names() -> None:
    names = [scenario.name for scenario in SCENARIOS]
    assert len(set(names)) == len(names) >= 20


def test_every_note_is_used() -> None:
    used = {note for scenario in SCENARIOS for note in scenario.notes}
    assert used == set(peer_scenarios.NOTES)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_settings_of_scenarios_are_valid(scenario: Scenario, tmp_path: Path) -> None:
    """airtcp accepts the parameters; ns3-scenario has the options."""
    if scenario.protocol == "udp":
        assert Parameters().replace(scenario.parameters()).radio_rate.bps
        assert len(peer.places_mm(scenario)) == scenario.stations + 1
    else:
        (tmp_path / "bench-peer.yaml").write_text(peer.experiment(scenario))
        [case] = load(str(tmp_path / "bench-peer.yaml")).cases([])
        assert case.parameters.ack_count == scenario.ack_count
        assert case.parameters.duration_s == scenario.warmup_s + scenario.seconds + 1
    source = ns3scenario.SOURCE.read_text()
    for name in scenario.options(1):
        assert f'line.AddValue("{name}"' in source


def test_both_have_the_same_rate() -> None:
    modes = {
        "a": "OfdmRate54Mbps",
        "n": "HtMcs13",
        "n20": "HtMcs13",
        "ac": "VhtMcs9",
        "ax": "HeMcs11",
    }
    for name, radio in peer_radios.RADIOS.items():
        assert radio.mode == modes[name]
        ours = Parameters().replace(radio.parameters()).radio_rate
        assert ours.bps / 1e6 == pytest.approx(rate_mbps(radio.rate))


def test_stations_are_at_a_point_or_in_a_ring() -> None:
    point = Scenario("n", "udp", stations=2)
    assert peer.places_mm(point) == [(0, 0), (1000, 0), (1000, 0)]
    ring = Scenario("n", "udp", stations=4, place="ring")
    assert peer.places_mm(ring)[1:] == [(1000, 0), (0, 1000), (-1000, 0), (0, -1000)]


NEAR_AND_FAR = Scenario("a", "udp", "upload", 4, capture=Capture(1, 20))


def test_near_and_far_stations_are_compared_separately() -> None:
    near, far = NEAR_AND_FAR.parts()
    assert [near.name, far.name] == [
        "802.11a UDP upload, 4 stations of which 1 at 1 m, others at 20 m; the near one",
        "802.11a UDP upload, 4 stations of which 1 at 1 m, others at 20 m; the others",
    ]
    both = peer.Outcome(30, 1, 12)
    assert [both.of(part.counted).goodput_mbps for part in (near, far)] == [12, 18]
    assert both.of("all") == both
    plain = Scenario("a", "udp", "upload", 4)
    assert plain.parts() == [plain]


def test_both_have_capture_and_the_same_distances() -> None:
    assert peer.places_mm(NEAR_AND_FAR) == [(0, 0), (1000, 0), *[(20_000, 0)] * 3]
    script = peer.udp_script(NEAR_AND_FAR, peer.udp_cell(NEAR_AND_FAR))
    assert script.count("errors snr capture on x_mm") == 5
    options = NEAR_AND_FAR.options(1)
    assert (options["capture"], options["near_m"], options["distance_m"]) == ("true", 1, 20)


def test_a_collision_of_far_stations_costs_less_without_eifs() -> None:
    near, far = NEAR_AND_FAR.parts()
    for part, mbps in ((near, 12.32), (far, 18.75)):
        assert part.expected_mbps() == pytest.approx(mbps, abs=0.01)
        assert part.expected_of_ns3_mbps() is None
        without = replace(part, ns3_rules={"eifs": False}).expected_of_ns3_mbps()
        assert without is not None and 1 < without / mbps < 1.03


def test_goodput_is_expected_where_a_model_applies() -> None:
    assert Scenario("n", "udp").expected_mbps() == pytest.approx(209.35, abs=0.01)
    assert Scenario("a", "udp", stations=16).expected_mbps() == pytest.approx(28.97, abs=0.01)
    assert Scenario("n", "udp", "upload", 4, rts=True).expected_mbps() is None
    assert Scenario("n", "tcp", ack_count=2).expected_mbps() is None


def test_outcome_of_ns3_is_parsed() -> None:
    found = peer.ns3_outcome("goodput_mbps 200\ngoodput_first_mbps 90\nppdus 10\nmpdus 420\n")
    assert found == peer.Outcome(200, 42, 90)
    with pytest.raises(AirtcpError, match="no data"):
        peer.ns3_outcome("goodput_mbps 0\ngoodput_first_mbps 0\nppdus 0\nmpdus 0\n")


def test_mean_mpdus_counts_ppdus_of_the_measurement(tmp_path: Path) -> None:
    (tmp_path / "airsim-before.txt").write_text("ampdu_size_1 10\nampdu_size_42 5\n")
    (tmp_path / "airsim-after.txt").write_text("ampdu_size_1 11\nampdu_size_42 8\n")
    assert peer.mean_mpdus(tmp_path) == (1 + 3 * 42) / 4


def write_samples(run_dir: Path, until_s: int) -> None:
    """Two connections with 8 Mbit/s each, one a second later, and one with little data."""
    names = "time_ns,event,local,remote,cwnd,srtt_us,retrans,segs_out,data_segs_out,data_segs_in"
    lines = [f"{names},bytes_acked,bytes_received"]
    for port, start_s, rate in ((1, 0, 10**6), (2, 1, 10**6), (3, 0, 100)):
        for time_s in range(start_s, until_s + 1):
            acked = rate * (time_s - start_s)
            lines.append(
                f"{time_s * 10**9},sample,10.0.0.1:5201,10.0.0.2:{port},{'0,' * 6}{acked},0"
            )
    (run_dir / "tcp-server.csv").write_text("\n".join(lines) + "\n")


def test_goodput_is_measured_after_all_connections_have_started(tmp_path: Path) -> None:
    write_samples(tmp_path, until_s=5)
    assert peer.steady_mbps(tmp_path, "download", 1, 2) == pytest.approx(16)
    with pytest.raises(AirtcpError, match=r"end before 6\.0 s"):
        peer.steady_mbps(tmp_path, "download", 1, 4)
    with pytest.raises(AirtcpError, match="no connection has data"):
        peer.steady_mbps(tmp_path, "upload", 1, 2)


def test_verdict_depends_on_difference_and_notes() -> None:
    plain, noted = Scenario("n", "udp"), Scenario("n", "udp", notes=("capture",))
    assert pair(plain, 100, 102.9).verdict == "agree"
    assert pair(noted, 100, 97.1).verdict == "agree"
    assert pair(plain, 100, 96.9).verdict == "NOT EXPLAINED"
    assert pair(noted, 100, 96.9).verdict == "explained"
    incomparable = Scenario("n", "tcp", ack_count=2, comparable=False)
    assert pair(incomparable, 100, 96.9).verdict == "not comparable"


def test_explained_only_if_both_follow_their_rules() -> None:
    scenario = Scenario("a", "udp", "upload", 4, notes=("eifs",))
    outcomes = peer.Outcome(100, 1), peer.Outcome(90, 1)
    assert peer.Pair(scenario, *outcomes, 91, 98).verdict == "explained"
    assert peer.Pair(scenario, *outcomes, 91, 95).verdict == "NOT EXPLAINED"
    assert peer.Pair(scenario, *outcomes, 95, 98).verdict == "NOT EXPLAINED"


def test_page_has_the_rows_and_the_notes_that_they_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer, "NOTES", {"one": "unused", "two": "second"})
    pairs = [
        pair(Scenario("n", "udp"), 200, 204),
        pair(Scenario("n", "udp", notes=("two",)), 200, 150),
    ]
    text = peer.page(pairs, "ns-3 1, Linux 2")
    row = "| 802.11n 40 MHz UDP download | 200.0 | 204.0 | 1.020 |  |  | 42.0 | 41.3 | agree |"
    assert row in text
    assert "| 0.750 |  |  | 42.0 | 41.3 | explained [two] |" in text
    assert "1 of 2 scenarios agree\nwithin 3% in goodput" in text
    assert "- **two**: second\n" in text
    assert "unused" not in text
