# SPDX-License-Identifier: GPL-2.0-only
"""hosts.yaml: the hosts that measure, and how to reach them."""

import ipaddress
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import AfterValidator, Field, ValidationError

from airtcp import yamlfile
from airtcp.errors import InputError
from airtcp.experiment.messages import explain, most_specific
from airtcp.parameters.quantity import OnOff, whole_seconds
from airtcp.parameters.section import Strict

Role = Literal["server", "ap", "station"]


def _word(text: str) -> str:
    if not text or text.startswith("-") or not text.isprintable() or " " in text:
        raise ValueError(f"{text!r} is not a name; it starts with no - and has no spaces")
    return text


def _address(text: str) -> str:
    try:
        return str(ipaddress.IPv4Address(text))
    except ValueError:
        raise ValueError(f"{text!r} is not an IPv4 address, as in 192.168.1.2") from None


Word = Annotated[str, AfterValidator(_word)]


class HostEntry(Strict):
    """Any host. ssh: the destination for ssh. interface: of an access point, its radio."""

    ssh: Word
    interface: Word | None = None
    power_save: Literal["off", "keep"] = "off"


class EndEntry(HostEntry):
    """A host that sends or receives data. interface, address: towards the other one."""

    interface: Word
    address: Annotated[str, AfterValidator(_address)]


class ServerEntry(EndEntry):
    """The server. netem: whether qdiscs at its interface may imitate delay, rate and loss."""

    netem: OnOff = False


class Inventory(Strict):
    """The hosts. dead_man_s: time without the client after which a host restores its settings."""

    server: ServerEntry
    station: EndEntry
    ap: HostEntry | None = None
    ssh_config: Word | None = None
    directory: Annotated[Word, Field(pattern="^/[A-Za-z0-9._/-]*$")] = "/tmp"
    dead_man_s: Annotated[float, whole_seconds(3, 3600)] = Field(30.0, alias="dead_man")

    @property
    def entries(self) -> Iterator[tuple[Role, HostEntry]]:
        """The hosts; the access point is last."""
        yield "server", self.server
        yield "station", self.station
        if self.ap:
            yield "ap", self.ap


def read(path: Path) -> Inventory:
    """Read hosts.yaml. Raises InputError."""
    node = yamlfile.compose(yamlfile.read(path), str(path))
    try:
        found = Inventory.model_validate(yamlfile.data(node, str(path)))
    except ValidationError as error:
        first = most_specific(error)
        where = ".".join(str(part) for part in first["loc"])
        line = _line(node, first["loc"])
        entries: dict[object, type[Strict]] = {
            "server": ServerEntry,
            "station": EndEntry,
            "ap": HostEntry,
        }
        model = entries.get(first["loc"][0], Inventory) if len(first["loc"]) > 1 else Inventory
        if not where:
            raise InputError(f"{path}: not a mapping with server and station") from None
        raise InputError(f"{path}:{line}: {where}: {explain(first, model)}") from None
    roles: dict[str, Role] = {}
    for role, entry in found.entries:
        if (other := roles.setdefault(entry.ssh, role)) != role:
            line = _line(node, (role, "ssh"))
            raise InputError(f"{path}:{line}: {role}.ssh: {entry.ssh} is already the {other}")
    if found.ssh_config:
        try:
            config = path.parent / Path(found.ssh_config).expanduser()
        except RuntimeError:
            raise InputError(f"{path}: ssh_config: {found.ssh_config}: no such user") from None
        try:
            known = config.is_file()
        except OSError as error:
            raise InputError(f"{path}: ssh_config: {config}: {error.strerror}") from None
        if not known:
            raise InputError(f"{path}: ssh_config: {config}: no such file")
        found = found.model_copy(update={"ssh_config": str(config.absolute())})
    return found


def _line(node: yaml.Node | None, keys: tuple[int | str, ...]) -> int:
    """The line of a key, or of the mapping in which it is missing."""
    line = 1
    for key in keys:
        pairs = node.value if isinstance(node, yaml.MappingNode) else []
        found = next((pair for pair in pairs if pair[0].value == key), None)
        if not found:
            break
        line, node = found[0].start_mark.line + 1, found[1]
    return line
