# SPDX-License-Identifier: GPL-2.0-only
"""The retransmission timeout: equations 1.13 to 1.18 of A. Statkus' dissertation (2017)."""

from dataclasses import dataclass


def rto_of_deviation_s(rtt_mean_s: float, rtt_deviation_s: float) -> float:
    """Equation 1.13: the timeout for a mean RTT and its deviation.

    The text uses the root mean square of the deviation. TCP uses the smoothed mean of its absolute
    value (1.17), which is smaller: 0.8 of it if RTTs are normally distributed.
    """
    return rtt_mean_s + 4 * rtt_deviation_s


@dataclass(frozen=True)
class Estimate:
    """A sender's estimate of its RTT; equations 1.14 to 1.18.

    least_s: minimum timeout, 1 s in RFC 6298, 0.2 s in Linux. granularity_s is that of the clock.
    """

    srtt_s: float
    rttvar_s: float
    granularity_s: float
    least_s: float

    @classmethod
    def first(cls, rtt_s: float, granularity_s: float = 0.001, least_s: float = 1.0) -> "Estimate":
        """Equations 1.14 and 1.15: after the first measurement."""
        return cls(rtt_s, rtt_s / 2, granularity_s, least_s)

    def measured(self, rtt_s: float, alpha: float = 1 / 8, beta: float = 1 / 4) -> "Estimate":
        """Equations 1.17 and 1.18, in this order: RTTVAR uses the previous SRTT."""
        rttvar_s = (1 - beta) * self.rttvar_s + beta * abs(self.srtt_s - rtt_s)
        srtt_s = (1 - alpha) * self.srtt_s + alpha * rtt_s
        return Estimate(srtt_s, rttvar_s, self.granularity_s, self.least_s)

    @property
    def rto_s(self) -> float:
        """Equation 1.16, at least least_s."""
        return max(self.least_s, self.srtt_s + max(self.granularity_s, 4 * self.rttvar_s))
