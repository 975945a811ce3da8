#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Adds, reconfigures, disconnects and removes radios that carry traffic in both directions. Each
# round has an access point (radio 0) and three stations (radios 1 to 3) with different presets.
# At the end, after all have been removed, kmemleak searches for leaks.
#
# Writes: counters (of radios, read under load), leaks (found by kmemleak), lockdep (whether lockdep
# is still on), dmesg.txt.

# Helpers: must, wait_until. fail writes more here.
. ./helpers.sh
fail() {
	echo "churn: $*" >&2
	airsim radio show >radios
	dmesg --notime >dmesg.txt
	exit 1
}

# add NODE INDEX KEYS...: add a radio and move it to a node, where it is wlan0.
add() {
	node=$1 index=$2
	shift 2
	added=$(airsim radio add "$@") || fail "airsim radio add $*"
	phy=$(echo "$added" | sed -n "s/^radio $index wiphy \(phy[0-9]*\) .*/\1/p")
	[ -n "$phy" ] || fail "$node: expected radio $index, got: $added"
	# The access point sends RTS or a CTS to itself only near stations of older standards.
	[ "$node" = ap ] || must iw phy "$phy" set rts 400
	must iw phy "$phy" set netns name "$node"
}

# add_station NUMBER PRESET KEYS...: a slow one, because many packets take long to simulate.
add_station() {
	number=$1 preset=$2
	shift 2
	add "sta$number" "$number" preset "$preset" streams 1 width_mhz 20 "$@"
}

# del INDEX: saves the counters and removes the radio.
del() {
	airsim radio show "$1" >>./counters || fail "radio $1"
	must airsim radio del "$1"
}

beaconing() { node ap iw dev wlan0 info | grep -q channel; }

# start_ap PRESET
start_ap() {
	add ap 0 preset "$1"
	must cp ./hostapd.conf /tmp/hostapd.conf
	case $1 in
	generic) cat ./hostapd-ac.conf ./hostapd-ax.conf ;;
	qca6178) cat ./hostapd-ac.conf ;;
	wifi-11a) echo ieee80211n=0 ;;
	esac >>/tmp/hostapd.conf
	must node ap ip address add 10.0.0.254/24 dev wlan0
	must node ap hostapd -B -P /tmp/hostapd.pid /tmp/hostapd.conf >>./hostapd.log
	wait_until 10 "hostapd has started the network" beaconing
	for i in 1 2 3; do
		must node ap ip neighbour replace "10.0.0.$i" lladdr "02:61:69:72:0$i:00" dev wlan0
	done
}

stop_ap() {
	[ -e /tmp/hostapd.pid ] || return
	kill "$(cat /tmp/hostapd.pid)"
	wait_until 10 "hostapd has ended" [ ! -e /tmp/hostapd.pid ]
}

# try_join NUMBER: may fail, because on a busy channel beacons may be late.
try_join() {
	node "sta$1" iw dev wlan0 disconnect
	node "sta$1" iw dev wlan0 connect -w churn 5180
	node "sta$1" iw dev wlan0 link | grep -q Connected
}

# join NUMBER: associate a station again.
join() {
	must node "sta$1" ip link set wlan0 up
	must node "sta$1" ip address replace "10.0.0.$1/24" dev wlan0
	must node "sta$1" ip neighbour replace 10.0.0.254 lladdr 02:61:69:72:00:00 dev wlan0
	wait_until 5 "sta$1 is associated" try_join "$1"
}

# Changes settings, links and the air between PPDUs.
change_settings() {
	while read -r command; do
		# shellcheck disable=SC2086 # a command in words
		must airsim $command
		sleep 0.01
	done <<-END
	radio set 0 errors burst burst_enter_ppm 50000 burst_leave_ppm 200000 burst_bad_error_ppm 800000
	radio set 1 rx_delivery coalesced coalesce_mpdus 8 coalesce_us 300
	radio set 2 response_error_ppm 200000 mpdu_error_ppm 100000
	radio set 3 errors snr x_mm 20000 vx_mm_per_s 5000
	radio set 0 rx_delivery coalesced coalesce_mpdus 256 coalesce_us 100000
	radio set 0 rx_delivery ppdu gro_flush_us 1000
	radio set 0 ack_hold 8 ack_hold_us 3000
	radio set 1 ack_hold 65535 ack_hold_us 100000
	radio set 2 ack_hold 2 ack_hold_us 0
	radio set 0 ampdu_mpdus 2 ampdu_duration_us 500 fifo_mpdus 1 formed_ppdus 8 protection cts-to-self
	radio set 2 protection cts-to-self
	radio set 1 gro off fifo_mpdus 3 bar off formed_ppdus 2
	link set 1 2 blocked
	link set 2 1 blocked
	link set 0 3 blocked
	radio set 0 bar on ampdu_mpdus 64 ampdu_duration_us 4000 fifo_mpdus 500 formed_ppdus 0
	radio set 1 ack_hold 0
	air set cca_threshold_mdbm -60000
	radio set 0 x_mm 0
	air set cca_threshold_mdbm -82000
	link set 0 3 clear
	link set 1 2 clear
	link set 2 1 clear
	radio set 1 rx_delivery mpdu gro on bar on
	radio set 3 errors fixed mpdu_error_ppm 50000
	END
	must airsim radio show >/dev/null
	must airsim link show >/dev/null
	must cat /sys/kernel/debug/airsim/stats >/dev/null
}

# Removes stations, takes one down and scans by mac80211, while frames are queued for them.
change_stations() {
	must node ap iw dev wlan0 station del 02:61:69:72:02:00
	must node sta3 ip link set wlan0 down
	node sta1 iw dev wlan0 scan freq 5180 5200 >/dev/null || fail "sta1 cannot scan"
	join 2
	join 3
}

# round AP STATION STATION STATION: arguments are presets.
round() {
	echo "round: $*"
	start_ap "$1"
	add_station 1 "$2" rx_delivery coalesced
	add_station 2 "$3" rate_format ofdm rate_legacy_kbps 24000
	add_station 3 "$4" errors burst
	for i in 1 2 3; do join $i; done
	change_settings
	change_stations

	del 3
	add_station 3 "$2" errors burst ba_window 1
	join 3

	del 0
	stop_ap
	start_ap "$1"
	for i in 3 2 1; do join $i; done
	sleep 0.1
	for i in 2 0 1 3; do del $i; done
	stop_ap
}

# Removes stations and the access point while stations answer Trigger frames.
uplink_round() {
	echo "round: UL OFDMA"
	start_ap generic
	must airsim radio set 0 ul_ofdma on ul_ofdma_interval_us 1000
	for i in 1 2 3; do
		add "sta$i" "$i" preset generic streams 1 width_mhz 80 rate_format he rate_width_mhz 80
	done
	for i in 1 2 3; do join $i; done
	for keys in "mpdu_error_ppm 200000 response_error_ppm 100000" "errors snr capture on x_mm 0" \
		"ul_ofdma off" "ul_ofdma on ul_ofdma_interval_us 100" "rx_delivery ppdu"; do
		# shellcheck disable=SC2086 # keys and values
		must airsim radio set 0 $keys
		sleep 0.03
	done
	must airsim radio set 1 errors snr x_mm 15000
	change_stations
	del 3
	must node sta2 ip link set wlan0 down
	del 0
	stop_ap
	for i in 2 1; do del $i; done
}

cat >hostapd.conf <<'END'
interface=wlan0
driver=nl80211
ssid=churn
hw_mode=a
channel=36
ieee80211n=1
ht_capab=[HT40+][SHORT-GI-20][SHORT-GI-40]
wmm_enabled=1
END
cat >hostapd-ac.conf <<'END'
ieee80211ac=1
vht_oper_chwidth=1
vht_oper_centr_freq_seg0_idx=42
END
cat >hostapd-ax.conf <<'END'
ieee80211ax=1
he_oper_chwidth=1
he_oper_centr_freq_seg0_idx=42
he_mu_edca_ac_be_aifsn=0
he_mu_edca_ac_be_timer=2
END

nodes="ap sta1 sta2 sta3"
load=
must mkdir -p /run/netns
must ip link set airsim0 up
for name in $nodes; do
	must ip netns add "$name"
	must node "$name" ip link set lo up
	node "$name" saturate sink 9 >/dev/null &
	load="$load $!"
	case $name in
	ap) to="10.0.0.1 10.0.0.2 10.0.0.3" ;;
	*) to=10.0.0.254 ;;
	esac
	# shellcheck disable=SC2086 # one word each
	node "$name" python3 -B ./churn_load.py $to &
	load="$load $!"
done

round generic qca6178 ar9580 wifi-11a
round qca6178 generic wifi-11a ar9580
round ar9580 wifi-11a generic qca6178
round wifi-11a ar9580 qca6178 generic
uplink_round

# shellcheck disable=SC2086 # one word each
kill $load
wait
must ip link set airsim0 down
for name in $nodes; do must ip netns del "$name"; done
[ -z "$(airsim radio show)" ] || fail "radios are left"

. ./leaks.sh
must cat /proc/lockdep_stats >lockdep
must dmesg --notime >dmesg.txt
