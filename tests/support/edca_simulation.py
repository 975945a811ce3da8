# SPDX-License-Identifier: GPL-2.0-only
"""A Monte Carlo simulation of saturated EDCA stations, by the rules of airsim.

It follows edca.c and the medium event by event, frame exchanges only. Compared with Bianchi's
model, it shows how far the model's assumption holds that stations attempt independently of each
other. As in the model, every station always has a frame to send, all data frames have the same
length, and only collisions destroy frames. A frame may stand for an A-MPDU with its BlockAck; there
is no RTS.
"""

from math import ceil

import numpy
from bianchi_model import BEST_EFFORT, Edca, Prediction
from numpy.typing import NDArray

Array = NDArray[numpy.int64]


def simulate(
    n: int,
    ppdu_us: float,
    ack_us: float,
    payload_octets: int = 1472,
    edca: Edca = BEST_EFFORT,
    *,
    aligned: bool = False,
    bar_us: float = 0,
    eifs: bool = True,
    cw_reset: bool = True,
    exchanges: int = 1_000_000,
    seed: int = 1,
) -> Prediction:
    """Simulate n saturated stations, on many media at once.

    After a collision, the slot boundaries of the stations that collided differ from those of the
    others, and stations that access the medium within a slot of each other collide. aligned: all
    stations wait EIFS, as in the model. tau counts the boundaries of the earliest stations.

    bar_us: after a lost frame, the remaining attempts are BlockAckReqs of this length (0: none).
    Without eifs, stations wait only AIFS after a collision of others, as if they had not detected a
    frame. Without cw_reset, a station attempts without end, and its window stays at the maximum.
    """
    warm_up, measured = 40 * n, 1000
    media = ceil(exchanges / measured)
    slot, sifs, aifs = 1000 * edca.slot_us, 1000 * edca.sifs_us, 1000 * edca.aifs_us
    # Times are in ns from here on.
    ppdu, ack, bar = (round(1000 * us) for us in (ppdu_us, ack_us, bar_us))
    eifs_extra = 1000 * edca.eifs_extra_us if eifs else 0
    timeout = eifs_extra if aligned else 1000 * edca.timeout_us
    windows, last = edca.windows(), edca.attempts - 1

    random = numpy.random.default_rng(seed)
    failures = numpy.zeros((media, n), dtype=int)
    bar_due = numpy.zeros((media, n), dtype=bool)
    backoff = random.integers(0, edca.cw_min + 1, (media, n))
    first = numpy.full((media, n), aifs)  # the first boundary of each station
    totals = numpy.zeros(5)
    for step in range(warm_up + measured):
        access, start, counted = _accesses(first, backoff, slot)
        sends = access < start + slot
        collided = sends.sum(axis=1, keepdims=True) > 1
        failures = numpy.where(sends, numpy.where(collided, failures + 1, 0), failures)
        failures = failures % edca.attempts if cw_reset else numpy.minimum(failures, last)
        drawn = (random.random((media, n)) * windows[failures]).astype(int)
        backoff = numpy.where(sends, drawn, counted)
        end = numpy.where(sends, access + numpy.where(bar_due, bar, ppdu), 0)
        delivered = sends & ~bar_due & ~collided
        bar_due = numpy.where(sends, collided & (failures > 0) & (bar > 0), bar_due)
        idle_from = _idle_from(end, collided, sifs + ack, timeout, eifs_extra)
        earliest = idle_from.min(axis=1, keepdims=True)
        if step >= warm_up:
            boundaries = (start - first.min(axis=1, keepdims=True)) // slot + 1
            totals += [x.sum() for x in (sends, ~collided, delivered, boundaries, earliest)]
        first = idle_from - earliest + aifs

    transmissions, answered, successes, passed, total_ns = map(float, totals)
    mbps = 8000 * payload_octets * successes / total_ns
    return Prediction(mbps, 1 - answered / transmissions, transmissions / passed / n)


def _accesses(first: Array, backoff: Array, slot: int) -> tuple[Array, Array, Array]:
    """When each station would send, when the first one does, and the backoffs that remain then."""
    access = first + slot * backoff
    start = access.min(axis=1, keepdims=True)
    passed = numpy.where(start >= first, (start - first) // slot + 1, 0)
    return access, start, backoff - numpy.minimum(backoff, passed)


def _idle_from(
    end: Array, collided: Array, after_success: int, timeout: int, eifs_extra: int
) -> Array:
    """The time from which the medium is idle for each station, without AIFS.

    A station that has sent waits for an ACK, and for the end of the others' frames, whose start it
    could not detect. EIFS is for stations that did not send.
    """
    last = end.max(axis=1, keepdims=True)
    waited = numpy.where(end > 0, numpy.maximum(end + timeout, last), last + eifs_extra)
    idle_from: Array = numpy.where(collided, waited, last + after_success)
    return idle_from
