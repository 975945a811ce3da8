# SPDX-License-Identifier: GPL-2.0-only
"""Debian's Chromium, for tests of pages."""

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser without windows."""
    with sync_playwright() as playwright:
        # Chromium's sandbox does not work for root in containers; the pages are trusted.
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        yield browser
        browser.close()
