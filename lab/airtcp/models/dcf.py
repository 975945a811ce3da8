# SPDX-License-Identifier: GPL-2.0-only
"""TCP over 802.11's distributed coordination function: equations 1.19 to 1.24.

A. Statkus' dissertation (2017), sections 1.12 to 1.14: single frames, each acknowledged, no other
stations, no collisions, no errors. Frame lengths are those of the MPDU body: for TCP over IPv4 the
payload, 40 bytes of headers (52 with timestamps) and 8 of LLC and SNAP.
"""

import math
from dataclasses import dataclass

LLC_BYTES = 8
IPV4_TCP_BYTES = 40
TIMESTAMPS_BYTES = 12

_SERVICE_AND_TAIL_BITS = 22


@dataclass(frozen=True)
class Phy:
    """Timing of a physical layer and its MAC. The defaults are OFDM in 20 MHz (802.11a).

    mac_bytes: header and FCS; two more if frames have a QoS control field.
    """

    preamble_s: float = 16e-6
    header_s: float = 4e-6
    symbol_s: float = 4e-6
    slot_s: float = 9e-6
    sifs_s: float = 16e-6
    difs_s: float = 34e-6
    cw_min: int = 15
    mac_bytes: int = 28
    ack_bytes: int = 14


def mean_backoff_s(phy: Phy) -> float:
    """Mean of equation 1.19, a number of slots drawn from 0 to CW, at the first attempt."""
    return phy.cw_min / 2 * phy.slot_s


def ppdu_s(phy: Phy, mpdu_bytes: float, rate_bps: float) -> float:
    """Equations 1.22 and 1.23: duration of a PPDU with an MPDU of mpdu_bytes at a data rate."""
    bits = _SERVICE_AND_TAIL_BITS + 8 * mpdu_bytes
    # Rates are whole numbers of bits per symbol: 54 Mbit/s are 216.
    symbols = math.ceil(bits / round(rate_bps * phy.symbol_s))
    return phy.preamble_s + phy.header_s + phy.symbol_s * symbols


def exchange_s(phy: Phy, body_bytes: float, rate_bps: float, ack_rate_bps: float) -> float:
    """Equation 1.21: DIFS, mean backoff, a frame, SIFS and its 802.11 ACK."""
    data_s = ppdu_s(phy, phy.mac_bytes + body_bytes, rate_bps)
    ack_s = ppdu_s(phy, phy.ack_bytes, ack_rate_bps)
    return phy.difs_s + mean_backoff_s(phy) + data_s + phy.sifs_s + ack_s


def goodput_bps(phy: Phy, body_bytes: float, rate_bps: float, ack_rate_bps: float) -> float:
    """Equation 1.20: goodput of one station that sends frames of a fixed length."""
    return 8 * body_bytes / exchange_s(phy, body_bytes, rate_bps, ack_rate_bps)


def tcp_goodput_bps(
    phy: Phy,
    segments_per_ack: float,
    *,
    payload_bytes: float = 1448,
    headers_bytes: float = LLC_BYTES + IPV4_TCP_BYTES + TIMESTAMPS_BYTES,
    rate_bps: float = 54e6,
    ack_rate_bps: float = 24e6,
) -> float:
    """Equation 1.24: N segments, each in an exchange, and one exchange for their TCP ACK.

    rate_bps is the rate of data frames, including TCP ACKs; ack_rate_bps that of 802.11 ACKs. The
    text explains T_DCF_DATA twice; the second time it means T_DCF_ACK.

    The equation adds the backoffs of data and TCP ACKs, and nothing collides. In reality two
    stations count down at the same time and collide once in 16 times or less: the two effects
    cancel to within 1%.
    """
    data_s = exchange_s(phy, payload_bytes + headers_bytes, rate_bps, ack_rate_bps)
    ack_s = exchange_s(phy, headers_bytes, rate_bps, ack_rate_bps)
    return 8 * segments_per_ack * payload_bytes / (segments_per_ack * data_s + ack_s)
