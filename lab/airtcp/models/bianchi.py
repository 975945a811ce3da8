# SPDX-License-Identifier: GPL-2.0-only
"""Saturated EDCA stations on one medium: Bianchi's fixed point.

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

    tests/models/test_bianchi_simulation.py compares it with a Monte Carlo simulation: tau and
    throughput agree within 1%; p within 1% from ten stations on, below that it is up to 6% too
    small.
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
