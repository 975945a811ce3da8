# SPDX-License-Identifier: GPL-2.0-only
"""airtcp: the TCP of Linux over a simulated 802.11 radio, in virtual time."""

__version__ = "0.1.0"
