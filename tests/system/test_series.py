# SPDX-License-Identifier: GPL-2.0-only
"""The patch series for posting, on unpatched Linux.

AIRTCP_TEST_STEPS builds the kernel after each patch (`make series-check`), which takes minutes
each; select one with -k: "postable-03" is the third patch of that topic.
"""

import os
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pytest
from guests import Say

from airtcp.cache import cache_dir, locked, make_dir
from airtcp.kernel import series
from airtcp.kernel.image import check_fragments, run_make
from airtcp.kernel.source import (
    NEEDS,
    OVERLAY,
    POSTED,
    TOPICS,
    TOPICS_OF_PLAIN_TCP,
    Step,
    files_of_linux,
    find_series_source,
    find_source,
    prepare_tree,
    read_changes,
    read_series,
)

MAX_PATCHES = 15
STEPS = bool(os.environ.get("AIRTCP_TEST_STEPS"))
PATCHES = Counter(step.topic for step in read_series() if step.topic in POSTED)

# Types of messages of checkpatch.pl that cannot be avoided, and in which files.
EXCEPTIONS = {
    # For each patch with a new file: test_maintainers_has_every_new_file checks it.
    "FILE_PATH_CHANGES": r"",
    # A name in a copyright line is taken for a misspelt "that".
    "TYPO_SPELLING": r"net/core/tcp_ack_filter\.c$",
    # Macros of tracepoints, as in all of include/trace, which checkpatch does not support.
    "OPEN_ENDED_LINE": r"include/trace/events/",
    "PARENTHESIS_ALIGNMENT": r"include/trace/events/",
    # The sources of Linux are here without their history.
    "UNKNOWN_COMMIT_ID": r"$",
    # What BPF programs need of the kernel's own definitions.
    "AVOID_EXTERNS": r"tools/testing/selftests/bpf/progs/bpf_ackpol\.h$",
    "VOLATILE": r"tools/testing/selftests/bpf/progs/bpf_ackpol\.h$",
}

# Groups of options of plain Linux whose code a topic changes: built with all, none, and each alone.
CHANGED_OPTIONS = {"wifi": (("MAC80211", "MAC80211_KUNIT_TEST"), ("NET_SCH_CAKE",))}


@pytest.fixture(scope="module")
def linux(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of Linux that the patches change, and checkpatch."""
    scripts = ("checkpatch.pl", "spelling.txt", "const_structs.checkpatch")
    names = {"Makefile", "MAINTAINERS", *(f"scripts/{name}" for name in scripts)}
    tree = tmp_path_factory.mktemp("plain") / "linux"
    series.extract(
        find_series_source(None, "a series"), sorted(names | files_of_linux(read_changes())), tree
    )
    return tree


@pytest.fixture(scope="module")
def series_of(linux: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[Path]]:
    @cache
    def written(topic: str) -> list[Path]:
        return series.write(tmp_path_factory.mktemp("series"), linux, topic=topic)

    return written


@pytest.fixture(scope="module", params=PATCHES)
def topic(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def applied(
    series_of: Callable[[str], list[Path]],
    topic: str,
    linux: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A git tree of Linux with what the topic needs, and a commit for each patch of the topic."""
    work = tmp_path_factory.mktemp("applied") / "work"
    tree = prepare_tree(linux, read_changes(NEEDS[topic]), work, lambda _: None)
    series.git(tree, "init", "--quiet")
    series.git(tree, "add", "--all")
    series.git(tree, "commit", "--quiet", "--message=before")
    series.git(tree, "tag", "before")
    series.git(tree, "am", "--quiet", "--empty=drop", *map(str, series_of(topic)))
    return tree


def commits(applied: Path) -> list[str]:
    return series.git(applied, "rev-list", "--reverse", "before..").split()


def test_a_series_applies_and_gives_the_files_of_the_overlay(
    applied: Path, topic: str, linux: Path, tmp_path: Path
) -> None:
    assert len(commits(applied)) == PATCHES[topic] <= MAX_PATCHES
    built = prepare_tree(linux, read_changes([topic]), tmp_path / "work", lambda _: None)
    names = {name for step in read_series() if step.topic == topic for name in step.touched}
    for name in names:
        assert (applied / name).read_bytes() == (built / name).read_bytes(), name
    changed = series.git(applied, "diff", "--name-only", "before").split()
    assert set(changed) == names


@pytest.mark.parametrize("topics", [TOPICS, TOPICS_OF_PLAIN_TCP], ids=["all", "plain"])
def test_topics_of_a_laboratory_kernel_apply_together(
    topics: tuple[str, ...], linux: Path, tmp_path: Path
) -> None:
    changes = read_changes(topics)
    built = prepare_tree(linux, changes, tmp_path / "work", lambda _: None)
    assert all((built / name).is_file() for step in changes for name in step.files)


def test_each_patch_passes_checkpatch(
    series_of: Callable[[str], list[Path]], topic: str, linux: Path
) -> None:
    command: list[str | Path] = [
        "perl",
        linux / "scripts" / "checkpatch.pl",
        "--no-tree",
        "--strict",
        "--terse",
    ]
    command += ["--show-types", "--showfile", "--no-summary", *series_of(topic)[1:]]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stderr == ""
    messages = re.findall(r"^(\S*):\d+: (?:ERROR|WARNING|CHECK):(\w+): .*$", done.stdout, re.M)
    assert len(messages) == len(done.stdout.splitlines())
    assert [
        (file, kind)
        for file, kind in messages
        if kind not in EXCEPTIONS or not re.match(EXCEPTIONS[kind], file)
    ] == []


def test_maintainers_has_every_new_file(applied: Path) -> None:
    """MAINTAINERS must list a file from the patch on that adds it."""
    for commit in commits(applied):
        added = series.git(
            applied, "diff-tree", "-r", "--no-commit-id", "--name-only", "--diff-filter=A", commit
        )
        maintainers = series.git(applied, "show", f"{commit}:MAINTAINERS")
        patterns = set(re.findall(r"^F:\s*(\S+)", maintainers, re.M)) - {"*", "*/"}
        for file in added.split():
            assert any(covers(pattern, file) for pattern in patterns), (commit, file)


def covers(pattern: str, file: str) -> bool:
    """Whether a pattern F: of MAINTAINERS matches a file; "dir/" matches the whole directory."""
    if not file.startswith(re.split(r"[*?[]", pattern)[0]):
        return False
    if pattern.endswith("/"):
        return fnmatchcase(file, f"{pattern}*")
    return pattern.count("/") == file.count("/") and fnmatchcase(file, pattern)


@pytest.mark.skipif(not STEPS, reason="takes minutes: make series-check")
@pytest.mark.parametrize(
    ("of_topic", "number"),
    [
        pytest.param(topic, number, id=f"{topic}-{number:02}")
        for topic, count in PATCHES.items()
        for number in range(1, count + 1)
    ],
)
def test_links_after_a_patch_with_and_without_its_options(
    series_of: Callable[[str], list[Path]], of_topic: str, number: int, say: Say
) -> None:
    added = tuple(Step(patch, {}) for patch in series_of(of_topic)[1 : number + 1])
    changes = read_changes(NEEDS[of_topic]) + added
    home = make_dir(cache_dir() / "kernel")
    work = home / "work-series"
    with locked(home / "series.lock", say):
        tree = prepare_tree(find_source(None), changes, work, say)
        for name, feature in configurations(of_topic, changes).items():
            say(f"{name}: {added[-1].patch.name}")
            output = make_dir(tree / f"build-{name}")
            log = work / f"{of_topic}-{number:02}-{name}.log"
            log.unlink(missing_ok=True)
            fragment = output / "feature.config"
            fragment.write_text(feature)
            machine = (OVERLAY / "configs" / "lab.config").read_text()
            # WERROR, so that a file with a warning is compiled, and fails, again in a second run.
            common = "CONFIG_IPV6=y\nCONFIG_KUNIT=y\nCONFIG_WERROR=y\n"
            (output / "wanted").write_text(machine + common + feature)
            command = [f"KCONFIG_ALLCONFIG={output / 'wanted'}", "allnoconfig"]
            # It warns of options that are set twice.
            run_make(tree, output, "um", work / "config.log", command)
            check_fragments([fragment], (output / ".config").read_text())
            run_make(tree, output, "um", log, ["linux"])
            assert "warning:" not in log.read_text(), log


def configurations(topic: str, changes: tuple[Step, ...]) -> dict[str, str]:
    """Kconfig fragments by name: "with" all options that the patches add, and "without".

    Before a patch adds an option there is only "without".
    """
    text = "".join(step.patch.read_text() for step in changes)
    new_options = set(re.findall(r"^\+(?:menu)?config (\w+)\n\+\t(?:bool|tristate) \"", text, re.M))
    groups = CHANGED_OPTIONS.get(topic, ())
    options = sorted(new_options.union(*groups))
    enabled = {"with": set(options), "without": set()} if options else {"without": set()}
    for group in groups:
        enabled[group[0].lower()] = set(group)
    return {
        name: "".join(
            f"CONFIG_{option}=y\n" if option in on else f"# CONFIG_{option} is not set\n"
            for option in options
        )
        for name, on in enabled.items()
    }
