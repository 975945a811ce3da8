# SPDX-License-Identifier: GPL-2.0-only
"""The series for posting, on Linux as it is.

AIRTCP_TEST_STEPS builds the kernel after each patch (`make series-check`), which takes minutes.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest
from conftest import Say

from airtcp.cache import cache_dir, make_dir
from airtcp.linux import patchseries
from airtcp.linux.kernel import check_fragments, run_make
from airtcp.linux.source import (
    OVERLAY,
    POSTED,
    Changes,
    find_source,
    patched_files,
    prepare_tree,
    read_changes,
)

MAX_PATCHES = 15
STEPS = bool(os.environ.get("AIRTCP_TEST_STEPS"))

# Types of checkpatch.pl that cannot be satisfied, with the files where they cannot.
EXCEPTIONS = {
    # The entry in MAINTAINERS comes with the last patch and has the files of all.
    "FILE_PATH_CHANGES": r"",
    # Macros of tracepoints: written as in all of include/trace, which checkpatch does not know.
    "OPEN_ENDED_LINE": r"include/trace/events/",
    "PARENTHESIS_ALIGNMENT": r"include/trace/events/",
}


@pytest.fixture(scope="module")
def linux(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What of Linux the patches touch, and checkpatch."""
    names = {name for patch in read_changes().patches for name in patched_files(patch)}
    scripts = ("checkpatch.pl", "spelling.txt", "const_structs.checkpatch")
    names |= {"Makefile", *(f"scripts/{name}" for name in scripts)}
    tree = tmp_path_factory.mktemp("plain") / "linux"
    patchseries.extract(find_source(None), sorted(names), tree)
    return tree


@pytest.fixture(scope="module", params=POSTED)
def topic(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def series(linux: Path, topic: str, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return patchseries.write(tmp_path_factory.mktemp("series"), linux, topic=topic)


def test_applies_and_gives_what_the_laboratory_builds(
    series: list[Path], topic: str, linux: Path, tmp_path: Path
) -> None:
    earlier = POSTED[: POSTED.index(topic)]
    applied = prepare_tree(linux, read_changes(earlier), tmp_path / "applied", lambda _: None)
    patchseries.git(applied, "init", "--quiet")
    patchseries.git(applied, "add", "--all")
    patchseries.git(applied, "commit", "--quiet", "--message=before")
    patchseries.git(applied, "am", "--quiet", "--empty=drop", *map(str, series))
    subjects = patchseries.git(applied, "log", "--format=%s", "--reverse").splitlines()[1:]
    assert 0 < len(subjects) == len(series) - 1 <= MAX_PATCHES

    ours = read_changes([topic])
    upto = ["lab", *earlier, topic]
    built = prepare_tree(linux, read_changes(upto), tmp_path / "work", lambda _: None)
    names = ours.files.keys() | {name for patch in ours.patches for name in patched_files(patch)}
    assert len(names) > len(ours.files) > 0
    for name in names:
        assert (applied / name).read_bytes() == (built / name).read_bytes(), name
    changed = patchseries.git(applied, "diff", "--name-only", f"HEAD~{len(subjects)}").split()
    assert set(changed) == names


def test_passes_checkpatch(series: list[Path], linux: Path) -> None:
    command = ["perl", linux / "scripts" / "checkpatch.pl", "--no-tree", "--strict", "--terse"]
    command += ["--show-types", "--showfile", "--no-summary", *series[1:]]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stderr == ""
    found = re.findall(r"^(\S+):\d+: (?:ERROR|WARNING|CHECK):(\w+): .*$", done.stdout, re.M)
    assert len(found) == len(done.stdout.splitlines())
    assert [
        (file, kind)
        for file, kind in found
        if kind not in EXCEPTIONS or not re.match(EXCEPTIONS[kind], file)
    ] == []


@pytest.mark.skipif(not STEPS, reason="takes minutes: make series-check")
def test_links_after_each_patch_with_and_without_policies(
    series: list[Path], topic: str, say: Say
) -> None:
    work = make_dir(cache_dir() / "kernel") / "work-series"
    configs = OVERLAY / "configs"
    machine, policies = (configs / f"{name}.config" for name in ("lab", "ackpol"))
    with_ipv6 = machine.read_text().replace("CONFIG_IPV6=n\n", "CONFIG_IPV6=y\n")
    lines = {
        "with": "".join(
            (configs / f"{name}.config").read_text() for name in ("ackpol", "tsq", "kunit")
        ),
        "without": "# CONFIG_TCP_ACKPOL is not set\n",
    }
    before = read_changes(POSTED[: POSTED.index(topic)])
    built = []
    for last in range(1, len(series)):
        changes = Changes((*before.patches, *series[1 : last + 1]), before.files)
        tree = prepare_tree(find_source(None), changes, work, say)
        for name, text in lines.items():
            output = make_dir(tree / f"build-{name}")
            log = work / f"{last}-{name}.log"
            log.unlink(missing_ok=True)
            (output / "wanted").write_text(with_ipv6 + text)
            command = [f"KCONFIG_ALLCONFIG={output / 'wanted'}", "allnoconfig"]
            run_make(tree, output, "um", log, command)
            config = (output / ".config").read_text()
            # Before the framework is there both are the same.
            if name == "without" or "CONFIG_TCP_ACKPOL=y\n" in config:
                say(f"{name} policies: {series[last].name}")
                run_make(tree, output, "um", log, ["linux"])
                assert "warning:" not in log.read_text(), log
                built.append(name)
            if name == "with" and last == len(series) - 1:
                check_fragments([policies], config)
    assert built.count("without") == len(series) - 1 >= built.count("with") > 0
