# SPDX-License-Identifier: GPL-2.0-only
"""The types of steps; a plan is a sequence of steps.

A backend renders or executes them. Steps run in the node of their block (In), or in no node.
Relative paths are in the directory of the run.
"""

from collections.abc import Sequence
from dataclasses import dataclass

# Programs that can read many commands at once; backends may batch consecutive commands.
BATCHED = ("ip", "tc", "airsim")


@dataclass(frozen=True)
class Run:
    """Run a program until it ends; a `*` in its arguments is expanded to file names.

    node: if not that of the block. stdout: a file. stdin: a text. required: the run fails if the
    program fails. blocking: the program blocks in the kernel instead of polling.
    """

    argv: tuple[str, ...]
    node: str = ""
    stdout: str = ""
    stdin: str = ""
    required: bool = True
    blocking: bool = False

    @property
    def batched(self) -> bool:
        """Whether it can be batched with its neighbours."""
        alone = self.node or self.stdout or self.stdin or not self.required
        return self.argv[0] in BATCHED and not alone


@dataclass(frozen=True)
class In:
    """Steps that run in a node."""

    node: str
    steps: "Sequence[Step]"


@dataclass(frozen=True)
class Note:
    """A comment in the plan; empty: an empty line."""

    text: str = ""


@dataclass(frozen=True)
class Sleep:
    """Sleep in virtual time."""

    seconds: float


@dataclass(frozen=True)
class Sysctl:
    """Set a sysctl of net.ipv4 in the node."""

    name: str
    value: str


@dataclass(frozen=True)
class Put:
    """Write a value to a file of the kernel."""

    value: str
    path: str


@dataclass(frozen=True)
class Offload:
    """Turn on an offload of a network device if the device supports it."""

    device: str
    feature: str


@dataclass(frozen=True)
class WriteFile:
    """Write a text to a file."""

    path: str
    text: str


@dataclass(frozen=True)
class Keep:
    """Copy files of the kernel: (source, destination). optional: only if the source exists."""

    files: tuple[tuple[str, str], ...]
    optional: bool = False


@dataclass(frozen=True)
class AwaitCarrier:
    """Wait until a device of the node has a carrier. what: the event, for messages."""

    device: str
    seconds: int
    what: str


@dataclass(frozen=True)
class Associate:
    """Associate a station's wlan0 with a network; bssid: empty if any access point will do."""

    ssid: str
    frequency_mhz: int
    seconds: int
    bssid: str = ""


@dataclass(frozen=True)
class Jobs:
    """Declare the names of jobs."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Start:
    """Start steps in the background as part of a job. only: the job has no other parts."""

    steps: "Sequence[Step]"
    job: str
    only: bool = False


@dataclass(frozen=True)
class Wait:
    """Wait for a job. failure: the message if it failed without a message of its own."""

    job: str
    failure: str = ""
    only: bool = False


@dataclass(frozen=True)
class Cancel:
    """Stop a job with one part if it is still running. failure: the message if it has failed."""

    job: str
    failure: str


@dataclass(frozen=True)
class Instrument:
    """Start a program that measures in the background until EndInstruments.

    outlasts: it continues until the last connection is closed.
    """

    run: Run
    outlasts: bool = False


@dataclass(frozen=True)
class CheckInstruments:
    """Check that all instruments are running."""


@dataclass(frozen=True)
class EndInstruments:
    """Stop all instruments."""


@dataclass(frozen=True)
class Trace:
    """Start to trace events in the kernel, in a separate instance if it has a name."""

    events: str
    buffer_kib: int
    instance: str = ""

    @property
    def directory(self) -> str:
        tracing = "/sys/kernel/tracing"
        return f"{tracing}/instances/{self.instance}" if self.instance else tracing


Step = (
    Run
    | In
    | Note
    | Sleep
    | Sysctl
    | Put
    | Offload
    | WriteFile
    | Keep
    | AwaitCarrier
    | Associate
    | Jobs
    | Start
    | Wait
    | Cancel
    | Instrument
    | CheckInstruments
    | EndInstruments
    | Trace
)


def run(command: str, *more: str, node: str = "", stdout: str = "") -> Run:
    """A required program: a command that is split at spaces, and more arguments."""
    return Run((*command.split(), *more), node=node, stdout=stdout)
