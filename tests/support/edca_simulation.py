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
from numpy.typing import NDArray

from airtcp.models.bianchi import BEST_EFFORT, Edca, Prediction

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
    exchanges: int = 1_000_000,
    seed: int = 1,
) -> Prediction:
    """Simulate n saturated stations, on many media at once.

    After a collision, the slot boundaries of the stations that collided differ from those of the
    others, and stations that access the medium within a slot of each other collide. aligned: all
    stations wait EIFS, as in the model. tau counts the boundaries of the earliest stations.

    bar_us: after a lost frame, a BlockAckReq of this length has to be acknowledged first (0: none).
    Without eifs, stations wait only AIFS after a collision of others, as if they had not detected a
    frame.
    """
    warm_up = 40 * n
    steps = warm_up + 1000
    media = ceil(exchanges / (steps - warm_up))
    slot, sifs, aifs = 1000 * edca.slot_us, 1000 * edca.sifs_us, 1000 * edca.aifs_us
    ppdu, ack = round(1000 * ppdu_us), round(1000 * ack_us)  # times are in ns from here on
    bar = round(1000 * bar_us)
    eifs_extra = 1000 * edca.eifs_extra_us if eifs else 0
    timeout = eifs_extra if aligned else 1000 * edca.timeout_us
    windows = edca.windows()

    random = numpy.random.default_rng(seed)
    failures = numpy.zeros((media, n), dtype=int)
    bar_due = numpy.zeros((media, n), dtype=bool)
    backoff = random.integers(0, edca.cw_min + 1, (media, n))
    first = numpy.full((media, n), aifs)  # the first boundary of each station
    transmissions = answered = successes = boundaries = total = 0
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

        end = numpy.where(sends, access + numpy.where(bar_due, bar, ppdu), 0)
        delivered = int((sends & ~bar_due & ~collided).sum())
        if bar:
            bar_due = numpy.where(sends, collided, bar_due)
        idle_from = _idle_from(end, collided, sifs + ack, timeout, eifs_extra)
        earliest = idle_from.min(axis=1, keepdims=True)
        if step >= warm_up:
            transmissions += int(sends.sum())
            answered += media - int(collided.sum())
            successes += delivered
            first_of_all = first.min(axis=1, keepdims=True)
            boundaries += int(((start - first_of_all) // slot + 1).sum())
            total += int(earliest.sum())
        first = idle_from - earliest + aifs

    return Prediction(
        8000 * payload_octets * successes / total,
        1 - answered / transmissions,
        transmissions / boundaries / n,
    )


def _idle_from(
    end: Array, collided: Array, after_success: int, timeout: int, eifs_extra: int
) -> Array:
    """The time from which the medium is idle for each station, without AIFS.

    A station whose colliding frame ends before another one receives the end of that frame as an
    error, and waits EIFS like the stations that did not send.
    """
    last = end.max(axis=1, keepdims=True)
    wait = numpy.where(end == last, timeout, eifs_extra)
    idle_from: Array = last + numpy.where(collided, wait, after_success)
    return idle_from
