# SPDX-License-Identifier: GPL-2.0-only
"""python -m airtcp, and the program `airtcp` that pip installs."""

import gc
import os
import sys

from airtcp import interrupts, paths, streams


def start() -> int:
    """Run the command line; return its exit code."""
    interrupts.at_start()
    streams.prepare()
    if missing := paths.missing():
        print(f"airtcp: {missing}", file=sys.stderr)
        return 1
    # Else NumPy starts threads that wait actively, for a tenth of the CPU time of a short run.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Imported objects are not garbage; searching them takes a tenth of the time of `list`.
    gc.disable()
    try:
        from airtcp.cli import interrupted, main, parser

        if os.environ.get("_ARGCOMPLETE"):
            from airtcp.cli import completion

            completion.complete()
        parser.load(sys.argv[1:])
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "airtcp":
            raise
        # Some libraries raise advice as the message, with the reason as the cause.
        reason = " ".join(str(error.__cause__ or error).split())
        print(
            f"airtcp: {reason}: the Python environment in {sys.prefix} is damaged: remove it and "
            "run `./airtcp setup`, or reinstall airtcp in it",
            file=sys.stderr,
        )
        return 1

    try:
        try:
            interrupts.install()
            gc.freeze()
            gc.enable()
            return main(sys.argv[1:])
        finally:
            interrupts.at_end()
    except KeyboardInterrupt:  # before or after main()
        return interrupted()


if __name__ == "__main__":
    sys.exit(start())
