# SPDX-License-Identifier: GPL-2.0-only
"""Growth of the congestion window by ACKs: Figure 2.9 of A. Statkus' dissertation.

Draws docs/images/window-growth.svg: the receiver's estimate (equation 2.3) and RFC 5681's growth
(equations 2.1 and 2.7), for several SMSS.
"""

import math
import sys

from matplotlib.figure import Figure

from airtcp.paths import REPOSITORY
from airtcp.report.mpl import save_in_docs, style
from airtcp.report.palette import PALETTE

SMSS_BYTES = (100, 536, 1460)
ACKS = 20_000
IMAGE = REPOSITORY / "docs" / "images" / "window-growth.svg"


def window_after(acks: float, smss_bytes: float) -> float:
    """Equation 2.3: what a receiver takes the window for, in bytes, after a number of ACKs."""
    return smss_bytes * (-3 + math.sqrt(9 + 8 * acks)) / 2


def rfc_windows_bytes(smss_bytes: int) -> list[float]:
    """Equation 2.1, RFC 5681's growth: the window after 0 to ACKS ACKs, starting with one segment.

    Equation 2.7 is printed the wrong way round: the growth per ACK is rounded up to one byte when
    SMSS^2 / W < 1, that is, when the window exceeds SMSS^2 bytes.
    """
    windows_bytes = [float(smss_bytes)]
    for _ in range(ACKS):
        windows_bytes.append(windows_bytes[-1] + max(smss_bytes**2 / windows_bytes[-1], 1))
    return windows_bytes


def plot() -> None:
    acks = range(ACKS + 1)
    with style():
        figure = Figure(figsize=(7, 2.8), layout="constrained")
        for axes, smss_bytes in zip(figure.subplots(1, len(SMSS_BYTES)), SMSS_BYTES, strict=True):
            rfc_kb = [window / 1e3 for window in rfc_windows_bytes(smss_bytes)]
            axes.plot(acks, rfc_kb, color=PALETTE["policy0"][0], label="RFC 5681")
            loop_kb = [window_after(n, smss_bytes) / 1e3 for n in acks]
            axes.plot(acks, loop_kb, "--", color=PALETTE["policy1"][0], label="equation 2.3")
            axes.set_title(f"SMSS {smss_bytes} B")
            axes.set_ylim(bottom=0)
            axes.set_xlabel("ACKs")
        figure.axes[0].set_ylabel("cwnd (kB)")
        figure.axes[-1].legend(loc="lower right", fontsize="x-small")
        save_in_docs(figure, IMAGE)


def main() -> int:
    plot()
    for smss_bytes in SMSS_BYTES:
        rfc_bytes = rfc_windows_bytes(smss_bytes)
        for acks in (10, 100, 1000, ACKS):
            ratio = rfc_bytes[acks] / window_after(acks, smss_bytes)
            print(f"SMSS {smss_bytes} B, {acks} ACKs: {rfc_bytes[acks]:.0f} B, {ratio:.3f} of 2.3")
    return 0


if __name__ == "__main__":
    sys.exit(main())
