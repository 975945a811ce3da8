/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a radio is (fixed when it is made) and how it is set (any time).
 * Limits and defaults: airsim_hardware_check() and airsim_settings_check() in
 * config.c; presets: presets.c.
 */
#ifndef AIRSIM_CONFIG_H
#define AIRSIM_CONFIG_H

#include <linux/netlink.h>
#include <linux/types.h>
#include <uapi/linux/airsim.h>
#include "airtime.h"
#include "loss.h"
#include "propagation.h"

#define AIRSIM_MAX_RADIOS	256
#define AIRSIM_MAX_MPDUS	256

/**
 * struct airsim_hardware - what a radio is
 * @standard: newest amendment that it speaks; it speaks those before it too
 * @streams: spatial streams, 1 to 4
 * @width_mhz: widest channel: 20, 40, 80 or 160
 * @ba_window: most MPDUs under one BlockAck: 1 to 64, ax up to 256
 * @mpdu_spacing_ns: Minimum MPDU Start Spacing that it asks of its senders: 0,
 *	250 and its doubles up to 16000; without A-MPDUs, in 802.11a and g, it
 *	says nothing
 * @amsdu: lets mac80211 build A-MSDUs
 * @queueing: where packets wait
 */
struct airsim_hardware {
	enum airsim_standard standard;
	u8 streams;
	u16 width_mhz;
	u16 ba_window;
	u16 mpdu_spacing_ns;
	bool amsdu;
	enum airsim_queueing queueing;
};

/**
 * struct airsim_settings - how a radio is set
 * @ampdu_mpdus: MPDUs in an A-MPDU at most, 1 to 256
 * @ampdu_octets: octets in an A-MPDU at most, 2048 to 1048575
 * @ampdu_duration_us: duration of a PPDU at most, 100 to 5484
 * @bar: after a BlockAck that did not come it asks with a BlockAckReq; else
 *	it sends the MPDUs again
 * @formed_ppdus: most PPDUs of an access category that AIRSIM_QUEUE_TXQ forms
 *	before they win the medium, that on the air among them; 0: none, to 8
 * @fifo_mpdus: most MPDUs that AIRSIM_QUEUE_FIFO holds, 1 to 65535
 * @hand_up: when received MPDUs are handed up
 * @coalesce_mpdus: AIRSIM_HAND_UP_COALESCED: after so many, 1 to 256
 * @coalesce_us: AIRSIM_HAND_UP_COALESCED: or so long after the first, to 100000
 * @ack_hold: TCP acknowledgments of a connection for which the newest one
 *	stands; 0 and 1: all are sent; to 65535
 * @ack_hold_us: how long the first of them may wait, to 100000
 * @ack_hold_kbps: while the radio sends at this rate or a higher one
 * @gro: received MPDUs pass GRO
 * @gro_flush_us: how long GRO may hold a segment for the next one, to 100000
 * @errors: which model says what this radio does not receive
 * @mpdu_error_ppm: AIRSIM_ERRORS_FIXED: data MPDUs lost, of a million
 * @response_error_ppm: ACKs, BlockAcks, RTS and CTS lost, of a million; not
 *	with AIRSIM_ERRORS_SNR, which knows
 * @burst: AIRSIM_ERRORS_BURST: data MPDUs lost
 * @tx_power_mdbm: transmit power, -20000 to 40000
 * @placed: @place is set
 * @place: where the radio is
 * @rate_fixed: data frames go at @rate, not at what rate control says
 * @rate: the fixed rate
 */
struct airsim_settings {
	u32 ampdu_mpdus;
	u32 ampdu_octets;
	u32 ampdu_duration_us;
	bool bar;
	u32 formed_ppdus;
	u32 fifo_mpdus;
	enum airsim_hand_up hand_up;
	u32 coalesce_mpdus;
	u32 coalesce_us;
	u32 ack_hold;
	u32 ack_hold_us;
	u32 ack_hold_kbps;
	bool gro;
	u32 gro_flush_us;
	enum airsim_error_model errors;
	u32 mpdu_error_ppm;
	u32 response_error_ppm;
	struct airsim_burst burst;
	s32 tx_power_mdbm;
	bool placed;
	struct airsim_place place;
	bool rate_fixed;
	struct airsim_rate rate;
};

/**
 * struct airsim_air - how signals spread, for all radios
 * @propagation: path loss between radios that have places
 * @sense_mdbm: signals weaker than this are not heard at all
 */
struct airsim_air {
	struct airsim_propagation propagation;
	s32 sense_mdbm;
};

/**
 * struct airsim_preset - a radio of the field
 * @name: how it is asked for
 * @hardware: what it is
 * @settings: how it is set
 */
struct airsim_preset {
	const char *name;
	struct airsim_hardware hardware;
	struct airsim_settings settings;
};

/* config.c */
u16 airsim_usual_spacing_ns(enum airsim_standard standard);
int airsim_hardware_check(const struct airsim_hardware *hardware,
			  struct netlink_ext_ack *extack);
int airsim_settings_check(const struct airsim_hardware *hardware,
			  const struct airsim_settings *settings,
			  struct netlink_ext_ack *extack);

/* presets.c */
const struct airsim_preset *airsim_preset_find(const char *name);
const struct airsim_preset *airsim_preset_at(unsigned int index);

#endif
