# SPDX-License-Identifier: GPL-2.0-only
"""Costs of `list` and `show`: imported modules, parsed and formatted quantities."""

import importlib.util
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType

import pytest

from airtcp import cli
from airtcp.cli import parser
from airtcp.experiment.reader import load
from airtcp.parameters import Parameters
from airtcp.parameters.quantity import Quantity
from airtcp.paths import REPOSITORY

PROBE = """
import sys
from airtcp.cli import main
main(sys.argv[1:])
print(*sys.modules, file=sys.stderr)
"""

HEAVY = {"numpy", "scipy", "matplotlib", "pyarrow", "duckdb", "distributed", "ssl", "subprocess"}
LAYERS = {"cli", "experiment", "kernel", "models", "parameters"}


def imported(*arguments: str) -> list[str]:
    """The modules that a command imports."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROBE, *arguments], capture_output=True, text=True, check=True
    )
    return done.stderr.split()


def test_list_does_not_load_experiments() -> None:
    modules = set(imported("list"))
    assert not modules & {*HEAVY, "pydantic", "airtcp.parameters"}


@pytest.mark.parametrize("arguments", [["list", "--json"], ["show", "thesis-lan"]])
def test_only_modules_that_read_experiments_are_imported(arguments: list[str]) -> None:
    modules = imported(*arguments)
    assert not HEAVY & set(modules)
    packages = {name.split(".")[1] for name in modules if name.count(".") > 1 and "airtcp." in name}
    assert packages == LAYERS
    kernel = {name for name in modules if name.startswith("airtcp.kernel.")}
    assert kernel == {"airtcp.kernel.names", "airtcp.kernel.policies"}


@pytest.mark.parametrize("group", parser.GROUPS)
def test_parser_groups_add_their_subcommands(group: str) -> None:
    subcommands = [parser.build([subcommand]).format_help() for subcommand in parser.GROUPS[group]]
    assert len(set(subcommands)) == 1
    listed = re.findall("^    ([a-z]+)", subcommands[0], re.MULTILINE)
    assert listed == list(parser.GROUPS[group])


def calls(do: Callable[[], object], *functions: Callable[..., object]) -> list[int]:
    """Number of calls of each function."""
    counted: Counter[CodeType] = Counter()

    def count(frame: FrameType, event: str, _argument: object) -> None:
        counted[frame.f_code] += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        do()
    finally:
        sys.setprofile(before)
    return [counted[function.__code__] for function in functions]


def test_a_change_parses_only_changed_quantities() -> None:
    parameters = Parameters().replace({"delay": "20ms", "rate": "50Mbit"})
    changed = {"delay": "10ms", "gso": "off"}
    assert calls(lambda: parameters.replace(changed), Quantity.read, Quantity.plain) == [1, 0]


def test_a_case_formats_only_its_factors() -> None:
    experiment = load("tsq-size")
    cases = experiment.cases()
    quantities = sum(name in ("delay", "rate") for case in cases for name in case.factors)
    assert len(cases) > 30 and "tsq" in experiment.factors
    assert calls(experiment.cases, Quantity.plain) == [quantities]


def test_the_compiled_code_is_kept() -> None:
    """Also where PYTHONDONTWRITEBYTECODE is set, as in images of containers."""
    code = Path(importlib.util.cache_from_source(cli.__file__))
    code.unlink(missing_ok=True)
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([REPOSITORY / "airtcp", "--version"], env=environment, check=True)
    assert code.exists()


def test_closed_standard_input_is_empty() -> None:
    program = "from airtcp import streams; streams.prepare(); import sys; print([*sys.stdin])"
    command = ["sh", "-c", 'exec "$@" <&-', "sh", sys.executable, "-P", "-c", program]
    assert subprocess.check_output(command, text=True) == "[]\n"


def test_an_interrupt_does_not_reach_the_import_of_duckdb(tmp_path: Path) -> None:
    """DuckDB would print a traceback of its own."""
    (tmp_path / "duckdb.py").write_text(
        "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nprint('imported', flush=True)\n"
    )
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from airtcp import __main__; "
    command = [sys.executable, "-P", "-c", f"{program}sys.exit(__main__.start())"]
    done = subprocess.run(
        [*command, "results", "compare", "A", "B"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (130, "imported\n")
    assert done.stderr == "airtcp: interrupted\n"
