# SPDX-License-Identifier: GPL-2.0-only
"""Hatchling's hook: `make wheel` sets AIRTCP_PREBUILT to the directory of kernel and programs."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Used at run time, and for building kernels with other policies.
_SHARED = (
    *("dkms", "experiments", "kernel", "samples", "LICENSE"),
    *(f"lab/{name}" for name in ("ackhold", "bpf", "guest", "own_policy", "ports")),
    *(f"lab/{name}" for name in ("requirements.txt", "packages.txt")),
    *(f"lab/{name}" for name in ("environment.sh", "hostapd.sh", "setup.sh")),
)
# The kernel image is linked statically, so any C library will do; installers want a version.
_TAG = "py3-none-manylinux_2_17_x86_64"


class Prebuilt(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the prebuilt files and those of the repository; other builds have only Python."""
        prebuilt = os.environ.get("AIRTCP_PREBUILT")
        if version == "editable" or not prebuilt:
            return
        included = build_data["force_include"]
        included[prebuilt] = "airtcp/prebuilt"
        for name in self._shared():
            included[str(Path(self.root, name))] = f"airtcp/share/{name}"
        build_data["pure_python"] = False
        build_data["tag"] = _TAG

    def _shared(self) -> Iterator[str]:
        """The files of the repository, without what .gitignore names, such as built modules."""
        for name in _SHARED:
            top = Path(self.root, name)
            for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
                relative = str(path.relative_to(self.root))
                if path.is_file() and not self.build_config.path_is_excluded(relative):
                    yield relative
