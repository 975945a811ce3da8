# SPDX-License-Identifier: GPL-2.0-only
"""Growth of TCP windows: Figure 1.3 and equations 1.1 to 1.12 of A. Statkus' dissertation.

A. Statkus, "Performance Investigation of Data Packets Transport Control Protocol in Heterogeneous
Networks", Vilnius Gediminas Technical University, 2017, sections 1.3 and 1.4. Windows are in bytes
unless a name says segments. The docstrings note errors in the printed equations; the functions are
correct.
"""

import math


def initial_window_bytes(smss_bytes: int) -> int:
    """Figure 1.3, RFC 5681 section 3.1: the largest initial congestion window.

    Four segments up to an SMSS of 1095 bytes, three up to 2190, then two.
    """
    if smss_bytes > 2190:
        return 2 * smss_bytes
    return (3 if smss_bytes > 1095 else 4) * smss_bytes


def slow_start_growth_bytes(acked_bytes: float, smss_bytes: float) -> float:
    """Equation 1.1, RFC 5681 equation 2: what an ACK for acked_bytes new bytes adds to cwnd.

    With appropriate byte counting, dividing an ACK gains nothing.
    """
    return min(acked_bytes, smss_bytes)


def bdp_bytes(rtt_s: float, rate_bps: float) -> float:
    """Equations 1.3a and 2.8: the bandwidth-delay product of a path."""
    return rtt_s * rate_bps / 8


def slow_start_s(rtt_s: float, rate_bps: float, mss_bytes: float, first_segments: int = 1) -> float:
    """Equations 1.2 to 1.4: time until slow start fills a path, with a window doubling each RTT.

    first_segments: the initial window; 1 gives equations 1.2 and 1.3b, 10 gives equation 1.4. The
    result is at least 0: the initial window may fill the path.

    1.2 and 1.3b are printed with MSS squared, so the argument of the logarithm would be bytes
    divided by bytes squared. The number of doublings is that of segments, W / MSS. The middle of
    1.4 subtracts log2(10 MSS) where log2(10) is meant; its last form is correct.
    """
    segments = rtt_s * rate_bps / (8 * mss_bytes)
    return rtt_s * max(0.0, math.log2(segments / first_segments))


def table_1_1_s(rtt_s: float, rate_bps: float) -> float:
    """What table 1.1 actually contains: RTT log2(BDP in bits), as if a segment were one bit.

    It follows neither 1.2 nor 1.3b. The row printed as a second "1 Gbit/s" is for 10 Gbit/s, and
    its 128.9 ms at an RTT of 5 ms should be 127.9. With segments of 1460 bytes, slow_start_s() is
    less than half of the table's value.
    """
    return rtt_s * math.log2(rtt_s * rate_bps)


def congestion_avoidance_bytes(cwnd_bytes: float, smss_bytes: float) -> float:
    """Equation 1.6, RFC 5681 equation 3: cwnd after one more ACK."""
    return cwnd_bytes + smss_bytes * smss_bytes / cwnd_bytes


def acks_per_rtt(cwnd_bytes: float, smss_bytes: float, segments_per_ack: float = 2) -> float:
    """Equation 1.8: ACKs per window, when each covers segments_per_ack segments."""
    return cwnd_bytes / (segments_per_ack * smss_bytes)


def growth_per_rtt_bytes(
    cwnd_bytes: float, smss_bytes: float, segments_per_ack: float = 2
) -> float:
    """Equations 1.7 and 1.9: what congestion avoidance adds per RTT when it counts ACKs.

    With an ACK for every second segment this is SMSS / 2, regardless of the window. A sender that
    counts bytes or segments, as Linux does, adds SMSS.
    """
    return acks_per_rtt(cwnd_bytes, smss_bytes, segments_per_ack) * smss_bytes**2 / cwnd_bytes


def ssthresh_bytes(flight_bytes: float, smss_bytes: float) -> float:
    """Equation 1.10, RFC 5681 equation 4: ssthresh after a retransmission timeout."""
    return max(flight_bytes / 2, 2 * smss_bytes)


def cubic_k_s(max_segments: float, beta: float = 0.3, c: float = 0.4) -> float:
    """Equation 1.11, RFC 9438 equation 2: time until CUBIC regains the window it had at the loss.

    beta is the share by which a loss reduces the window (0.2 in Ha et al. 2008, 0.3 in Linux and
    RFC 9438). The text has W in bytes; c is in segments / s^3, so W must be in segments.
    """
    return math.cbrt(max_segments * beta / c)


def cubic_segments(since_s: float, max_segments: float, beta: float = 0.3, c: float = 0.4) -> float:
    """Equation 1.11, RFC 9438 equation 1: CUBIC's window since_s seconds after the loss."""
    return c * (since_s - cubic_k_s(max_segments, beta, c)) ** 3 + max_segments


def cubic_after_loss_segments(max_segments: float, beta: float = 0.3) -> float:
    """Equation 1.12: the window after a loss. It equals cubic_segments() at 0 s."""
    return max_segments - beta * max_segments
