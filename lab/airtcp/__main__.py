# SPDX-License-Identifier: GPL-2.0-only
"""python -m airtcp"""

import sys

try:
    from airtcp.cli import main

    sys.exit(main(sys.argv[1:]))
except ImportError as error:
    if (error.name or "").partition(".")[0] == "airtcp":
        raise
    # A library that gives advice has its reason as the cause.
    said = " ".join(str(error.__cause__ or error).split())
    sys.exit(
        f"airtcp: {said}: the Python environment in {sys.prefix} is damaged; remove it, and the "
        "next ./airtcp makes it anew"
    )
