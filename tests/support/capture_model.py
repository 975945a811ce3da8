# SPDX-License-Identifier: GPL-2.0-only
"""Saturated EDCA stations of which one is received although others transmit.

Bianchi's fixed point (bianchi_model.py) for two kinds of stations. The signal of the near one is so
much stronger at the access point that it is received in a collision, or lost with a given
probability. A collision of far stations, with or without the near one, destroys their frames.
"""

from dataclasses import dataclass

from bianchi_model import BEST_EFFORT, Edca, attempt_probability
from scipy.optimize import brentq


@dataclass(frozen=True)
class CapturePrediction:
    """Payload delivered, and share of the transmissions that are lost, by kind of station.

    far_mbps: of all far stations together.
    """

    near_mbps: float
    far_mbps: float
    near_lost: float
    far_lost: float


def solve(
    far: int,
    ppdu_us: float,
    ack_us: float,
    payload_octets: int = 1472,
    edca: Edca = BEST_EFFORT,
    *,
    loss: float = 0.0,
    eifs: bool = True,
) -> CapturePrediction:
    """One near station and `far` others. loss: probability that a collision destroys its frame.

    Without eifs, stations wait only AIFS after a collision of others, as if they had not detected
    a frame.

    With tau_n and tau_f, the transmissions of each per slot boundary, the near station loses
    p_n = loss (1 - (1 - tau_f)^far) of its frames, and a far one
    p_f = 1 - (1 - tau_n) (1 - tau_f)^(far - 1).
    """

    def near(tau: float) -> tuple[float, float]:
        p = loss * (1 - (1 - tau) ** far)
        return p, attempt_probability(p, edca)

    def far_lost(tau: float) -> float:
        return 1 - (1 - near(tau)[1]) * (1 - tau) ** (far - 1)

    def excess(tau: float) -> float:
        return tau - attempt_probability(far_lost(tau), edca)

    tau_far = float(brentq(excess, 0, 1, xtol=1e-12))
    near_lost, tau_near = near(tau_far)
    nobody = (1 - tau_far) ** far
    idle = (1 - tau_near) * nobody
    near_succeeds = tau_near * (1 - near_lost)
    far_succeeds = (1 - tau_near) * far * tau_far * (1 - tau_far) ** (far - 1)
    # Without a third station, only those that collided resume after a collision.
    after_us = edca.timeout_us if far == 1 else edca.eifs_extra_us * eifs
    success = near_succeeds + far_succeeds
    slot_us = (
        idle * edca.slot_us
        + success * (ppdu_us + edca.sifs_us + ack_us + edca.aifs_us)
        + (1 - idle - success) * (ppdu_us + after_us + edca.aifs_us)
    )
    octets = 8 * payload_octets / slot_us
    return CapturePrediction(
        near_succeeds * octets, far_succeeds * octets, near_lost, far_lost(tau_far)
    )
