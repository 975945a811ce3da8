# SPDX-License-Identifier: GPL-2.0-only
"""Saturated EDCA stations on one medium: Bianchi's fixed point, and airsim's rule drawn by lot.

solve() is the model. simulate() follows edca.c and the medium event by event, exchanges only: it
says how far the model's assumption, that stations attempt independently of each other, holds.

Every station always has a frame, all frames are equally long, none is lost but by collision, no
A-MPDUs, no RTS.

[Bianchi] G. Bianchi, "Performance Analysis of the IEEE 802.11 Distributed Coordination Function",
IEEE JSAC 18(3), 2000.
[Tinnirello] I. Tinnirello, G. Bianchi, Y. Xiao, "Refinements on IEEE 802.11 Distributed
Coordination Function Modeling Approaches", IEEE Trans. Vehicular Technology 59(3), 2010.
[Foh] C. H. Foh, J. W. Tantra, "Comments on IEEE 802.11 Saturation Throughput Analysis with
Freezing of Backoff Counters", IEEE Communications Letters 9(2), 2005.
"""

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy
from scipy.optimize import brentq

ACK_OCTETS = 14

Array = numpy.ndarray[Any, Any]


def ofdm_us(mbps: int, octets: int) -> int:
    """A PPDU of clause 17, 20 MHz: preamble, SIGNAL, SERVICE, PSDU, tail (17.4.3)."""
    return 20 + 4 * ceil((16 + 8 * octets + 6) / (4 * mbps))


@dataclass(frozen=True)
class Edca:
    """An access category; default: best effort at 5 GHz, as airsim has it."""

    aifsn: int = 3
    cw_min: int = 15
    cw_max: int = 1023
    attempts: int = 7
    """A frame is given up after so many; the window then starts anew."""
    slot_us: int = 9
    sifs_us: int = 16
    rx_start_us: int = 20

    @property
    def aifs_us(self) -> int:
        return self.sifs_us + self.aifsn * self.slot_us

    @property
    def timeout_us(self) -> int:
        """From the end of a PPDU until its sender gives up its ACK (10.3.2.11)."""
        return self.sifs_us + self.slot_us + self.rx_start_us

    @property
    def eifs_extra_us(self) -> int:
        """EIFS - DIFS: SIFS and an ACK at 6 Mbit/s (10.3.2.3.7)."""
        return self.sifs_us + ofdm_us(6, ACK_OCTETS)

    def windows(self) -> Array:
        """Backoffs to choose from (CW + 1), by failures so far."""
        doubled = (self.cw_min + 1) * 2.0 ** numpy.arange(self.attempts)
        windows: Array = numpy.minimum(doubled, self.cw_max + 1)
        return windows


BEST_EFFORT = Edca()


@dataclass(frozen=True)
class Prediction:
    throughput_mbps: float
    """Payload delivered by all stations together."""
    collision_probability: float
    """Share of the transmissions that collide."""
    tau: float
    """Transmissions of one station per slot boundary."""


def attempt_probability(p: float, edca: Edca = BEST_EFFORT) -> float:
    """tau of a station each of whose transmissions collides with probability p.

    [Bianchi]'s chain takes one step a slot, idle or busy, transmits at zero, and may draw a zero
    for the very next slot. That is airsim's rule to the letter: at each boundary a function counts
    down, that at which another transmits included, or transmits; and what a sender draws counts
    from the first boundary after AIFS, as what the others have left does. So no slot is open to
    some stations only, and the corrections of [Foh] and [Tinnirello], which are for DCF stations
    that do not count the busy boundary, do not apply.

    With a last attempt the chain gives the mean number of attempts for a frame over the mean
    number of boundaries, of which a stage with W backoffs to choose from takes (W - 1) / 2 + 1.
    """
    reached = p ** numpy.arange(edca.attempts)
    return float(reached.sum() / (reached * (edca.windows() + 1) / 2).sum())


def solve(
    n: int, ppdu_us: float, ack_us: float, payload_octets: int = 1472, edca: Edca = BEST_EFFORT
) -> Prediction:
    """n saturated stations; ppdu_us: a data frame on the air, ack_us: its ACK.

    p = 1 - (1 - tau)^(n - 1) ([Bianchi] eq. 9) with tau = attempt_probability(p); throughput is
    the payload over the mean duration of a slot (eq. 13). A busy slot lasts from its boundary to
    the first boundary after it:

    - success: PPDU, SIFS, ACK, AIFS;
    - collision: PPDU, EIFS - DIFS + AIFS. The colliders themselves come back after the ACK's
      timeout and AIFS, 15 us sooner, which is left out; two stations have no bystanders, there it
      is the timeout.

    tests/unit/test_bianchi.py has how far that is from simulate(): tau and throughput within 1%;
    p within 1% from ten stations on, below that it is up to 6% too small.
    """

    def excess(p: float) -> float:
        return p - 1 + (1 - attempt_probability(p, edca)) ** (n - 1)

    p = 0.0 if n == 1 else float(brentq(excess, 0, 1, xtol=1e-12))
    tau = attempt_probability(p, edca)
    idle = (1 - tau) ** n
    success = n * tau * (1 - tau) ** (n - 1)
    after_collision_us = edca.timeout_us if n == 2 else edca.eifs_extra_us
    slot_us = (
        idle * edca.slot_us
        + success * (ppdu_us + edca.sifs_us + ack_us + edca.aifs_us)
        + (1 - idle - success) * (ppdu_us + after_collision_us + edca.aifs_us)
    )
    return Prediction(success * 8 * payload_octets / slot_us, p, tau)


def simulate(
    n: int,
    ppdu_us: float,
    ack_us: float,
    payload_octets: int = 1472,
    edca: Edca = BEST_EFFORT,
    *,
    aligned: bool = False,
    exchanges: int = 1_000_000,
    seed: int = 1,
) -> Prediction:
    """airsim's rule drawn by lot, on many media at once.

    In true time the colliders' boundaries after a collision are not the bystanders': stations
    whose accesses lie less than a slot apart collide. aligned: everybody waits EIFS, as the model
    has it. Boundaries, for tau, are those of the stations that come first.
    """
    warm_up = 40 * n
    steps = warm_up + 1000
    media = ceil(exchanges / (steps - warm_up))
    slot, sifs, aifs = 1000 * edca.slot_us, 1000 * edca.sifs_us, 1000 * edca.aifs_us
    ppdu, ack = round(1000 * ppdu_us), round(1000 * ack_us)  # times are in ns from here on
    eifs_extra = 1000 * edca.eifs_extra_us
    timeout = eifs_extra if aligned else 1000 * edca.timeout_us
    windows = edca.windows()

    random = numpy.random.default_rng(seed)
    failures = numpy.zeros((media, n), dtype=int)
    backoff = random.integers(0, edca.cw_min + 1, (media, n))
    first = numpy.full((media, n), aifs)  # each station's first boundary
    transmissions = successes = boundaries = total = 0
    for step in range(steps):
        access = first + slot * backoff
        start = access.min(axis=1, keepdims=True)
        sends = access < start + slot
        collided = sends.sum(axis=1, keepdims=True) > 1

        passed = numpy.where(start >= first, (start - first) // slot + 1, 0)
        failures = numpy.where(sends, numpy.where(collided, failures + 1, 0), failures)
        failures %= edca.attempts
        drawn = (random.random((media, n)) * windows[failures]).astype(int)
        counted = backoff - numpy.minimum(backoff, passed)
        backoff = numpy.where(sends, drawn, counted)

        # A collider that hears another's end after its own has heard a frame it cannot read.
        end = numpy.where(sends, access + ppdu, 0)
        last = end.max(axis=1, keepdims=True)
        wait = numpy.where(end == last, timeout, eifs_extra)
        idle_from = last + numpy.where(collided, wait, sifs + ack)
        earliest = idle_from.min(axis=1, keepdims=True)
        if step >= warm_up:
            transmissions += int(sends.sum())
            successes += media - int(collided.sum())
            first_of_all = first.min(axis=1, keepdims=True)
            boundaries += int(((start - first_of_all) // slot + 1).sum())
            total += int(earliest.sum())
        first = idle_from - earliest + aifs

    return Prediction(
        8000 * payload_octets * successes / total,
        1 - successes / transmissions,
        transmissions / boundaries / n,
    )
