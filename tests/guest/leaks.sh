# SPDX-License-Identifier: GPL-2.0-only
# Writes the leaks that kmemleak finds to the file leaks. It ignores objects younger than 5 s.
# shellcheck shell=sh
for _ in 1 2; do
	sleep 6
	echo scan >/sys/kernel/debug/kmemleak || fail "kmemleak is disabled"
done
must cat /sys/kernel/debug/kmemleak >leaks
