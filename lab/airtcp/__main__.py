# SPDX-License-Identifier: GPL-2.0-only
"""python -m airtcp"""

import sys

from airtcp.cli import main

sys.exit(main(sys.argv[1:]))
