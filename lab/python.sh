#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: lab/python.sh [SET]
#
# Prints the path of the Python interpreter that has airtcp's libraries, for SET run (the default)
# or one of those of setup.sh. Installs nothing; if something is missing, says how to install it.
# Missing Debian packages of run and build are reported by the programs that need them.
set -eu
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=lab/environment.sh
. "$here/environment.sh"
set -- "${1-run}"
choose_set "$1"
hint="'./airtcp setup' lists what is missing and installs it"
[ "$1" = run ] || hint="'./airtcp setup $1' lists what is missing and installs it"
command -v python3 >/dev/null || refuse "python3 is missing: $hint"
find_environment || refuse "python3 does not work (see above)"
if [ -e "$venv/complete" ] && [ ! -x "$venv/bin/python" ]; then
	refuse "the Python environment in $venv is damaged: its Python interpreter is missing: $hint"
fi
environment_works || refuse "not set up: $hint"
if needs_test_libraries; then
	missing=$(missing_packages)
	# shellcheck disable=SC2086
	[ -z "$missing" ] || refuse "missing Debian packages:" $missing\; "$hint"
fi
echo "$venv/bin/python"
