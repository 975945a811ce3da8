# SPDX-License-Identifier: GPL-2.0-only
"""The Debian package airtcp-kernel, which depends on a built kernel and has its settings."""

import gzip
import os
import shutil
from pathlib import Path

from airtcp import programs

NAME = "airtcp-kernel"
# 2025-01-01, as in the kernel.
_EPOCH = 1735689600

_CONTROL = """\
Package: {name}
Version: {version}
Architecture: amd64
Maintainer: airtcp developers <airtcp@airtcp.invalid>
Depends: {image} (= {version})
Suggests: {headers}
Section: metapackages
Priority: optional
Description: Linux kernel with TCP ACK policies (metapackage)
 This package depends on a Linux kernel in which a policy decides when TCP
 acknowledges data, and has the file that selects a policy when the host
 starts, /etc/sysctl.d/90-airtcp.conf. As installed, it selects none.
"""
_SETTINGS = """\
# The ACK policy of new TCP connections. Remove the '#', and run 'sysctl --system'.
#net.ipv4.tcp_ack_policy = auto
"""
_COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: airtcp

Files: *
Copyright: 2026 The authors of airtcp
License: GPL-2

License: GPL-2
 On Debian systems, the text of version 2 of the GNU General Public License is
 in /usr/share/common-licenses/GPL-2.
"""
_CHANGELOG = """\
{name} ({version}) unstable; urgency=medium

  * Built with this version of Linux.

 -- airtcp developers <airtcp@airtcp.invalid>  Wed, 01 Jan 2025 00:00:00 +0000
"""


def build(image: Path, scratch: Path) -> Path:
    """Build the package for the package linux-image `image`, next to it; returns its path.

    scratch: a directory to use, which is removed. Raises AirtcpError if dpkg-deb fails.
    """
    image_name, version, rest = image.name.split("_")
    facts = {
        "name": NAME,
        "version": version,
        "image": image_name,
        "headers": image_name.replace("linux-image", "linux-headers", 1),
    }
    documents = f"usr/share/doc/{NAME}"
    files = {
        "DEBIAN/control": _CONTROL.format(**facts).encode(),
        "DEBIAN/conffiles": b"/etc/sysctl.d/90-airtcp.conf\n",
        "etc/sysctl.d/90-airtcp.conf": _SETTINGS.encode(),
        f"{documents}/copyright": _COPYRIGHT.encode(),
        f"{documents}/changelog.Debian.gz": gzip.compress(
            _CHANGELOG.format(**facts).encode(), mtime=0
        ),
    }
    shutil.rmtree(scratch, ignore_errors=True)
    for name, content in files.items():
        path = scratch / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    for path in (scratch, *scratch.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    package = image.with_name(f"{NAME}_{version}_{rest}")
    command = ["dpkg-deb", "--root-owner-group", "--build", scratch, package]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(_EPOCH)}
    programs.run(command, f"cannot build {package}", environment=environment)
    shutil.rmtree(scratch)
    return package
