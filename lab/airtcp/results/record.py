# SPDX-License-Identifier: GPL-2.0-only
"""result.json: what a run leaves of itself, one element of "runs" in results.json."""

from typing import Any

Result = dict[str, Any]

# Version of result.json. A key that is new makes no new one, one that means something else does.
SCHEMA = 1

RESULT_FILE = "result.json"
"""The file of a run that is written last: where it is, all others are whole."""
