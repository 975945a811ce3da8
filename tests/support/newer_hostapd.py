# SPDX-License-Identifier: GPL-2.0-only
"""hostapd with 802.11be, without which tests of 802.11be are skipped."""

from pathlib import Path

import pytest

from airtcp.backends import hostapd


def path() -> Path:
    """The one of the host, or of `setup be`. Skips the test if there is none."""
    if found := hostapd.find():
        return found
    pytest.skip("no hostapd knows 802.11be: ./airtcp setup be")


def supplicant() -> Path:
    """The wpa_supplicant of `setup be`. Skips the test if there is none."""
    if built := hostapd.installed():
        return built / "wpa_supplicant"
    pytest.skip("wpa_supplicant is missing: ./airtcp setup be")
