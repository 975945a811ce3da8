# SPDX-License-Identifier: GPL-2.0-only
"""docs/reference/airtcp.1 is up to date; as a program, this writes it (make man)."""

import os
import re
import subprocess
from pathlib import Path
from unittest.mock import patch

from argparse_manpage.manpage import Manpage

from airtcp import __version__
from airtcp.cli import parser
from airtcp.sweep.certificates import ENVIRONMENT

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "airtcp.1"
MANUAL = {
    "project_name": "airtcp",
    "version": __version__,
    "manual_section": "1",
    "manual_title": "airtcp manual",
    "description": "measure TCP over Wi-Fi: the Linux kernel over a simulated radio",
    "date": f"version {__version__}",
}


def page() -> str:
    """The manual page, in the macros of man(7)."""
    # With the indent of the page, lines of usage have at most 80 characters.
    with patch.dict(os.environ, COLUMNS="74"):
        text = str(Manpage(parser.build(), format="pretty", _data=MANUAL))
    text = re.sub(r"^(usage|examples|environment):.*(\n .*)*", r".nf\n\g<0>\n.fi", text, flags=re.M)
    return text.rstrip() + "\n"


def test_the_manual_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "run `make man`"


def test_the_manual_page_has_no_warnings() -> None:
    command = ["man", "--warnings", "-l", "-Tutf8", str(PAGE)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_manual_page_keeps_the_lines_of_usage() -> None:
    command = ["man", "-l", "-Tascii", str(PAGE)]
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | {"MANWIDTH": "80"}
    )
    usage = re.search(r"^ *usage: airtcp run (?:.+\n)+", done.stdout, re.M)
    assert usage
    first, *others = usage[0].splitlines()
    assert others and all(len(line) <= 80 for line in (first, *others))
    indent = first.index("[-h]")
    assert {len(line) - len(line.lstrip()) for line in others} == {indent}


def test_the_manual_page_has_every_subcommand() -> None:
    sections = re.findall(r"^\.SH (?:COMMAND )?.*?'airtcp (\w+)", PAGE.read_text(), re.M)
    assert set(sections) >= {command for commands in parser.GROUPS.values() for command in commands}


def test_the_manual_page_has_the_options_of_setup() -> None:
    script = PAGE.parents[2] / "lab" / "setup.sh"
    usage = subprocess.run([script, "--help"], capture_output=True, text=True).stdout
    options = set(re.findall(r"--[a-z-]+", usage))
    assert "--yes" in options
    text = PAGE.read_text().replace("\\-", "-")
    section = text.partition("\n.SH OPTIONS \\fI\\,'airtcp setup'")[2].partition("\n.SH ")[0]
    assert options <= set(re.findall(r"--[a-z-]+", section))


def test_the_manual_page_has_the_environment_variables() -> None:
    assert set(re.findall(r"AIRTCP_[A-Z]+", PAGE.read_text())) >= {"AIRTCP_CACHE", ENVIRONMENT}


if __name__ == "__main__":
    PAGE.write_text(page())
