# SPDX-License-Identifier: GPL-2.0-only
"""airtcp installed by pip in a new environment, without the network."""

import ast
import importlib.metadata
import re
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest
from installs import environment, install, run

import airtcp
from airtcp.paths import REPOSITORY

# Import names of libraries whose distributions have other names.
DISTRIBUTIONS = {"yaml": "pyyaml"}


def test_editable_install_has_a_program_airtcp(tmp_path: Path) -> None:
    """With --no-index, the locked libraries must satisfy the requirements in pyproject.toml."""
    programs = environment(tmp_path / "venv")
    install(programs, "-e", f"{REPOSITORY}[cluster,test]")
    done = run(programs, tmp_path, "--version")
    assert done.returncode == 0, done.stderr
    version = f"airtcp {airtcp.__version__}, commit [0-9a-f]{{12}}(-dirty)?, kernel [0-9a-f]{{16}}"
    assert re.fullmatch(version, done.stdout.strip())
    done = run(programs, tmp_path, "show", "thesis-lan")
    assert done.returncode == 0, done.stderr
    assert "thesis-lan" in done.stdout
    assert run(programs, tmp_path, "show", "no-such-experiment").returncode == 2


def test_program_outside_of_a_clone_explains_how_to_install_it(tmp_path: Path) -> None:
    programs = environment(tmp_path / "venv")
    install(programs, "--no-deps", str(REPOSITORY))
    done = run(programs, tmp_path, "list")
    assert (done.returncode, done.stdout) == (1, "")
    [line] = done.stderr.splitlines()
    assert line.endswith("with `pip install -e .` or from the wheel of `make wheel`")


def test_cluster_verbs_without_dask_explain_how_to_install_it(tmp_path: Path) -> None:
    """The environment has the libraries of this one, except those of the extra `cluster`."""
    programs = environment(tmp_path / "venv")
    install(programs, "-e", str(REPOSITORY))
    pth = next((tmp_path / "venv").rglob("libraries.pth"))
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        link = pth.parent / path.name
        if path.name not in ("distributed", "dask_jobqueue") and not link.exists():
            link.symlink_to(path)
    pth.unlink()
    for command in (["scheduler"], ["worker", "tcp://127.0.0.1:1"]):
        done = run(programs, tmp_path, *command)
        assert done.returncode == 1
        [line] = done.stderr.splitlines()
        assert line.endswith("pip install -e '.[cluster]'")
    assert run(programs, tmp_path, "list").returncode == 0


@pytest.mark.parametrize("lock", ["requirements.txt", "requirements-test.txt"])
def test_installed_libraries_have_the_locked_versions(lock: str) -> None:
    lines = (REPOSITORY / "lab" / lock).read_text().splitlines()
    locked = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert len(locked) > 20
    assert {name: importlib.metadata.version(name) for name in locked} == locked


def test_every_imported_library_is_declared() -> None:
    imported = set()
    for path in (REPOSITORY / "lab" / "airtcp").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported |= {name.name.partition(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported.add(node.module.partition(".")[0])
    imported -= {*sys.stdlib_module_names, "airtcp", "_typeshed"}
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    requirements = [*project["dependencies"], *project["optional-dependencies"]["cluster"]]
    declared = {re.split(r"[>=<~ ]", text)[0] for text in requirements}
    # Reports contain Plotly's JavaScript, which is copied from its package without importing it.
    used = {"plotly", *(DISTRIBUTIONS.get(name, name).replace("_", "-") for name in imported)}
    assert used == declared
