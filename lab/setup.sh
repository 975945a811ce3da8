#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: lab/setup.sh [run|test|verify]
#
# Installs what airtcp needs to run (the default), also for its tests, or also for `make
# verify`: the Debian packages of packages.txt, and a Python environment in the cache
# directory with the libraries of requirements.txt, for tests also requirements-test.txt.
# Fast if there is nothing to do. Prints the path of the Python interpreter on standard
# output, everything else on standard error.
set -eu
exec 3>&1 >&2

say() {
	echo "airtcp: $*"
}

refuse() {
	say "$*"
	exit 2
}

case ${1-run} in
run) sets=run ;;
test) sets='run|test' ;;
verify) sets='run|test|verify' ;;
*) refuse "lab/setup.sh $1: allowed are run, test and verify" ;;
esac

env pwd >/dev/null 2>&1 || refuse "the current directory has been removed: change to an existing one"

here=$(dirname "$(readlink -f "$0")")
if [ -n "${AIRTCP_CACHE:-}" ]; then
	cache=$AIRTCP_CACHE
elif [ -n "${XDG_CACHE_HOME:-}" ]; then
	cache=$XDG_CACHE_HOME/airtcp
elif [ -n "${HOME:-}" ]; then
	cache=$HOME/.cache/airtcp
else
	refuse "no cache directory: set HOME, or set AIRTCP_CACHE to a directory"
fi
case $cache in
/*) ;;
*) cache=$(pwd)/$cache ;;
esac
# Same check as in cache.py.
case $cache in
*[[:space:]:]*) refuse "$cache: the kernel cannot be built in a path with spaces or colons; set AIRTCP_CACHE to another directory" ;;
esac

as_root() {
	if [ "$(id -u)" = 0 ]; then
		env DEBIAN_FRONTEND=noninteractive "$@"
	else
		sudo env DEBIAN_FRONTEND=noninteractive "$@"
	fi
}

missing_packages() {
	names=$(sed -En "s/^([^# ]+) +($sets) .*/\1/p" "$here/packages.txt")
	# One process for all packages, because every command waits for this.
	# shellcheck disable=SC2016,SC2086
	found=$(dpkg-query -W -f ' ${Package}:${db:Status-Status} ' $names 2>/dev/null) || true
	for name in $names; do
		case $found in
		*" $name:installed "*) ;;
		*) echo "$name" ;;
		esac
	done
}

# Does apt have a version of every given package?
available() {
	for name; do
		apt-cache policy "$name" 2>/dev/null | grep -q '^  Candidate: [^(]' || return 1
	done
}

# Debian 12 has linux-source-6.12 only in its security and backports suites, which a
# minimal installation may not have in its sources. Add one of them, from the same mirror.
add_suite_of_kernel_source() {
	list=/etc/apt/sources.list.d/airtcp-kernel-source.list
	# shellcheck disable=SC1091
	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	# shellcheck disable=SC2016
	mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' |
		awk -v release="$codename" '$2 == release { print $1; exit }')
	mirror=${mirror%/}
	[ -n "$mirror" ] || return 0
	for suite in "$mirror-security $codename-security" "$mirror $codename-backports"; do
		say "adding '$suite' to the apt sources ($list), for linux-source-6.12"
		echo "deb $suite main" | as_root tee "$list" >/dev/null || return 0
		as_root apt-get -q update || true
		if available linux-source-6.12; then
			return 0
		fi
		as_root rm -f "$list"
	done
}

# Can this user install packages, perhaps after entering a password?
can_be_root() {
	[ "$(id -u)" = 0 ] && return
	command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }
}

install_packages() {
	missing=$(missing_packages)
	[ -n "$missing" ] || return 0
	can_be_root || {
		# shellcheck disable=SC2086
		say "missing Debian packages, which must be installed as root:" $missing
		return 0
	}
	say "installing required Debian packages:"
	for name in $missing; do
		sed -En "s/^($name +)(run|test|verify) +/  \1/p" "$here/packages.txt"
	done
	# shellcheck disable=SC2086
	available $missing || as_root apt-get -q update || true
	case " $missing" in
	*linux-source-6.12*) available linux-source-6.12 || add_suite_of_kernel_source ;;
	esac
	# Install the others even if one is unavailable.
	for name in $missing; do
		available "$name" || {
			say "no package $name in the apt sources"
			missing=$(echo "$missing" | grep -vx "$name")
		}
	done
	# shellcheck disable=SC2086
	set -- apt-get -q -y --no-install-recommends install $missing
	# The package lists may be outdated: update them and try again.
	as_root "$@" || { as_root apt-get -q update && as_root "$@"; }
}

# Was it installed completely, and does its Python exist? __main__.py reports missing libraries.
environment_works() {
	[ -e "$venv/complete" ] && [ -x "$venv/bin/python" ] &&
		{ [ "$sets" = run ] || [ -e "$venv/complete-test" ]; }
}

install_libraries() {
	"$venv/bin/python" -I -m pip --disable-pip-version-check install -q -r "$here/$1" &&
		sync -f "$venv" &&
		touch "$venv/$2"
}

make_environment() {
	version=$(python3 -VV) || return 1
	libraries=$(cat "$here/requirements.txt" "$here/requirements-test.txt") || return 1
	key=$(printf '%s\n%s\n' "$version" "$libraries" | sha256sum | cut -c 1-12)
	[ -n "$key" ] || return 1
	venv=$cache/venv-$key
	environment_works && return 0
	mkdir -p "$cache" || return 1
	exec 9>"$cache/venv.lock"
	flock 9
	environment_works && return 0
	if [ -e "$venv/complete" ] && [ ! -x "$venv/bin/python" ]; then
		say "the Python environment in $venv is damaged: its Python interpreter is missing"
		rm -f "$venv/complete"
	fi
	if [ ! -e "$venv/complete" ]; then
		say "installing airtcp's Python libraries in $venv"
		rm -rf "$venv"
		python3 -I -m venv "$venv" &&
			install_libraries requirements.txt complete || return 1
	fi
	environment_works && return 0
	say "installing the Python libraries of airtcp's tests in $venv"
	install_libraries requirements-test.txt complete-test
}

if command -v apt-get >/dev/null; then
	# Continue: --kernel-source can replace the package, and programs may come from elsewhere.
	install_packages || say "some packages could not be installed: ./airtcp doctor lists what is missing"
fi
make_environment || {
	say "cannot create the Python environment in $cache (see above)"
	exit 1
}
echo "$venv/bin/python" >&3
