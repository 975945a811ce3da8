# SPDX-License-Identifier: GPL-2.0-only
"""Certificates of a cluster as they are read."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from airtcp.errors import InputError
from airtcp.sweep import certificates


def refused(directory: Path) -> str:
    with pytest.raises(InputError) as raised:
        certificates.read(directory)
    message = re.fullmatch(
        rf"--certificates {re.escape(str(directory))}: ca.pem, certificate.pem and key.pem cannot "
        r"be used together \((.*)\)",
        str(raised.value),
    )
    assert message, raised.value
    return message[1]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return certificates.create(tmp_path / "certificates").directory


def test_created_certificates_can_be_used(directory: Path) -> None:
    assert certificates.read(directory).directory == directory


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("ca.pem", "unable to get local issuer certificate"),
        ("certificate.pem", "KEY_VALUES_MISMATCH"),
        ("key.pem", "KEY_VALUES_MISMATCH"),
    ],
)
def test_files_of_two_clusters_are_refused(
    directory: Path, tmp_path: Path, name: str, problem: str
) -> None:
    other = certificates.create(tmp_path / "other").directory
    shutil.copy(other / name, directory / name)
    assert refused(directory) == problem


def test_certificate_that_is_not_for_clients_is_refused(directory: Path) -> None:
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-subj", "/CN=server", "-addext", "extendedKeyUsage=serverAuth"),
            *("-keyout", directory / "key.pem", "-out", directory / "certificate.pem"),
        ],
        check=True,
        capture_output=True,
    )
    shutil.copy(directory / "certificate.pem", directory / "ca.pem")
    assert "purpose" in refused(directory)
