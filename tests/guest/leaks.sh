# SPDX-License-Identifier: GPL-2.0-only
# Writes what kmemleak has found to the file leaks. It trusts what is younger than 5 s.
# shellcheck shell=sh
for _ in 1 2; do
	sleep 6
	echo scan >/sys/kernel/debug/kmemleak || fail "kmemleak has given up"
done
must cat /sys/kernel/debug/kmemleak >leaks
