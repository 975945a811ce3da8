# SPDX-License-Identifier: GPL-2.0-only
"""When airtcp is killed while make runs, make ends, and the tree stays locked until then.

When it is interrupted, programs that make has started end, too.
"""

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

from waiting import wait_until

LAB = Path(__file__).parents[2] / "lab"

BUILD = """\
import sys
from pathlib import Path
from airtcp.cache import locked
from airtcp.kernel.image import run_make
tree = Path(sys.argv[1])
with locked(tree / "lock", print) as lock:
    run_make(tree, tree / "build", "um", tree / "log", ["all"], lock=lock)
"""

# The inner recipe, in place of a compiler, ignores SIGTERM and takes 1.5 s.
MAKEFILE = """\
all:
\t@$(MAKE) -f $(firstword $(MAKEFILE_LIST)) inner
inner:
\t@trap '' TERM; touch began; sleep 1.5; touch ended
"""


def is_locked(path: Path) -> bool:
    with path.open("r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def started(tmp_path: Path, makefile: str) -> "subprocess.Popen[bytes]":
    (tmp_path / "Makefile").write_text(makefile)
    builder = subprocess.Popen(
        [sys.executable, "-c", BUILD, tmp_path],
        env={**os.environ, "PYTHONPATH": str(LAB), "AIRTCP_CACHE": str(tmp_path / "cache")},
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_until((tmp_path / "began").exists, timeout_s=20)
    return builder


def test_programs_of_make_end_after_an_interrupt(tmp_path: Path) -> None:
    builder = started(tmp_path, "all:\n\t@touch began; sleep 600; touch ended\n")
    os.kill(builder.pid, signal.SIGINT)
    builder.wait()
    wait_until(lambda: not is_locked(tmp_path / "lock"), timeout_s=20)
    assert not (tmp_path / "ended").exists()


def test_make_ends_with_its_parent_and_holds_the_lock(tmp_path: Path) -> None:
    builder = started(tmp_path, MAKEFILE)
    os.kill(builder.pid, signal.SIGKILL)
    builder.wait()
    assert is_locked(tmp_path / "lock")
    wait_until(lambda: not is_locked(tmp_path / "lock"), timeout_s=20)
    # The inner recipe ran to its end; make was terminated before.
    assert (tmp_path / "ended").exists()
    assert "Terminated" in (tmp_path / "log").read_text()
