#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# fuzz_smp.sh PROCESSORS INPUTS: a fuzzer for each processor, each with its own seed and network
# namespace, in which another process reads TCP's sockets and sysctls.
#
# Writes counts, with a name and a number on each line: the fuzzers' output, and readings.
processors=$1
inputs=$2
over=/tmp/over

. ./helpers.sh

# Each random name of a policy would start modprobe: load all modules, then disable it.
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
