# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh disable=SC2154
# Where airtcp's Python environment is, for setup.sh and python.sh, which set $here.

# It names the libraries of another Python.
unset PYTHONHOME

say() {
	echo "airtcp: $*" >&2
}

refuse() {
	say "$*"
	exit 2
}

# Set $sets, a pattern of the sets of packages.txt that a set includes.
choose_set() {
	case $1 in
	run) sets='run' ;;
	build) sets='run|build' ;;
	test) sets='run|build|test' ;;
	be) sets='run|build|be' ;;
	verify) sets='run|build|test|be|verify' ;;
	bench) sets='run|build|test|bench' ;;
	*) refuse "setup $1: allowed are run, build, be, test, verify and bench" ;;
	esac
}

# Set $cache; the same checks as in cache.py.
find_cache() {
	if [ -n "${AIRTCP_CACHE:-}" ]; then
		cache=$AIRTCP_CACHE
	elif [ -n "${XDG_CACHE_HOME:-}" ]; then
		cache=$XDG_CACHE_HOME/airtcp
	elif [ -n "${HOME:-}" ]; then
		cache=$HOME/.cache/airtcp
	else
		refuse "no cache directory: set HOME, or set AIRTCP_CACHE to a directory"
	fi
	env pwd >/dev/null 2>&1 ||
		refuse "the current directory has been removed: change to an existing one"
	case $cache in
	/*) ;;
	*) cache=$(pwd)/$cache ;;
	esac
	case $cache in
	*[[:space:]:]*) refuse "$cache: the kernel cannot be built in a path with spaces or colons; set AIRTCP_CACHE to another directory" ;;
	esac
}

# Set $venv, the environment for this version of Python and of the libraries.
find_environment() {
	find_cache
	version=$(python3 -VV) || return 1
	case $version in
	"Python 3."[0-9].* | "Python 3.10."*)
		refuse "${version%% (*} is too old: airtcp needs Python 3.11 or later as python3"
		;;
	esac
	libraries=$(cat "$here/requirements.txt" "$here/requirements-test.txt") || return 1
	key=$(printf '%s\n%s\n' "$version" "$libraries" | sha256sum | cut -c 1-12)
	[ -n "$key" ] || return 1
	venv=$cache/venv-$key
}

needs_test_libraries() {
	case $sets in
	*test*) true ;;
	*) false ;;
	esac
}

# Was it installed completely, and does its Python exist? __main__.py reports missing libraries.
environment_works() {
	[ -e "$venv/complete" ] && [ -x "$venv/bin/python" ] &&
		{ ! needs_test_libraries || [ -e "$venv/complete-test" ]; }
}

# Print the missing Debian packages of the set.
missing_packages() {
	command -v dpkg-query >/dev/null || return 0
	names=$(sed -En "s/^([^# ]+) +($sets) .*/\1/p" "$here/packages.txt")
	# One process for all packages.
	# shellcheck disable=SC2016,SC2086
	found=$(dpkg-query -W -f ' ${Package}:${db:Status-Status} ' $names 2>/dev/null) || true
	for name in $names; do
		case $found in
		*" $name:installed "*) ;;
		*) echo "$name" ;;
		esac
	done
}
