/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * Generic netlink family "airsim": adds, removes and configures simulated
 * radios. It exists in the initial network namespace only.
 */
#ifndef _UAPI_LINUX_AIRSIM_H
#define _UAPI_LINUX_AIRSIM_H

#define AIRSIM_GENL_NAME	"airsim"
#define AIRSIM_GENL_VERSION	1

#define AIRSIM_MAX_RADIOS	256
#define AIRSIM_MAX_MPDUS	1024
/* aPPDUMaxTime of 802.11n, ac, ax and be. */
#define AIRSIM_MAX_PPDU_US	5484
/* 1000 km */
#define AIRSIM_MAX_MM		1000000000

/**
 * enum airsim_cmd - commands
 * @AIRSIM_CMD_UNSPEC: unused
 * @AIRSIM_CMD_NEW_RADIO: add a radio: optional %AIRSIM_ATTR_PRESET, and
 *	hardware and settings attributes that differ from the preset; replies
 *	with the new radio
 * @AIRSIM_CMD_DEL_RADIO: remove the radio %AIRSIM_ATTR_INDEX
 * @AIRSIM_CMD_GET_RADIO: get the radio %AIRSIM_ATTR_INDEX; dump: all radios
 * @AIRSIM_CMD_SET_RADIO: change settings of the radio %AIRSIM_ATTR_INDEX
 * @AIRSIM_CMD_GET_PRESET: dump: presets
 * @AIRSIM_CMD_SET_LINK: for what %AIRSIM_ATTR_FROM sends to %AIRSIM_ATTR_TO,
 *	set either the loss, in place of the path loss: %AIRSIM_ATTR_LOSS_MDB or
 *	%AIRSIM_ATTR_BLOCKED; or the rate, in place of the radio's fixed rate:
 *	attributes of the rate, or %AIRSIM_ATTR_RATE_FIXED 0
 * @AIRSIM_CMD_GET_LINK: dump: links that were set
 * @AIRSIM_CMD_SET_AIR: change the propagation parameters
 * @AIRSIM_CMD_GET_AIR: get the propagation parameters
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
 * @AIRSIM_ATTR_INDEX: u32, number of a radio, assigned when it is added
 * @AIRSIM_ATTR_WIPHY: string, name of its wiphy; replies only
 * @AIRSIM_ATTR_ADDRESS: 6 octets, its MAC address; replies only
 * @AIRSIM_ATTR_PRESET: string, name of a preset
 * @AIRSIM_ATTR_COUNTERS: nested, see enum airsim_counter; replies only
 * @AIRSIM_ATTR_STANDARD: newest amendment that the radio supports
 * @AIRSIM_ATTR_STREAMS: spatial streams
 * @AIRSIM_ATTR_WIDTH_MHZ: widest channel
 * @AIRSIM_ATTR_BA_WINDOW: BlockAck window, MPDUs
 * @AIRSIM_ATTR_MPDU_SPACING_NS: Minimum MPDU Start Spacing that the radio asks
 *	of its peers: 0, 250, 500, 1000, 2000, 4000, 8000 or 16000
 * @AIRSIM_ATTR_AMSDU: whether mac80211 may build A-MSDUs
 * @AIRSIM_ATTR_POWER_SAVE: whether the radio can doze, as mac80211 asks it to
 * @AIRSIM_ATTR_TXQ_LIMIT: packets in all of mac80211's queues of the radio
 * @AIRSIM_ATTR_QUEUEING: where frames wait for transmission
 * @AIRSIM_ATTR_AMPDU_MPDUS: maximum MPDUs in an A-MPDU
 * @AIRSIM_ATTR_AMPDU_OCTETS: maximum A-MPDU length; at least one large A-MSDU,
 *	at most the longest PSDU of EHT (aPSDUMaxLength of clause 36)
 * @AIRSIM_ATTR_AMPDU_DURATION_US: maximum duration of a PPDU
 * @AIRSIM_ATTR_BAR: after a missing BlockAck, send a BlockAckReq rather than
 *	the MPDUs again
 * @AIRSIM_ATTR_RETRY_LIMIT: attempts to send an MPDU of a BlockAck session,
 *	after which it is dropped; struct ieee80211_tx_rate counts up to 31
 * @AIRSIM_ATTR_PROTECTION: how the radio protects its PPDUs near stations that
 *	cannot decode them
 * @AIRSIM_ATTR_FORMED_PPDUS: maximum PPDUs of an access category that are built
 *	before they win the medium, including the one on the air
 * @AIRSIM_ATTR_FORMED_SINGLES: the same while each of them has one MPDU; the
 *	larger of the two limits applies
 * @AIRSIM_ATTR_COMPLETION_US: time from the end of an exchange until its MPDUs
 *	are reported to mac80211
 * @AIRSIM_ATTR_FIFO_MPDUS: depth of the FIFO
 * @AIRSIM_ATTR_CODEL_TARGET_US: how long packets may wait in mac80211's queues
 *	before CoDel drops some
 * @AIRSIM_ATTR_RX_DELIVERY: when received MPDUs are delivered to mac80211
 * @AIRSIM_ATTR_COALESCE_MPDUS: coalesced delivery: maximum MPDUs
 * @AIRSIM_ATTR_COALESCE_US: coalesced delivery: maximum delay of the first MPDU
 * @AIRSIM_ATTR_COALESCE_IDLE_US: coalesced delivery: maximum delay of the last
 *	MPDU; 0: only the first counts
 * @AIRSIM_ATTR_COALESCE_TX: coalesced delivery: also when an MPDU that the radio
 *	sent is reported to mac80211
 * @AIRSIM_ATTR_ACK_HOLD: TCP ACKs of a connection that the newest may replace;
 *	0 and 1: none
 * @AIRSIM_ATTR_ACK_HOLD_US: maximum delay of the first held ACK
 * @AIRSIM_ATTR_ACK_HOLD_KBPS: lowest transmit rate at which ACKs are held
 * @AIRSIM_ATTR_GRO: whether received MPDUs pass through GRO
 * @AIRSIM_ATTR_GRO_FLUSH_US: maximum time that GRO holds a segment
 * @AIRSIM_ATTR_ERRORS: error model of the receiver
 * @AIRSIM_ATTR_MPDU_ERROR_PPM: fixed errors: data MPDUs lost
 * @AIRSIM_ATTR_RESPONSE_ERROR_PPM: fixed and burst errors: ACK, BlockAck, RTS,
 *	CTS and Trigger frames lost
 * @AIRSIM_ATTR_BURST_ENTER_PPM: burst errors: transitions to the bad state, per
 *	frame
 * @AIRSIM_ATTR_BURST_LEAVE_PPM: burst errors: transitions to the good state,
 *	per frame
 * @AIRSIM_ATTR_BURST_GOOD_ERROR_PPM: burst errors: loss in the good state
 * @AIRSIM_ATTR_BURST_BAD_ERROR_PPM: burst errors: loss in the bad state
 * @AIRSIM_ATTR_CAPTURE: SNR errors: whether the SINR decides which of several
 *	overlapping signals is received, rather than none
 * @AIRSIM_ATTR_UL_OFDMA: as an access point, send Trigger frames, which stations
 *	answer in parallel
 * @AIRSIM_ATTR_UL_OFDMA_INTERVAL_US: UL OFDMA: minimum time between Trigger
 *	frames that ask for reports, and between all while the access point has
 *	data to send
 * @AIRSIM_ATTR_TX_POWER_MDBM: transmit power
 * @AIRSIM_ATTR_PLACED: whether the radio has a position; set by any attribute
 *	of the position
 * @AIRSIM_ATTR_X_MM: current position
 * @AIRSIM_ATTR_Y_MM: current position
 * @AIRSIM_ATTR_VX_MM_PER_S: velocity
 * @AIRSIM_ATTR_VY_MM_PER_S: velocity
 * @AIRSIM_ATTR_RATE_FIXED: whether the rate is fixed rather than chosen by rate
 *	control; set by any attribute of the rate
 * @AIRSIM_ATTR_RATE_FORMAT: PHY format; starts from its lowest rate
 * @AIRSIM_ATTR_RATE_MCS: MCS of one stream
 * @AIRSIM_ATTR_RATE_STREAMS: spatial streams
 * @AIRSIM_ATTR_RATE_WIDTH_MHZ: channel width
 * @AIRSIM_ATTR_RATE_GI_NS: guard interval
 * @AIRSIM_ATTR_RATE_LEGACY_KBPS: rate of CCK and OFDM
 * @AIRSIM_ATTR_FROM: transmitting radio
 * @AIRSIM_ATTR_TO: receiving radio
 * @AIRSIM_ATTR_LOSS_MDB: attenuation, in place of the path loss
 * @AIRSIM_ATTR_BLOCKED: 1: nothing is received; 0: back to the path loss
 * @AIRSIM_ATTR_PATH_LOSS_EXPONENT_MILLI: path loss exponent, in thousandths
 * @AIRSIM_ATTR_PATH_LOSS_REFERENCE_MDB: loss at 1 m; default: Friis at 5.15 GHz
 * @AIRSIM_ATTR_CCA_THRESHOLD_MDBM: weaker signals are not detected
 * @AIRSIM_ATTR_RATE_IDEAL: fixed rate: it is the highest one, and each PPDU is
 *	sent with the MCS and streams with the highest expected throughput
 * @AIRSIM_ATTR_DOPPLER_MILLIHZ: maximum Doppler frequency of fading; 0: none
 * @AIRSIM_ATTR_RICIAN_K_MILLI: power of the line of sight, in thousandths of
 *	that of all scattered paths; 0: Rayleigh fading
 * @__AIRSIM_ATTR_MAX: end
 *
 * Levels are in thousandths of a decibel, probabilities in millionths. Types
 * and ranges are in the tables below.
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
	AIRSIM_ATTR_POWER_SAVE,
	AIRSIM_ATTR_TXQ_LIMIT,
	AIRSIM_ATTR_QUEUEING,
	AIRSIM_ATTR_AMPDU_MPDUS,
	AIRSIM_ATTR_AMPDU_OCTETS,
	AIRSIM_ATTR_AMPDU_DURATION_US,
	AIRSIM_ATTR_BAR,
	AIRSIM_ATTR_PROTECTION,
	AIRSIM_ATTR_FORMED_PPDUS,
	AIRSIM_ATTR_FORMED_SINGLES,
	AIRSIM_ATTR_COMPLETION_US,
	AIRSIM_ATTR_FIFO_MPDUS,
	AIRSIM_ATTR_CODEL_TARGET_US,
	AIRSIM_ATTR_RX_DELIVERY,
	AIRSIM_ATTR_COALESCE_MPDUS,
	AIRSIM_ATTR_COALESCE_US,
	AIRSIM_ATTR_COALESCE_IDLE_US,
	AIRSIM_ATTR_COALESCE_TX,
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
	AIRSIM_ATTR_CAPTURE,
	AIRSIM_ATTR_UL_OFDMA,
	AIRSIM_ATTR_UL_OFDMA_INTERVAL_US,
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
	AIRSIM_ATTR_CCA_THRESHOLD_MDBM,
	AIRSIM_ATTR_RATE_IDEAL,
	AIRSIM_ATTR_RETRY_LIMIT,
	AIRSIM_ATTR_DOPPLER_MILLIHZ,
	AIRSIM_ATTR_RICIAN_K_MILLI,
	__AIRSIM_ATTR_MAX,
};

#define AIRSIM_ATTR_MAX	(__AIRSIM_ATTR_MAX - 1)

/*
 * The attributes of each object, AIRSIM_ATTR_NAME. A row is one of
 *
 *	INT(NAME, member, type, min, max, default)
 *	BOOL(NAME, member, default), sent as u8
 *	ENUM(NAME, member, tag, default, words...), sent as u32
 *
 * The netlink policies, struct airsim_hardware, struct airsim_settings and the
 * defaults are generated from these rows, and so are the keys of the program
 * airsim: NAME in lower case. The words of an enum are in the order of its
 * values.
 */

/* Fixed when a radio is added. */
#define AIRSIM_HARDWARE(INT, BOOL, ENUM) \
	ENUM(STANDARD, standard, airsim_standard, AIRSIM_80211AX, \
	     "802.11a", "802.11g", "802.11n", "802.11ac", "802.11ax", \
	     "802.11be") \
	INT(STREAMS, streams, u8, 1, 4, 4) \
	INT(WIDTH_MHZ, width_mhz, u16, 20, 320, 160) \
	INT(BA_WINDOW, ba_window, u16, 1, AIRSIM_MAX_MPDUS, 256) \
	INT(MPDU_SPACING_NS, mpdu_spacing_ns, u16, 0, 16000, 0) \
	BOOL(AMSDU, amsdu, 0) \
	BOOL(POWER_SAVE, power_save, 0) \
	INT(TXQ_LIMIT, txq_limit, u32, 1, 65535, 8192) \
	ENUM(QUEUEING, queueing, airsim_queueing, AIRSIM_QUEUE_TXQ, \
	     "txq", "fifo")

/* May change at any time. */
#define AIRSIM_SETTINGS(INT, BOOL, ENUM) \
	INT(AMPDU_MPDUS, ampdu_mpdus, u32, 1, AIRSIM_MAX_MPDUS, \
	    AIRSIM_MAX_MPDUS) \
	INT(AMPDU_OCTETS, ampdu_octets, u32, 2048, 15523200, 15523200) \
	INT(AMPDU_DURATION_US, ampdu_duration_us, u32, 100, AIRSIM_MAX_PPDU_US, \
	    AIRSIM_MAX_PPDU_US) \
	BOOL(BAR, bar, 1) \
	INT(RETRY_LIMIT, retry_limit, u8, 1, 31, 7) \
	ENUM(PROTECTION, protection, airsim_protection, \
	     AIRSIM_PROTECTION_RTS_CTS, "rts-cts", "cts-to-self") \
	INT(FORMED_PPDUS, formed_ppdus, u32, 0, 8, 0) \
	INT(FORMED_SINGLES, formed_singles, u32, 0, 64, 0) \
	INT(COMPLETION_US, completion_us, u32, 0, 100000, 0) \
	INT(FIFO_MPDUS, fifo_mpdus, u32, 1, 65535, 1424) \
	INT(CODEL_TARGET_US, codel_target_us, u32, 100, 1000000, 20000) \
	ENUM(RX_DELIVERY, rx_delivery, airsim_rx_delivery, AIRSIM_RX_DELIVERY_MPDU, \
	     "mpdu", "ppdu", "coalesced") \
	INT(COALESCE_MPDUS, coalesce_mpdus, u32, 1, AIRSIM_MAX_MPDUS, 16) \
	INT(COALESCE_US, coalesce_us, u32, 0, 100000, 100) \
	INT(COALESCE_IDLE_US, coalesce_idle_us, u32, 0, 100000, 0) \
	BOOL(COALESCE_TX, coalesce_tx, 0) \
	INT(ACK_HOLD, ack_hold, u32, 0, 65535, 0) \
	INT(ACK_HOLD_US, ack_hold_us, u32, 0, 100000, 5000) \
	INT(ACK_HOLD_KBPS, ack_hold_kbps, u32, 0, 4294967295, 0) \
	BOOL(GRO, gro, 1) \
	INT(GRO_FLUSH_US, gro_flush_us, u32, 0, 100000, 100) \
	ENUM(ERRORS, errors, airsim_error_model, AIRSIM_ERRORS_FIXED, \
	     "fixed", "snr", "burst") \
	INT(MPDU_ERROR_PPM, mpdu_error_ppm, u32, 0, 1000000, 0) \
	INT(RESPONSE_ERROR_PPM, response_error_ppm, u32, 0, 1000000, 0) \
	BOOL(CAPTURE, capture, 0) \
	BOOL(UL_OFDMA, ul_ofdma, 0) \
	INT(UL_OFDMA_INTERVAL_US, ul_ofdma_interval_us, u32, 100, 1000000, 5000) \
	INT(TX_POWER_MDBM, tx_power_mdbm, s32, -20000, 40000, 20000) \
	BOOL(PLACED, placed, 0) \
	BOOL(RATE_FIXED, rate_fixed, 0) \
	BOOL(RATE_IDEAL, rate_ideal, 0)

/* Settings: states of the channel with AIRSIM_ERRORS_BURST. */
#define AIRSIM_BURST(INT, BOOL, ENUM) \
	INT(BURST_ENTER_PPM, enter_ppm, u32, 0, 1000000, 0) \
	INT(BURST_LEAVE_PPM, leave_ppm, u32, 0, 1000000, 0) \
	INT(BURST_GOOD_ERROR_PPM, good_error_ppm, u32, 0, 1000000, 0) \
	INT(BURST_BAD_ERROR_PPM, bad_error_ppm, u32, 0, 1000000, 0)

/* Settings: position, up to 1000 km, and velocity, up to 1 km/s. */
#define AIRSIM_POSITION(INT, BOOL, ENUM) \
	INT(X_MM, x_mm, s32, -AIRSIM_MAX_MM, AIRSIM_MAX_MM, 0) \
	INT(Y_MM, y_mm, s32, -AIRSIM_MAX_MM, AIRSIM_MAX_MM, 0) \
	INT(VX_MM_PER_S, vx_mm_per_s, s32, -1000000, 1000000, 0) \
	INT(VY_MM_PER_S, vy_mm_per_s, s32, -1000000, 1000000, 0)

/* Settings: the rate of data frames, where it is fixed. */
#define AIRSIM_RATE(INT, BOOL, ENUM) \
	ENUM(RATE_FORMAT, format, airsim_format, AIRSIM_OFDM, \
	     "cck", "ofdm", "ht", "vht", "he", "eht") \
	INT(RATE_MCS, mcs, u8, 0, 13, 0) \
	INT(RATE_STREAMS, streams, u8, 1, 4, 1) \
	INT(RATE_WIDTH_MHZ, width_mhz, u16, 20, 320, 20) \
	INT(RATE_GI_NS, gi_ns, u16, 400, 3200, 800) \
	INT(RATE_LEGACY_KBPS, legacy_kbps, u16, 1000, 54000, 6000)

/* One direction between two radios. */
#define AIRSIM_LINK(INT, BOOL, ENUM) \
	INT(FROM, from, u32, 0, AIRSIM_MAX_RADIOS - 1, 0) \
	INT(TO, to, u32, 0, AIRSIM_MAX_RADIOS - 1, 0) \
	INT(LOSS_MDB, loss_mdb, s32, 0, 300000, 0) \
	BOOL(BLOCKED, blocked, 0)

/* Propagation, for all radios. */
#define AIRSIM_AIR(INT, BOOL, ENUM) \
	INT(PATH_LOSS_EXPONENT_MILLI, propagation.exponent_milli, u32, \
	    1000, 10000, 3000) \
	INT(PATH_LOSS_REFERENCE_MDB, propagation.reference_mdb, u32, \
	    0, 200000, 46677) \
	INT(CCA_THRESHOLD_MDBM, cca_threshold_mdbm, s32, -120000, 0, -90000) \
	INT(DOPPLER_MILLIHZ, fading.doppler_millihz, u32, 0, 1000000, 0) \
	INT(RICIAN_K_MILLI, fading.rician_k_milli, u32, 0, 100000, 0)

/**
 * enum airsim_counter - in %AIRSIM_ATTR_COUNTERS, u64 each
 * @AIRSIM_COUNTER_UNSPEC: unused
 * @AIRSIM_COUNTER_PAD: padding
 * @AIRSIM_COUNTER_TAKEN: MPDUs taken from mac80211
 * @AIRSIM_COUNTER_ACKED: MPDUs acknowledged
 * @AIRSIM_COUNTER_UNANSWERABLE: MPDUs sent that require no response
 * @AIRSIM_COUNTER_DROPPED_RETRIES: MPDUs dropped at the retry limit
 * @AIRSIM_COUNTER_DROPPED_STOPPED: MPDUs dropped when the radio went down
 * @AIRSIM_COUNTER_DROPPED_QUEUE_GONE: MPDUs dropped when their queue was
 *	removed
 * @AIRSIM_COUNTER_QUEUED: MPDUs that the radio has now
 * @AIRSIM_COUNTER_RECEIVED: MPDUs received
 * @AIRSIM_COUNTER_HANDED_UP: MPDUs delivered to mac80211
 * @AIRSIM_COUNTER_RX_NO_MEMORY: MPDUs dropped on reception for lack of memory
 * @AIRSIM_COUNTER_RX_DROPPED_STOPPED: MPDUs received and dropped when the radio
 *	went down
 * @AIRSIM_COUNTER_RX_WAITING: MPDUs received and not yet delivered
 * @AIRSIM_COUNTER_PPDUS: PPDUs sent
 * @AIRSIM_COUNTER_COLLIDED: PPDUs, RTS and Trigger frames that collided at
 *	their receiver
 * @AIRSIM_COUNTER_INTERNAL_COLLISIONS: times an EDCA function with frames lost
 *	access to one of higher priority
 * @AIRSIM_COUNTER_RETRIES: retransmissions of MPDUs
 * @AIRSIM_COUNTER_TX_AIRTIME_NS: transmit airtime
 * @AIRSIM_COUNTER_DOZE_NS: time in power save
 * @AIRSIM_COUNTER_RTS_SENT: RTS sent
 * @AIRSIM_COUNTER_CTS_TO_SELF_SENT: CTS sent to the radio itself
 * @AIRSIM_COUNTER_BAR_SENT: BlockAckReqs sent
 * @AIRSIM_COUNTER_TRIGGERS_SENT: Trigger frames sent
 * @AIRSIM_COUNTER_TB_SENT: HE TB PPDUs sent, also counted as PPDUs
 * @AIRSIM_COUNTER_ACKS_SUPPRESSED: TCP ACKs dropped in favour of a newer one
 * @AIRSIM_COUNTER_ACKS_HELD: TCP ACKs held now
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
	AIRSIM_COUNTER_INTERNAL_COLLISIONS,
	AIRSIM_COUNTER_RETRIES,
	AIRSIM_COUNTER_TX_AIRTIME_NS,
	AIRSIM_COUNTER_DOZE_NS,
	AIRSIM_COUNTER_RTS_SENT,
	AIRSIM_COUNTER_CTS_TO_SELF_SENT,
	AIRSIM_COUNTER_BAR_SENT,
	AIRSIM_COUNTER_TRIGGERS_SENT,
	AIRSIM_COUNTER_TB_SENT,
	AIRSIM_COUNTER_ACKS_SUPPRESSED,
	AIRSIM_COUNTER_ACKS_HELD,
	__AIRSIM_COUNTER_MAX,
};

#define AIRSIM_COUNTER_MAX	(__AIRSIM_COUNTER_MAX - 1)

/* X(NAME, member); the program airsim prints the member's name. */
#define AIRSIM_COUNTERS(X) \
	X(TAKEN, taken) \
	X(ACKED, acked) \
	X(UNANSWERABLE, unanswerable) \
	X(DROPPED_RETRIES, dropped_retries) \
	X(DROPPED_STOPPED, dropped_stopped) \
	X(DROPPED_QUEUE_GONE, dropped_queue_gone) \
	X(QUEUED, queued) \
	X(RECEIVED, received) \
	X(HANDED_UP, handed_up) \
	X(RX_NO_MEMORY, rx_no_memory) \
	X(RX_DROPPED_STOPPED, rx_dropped_stopped) \
	X(RX_WAITING, rx_waiting) \
	X(PPDUS, ppdus) \
	X(COLLIDED, collided) \
	X(INTERNAL_COLLISIONS, internal_collisions) \
	X(RETRIES, retries) \
	X(TX_AIRTIME_NS, tx_airtime_ns) \
	X(DOZE_NS, doze_ns) \
	X(RTS_SENT, rts_sent) \
	X(CTS_TO_SELF_SENT, cts_to_self_sent) \
	X(BAR_SENT, bar_sent) \
	X(TRIGGERS_SENT, triggers_sent) \
	X(TB_SENT, tb_sent) \
	X(ACKS_SUPPRESSED, acks_suppressed) \
	X(ACKS_HELD, acks_held)

/**
 * enum airsim_standard - newest amendment that a radio supports
 * @AIRSIM_80211A: 802.11a
 * @AIRSIM_80211G: 802.11g
 * @AIRSIM_80211N: 802.11n
 * @AIRSIM_80211AC: 802.11ac
 * @AIRSIM_80211AX: 802.11ax
 * @AIRSIM_80211BE: 802.11be
 */
enum airsim_standard {
	AIRSIM_80211A,
	AIRSIM_80211G,
	AIRSIM_80211N,
	AIRSIM_80211AC,
	AIRSIM_80211AX,
	AIRSIM_80211BE,
};

/**
 * enum airsim_queueing - where frames wait for transmission
 * @AIRSIM_QUEUE_TXQ: in mac80211's queues: FQ-CoDel, AQL
 * @AIRSIM_QUEUE_FIFO: in a FIFO of the driver, which drains mac80211's queues
 */
enum airsim_queueing {
	AIRSIM_QUEUE_TXQ,
	AIRSIM_QUEUE_FIFO,
};

/**
 * enum airsim_protection - how PPDUs are protected near stations of older
 * standards
 * @AIRSIM_PROTECTION_RTS_CTS: by RTS and CTS
 * @AIRSIM_PROTECTION_CTS_TO_SELF: by a CTS that the radio addresses to itself
 */
enum airsim_protection {
	AIRSIM_PROTECTION_RTS_CTS,
	AIRSIM_PROTECTION_CTS_TO_SELF,
};

/**
 * enum airsim_rx_delivery - when received MPDUs are delivered to mac80211
 * @AIRSIM_RX_DELIVERY_MPDU: each at its end
 * @AIRSIM_RX_DELIVERY_PPDU: all of a PPDU at its end
 * @AIRSIM_RX_DELIVERY_COALESCED: coalesced by count or time
 */
enum airsim_rx_delivery {
	AIRSIM_RX_DELIVERY_MPDU,
	AIRSIM_RX_DELIVERY_PPDU,
	AIRSIM_RX_DELIVERY_COALESCED,
};

/**
 * enum airsim_error_model - error model of a receiver
 * @AIRSIM_ERRORS_FIXED: mpdu_error_ppm and response_error_ppm
 * @AIRSIM_ERRORS_SNR: signal, noise, modulation and length
 * @AIRSIM_ERRORS_BURST: Gilbert-Elliott model, and response_error_ppm
 */
enum airsim_error_model {
	AIRSIM_ERRORS_FIXED,
	AIRSIM_ERRORS_SNR,
	AIRSIM_ERRORS_BURST,
};

/**
 * enum airsim_format - PHY format of a rate
 * @AIRSIM_CCK: DSSS and HR/DSSS, long preamble (clauses 15 and 16)
 * @AIRSIM_OFDM: OFDM and ERP-OFDM, 20 MHz (clauses 17 and 18)
 * @AIRSIM_HT: 802.11n, HT-mixed format (clause 19)
 * @AIRSIM_VHT: 802.11ac (clause 21)
 * @AIRSIM_HE: 802.11ax, HE SU and HE TB (clause 27)
 * @AIRSIM_EHT: 802.11be, EHT MU to one receiver (clause 36)
 */
enum airsim_format {
	AIRSIM_CCK,
	AIRSIM_OFDM,
	AIRSIM_HT,
	AIRSIM_VHT,
	AIRSIM_HE,
	AIRSIM_EHT,
};

#endif
