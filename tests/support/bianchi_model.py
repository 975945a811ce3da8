# SPDX-License-Identifier: GPL-2.0-only
"""Saturated EDCA stations on one medium: Bianchi's fixed point.

Every station always has a frame to send, all frames have the same length, frames are lost only by
collision, no A-MPDUs, no RTS.

[Bianchi] G. Bianchi, "Performance Analysis of the IEEE 802.11 Distributed Coordination Function",
IEEE JSAC 18(3), 2000.
[Tinnirello] I. Tinnirello, G. Bianchi, Y. Xiao, "Refinements on IEEE 802.11 Distributed
Coordination Function Modeling Approaches", IEEE Trans. Vehicular Technology 59(3), 2010.
[Foh] C. H. Foh, J. W. Tantra, "Comments on IEEE 802.11 Saturation Throughput Analysis with
Freezing of Backoff Counters", IEEE Communications Letters 9(2), 2005.
"""

from dataclasses import dataclass
from typing import Any

import numpy
from scipy.optimize import brentq
from wifi_timing import ACK, legacy, ppdu_us

Array = numpy.ndarray[Any, Any]


@dataclass(frozen=True)
class Edca:
    """An access category; default: airsim's best effort at 5 GHz."""

    aifsn: int = 3
    cw_min: int = 15
    cw_max: int = 1023
    attempts: int = 8
    """The window starts again at its minimum if this many attempts fail in a row: one more than
    dot11ShortRetryLimit (10.23.2.2)."""
    slot_us: int = 9
    sifs_us: int = 16
    rx_start_us: int = 20

    @property
    def aifs_us(self) -> int:
        return self.sifs_us + self.aifsn * self.slot_us

    @property
    def timeout_us(self) -> int:
        """From the end of a PPDU until its sender stops waiting for the ACK (10.3.2.11)."""
        return self.sifs_us + self.slot_us + self.rx_start_us

    @property
    def eifs_extra_us(self) -> int:
        """EIFS - DIFS: SIFS and an ACK at 6 Mbit/s (10.3.2.3.7)."""
        return self.sifs_us + round(ppdu_us(legacy(6000), ACK))

    def windows(self) -> Array:
        """Number of possible backoffs (CW + 1), by number of failures so far."""
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
    """tau of a station whose transmissions each collide with probability p.

    [Bianchi]'s chain takes one step per slot, idle or busy, transmits at zero, and may draw a zero
    for the next slot. airsim follows exactly this rule: at each boundary, including one at which
    another station transmits, a function either counts down or transmits; and a newly drawn
    backoff counts from the first boundary after AIFS, like the remaining backoffs of the others.
    So every slot is open to all stations, and the corrections of [Foh] and [Tinnirello], which are
    for DCF stations that do not count the busy boundary, do not apply.

    As the window starts again after some attempts, the chain gives their mean number until then,
    or until a success, over the mean number of boundaries. A stage with W possible backoffs takes
    (W - 1) / 2 + 1 of them.
    """
    reached = p ** numpy.arange(edca.attempts)
    return float(reached.sum() / (reached * (edca.windows() + 1) / 2).sum())


def solve(
    n: int, ppdu_us: float, ack_us: float, payload_octets: int = 1472, edca: Edca = BEST_EFFORT
) -> Prediction:
    """n saturated stations; ppdu_us: duration of a data frame, ack_us: duration of its ACK.

    p = 1 - (1 - tau)^(n - 1) ([Bianchi] eq. 9) with tau = attempt_probability(p); throughput is
    the payload over the mean duration of a slot (eq. 13). A busy slot lasts from its boundary to
    the first boundary after it:

    - success: PPDU, SIFS, ACK, AIFS;
    - collision: PPDU, EIFS - DIFS + AIFS. The colliding stations themselves resume after the ACK
      timeout and AIFS, 15 us earlier, which is neglected. With two stations there are no others,
      and the timeout applies.

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
