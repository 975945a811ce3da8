# SPDX-License-Identifier: GPL-2.0-only
"""Rates of stations in custom topologies, and those that the other end cannot receive."""

from pathlib import Path

import pytest
from small_experiment import write

from airtcp.backends import shell
from airtcp.errors import InputError
from airtcp.experiment.reader import load
from airtcp.steps.plan import plan
from airtcp.testbed.build import testbed_of

GOOD = """\
name: small
title: Small
source: Nobody
description: None
parameters: {duration: 5s, ping_interval: 0ms}
topology:
  servers:
    near: {}
  access_points:
    ap: {channel: 44, mcs: 5}
  stations:
    phone: {access_point: ap}
    tablet: {access_point: ap, mcs: 3}
flows:
  - {from: near, to: tablet}
"""


def planned(directory: Path, text: str) -> str:
    [case] = load(write(directory, text)).cases([])
    return shell.text(plan(testbed_of(case)))


def link_rates(plan: str) -> list[str]:
    """Arguments of `airsim link set` that set rates."""
    links = [line.partition("link set ")[2] for line in plan.splitlines()]
    return [line for line in links if "rate_format" in line]


def test_access_points_send_at_the_rates_of_stations(tmp_path: Path) -> None:
    ht = "rate_mcs {} rate_streams 1 rate_width_mhz 20 rate_gi_ns 800"
    assert link_rates(planned(tmp_path, GOOD)) == ["0 2 rate_format ht " + ht.format(3)]
    legacy = "standard: 802.11a, legacy_rate: 24Mbit, mcs: 3"
    assert link_rates(planned(tmp_path, GOOD.replace("mcs: 3", legacy))) == [
        "0 2 rate_format ofdm rate_legacy_kbps 24000"
    ]
    narrow = GOOD.replace("mcs: 5}", "mcs: 5, streams: 2, width: 40MHz}")
    narrow = narrow.replace("mcs: 3", "streams: 1, width: 20MHz")
    assert link_rates(planned(tmp_path, narrow)) == ["0 2 rate_format ht " + ht.format(5)]
    minstrel = GOOD.replace("mcs: 5}", "rate_control: minstrel}").replace(", mcs: 3", "")
    assert link_rates(planned(tmp_path, minstrel)) == []


@pytest.mark.parametrize(
    ("access_point", "station", "message"),
    [
        ("mcs: 5", "streams: 2", "its fixed rate needs 2 streams, which ap does not have"),
        ("mcs: 5", "width: 40MHz", "its fixed rate needs 40MHz, which ap does not have"),
        ("mcs: 5", "standard: 802.11ac", "its fixed rate needs 802.11ac, which ap does not have"),
        (
            "mcs: 5, streams: 2",
            "streams: 1, rate_control: minstrel",
            "ap sends at a fixed rate that needs 2 streams, which it does not have; give it "
            "rate_control fixed and its rate, or ap rate_control minstrel",
        ),
        (
            "standard: 802.11ax",
            "standard: 802.11n, rate_control: minstrel",
            "ap sends at a fixed rate that needs 802.11ax, which it does not have",
        ),
        (
            "standard: 802.11ax, mcs: 5",
            "standard: 802.11be",
            "its fixed rate needs 802.11be, which ap does not have",
        ),
        ("mcs: 5, width: 40MHz", "standard: 802.11a", "width: 40MHz is not allowed with 802.11a"),
    ],
)
def test_rates_that_the_other_end_cannot_receive_are_errors(
    tmp_path: Path, access_point: str, station: str, message: str
) -> None:
    wrong = GOOD.replace("mcs: 5", access_point).replace("mcs: 3", station)
    with pytest.raises(InputError, match=f"small.yaml:13: topology.stations.tablet.*{message}"):
        planned(tmp_path, wrong)


def test_only_access_points_have_ul_ofdma(tmp_path: Path) -> None:
    text = GOOD.replace("mcs: 5}", "mcs: 5, standard: 802.11ax, width: 80MHz, ul_ofdma: on}")
    text = text.replace("mcs: 3", "standard: 802.11n, width: 20MHz")
    adds = [line for line in planned(tmp_path, text).splitlines() if "radio add" in line]
    assert ["ul_ofdma on" in line for line in adds] == [True, False, False]
    with pytest.raises(InputError, match=r"stations\.tablet\.ul_ofdma: not a parameter"):
        planned(tmp_path, text.replace("20MHz", "20MHz, ul_ofdma: on"))
