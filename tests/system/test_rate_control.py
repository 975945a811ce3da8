# SPDX-License-Identifier: GPL-2.0-only
"""Rate control over airsim's signal-to-noise ratio, against the best fixed rate."""

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from radio import (
    CAPTURE,
    CAPTURE_END,
    MPDU_OCTETS,
    OCTETS,
    Cell,
    counted,
    difference,
    flow,
    mbps,
    read_sample,
    run,
)
from wifi_timing import Format, Rate, legacy, saturated_goodput_mbps

from airtcp.backends.guesttools import GuestTools
from airtcp.files import airtrace
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters
from airtcp.parameters.quantity import Plain

# Two streams of 802.11n at 20 MHz: from barely associated to the highest rate.
BASE: dict[str, Plain] = {
    "standard": "802.11n",
    "width": "20MHz",
    "streams": 2,
    "mcs": 7,
    "guard_interval": "400ns",
}
SNRS_DB = tuple(range(6, 45, 3))
# The error model ignores the guard interval, so that the short one is always better.
RATES = tuple((mcs, streams) for streams in (1, 2) for mcs in range(8))

HE: dict[str, Plain] = {"standard": "802.11ax", "width": "80MHz", "streams": 2}
HE_SNRS_DB = (8, 15, 24, 33, 45)
HE_RATES = tuple((mcs, streams) for streams in (1, 2) for mcs in range(12))

# Transmit power less the noise of 1 MHz with a noise figure of 7 dB, in thousandths of a dB.
BUDGET_MDB = 20_000 + 174_000 - 60_000 - 7_000


def _at(snr_db: float, base: dict[str, Plain] = BASE) -> str:
    width_mhz = int(str(base["width"]).removesuffix("MHz"))
    loss_mdb = round(BUDGET_MDB - 10_000 * math.log10(width_mhz) - 1000 * snr_db)
    return "".join(f"must airsim link set {pair} loss_mdb {loss_mdb}\n" for pair in ("0 1", "1 0"))


def _run(
    kernel: Kernel,
    tools: GuestTools,
    directory: Path,
    control: str,
    steps: list[tuple[str, str]],
    base: dict[str, Plain] = BASE,
) -> None:
    """steps: the name of each sample and the commands before it."""
    radio = Parameters().replace({**base, "error_model": "snr", "snr": "30dB"})
    cells = [Cell("ap", ["sta"], radio.replace({"rate_control": control}))]
    parts = ["must airsim radio set 0 errors snr\nmust airsim radio set 1 errors snr\n"]
    parts.append(flow(cells, "ap", "sta", 10_000))
    for name, before in steps:
        parts.append(f"{before}sample before-{name}\nsleep {_sample_s(control)}\nsample {name}\n")
    run(kernel, tools, directory, cells, "".join(parts))


def _sample_s(control: str) -> float:
    # minstrel_ht's probes of failing rates are random: +-5% over 2 s at 6 dB.
    return 8 if control == "minstrel" else 0.3


def _mbps(directory: Path, name: str) -> float:
    return mbps(difference(directory / f"before-{name}", directory / name))


def _best_fixed(
    kernel: Kernel,
    tools: GuestTools,
    directory: Path,
    snrs_db: Sequence[int],
    rates: Sequence[tuple[int, int]],
    base: dict[str, Plain] = BASE,
) -> dict[int, float]:
    """The highest goodput of the fixed rates (MCS, streams) at each SNR, in Mbit/s."""
    steps = [
        (
            f"{snr_db}-{mcs}-{streams}",
            f"{_at(snr_db, base)}"
            f"must airsim radio set 0 rate_mcs {mcs} rate_streams {streams}\nsleep 0.1\n",
        )
        for snr_db in snrs_db
        for mcs, streams in rates
    ]
    _run(kernel, tools, directory, "fixed", steps, base)
    best = {}
    for snr_db in snrs_db:
        goodputs = {
            _mbps(directory, f"{snr_db}-{mcs}-{streams}"): (mcs, streams) for mcs, streams in rates
        }
        best[snr_db] = max(goodputs)
        print(f"{snr_db} dB: best fixed {best[snr_db]:.1f} Mbit/s, {goodputs[best[snr_db]]}")
    return best


def test_minstrel_settles_on_the_best_rate(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    best = _best_fixed(lab_kernel, tools, tmp_path / "fixed", SNRS_DB, RATES)
    settled = [(str(snr_db), f"{_at(snr_db)}sleep 4\n") for snr_db in SNRS_DB]
    _run(lab_kernel, tools, tmp_path / "minstrel", "minstrel", settled)
    shares = [_mbps(tmp_path / "minstrel", str(snr_db)) / best[snr_db] for snr_db in SNRS_DB]
    print([round(share, 3) for share in shares])
    # minstrel_ht limits probabilities to 90%, so that it may prefer a faster rate with 30% of
    # losses to one without: at 24 dB it is 13% below the best.
    assert sum(share >= 0.9 for share in shares) >= 12
    assert min(shares) > 0.85


def test_ideal_rates_are_the_best_fixed_ones(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    """HE rates, which minstrel_ht does not have."""
    best = _best_fixed(lab_kernel, tools, tmp_path / "fixed", HE_SNRS_DB, HE_RATES, HE)
    chosen = [(str(snr_db), f"{_at(snr_db, HE)}sleep 0.1\n") for snr_db in HE_SNRS_DB]
    _run(lab_kernel, tools, tmp_path / "ideal", "ideal", chosen, HE)
    for snr_db in HE_SNRS_DB:
        goodput = _mbps(tmp_path / "ideal", str(snr_db))
        print(f"{snr_db} dB: ideal {goodput:.1f} Mbit/s")
        assert goodput == pytest.approx(best[snr_db], rel=0.02)


@pytest.mark.parametrize(
    ("other", "rate"),
    [
        ({"streams": 1}, Rate(Format.HE, 11, 1, 80, 800)),
        ({"standard": "802.11ac"}, Rate(Format.VHT, 9, 2, 80, 800)),
        ({"standard": "802.11n", "width": "20MHz", "streams": 1}, Rate(Format.HT, 7, 1, 20, 800)),
        (
            {"standard": "802.11a", "preset": "wifi-11a", "width": "20MHz", "streams": 1},
            legacy(54000),
        ),
    ],
    ids=["he", "vht", "ht", "ofdm"],
)
def test_ideal_rates_are_those_that_the_station_supports(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path, other: dict[str, Plain], rate: Rate
) -> None:
    """Without losses: the fastest rate of the station in a cell of 802.11ax."""
    ideal = Parameters().replace(
        {**HE, "error_model": "snr", "snr": "30dB", "rate_control": "ideal"}
    )
    cells = [Cell("ap", ["sta", "other"], ideal, {"other": ideal.replace(other)})]
    body = flow(cells, "ap", "other", 10) + "sleep 0.5\nsample before\nsleep 2\nsample after\n"
    run(lab_kernel, tools, tmp_path, cells, body)
    measured = mbps(counted(tmp_path), "other")
    most = 256 if rate.format is Format.HE else 64
    expected = saturated_goodput_mbps(
        rate,
        OCTETS,
        MPDU_OCTETS,
        ampdu_mpdus=most,
        ampdu_octets=1048575 if rate.format in (Format.HE, Format.VHT) else 65535,
        ba_window=most,
        min_spacing_us=8 if rate.format is Format.HT else 0,
    )
    print(f"{measured:.2f} of {expected:.2f} Mbit/s")
    assert measured == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("snr_db", [0])
def test_nothing_is_received_below_the_noise(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path, snr_db: int
) -> None:
    steps = [("out-of-range", f"{_at(snr_db)}must airsim radio set 0 rate_mcs 7\nsleep 0.1\n")]
    _run(lab_kernel, tools, tmp_path, "fixed", steps)
    assert _mbps(tmp_path, "out-of-range") == 0


def test_minstrel_takes_aggregates_of_256_mpdus(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    """mac80211's numbers of MPDUs have eight bits: 256 was 0, by which minstrel_ht divided."""
    goodputs = {}
    for mpdus in (255, 256):
        radio: dict[str, Plain] = {"standard": "802.11ax", "width": "80MHz", "streams": 2}
        changed: dict[str, Plain] = {"ampdu_mpdus": mpdus, "rate_control": "minstrel"}
        cells = [Cell("ap", ["sta"], Parameters().replace({**radio, **changed}))]
        body = "must airsim radio set 0 errors snr\nmust airsim radio set 1 errors snr\n"
        body += flow(cells, "ap", "sta", 10_000) + "sample before\nsleep 3\nsample after\n"
        directory = tmp_path / str(mpdus)
        run(lab_kernel, tools, directory, cells, body)
        goodputs[mpdus] = mbps(counted(directory))
    assert goodputs[256] == pytest.approx(goodputs[255], rel=0.05)
    assert goodputs[256] > 400


def test_each_mpdu_starts_with_the_first_rate_of_its_series(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    """Without a BlockAck session; also after an MPDU of the queue has been dropped."""
    radio: dict[str, Plain] = {"standard": "802.11a", "preset": "wifi-11a", "width": "20MHz"}
    cells = [Cell("ap", ["sta"], Parameters().replace({**radio, "rate_control": "minstrel"}))]
    # minstrel_ht tries 9 Mbit/s four times and then 6 Mbit/s. Hardly anything arrives.
    body = "must airsim air set cca_threshold_mdbm -100000\n" + _at(2, radio)
    body += "for n in 0 1; do must airsim radio set $n errors snr; done\n"
    body += CAPTURE + flow(cells, "ap", "sta", 1) + "sleep 1\nsample after\n" + CAPTURE_END
    directory = run(lab_kernel, tools, tmp_path, cells, body)
    rates = Counter(
        (sent.rate, sent.retry)
        for sent in airtrace.read(directory / "air.pcap")
        if sent.kind == "data" and sent.sender == 0
    )
    print(rates)
    assert read_sample(directory / "after").nodes["ap"]["dropped_retries"] > 50
    assert rates["9 Mbit/s", True] == pytest.approx(3 * rates["9 Mbit/s", False], rel=0.02)
