# SPDX-License-Identifier: GPL-2.0-only
"""loss_table.h against its generator, and against an independent calculation.

The generator has closed forms for the weights of the code and the distances of CCK; here they are
computed from the encoders of IEEE 802.11-2020.
"""

import itertools
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import erfc

ROOT = Path(__file__).parents[2]
HEADER = ROOT / "kernel/drivers/net/wireless/virtual/airsim/loss_table.h"
GENERATOR = ROOT / "kernel/tools/loss_table.py"
CURVE = re.compile(r"\[(\w+)\] = \{ (-?\d+), \{([^}]*)\}")

# Which of the encoder's outputs A and B are sent (17.3.5.6, 19.3.11.6), and number of distances.
PUNCTURING = {
    "1_2": ("1", "1", 17),
    "2_3": ("11", "10", 10),
    "3_4": ("110", "101", 10),
    "5_6": ("11010", "10101", 10),
}
# Average energy of a QAM symbol when neighbours are 2 apart, and its number of bits.
CONSTELLATIONS = {"QPSK": (2, 2), "QAM16": (10, 4), "QAM64": (42, 6), "QAM256": (170, 8)}
CONSTELLATIONS |= {"QAM1024": (682, 10), "QAM4096": (2730, 12)}


@cache
def curves() -> dict[str, tuple[list[float], list[float]]]:
    """SNR in dB and log2 of the hazard of an octet, by modulation."""
    text = HEADER.read_text()
    [floor] = re.findall(r"LOSS_LOG2_FLOOR\t\((-?\d+)\)", text)
    found = {}
    for name, first_mdb, points in CURVE.findall(text):
        above = [int(point) for point in re.findall(r"\d+", points)]
        snrs_db = [int(first_mdb) / 1000 + 0.25 * i for i in range(len(above))]
        found[name] = (snrs_db, [int(floor) + point / 256 for point in above])
    return found


def snr_for_loss_db(name: str, octets: int, loss: float) -> float:
    """SNR in dB at which the table has this probability of losing a frame."""
    snrs_db, log2_hazards = curves()[name]
    log2_hazard = np.log2(-np.log2(1 - loss) / octets)
    return float(np.interp(-log2_hazard, -np.array(log2_hazards), snrs_db))


@cache
def bit_error_weights(sent_a: str, sent_b: str, distances: int) -> dict[int, int]:
    """Wrong bits on all paths that leave the encoder's zero state and return to it, by distance.

    As in the published tables, a path starts and ends at a period of the puncturing pattern.
    """
    weights: dict[int, int] = {}
    free = 0
    for phase in range(len(sent_a)):
        paths = {(0, 0): (1, 0)}
        for step in itertools.count():
            position = (phase + step) % len(sent_a)
            longer: dict[tuple[int, int], tuple[int, int]] = {}
            for (state, distance), (count, wrong) in paths.items():
                for bit in (0, 1) if step else (1,):
                    register = bit << 6 | state
                    new_distance = distance
                    for polynomial, sent in ((0o133, sent_a), (0o171, sent_b)):
                        if sent[position] == "1":
                            new_distance += (register & polynomial).bit_count() % 2
                    if free and new_distance >= free + distances:
                        continue
                    end = (register >> 1, new_distance)
                    before = longer.get(end, (0, 0))
                    longer[end] = (before[0] + count, before[1] + wrong + bit * count)
            for state, distance in list(longer):
                if state == 0 and position == len(sent_a) - 1:
                    _, wrong = longer.pop((state, distance))
                    weights[distance] = weights.get(distance, 0) + wrong
                    free = min(weights)
            if not longer:
                break
            paths = longer
    return {distance: wrong for distance, wrong in weights.items() if distance < free + distances}


def raw_bit_error(modulation: str, snr: float) -> float:
    if modulation == "BPSK":
        return float(erfc(np.sqrt(snr)) / 2)
    energy, bits = CONSTELLATIONS[modulation]
    side = 2 ** (bits // 2)
    # Inner amplitudes have two neighbours, outer ones one; an error is one wrong bit of bits / 2.
    amplitude = (2 * (side - 2) + 2) / side * erfc(np.sqrt(snr / energy)) / 2
    return float(amplitude / (bits / 2))


def ofdm_survival(name: str, snr: float) -> float:
    """Probability that an octet is received without error."""
    modulation, _, code = name.partition("_")
    sent_a, sent_b, distances = PUNCTURING[code]
    wrong = raw_bit_error(modulation, snr)
    chernoff = 2 * np.sqrt(wrong * (1 - wrong))
    weights = bit_error_weights(sent_a, sent_b, distances)
    error = sum(count * chernoff**distance for distance, count in weights.items())
    return float((1 - min(1, error / 2 / len(sent_a))) ** 8)


def cck_words(phases: list[tuple[int, ...]]) -> np.ndarray:
    """Code words of equation 16-1, from their phases 1 to 4 in units of 90 degrees."""
    words = []
    for p1, p2, p3, p4 in phases:
        turns = [p1 + p2 + p3 + p4, p1 + p3 + p4, p1 + p2 + p4, p1 + p4 + 2]
        turns += [p1 + p2 + p3, p1 + p3, p1 + p2 + 2, p1]
        words.append(1j ** (np.array(turns) % 4))
    return np.array(words)


def dsss_words(name: str) -> tuple[np.ndarray, int]:
    """Chips of all code words, and bits per code word."""
    quarters = range(4)
    if name == "DSSS_1":
        return np.outer([1, -1], np.ones(11)), 1
    if name == "DSSS_2":
        return np.outer([1, 1j, -1, -1j], np.ones(11)), 2
    if name == "CCK_5_5":
        return cck_words(list(itertools.product(quarters, (1, 3), (0,), (0, 2)))), 4
    return cck_words(list(itertools.product(quarters, repeat=4))), 8


def dsss_survival(name: str, snr: float) -> float:
    """Probability that an octet of the last code word is received without error."""
    words, bits = dsss_words(name)
    squares = np.sum(np.abs(words[:-1] - words[-1]) ** 2, axis=1)
    # 11 million chips per second; noise in 20 MHz, half of it in the dimension of the error.
    noise = 11 / 20 / snr / 2
    error = float(np.sum(erfc(np.sqrt(squares / 4 / noise / 2)) / 2))
    return float((1 - min(1.0, error)) ** (8 / bits))


def test_the_generator_prints_the_committed_file() -> None:
    generated = subprocess.run([sys.executable, GENERATOR], capture_output=True, check=True)
    assert generated.stdout == HEADER.read_bytes()


def test_every_rate_has_a_curve() -> None:
    order = re.search(r"enum loss_modulation \{([^}]*)\}", HEADER.read_text())
    assert order and re.findall(r"\w+", order[1]) == list(curves())
    assert len(curves()) == 19


@pytest.mark.parametrize("name", curves())
def test_the_table_matches_theory(name: str) -> None:
    survival = dsss_survival if name.startswith(("DSSS", "CCK")) else ofdm_survival
    checked = 0
    for snr_db, log2_hazard in zip(*curves()[name], strict=True):
        if -30 < log2_hazard < 1.99:
            expected = np.log2(-np.log2(survival(name, 10 ** (snr_db / 10))))
            assert log2_hazard == pytest.approx(expected, abs=1 / 500)
            checked += 1
    assert checked > 20


@pytest.mark.parametrize("name", curves())
def test_the_table_covers_certain_loss_to_no_loss(name: str) -> None:
    _, log2_hazards = curves()[name]
    assert log2_hazards == sorted(log2_hazards, reverse=True)
    assert 1 - 2 ** -(14 * 2 ** log2_hazards[0]) > 1 - 2**-32
    assert 11454 * 2 ** log2_hazards[-1] < 2**-24


def test_a_tenth_of_6_mbit_frames_is_lost_at_the_predicted_snr() -> None:
    expected = brentq(lambda db: ofdm_survival("BPSK_1_2", 10 ** (db / 10)) ** 1000 - 0.9, 2, 8)
    assert snr_for_loss_db("BPSK_1_2", 1000, 0.1) == pytest.approx(expected, abs=0.005)


@pytest.mark.parametrize("code", ["1_2", "3_4"])
def test_qpsk_needs_twice_the_power_of_bpsk(code: str) -> None:
    bpsk_db = snr_for_loss_db(f"BPSK_{code}", 1000, 0.1)
    assert snr_for_loss_db(f"QPSK_{code}", 1000, 0.1) - bpsk_db == pytest.approx(3.01, abs=0.01)


def test_a_higher_mcs_needs_a_higher_snr() -> None:
    ofdm = ["BPSK_1_2", "QPSK_1_2", "QPSK_3_4", "QAM16_1_2", "QAM16_3_4", "QAM64_2_3"]
    ofdm += ["QAM64_3_4", "QAM64_5_6", "QAM256_3_4", "QAM256_5_6", "QAM1024_3_4", "QAM1024_5_6"]
    ofdm += ["QAM4096_3_4", "QAM4096_5_6"]
    for names in (ofdm, ["DSSS_1", "DSSS_2", "CCK_5_5", "CCK_11"]):
        snrs_db = [snr_for_loss_db(name, 1000, 0.1) for name in names]
        assert all(higher > lower for lower, higher in itertools.pairwise(snrs_db))
