# SPDX-License-Identifier: GPL-2.0-only
"""Quantities: parsing and formatting."""

import re

import pytest

from airtcp import units


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10ms", 0.01),
        ("30s", 30.0),
        ("5484us", 0.005484),
        ("1.5 ms", 0.0015),
        ("1.001ms", 0.001001),
    ],
)
def test_durations_are_parsed(text: str, seconds: float) -> None:
    assert units.parse_duration_s(text) == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize(("text", "bits"), [("240Mbit", 240e6), ("10kbit", 1e4), ("1Gbit", 1e9)])
def test_rates_are_parsed(text: str, bits: float) -> None:
    assert units.parse_rate_bps(text) == bits


@pytest.mark.parametrize(
    ("text", "size"),
    [
        *(("64KiB", 65536), ("6MiB", 6 << 20), ("1GiB", 1 << 30), ("4000", 4000)),
        *(("64kB", 64_000), ("1.5MB", 1_500_000), ("1GB", 10**9)),
    ],
)
def test_sizes_are_parsed(text: str, size: int) -> None:
    assert units.parse_size_bytes(text) == size


@pytest.mark.parametrize("text", ["0ms", "10ms", "30s", "65us", "5484us", "1500ms", "90s"])
def test_durations_are_formatted_as_they_were_parsed(text: str) -> None:
    assert units.format_duration_s(units.parse_duration_s(text)) == text


@pytest.mark.parametrize("text", ["10Mbit", "1Gbit", "1500kbit", "7bit"])
def test_rates_are_formatted_as_they_were_parsed(text: str) -> None:
    assert units.format_rate_bps(units.parse_rate_bps(text)) == text


@pytest.mark.parametrize("text", ["64KiB", "6MiB", "4000B", "65535B"])
def test_sizes_are_formatted_as_they_were_parsed(text: str) -> None:
    assert units.format_size_bytes(units.parse_size_bytes(text)) == text


@pytest.mark.parametrize("text", ["", "ms", "10", "10 mss", "-1ms", "1e3ms", "10Ms", "٣ms"])
def test_error_of_a_bad_duration_lists_the_units(text: str) -> None:
    with pytest.raises(ValueError, match=r"ns us ms s"):
        units.parse_duration_s(text)


@pytest.mark.parametrize(
    ("text", "meant"),
    [("10MS", "10ms"), ("2 sec", "2s"), ("3secs", "3s"), ("7US", "7us"), ("10 mss", None)],
)
def test_error_of_a_duration_names_the_unit_that_was_meant(text: str, meant: str | None) -> None:
    with pytest.raises(ValueError, match="is not a duration") as raised:
        units.parse_duration_s(text)
    assert re.findall("did you mean '(.*)'", str(raised.value)) == ([meant] if meant else [])


@pytest.mark.parametrize("text", ["10mbit", "10Mbps", "10Mbit/s", "10MBits"])
def test_error_of_a_rate_names_the_unit_that_was_meant(text: str) -> None:
    with pytest.raises(ValueError, match=r"did you mean '10Mbit'\? write a number and a unit"):
        units.parse_rate_bps(text)


@pytest.mark.parametrize("text", ["0.4ns", "0.6ns", "1.0000006ms", "0.0000000000005s"])
def test_fractions_of_the_smallest_unit_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="would be rounded; allowed: multiples of 1ns"):
        units.parse_duration_s(text)


def test_zero_needs_no_unit() -> None:
    assert units.parse_duration_s("0") == 0


@pytest.mark.parametrize(
    ("value", "written"),
    [
        *((148.594, "149"), (1123.4, "1123"), (64583.0, "64583"), (999.6, "1000"), (0.27, "0.27")),
        *((0.00004567, "0.000046"), (0.00001, "0.00001"), (-1e-9, "0"), (0.0, "0"), (-0.0, "0")),
    ],
)
def test_rounded_numbers_have_no_exponent(value: float, written: str) -> None:
    assert units.rounded(value, 3) == written


@pytest.mark.parametrize(
    ("text", "number"),
    [("0.5", 0.5), ("-1e-3", -0.001), ("1e999", None), ("inf", None), ("nan", None), ("5s", None)],
)
def test_numbers_are_finite(text: str, number: float | None) -> None:
    assert units.parse_number(text) == number


def test_counted_nouns_are_plural_unless_there_is_one() -> None:
    assert [units.counted(n, "run") for n in (0, 1, 2)] == ["0 runs", "1 run", "2 runs"]
    assert units.counted(2, "retry", "retries") == "2 retries"
