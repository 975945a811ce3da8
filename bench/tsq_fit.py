# SPDX-License-Identifier: GPL-2.0-only
"""Fit the radio of tp-rate-ac and tsq-size-ac, and write errors in docs/explanation/tsq-paper.md.

The TSQ paper does not state how many aggregates ath10k's firmware forms ahead, nor how many packets
the path loses. Both are fitted to values of YeAH and CUBIC, which the experiments do not compare.
--results DIR: use the results in DIR, without running anything.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterable, Mapping
from math import exp, log
from pathlib import Path
from statistics import fmean

from doctables import with_table

from airtcp.errors import AirtcpError
from airtcp.paths import REPOSITORY
from airtcp.results import documents
from airtcp.results.record import RunRecord

PAGE = REPOSITORY / "docs" / "explanation" / "tsq-paper.md"
EXPERIMENT = "tp-rate-ac"
GOODPUT, PING = "goodput_mbps", "ping_rtt_ms_p50"

FORMED_PPDUS = (2, 3, 4, 6, 8)
LOSSES = (0.0, 0.00001, 0.00003, 0.0001, 0.0002)

Condition = tuple[str, str, float, str]

# By congestion control, small queues, pacing factor and metric, in Mbit/s or ms: Section VI.E.
# Figure 13, "from 30 to 150 Mbit/s of goodput when changing the pacing rate from 1p to either 2p or
# 3p" and "from 25 to 60 Mbit/s"; Figure 14, "ranging between 200 and 350 Mbit/s", "between 5 and 9
# ms" and "between 12 and 13 ms".
PUBLISHED: Mapping[Condition, float] = {
    ("yeah", "1ms", 1.0, GOODPUT): 30,
    ("yeah", "1ms", 2.0, GOODPUT): 150,
    ("yeah", "1ms", 3.0, GOODPUT): 150,
    ("cubic", "1ms", 1.0, GOODPUT): 25,
    ("cubic", "1ms", 3.0, GOODPUT): 60,
    ("yeah", "8ms", 1.0, GOODPUT): 200,
    ("yeah", "8ms", 3.0, GOODPUT): 350,
    ("yeah", "8ms", 1.0, PING): 5,
    ("yeah", "8ms", 3.0, PING): 9,
    ("cubic", "8ms", 3.0, PING): 12.5,
}

# The parts of a sweep that has these cases and few others.
SWEEPS: Mapping[str, tuple[str, ...]] = {
    "yeah-1ms": ("congestion_control=yeah", "tsq=1ms", "pacing_factor=1,2,3"),
    "cubic-1ms": ("congestion_control=cubic", "tsq=1ms", "pacing_factor=1,3"),
    "yeah-8ms": ("congestion_control=yeah", "tsq=8ms", "pacing_factor=1,3"),
    "cubic-8ms": ("congestion_control=cubic", "tsq=8ms", "pacing_factor=3"),
}

Radio = tuple[int, float]


def errors(runs: Iterable[RunRecord]) -> dict[Radio, float]:
    """The mean factor between measured and published values (1: none), by radio.

    A radio is the number of aggregates formed ahead and the probability of a loss. Raises
    AirtcpError if it has no run for a published value.
    """
    measured: dict[Radio, dict[Condition, float]] = {}
    for run in runs:
        values = run.parameters
        radio = int(values["formed_ppdus"]), float(values["return_loss"])
        of_radio = measured.setdefault(radio, {})
        at = str(values["congestion_control"]), str(values["tsq"]), float(values["pacing_factor"])
        for metric in (GOODPUT, PING):
            if (value := run.metrics.get(metric)) is not None:
                if (*at, metric) in of_radio:
                    case = " ".join(map(str, at))
                    raise AirtcpError(f"{case}: more than one run; allowed: 1 seed")
                of_radio[*at, metric] = value
    return {radio: _error(radio, of_radio) for radio, of_radio in measured.items()}


def _error(radio: Radio, measured: Mapping[Condition, float]) -> float:
    if missing := PUBLISHED.keys() - measured.keys():
        formed, loss = radio
        raise AirtcpError(f"formed_ppdus={formed} return_loss={loss}: no run of {min(missing)}")
    return exp(fmean(abs(log(measured[at] / value)) for at, value in PUBLISHED.items()))


def text(found: Mapping[Radio, float]) -> str:
    """The errors in Markdown, the smallest in bold."""
    best = min(found, key=lambda radio: found[radio])
    losses = sorted({loss for _, loss in found})
    lines = [
        "| Aggregates formed ahead | " + " | ".join(f"loss {loss:g}" for loss in losses) + " |",
        "|---" * (1 + len(losses)) + "|",
    ]
    for formed in sorted({formed for formed, _ in found}):
        cells = [f"{found[formed, loss]:.2f}" for loss in losses]
        if formed == best[0]:
            place = losses.index(best[1])
            cells[place] = f"**{cells[place]}**"
        lines.append(f"| {formed} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", metavar="DIR", type=Path)
    options = parser.parse_args()
    out_dir = options.results or REPOSITORY / "results" / "tsq-fit"
    runs: list[RunRecord] = []
    for name, settings in SWEEPS.items():
        if not options.results:
            radios = (
                f"formed_ppdus={','.join(map(str, FORMED_PPDUS))}",
                f"return_loss={','.join(f'{loss:.5f}' for loss in LOSSES)}",
            )
            words = [word for one in (*radios, *settings) for word in ("--set", one)]
            command = [str(REPOSITORY / "airtcp"), "run", EXPERIMENT, *words]
            subprocess.run([*command, "--out", str(out_dir / name)], check=True)
        runs += documents.read(out_dir / name).runs
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(with_table(page, "tsq-fit", text(errors(runs))), encoding="utf-8")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AirtcpError as error:
        sys.exit(f"tsq_fit: {error}")
