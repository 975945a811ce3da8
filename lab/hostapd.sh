# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh disable=SC2154
# `setup be`: hostapd with 802.11be, and wpa_supplicant for WPA3 at 6 GHz, built in the cache. Debian's
# package of hostapd 2.11 is built without CONFIG_IEEE80211BE, so this builds them from its source
# package, which the first of these suites has, or from another source. For setup.sh.

hostapd_suites="forky sid"
hostapd_keyring=/usr/share/keyrings/debian-archive-keyring.gpg
hostapd_key=eht_oper_chwidth # a key of the configuration of a hostapd with 802.11be

# What plans use; the guest has neither users nor RADIUS.
hostapd_config="CONFIG_DRIVER_NL80211=y
CONFIG_LIBNL32=y
CONFIG_SAE=y"
hostapd_config_of_ap="CONFIG_IEEE80211AC=y
CONFIG_IEEE80211AX=y
CONFIG_IEEE80211BE=y
CONFIG_NO_RADIUS=y
CONFIG_NO_ACCOUNTING=y
CONFIG_NO_VLAN=y"

# Set $hostapd_target, where the programs are.
find_hostapd() {
	find_cache
	hostapd_target=$cache/tools/hostapd
}

needs_hostapd() {
	[ "$chosen" = be ] && ! grep -qs "$hostapd_key" "$hostapd_target/hostapd"
}

list_hostapd() {
	needs_hostapd || return 0
	from=${hostapd_source:-"Debian's source package"}
	say "missing: hostapd with 802.11be and wpa_supplicant, built from $from in $hostapd_target"
}

# Download the source package, with lists, state and sources of apt's own: the system's do not change.
fetch_hostapd() {
	# shellcheck disable=SC1091
	codename=$(. /etc/os-release && [ "${ID:-}" = debian ] && echo "${VERSION_CODENAME:-}") || codename=
	# shellcheck disable=SC2016
	mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' |
		awk -v release="$codename" '$2 == release { print $1; exit }') || mirror=
	if [ -z "$codename" ] || [ -z "$mirror" ]; then
		say "this is not Debian, or apt has no mirror of it"
		return 1
	fi
	mkdir -p "$work/lists/partial" "$work/archives/partial" "$work/none" "$work/source"
	: >"$work/status"
	cat >"$work/config" <<END
Dir::State "$work";
Dir::State::lists "$work/lists";
Dir::State::status "$work/status";
Dir::Cache "$work";
Dir::Etc::sourcelist "$work/sources";
Dir::Etc::sourceparts "$work/none";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "$work/none";
APT::Sandbox::User "root";
END
	for suite in $hostapd_suites; do
		echo "deb-src [signed-by=$hostapd_keyring] $mirror $suite main" >"$work/sources"
		(
			export APT_CONFIG="$work/config"
			cd "$work/source" && apt-get -qq update && apt-get -qq source --download-only hostapd
		) || continue
		for hostapd_source in "$work/source"/wpa_*.orig.tar.*z*; do
			[ ! -e "$hostapd_source" ] || return 0
		done
	done
	say "the source package of hostapd cannot be downloaded from Debian's suites $hostapd_suites (see above)"
	return 1
}

# Put the source into $work/wpa: a tree, or a tarball with one directory.
unpack_hostapd() {
	mkdir -p "$work/wpa"
	if [ -d "$hostapd_source" ]; then
		cp -R "$hostapd_source/src" "$hostapd_source/hostapd" "$hostapd_source/wpa_supplicant" "$work/wpa/"
	else
		tar -x -f "$hostapd_source" -C "$work/wpa" --strip-components=1
	fi
}

# build_hostapd PROGRAM CONFIG: build one of the programs.
build_hostapd() {
	printf '%s\n' "$2" >"$work/wpa/$1/.config"
	make -C "$work/wpa/$1" clean >/dev/null 2>&1 || true
	make -C "$work/wpa/$1" -j "$(nproc)" "$1" >"$hostapd_log" 2>&1 &&
		strip -o "$work/new/$1" "$work/wpa/$1/$1"
}

install_hostapd() {
	work=$(mktemp -d "${TMPDIR:-/tmp}/airtcp-setup-XXXXXX")
	trap 'rm -rf "$work"' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	hostapd_log=$hostapd_target.log
	mkdir -p "$work/new" "${hostapd_target%/*}"
	if [ -z "$hostapd_source" ]; then
		fetch_hostapd || {
			say "cannot get the source of hostapd: give --hostap-source a tree or tarball of hostap 2.11 or newer"
			return 1
		}
	fi
	unpack_hostapd || {
		say "$hostapd_source: not a tree or tarball of hostap"
		return 1
	}
	say "building hostapd and wpa_supplicant (log: $hostapd_log)"
	if ! { build_hostapd hostapd "$hostapd_config
$hostapd_config_of_ap" && build_hostapd wpa_supplicant "$hostapd_config
CONFIG_BACKEND=file"; }; then
		say "cannot build hostapd: $(grep -m 1 -E 'error|\*\*\*' "$hostapd_log" || echo "see $hostapd_log")"
		return 1
	fi
	grep -q "$hostapd_key" "$work/new/hostapd" || {
		say "$hostapd_source: this version of hostapd does not know 802.11be: it needs 2.11 or newer"
		return 1
	}
	# Complete or not at all: the target may be on another file system.
	rm -rf "$hostapd_target" "$hostapd_target.new"
	cp -R "$work/new" "$hostapd_target.new" && sync -f "$hostapd_target.new" &&
		mv "$hostapd_target.new" "$hostapd_target"
}
