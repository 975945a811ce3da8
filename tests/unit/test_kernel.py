# SPDX-License-Identifier: GPL-2.0-only
"""The cache key, the check of Kconfig fragments, and the error of a failed build."""

import platform
from collections.abc import Callable
from pathlib import Path

import pytest

from airtcp.errors import AirtcpError, InputError
from airtcp.kernel import image
from airtcp.kernel.source import Step


def key(tmp_path: Path, **changed: str) -> str:
    inputs = {
        "source": "sha",
        "compiler": "gcc 12",
        "patch": "diff",
        "patch_name": "1.patch",
        "file": "int x;",
        "file_path": "net/x.c",
        "fragment": "CONFIG_NET=y",
    } | changed
    patch, file, fragment = tmp_path / inputs["patch_name"], tmp_path / "x.c", tmp_path / "lab"
    patch.write_text(inputs["patch"])
    file.write_text(inputs["file"])
    fragment.write_text(inputs["fragment"])
    changes = (Step(patch, {inputs["file_path"]: file}),)
    return image.cache_key(inputs["source"], changes, [fragment], inputs["compiler"], "um")


def test_key_is_16_hexadecimal_digits_and_stable(tmp_path: Path) -> None:
    assert key(tmp_path) == key(tmp_path)
    assert len(key(tmp_path)) == 16
    int(key(tmp_path), 16)


@pytest.mark.parametrize(
    "name", ["source", "compiler", "patch", "patch_name", "file", "file_path", "fragment"]
)
def test_key_changes_with_each_input(tmp_path: Path, name: str) -> None:
    assert key(tmp_path, **{name: "another"}) != key(tmp_path)


def test_versions_of_the_compiler_do_not_depend_on_the_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("gcc", "ld"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho "{name} 1.0 in $LC_ALL"\n')
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("LC_ALL", "fr_FR.UTF-8")
    assert image._compiler() == "gcc 1.0 in C\nld 1.0 in C\n"


def test_key_changes_with_the_order_of_steps(tmp_path: Path) -> None:
    """A file can be added before or after a patch that changes it."""
    for name in ("1.patch", "2.patch", "x.c", "y.c"):
        (tmp_path / name).write_text(name)
    first, second, x, y = (tmp_path / name for name in ("1.patch", "2.patch", "x.c", "y.c"))
    orders = (
        (Step(first, {"x.c": x, "y.c": y}), Step(second, {})),
        (Step(first, {"x.c": x}), Step(second, {"y.c": y})),
        (Step(first, {}), Step(second, {"x.c": x, "y.c": y})),
        (Step(second, {}), Step(first, {"x.c": x, "y.c": y})),
    )
    keys = {image.cache_key("sha", changes, [], "gcc 12", "um") for changes in orders}
    assert len(keys) == len(orders)


def test_fragment_lines_with_effect_are_accepted(tmp_path: Path) -> None:
    fragment = tmp_path / "lab.config"
    fragment.write_text(
        'CONFIG_A=y\nCONFIG_B=n\n# CONFIG_C is not set\nCONFIG_D="x"\n# a comment\n'
    )
    image.check_fragments([fragment], 'CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_D="x"\n')


@pytest.mark.parametrize(
    ("line", "config"),
    [
        ("CONFIG_A=y", ""),
        ("CONFIG_A=y", "CONFIG_A=m"),
        ("CONFIG_A=n", "CONFIG_A=y"),
        ("# CONFIG_A is not set", "CONFIG_A=y"),
    ],
)
def test_fragment_line_without_effect_is_reported(tmp_path: Path, line: str, config: str) -> None:
    fragment = tmp_path / "lab.config"
    fragment.write_text(f"# first\n{line}\n")
    with pytest.raises(InputError, match=r"lab\.config:2: CONFIG_A=. has no effect"):
        image.check_fragments([fragment], config)


def test_later_fragment_overrides(tmp_path: Path) -> None:
    first, second = tmp_path / "one.config", tmp_path / "two.config"
    first.write_text("CONFIG_A=y\n")
    second.write_text("CONFIG_A=n\n")
    image.check_fragments([first, second], "")


def test_fragment_line_without_an_option_is_refused(tmp_path: Path) -> None:
    fragment = tmp_path / "lab.config"
    fragment.write_text("CONFIG_A y\n")
    with pytest.raises(InputError, match=r"lab\.config:1: .*expected CONFIG_NAME=value"):
        image.check_fragments([fragment], "")


def test_error_of_an_unknown_fragment_lists_available_ones() -> None:
    with pytest.raises(InputError, match=r"nosuch.*available: .*lab"):
        image.build(fragments=("nosuch",), say=print)


def test_another_processor_is_named_before_missing_programs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(AirtcpError, match=r"^kernels can .* only on x86-64; .* is aarch64$"):
        image.build(use_prebuilt=False, say=print)


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("  CC x.o\nx.c:1:2: error: no\nmake: *** [x] Error 1\n", "x.c:1:2: error: no"),
        ("x.o: No space left on device\n", "x.o: No space left on device"),
        (
            "ld: x.o: in function `f':\nx.c:(.text+0x41): undefined reference to `g'\n"
            "collect2: error: ld returned 1 exit status\n",
            "x.c:(.text+0x41): undefined reference to `g'",
        ),
        ("make: *** No rule\n", "make: *** No rule"),
        (
            "make[6]: *** No rule to make target 'x.o', needed by 'y.a'.  Stop.\n"
            "make[5]: *** [x] Error 2\n",
            "make[6]: *** No rule to make target 'x.o', needed by 'y.a'.  Stop.",
        ),
        ("", "the log is empty"),
    ],
)
def test_the_first_error_of_a_log_is_found(log: str, expected: str) -> None:
    assert image.first_error(log) == expected


def test_a_log_may_contain_other_text_than_utf8(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a compiler shows a line of a source in Latin-1."""
    monkeypatch.setenv("AIRTCP_CACHE", str(tmp_path / "cache"))
    (tmp_path / "Makefile").write_text("all:\n\t@printf 'x.c:1: error: \\351\\n'; false\n")
    with pytest.raises(AirtcpError, match=r"does not build: x\.c:1: error: \ufffd \(log"):
        image.run_make(tmp_path, tmp_path / "build", "um", tmp_path / "log", ["all"])


def test_the_warnings_of_a_log_are_found() -> None:
    warning = "../x.c:1:2: warning: unused variable 'y' [-Wunused-variable]"
    log = f"  CC x.o\n{warning}\n    1 | int y;\n{warning}\n  CC z.o\n"
    assert image.compiler_warnings(log) == [warning]


def test_variables_of_the_user_do_not_change_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cache key does not include them."""
    monkeypatch.setenv("AIRTCP_CACHE", str(tmp_path / "cache"))
    (tmp_path / "Makefile").write_text("all:\n\t@env\n")
    log = tmp_path / "log"

    def variables() -> list[str]:
        log.unlink(missing_ok=True)
        image.run_make(tmp_path, tmp_path / "build", "um", log, ["all"])
        return sorted(log.read_text().splitlines())

    undisturbed = variables()
    for name in (
        "LOCALVERSION",
        "KCFLAGS",
        "CROSS_COMPILE",
        "LLVM",
        "KCONFIG_CONFIG",
        "GNUMAKEFLAGS",
    ):
        monkeypatch.setenv(name, "-s")
    # With it, bc prints a line before timeconst.h.
    monkeypatch.setenv("POSIXLY_CORRECT", "1")
    assert variables() == undisturbed


def test_only_fragments_with_btf_need_pahole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The version of pahole is part of the configuration, and so of the cache key."""
    plain, btf = tmp_path / "plain", tmp_path / "btf"
    plain.write_text("# CONFIG_DEBUG_INFO_BTF=y\nCONFIG_NET=y\n")
    btf.write_text("CONFIG_NET=y\nCONFIG_DEBUG_INFO_BTF=y\n")
    program = tmp_path / "pahole"
    program.write_text("#!/bin/sh\necho v1.24\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    pahole: Callable[[list[Path]], str] = vars(image)["_pahole"]
    assert pahole([plain]) == ""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert pahole([plain, btf]) == "v1.24\n"


def test_error_of_strip_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(AirtcpError, match=r"^cannot strip the kernel: .*linux.*$"):
        image._strip(Path("/bin/true"), tmp_path / "missing" / "linux")
