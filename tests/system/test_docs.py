# SPDX-License-Identifier: GPL-2.0-only
"""Runs every command and Python program in the documentation, in a copy of the repository."""

import html
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from airtcp.kernel.image import Kernel

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

FINDINGS = ROOT / "docs/reference/figures.md"

# The commands of README.md are part of `make test`, those of other pages of `make test-all`.
QUICK = {"README.md"}
# `make test` contains this test; `make lint` does not test behaviour.
SKIPPED = {"make test", "make lint"}


def _ignored(directory: str, names: list[str]) -> set[str]:
    """Files that a clone does not have; `results` only at the root: it is also a package."""
    ignored = shutil.ignore_patterns(".git", ".*_cache", "__pycache__")(directory, names)
    return ignored | ({"results"} & set(names) if Path(directory) == ROOT else set())


def commands(page: Path) -> list[str]:
    """Those in blocks of `sh`, also in lists; `shell` is for what is not to be executed."""
    blocks = re.findall(r"^ *```sh\n(.*?)^ *```", page.read_text(), re.M | re.S)
    lines = "".join(map(textwrap.dedent, blocks)).replace("\\\n", "").splitlines()
    return [line for line in lines if line not in SKIPPED]


def programs(page: Path) -> list[str]:
    """The blocks of `python`, which may read what the commands of the page have written."""
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)


def findings(page: Path) -> list[tuple[str, str]]:
    """The directory of a report and its first sentence, quoted below the commands that write it."""
    quoted = r"^```sh\n(?:(?!```).*\n)*?\./airtcp report (\S+)\n```\n\n((?:> .*\n)+)"
    return [
        (directory, " ".join(line.removeprefix("> ") for line in quote.splitlines()))
        for directory, quote in re.findall(quoted, page.read_text(), re.M)
    ]


def finding_of(report: Path) -> str:
    """The first sentence of a page."""
    [found] = re.finditer(r'<p class="finding">(.*?)</p>', html.unescape(report.read_text()))
    return found[1]


def record_findings(page: Path) -> None:
    """Make the reports again, and write their first sentences below the commands."""
    for command in commands(page):
        if any(directory in command for directory, _ in findings(page)):
            subprocess.run(command, shell=True, cwd=ROOT, check=True)
    text = page.read_text()
    for directory, _ in findings(page):
        lines = textwrap.wrap(finding_of(ROOT / directory / "report.html"), 120)
        quote = "".join(f"> {line}\n" for line in lines)
        before, command, after = text.partition(f"./airtcp report {directory}\n```\n\n")
        text = before + command + quote + re.sub(r"\A(?:> .*\n)+", "", after)
    page.write_text(text)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("docs") / "airtcp"
    shutil.copytree(ROOT, target, ignore=_ignored)
    return target


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.name, marks=[] if page.name in QUICK else pytest.mark.slow)
        for page in PAGES
        if commands(page)
    ],
)
def test_every_command_works(lab_kernel: Kernel, copy: Path, page: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
    lines = [["sh", "-c", command] for command in commands(page)]
    for line in lines + [[sys.executable, "-c", program] for program in programs(page)]:
        done = subprocess.run(line, cwd=copy, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{line[-1]}\n{done.stderr}"
        assert done.stdout.strip(), line[-1]
    for directory, sentence in findings(page):
        assert finding_of(copy / directory / "report.html") == sentence


def test_the_first_sentences_of_five_reports_are_documented() -> None:
    found = findings(FINDINGS)
    names = ("demo", "tsq-size", "rrul", "web", "two-access-points")
    assert [directory for directory, _ in found] == [f"results/first-{name}" for name in names]
    assert all(sentence.endswith(".") for _, sentence in found)


if __name__ == "__main__":
    record_findings(FINDINGS)
