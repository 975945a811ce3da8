# SPDX-License-Identifier: GPL-2.0-only
"""When and by how much a receiver may limit its ACKs: equations 2.1 to 2.10.

A. Statkus' dissertation (2017), sections 2.4 and 2.5. A receiver knows neither the sender's window
nor its state. The equations estimate how many ACKs a sender in congestion avoidance has received,
starting from an empty window, by the time its window is open. Windows are in bytes.
"""

import math

from airtcp.models.tcp_window import bdp_bytes, congestion_avoidance_bytes


def acks_to_open(cwnd_bytes: float, smss_bytes: float) -> float:
    """Equations 2.4 and 2.5: ACKs after which the loop of figure 2.8 has opened a window this size.

    Table 2.1 for whole segments: 2, 5, 9, 14, ... Equation 2.2 is printed with the previous window
    where 2.4 has two more: it gives 0 for one segment, the table 2. Equation 2.6, which is meant to
    avoid the division, is printed as 3 W^3 / (2 SMSS) / 2, whose unit is bytes squared; multiplying
    out 2.5 gives w (w + 3) / 2 with w = W / SMSS.
    """
    segments = cwnd_bytes / smss_bytes
    return segments * (segments + 3) / 2


def window_after(acks: float, smss_bytes: float) -> float:
    """Equation 2.3, the inverse of acks_to_open(): the window in bytes after a number of ACKs."""
    return smss_bytes * (-3 + math.sqrt(9 + 8 * acks)) / 2


def window_of_rfc_bytes(acks: int, smss_bytes: float, first_bytes: float | None = None) -> float:
    """Equation 2.1, RFC 5681's growth applied acks times: the other curve of figure 2.9.

    first_bytes: the window before the first ACK; default one segment. Equation 2.7 is printed the
    wrong way round: the growth per ACK is rounded up to one byte when SMSS^2 / W < 1, that is, when
    the window exceeds SMSS^2 bytes.
    """
    window_bytes = smss_bytes if first_bytes is None else first_bytes
    for _ in range(acks):
        grown_bytes = congestion_avoidance_bytes(window_bytes, smss_bytes)
        window_bytes = max(grown_bytes, window_bytes + 1)
    return window_bytes


def rtt_s(delay_s: float, smss_bytes: float, rate_bps: float, cpu_s: float = 0) -> float:
    """Equation 2.9: twice the path's delay and the hosts' time, plus a segment's transmission."""
    return 2 * delay_s + 8 * smss_bytes / rate_bps + 2 * cpu_s


def window_for_ratio_bytes(
    delay_s: float, rate_bps: float, smss_bytes: float, segments_per_ack: float
) -> float:
    """Equation 2.10: the window that keeps a path full when an ACK covers N segments.

    It is the bandwidth-delay product of the path plus the N segments of an ACK.
    """
    return bdp_bytes(2 * delay_s, rate_bps) + smss_bytes * segments_per_ack
