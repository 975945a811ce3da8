# SPDX-License-Identifier: GPL-2.0-only
"""python -m airtcp"""

import sys

from airtcp import interrupts, streams


def _start() -> int:
    interrupts.at_start()
    streams.prepare()
    # Only now, for it takes most of a second.
    try:
        from airtcp.cli import main
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "airtcp":
            raise
        # A library that gives advice has its reason as the cause.
        reason = " ".join(str(error.__cause__ or error).split())
        print(
            f"airtcp: {reason}: the Python environment in {sys.prefix} is damaged; remove it, and "
            "the next ./airtcp makes it anew",
            file=sys.stderr,
        )
        return 1

    interrupts.install()
    try:
        return main(sys.argv[1:])
    finally:
        interrupts.at_end()


if __name__ == "__main__":
    sys.exit(_start())
