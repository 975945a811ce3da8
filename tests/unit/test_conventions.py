# SPDX-License-Identifier: GPL-2.0-only
"""The repository's conventions: make targets, pre-commit hooks, versions, limits on length."""

import ast
import re
import subprocess
import tomllib

import pytest
import yaml

import airtcp
from airtcp.paths import REPOSITORY

MAKEFILE = (REPOSITORY / "Makefile").read_text()
PYTHON = sorted(
    path for top in ("lab", "tests", "bench") for path in (REPOSITORY / top).rglob("*.py")
)
MAX_FILE_LINES = 450
MAX_FUNCTION_LINES = 60


def targets() -> list[str]:
    """All phony targets of the Makefile."""
    [names] = re.findall(r"^\.PHONY: ((?:.*\\\n)*.*)$", MAKEFILE, re.M)
    return str(names).replace("\\\n", " ").split()


def test_make_lists_every_target() -> None:
    done = subprocess.run(
        ["make", "--no-print-directory"], cwd=REPOSITORY, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    listed = [line.split(None, 1) for line in done.stdout.splitlines()]
    assert sorted(name for name, _ in listed) == sorted(targets())


def test_hooks_are_local_make_targets() -> None:
    configuration = yaml.safe_load((REPOSITORY / ".pre-commit-config.yaml").read_text())
    [local] = configuration["repos"]
    assert local["repo"] == "local"
    for hook in local["hooks"]:
        assert hook["language"] == "system"
        assert hook["entry"].removeprefix("make ") in targets()


@pytest.mark.parametrize(
    ("hook", "patterns"),
    [
        ("lint-shell", ("airtcp", "dkms/ackhold/50-*", "lab/**/*.sh", "packaging/debian/*.p*rm")),
        ("lint-kernel", ("kernel/**/*.[ch]", "dkms/ackhold/*.[ch]", "tests/guest/ackhold/*.c")),
    ],
)
def test_hooks_run_for_the_files_that_they_check(hook: str, patterns: tuple[str, ...]) -> None:
    configuration = yaml.safe_load((REPOSITORY / ".pre-commit-config.yaml").read_text())
    [files] = [one["files"] for one in configuration["repos"][0]["hooks"] if one["id"] == hook]
    for pattern in patterns:
        names = [str(path.relative_to(REPOSITORY)) for path in REPOSITORY.glob(pattern)]
        assert names and [name for name in names if not re.search(files, name)] == []


def test_ci_lints_before_it_tests() -> None:
    commands = (REPOSITORY / ".ci" / "run").read_text().splitlines()
    assert commands[-2:] == ["make lint", "exec make test"]


def test_changelog_has_the_version() -> None:
    changelog = (REPOSITORY / "CHANGELOG.md").read_text()
    unreleased, released, *_ = re.findall(r"^## (.*)$", changelog, re.M)
    assert unreleased == "Unreleased"
    assert re.fullmatch(rf"{re.escape(airtcp.__version__)} \(\d{{4}}-\d\d-\d\d\)", released)


def test_citation_matches_the_python_package() -> None:
    citation = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text())
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    # The version in pyproject.toml is read from there.
    assert citation["version"] == airtcp.__version__
    assert citation["license"] == project["license"]
    assert citation["title"] == f"{project['name']}: {project['description']}"
    assert citation["authors"] == [{"name": "airtcp developers"}]


def test_files_and_functions_are_short() -> None:
    long = []
    for path in PYTHON:
        text = path.read_text()
        name = path.relative_to(REPOSITORY)
        if (lines := len(text.splitlines())) > MAX_FILE_LINES:
            long.append(f"{name}: {lines} lines")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or 0) - node.lineno + 1
                if lines > MAX_FUNCTION_LINES:
                    long.append(f"{name}: {node.name} has {lines} lines")
    assert long == []
