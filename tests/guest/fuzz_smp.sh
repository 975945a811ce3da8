#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# fuzz_smp.sh PROCESSORS INPUTS: as many fuzzers as processors, each with a seed and a network
# namespace of its own, in which another process reads what TCP says of sockets and sysctls.
#
# Leaves counts, each line a name and a figure: what the fuzzers say, and readings.
processors=$1
inputs=$2
over=/tmp/over

. ./helpers.sh

# Random names of policies would each start a modprobe: load all modules, then let nothing.
for module in $(find /run/kernel/lib/modules -name 'tcp_ackpol_*.ko' ! -name '*_test.ko'); do
	must modprobe "$(basename "$module" .ko)"
done
echo >/proc/sys/kernel/modprobe
policies=$(cat /proc/sys/net/ipv4/tcp_available_ack_policies)

must mkdir -p /run/netns
must cp ./fuzz ./bounds /tmp
cat >/tmp/read_all <<END
readings=0
while [ ! -e $over ]; do
	ss -tinmo >/dev/null
	cat /proc/sys/net/ipv4/tcp_* /proc/net/netstat >/dev/null 2>&1
	readings=\$((readings + 1))
	sleep 0.01
done
echo "readings \$readings"
END

fuzzers='' readers=''
for seed in $(seq "$processors"); do
	must ip netns add "fuzz-$seed"
	must ip -n "fuzz-$seed" link set lo up
	# shellcheck disable=SC2086 # one word each
	ip netns exec "fuzz-$seed" /tmp/fuzz "$seed" "$inputs" /tmp/bounds $policies \
		>"/tmp/counts-$seed" &
	fuzzers="$fuzzers $!"
	ip netns exec "fuzz-$seed" sh /tmp/read_all >"/tmp/counts-$seed-read" &
	readers="$readers $!"
done
ok=yes
for fuzzer in $fuzzers; do wait "$fuzzer" || ok=no; done
touch $over
for reader in $readers; do wait "$reader" || ok=no; done
[ $ok = yes ] || fail "a fuzzer or a reader failed"
cat /tmp/counts-* >counts
