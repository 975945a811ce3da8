# SPDX-License-Identifier: GPL-2.0-only
"""What every test that boots a guest needs."""

import json
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from airtcp.backends import guesttools, uml
from airtcp.backends.guesttools import GuestTools
from airtcp.backends.uml import boot
from airtcp.experiment.experiment import Case, Setting
from airtcp.experiment.reader import load
from airtcp.kernel import image
from airtcp.kernel.image import Kernel
from airtcp.results.record import Result
from airtcp.steps.script import HELPERS
from airtcp.sweep.run import run_one

GUEST = Path(__file__).parent / "guest"
DEBUG = bool(os.environ.get("AIRTCP_TEST_DEBUG"))

# Files and tests that want lab_kernel, and that AIRTCP_TEST_DEBUG leaves out: why.
_COMMAND_LINE = "runs the command line, which builds the ordinary kernel"
NOT_ON_DEBUG = {
    **dict.fromkeys(
        (
            *("test_cluster.py", "test_docs.py", "test_interrupt.py", "test_new.py"),
            *("test_resume.py", "test_shell.py"),
            "test_rules_go_with_the_experiment_whatever_ends_it",
        ),
        _COMMAND_LINE,
    ),
    "test_own_policy.py": "builds a kernel of its own with a user's policy",
    "test_default_is_linux_to_the_packet": "compares with a kernel of plain Linux, without debug",
    "test_panic_is_told": "its kernel panics, and says so",
    "test_saturated_stations_are_as_bianchi_says": "24 minutes of virtual time",
}

# KASAN and BUG(), lockdep and RCU, WARN(), UBSAN, debug objects, allocation failures.
SIGNS = re.compile(
    r"BUG:|WARNING:|INFO:|KASAN|UBSAN|ODEBUG|suspicious RCU|unreferenced object|Call Trace"
    r"|kmemleak: .*(?:disabled|new suspected)|turning off the locking|refcount_t|list_(?:add|del)"
)

# How metrics begin that a run has only with something on the way: filters, slow processors.
OF_THE_PATH = ("acks_filtered", "router_", "host_")

Say = Callable[[str], None]
Measure = Callable[..., Result]
Figure = Callable[[str, object], None]
"""pytest's record_property: a count that `make verify` adds up and shows."""

# A shell ignores Ctrl-C for what it starts in the background; the tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)


def thesis_case(*settings: str) -> Case:
    """One case of thesis-lan for 2 s without captures, with the settings on top."""
    texts = ("duration=2s", "capture=off", "ack_policy=default", *settings)
    chosen = {text.partition("=")[0]: text for text in texts}
    [case] = load("thesis-lan").cases([Setting.parse(text) for text in chosen.values()])
    return case


def give_helpers(run_dir: Path) -> None:
    """What a script of tests/guest sources: helpers.sh, those of the plans, and leaks.sh."""
    (run_dir / "helpers.sh").write_text(HELPERS)
    shutil.copy(GUEST / "leaks.sh", run_dir)


def told_by(
    script: Path, kernel: Kernel, tools: GuestTools, run_dir: Path, *arguments: str
) -> dict[str, Any]:
    """What a Python script of tests/guest prints as JSON, in a guest of its own."""
    shutil.copy(script, run_dir)
    command = " ".join(("python3 -B", script.name, *arguments))
    (run_dir / "plan.sh").write_text(f"ip link set lo up\n{command} >said.json\n")
    result = boot(kernel, tools, run_dir, seed=1, timeout_wall_s=120)
    assert result.status == "ok", (result.reason, result.console.read_text()[-2000:])
    told: dict[str, Any] = json.loads((run_dir / "said.json").read_text())
    return told


def boots_with(*options: str) -> Callable[..., list[str]]:
    """What uml._command() says, with more options for the guest's kernel."""
    command = uml._command

    def more(*given: Any) -> list[str]:
        *words, init, end, option, script = command(*given)
        return [*words, *options, init, end, option, script]

    return more


@pytest.fixture(scope="session")
def say(pytestconfig: pytest.Config) -> Say:
    """Print past pytest's capture: building a kernel takes minutes."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")

    def print_at_once(text: str) -> None:
        with capture.global_and_fixture_disabled():
            print(text, flush=True)

    return print_at_once


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With AIRTCP_TEST_DEBUG set only those tests are left whose guests run the debug kernel."""
    if DEBUG:
        left_out = [item for item in items if not on_debug_kernel(item)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def on_debug_kernel(item: pytest.Item) -> bool:
    """Whether a test's guests run the kernel of lab_kernel, so that it may be the debug kernel."""
    names = (item.path.name, getattr(item, "originalname", ""))
    return "fragments" in getattr(item, "fixturenames", ()) and NOT_ON_DEBUG.keys().isdisjoint(
        names
    )


@pytest.fixture(scope="session")
def fragments() -> tuple[str, ...]:
    """Of the kernel in User Mode Linux: which of kernel/configs are merged."""
    return (*image.FRAGMENTS, *(["debug"] if DEBUG else []))


@pytest.fixture(scope="session")
def lab_kernel(fragments: tuple[str, ...], say: Say) -> Kernel:
    return image.build(fragments=fragments, say=say)


@pytest.fixture(autouse=DEBUG)
def silent_consoles(tmp_path: Path) -> Iterator[None]:
    """With AIRTCP_TEST_DEBUG set every guest's kernel checks itself, and has to keep quiet."""
    yield
    for console in tmp_path.rglob("console.log"):
        assert splats(console) == [], console


@pytest.fixture(scope="session", autouse=DEBUG)
def silent_consoles_of_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The same for guests that several tests share, whose directories are there until the end."""
    yield
    for console in tmp_path_factory.getbasetemp().rglob("console.log"):
        assert splats(console) == [], console


def splats(console: Path) -> list[str]:
    """What a kernel that checks itself has found, by lines of its console."""
    return [line for line in console.read_text(errors="replace").splitlines() if SIGNS.search(line)]


@pytest.fixture(scope="session")
def tools(say: Say) -> GuestTools:
    return guesttools.build_tools(say)


@pytest.fixture
def measure(lab_kernel: Kernel, tools: GuestTools, tmp_path: Path) -> Measure:
    def one(*settings: str, seed: int = 1) -> Result:
        return run_one(lab_kernel, tools, thesis_case(*settings), seed, tmp_path)

    return one
