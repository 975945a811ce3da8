#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Installs what airtcp needs: Debian packages (packages.txt), and a Python environment in the
# cache directory with the libraries of requirements.txt, for tests also requirements-test.txt.
# Lists everything first, on standard error.
set -eu
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=lab/environment.sh
. "$here/environment.sh"
# shellcheck source=lab/hostapd.sh
. "$here/hostapd.sh"

usage() {
	cat <<END
usage: airtcp setup [--yes] [--packages] [--hostap-source PATH] [SET]

Lists what is missing, asks, and installs it. SET:
  run     what runs need with a kernel that has been built
  build   also what building the kernel and the guest's programs needs (default)
  test    also what make test and make lint need
  verify  also what make verify needs
  bench   what test installs, and what make bench needs
  be      what build installs, and hostapd with 802.11be, built in the cache directory

  --yes       install without asking
  --packages  only packages, no Python environment
  --hostap-source PATH
              be: build from this tree or tarball of hostap 2.11 or newer, not from Debian's
END
}

as_root() {
	if [ "$(id -u)" = 0 ]; then
		env DEBIAN_FRONTEND=noninteractive "$@"
	else
		sudo env DEBIAN_FRONTEND=noninteractive "$@"
	fi
}

# Can this user install packages, perhaps after entering a password?
can_be_root() {
	[ "$(id -u)" = 0 ] && return
	command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }
}

# Does apt have a version of every given package?
available() {
	for name; do
		LC_ALL=C apt-cache policy "$name" 2>/dev/null | grep -q '^  Candidate: [^(]' || return 1
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
		# All users can read it, whatever the umask: apt-cache needs it.
		(umask 022 && echo "deb $suite main" | as_root tee "$list" >/dev/null) || return 0
		as_root apt-get -q update || true
		if available linux-source-6.12; then
			return 0
		fi
		as_root rm -f "$list"
	done
}

# Print the names of all packages of the set for Fedora (column 3) or Arch Linux (4).
packages_of() {
	awk -v sets="^($sets)\$" -v column="$1" \
		'!/^#/ && $2 ~ sets && $column != "-" && !seen[$column]++ { printf " %s", $column }' \
		"$here/packages.txt"
}

list_packages() {
	if command -v apt-get >/dev/null; then
		[ -n "$missing" ] || return 0
		say "missing Debian packages:"
		for name in $missing; do
			awk -v name="$name" '$1 == name {
				what = $0
				for (column = 0; column < 4; column++)
					sub(/^[^ ]+ +/, "", what)
				printf "  %-19s %s\n", $1, what
			}' "$here/packages.txt"
		done
		case $missing in
		*linux-source-6.12*)
			available linux-source-6.12 ||
				echo "  (linux-source-6.12 may need a suite that is added to the apt sources)"
			;;
		esac
		# shellcheck disable=SC2086
		can_be_root || say "only root can install packages: apt-get install" $missing
	elif command -v dnf >/dev/null; then
		say "setup installs no packages with dnf; run: dnf install$(packages_of 3)"
	elif command -v pacman >/dev/null; then
		say "setup installs no packages with pacman; run: pacman -S --needed$(packages_of 4)"
	else
		say "no apt-get, dnf or pacman: install the packages listed in $here/packages.txt"
	fi
}

list_libraries() {
	needs_environment || return 0
	if needs_test_libraries; then
		say "missing: Python libraries for runs and tests (pip), in $venv"
	else
		say "missing: Python libraries for runs (pip), in $venv"
	fi
}

needs_environment() {
	[ "$packages_only" = no ] && ! environment_works
}

install_packages() {
	can_be_root || return 0
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
	as_root "$@" || { as_root apt-get -q update && as_root "$@"; } || return 1
	# Tests start sshd themselves. Nobody asked for one that listens on all addresses.
	case " $missing" in
	*openssh-server*) as_root systemctl disable --now ssh >/dev/null 2>&1 || true ;;
	esac
}

install_libraries() {
	"$venv/bin/python" -I -m pip --disable-pip-version-check install -q -r "$here/$1" &&
		sync -f "$venv" &&
		touch "$venv/$2"
}

make_environment() {
	# A failed redirection of exec ends the shell.
	mkdir -p "$cache" && touch "$cache/venv.lock" || return 1
	exec 9>"$cache/venv.lock"
	flock -n 9 || {
		say "waiting for another airtcp to finish ($cache/venv.lock)"
		flock 9
	}
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

confirmed() {
	[ "$yes" = yes ] && return
	[ -t 0 ] || refuse "not a terminal, so it cannot ask: 'setup --yes' installs this"
	printf 'airtcp: install this? [y/N] '
	read -r answer || answer=
	case $answer in
	[yY] | [yY][eE][sS]) ;;
	*) refuse "nothing has been installed" ;;
	esac
}

yes=no packages_only=no chosen='' hostapd_source='' next=''
for argument; do
	if [ "$next" = source ]; then
		hostapd_source=$argument next=''
		continue
	fi
	case $argument in
	--hostap-source) next=source ;;
	--hostap-source=*) hostapd_source=${argument#*=} ;;
	--yes | -y) yes=yes ;;
	--packages) packages_only=yes ;;
	-h | --help)
		usage
		exit 0
		;;
	-*) refuse "setup $argument: unknown option; allowed are --yes, --packages and --hostap-source" ;;
	*)
		[ -z "$chosen" ] || refuse "setup $chosen $argument: give one set"
		chosen=$argument
		;;
	esac
done
exec >&2
chosen=${chosen:-build}
choose_set "$chosen"
[ -z "$next" ] || refuse "setup --hostap-source: give a tree or tarball of hostap"
if [ -n "$hostapd_source" ]; then
	[ "$chosen" = be ] || refuse "setup --hostap-source: only with the set be"
	[ -e "$hostapd_source" ] || refuse "setup --hostap-source $hostapd_source: does not exist"
fi
# Without Python there is no path of the environment yet: it depends on Python's version.
find_hostapd
venv=$cache/venv
[ "$packages_only" = yes ] || ! command -v python3 >/dev/null || find_environment ||
	{
		say "cannot create the Python environment in $cache: python3 does not work (see above)"
		exit 1
	}
missing=
! command -v apt-get >/dev/null || missing=$(missing_packages)
if [ -z "$missing" ] && ! needs_environment && ! needs_hostapd; then
	say "nothing to install for $chosen"
	exit 0
fi
list_packages
list_libraries
list_hostapd
confirmed
if [ -n "$missing" ]; then
	# Continue: --kernel-source can replace the package, and programs may come from elsewhere.
	install_packages || say "some packages could not be installed: ./airtcp doctor lists what is missing"
fi
if [ "$packages_only" = no ]; then
	if ! find_environment || ! make_environment; then
		say "cannot create the Python environment in $cache (see above)"
		exit 1
	fi
fi
if needs_hostapd; then
	install_hostapd || exit 1
fi
