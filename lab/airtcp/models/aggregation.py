# SPDX-License-Identifier: GPL-2.0-only
"""Small queues, pacing and aggregation: the model of "Aggregating Without Bloating".

C. A. Grazia et al., IEEE/ACM Transactions on Networking, 2022, section IV: a single station sends
aggregates of k packets at a constant rate, without errors.
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Station:
    """Parameters of the model. The defaults are those of Table I.

    Equation 2 adds l_oh to bits, but Table I gives it as 48 bytes. It is in bytes here. most_mpdus
    and buffer_packets are not in the paper's equations: the most MPDUs of an aggregate whatever its
    duration (1: no aggregation, as in the solid lines of Figure 2), and the most packets that can
    be queued at the radio.
    """

    packet_bytes: int = 1500
    overhead_bytes: int = 48
    rate_bps: float = 216e6
    most_aggregate_s: float = 4e-3
    access_s: float = 0.5e-3
    base_rtt_s: float = 2.5e-3
    backlog_factor: float = 0.8
    most_mpdus: int | None = None
    buffer_packets: int | None = None

    @property
    def most_packets(self) -> int:
        """mxg in packets; Table I gives the longest aggregate as a time at the station's rate."""
        bits = self.most_aggregate_s * self.rate_bps - 8 * self.overhead_bytes
        most = max(1, math.floor(bits / (8 * self.packet_bytes)))
        return most if self.most_mpdus is None else min(most, self.most_mpdus)


def backlog_packets(station: Station, tsq_packets: float, pacing_ratio: float) -> float:
    """Equation 1: k, the packets queued at the radio."""
    packets = tsq_packets * pacing_ratio * station.backlog_factor
    return packets if station.buffer_packets is None else min(packets, station.buffer_packets)


def tx_time_s(station: Station, packets: float) -> float:
    """Equation 2: time to send an aggregate of the given number of packets."""
    bits = 8 * (packets * station.packet_bytes + station.overhead_bytes)
    return bits / station.rate_bps + station.access_s


def throughput_bps(station: Station, packets: float) -> float:
    """Equation 3: throughput with back-to-back aggregates of the given number of packets."""
    return 8 * packets * station.packet_bytes / tx_time_s(station, packets)


def rtt_s(station: Station, packets: float) -> float:
    """Equation 4: the longest RTT with the given number of packets queued at the radio.

    Up to one aggregate, a packet waits for as long as sending all of them takes; beyond that, the
    wait grows by whole aggregates.
    """
    most = station.most_packets
    if packets <= most:
        return station.base_rtt_s + 2 * tx_time_s(station, packets)
    return station.base_rtt_s + math.ceil(packets / most) * tx_time_s(station, most)


def bandwidth_bps(station: Station, packets: float) -> float:
    """Equation 5: equation 3 up to the largest aggregate, constant beyond."""
    return throughput_bps(station, min(packets, station.most_packets))
