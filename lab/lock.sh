#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Writes requirements.txt and requirements-test.txt: the newest versions of the libraries
# in pyproject.toml and of their dependencies, as installed by pip in a new environment.
set -eu
cd "$(dirname "$(readlink -f "$0")")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

libraries() {
	"$scratch/venv/bin/pip" install -q "$1"
	"$scratch/venv/bin/pip" list --format freeze --exclude airtcp --exclude pip --exclude setuptools
}

python3 -m venv "$scratch/venv"
libraries '.[cluster]' >"$scratch/run"
libraries '.[cluster,test]' >"$scratch/all"

{
	echo "# The libraries that airtcp runs with. Locked by \`make lock\` from pyproject.toml: do not edit."
	cat "$scratch/run"
} >lab/requirements.txt
{
	echo "# The libraries that its tests need too. Locked by \`make lock\` from pyproject.toml: do not edit."
	grep -vxF -f "$scratch/run" "$scratch/all"
} >lab/requirements-test.txt
