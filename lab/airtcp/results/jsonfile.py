# SPDX-License-Identifier: GPL-2.0-only
"""JSON files with a hash and a version, which are upgraded when they are read.

`schema` is the version of a document's format. Documents of older versions are upgraded step by
step when they are read; those of newer versions are rejected. The last key of a file, `sha256`, is
the hash of all bytes before it, so that any change of the file is detected. Schema 1 has no hash.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

JsonObject = dict[str, JsonValue]
Upgrade = Callable[[JsonObject], JsonObject]

_FIRST_SEALED = 2
_SEAL = re.compile(rb',\n "sha256": "([0-9a-f]{64})"\n}\n\Z')

CHANGED = "has changed"


class Document(BaseModel):
    """A part of such a file. Unknown keys, from a later version, are ignored."""

    model_config = ConfigDict(
        extra="ignore", frozen=True, populate_by_name=True, serialize_by_alias=True
    )


class VersionMismatchError(ValueError):
    """The file has a version that this program cannot read."""


T = TypeVar("T", bound=Document)


@dataclass(frozen=True)
class Form(Generic[T]):
    """A format: its model, its version, and a function from each version to the next.

    Upgrades may change their argument.
    """

    model: type[T]
    version: int
    upgrades: Mapping[int, Upgrade]

    def parse(self, content: bytes) -> T:
        """Parse the content of a file. Raises ValueError with a predicate, as `has changed`."""
        seal = _SEAL.search(content)
        if seal and _hash(content[: seal.start()]) != seal[1].decode():
            raise ValueError(CHANGED)
        try:
            document = json.loads(content)
        except (RecursionError, ValueError):  # thousands of brackets
            raise ValueError("is not JSON, or truncated") from None
        document = self.upgraded(document, sealed=bool(seal))
        try:
            return self.model.model_validate(document)
        except ValidationError as error:
            first = error.errors()[0]
            at = ".".join(map(str, first["loc"]))
            raise ValueError(f"is not a complete document ({at}: {first['msg']})") from None

    def upgraded(self, document: object, *, sealed: bool = True) -> JsonObject:
        """The document in the current version. Raises ValueError."""
        version = document.get("schema") if isinstance(document, dict) else None
        if not isinstance(document, dict) or not isinstance(version, int):
            raise ValueError("is not a document of airtcp: it has no schema")
        if not 1 <= version <= self.version:
            raise VersionMismatchError(
                f"is of schema {version}, which another version of airtcp wrote; "
                f"this one reads schemas 1 to {self.version}"
            )
        if version >= _FIRST_SEALED and not sealed:
            raise ValueError(CHANGED)
        for step in range(version, self.version):
            try:
                document = self.upgrades[step](document) | {"schema": step + 1}
            except (AttributeError, KeyError, TypeError):
                raise ValueError(f"is not a complete document of schema {step}") from None
        return document


def text(document: JsonObject) -> str:
    """The content of the file of a document."""
    body = json.dumps(document, indent=1).removesuffix("\n}")
    return f'{body},\n "sha256": "{_hash(body.encode())}"\n}}\n'


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
