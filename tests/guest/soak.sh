#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# soak.sh CONNECTIONS FLOWS PAUSE [REPLACEMENTS]: short connections and bulk flows between pairs of
# namespaces, while sockets, routes and namespaces change their ACK policy, modules are unloaded, and other
# namespaces with their own connections are added and deleted, with PAUSE seconds between two
# changes. At the end, no object may be left.
#
# With REPLACEMENTS, policies in BPF (bpf/*.o) are among them, and the load lasts until bpf_replace has
# replaced them this often.
#
# Writes, with a name and a number on each line: load (by soak.c), settings, modules, namespaces,
# counters (of the kernel), replaced, left (objects more than before); and lockdep, leaks, dmesg.txt.
connections=$1
flows=$2
pause=$3
replacements=${4:-0}

pairs="1 2 3 4"
over=/tmp/over
quiet=/tmp/quiet
busy=/tmp/busy
caches="TCP TCPv6 request_sock_TCP request_sock_TCPv6 tw_sock_TCP tw_sock_TCPv6 net_namespace"

# Helpers: must, wait_until. fail writes more here.
. ./helpers.sh
fail() {
	echo "soak: $*" >&2
	touch $over
	dmesg --notime >dmesg.txt
	exit 1
}

policies_of() { modinfo -F alias "$1" | sed -n 's/^tcp-ackpol-//p'; }

# make_pair NAME [SYSCTL...]: namespaces s-NAME and c-NAME, connected by a veth pair.
make_pair() {
	name=$1
	shift
	must ip -batch - <<-END
	netns add s-$name
	netns add c-$name
	link add eth0 netns s-$name type veth peer name eth0 netns c-$name
	END
	number=0
	for node in "s-$name" "c-$name"; do
		number=$((number + 1))
		must ip -n "$node" -batch - <<-END
		address add 10.0.0.$number/24 dev eth0
		address add fd00::$number/64 dev eth0 nodad
		link set lo up
		link set eth0 up
		END
		must ip netns exec "$node" sysctl -qw net.ipv4.tcp_fastopen=3 net.ipv4.tcp_tw_reuse=1 \
			net.ipv4.ip_local_port_range="1024 65535" "$@"
	done
}

# Addresses of the server and of the client; NUMBER alternates between the families.
server() { [ $(($1 % 2)) = 0 ] && echo fd00::1 || echo 10.0.0.1; }
client() { [ $(($1 % 2)) = 0 ] && echo fd00::2 || echo 10.0.0.2; }

# Adds a pair and deletes it, starting by turns with the link, the processes or the namespaces.
come_and_go() {
	round=0
	while [ ! -e $over ]; do
		round=$((round + 1))
		make_pair brief net.ipv4.tcp_orphan_retries=1 net.ipv4.tcp_fin_timeout=1 \
			net.ipv4.tcp_retries2=2
		# shellcheck disable=SC2086 # one word each
		/tmp/soak 1000000 4 $quiet $busy s-brief c-brief "$(server $round)" $policies \
			>/dev/null 2>&1 &
		sleep 1
		case $((round % 3)) in
		0) must ip -n s-brief link del eth0 ;;
		1) kill -KILL $! ;;
		esac
		must ip netns del s-brief
		must ip netns del c-brief
		sleep 0.2
		[ $((round % 3)) = 1 ] || kill -KILL $!
		wait $!
		sleep "$pause"
	done
	echo "gone $round" >namespaces
}

# try_unload MODULE: counts; any error other than that the module is in use is a failure.
try_unload() {
	if modprobe -r "$1" 2>/tmp/refusal; then
		unloaded=$((unloaded + 1))
		return
	fi
	grep -Eq 'in use|busy|unavailable' /tmp/refusal || fail "$(cat /tmp/refusal)"
	refused=$((refused + 1))
	return 1
}

# load POLICY...: loads their modules.
load() {
	for policy; do
		must modprobe "tcp-ackpol-$policy"
	done
}

# Unloads each module in turn: at once if possible, else its policies are no longer selected until
# no socket uses them. Then loads it, and its policies may be selected again.
unload() {
	refused=0 unloaded=0
	while [ ! -e $over ]; do
		for file in $modules; do
			module=$(basename "$file" .ko)
			[ -e "/sys/module/$module" ] || continue
			try_unload "$module" && continue
			policies_of "$file" | tr '\n' ' ' >$quiet
			tries=0
			until try_unload "$module"; do
				tries=$((tries + 1))
				[ $tries -lt 600 ] || fail "$module is always in use"
				[ ! -e $over ] || break 3
				sleep "$pause"
			done
			# shellcheck disable=SC2046 # one word each
			load $(cat $quiet)
			: >$quiet
		done
		sleep "$pause"
	done
	printf 'unloaded %s\nrefused %s\n' $unloaded $refused >modules
}

# The kernel keeps a deleted namespace until the next one is deleted: delete an unused one last.
delete_empty_namespace() {
	must ip netns add last
	must ip netns del last
	sleep 1
}

# Prints the number of objects of a slab cache, after freeing those kept for reuse or by KASAN.
objects() {
	echo 1 >"/sys/kernel/slab/$1/shrink"
	cut -d ' ' -f 1 "/sys/kernel/slab/$1/objects"
}
# more_than_before: prints each cache with more objects than at the start.
more_than_before() {
	while read -r cache before; do
		more=$(($(objects "$cache") - before))
		[ $more -le 0 ] || echo "$cache $more"
	done </tmp/before
}
# Prints the policies in BPF that are left. bpftool loads programs of other types itself.
bpf_objects() {
	[ "$replacements" != 0 ] || return 0
	bpftool prog show | grep struct_ops
	bpftool map show | grep struct_ops
}
nothing_left() {
	delete_empty_namespace
	{
		more_than_before
		bpf_objects
	} >left
	[ ! -s left ]
}

modules=$(find /run/kernel/lib/modules -name 'tcp_ackpol_*.ko' ! -name '*_test.ko')
policies=$(for file in $modules; do policies_of "$file"; done)
echo "soak: $policies" | tr '\n' ' '
must mkdir -p /run/netns
must cp ./soak ./soak_settings.py ./bounds /tmp
: >$quiet
# shellcheck disable=SC2086 # one word each
load $policies

delete_empty_namespace
for cache in $caches; do echo "$cache $(objects "$cache")"; done >/tmp/before

for pair in $pairs; do make_pair "$pair"; done
# One link loses and reorders packets; on another, segments are neither merged nor split.
must ip netns exec s-2 tc qdisc add dev eth0 root netem delay 1ms loss 0.5% reorder 5%
must ip netns exec c-2 tc qdisc add dev eth0 root netem delay 1ms loss 0.5% reorder 5%
must ip netns exec s-3 ethtool -K eth0 tso off gso off gro off
must ip netns exec c-3 ethtool -K eth0 tso off gso off gro off

helpers=
if [ "$replacements" != 0 ]; then
	# For a policy that is being replaced, each of hundreds of sockets would start a modprobe,
	# with which an emulated processor is busy for minutes.
	must sysctl -qw kernel.modprobe=
	must cp bpf/*.o bpf_replace /tmp
	touch $busy
	nice -n -20 /tmp/bpf_replace $over $busy "$replacements" 100 /tmp/bpf_*.o >replaced &
	helpers="$helpers $!"
	wait_until 120 "the BPF programs are loaded" grep -q ready replaced
	for file in bpf/*.o; do policies="$policies $(basename "$file" .o)"; done
fi
for pair in $pairs; do
	# shellcheck disable=SC2086 # one word each
	ip netns exec "s-$pair" python3 -B /tmp/soak_settings.py $quiet $over "$pause" \
		"$(client "$pair")" /tmp/bounds $policies >"/tmp/settings-s-$pair" &
	helpers="$helpers $!"
	# shellcheck disable=SC2086 # one word each
	ip netns exec "c-$pair" python3 -B /tmp/soak_settings.py $quiet $over "$pause" \
		"$(server "$pair")" /tmp/bounds $policies >"/tmp/settings-c-$pair" &
	helpers="$helpers $!"
done
come_and_go &
helpers="$helpers $!"
unload &
helpers="$helpers $!"

loads=
for pair in $pairs; do
	# shellcheck disable=SC2086 # one word each
	/tmp/soak $((connections / 4)) $((flows / 4)) $quiet $busy "s-$pair" "c-$pair" \
		"$(server "$pair")" $policies >"/tmp/load-$pair" &
	loads="$loads $!"
done
ok=yes
for load in $loads; do wait "$load" || ok=no; done
touch $over
for helper in $helpers; do wait "$helper" || ok=no; done

cat /tmp/load-* >load
cat /tmp/settings-* >settings
for pair in $pairs; do
	for node in "s-$pair" "c-$pair"; do
		ip netns exec "$node" nstat -asz 'TcpExtTCPAckPol*' | sed 1d >>counters
		must ip netns del "$node"
	done
done
[ $ok = yes ] || fail "the load or one of its helpers failed: see load"

for file in $modules; do
	module=$(basename "$file" .ko)
	wait_until 60 "$module can be unloaded" modprobe -r "$module"
done
# An orphan without a link retransmits its FIN a few times.
wait_until 300 "no socket and no namespace is left" nothing_left

[ ! -e /proc/lockdep_stats ] || must cat /proc/lockdep_stats >lockdep
if [ -e /sys/kernel/debug/kmemleak ] && ! grep -q kmemleak=off /proc/cmdline; then
	. ./leaks.sh
fi
must dmesg --notime >dmesg.txt
