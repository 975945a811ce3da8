# SPDX-License-Identifier: GPL-2.0-only
"""Writes the results of a sweep that was never run."""

from pathlib import Path
from typing import Any

from airtcp.parameters import Parameters
from airtcp.results import parquet


def write_sweep(
    out_dir: Path, goodputs: dict[tuple[int, int], float | None], **values: Any
) -> Path:
    """Write results.parquet of a sweep with these goodputs in Mbit/s, by MCS and seed."""
    out_dir.mkdir()
    runs = [
        {
            "factors": {"mcs": mcs},
            "seed": seed,
            "status": "ok",
            "error": None,
            "identity": f"{mcs} {seed}",
            "metrics": {"goodput_mbps": goodput},
            "parameters": Parameters().replace({"mcs": mcs, **values}).plain(),
        }
        for (mcs, seed), goodput in goodputs.items()
    ]
    kernel = {"version": "6.12.1", "hash": out_dir.name}
    parquet.write(out_dir, {"experiment": "x", "kernel": kernel, "runs": runs})
    return out_dir
