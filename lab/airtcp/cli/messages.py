# SPDX-License-Identifier: GPL-2.0-only
"""Messages to users, on standard error."""

import sys


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
