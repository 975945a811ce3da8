# SPDX-License-Identifier: GPL-2.0-only
"""The equations of "Aggregating Without Bloating", against values computed by hand for Table I."""

import pytest

from airtcp.models.aggregation import (
    Station,
    backlog_packets,
    bandwidth_bps,
    rtt_s,
    throughput_bps,
    tx_time_s,
)

TABLE_1 = Station()


def test_backlog_is_a_share_of_tcps_limit() -> None:
    assert backlog_packets(TABLE_1, 100, 1.2) == pytest.approx(96)
    assert backlog_packets(TABLE_1, 50, 1.6) == pytest.approx(64)


def test_transmission_time_includes_bits_and_channel_access() -> None:
    # 10 x 12000 bits and 384 bits at 216 Mbit/s take 557.3 us; channel access takes 500 us.
    assert tx_time_s(TABLE_1, 10) == pytest.approx(1.05733e-3, rel=1e-5)


def test_throughput_grows_with_the_aggregate() -> None:
    assert throughput_bps(TABLE_1, 10) == pytest.approx(120000 / 1.05733e-3, rel=1e-5)
    values = [throughput_bps(TABLE_1, packets) for packets in range(1, 400)]
    assert values == sorted(values)
    assert values[-1] < TABLE_1.rate_bps


def test_four_milliseconds_hold_71_packets() -> None:
    # 864000 bits less 384 are 71.97 packets.
    assert TABLE_1.most_packets == 71
    assert Station(overhead_bytes=1600).most_packets == 70  # less 12800 bits: 70.93
    assert Station(most_aggregate_s=1e-6).most_packets == 1


def test_bandwidth_is_limited_by_the_largest_aggregate() -> None:
    assert bandwidth_bps(TABLE_1, 10) == throughput_bps(TABLE_1, 10)
    assert bandwidth_bps(TABLE_1, 400) == bandwidth_bps(TABLE_1, 71) == throughput_bps(TABLE_1, 71)


def test_rtt_rises_in_steps_beyond_the_largest_aggregate() -> None:
    assert rtt_s(TABLE_1, 10) == pytest.approx(2.5e-3 + 2 * 1.05733e-3, rel=1e-5)
    step_s = tx_time_s(TABLE_1, 71)
    assert rtt_s(TABLE_1, 71) == rtt_s(TABLE_1, 72) == rtt_s(TABLE_1, 142)
    assert rtt_s(TABLE_1, 143) - rtt_s(TABLE_1, 142) == pytest.approx(step_s)


def test_without_aggregation_each_packet_adds_to_the_rtt() -> None:
    plain = Station(most_aggregate_s=0)
    assert rtt_s(plain, 20) - rtt_s(plain, 19) == pytest.approx(tx_time_s(plain, 1))
    assert bandwidth_bps(plain, 20) == throughput_bps(plain, 1)


def test_aggregates_are_limited_in_mpdus_too() -> None:
    assert Station(most_mpdus=32).most_packets == 32
    assert Station(most_mpdus=100).most_packets == 71
    assert Station(most_mpdus=1) != Station(most_aggregate_s=0)
    assert rtt_s(Station(most_mpdus=1), 20) == rtt_s(Station(most_aggregate_s=0), 20)


def test_no_more_packets_than_the_buffer_holds_wait_at_the_radio() -> None:
    station = Station(buffer_packets=50)
    assert backlog_packets(station, 50, 1.2) == pytest.approx(48)
    assert backlog_packets(station, 60, 1.2) == backlog_packets(station, 1000, 1.2) == 50
