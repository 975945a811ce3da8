# SPDX-License-Identifier: GPL-2.0-only
"""The states of the stations' radios, from captures of the air, and the power in them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from fake_air import (
    BEACON,
    BLOCKACK,
    COLLIDED,
    MEDIUM_NS,
    NULL,
    TO_AP,
    Record,
    ampdu,
    frame,
    write_air,
)

from airtcp.experiment.metrics import Value
from airtcp.models import radio_energy
from airtcp.parameters import Parameters
from airtcp.parameters.quantity import Plain
from airtcp.results import onair
from airtcp.testbed.default import testbed
from airtcp.testbed.model import Node, Radio

POWER_MANAGEMENT = 0x10
ACTION = 0xD0
LENGTH_US = 1_000_000


# Other access points, on the channel of the cell, on a part of it, and on another channel.
NEIGHBOUR, NARROW, FAR = 7, 8, 9
OTHERS: dict[int, dict[str, Plain]] = {
    NEIGHBOUR: {},
    NARROW: {"width": "20MHz"},
    FAR: {"channel": 149},
}


def beacon(at_us: float, sender: int = 0) -> Record:
    return frame(
        at_us,
        at_us + 1000,
        sender=sender,
        control=BEACON,
        direction=0,
        receiver=0xFFFF,
        to_group=True,
    )


def null(at_us: float, *, saves: bool) -> Record:
    marks = TO_AP | (POWER_MANAGEMENT if saves else 0)
    return frame(at_us, at_us + 100, sender=1, receiver=0, control=NULL, direction=marks)


FIRST = frame(0, 1, sender=FAR)
LAST = frame(LENGTH_US - 1, LENGTH_US, sender=FAR)

Measured = Callable[..., dict[str, Value]]


@pytest.fixture
def measured(tmp_path: Path) -> Measured:
    def measure(
        records: list[Record], goodput_mbps: float | None = None, **changes: Plain
    ) -> dict[str, Value]:
        for name, at_ns in (("before", MEDIUM_NS), ("after", MEDIUM_NS + LENGTH_US * 1000)):
            (tmp_path / f"airsim-{name}.txt").write_text(f"time_ns {at_ns}\n")
        write_air(tmp_path, [FIRST, *records])
        parameters = Parameters().replace({"capture": "air", "duration": "1s", **changes})
        own = testbed(parameters)
        others = [
            Node(str(number), "access_point", parameters.replace(other), radio=number)
            for number, other in OTHERS.items()
        ]
        radios = (*own.radios, *(Radio(number, str(number)) for number in OTHERS))
        whole = replace(own, nodes=(*own.nodes, *others), radios=radios)
        return onair.measure(tmp_path, whole, goodput_mbps)

    return measure


def test_a_radio_receives_whatever_others_send_on_channels_that_overlap(measured: Measured) -> None:
    values = measured(
        [
            *ampdu(100_000, 300_000, (1500, 1500)),
            frame(300_016, 300_116, sender=1, receiver=0, control=BLOCKACK, direction=0),
            frame(500_000, 600_000, marks=COLLIDED, receiver=2),
            frame(550_000, 650_000, sender=1, receiver=0, direction=TO_AP, marks=COLLIDED),
            frame(700_000, 720_000, sender=NEIGHBOUR, receiver=2),
            frame(720_000, 750_000, sender=NARROW, receiver=2),
            frame(750_000, 900_000, sender=FAR),
            LAST,
        ],
        goodput_mbps=100.0,
    )
    transmitting, receiving = 0.1001, 0.30
    power_w = 1.14 * transmitting + 0.939 * receiving + 0.819 * (1 - transmitting - receiving)
    assert values == {
        "mac_acks_per_s": 1,
        "station_tx_share": pytest.approx(transmitting),
        "station_rx_share": pytest.approx(receiving),
        "station_doze_share": 0,
        "station_wakeups_per_s": 0,
        "station_power_w": pytest.approx(power_w),
        "station_energy_j_per_gb": pytest.approx(power_w * 80),  # a gigabyte takes 80 s
    }


DOZES = [
    null(200_000, saves=True),
    null(200_500, saves=True),  # the second attempt
    beacon(400_000),
    beacon(450_000, sender=NEIGHBOUR),
    frame(500_000, 600_000, receiver=2),
    frame(700_000, 700_200, sender=1, receiver=0, direction=TO_AP),
    LAST,
]


def test_a_dozing_radio_receives_beacons_only(measured: Measured) -> None:
    values = measured(DOZES, power_save="on")
    assert values["station_doze_share"] == pytest.approx(0.7 - 0.2006 - 0.001)
    assert values["station_rx_share"] == pytest.approx(0.001)
    assert values["station_tx_share"] == pytest.approx(0.0004)
    assert values["station_wakeups_per_s"] == 1
    assert "station_energy_j_per_gb" not in values  # there is no goodput


def test_a_radio_does_not_doze_while_it_transmits(measured: Measured) -> None:
    """Frames without data, such as the end of a BlockAck session, do not end power save."""
    other = frame(300_000, 301_000, sender=1, receiver=0, control=ACTION, direction=0)
    for beacons in ([], [beacon(400_000)]):
        values = measured([null(1, saves=True), other, *beacons, LAST], power_save="on")
        received = 0.001 * len(beacons)
        assert values["station_tx_share"] == pytest.approx(0.0011)
        assert values["station_rx_share"] == pytest.approx(received)
        assert values["station_doze_share"] == pytest.approx(1 - 0.000101 - 0.001 - received)


def test_a_radio_without_power_save_does_not_doze(measured: Measured) -> None:
    values = measured(DOZES)
    assert values["station_doze_share"] == values["station_wakeups_per_s"] == 0
    assert values["station_rx_share"] == pytest.approx(0.102)


def test_a_radio_that_dozes_until_the_end_has_not_woken(measured: Measured) -> None:
    values = measured([null(299_900, saves=True), LAST], power_save="on")
    assert values["station_doze_share"] == pytest.approx(0.7)
    assert values["station_wakeups_per_s"] == 0


def test_values_are_means_of_the_stations_and_energy_is_their_sum(measured: Measured) -> None:
    sent = frame(100_000, 400_000, sender=2, receiver=0, direction=TO_AP)
    values = measured([beacon(50_000), sent, LAST], 50.0, stations=2)
    powers_w = [
        0.939 * 0.301 + 0.819 * 0.699,
        0.939 * 0.001 + 1.14 * 0.3 + 0.819 * 0.699,
    ]
    assert values["station_tx_share"] == pytest.approx(0.15)
    assert values["station_rx_share"] == pytest.approx(0.151)
    assert values["station_power_w"] == pytest.approx(sum(powers_w) / 2)
    assert values["station_energy_j_per_gb"] == pytest.approx(sum(powers_w) * 160)


def test_a_capture_of_a_part_of_the_transfer_has_no_energy(measured: Measured) -> None:
    """Shares are those of the part, which is half a second."""
    saving = [null(100_000, saves=True), null(200_000, saves=False), beacon(300_000)]
    sent = frame(400_000, 500_000, sender=1, receiver=0)
    values = measured([*saving, sent], 100.0, power_save="on")
    assert values["station_tx_share"] == pytest.approx(0.2004)
    assert values["station_rx_share"] == pytest.approx(0.002)
    assert values["station_doze_share"] == pytest.approx(0.1998)
    assert values["station_wakeups_per_s"] == pytest.approx(2)
    assert "station_energy_j_per_gb" not in values


def test_stations_that_scan_have_no_states(measured: Measured) -> None:
    assert set(measured([LAST], 100.0, scan_interval="1s")) == {"mac_acks_per_s"}


@pytest.mark.parametrize("shares", [(-0.1, 0.5, 0.5), (0.5, 0.4, 0.2)])
def test_power_needs_shares_of_one_time(shares: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="not shares of the same period"):
        radio_energy.mean_power_w(*shares)
    assert radio_energy.mean_power_w(0, 0, 1) == pytest.approx(0.099)
