#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The part of `airtcp run --hosts` on a host. It is in a directory of its own, with:
#	undo	how to restore each changed setting; the last is restored first
#	guard	process of the dead-man timer
#	expired	exists if the timer has ended or restores the settings: nothing may be changed
#	beat	exists if the client was heard since the timer last looked
#	boot	boot_id of the host
#	jobs/	of each program in the background: NAME.pid, NAME.err, NAME.rc
#	run/	files of the run
# `lines` reads commands, functions of this file, from standard input. A failure is one line on
# standard error; the exit code is 1, or 3 if further runs would fail, too.
set -u
dir=${0%/*}
cd "$dir" || exit 1
PATH=$PATH:/usr/sbin:/sbin
LC_ALL=C
export PATH LC_ALL

fail() { echo "$*" >&2; exit 1; }
stop() { echo "$*" >&2; exit 3; }

if [ "$(id -u)" = 0 ]; then
	root() { "$@"; }
else
	root() { sudo -n "$@"; }
fi

# must COMMAND...: as root
must() {
	message=$(root "$@" 2>&1) || fail "$*: $(echo "$message" | tail -n 1)"
}

# Settings. Each function saves the present value before it sets another one.

# remember FUNCTION ARGUMENT...: call it to restore a setting
remember() {
	if [ -e expired ] || ! kill -0 "$(cat guard)" 2>/dev/null; then
		stop "the dead-man timer does not run: nothing is changed"
	fi
	line=$1
	shift
	for word; do
		line="$line '$(printf %s "$word" | sed "s/'/'\\\\''/g")'"
	done
	printf '%s\n' "$line" 2>/dev/null >>undo || stop "no space left in $dir: nothing is changed"
}

write() {
	message=$(printf '%s\n' "$2" | root tee "$1" 2>&1 >/dev/null)
}

# put FILE VALUE, one of the kernel's
put() {
	name=$(echo "${1#/proc/sys/}" | tr / .)
	[ -e "$1" ] || fail "this kernel has no $name, so it cannot be set to $2"
	old=$(tr '\t' ' ' <"$1")
	[ "$old" != "$2" ] || return 0
	remember write "$1" "$old"
	write "$1" "$2" || fail "$name cannot be set to $2: $(echo "$message" | tail -n 1)"
}

# put_default FILE VALUE, which is how kernels without the setting work anyway
put_default() { [ ! -e "$1" ] || put "$@"; }

# features DEVICE NAME STATE...: one that the device does not have remains off
features() {
	message=$(root ethtool -K "$@" 2>&1) && return
	case $message in *"Could not change any device features"*) ;; *) return 1 ;; esac
}

# offload DEVICE gro|gso|tso on|off; one that a device does not have remains off
offload() {
	states=$(ethtool -k "$1") || fail "ethtool -k $1 failed"
	case $2 in
	gro) long=generic-receive-offload ;;
	gso) long=generic-segmentation-offload ;;
	tso) long=tcp-segmentation-offload ;;
	esac
	case $(echo "$states" | sed -n "s/^$long: //p") in
	"$3"*) return 0 ;;
	*fixed*)
		[ "$3" = on ] || fail "$1 cannot turn off $2"
		return 0
		;;
	esac
	# One of them may change others. One that is requested is on as soon as the device can do that.
	# shellcheck disable=SC2046
	remember features "$1" $(echo "$states" | awk '
		/fixed/ { next }
		/requested on/ { $2 = "on" }
		/^generic-receive-offload:/ { print "gro", $2 }
		/^generic-segmentation-offload:/ { print "gso", $2 }
		$1 ~ /^tx-tcp/ { sub(":", "", $1); print $1, $2 }')
	if [ "$3" = off ]; then
		must ethtool -K "$1" "$2" off
	else
		features "$1" "$2" on || fail "ethtool -K $1 $2 on: $(echo "$message" | tail -n 1)"
	fi
}

root_qdisc() { tc qdisc show dev "$1" | awk '/ root / { print $2, $3; exit }'; }

# qdisc DEVICE PLACE...: replaces only the default qdisc, as only that can be restored
qdisc() {
	if [ "$2" = root ]; then
		case $(root_qdisc "$1") in
		*" 0:" | "") ;;
		*) fail "$1 has the qdisc $(root_qdisc "$1"), and only the default one is replaced: remove it" ;;
		esac
		remember default_qdisc "$1"
	fi
	must tc qdisc add dev "$@"
}

default_qdisc() {
	root tc qdisc del dev "$1" root 2>/dev/null
	case $(root_qdisc "$1") in
	*" 0:" | "") ;;
	*) false ;;
	esac
}

# segments DEVICE NUMBER: limit of a packet that TCP passes down
segments() {
	old=$(ip -d link show dev "$1" | sed -n 's/.*gso_max_segs \([0-9]*\).*/\1/p')
	[ "$old" != "$2" ] || return 0
	remember root ip link set dev "$1" gso_max_segs "$old"
	must ip link set dev "$1" gso_max_segs "$2"
}

# windows DEVICE ADDRESS OPTION...: initial windows, of a route to the address alone
windows() {
	[ -z "$(ip -4 route show exact "$2/32")" ] ||
		fail "there is a route to $2/32, and initial windows need one of their own: remove it"
	remember no_route "$1" "$2"
	via=$(ip -4 route get "$2" | sed -n 's/.* via \([0-9.]*\) .*/via \1/p')
	device=$1 address=$2
	shift 2
	# shellcheck disable=SC2086
	must ip route add "$address/32" $via dev "$device" "$@"
}

no_route() {
	root ip route del "$2/32" dev "$1" 2>/dev/null
	[ -z "$(ip -4 route show exact "$2/32")" ]
}

# power_save DEVICE on|off
power_save() {
	old=$(iw dev "$1" get power_save | sed -n 's/^Power save: //p')
	[ -n "$old" ] && [ "$old" != "$2" ] || return 0
	remember root iw dev "$1" set power_save "$old"
	must iw dev "$1" set power_save "$2"
}

# Restore all settings. Client and dead-man timer may both do so, even at the same time.
restore() {
	end_jobs
	failed=0 restored=0
	# An incomplete line at the end, without a change after it, is not counted. A command whose
	# connection was lost may add lines meanwhile.
	while :; do
		# Client or timer, whichever was faster, has restored all.
		count=$(wc -l 2>/dev/null <undo) || exit 2
		[ "$count" -gt "$restored" ] || break
		number=$count
		while [ "$number" -gt "$restored" ]; do
			line=$(sed -n "${number}p" undo)
			(eval "$line") >/dev/null 2>&1 || { echo "not restored: $line" >&2; failed=1; }
			number=$((number - 1))
		done
		restored=$count
	done
	[ $failed = 0 ] || return 1
	: >undo
}

# guard SECONDS: the dead-man timer, restores the settings after this time without the client
guard() {
	echo $$ >guard
	trap 'expire' TERM HUP INT
	silent=0
	# Not $dir/guard: another airtcp may have created the directory again.
	while [ -e guard ]; do
		sleep 1 &
		wait $!
		if rm beat 2>/dev/null; then silent=0; else silent=$((silent + 1)); fi
		[ $silent -lt "$1" ] || expire
	done
}

# Without the directory, commands of the client fail.
expire() {
	[ -e guard ] || exit
	touch expired
	restore && remove
	exit
}

# Beat for each line on standard input, and answer with the time: in ns, or in s where date has no
# %N, as in BusyBox.
pulse() {
	while read -r _; do
		: >beat
		now=$(date +%s%N)
		case $now in
		*[!0-9]* | "" | ??????????) date +%s ;;
		*) echo "$now" ;;
		esac
	done
}

leave() { restore && remove; }

# Beats may come meanwhile, so that the directory is not empty.
remove() {
	for _ in 1 2 3 4 5; do
		rm -rf "$dir" 2>/dev/null && return
	done
	rm -rf "$dir"
}

# Programs in the background

# start NAME FILE COMMAND...: its output is run/FILE
start() {
	(
		trap '' HUP # as nohup does, which BusyBox may not have
		exec sh "$dir/agent.sh" job "$@"
	) >/dev/null 2>&1 </dev/null &
	tries=100
	until [ -s "jobs/$1.pid" ]; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || stop "no space left in $dir, or $1 cannot be started"
		sleep 0.05
	done
}

job() {
	name=$1 file=$2
	shift 2
	"$@" >"run/$file" 2>"jobs/$name.err" </dev/null &
	echo $! >"jobs/$name.pid"
	wait $!
	# await() must not find it empty, except on a full disk.
	echo $? >"jobs/$name.code"
	mv "jobs/$name.code" "jobs/$name.rc"
}

# await NAME SECONDS: until it ends successfully
await() {
	tries=$(($2 * 10))
	until [ -e "jobs/$1.rc" ]; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || fail "$1 has not ended after $2 s"
		sleep 0.1
	done
	code=$(cat "jobs/$1.rc")
	[ -n "$code" ] || room
	[ "$code" = 0 ] || fail "$1 ended with exit code ${code:-?}: $(tail -n 1 "jobs/$1.err")"
}

end_jobs() {
	for signal in TERM KILL; do
		tries=20
		for file in jobs/*.pid; do
			if [ ! -e "$file" ] || [ -e "${file%.pid}.rc" ]; then continue; fi
			kill -s $signal "$(cat "$file")" 2>/dev/null || continue
			# A program of root's ends at its own limit.
			until [ -e "${file%.pid}.rc" ] || [ $tries = 0 ]; do
				tries=$((tries - 1))
				sleep 0.05
			done
		done
	done
}

# capture NODE DEVICE SECONDS BYTES
capture() {
	if [ "$(id -u)" = 0 ]; then as=; else as='sudo -n'; fi
	# shellcheck disable=SC2086
	start "capture" "$1.pcap" $as timeout --preserve-status -s INT "$3" tcpdump -Z root -n -i "$2" -s "$4" \
		--time-stamp-precision=nano -w -
	tries=100
	until grep -q listening jobs/capture.err; do
		tries=$((tries - 1))
		if [ $tries = 0 ] || [ -e jobs/capture.rc ]; then
			fail "tcpdump: $(tail -n 1 jobs/capture.err)"
		fi
		sleep 0.05
	done
}

# listening PORT: until a program listens there
listening() {
	tries=100
	until [ -n "$(ss -ltnH "sport = :$1")" ]; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || fail "no program listens at port $1: $(cat jobs/*.err run/*.json | tail -n 3 | tr -d '\n\t')"
		sleep 0.05
	done
}

# sample FILTER: the state of TCP connections every 0.1 s
sample() {
	while :; do
		date +%s%N
		ss -tinOH "$1"
		sleep 0.1
	done
}

# Reports the last counters of a connection when it is closed. ss would write them in large blocks.
closes() { exec stdbuf -oL ss -EtinOH; }

# counters NAME DEVICE: of network and driver
counters() {
	nstat -azsj >"run/nstat-$1.json"
	[ ! -e "/sys/class/net/$2/phy80211" ] || iw dev "$2" station dump >"run/iw-$1.txt"
}

# New files for a run
fresh() {
	rm -rf run jobs
	mkdir run jobs || stop "no space left in $dir"
	room
}

# The files of the run as a tar archive. After an error, programs may still write them: GNU tar ends
# with exit code 1.
pack() { tar -C run -cf - . || [ $? = 1 ]; }

# Is there room for a megabyte?
room() {
	head -c 1000000 /dev/zero 2>/dev/null >room
	full=$?
	rm -f room
	[ $full = 0 ] || stop "no space left in $dir"
}

# Facts for the checks before the first run

section() {
	echo "== $1"
	shift
	"$@" 2>/dev/null
}

missing() {
	for tool; do
		command -v "$tool" >/dev/null || echo "$tool"
	done
}

available() {
	section policies cat /proc/sys/net/ipv4/tcp_available_ack_policies
	section congestion cat /proc/sys/net/ipv4/tcp_available_congestion_control
	# Only root may choose the others.
	[ "$(id -u)" = 0 ] || section allowed cat /proc/sys/net/ipv4/tcp_allowed_congestion_control
}

# facts DEVICE TOOL...
facts() {
	device=$1
	shift
	section missing missing "$@"
	section kernel uname -r
	section boot cat /proc/sys/kernel/random/boot_id
	available
	section devices ls /sys/class/net
	[ -n "$device" ] || return 0
	section addresses ip -o -4 address show dev "$device"
	section carrier cat "/sys/class/net/$device/carrier"
	section qdisc root_qdisc "$device"
	[ -e "/sys/class/net/$device/phy80211" ] || return 0
	section radio iw dev "$device" info
	section link iw dev "$device" link
	section power_save iw dev "$device" get power_save
	section survey iw dev "$device" survey dump
}

# load MODULE...: as far as possible; prints the ACK policies and congestion controls then available
load() {
	for module; do
		root modprobe "$module" 2>/dev/null
	done
	available
}

# rights SETTING ARGUMENT...: may root be asked for all that changes and restores it? Changes nothing.
rights() {
	[ "$(id -u)" != 0 ] || return 0
	# shellcheck disable=SC2317
	(
		root() {
			sudo -n -l "$@" >/dev/null 2>&1 && return
			echo "not root, and sudo -n does not allow: $*" >&3
			exit 1
		}
		must() { root "$@"; }
		features() { root ethtool -K "$@"; }
		remember() { "$@"; }
		write() { root tee "$1"; }
		fail() { exit 0; } # the run reports it
		"$@"
		exit 0
	) 3>&2 || exit 1
}

lines() {
	while IFS= read -r command; do
		eval "$command" </dev/null
	done
}

"$@"
