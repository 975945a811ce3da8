# SPDX-License-Identifier: GPL-2.0-only
"""Parameters: conflicts, and values that are written and read back."""

import pytest
from pydantic import ValidationError

from airtcp.experiment.published import Published
from airtcp.parameters import Parameters
from airtcp.parameters.ieee80211 import (
    CHANNELS_6GHZ,
    STANDARDS,
    centre_channel,
    mcs_of,
    spanned_mhz,
)
from airtcp.parameters.quantity import Plain, Quantity
from airtcp.parameters.section import Sysctl, facts

AC = {"standard": "802.11ac"}
AX = {"standard": "802.11ax"}
BE = {"standard": "802.11be"}
SNR = {"error_model": "snr", "snr": "9dB"}
WEB: dict[str, Plain] = {"workload": "web"}
FILES = {"workload": "transfer", "transfer_size": "100000B"}
CABLES: dict[str, Plain] = {"access": "ethernet"}


@pytest.mark.parametrize(
    ("values", "name", "message"),
    [
        ({"standard": "802.11g"}, "channel", "36 is not allowed with 802.11g; allowed: 1 6 11"),
        ({**AC, "channel": 6}, "channel", "allowed: 36 44 149 157"),
        ({"standard": "802.11a", "width": "40MHz"}, "width", "allowed: 20MHz"),
        ({"channel": 1, "width": "40MHz"}, "width", "802.11n on channel 1; allowed: 20MHz"),
        ({"width": "80MHz"}, "width", "allowed: 20MHz 40MHz"),
        ({**AX, "channel": 149, "width": "160MHz"}, "width", "allowed: 20MHz 40MHz 80MHz"),
        ({"standard": "802.11a", "streams": 2}, "streams", "allowed: 1"),
        ({"mcs": 9}, "mcs", "802.11n at 20MHz with streams 1; allowed: 0 1 2 3 4 5 6 7 ("),
        ({"mcs": 13}, "mcs", "(MCS 13 of 802.11n is mcs 5 with streams 2)"),
        ({**AC, "mcs": 9}, "mcs", "allowed: 0 1 2 3 4 5 6 7 8"),
        ({**AC, "mcs": 9, "streams": 2}, "mcs", "802.11ac at 20MHz with streams 2; allowed: "),
        ({**AC, "mcs": 9, "streams": 4}, "mcs", "802.11ac at 20MHz with streams 4; allowed: "),
        (
            {**AC, "mcs": 6, "streams": 3, "width": "80MHz"},
            "mcs",
            "allowed: 0 1 2 3 4 5 7 8 9",
        ),
        ({**AC, "mcs": 9, "streams": 3, "width": "160MHz"}, "mcs", "allowed: 0 1 2 3 4 5 6 7 8"),
        ({"guard_interval": "3200ns"}, "guard_interval", "allowed: 400ns 800ns"),
        ({**AX, "guard_interval": "400ns"}, "guard_interval", "allowed: 800ns 1600ns 3200ns"),
        ({"standard": "802.11a", "guard_interval": "400ns"}, "guard_interval", "allowed: 800ns"),
        ({**AX, "mcs": 12}, "mcs", "allowed: 0 1 2 3 4 5 6 7 8 9 10 11"),
        ({**AX, "channel": 37}, "channel", "allowed: 1 6 11 36 44 149 157"),
        ({**BE, "width": "320MHz"}, "width", "channel 36; allowed: 20MHz 40MHz 80MHz 160MHz"),
        ({**BE, "channel": 149, "width": "160MHz"}, "width", "allowed: 20MHz 40MHz 80MHz"),
        ({**BE, "channel": 37, "rate_control": "minstrel"}, "rate_control", "allowed: fixed ideal"),
        ({"rate_control": "ideal"}, "rate_control", "error_model fixed; allowed: fixed minstrel"),
        (
            {**AX, **SNR, "rate_control": "ideal", "guard_interval": "400ns"},
            "guard_interval",
            "allowed: 800ns 1600ns 3200ns",
        ),
        ({**BE, "guard_interval": "400ns"}, "guard_interval", "allowed: 800ns 1600ns 3200ns"),
        ({**AX, "ampdu_mpdus": 257}, "ampdu_mpdus", "802.11ax; allowed: 1 to 256 or 'preset'"),
        ({**AX, "ampdu_bytes": "2MiB"}, "ampdu_bytes", "allowed: 2048 to 1048575 or 'preset'"),
        ({**BE, "ul_ofdma": "on"}, "ul_ofdma", "allowed: off"),
        ({"wmm": "off"}, "wmm", "802.11n; allowed: on; other values need standard 802.11a or"),
        ({"ampdu_mpdus": 65}, "ampdu_mpdus", "802.11n; allowed: 1 to 64 or 'preset'"),
        ({"ampdu_bytes": "64KiB"}, "ampdu_bytes", "allowed: 2048 to 65535 or 'preset'"),
        ({"standard": "802.11a", "amsdu": "on"}, "amsdu", "allowed: off or 'preset'"),
        ({"error_model": "burst", "error_rate": 0.1}, "error_rate", "allowed: 0.0"),
        ({"burst_enter": 0.1}, "burst_enter", "not allowed with error_model fixed"),
        ({"snr": "20dB"}, "snr", "not allowed with error_model fixed; allowed: none"),
        ({"cca_threshold": "-20dBm"}, "cca_threshold", "with error_model fixed; allowed: -90dBm"),
        ({"walk": "0s=5m"}, "walk", "0ms=5m is not allowed with error_model fixed"),
        (
            {"error_model": "snr", "snr": "20dB", "distance": "5m"},
            "distance",
            "is not allowed with snr; give only one of them",
        ),
        (
            {"error_model": "snr", "snr": "20dB", "response_error_rate": 0.1},
            "response_error_rate",
            "not allowed with error_model snr",
        ),
        (
            {"queue": "fifo", "formed_ppdus": 2, "formed_singles": 8},
            "formed_singles",
            "8 is not allowed with queue fifo; allowed: 0",
        ),
        ({"exchanges": 10}, "exchanges", "10 is not allowed with workload bulk; allowed: 1000"),
        ({"message": "1KiB"}, "message", "with workload bulk; allowed: 64B"),
        (
            {"workload": "request_response", "transfer_size": "10000B"},
            "transfer_size",
            "10000B is not allowed with workload request_response; allowed: none",
        ),
        ({**FILES, "exchanges": 10}, "exchanges", "with workload transfer"),
        ({**FILES, "protocol": "udp"}, "protocol", "allowed: tcp"),
        ({**FILES, "flows": 2}, "flows", "allowed: 1"),
        ({"workload": "request_response", "stations": 2}, "stations", "allowed: 1"),
        ({**WEB, "direction": "both"}, "direction", "with workload web; allowed: download upload"),
        ({**WEB, "dscp": "rrul"}, "dscp", "rrul is not allowed with workload web"),
        (
            {**WEB, "baseline": "1s"},
            "baseline",
            "1s is not allowed with workload web",
        ),
        (
            {"router": "custom", "router_byte": "1us"},
            "router_byte",
            "has no effect without router_packet",
        ),
        (
            {"router": "custom", "router_queue": 10},
            "router_queue",
            "has no effect without router_packet",
        ),
        (
            {"duration": "2s", "tcp_sample": "3s"},
            "tcp_sample",
            "3s: longer than duration; allowed: 'auto', 1ms to 2s",
        ),
        ({**FILES, "udp_ping_interval": "20ms"}, "udp_ping_interval", "allowed: 0"),
        ({"pages": 5}, "pages", "5 is not allowed with workload bulk; allowed: 20"),
        ({**FILES, "reading_time": "2s"}, "reading_time", "with workload transfer; allowed: 1s"),
        ({**CABLES, "mcs": 5}, "mcs", "5 is not allowed with access ethernet; allowed: 7"),
        ({**CABLES, "capture": "air"}, "capture", "air is not allowed with access ethernet"),
        ({"ethernet_rate": "10Mbit"}, "ethernet_rate", "with access wifi; allowed: 1Gbit"),
        ({"delay": "4s", "return_delay": "5001ms"}, "delay", "allowed: up to 9s together"),
        ({"path": "adsl", "delay": "1ms"}, "delay", "1ms is not allowed with path adsl"),
        ({"router": "cisco881", "router_packet": "9us"}, "router_packet", "with router cisco881"),
        ({"slow_host": "sender"}, "slow_host", "needs host_packet, as in 20us"),
        ({"host_packet": "20us"}, "host_packet", "with slow_host none; allowed: 0"),
        (
            {"slow_host": "sender", "host_packet": "80us"},
            "host_packet",
            "is more than 65535 bytes take; allowed with host_byte 1ns: up to 66us",
        ),
        (
            {"router": "custom", "router_packet": "20us", "router_byte": "7us"},
            "router_packet",
            "20us would be rounded; allowed: multiples of router_byte 7us",
        ),
        (
            {"slow_host": "sender", "host_packet": "20us", "host_byte": "100us"},
            "host_packet",
            "20us would be rounded; allowed: multiples of host_byte 100us",
        ),
        ({"ack_filter": "police"}, "ack_filter", "police needs ack_filter_rate, as in 100kbit"),
        (
            {"congestion_control": "bbr2", "bbr_probe_up_gain": 640},
            "bbr_probe_up_gain",
            "640 is not allowed with congestion_control bbr2; allowed: kernel",
        ),
        ({"ack_filter_rate": "1Mbit"}, "ack_filter_rate", "with ack_filter none; allowed: none"),
        ({"ack_filter": "txq", "ack_hold": 3}, "ack_hold", "3 is not allowed with ack_filter txq"),
        (
            {**CABLES, "ack_filter": "txq"},
            "ack_filter",
            "is done at radios; allowed: access wifi",
        ),
        (
            {"ack_filter": "txq", "queue": "fifo"},
            "ack_filter",
            "txq is not allowed with queue fifo, where no packet waits; allowed: queue txq",
        ),
        (
            {"ack_filter": "cake"},
            "ack_filter",
            "a bottleneck on the return path: return_rate",
        ),
        (
            {"error_model": "snr", "snr": "3dB"},
            "snr",
            "dBm at 20MHz; allowed: 3.990dB",
        ),
    ],
)
def test_conflicts_are_reported_with_allowed_values(
    values: dict[str, Plain], name: str, message: str
) -> None:
    with pytest.raises(ValidationError) as raised:
        Parameters().replace(values)
    [error] = raised.value.errors()
    assert error["loc"] == (name,)
    assert message in error["msg"]
    assert "\n" not in error["msg"]


@pytest.mark.parametrize(
    ("values", "name", "message"),
    [
        ({"workload": "transfer"}, "workload", "transfer needs transfer_size, as in 100000B"),
        ({"ack_filter": "multicast"}, "ack_filter", "allowed: direction upload"),
        (
            {"ack_filter": "shape", "ack_filter_rate": "1Mbit", "ack_filter_at": "router"},
            "ack_filter_at",
            "router is not allowed with router none; allowed: bridge",
        ),
        ({"error_model": "snr"}, "error_model", "snr needs one of snr distance walk"),
        (
            {"error_model": "snr", "snr": "80dB", "tx_power": "-20dBm"},
            "snr",
            "80dB is not allowed with tx_power -20dBm at 20MHz; allowed: up to 73.989dB",
        ),
    ],
)
def test_misfits_of_the_default_topology_are_reported(
    values: dict[str, Plain], name: str, message: str
) -> None:
    [misfit] = Parameters().replace(values).misfits()
    assert misfit.name == name and message in misfit.text


def test_parameters_without_effect_in_a_node_are_reset() -> None:
    case = Parameters().replace({"channel": 44, "error_rate": 0.1, "capture": "server,air"})
    wired = case.override({"access": "ethernet"})
    assert (wired.channel, wired.error_rate, wired.capture) == (36, 0, ())
    with pytest.raises(ValidationError, match="44 is not allowed with access ethernet"):
        case.override({"access": "ethernet", "channel": 44})
    assert case.override({"router": "cisco881"}).channel == 44


@pytest.mark.parametrize(
    "values",
    [
        {"standard": "802.11a", "mcs": 9, "ampdu_mpdus": 64, "legacy_rate": "6Mbit"},
        {"standard": "802.11g", "channel": 11},
        {"channel": 6, "streams": 4, "guard_interval": "400ns"},
        {**AC, "mcs": 9, "streams": 3},
        {**AC, "mcs": 9, "width": "160MHz", "streams": 4, "guard_interval": "400ns"},
        {**AX, "mcs": 11, "channel": 1, "guard_interval": "1600ns"},
        {**AX, "ampdu_mpdus": 256, "ampdu_bytes": 1048575, "width": "160MHz", "channel": 44},
        {"rate_control": "minstrel", "guard_interval": "3200ns", "mcs": 11},
        {"error_model": "snr", "snr": "3dB", "cca_threshold": "-95dBm"},
        {"error_model": "snr", "snr": "12dB", "width": "20MHz"},
        {"error_model": "burst", "burst_enter": 0.01, "response_error_rate": 0.1},
        {"error_model": "snr", "walk": "0s=5m,1500ms=0.25m", "stations": 64},
        {"rts_threshold": "2KiB", "rx_delivery": "ppdu", "queue": "txq"},
        {"workload": "request_response", "message": "1B", "exchanges": 1, "direction": "upload"},
        {"workload": "transfer", "message": "1KiB", "transfer_size": "1MiB", "transfers": 3},
        {"workload": "web", "pages": 3, "reading_time": "0ms", "direction": "upload"},
        {"direction": "both", "dscp": "rrul", "flows": 3, "baseline": "5s", "protocol": "udp"},
        {"ack_policy": "limit", "ack_limit": 0, "ack_limit_max": 64},
        {"ack_policy": "count", "ack_count": 1, "ack_count_delay": "500ms"},
        {"ack_policy": "tack", "tack_segments": 2, "tack_beta": 4},
        {"ack_policy": "auto", "auto_min_interval": "1us", "auto_max_interval": "5ms"},
        {"tsq": "off", "pacing_factor": 3, "congestion_control": "bbr_plain"},
        {"tsq": "1500us", "tso_rtt_log": 0},
        {"congestion_control": "bbr_plain", "bbr_probe_up_gain": 1023},
        {"tsq": "65536B", "formed_ppdus": 8},
        {"tsq": "400packets", "formed_ppdus": 2, "queue": "fifo", "codel_target": "5ms"},
        # Policies are compared under one set of parameters; those of other policies are allowed.
        {"ack_policy": "aad-listing", "divack": 0, "divack_spread": "1us", "divack_sender": 64},
    ],
)
def test_valid_parameters_are_read_back(values: dict[str, Plain]) -> None:
    parameters = Parameters().replace(values)
    assert Parameters.model_validate(parameters.plain()) == parameters


def test_every_sysctl_is_a_number_of_the_kernel() -> None:
    for attribute, sysctl in facts(Parameters, Sysctl):
        for quantity in Parameters.model_fields[attribute].metadata:
            if isinstance(quantity, Quantity):
                assert round(quantity.high * sysctl.scale) < 1 << 31, attribute


def test_number_of_exchanges_depends_on_the_workload() -> None:
    def exchanges(**values: Plain) -> int:
        return Parameters().replace(values).exchange_count

    assert exchanges() == 0
    assert exchanges(workload="request_response", exchanges=7) == 7
    assert exchanges(**FILES, transfers=5) == 5


def test_centres_of_wide_channels() -> None:
    assert [centre_channel(44, width) for width in (20, 40, 80, 160)] == [0, 0, 42, 50]
    assert centre_channel(149, 80) == 155
    # At 6 GHz the centres are 2 mod 8, 6 mod 16, 14 mod 32 and 30 mod 64, counted from 1 on.
    for channel in CHANNELS_6GHZ:
        for width, (offset, step) in {
            40: (2, 8),
            80: (6, 16),
            160: (14, 32),
            320: (30, 64),
        }.items():
            centre = centre_channel(channel, width)
            assert (centre - 1) % step == offset
            assert abs(centre - channel) < width // 10


def test_channels_consist_of_the_channels_around_their_centres() -> None:
    assert list(spanned_mhz(36, 20)) == [5180]
    assert list(spanned_mhz(44, 40)) == [5220, 5240]
    assert list(spanned_mhz(44, 160)) == list(range(5180, 5321, 20))
    assert list(spanned_mhz(6, 20)) == [2437]
    assert list(spanned_mhz(37, 20)) == [6135]
    assert list(spanned_mhz(37, 40)) == [6115, 6135]
    assert list(spanned_mhz(101, 320)) == list(range(6275, 6576, 20))


def test_vht_excludes_the_mcs_that_the_standard_excludes() -> None:
    vht = STANDARDS["802.11ac"]
    excluded = {
        (width, mcs, streams)
        for width in vht.widths_mhz
        for streams in (1, 2, 3, 4)
        for mcs in set(range(10)) - set(mcs_of(vht, width, streams))
    }
    assert excluded == {(20, 9, 1), (20, 9, 2), (20, 9, 4), (80, 6, 3), (160, 9, 3)}


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        *((word, word) for word in ("kernel", "driver", "off", "1packets", "65535packets")),
        *((f"{ms}ms", f"{ms}ms") for ms in (1, 2, 4, 8, 16, 32)),
        *(("0.5ms", "500us"), ("1us", "1us"), ("64KiB", "64KiB"), (" 40 packets ", "40packets")),
    ],
)
def test_limits_of_small_queues(text: str, plain: str) -> None:
    assert Parameters().replace({"tsq": text}).plain()["tsq"] == plain


@pytest.mark.parametrize(
    "text",
    ["on", "5", "0ms", "2s", "-1ms", "0B", "1GiB", "0packets", "65536packets", "1.5packets", "8x"],
)
def test_invalid_limits_of_small_queues_are_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="allowed: kernel, driver, off, 1us to 1s, 1B to"):
        Parameters().replace({"tsq": text})


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("aad_alpha", "0.125", "0.01"),
        ("aad_reset", "1500us", "1ms"),
        ("aad_min_iat", "400ns", "1us"),
        ("error_rate", "4e-7", "0.000001"),
        ("delay", "500ns", "1us"),
        ("tsq", "1500ns", "1us"),
        ("tsq", "1.001us", "1us"),
        ("delay", "0.4ns", "1ns"),
        ("rate", "1000.5bit", "1bit"),
        ("rate_burst", "3.3KiB", "1B"),
        ("distance", "1.2345m", "0.001m"),
        ("wire_loss", "1e-12", "0.00000001"),
        ("ping_interval", "20500us", "1ms"),
        ("pacing_factor", "1.004", "0.01, and of 1/120 as in 1.3333"),
    ],
)
def test_values_that_would_be_rounded_are_refused(name: str, value: str, allowed: str) -> None:
    with pytest.raises(ValidationError, match=f"would be rounded; allowed: multiples of {allowed}"):
        Parameters().replace({"ack_policy": "aad", name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [("aad_alpha", "0.29"), ("aad_reset", "3s"), ("error_rate", "0.123457"), ("delay", "33us")],
)
def test_values_in_steps_are_exact(name: str, value: str) -> None:
    parameters = Parameters().replace({"ack_policy": "aad", name: value})
    assert str(parameters.plain()[name]) == value


@pytest.mark.parametrize("text", ["0_1", "\N{ARABIC-INDIC DIGIT ZERO}.5", "inf", "nan", "0x1", ""])
def test_fractions_are_written_in_digits(text: str) -> None:
    with pytest.raises(ValidationError, match="is not a number; allowed: 0"):
        Parameters().replace({"wire_loss": text})
    with pytest.raises(ValidationError, match="is not a number of at least 0"):
        Published(when={}, metric="goodput_mbps", value=text, precision="exact", source="x")


@pytest.mark.parametrize(("name", "text"), [("wire_loss", "-0.0"), ("distance", "-0m")])
def test_zero_has_no_sign(name: str, text: str) -> None:
    parameters = Parameters().replace({"error_model": "snr", name: text})
    assert str(parameters.plain()[name]) in ("0.0", "0m")
