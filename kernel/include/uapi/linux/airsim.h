/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * Generic netlink family "airsim": simulated radios, added, removed and set
 * while the system runs. Known in the initial network namespace only.
 */
#ifndef _UAPI_LINUX_AIRSIM_H
#define _UAPI_LINUX_AIRSIM_H

#define AIRSIM_GENL_NAME	"airsim"
#define AIRSIM_GENL_VERSION	1

/**
 * enum airsim_cmd - commands
 * @AIRSIM_CMD_UNSPEC: unused
 * @AIRSIM_CMD_NEW_RADIO: add a radio: optionally %AIRSIM_ATTR_PRESET and
 *	attributes of the hardware and of the settings that differ from the
 *	preset; replies with the new radio
 * @AIRSIM_CMD_DEL_RADIO: remove the radio %AIRSIM_ATTR_INDEX
 * @AIRSIM_CMD_GET_RADIO: the radio %AIRSIM_ATTR_INDEX; as a dump all of them
 * @AIRSIM_CMD_SET_RADIO: change settings of the radio %AIRSIM_ATTR_INDEX
 * @AIRSIM_CMD_GET_PRESET: dump: the presets
 * @AIRSIM_CMD_SET_LINK: what is lost from %AIRSIM_ATTR_FROM to %AIRSIM_ATTR_TO
 *	in place of the path loss: either %AIRSIM_ATTR_LOSS_MDB or
 *	%AIRSIM_ATTR_BLOCKED
 * @AIRSIM_CMD_GET_LINK: dump: the links that were set
 * @AIRSIM_CMD_SET_AIR: change how signals spread
 * @AIRSIM_CMD_GET_AIR: how signals spread
 * @__AIRSIM_CMD_MAX: end
 */
enum airsim_cmd {
	AIRSIM_CMD_UNSPEC,
	AIRSIM_CMD_NEW_RADIO,
	AIRSIM_CMD_DEL_RADIO,
	AIRSIM_CMD_GET_RADIO,
	AIRSIM_CMD_SET_RADIO,
	AIRSIM_CMD_GET_PRESET,
	AIRSIM_CMD_SET_LINK,
	AIRSIM_CMD_GET_LINK,
	AIRSIM_CMD_SET_AIR,
	AIRSIM_CMD_GET_AIR,
	__AIRSIM_CMD_MAX,
};

#define AIRSIM_CMD_MAX	(__AIRSIM_CMD_MAX - 1)

/**
 * enum airsim_attr - attributes
 * @AIRSIM_ATTR_UNSPEC: unused
 * @AIRSIM_ATTR_INDEX: u32, number of a radio, chosen when it is added
 * @AIRSIM_ATTR_WIPHY: string, name of its wiphy; in replies
 * @AIRSIM_ATTR_ADDRESS: 6 octets, its MAC address; in replies
 * @AIRSIM_ATTR_PRESET: string, name of a preset
 * @AIRSIM_ATTR_COUNTERS: nested, see enum airsim_counter; in replies
 * @AIRSIM_ATTR_STANDARD: u32, enum airsim_standard; hardware
 * @AIRSIM_ATTR_STREAMS: u8, spatial streams, 1 to 4; hardware
 * @AIRSIM_ATTR_WIDTH_MHZ: u16, widest channel, 20 to 160; hardware
 * @AIRSIM_ATTR_BA_WINDOW: u16, MPDUs under one BlockAck, 1 to 256; hardware
 * @AIRSIM_ATTR_MPDU_SPACING_NS: u16, least time between the starts of two MPDUs
 *	of an A-MPDU that it receives: 0, 250, 500, 1000, 2000, 4000, 8000 or
 *	16000; hardware
 * @AIRSIM_ATTR_AMSDU: u8, 1 lets mac80211 build A-MSDUs; hardware
 * @AIRSIM_ATTR_QUEUEING: u32, enum airsim_queueing; hardware
 * @AIRSIM_ATTR_AMPDU_MPDUS: u32, MPDUs in an A-MPDU at most, 1 to 256
 * @AIRSIM_ATTR_AMPDU_OCTETS: u32, octets in an A-MPDU at most, 2048 to 1048575
 * @AIRSIM_ATTR_AMPDU_DURATION_US: u32, duration of a PPDU at most, 100 to 5484
 * @AIRSIM_ATTR_BAR: u8, 1: a BlockAckReq after a BlockAck that did not come;
 *	0: the MPDUs again
 * @AIRSIM_ATTR_FORMED_PPDUS: u32, PPDUs of an access category formed before they
 *	win the medium, that on the air among them, 0 to 8
 * @AIRSIM_ATTR_FIFO_MPDUS: u32, depth of the FIFO, 1 to 65535
 * @AIRSIM_ATTR_HAND_UP: u32, enum airsim_hand_up
 * @AIRSIM_ATTR_COALESCE_MPDUS: u32, MPDUs handed up together, 1 to 256
 * @AIRSIM_ATTR_COALESCE_US: u32, how long the first may wait, 0 to 100000
 * @AIRSIM_ATTR_ACK_HOLD: u32, TCP acknowledgments of a connection for which the
 *	newest stands; 0 and 1: all are sent; to 65535
 * @AIRSIM_ATTR_ACK_HOLD_US: u32, how long the first may wait, 0 to 100000
 * @AIRSIM_ATTR_ACK_HOLD_KBPS: u32, while the radio sends at this rate or more
 * @AIRSIM_ATTR_GRO: u8, 1: received MPDUs pass GRO
 * @AIRSIM_ATTR_GRO_FLUSH_US: u32, how long GRO may hold one, 0 to 100000
 * @AIRSIM_ATTR_ERRORS: u32, enum airsim_error_model
 * @AIRSIM_ATTR_MPDU_ERROR_PPM: u32, data MPDUs not received, 0 to 1000000
 * @AIRSIM_ATTR_RESPONSE_ERROR_PPM: u32, responses not received, 0 to 1000000
 * @AIRSIM_ATTR_BURST_ENTER_PPM: u32, chance to turn bad, 0 to 1000000
 * @AIRSIM_ATTR_BURST_LEAVE_PPM: u32, chance to turn good, 0 to 1000000
 * @AIRSIM_ATTR_BURST_GOOD_ERROR_PPM: u32, lost while good, 0 to 1000000
 * @AIRSIM_ATTR_BURST_BAD_ERROR_PPM: u32, lost while bad, 0 to 1000000
 * @AIRSIM_ATTR_TX_POWER_MDBM: s32, transmit power, -20000 to 40000
 * @AIRSIM_ATTR_PLACED: u8, 0 takes the place away; any attribute of the place
 *	sets it to 1
 * @AIRSIM_ATTR_X_MM: s32, place now, -1000000000 to 1000000000
 * @AIRSIM_ATTR_Y_MM: s32, place now, -1000000000 to 1000000000
 * @AIRSIM_ATTR_VX_MM_PER_S: s32, velocity, -1000000 to 1000000
 * @AIRSIM_ATTR_VY_MM_PER_S: s32, velocity, -1000000 to 1000000
 * @AIRSIM_ATTR_RATE_FIXED: u8, 0 gives the rate back to rate control; any
 *	attribute of the rate sets it to 1
 * @AIRSIM_ATTR_RATE_FORMAT: u32, enum airsim_format; starts from the lowest
 *	rate of that format
 * @AIRSIM_ATTR_RATE_MCS: u8, MCS of one stream, 0 to 11
 * @AIRSIM_ATTR_RATE_STREAMS: u8, spatial streams, 1 to 4
 * @AIRSIM_ATTR_RATE_WIDTH_MHZ: u16, 20 to 160
 * @AIRSIM_ATTR_RATE_GI_NS: u16, guard interval, 400 to 3200
 * @AIRSIM_ATTR_RATE_LEGACY_KBPS: u16, rate of CCK and OFDM, 1000 to 54000
 * @AIRSIM_ATTR_FROM: u32, the radio that sends
 * @AIRSIM_ATTR_TO: u32, the radio that receives
 * @AIRSIM_ATTR_LOSS_MDB: s32, loss on the way, 0 to 300000
 * @AIRSIM_ATTR_BLOCKED: u8, 1: nothing is heard; 0: the link is forgotten, the
 *	path loss is what it was
 * @AIRSIM_ATTR_PATH_LOSS_EXPONENT_MILLI: u32, 1000 to 10000
 * @AIRSIM_ATTR_PATH_LOSS_REFERENCE_MDB: u32, loss at 1 m, 0 to 200000
 * @AIRSIM_ATTR_SENSE_MDBM: s32, weaker signals are not heard, -120000 to 0
 * @__AIRSIM_ATTR_MAX: end
 *
 * Levels are in thousandths of a decibel, chances in millionths.
 */
enum airsim_attr {
	AIRSIM_ATTR_UNSPEC,
	AIRSIM_ATTR_INDEX,
	AIRSIM_ATTR_WIPHY,
	AIRSIM_ATTR_ADDRESS,
	AIRSIM_ATTR_PRESET,
	AIRSIM_ATTR_COUNTERS,
	AIRSIM_ATTR_STANDARD,
	AIRSIM_ATTR_STREAMS,
	AIRSIM_ATTR_WIDTH_MHZ,
	AIRSIM_ATTR_BA_WINDOW,
	AIRSIM_ATTR_MPDU_SPACING_NS,
	AIRSIM_ATTR_AMSDU,
	AIRSIM_ATTR_QUEUEING,
	AIRSIM_ATTR_AMPDU_MPDUS,
	AIRSIM_ATTR_AMPDU_OCTETS,
	AIRSIM_ATTR_AMPDU_DURATION_US,
	AIRSIM_ATTR_BAR,
	AIRSIM_ATTR_FORMED_PPDUS,
	AIRSIM_ATTR_FIFO_MPDUS,
	AIRSIM_ATTR_HAND_UP,
	AIRSIM_ATTR_COALESCE_MPDUS,
	AIRSIM_ATTR_COALESCE_US,
	AIRSIM_ATTR_ACK_HOLD,
	AIRSIM_ATTR_ACK_HOLD_US,
	AIRSIM_ATTR_ACK_HOLD_KBPS,
	AIRSIM_ATTR_GRO,
	AIRSIM_ATTR_GRO_FLUSH_US,
	AIRSIM_ATTR_ERRORS,
	AIRSIM_ATTR_MPDU_ERROR_PPM,
	AIRSIM_ATTR_RESPONSE_ERROR_PPM,
	AIRSIM_ATTR_BURST_ENTER_PPM,
	AIRSIM_ATTR_BURST_LEAVE_PPM,
	AIRSIM_ATTR_BURST_GOOD_ERROR_PPM,
	AIRSIM_ATTR_BURST_BAD_ERROR_PPM,
	AIRSIM_ATTR_TX_POWER_MDBM,
	AIRSIM_ATTR_PLACED,
	AIRSIM_ATTR_X_MM,
	AIRSIM_ATTR_Y_MM,
	AIRSIM_ATTR_VX_MM_PER_S,
	AIRSIM_ATTR_VY_MM_PER_S,
	AIRSIM_ATTR_RATE_FIXED,
	AIRSIM_ATTR_RATE_FORMAT,
	AIRSIM_ATTR_RATE_MCS,
	AIRSIM_ATTR_RATE_STREAMS,
	AIRSIM_ATTR_RATE_WIDTH_MHZ,
	AIRSIM_ATTR_RATE_GI_NS,
	AIRSIM_ATTR_RATE_LEGACY_KBPS,
	AIRSIM_ATTR_FROM,
	AIRSIM_ATTR_TO,
	AIRSIM_ATTR_LOSS_MDB,
	AIRSIM_ATTR_BLOCKED,
	AIRSIM_ATTR_PATH_LOSS_EXPONENT_MILLI,
	AIRSIM_ATTR_PATH_LOSS_REFERENCE_MDB,
	AIRSIM_ATTR_SENSE_MDBM,
	__AIRSIM_ATTR_MAX,
};

#define AIRSIM_ATTR_MAX	(__AIRSIM_ATTR_MAX - 1)

/**
 * enum airsim_counter - in %AIRSIM_ATTR_COUNTERS, u64 each
 * @AIRSIM_COUNTER_UNSPEC: unused
 * @AIRSIM_COUNTER_PAD: padding
 * @AIRSIM_COUNTER_TAKEN: MPDUs taken from mac80211 or made by the radio
 * @AIRSIM_COUNTER_ACKED: MPDUs acknowledged
 * @AIRSIM_COUNTER_UNANSWERABLE: MPDUs sent to which no answer was due
 * @AIRSIM_COUNTER_DROPPED_RETRIES: MPDUs given up after the last attempt
 * @AIRSIM_COUNTER_DROPPED_STOPPED: MPDUs dropped as the radio was down
 * @AIRSIM_COUNTER_DROPPED_QUEUE_GONE: MPDUs dropped as their queue went
 * @AIRSIM_COUNTER_QUEUED: MPDUs that the radio has now
 * @AIRSIM_COUNTER_RECEIVED: MPDUs that arrived here
 * @AIRSIM_COUNTER_HANDED_UP: MPDUs given to mac80211
 * @AIRSIM_COUNTER_RX_NO_MEMORY: MPDUs that arrived and found no memory
 * @AIRSIM_COUNTER_RX_DROPPED_STOPPED: MPDUs that arrived and went as the radio
 *	went down
 * @AIRSIM_COUNTER_RX_WAITING: MPDUs that are to be handed up
 * @AIRSIM_COUNTER_PPDUS: PPDUs sent
 * @AIRSIM_COUNTER_COLLIDED: PPDUs and RTS that another one spoiled at their
 *	receiver
 * @AIRSIM_COUNTER_RETRIES: MPDUs sent again
 * @AIRSIM_COUNTER_TX_AIRTIME_NS: time on the air
 * @AIRSIM_COUNTER_RTS_SENT: RTS sent
 * @AIRSIM_COUNTER_BAR_SENT: BlockAckReqs sent
 * @AIRSIM_COUNTER_ACKS_SUPPRESSED: TCP acknowledgments dropped for a newer one
 * @AIRSIM_COUNTER_ACKS_HELD: TCP acknowledgments that wait for one
 * @__AIRSIM_COUNTER_MAX: end
 */
enum airsim_counter {
	AIRSIM_COUNTER_UNSPEC,
	AIRSIM_COUNTER_PAD,
	AIRSIM_COUNTER_TAKEN,
	AIRSIM_COUNTER_ACKED,
	AIRSIM_COUNTER_UNANSWERABLE,
	AIRSIM_COUNTER_DROPPED_RETRIES,
	AIRSIM_COUNTER_DROPPED_STOPPED,
	AIRSIM_COUNTER_DROPPED_QUEUE_GONE,
	AIRSIM_COUNTER_QUEUED,
	AIRSIM_COUNTER_RECEIVED,
	AIRSIM_COUNTER_HANDED_UP,
	AIRSIM_COUNTER_RX_NO_MEMORY,
	AIRSIM_COUNTER_RX_DROPPED_STOPPED,
	AIRSIM_COUNTER_RX_WAITING,
	AIRSIM_COUNTER_PPDUS,
	AIRSIM_COUNTER_COLLIDED,
	AIRSIM_COUNTER_RETRIES,
	AIRSIM_COUNTER_TX_AIRTIME_NS,
	AIRSIM_COUNTER_RTS_SENT,
	AIRSIM_COUNTER_BAR_SENT,
	AIRSIM_COUNTER_ACKS_SUPPRESSED,
	AIRSIM_COUNTER_ACKS_HELD,
	__AIRSIM_COUNTER_MAX,
};

#define AIRSIM_COUNTER_MAX	(__AIRSIM_COUNTER_MAX - 1)

/**
 * enum airsim_standard - newest amendment that a radio speaks
 * @AIRSIM_80211A: 802.11a
 * @AIRSIM_80211G: 802.11g
 * @AIRSIM_80211N: 802.11n
 * @AIRSIM_80211AC: 802.11ac
 * @AIRSIM_80211AX: 802.11ax
 */
enum airsim_standard {
	AIRSIM_80211A,
	AIRSIM_80211G,
	AIRSIM_80211N,
	AIRSIM_80211AC,
	AIRSIM_80211AX,
};

/**
 * enum airsim_queueing - where packets wait
 * @AIRSIM_QUEUE_TXQ: in mac80211's queues: FQ-CoDel, AQL
 * @AIRSIM_QUEUE_FIFO: in a FIFO of the driver, which takes all it can
 */
enum airsim_queueing {
	AIRSIM_QUEUE_TXQ,
	AIRSIM_QUEUE_FIFO,
};

/**
 * enum airsim_hand_up - when received MPDUs are handed up
 * @AIRSIM_HAND_UP_MPDU: each at its end
 * @AIRSIM_HAND_UP_PPDU: all of a PPDU at its end
 * @AIRSIM_HAND_UP_COALESCED: after so many, or so long
 */
enum airsim_hand_up {
	AIRSIM_HAND_UP_MPDU,
	AIRSIM_HAND_UP_PPDU,
	AIRSIM_HAND_UP_COALESCED,
};

/**
 * enum airsim_error_model - what says which frames are not received
 * @AIRSIM_ERRORS_FIXED: mpdu_error_ppm and response_error_ppm
 * @AIRSIM_ERRORS_SNR: signal, noise, modulation and length
 * @AIRSIM_ERRORS_BURST: a channel that is good or bad, response_error_ppm
 */
enum airsim_error_model {
	AIRSIM_ERRORS_FIXED,
	AIRSIM_ERRORS_SNR,
	AIRSIM_ERRORS_BURST,
};

/**
 * enum airsim_format - PHY of a rate
 * @AIRSIM_CCK: DSSS and HR/DSSS, long preamble (clauses 15 and 16)
 * @AIRSIM_OFDM: OFDM and ERP-OFDM, 20 MHz (clauses 17 and 18)
 * @AIRSIM_HT: 802.11n, HT-mixed format (clause 19)
 * @AIRSIM_VHT: 802.11ac (clause 21)
 * @AIRSIM_HE: 802.11ax, HE SU (clause 27)
 */
enum airsim_format {
	AIRSIM_CCK,
	AIRSIM_OFDM,
	AIRSIM_HT,
	AIRSIM_VHT,
	AIRSIM_HE,
};

#endif
