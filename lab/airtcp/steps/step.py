# SPDX-License-Identifier: GPL-2.0-only
"""What a run does, as values: a plan is a sequence of steps.

A backend renders them, or runs them itself. Most steps stand in a block of one node (In), or belong
to no node. Paths without a leading slash are in the directory of the run.
"""

from collections.abc import Sequence
from dataclasses import dataclass

# Programs that read many commands at once, which a backend may use for those that follow another.
BATCHED = ("ip", "tc", "airsim")


@dataclass(frozen=True)
class Run:
    """A program, until it ends; a `*` in its words stands for names of files.

    node: where, if not where the block is. stdout, stdin: a file; text. required: the run fails
    where the program does. blocking: it waits in the kernel where it would poll.
    """

    argv: tuple[str, ...]
    node: str = ""
    stdout: str = ""
    stdin: str = ""
    required: bool = True
    blocking: bool = False

    @property
    def batched(self) -> bool:
        """Whether it may share a process with its neighbours."""
        alone = self.node or self.stdout or self.stdin or not self.required
        return self.argv[0] in BATCHED and not alone


@dataclass(frozen=True)
class In:
    """Steps in a node."""

    node: str
    steps: "Sequence[Step]"


@dataclass(frozen=True)
class Note:
    """A comment in the plan; empty: an empty line."""

    text: str = ""


@dataclass(frozen=True)
class Sleep:
    seconds: float


@dataclass(frozen=True)
class Sysctl:
    """A sysctl of net.ipv4 of the node."""

    name: str
    value: str


@dataclass(frozen=True)
class Put:
    """A value for one of the kernel's files."""

    value: str
    path: str


@dataclass(frozen=True)
class Offload:
    """A feature of a network device is turned on, where the device has it."""

    device: str
    feature: str


@dataclass(frozen=True)
class WriteFile:
    path: str
    text: str


@dataclass(frozen=True)
class Keep:
    """Copies of the kernel's files: (what, as which file). optional: where it is there."""

    files: tuple[tuple[str, str], ...]
    optional: bool = False


@dataclass(frozen=True)
class AwaitCarrier:
    """Until a device of the node has a carrier; `what` has happened then."""

    device: str
    seconds: int
    what: str


@dataclass(frozen=True)
class Associate:
    """A station's wlan0 joins a network."""

    ssid: str
    frequency_mhz: int
    seconds: int


@dataclass(frozen=True)
class Jobs:
    """Names of jobs, none of which has begun."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Start:
    """Steps that go on in the background, as part of a job; only: as the whole of it."""

    steps: "Sequence[Step]"
    job: str
    only: bool = False


@dataclass(frozen=True)
class Wait:
    """Until a job has ended. failure: what to say when it failed, if it has not said so itself."""

    job: str
    failure: str = ""
    only: bool = False


@dataclass(frozen=True)
class Cancel:
    """The end of a job that has one part only, if it goes on; it may not have failed."""

    job: str
    failure: str


@dataclass(frozen=True)
class Instrument:
    """A program that measures in the background, until EndInstruments.

    outlasts: it then goes on until the last connection is closed.
    """

    run: Run
    outlasts: bool = False


@dataclass(frozen=True)
class CheckInstruments:
    """All of them are running."""


@dataclass(frozen=True)
class EndInstruments:
    pass


@dataclass(frozen=True)
class Trace:
    """The kernel traces events from now on, in an instance of its own where that has a name."""

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


def run(words: str, *more: str, node: str = "", stdout: str = "") -> Run:
    """A required program from its words, those separated by spaces first."""
    return Run((*words.split(), *more), node=node, stdout=stdout)
