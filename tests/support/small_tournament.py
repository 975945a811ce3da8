# SPDX-License-Identifier: GPL-2.0-only
"""A tournament of two entrants with round numbers, and its page."""

from collections.abc import Mapping
from pathlib import Path

import fake_run

from airtcp.experiment import tournament as field
from airtcp.experiment.tournament import Tournament
from airtcp.report import tournament as page
from airtcp.results import tournament as judge
from airtcp.results.documents import SweepDocument
from airtcp.results.record import Artifact
from airtcp.results.tournament import Contest


def small() -> Tournament:
    """Two entrants under a bulk transfer, one of files, and one in the side table."""
    return Tournament.model_validate(
        {
            "quick": {"seeds": 2, "duration": "5s"},
            "full": {"seeds": 5, "duration": "20s"},
            "radio": {"standard": "802.11n"},
            "entrants": [
                {"name": "default", "title": "Linux", "set": {"ack_policy": "default"}},
                {"name": "aad", "title": "<AAD>", "set": {"ack_policy": "aad"}},
            ],
            "conditions": [
                {"name": "lan", "aspect": "Delay", "title": "none", "set": {}},
                {"name": "far", "aspect": "Delay", "title": "50 ms", "set": {"delay": "50ms"}},
                {
                    "name": "files",
                    "aspect": "Files",
                    "title": "1 MB",
                    "set": {"workload": "transfer", "transfer_size": "1000000B"},
                },
                {
                    "name": "no-sack",
                    "aspect": "SACK off",
                    "title": "none",
                    "set": {"sack": "off"},
                    "side": "true",
                },
            ],
        }
    )


# The decisive metric by condition and entrant, for seeds 1 and 2.
VALUES: Mapping[str, tuple[str, Mapping[str, tuple[float, float]]]] = {
    "lan": ("goodput_mbps", {"default": (100, 200), "aad": (121, 242)}),
    "far": ("goodput_mbps", {"default": (50, 50), "aad": (50, 50)}),
    "files": ("completion_time_ms_mean", {"default": (10, 20), "aad": (12.5, 25)}),
    "no-sack": ("goodput_mbps", {"default": (100, 100), "aad": (50, 50)}),
}


def contests() -> list[Contest]:
    tournament = small()
    found = []
    for condition in tournament.conditions:
        experiment, cases = field.contest(tournament, condition, "5s")
        metric, values = VALUES[condition.name]
        runs = tuple(
            fake_run.record(
                cases[entrant][0],
                seed,
                {metric: value, "acks_sent": 500},
                artifacts={"ping.txt": Artifact(path=f"runs/{entrant}/seed-{seed}/p", sha256="")},
            )
            for entrant, pair in values.items()
            for seed, value in enumerate(pair, start=1)
        )
        document = SweepDocument(
            experiment=experiment.name,
            title="",
            source="",
            command="",
            kernel=runs[0].kernel,
            runs=runs,
            summary=(),
        )
        contest = judge.contest(condition, cases, document, 2)
        assert contest
        found.append(contest)
    return found


TITLES = {"default": "Linux", "aad": "<AAD>"}


def write_page(out_dir: Path) -> Path:
    """Write the page of the tournament; returns its path."""
    out_dir.mkdir(exist_ok=True)
    judged = contests()
    return page.write(out_dir, judge.standings(judged, TITLES), judged, "./airtcp tournament")
