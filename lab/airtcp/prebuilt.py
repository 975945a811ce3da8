# SPDX-License-Identifier: GPL-2.0-only
"""A kernel and programs of the guest that were built elsewhere: those of a wheel.

A wheel has them in airtcp/prebuilt/; for a checkout, unpack() takes them from one. They are used if
they were made by the recipe of this copy of airtcp: the same patches, files, configuration, sources
and options, perhaps with another compiler.
"""

import json
import shutil
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from airtcp import atomicfile
from airtcp.cache import cache_dir, locked, make_dir
from airtcp.errors import AirtcpError, InputError, of_file, reason
from airtcp.paths import PACKAGE

DESCRIPTION = "prebuilt.json"
IN_WHEEL = "airtcp/prebuilt"

Part = Literal["kernel", "tools"]


def find(part: Part, recipe: str) -> Path | None:
    """The directory of the part if it was made by this recipe. Raises AirtcpError if it is damaged.

    The name of the directory is the hash of the content, as in the cache.
    """
    found = locate(part, recipe)
    if found and (damage := atomicfile.damage(found)):
        raise AirtcpError(f"{found} is damaged ({damage}): {_remedy(found)}")
    return found


def locate(part: Part, recipe: str) -> Path | None:
    """The same without reading its files."""
    for directory in (PACKAGE / "prebuilt", _unpacked()):
        description = _description(directory).get(part)
        if description and description["recipe"] == recipe:
            return directory / str(description["directory"])
    return None


def commit() -> str | None:
    """The commit that the wheel was made from."""
    known: str | None = _description(PACKAGE / "prebuilt").get("commit")
    return known


def _unpacked() -> Path:
    return cache_dir() / "prebuilt"


def _remedy(damaged: Path) -> str:
    unpacked = _unpacked()
    return f"remove {unpacked}" if damaged.is_relative_to(unpacked) else "install airtcp again"


def _description(directory: Path) -> dict[str, Any]:
    try:
        document: dict[str, Any] = json.loads((directory / DESCRIPTION).read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise AirtcpError(
            f"{directory / DESCRIPTION} cannot be read ({error}): {_remedy(directory)}"
        ) from None
    return document


def unpack(wheel: Path, recipes: Mapping[Part, str], say: Callable[[str], None]) -> Path:
    """Take kernel and programs from a wheel, if they were made by these recipes.

    Otherwise raises InputError or AirtcpError, and keeps what was unpacked before.
    """
    target = _unpacked()
    make_dir(target.parent)
    scratch = target.with_name("prebuilt.new")
    with locked(target.with_name("prebuilt.lock"), say):
        shutil.rmtree(scratch, ignore_errors=True)
        try:
            with _open(wheel) as archive:
                _require(archive, wheel, recipes)
                _extract(archive, scratch)
            atomicfile.place(scratch, target)
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise InputError(f"{wheel}: cannot be read as a wheel: {error}") from None
        except OSError as error:
            raise of_file(error, scratch) from None
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return target


def _open(wheel: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(wheel)
    except OSError as error:
        raise InputError(f"{wheel}: {reason(error)}") from None


def _require(archive: zipfile.ZipFile, wheel: Path, recipes: Mapping[Part, str]) -> None:
    try:
        description = json.loads(archive.read(f"{IN_WHEEL}/{DESCRIPTION}"))
    except KeyError:
        raise InputError(f"{wheel}: contains no kernel: it was not made by `make wheel`") from None
    if recipes != {part: description.get(part, {}).get("recipe") for part in recipes}:
        raise AirtcpError(
            f"{wheel}: not used, because this checkout has other patches, configuration or "
            "sources of the guest's programs"
        )


def _extract(archive: zipfile.ZipFile, target: Path) -> None:
    for member in archive.infolist():
        name = Path(member.filename)
        if member.is_dir() or not name.is_relative_to(IN_WHEEL) or ".." in name.parts:
            continue
        path = target / name.relative_to(IN_WHEEL)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(archive.read(member))
        path.chmod(member.external_attr >> 16 & 0o777)
