/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * airsim: 802.11 radios for mac80211 on a simulated medium.
 *
 *	main.c		module init and exit
 *	registry.c	radios by index
 *	radio.c		mac80211 operations
 *	capabilities.c	capabilities reported to mac80211
 *	config.c	constraints on radio capabilities and rates
 *	presets.c	radios of existing hardware
 *	netlink.c	control from user space
 *	medium.c	tuning, and the timer that runs the events
 *	exchange.c	frame exchanges: RTS, CTS, PPDU, response, TXOP
 *	uplink.c	UL OFDMA: Trigger frames, HE TB PPDUs, Multi-STA BlockAcks
 *	schedule.c	UL OFDMA: when to send a Trigger frame, and to whom
 *	mu_edca.c	EDCA parameters after UL OFDMA
 *	send.c		sends PPDUs, counts airtime
 *	aggregate.c	builds PPDUs from mac80211's queues
 *	settle.c	processes their MPDUs after the exchange
 *	buffer_status.c	UL OFDMA: what a station would send next
 *	response.c	frames before and after a PPDU, and their duration
 *	signal.c	carrier sense, NAV, collisions
 *	sinr.c		signal strength, capture
 *	events.c	event queue
 *	rates.c		conversion of mac80211's rates
 *	status.c	tx status and rate control feedback
 *	sleep.c		power save, of the radio and of stations
 *	peers.c		airtime by receiver
 *	receive.c	delivers received MPDUs to mac80211
 *	edca.c		EDCA functions
 *	airtime.c	frame durations
 *	he_tb.c		the same of UL OFDMA, resource units
 *	loss.c		error models
 *	decibel.c	logarithmic and linear levels
 *	propagation.c	path loss and noise
 *	fading.c	multipath fading
 *	monitor.c	monitor interface
 *	radiotap.c	headers of its frames
 *	trigger.c	contents of Trigger frames and Multi-STA BlockAcks
 *	classify.c	tells TCP ACKs from data, for the counters
 *	ack_hold.c	holds back TCP ACKs above mac80211
 *	debugfs.c	counters
 *
 * Calls between files go in one direction: there are no cycles.
 *
 * Locking: the medium's lock protects the medium, the radios' state on the air,
 * their settings and counters, and the queues between mac80211 and the air.
 * With the lock held, mac80211 is called only by aggregate.c, buffer_status.c
 * and rates.c, and only where it does not call back: ieee80211_tx_dequeue(), the
 * ieee80211_*_txq() around it, ieee80211_txq_get_depth() and
 * ieee80211_get_tx_rates().
 */
#ifndef AIRSIM_H
#define AIRSIM_H

#include <linux/bitmap.h>
#include <linux/hrtimer.h>
#include <linux/netdevice.h>
#include <linux/prandom.h>
#include <linux/skbuff.h>
#include <linux/timerqueue.h>
#include <linux/xarray.h>
#include <net/mac80211.h>
#include "airtime.h"
#include "config.h"
#include "control.h"
#include "decibel.h"
#include "edca.h"
#include "he_tb.h"

/* EDCA functions: mac80211's access categories, then beacons. */
enum { AIRSIM_BEACON = IEEE80211_NUM_ACS, AIRSIM_EDCAS };

/* Upper bound of a radiotap header with all fields. */
#define AIRSIM_MAX_RADIOTAP	192

/* Length of the longest response, a BlockAck, without FCS. */
#define AIRSIM_MAX_RESPONSE	(20 + AIRSIM_MAX_MPDUS / 8)

/* Changes of the SINR during a reception that are told apart. */
#define AIRSIM_MAX_SECTIONS	16

enum airsim_kind {
	AIRSIM_KIND_DATA,
	AIRSIM_KIND_TCP_ACK,	/* TCP segments without data */
	AIRSIM_KIND_OTHER,	/* management, control */
	AIRSIM_KINDS
};

/**
 * struct airsim_counters - airtime
 * @airtime_ns: complete exchanges (RTS, CTS, PPDU, response) by kind
 * @collision_ns: frames that collided at their receiver
 * @ampdu_sizes: data PPDUs by number of MPDUs
 */
struct airsim_counters {
	u64 airtime_ns[AIRSIM_KINDS];
	u64 collision_ns;
	u64 ampdu_sizes[AIRSIM_MAX_MPDUS + 1];
};

/**
 * struct airsim_mpdu - driver state of an MPDU, in its skb's driver data
 * @attempts: exchanges that have tried to send it
 * @sent: it has been on the air
 * @received: its receiver has received it
 * @first_of_ppdu: first MPDU of a PPDU that was built ahead
 * @crypto_octets: what the radio's encryption adds to it on the air: header and
 *	MIC; 0: it is not encrypted by the radio
 */
struct airsim_mpdu {
	u8 attempts;
	bool sent;
	bool received;
	bool first_of_ppdu;
	u8 crypto_octets;
};

/**
 * struct airsim_txq - driver state of a mac80211 transmit queue
 * @txq: mac80211's part
 * @pending: MPDUs dequeued from mac80211, in sequence, to be sent or sent again
 * @retry_list: entry in the radio's list while @pending is not empty
 * @buf_size: the receiver's reorder buffer, MPDUs; 0 without a BlockAck
 *	agreement
 * @unformed: first of the MPDUs in @pending that came through the FIFO and are
 *	in no PPDU yet; the others follow it
 * @prebuilt: PPDUs in @pending that were built ahead
 * @unanswered: exchanges since the last response
 * @bar_due: a BlockAck is missing, and a BlockAckReq is to be sent
 * @detached: it is about to be removed, and must not be dequeued from
 */
struct airsim_txq {
	struct ieee80211_txq *txq;
	struct sk_buff_head pending;
	struct list_head retry_list;
	struct sk_buff *unformed;
	u16 buf_size;
	u8 prebuilt;
	u8 unanswered;
	bool bar_due;
	bool detached;
};

/**
 * struct airsim_peer - a receiver, associated or not
 * @list: entry in the radio's list
 * @address: its MAC address
 * @present: mac80211 has a station for it
 * @tx_airtime_ns: duration of the PPDUs sent to it: data, and the radio's own
 *	BlockAckReqs
 */
struct airsim_peer {
	struct list_head list;
	u8 address[ETH_ALEN];
	bool present;
	u64 tx_airtime_ns;
};

/**
 * struct airsim_sta - driver state of a mac80211 station
 * @peer: its counters
 * @unreported_ns: airtime not yet reported to mac80211, which counts
 *	microseconds
 * @asleep: it is in power save
 */
struct airsim_sta {
	struct airsim_peer *peer;
	u32 unreported_ns;
	bool asleep;
};

enum airsim_frame {
	AIRSIM_RTS,
	AIRSIM_CTS,
	AIRSIM_PPDU,
	AIRSIM_ACK,
	AIRSIM_BLOCKACK,
	AIRSIM_TRIGGER,
	AIRSIM_MULTI_BLOCKACK,
};

/**
 * struct airsim_emission - a transmission on the air
 * @frame: frame type
 * @from: transmitter
 * @to: addressed receiver, or NULL
 * @rate: rate
 * @start_ns: start of the preamble
 * @end_ns: end of the PPDU
 * @nav_until_ns: end of the NAV that its Duration field sets
 * @detected_by: radios that detect it, by index
 * @reached: radios that receive it without interference, by index; of frames to
 *	several stations only
 * @trigger: HE TB PPDU: number of its Trigger frame; else 0
 * @collided: interference at @to
 * @awaited: a response whose start @to has detected
 */
struct airsim_emission {
	enum airsim_frame frame;
	struct airsim_radio *from;
	struct airsim_radio *to;
	struct airsim_rate rate;
	u64 start_ns;
	u64 end_ns;
	u64 nav_until_ns;
	DECLARE_BITMAP(detected_by, AIRSIM_MAX_RADIOS);
	DECLARE_BITMAP(reached, AIRSIM_MAX_RADIOS);
	u32 trigger;
	bool collided;
	bool awaited;
};

enum airsim_response {
	AIRSIM_NO_RESPONSE,
	AIRSIM_RESPONSE_ACK,
	AIRSIM_RESPONSE_BLOCKACK,
};

/**
 * struct airsim_buffer_report - buffer status report of a station
 * @octets: length of its next A-MPDU
 * @mpdus: number of MPDUs in it
 */
struct airsim_buffer_report {
	u32 octets;
	u16 mpdus;
};

/**
 * struct airsim_ppdu - MPDUs to be sent together
 * @queued: its MPDUs are from a queue, and return there if @txq still exists
 * @bar: it is a BlockAckReq that the driver generated for @txq
 * @tb: it is an HE TB PPDU, whose rate is that of a Trigger frame
 * @null: it is a QoS Null that the driver generated
 * @probe: rate control probes this rate
 * @first: first frame of its exchange: itself, or AIRSIM_RTS, or AIRSIM_CTS,
 *	which its sender addresses to itself
 * @ac: EDCA function
 * @response: expected response
 * @count: MPDUs
 * @next: the next MPDU to end
 * @arrived: MPDUs that the receiver received
 * @reference: A-MPDU reference for radiotap
 * @psdu_octets: octets of all MPDUs with delimiters and padding
 * @left: buffer status report in the PPDU: what the station would send next
 * @rate: rate
 * @chosen: the rate in mac80211's format
 * @octets: octets of MPDUs by kind
 * @txq: queue of unacknowledged MPDUs, or NULL
 * @sta: driver state of the receiver, or NULL; lives as long as @txq
 * @mpdu: the MPDUs
 * @subframe_octets: of each but the last, with delimiter and padding
 * @mpdu_end_ns: end of each MPDU
 */
struct airsim_ppdu {
	bool queued;
	bool bar;
	bool tb;
	bool null;
	bool probe;
	u8 ac;
	enum airsim_frame first;
	enum airsim_response response;
	u16 count;
	u16 next;
	u16 arrived;
	u32 reference;
	u32 psdu_octets;
	struct airsim_buffer_report left;
	struct airsim_rate rate;
	struct ieee80211_tx_rate chosen;
	u32 octets[AIRSIM_KINDS];
	struct ieee80211_txq *txq;
	struct airsim_sta *sta;
	struct sk_buff *mpdu[AIRSIM_MAX_MPDUS];
	u16 subframe_octets[AIRSIM_MAX_MPDUS];
	u64 mpdu_end_ns[AIRSIM_MAX_MPDUS];
};

enum airsim_event_kind {
	AIRSIM_EVENT_ACCESS,	/* an EDCA function may transmit */
	AIRSIM_EVENT_AIR,	/* end of an MPDU or of the emission */
	AIRSIM_EVENT_STEP,	/* next step or timeout of its exchange */
	AIRSIM_EVENT_REPLY,	/* send a response */
	AIRSIM_EVENT_UPLINK,	/* a Trigger frame may be due */
	AIRSIM_EVENT_MU_EDCA,	/* an MU EDCA timer has expired */
	AIRSIM_EVENTS
};

/**
 * struct airsim_event - a scheduled event of a radio
 * @node: entry in the medium's queue
 * @radio: the radio
 * @kind: event type
 */
struct airsim_event {
	struct timerqueue_node node;
	struct airsim_radio *radio;
	enum airsim_event_kind kind;
};

/**
 * struct airsim_reception - the medium as a radio detects it
 * @audible: number of emissions detected now
 * @locked: the one that it receives
 * @signal_mdbm: its signal strength
 * @intf_start_ns: start of interference with it, or U64_MAX
 * @intf_end_ns: end of interference
 * @failed: the last reception failed
 * @undetected: with capture: its preamble was not detected
 * @interfered: with capture: another signal was there at some time
 * @sections: with capture: number of parts with different SINR
 * @section: these parts
 * @idle_from_ns: time since when, or from when on, the medium is idle
 * @nav_until_ns: end of the NAV
 * @nav_reset_ns: when a NAV set by an RTS is reset if no frame follows; or 0
 */
struct airsim_reception {
	u32 audible;
	struct airsim_emission *locked;
	s32 signal_mdbm;
	u64 intf_start_ns;
	u64 intf_end_ns;
	bool failed;
	bool undetected;
	bool interfered;
	u8 sections;
	struct airsim_section section[AIRSIM_MAX_SECTIONS];
	u64 idle_from_ns;
	u64 nav_until_ns;
	u64 nav_reset_ns;
};

enum airsim_stage {
	AIRSIM_STAGE_NONE,	/* no exchange */
	AIRSIM_STAGE_RTS,	/* sending RTS, or waiting for CTS */
	AIRSIM_STAGE_CTS,	/* sending CTS to itself */
	AIRSIM_STAGE_READY,	/* SIFS before the PPDU */
	AIRSIM_STAGE_PPDU,	/* sending PPDU, or waiting for response */
	AIRSIM_STAGE_TRIGGER,	/* from a Trigger frame to its BlockAck */
	AIRSIM_STAGE_TB,	/* sending HE TB PPDU, or waiting for response */
};

/**
 * struct airsim_exchange - the frame exchange that a radio has started
 * @stage: state
 * @peer: radio that is to respond
 * @txop_end_ns: end of the TXOP; 0: a single exchange
 * @airtime_ns: its frames that did not collide, and the SIFS between them
 * @answered: HE TB PPDU: it was acknowledged
 */
struct airsim_exchange {
	enum airsim_stage stage;
	struct airsim_radio *peer;
	u64 txop_end_ns;
	u64 airtime_ns;
	bool answered;
};

/**
 * struct airsim_reply - a response that a radio is to send
 * @to: destination
 * @frame: frame type
 * @rate: rate of the frame that is responded to
 * @nav_until_ns: end of the NAV that the response sets
 */
struct airsim_reply {
	struct airsim_radio *to;
	enum airsim_frame frame;
	struct airsim_rate rate;
	u64 nav_until_ns;
};

/**
 * struct airsim_shown_response - a response for the monitor interface
 * @length: its length without FCS; 0: it is not shown
 * @octets: the response, with Frame Control and Duration still to be filled in
 */
struct airsim_shown_response {
	u16 length;
	u8 octets[AIRSIM_MAX_RESPONSE];
};

/**
 * struct airsim_buffer_status - what an access point knows of a station
 * @left: its last report
 * @rate: rate of the last data that the access point received; 0 streams: none
 * @active_until_ns: it is asked for reports until then, as it has sent data
 * @awaited: the access point has sent it data since the last report
 * @silent: Trigger frames that it has not answered
 */
struct airsim_buffer_status {
	struct airsim_buffer_report left;
	struct airsim_rate rate;
	u64 active_until_ns;
	bool awaited;
	u8 silent;
};

/**
 * struct airsim_tb_user - a station in a Trigger frame
 * @radio: the station; NULL if it has left
 * @rate: rate of its HE TB PPDU
 * @arrived: it has answered, and MPDUs have arrived
 * @acknowledged: it is in the Multi-STA BlockAck
 * @awaits: it has detected the start of the Multi-STA BlockAck in time
 */
struct airsim_tb_user {
	struct airsim_radio *radio;
	struct airsim_rate rate;
	bool arrived;
	bool acknowledged;
	bool awaits;
};

/**
 * struct airsim_uplink - UL OFDMA of an access point
 * @number: number of the last Trigger frame, not 0
 * @basic: it is a Basic Trigger frame, which asks for data; else a BSRP Trigger
 *	frame, which asks for buffer status reports
 * @answered: a station has started to answer it
 * @users: stations in it
 * @txop_ns: rest of the TXOP at its start; 0: no limit
 * @tb_ns: duration of the HE TB PPDUs
 * @control: rate of Trigger frame and BlockAck
 * @next: radio with which the next round starts
 * @not_before_ns: while the access point has data, no Trigger frame before
 * @ask_again_ns: no BSRP Trigger frame before
 * @user: the stations
 */
struct airsim_uplink {
	u32 number;
	bool basic;
	bool answered;
	u8 users;
	u32 txop_ns;
	u32 tb_ns;
	struct airsim_rate control;
	u32 next;
	u64 not_before_ns;
	u64 ask_again_ns;
	struct airsim_tb_user user[AIRSIM_MAX_RUS];
};

/**
 * struct airsim_mu_edca - MU EDCA parameters of an access category
 * @aifsn: AIFSN; 0: the station does not contend
 * @cw_min: minimum contention window, slots
 * @cw_max: maximum contention window, slots
 * @timer_ns: how long they apply after UL OFDMA; 0: never
 * @until_ns: until when they apply; 0: they do not
 * @own: the parameters that apply otherwise
 */
struct airsim_mu_edca {
	u8 aifsn;
	u16 cw_min;
	u16 cw_max;
	u64 timer_ns;
	u64 until_ns;
	struct {
		u8 aifsn;
		u16 cw_min;
		u16 cw_max;
	} own;
};

/**
 * struct airsim_radio - a radio
 * @hw: mac80211's part
 * @device: its device
 * @index: number of the radio
 * @list: entry in the medium's list while it is tuned
 * @hardware: capabilities
 * @settings: settings
 * @losses_mdb: attenuation from other radios, by index, where set
 * @link_rates: fixed rates of data for other radios, by index, where set:
 *	struct airsim_link_rate
 * @started: interface is up
 * @dozing: it is in power save, and receives no individually addressed frames
 * @doze_since_ns: since when
 * @phy: timing of its band
 * @frequency_mhz: centre of the primary channel
 * @low_mhz: lower edge of the channel
 * @high_mhz: upper edge of the channel
 * @event: its events
 * @edca: EDCA functions, the one for beacons last
 * @committed: it will transmit, as the medium turned busy too late to be sensed
 * @emitting: it is transmitting
 * @emission: current or last transmission
 * @reception: detected signals
 * @exchange: the exchange that it has started
 * @ppdu: PPDU of that exchange
 * @reply: response to be sent
 * @shown: response on the air
 * @uplink: UL OFDMA, if it is an access point
 * @status: what its access point knows of it, if it is a station
 * @mu_edca: MU EDCA parameters
 * @ap: its access point, if it is a station
 * @peers: what it has sent to, struct airsim_peer
 * @burst_bad: state of the Gilbert-Elliott model
 * @frames: frames from the tx callback, by EDCA function
 * @retry_txqs: queues with pending MPDUs, by access category
 * @fifo_mpdus: MPDUs in the FIFO, with AIRSIM_QUEUE_FIFO
 * @fifo_waiting: access categories that found the FIFO full
 * @vif: its interface, or NULL
 * @beacon_timer: next beacon
 * @beacon_interval_us: 0 while beaconing is off
 * @beacon_vif: interface of the beacons
 * @napi_dev: carries @napi
 * @napi: delivers received MPDUs
 * @arrived: MPDUs before their interrupt; protected by the medium's lock
 * @coalesce_timer: interrupt coalescing
 * @coalesce_first_ns: when the first of @arrived arrived, with coalescing
 * @coalesce_last_ns: when the last did
 * @received: MPDUs to be delivered
 * @completions: reports that are delayed by the setting completion_us
 * @completion_timer: their delivery
 * @ack_hold: held TCP ACKs
 * @tx_kbps: rate of the last PPDU from a queue
 * @count: counters
 * @bands: bands
 * @address: MAC address
 */
struct airsim_radio {
	struct ieee80211_hw *hw;
	struct platform_device *device;
	u32 index;
	struct list_head list;
	struct airsim_hardware hardware;
	struct airsim_settings settings;
	struct xarray losses_mdb;
	struct xarray link_rates;
	bool started;
	bool dozing;
	u64 doze_since_ns;
	const struct airsim_phy *phy;
	u16 frequency_mhz;
	u16 low_mhz;
	u16 high_mhz;

	struct airsim_event event[AIRSIM_EVENTS];
	struct airsim_edca edca[AIRSIM_EDCAS];
	bool committed;
	bool emitting;
	struct airsim_emission emission;
	struct airsim_reception reception;
	struct airsim_exchange exchange;
	struct airsim_ppdu ppdu;
	struct airsim_reply reply;
	struct airsim_shown_response shown;
	struct airsim_uplink uplink;
	struct airsim_buffer_status status;
	struct airsim_mu_edca mu_edca[IEEE80211_NUM_ACS];
	struct ieee80211_sta *ap;
	struct list_head peers;
	bool burst_bad;

	struct sk_buff_head frames[AIRSIM_EDCAS];
	struct list_head retry_txqs[IEEE80211_NUM_ACS];
	u32 fifo_mpdus;
	u8 fifo_waiting;
	struct ieee80211_vif *vif;
	struct hrtimer beacon_timer;
	u32 beacon_interval_us;
	struct ieee80211_vif *beacon_vif;

	struct net_device *napi_dev;
	struct napi_struct napi;
	struct sk_buff_head arrived;
	struct hrtimer coalesce_timer;
	u64 coalesce_first_ns;
	u64 coalesce_last_ns;
	struct sk_buff_head received;

	struct list_head completions;
	struct hrtimer completion_timer;

	struct airsim_ack_hold *ack_hold;
	u32 tx_kbps;
	struct airsim_radio_counters count;
	struct ieee80211_supported_band bands[NUM_NL80211_BANDS];
	struct mac_address address;
};

/**
 * struct airsim_link_rate - the fixed rate of data to another radio
 * @rate: the rate
 * @rcu: to free it
 */
struct airsim_link_rate {
	struct airsim_rate rate;
	struct rcu_head rcu;
};

/**
 * struct airsim_report - tx status to be reported to mac80211 without the lock
 * @radio: transmitter, or NULL if there is nothing to report
 * @ac: EDCA function of their PPDU
 * @done: MPDUs that were acknowledged or dropped
 * @receiver: their receiver
 * @sender: their transmitter
 * @qos: they are QoS data of @tid
 * @tid: traffic identifier
 * @airtime_us: duration of their PPDU
 * @session: they belong to a BlockAck session
 * @probe: rate control asked for that rate
 * @chosen: rate of the PPDU in mac80211's format
 * @rate: the same in airsim's format
 * @mpdus: MPDUs in the PPDU
 * @acked: MPDUs acknowledged
 */
struct airsim_report {
	struct airsim_radio *radio;
	u8 ac;
	struct sk_buff_head done;
	u8 receiver[ETH_ALEN];
	u8 sender[ETH_ALEN];
	bool qos;
	u8 tid;
	u32 airtime_us;
	bool session;
	bool probe;
	struct ieee80211_tx_rate chosen;
	struct airsim_rate rate;
	u16 mpdus;
	u16 acked;
};

/**
 * struct airsim_medium - state shared by all radios
 * @lock: see the top of this file
 * @timer: fires at the next event
 * @events: event queue
 * @radios: radios that are tuned to a channel
 * @tuned: the same by index
 * @air: propagation parameters
 * @backoff_rnd: random numbers for backoffs
 * @error_rnd: random numbers for frame errors; separate, so that an ACK policy
 *	does not change the backoffs
 * @fading_seed: determines the fading of all links
 * @reference: A-MPDU reference of the newest PPDU
 * @trigger: number of the newest Trigger frame
 * @report: for mac80211
 * @collided_until_ns: end of the last collision that was counted
 * @counters: airtime
 */
struct airsim_medium {
	spinlock_t lock; /* see the top of this file */
	struct hrtimer timer;
	struct timerqueue_head events;
	struct list_head radios;
	struct airsim_radio *tuned[AIRSIM_MAX_RADIOS];
	struct airsim_air air;
	struct rnd_state backoff_rnd;
	struct rnd_state error_rnd;
	u32 fading_seed;
	u32 reference;
	u32 trigger;
	struct airsim_report report;
	u64 collided_until_ns;
	struct airsim_counters counters;
};

extern struct airsim_medium airsim_medium;

static inline struct airsim_mpdu *airsim_mpdu(struct sk_buff *skb)
{
	struct ieee80211_tx_info *info = IEEE80211_SKB_CB(skb);

	BUILD_BUG_ON(sizeof(struct airsim_mpdu) >
		     sizeof(info->rate_driver_data));
	return (struct airsim_mpdu *)info->rate_driver_data;
}

/* Starts with an MPDU from mac80211, which has a key if the radio encrypts it. */
static inline void airsim_mpdu_init(struct sk_buff *skb)
{
	const struct ieee80211_key_conf *key =
		IEEE80211_SKB_CB(skb)->control.hw_key;
	u8 crypto_octets = key ? key->iv_len + key->icv_len : 0;

	/* In the same place as control.vif, which is not used from here on. */
	*airsim_mpdu(skb) = (struct airsim_mpdu){
		.crypto_octets = crypto_octets,
	};
}

static inline u8 airsim_crypto_octets(const struct sk_buff *skb)
{
	return airsim_mpdu((struct sk_buff *)skb)->crypto_octets;
}

static inline struct airsim_txq *airsim_txq(struct ieee80211_txq *txq)
{
	return (struct airsim_txq *)txq->drv_priv;
}

static inline bool airsim_txq_asleep(const struct ieee80211_txq *txq)
{
	return txq->sta &&
	       ((const struct airsim_sta *)txq->sta->drv_priv)->asleep;
}

static inline enum nl80211_band airsim_band(const struct airsim_radio *radio)
{
	if (radio->phy == &airsim_phy_6ghz)
		return NL80211_BAND_6GHZ;
	return radio->phy == &airsim_phy_5ghz ? NL80211_BAND_5GHZ :
						NL80211_BAND_2GHZ;
}

/* Transmitting, or signal detected. */
static inline bool airsim_busy(const struct airsim_radio *radio)
{
	return radio->emitting || radio->reception.audible;
}

/* Whether the SINR decides what it receives of overlapping signals. */
static inline bool airsim_captures(const struct airsim_radio *radio)
{
	return radio->settings.capture &&
	       radio->settings.errors == AIRSIM_ERRORS_SNR;
}

static inline bool airsim_tuned(const struct airsim_radio *radio)
{
	return !list_empty(&radio->list);
}

static inline u8 airsim_retry_limit(const struct airsim_radio *radio)
{
	return radio->hw->conf.short_frame_max_tx_count;
}

/* Whether two emissions are on different RUs, in answer to a Trigger frame. */
static inline bool airsim_in_parallel(const struct airsim_emission *a,
				      const struct airsim_emission *b)
{
	return a->frame == AIRSIM_PPDU && b->frame == AIRSIM_PPDU &&
	       a->trigger && a->trigger == b->trigger;
}

/* Whether a radio receives an emission, maybe with others in parallel. */
static inline bool airsim_receives(const struct airsim_radio *radio,
				   const struct airsim_emission *emission)
{
	const struct airsim_emission *locked = radio->reception.locked;

	return locked == emission ||
	       (locked && airsim_in_parallel(locked, emission));
}

/* From VHT on, a single MPDU is sent as an A-MPDU, too. */
static inline bool airsim_ppdu_is_ampdu(const struct airsim_ppdu *ppdu)
{
	return ppdu->count > 1 || ppdu->rate.format >= AIRSIM_VHT;
}

static inline bool airsim_mpdu_needs_response(struct sk_buff *skb)
{
	struct ieee80211_hdr *hdr = (void *)skb->data;

	return !is_multicast_ether_addr(hdr->addr1) &&
	       !(IEEE80211_SKB_CB(skb)->flags & IEEE80211_TX_CTL_NO_ACK);
}

static inline u32 airsim_mpdu_octets(const struct sk_buff *skb)
{
	return skb->len + airsim_crypto_octets(skb) + AIRSIM_FCS_OCTETS;
}

/* registry.c */
void airsim_registry_clear(void);
void airsim_registry_show_peers(struct seq_file *file);

/* radio.c */
struct airsim_radio *airsim_radio_create(const struct airsim_hardware *hardware,
					 const struct airsim_settings *settings,
					 u32 index);
void airsim_radio_destroy(struct airsim_radio *radio);

/* capabilities.c */
int airsim_describe(struct airsim_radio *radio);

/* medium.c */
const struct airsim_phy *airsim_phy_of(const struct airsim_radio *radio,
				       enum nl80211_band band);
void airsim_medium_init(void);
void airsim_medium_exit(void);
void airsim_medium_tune(struct airsim_radio *radio,
			const struct cfg80211_chan_def *channel);
void airsim_medium_leave(struct airsim_radio *radio);
void airsim_medium_request(struct airsim_radio *radio, u8 ac);

/* exchange.c */
void airsim_exchange_begin(struct airsim_radio *radio, u64 now_ns);
void airsim_exchange_step(struct airsim_radio *radio, u64 now_ns);
void airsim_exchange_reply(struct airsim_radio *radio, u64 now_ns);
void airsim_exchange_mpdu_ended(struct airsim_radio *radio);
void airsim_exchange_emission_ended(struct airsim_radio *radio, u64 now_ns,
				    bool arrived);
void airsim_exchange_abort(struct airsim_radio *radio);

/* uplink.c */
void airsim_uplink_send(struct airsim_radio *radio, u64 now_ns);
void airsim_uplink_trigger_ended(struct airsim_radio *radio, u64 now_ns);
void airsim_uplink_blockack_ended(struct airsim_radio *radio, u64 now_ns);
void airsim_uplink_step(struct airsim_radio *radio, u64 now_ns);
void airsim_uplink_abort(struct airsim_radio *radio);
void airsim_tb_send(struct airsim_radio *radio, u64 now_ns);
void airsim_tb_ended(struct airsim_radio *radio, u64 now_ns);
void airsim_tb_finish(struct airsim_radio *radio, u64 now_ns);

/* schedule.c */
bool airsim_uplink_choose(struct airsim_radio *radio, u64 now_ns, bool idle);
bool airsim_uplink_choose_data(struct airsim_radio *radio, u64 now_ns);
u32 airsim_uplink_response_ns(const struct airsim_radio *radio, u8 users);
void airsim_uplink_event(struct airsim_radio *radio, u64 now_ns);
bool airsim_uplink_trigger_due(struct airsim_radio *radio, u64 now_ns);
void airsim_uplink_request(struct airsim_radio *radio, u64 now_ns, bool busy);
void airsim_uplink_heard(struct airsim_radio *radio,
			 struct airsim_radio *station);
void airsim_uplink_sent(struct airsim_radio *radio, u64 now_ns);
void airsim_uplink_forget(struct airsim_radio *radio,
			  const struct airsim_radio *station);

/* mu_edca.c */
void airsim_mu_edca_configure(struct airsim_radio *radio, u8 ac,
			      const struct ieee80211_tx_queue_params *params);
void airsim_mu_edca_start(struct airsim_radio *radio, u8 ac, u64 now_ns);
bool airsim_mu_edca_active(const struct airsim_radio *radio);
void airsim_mu_edca_expired(struct airsim_radio *radio, u64 now_ns);

/* send.c */
void airsim_send_ppdu(struct airsim_radio *radio, struct airsim_radio *to,
		      u64 now_ns);
u64 airsim_answer_timeout_ns(struct airsim_radio *radio, u64 now_ns);
void airsim_count_emission(struct airsim_radio *radio, u64 now_ns);
void airsim_count_airtime(const struct airsim_radio *radio);

/* aggregate.c */
void airsim_txq_init(struct ieee80211_txq *txq);
void airsim_txq_detach(struct airsim_radio *radio, struct ieee80211_txq *txq,
		       struct sk_buff_head *done);
void airsim_txq_list_pending(struct airsim_radio *radio,
			     struct ieee80211_txq *txq);
void airsim_prefetch(struct airsim_radio *radio, u8 ac);
u32 airsim_receiver_octets(const struct ieee80211_sta *sta,
			   enum airsim_format format);
struct airsim_txq *airsim_first_pending(struct airsim_radio *radio, u8 ac);
bool airsim_has_frame(struct airsim_radio *radio, u8 ac);
void airsim_resume(struct airsim_radio *radio, u8 ac);
void airsim_fifo_share(struct airsim_radio *radio, u64 now_ns);
bool airsim_ppdu_build(struct airsim_radio *radio, u8 ac, u64 limit_ns);
bool airsim_ppdu_build_tb(struct airsim_radio *radio, struct ieee80211_txq *txq,
			  const struct airsim_rate *rate, u32 limit_ns);
void airsim_ppdu_build_null(struct airsim_radio *radio, struct sk_buff *null,
			    const struct airsim_rate *rate);
void airsim_ppdu_clear(struct airsim_ppdu *ppdu, u8 ac);
void airsim_ppdu_settle(struct airsim_radio *radio, bool answered);

/* buffer_status.c */
struct ieee80211_txq *airsim_next_txq(struct airsim_radio *radio);
struct airsim_buffer_report
airsim_report_buffer(struct airsim_radio *radio);
struct sk_buff *airsim_null_make(struct airsim_radio *radio);

/* response.c */
u32 airsim_control_octets(enum airsim_frame frame,
			  const struct airsim_ppdu *ppdu);
enum airsim_frame airsim_response_frame(const struct airsim_ppdu *ppdu);
u32 airsim_response_ns(struct airsim_radio *radio);
struct airsim_rate airsim_rts_rate(struct airsim_radio *radio);
struct airsim_rate airsim_cts_to_self_rate(struct airsim_radio *radio);
u32 airsim_protection_ns(struct airsim_radio *radio, enum airsim_frame first);

/* signal.c */
u64 airsim_nav_ns(const struct airsim_radio *radio);
void airsim_contend(struct airsim_radio *radio, u64 now_ns);
void airsim_contend_again(struct airsim_radio *radio, struct airsim_edca *edca,
			  bool answered, u64 now_ns);
void airsim_request_access(struct airsim_radio *radio, u8 ac, u64 now_ns);
void airsim_freeze(struct airsim_radio *radio, u64 busy_from_ns);
bool airsim_is_collided(const struct airsim_emission *emission);
bool airsim_interfered(const struct airsim_radio *radio, u64 from_ns,
		       u64 to_ns);
bool airsim_control_lost(struct airsim_radio *radio,
			 const struct airsim_emission *emission, u32 octets);
bool airsim_mpdu_lost(struct airsim_radio *radio,
		      const struct airsim_emission *emission,
		      const struct sk_buff *mpdu, u64 from_ns, u64 to_ns);
u64 airsim_next_end_ns(const struct airsim_radio *radio);
void airsim_transmit(struct airsim_radio *radio);
bool airsim_emission_end(struct airsim_radio *radio, u64 now_ns);
void airsim_emission_abort(struct airsim_radio *radio, u64 now_ns);

/* sinr.c */
bool airsim_detects(const struct airsim_radio *radio,
		    const struct airsim_radio *from, u64 now_ns,
		    s32 *signal_mdbm);
s32 airsim_signal_mdbm(const struct airsim_radio *radio,
		       const struct airsim_emission *emission);
void airsim_sinr_start(struct airsim_radio *radio);
bool airsim_interferes(const struct airsim_radio *radio,
		       const struct airsim_radio *from,
		       const struct airsim_emission *wanted,
		       const struct airsim_emission *ended);
void airsim_sinr_change(struct airsim_radio *radio, u64 now_ns,
			const struct airsim_emission *ended);
bool airsim_is_captured(const struct airsim_radio *radio,
			const struct airsim_emission *emission,
			s32 signal_mdbm);
bool airsim_sinr_lost(const struct airsim_radio *radio,
		      const struct airsim_emission *emission, u64 from_ns,
		      u64 to_ns, u32 octets);
bool airsim_sinr_readable(const struct airsim_radio *radio,
			  const struct airsim_emission *emission, u32 octets);

/* events.c */
void airsim_schedule(struct airsim_radio *radio, enum airsim_event_kind kind,
		     u64 at_ns);
void airsim_cancel(struct airsim_radio *radio, enum airsim_event_kind kind);
bool airsim_scheduled(const struct airsim_radio *radio,
		      enum airsim_event_kind kind);
void airsim_events_arm(void);

/* rates.c */
bool airsim_non_erp_nearby(const struct airsim_radio *radio);
enum airsim_frame airsim_rate_read(struct airsim_radio *radio,
				   struct sk_buff *skb,
				   struct ieee80211_txq *txq,
				   unsigned int tries,
				   struct ieee80211_tx_rate *chosen,
				   struct airsim_rate *rate);
void airsim_rate_to_rx_status(const struct airsim_rate *rate,
			      struct ieee80211_rx_status *status);
void airsim_rate_to_info(const struct airsim_rate *rate,
			 struct rate_info *info);
u16 airsim_basic_rates(struct airsim_radio *radio);

/* status.c */
void airsim_report_flush(struct airsim_report *report);
enum hrtimer_restart airsim_completion_timer(struct hrtimer *timer);
void airsim_completions_stop(struct airsim_radio *radio);

/* sleep.c */
void airsim_doze(struct airsim_radio *radio, bool doze);
u64 airsim_doze_ns(const struct airsim_radio *radio);
void airsim_sta_notify(struct ieee80211_hw *hw, struct ieee80211_vif *vif,
		       enum sta_notify_cmd cmd, struct ieee80211_sta *sta);

/* peers.c */
struct airsim_peer *airsim_peer_add(struct airsim_radio *radio,
				    const u8 *address);
void airsim_peer_left(struct airsim_sta *sta);
void airsim_peers_show(struct airsim_radio *radio, struct seq_file *file);
void airsim_peers_free(struct airsim_radio *radio);

/* receive.c */
bool airsim_is_receiver(const struct airsim_radio *radio, const u8 *address);
void airsim_receive(struct airsim_radio *radio, const struct sk_buff *sent,
		    const struct airsim_ppdu *ppdu, unsigned int index);
void airsim_receive_ended(struct airsim_radio *radio);
void airsim_receive_interrupt(struct airsim_radio *radio);
void airsim_receive_with_tx(struct airsim_radio *radio);
enum hrtimer_restart airsim_coalesce_timer(struct hrtimer *timer);
int airsim_poll(struct napi_struct *napi, int budget);

/* classify.c */
enum airsim_kind airsim_classify(const struct sk_buff *skb);

/**
 * struct airsim_radiotap - a radiotap header
 * @octets: the header
 * @length: its length
 * @present: the fields that it has
 */
struct airsim_radiotap {
	u8 octets[AIRSIM_MAX_RADIOTAP];
	unsigned int length;
	u32 present;
};

/* radiotap.c */
void airsim_radiotap_make(struct airsim_radiotap *header,
			  const struct airsim_radio *radio, unsigned int index,
			  bool received);

/* monitor.c */
int airsim_monitor_init(void);
void airsim_monitor_exit(void);
void airsim_monitor_mpdu(const struct airsim_radio *radio, unsigned int index,
			 bool received);
void airsim_monitor_control(const struct airsim_radio *radio, u32 octets,
			    bool received);
void airsim_monitor_prepare(struct airsim_radio *radio, u32 octets);
void airsim_monitor_response(const struct airsim_radio *radio, bool received);

/* trigger.c */
struct airsim_tb_user *airsim_uplink_find(struct airsim_radio *radio,
					  const struct airsim_radio *station);
u32 airsim_uplink_octets(const struct airsim_radio *radio);
void airsim_uplink_fill(const struct airsim_radio *radio, u8 *frame);
void airsim_put_bitmap(u8 *bitmap, unsigned int bits,
		       const struct airsim_ppdu *ppdu, u16 start);

/* ack_hold.c */
int airsim_ack_hold_create(struct airsim_radio *radio);
void airsim_ack_hold_destroy(struct airsim_radio *radio);
int airsim_ack_hold_attach(struct airsim_radio *radio,
			   struct net_device *device);
void airsim_ack_hold_detach(struct airsim_radio *radio,
			    struct net_device *device);
void airsim_ack_hold_count(struct airsim_radio *radio,
			   struct airsim_radio_counters *count);

/* codel.c */
void airsim_set_codel(struct airsim_radio *radio);

/* debugfs.c */
void airsim_debugfs_init(void);
void airsim_debugfs_exit(void);

#endif
