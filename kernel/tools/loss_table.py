#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Print loss_table.h: how likely airsim's receivers lose an octet, by modulation and SNR.

OFDM is NIST's error rate model: G. Pei and T. Henderson, "Validation of OFDM error rate model
in ns-3", 2010. The bit error rate of hard decisions in white Gaussian noise gives, by the union
bound, that of the convolutional code; 256-QAM to 4096-QAM are treated as the others are. The
weights of the code are those of P. Frenger et al., "Multi-rate convolutional codes", 1998, and
for rate 5/6 follow in the same way: tests/unit/test_loss_table.py counts them all. Receivers
with soft decisions or LDPC need less SNR than this.

DSSS and CCK (1 to 11 Mbit/s) are the union bound over the code words of a coherent receiver. That
phases are coded differentially does not matter: it makes two wrong words of one, in a frame that
is lost already.

SNR is signal over noise in the whole channel: a subcarrier's for OFDM, in 20 MHz for DSSS and
CCK. The table holds log2 of the hazard of an octet, which is -log2 of the chance that it
survives: a frame of n octets survives with a chance of 2^(-n * hazard).
"""

import cmath
import itertools
import math
import textwrap
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

HazardModel = Callable[[float], float]

STEP_DB = 0.25
SCALE_BITS = 8
# At this hazard not even an ACK of 14 octets survives, of 2^32.
CEILING = 2
# At this hazard not even one of 2^32 MPDUs of 11454 octets is lost.
FLOOR = -48

DSSS_NOISE_MHZ = 20
CHIP_MHZ = 11
QUARTER_TURNS = tuple(math.pi / 2 * turn for turn in range(4))


class Code(NamedTuple):
    """A punctured code: `bits` go in per period; `weights` of bit errors from distance `free`."""

    bits: int
    free: int
    step: int
    weights: tuple[int, ...]


RATE_1_2 = Code(1, 10, 2, (36, 211, 1404, 11633, 77433, 502690, 3322763, 21292910, 134365911))
RATE_2_3 = Code(2, 6, 1, (3, 70, 285, 1276, 6160, 27128, 117019, 498860, 2103891, 8784123))
RATE_3_4 = Code(
    3, 5, 1, (42, 201, 1492, 10469, 62935, 379644, 2253373, 13073811, 75152755, 428005675)
)
RATE_5_6 = Code(
    5,
    4,
    1,
    (92, 528, 8694, 79453, 792114, 7375573, 67884974, 610875423, 5427275376, 47664215639),
)


def hazard(error: float, trials: float) -> float:
    """-log2 of the chance that so many trials, each wrong with that chance, are all right."""
    return math.inf if error >= 1 else -trials * math.log1p(-error) / math.log(2)


def q_function(x: float) -> float:
    """The chance that a standard normal variable exceeds x."""
    return math.erfc(x / math.sqrt(2)) / 2


def raw_bit_error(points: int, snr: float) -> float:
    """Bit error rate of BPSK (2 points) or of square QAM with Gray mapping."""
    if points == 2:
        return q_function(math.sqrt(2 * snr))
    side = math.isqrt(points)
    neighbours = 2 * (1 - 1 / side) / math.log2(side)
    return neighbours * q_function(math.sqrt(3 * snr / (points - 1)))


def coded_bit_error(code: Code, raw: float) -> float:
    """Union bound, with Chernoff's bound of the chance of each path; above 1 at low SNR."""
    chernoff = math.sqrt(4 * raw * (1 - raw))
    distances = itertools.count(code.free, code.step)
    paths = zip(code.weights, distances, strict=False)
    return sum(weight * chernoff**distance for weight, distance in paths) / (2 * code.bits)


def ofdm_hazard(points: int, code: Code, snr: float) -> float:
    return hazard(coded_bit_error(code, raw_bit_error(points, snr)), 8)


def cck_distances(
    turns_2: Sequence[float], turns_3: Sequence[float], turns_4: Sequence[float]
) -> list[float]:
    """Squared distances of all other code words from one, in units of a chip's energy.

    They are the same from each word, since chips of two words differ by the differences of
    their phases 1 to 4 (IEEE 802.11-2020, equation 16-1).
    """
    distances = []
    for first, *others in itertools.product(QUARTER_TURNS, turns_2, turns_3, turns_4):
        chosen = itertools.product((False, True), repeat=3)
        chips = [first + sum(itertools.compress(others, chip)) for chip in chosen]
        distances.append(sum(abs(1 - cmath.exp(1j * chip)) ** 2 for chip in chips))
    return sorted(distances)[1:]


def dsss_hazard(distances: Sequence[float], words: int, snr: float) -> float:
    """The hazard of an octet sent as so many code words, given their squared distances."""
    per_chip = snr * DSSS_NOISE_MHZ / CHIP_MHZ
    error = sum(q_function(math.sqrt(square * per_chip / 2)) for square in distances)
    return hazard(error, words)


HALF_TURNS = (0, math.pi)
# The Barker sequence has 11 chips: phases half a turn apart are 4 a chip apart, others 2.
MODELS: dict[str, HazardModel] = {
    "DSSS_1": partial(dsss_hazard, (44,), 8),
    "DSSS_2": partial(dsss_hazard, (22, 22, 44), 4),
    "CCK_5_5": partial(dsss_hazard, cck_distances(HALF_TURNS, (0,), HALF_TURNS), 2),
    "CCK_11": partial(dsss_hazard, cck_distances(*[QUARTER_TURNS] * 3), 1),
    "BPSK_1_2": partial(ofdm_hazard, 2, RATE_1_2),
    "BPSK_3_4": partial(ofdm_hazard, 2, RATE_3_4),
    "QPSK_1_2": partial(ofdm_hazard, 4, RATE_1_2),
    "QPSK_3_4": partial(ofdm_hazard, 4, RATE_3_4),
    "QAM16_1_2": partial(ofdm_hazard, 16, RATE_1_2),
    "QAM16_3_4": partial(ofdm_hazard, 16, RATE_3_4),
    "QAM64_2_3": partial(ofdm_hazard, 64, RATE_2_3),
    "QAM64_3_4": partial(ofdm_hazard, 64, RATE_3_4),
    "QAM64_5_6": partial(ofdm_hazard, 64, RATE_5_6),
    "QAM256_3_4": partial(ofdm_hazard, 256, RATE_3_4),
    "QAM256_5_6": partial(ofdm_hazard, 256, RATE_5_6),
    "QAM1024_3_4": partial(ofdm_hazard, 1024, RATE_3_4),
    "QAM1024_5_6": partial(ofdm_hazard, 1024, RATE_5_6),
    "QAM4096_3_4": partial(ofdm_hazard, 4096, RATE_3_4),
    "QAM4096_5_6": partial(ofdm_hazard, 4096, RATE_5_6),
}


class Curve(NamedTuple):
    """What log2 of the hazard exceeds FLOOR by, in binary fixed point, in steps of STEP_DB."""

    first_db: float
    points: list[int]


def log2_hazard(model: HazardModel, snr_db: float) -> float:
    """log2 of the hazard, between FLOOR and CEILING."""
    octet = model(10 ** (snr_db / 10))
    return FLOOR if octet == 0 else max(FLOOR, min(CEILING, math.log2(octet)))


def curve(model: HazardModel) -> Curve:
    """The model from the last SNR with which all is lost to the first with which nothing is."""
    step = 0
    while log2_hazard(model, step * STEP_DB) < CEILING:
        step -= 1
    while log2_hazard(model, (step + 1) * STEP_DB) >= CEILING:
        step += 1
    first_db = step * STEP_DB
    points: list[int] = []
    while not points or points[-1] > 0:
        points.append(round((log2_hazard(model, step * STEP_DB) - FLOOR) * 2**SCALE_BITS))
        step += 1
    return Curve(first_db, points[:-1])


def wrapped(words: Sequence[str], tabs: int) -> str:
    """Comma-separated words, indented, within 80 columns."""
    lines = textwrap.wrap(", ".join(words), 80 - 8 * tabs - 1)
    return "\n".join("\t" * tabs + line for line in lines)


def header() -> str:
    """The text of loss_table.h."""
    curves = {name: curve(model) for name, model in MODELS.items()}
    length = max(len(one.points) for one in curves.values()) + 1
    blocks = [
        "/* SPDX-License-Identifier: GPL-2.0-only */",
        "/* Made by kernel/tools/loss_table.py, which says from what. Do not edit. */",
        "#ifndef AIRSIM_LOSS_TABLE_H",
        "#define AIRSIM_LOSS_TABLE_H",
        "",
        "#include <linux/types.h>",
        "",
        f"#define LOSS_POINTS\t{length}",
        f"#define LOSS_STEP_MDB\t{STEP_DB * 1000:.0f}",
        f"#define LOSS_LOG2_FLOOR\t({FLOOR})",
        f"#define LOSS_SCALE_BITS\t{SCALE_BITS}",
        "",
        "/* In the order of airsim_legacy_kbps, then what only later formats have. */",
        "enum loss_modulation {",
        wrapped(list(curves), 1) + ",",
        "};",
        "",
        "/*",
        " * log2 of the hazard of an octet, by SNR in steps of LOSS_STEP_MDB from",
        " * first_mdb. The hazard is -log2 of the chance that the octet survives. In",
        " * binary fixed point with LOSS_SCALE_BITS, from LOSS_LOG2_FLOOR up.",
        " */",
        "static const struct loss_curve {",
        "\ts32 first_mdb;",
        "\tu16 log2_hazard[LOSS_POINTS];",
        "} loss_curves[] = {",
    ]
    for name, one in curves.items():
        blocks += [
            f"\t[{name}] = {{ {one.first_db * 1000:.0f}, {{",
            wrapped([str(point) for point in one.points], 2) + ",",
            "\t} },",
        ]
    return "\n".join([*blocks, "};", "", "#endif", ""])


if __name__ == "__main__":
    print(header(), end="")
