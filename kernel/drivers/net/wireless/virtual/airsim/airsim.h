/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * airsim: 802.11 radios for mac80211 on a simulated medium.
 *
 *	main.c		the module: its start and its end
 *	registry.c	the radios there are, by index
 *	radio.c		what mac80211 asks of a radio
 *	capabilities.c	what a radio tells mac80211 that it can do
 *	config.c	limits of what can be configured
 *	presets.c	radios of the field
 *	netlink.c	radios are made, changed and removed from user space
 *	medium.c	radios tune and leave, and do what they are to do in time
 *	exchange.c	frame exchanges: RTS, CTS, PPDU, answer, TXOP
 *	aggregate.c	builds PPDUs from mac80211's queues, settles them after
 *	response.c	what answers a PPDU
 *	signal.c	who hears whom, who senses what, what spoils what
 *	events.c	what radios are to do, in order of time
 *	rates.c		the rates of mac80211 and those of the air
 *	status.c	tells mac80211 what has become of its frames
 *	receive.c	hands received MPDUs up
 *	edca.c		when an access category may transmit
 *	airtime.c	how long it takes
 *	loss.c		whether it arrives
 *	propagation.c	what distance does to a signal
 *	monitor.c	shows everything on the air to a radiotap interface
 *	classify.c	tells TCP acknowledgments from data, for the counters
 *	ack_hold.c	holds TCP acknowledgments back above mac80211
 *	debugfs.c	the counters
 *
 * Calls go one way: no file calls another that calls it, if only by way of a
 * third.
 *
 * Locking: the medium's lock guards the medium, the radios' state on the air,
 * their settings and counters, and the queues between mac80211 and the air.
 * With the lock held mac80211 is called only by aggregate.c and rates.c, for
 * what it answers without calling back: ieee80211_tx_dequeue(), the
 * ieee80211_*_txq() around it and ieee80211_get_tx_rates().
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
#include "edca.h"

/* The access categories, in mac80211's order, and the beacons before them. */
enum { AIRSIM_BEACON = IEEE80211_NUM_ACS, AIRSIM_EDCAS };

enum airsim_kind {
	AIRSIM_KIND_DATA,
	AIRSIM_KIND_TCP_ACK,	/* TCP segments without data */
	AIRSIM_KIND_OTHER,	/* management, control */
	AIRSIM_KINDS
};

/**
 * struct airsim_counters - what has been on the air
 * @airtime_ns: whole exchanges (RTS, CTS, PPDU, answer) by kind
 * @collision_ns: frames that another one spoiled at their receiver
 * @ampdu_sizes: data PPDUs by number of MPDUs
 */
struct airsim_counters {
	u64 airtime_ns[AIRSIM_KINDS];
	u64 collision_ns;
	u64 ampdu_sizes[AIRSIM_MAX_MPDUS + 1];
};

/**
 * struct airsim_mpdu - driver state of an MPDU, in its skb's driver data
 * @attempts: exchanges that tried to send it
 * @received: its receiver has got it
 * @begins: it begins a PPDU that is formed already
 */
struct airsim_mpdu {
	u8 attempts;
	bool received;
	bool begins;
};

/**
 * struct airsim_txq - driver state of a mac80211 transmit queue
 * @txq: mac80211's part
 * @pending: MPDUs taken from mac80211, in sequence, to be sent or sent again
 * @retry_list: in the radio's list while @pending is not empty
 * @buf_size: the receiver's reorder buffer, MPDUs; 0 without a BlockAck
 *	agreement
 * @formed: PPDUs that are formed already, in @pending
 * @unanswered: exchanges since the last answer
 * @bar_due: a BlockAck did not come, and is to be asked for
 * @gone: it is about to disappear, and nothing is taken from it any more
 */
struct airsim_txq {
	struct ieee80211_txq *txq;
	struct sk_buff_head pending;
	struct list_head retry_list;
	u16 buf_size;
	u8 formed;
	u8 unanswered;
	bool bar_due;
	bool gone;
};

/**
 * struct airsim_sta - driver state of a mac80211 station
 * @tx_airtime_ns: PPDUs sent to it
 * @unreported_ns: part of it that mac80211, which counts microseconds, has
 *	not been told of
 */
struct airsim_sta {
	u64 tx_airtime_ns;
	u32 unreported_ns;
};

enum airsim_frame {
	AIRSIM_RTS,
	AIRSIM_CTS,
	AIRSIM_PPDU,
	AIRSIM_ACK,
	AIRSIM_BLOCKACK,
};

/**
 * struct airsim_emission - what a radio has on the air
 * @frame: which frame
 * @from: who transmits
 * @to: who is addressed, if there is one
 * @rate: modulation
 * @start_ns: start of the preamble
 * @end_ns: end of the PPDU
 * @nav_until_ns: until when others shall defer, as its Duration field says
 * @heard_by: radios that hear it, by index
 * @collided: another signal spoiled it at @to
 * @awaited: an answer whose beginning @to has noticed
 */
struct airsim_emission {
	enum airsim_frame frame;
	struct airsim_radio *from;
	struct airsim_radio *to;
	struct airsim_rate rate;
	u64 start_ns;
	u64 end_ns;
	u64 nav_until_ns;
	DECLARE_BITMAP(heard_by, AIRSIM_MAX_RADIOS);
	bool collided;
	bool awaited;
};

enum airsim_response {
	AIRSIM_NO_RESPONSE,
	AIRSIM_RESPONSE_ACK,
	AIRSIM_RESPONSE_BLOCKACK,
};

/**
 * struct airsim_ppdu - MPDUs to be sent together
 * @queued: its MPDUs are a queue's, and go back there if @txq still exists
 * @bar: it is a BlockAckReq of our own for @txq
 * @probe: rate control tries this rate out
 * @protect: RTS and CTS go before it
 * @ac: EDCA function that sends it
 * @response: what answers it
 * @count: MPDUs
 * @next: the next MPDU to end
 * @arrived: MPDUs that their receiver could read
 * @reference: A-MPDU reference for radiotap
 * @psdu_octets: octets of all MPDUs with delimiters and padding
 * @rate: modulation
 * @chosen: the rate in mac80211's terms
 * @octets: MPDUs' octets by kind
 * @txq: where unanswered MPDUs go back to, or NULL
 * @sta: the receiver's driver state, or NULL; lives as long as @txq does
 * @mpdu: the MPDUs
 * @subframe_octets: of each but the last, with delimiter and padding
 * @mpdu_end_ns: when each has wholly arrived
 */
struct airsim_ppdu {
	bool queued;
	bool bar;
	bool probe;
	bool protect;
	u8 ac;
	enum airsim_response response;
	u16 count;
	u16 next;
	u16 arrived;
	u32 reference;
	u32 psdu_octets;
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
	AIRSIM_EVENT_AIR,	/* an MPDU ends, or the emission */
	AIRSIM_EVENT_STEP,	/* next step of the own exchange, or its timeout */
	AIRSIM_EVENT_REPLY,	/* answer another radio */
	AIRSIM_EVENTS
};

/**
 * struct airsim_event - something that a radio does at a time
 * @node: in the medium's queue
 * @radio: whose
 * @kind: what
 */
struct airsim_event {
	struct timerqueue_node node;
	struct airsim_radio *radio;
	enum airsim_event_kind kind;
};

/**
 * struct airsim_reception - what a radio sees of the medium
 * @audible: emissions that it hears now
 * @locked: the one that it receives
 * @signal_mdbm: strength of that one
 * @spoiled_from_ns: when another one began to disturb it, or U64_MAX
 * @spoiled_to_ns: when that ended
 * @failed: it could not read what it heard last
 * @idle_from_ns: since when, or from when on, the medium is idle for it
 * @nav_until_ns: until when others' frames have asked it to defer
 * @nav_reset_ns: that was an RTS, void if nothing follows by then; or 0
 */
struct airsim_reception {
	u32 audible;
	struct airsim_emission *locked;
	s32 signal_mdbm;
	u64 spoiled_from_ns;
	u64 spoiled_to_ns;
	bool failed;
	u64 idle_from_ns;
	u64 nav_until_ns;
	u64 nav_reset_ns;
};

enum airsim_stage {
	AIRSIM_STAGE_NONE,	/* no exchange */
	AIRSIM_STAGE_RTS,	/* sends RTS, or waits for CTS */
	AIRSIM_STAGE_READY,	/* has CTS, or the TXOP: SIFS until the PPDU */
	AIRSIM_STAGE_PPDU,	/* sends the PPDU, or waits for its answer */
};

/**
 * struct airsim_exchange - the frame exchange that a radio has begun
 * @stage: how far it is
 * @peer: who is to answer
 * @txop_end_ns: when the TXOP ends; 0 if it is one exchange
 * @airtime_ns: frames of it that were not spoiled, and SIFS between them
 */
struct airsim_exchange {
	enum airsim_stage stage;
	struct airsim_radio *peer;
	u64 txop_end_ns;
	u64 airtime_ns;
};

/**
 * struct airsim_reply - the answer that a radio owes another
 * @to: whom
 * @frame: what
 * @rate: rate of the frame that is answered
 * @nav_until_ns: Duration of the answer
 */
struct airsim_reply {
	struct airsim_radio *to;
	enum airsim_frame frame;
	struct airsim_rate rate;
	u64 nav_until_ns;
};

/**
 * struct airsim_radio - one radio
 * @hw: its mac80211 half
 * @device: its device
 * @index: which radio it is
 * @list: in the medium's radios while it is tuned
 * @hardware: what it is
 * @settings: how it is set
 * @losses_mdb: attenuation of what it hears, by sender, where given
 * @started: up
 * @phy: timing of its band
 * @frequency_mhz: centre of the primary channel
 * @low_mhz: lower edge of the whole channel
 * @high_mhz: upper edge of the whole channel
 * @event: its events
 * @edca: EDCA functions, the beacons' last
 * @committed: another emission began too late for it to refrain
 * @emitting: it transmits
 * @emission: what it transmits, or transmitted last
 * @reception: what it hears
 * @exchange: its own exchange
 * @ppdu: the PPDU of its exchange
 * @reply: what it owes
 * @burst_bad: state of the Gilbert-Elliott model
 * @frames: frames that came by the tx callback, by EDCA function
 * @retry_txqs: queues with pending MPDUs, by access category
 * @fifo_mpdus: MPDUs that it holds, with AIRSIM_QUEUE_FIFO
 * @vif: its interface, or NULL
 * @beacon_timer: next beacon
 * @beacon_interval_us: 0 while no beacons are sent
 * @beacon_vif: whose beacons
 * @napi_dev: carries @napi
 * @napi: hands up received MPDUs
 * @arrived: MPDUs that wait for their interrupt, by the medium's lock
 * @coalesce_timer: ends that wait
 * @received: MPDUs to be handed up
 * @ack_hold: what it holds back
 * @tx_kbps: rate of the PPDU with packets that it sent last
 * @count: its counters
 * @bands: its bands
 * @address: its MAC address
 */
struct airsim_radio {
	struct ieee80211_hw *hw;
	struct platform_device *device;
	u32 index;
	struct list_head list;
	struct airsim_hardware hardware;
	struct airsim_settings settings;
	struct xarray losses_mdb;
	bool started;
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
	bool burst_bad;

	struct sk_buff_head frames[AIRSIM_EDCAS];
	struct list_head retry_txqs[IEEE80211_NUM_ACS];
	u32 fifo_mpdus;
	struct ieee80211_vif *vif;
	struct hrtimer beacon_timer;
	u32 beacon_interval_us;
	struct ieee80211_vif *beacon_vif;

	struct net_device *napi_dev;
	struct napi_struct napi;
	struct sk_buff_head arrived;
	struct hrtimer coalesce_timer;
	struct sk_buff_head received;

	struct airsim_ack_hold *ack_hold;
	u32 tx_kbps;
	struct airsim_radio_counters count;
	struct ieee80211_supported_band bands[NUM_NL80211_BANDS];
	struct mac_address address;
};

/**
 * struct airsim_report - what mac80211 is to be told once the lock is free
 * @radio: who has sent, or NULL if there is nothing to tell
 * @done: MPDUs that are done with
 * @receiver: whom they were for
 * @sender: from which interface
 * @qos: they were QoS data of @tid
 * @tid: traffic identifier
 * @airtime_us: how long their PPDU was
 * @session: they belong to a BlockAck session
 * @probe: rate control had asked for that rate
 * @chosen: rate of the PPDU in mac80211's terms
 * @rate: the same, in terms of the air
 * @mpdus: MPDUs in it
 * @acked: those acknowledged
 */
struct airsim_report {
	struct airsim_radio *radio;
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
 * struct airsim_medium - what all radios share
 * @lock: guards all that the top of this file says
 * @timer: the next event
 * @events: what is to happen
 * @radios: those that are tuned to a channel
 * @tuned: the same by index
 * @air: how signals spread
 * @backoff_rnd: backoffs
 * @error_rnd: frame errors, apart so that a policy does not shift the backoffs
 * @reference: A-MPDU reference of the newest PPDU
 * @report: for mac80211
 * @collided_until_ns: end of the latest collision that has been counted
 * @counters: what has been on the air
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
	u32 reference;
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

static inline struct airsim_txq *airsim_txq(struct ieee80211_txq *txq)
{
	return (struct airsim_txq *)txq->drv_priv;
}

static inline enum nl80211_band airsim_band(const struct airsim_radio *radio)
{
	return radio->phy == &airsim_phy_5ghz ? NL80211_BAND_5GHZ :
						NL80211_BAND_2GHZ;
}

/* It transmits, or hears somebody. */
static inline bool airsim_busy(const struct airsim_radio *radio)
{
	return radio->emitting || radio->reception.audible;
}

static inline bool airsim_tuned(const struct airsim_radio *radio)
{
	return !list_empty(&radio->list);
}

static inline u8 airsim_retry_limit(const struct airsim_radio *radio)
{
	return radio->hw->conf.short_frame_max_tx_count;
}

/* VHT and HE send even one MPDU as an A-MPDU. */
static inline bool airsim_ppdu_is_ampdu(const struct airsim_ppdu *ppdu)
{
	return ppdu->count > 1 || ppdu->rate.format >= AIRSIM_VHT;
}

static inline u32 airsim_mpdu_octets(const struct sk_buff *skb)
{
	return skb->len + AIRSIM_FCS_OCTETS;
}

/* registry.c */
void airsim_registry_clear(void);

/* radio.c */
struct airsim_radio *airsim_radio_create(const struct airsim_hardware *hardware,
					 const struct airsim_settings *settings,
					 u32 index);
void airsim_radio_destroy(struct airsim_radio *radio);

/* capabilities.c */
int airsim_describe(struct airsim_radio *radio);

/* medium.c */
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
void airsim_exchange_break(struct airsim_radio *radio);

/* aggregate.c */
void airsim_txq_init(struct ieee80211_txq *txq);
void airsim_txq_forget(struct airsim_radio *radio, struct ieee80211_txq *txq,
		       struct sk_buff_head *done);
void airsim_take_ahead(struct airsim_radio *radio, u8 ac);
bool airsim_ppdu_build(struct airsim_radio *radio, u8 ac, u64 limit_ns);
void airsim_ppdu_settle(struct airsim_radio *radio, bool answered);

/* response.c */
u32 airsim_control_octets(enum airsim_frame frame,
			  const struct airsim_ppdu *ppdu);
enum airsim_frame airsim_response_frame(const struct airsim_ppdu *ppdu);
u32 airsim_response_ns(struct airsim_radio *radio);

/* signal.c */
u64 airsim_nav_ns(const struct airsim_radio *radio);
void airsim_contend(struct airsim_radio *radio);
void airsim_freeze(struct airsim_radio *radio, u64 busy_from_ns);
bool airsim_disturbed(const struct airsim_emission *emission);
bool airsim_spoiled(const struct airsim_radio *radio, u64 from_ns, u64 to_ns);
bool airsim_control_lost(struct airsim_radio *radio,
			 const struct airsim_rate *rate, u32 octets);
bool airsim_mpdu_lost(struct airsim_radio *radio,
		      const struct airsim_rate *rate,
		      const struct sk_buff *mpdu);
u64 airsim_next_on_air_ns(const struct airsim_radio *radio);
void airsim_emit(struct airsim_radio *radio);
bool airsim_emission_end(struct airsim_radio *radio, u64 now_ns);
void airsim_emission_break(struct airsim_radio *radio, u64 now_ns);

/* events.c */
void airsim_schedule(struct airsim_radio *radio, enum airsim_event_kind kind,
		     u64 at_ns);
void airsim_cancel(struct airsim_radio *radio, enum airsim_event_kind kind);
bool airsim_scheduled(const struct airsim_radio *radio,
		      enum airsim_event_kind kind);
void airsim_events_arm(void);

/* rates.c */
u8 airsim_legacy_index(enum nl80211_band band, u16 kbps);
bool airsim_rate_read(struct airsim_radio *radio, struct sk_buff *skb,
		      struct ieee80211_txq *txq, unsigned int tries,
		      struct ieee80211_tx_rate *chosen,
		      struct airsim_rate *rate);
void airsim_rate_to_rx_status(const struct airsim_rate *rate,
			      struct ieee80211_rx_status *status);
void airsim_rate_to_info(const struct airsim_rate *rate,
			 struct rate_info *info);
u16 airsim_basic_rates(struct airsim_radio *radio);

/* status.c */
void airsim_report_flush(struct airsim_report *report);

/* receive.c */
bool airsim_radio_hears(const struct airsim_radio *radio, const u8 *address);
void airsim_receive(struct airsim_radio *radio, const struct sk_buff *sent,
		    const struct airsim_ppdu *ppdu, unsigned int index);
void airsim_receive_ended(struct airsim_radio *radio);
enum hrtimer_restart airsim_coalesce_timer(struct hrtimer *timer);
int airsim_poll(struct napi_struct *napi, int budget);

/* classify.c */
enum airsim_kind airsim_classify(const struct sk_buff *skb);

/* monitor.c */
int airsim_monitor_init(void);
void airsim_monitor_exit(void);
void airsim_monitor_mpdu(const struct airsim_radio *radio, unsigned int index,
			 bool received);
void airsim_monitor_control(const struct airsim_radio *radio, u32 octets,
			    bool received);

/* ack_hold.c */
int airsim_ack_hold_create(struct airsim_radio *radio);
void airsim_ack_hold_destroy(struct airsim_radio *radio);
int airsim_ack_hold_attach(struct airsim_radio *radio,
			   struct net_device *device);
void airsim_ack_hold_detach(struct airsim_radio *radio,
			    struct net_device *device);
void airsim_ack_hold_count(struct airsim_radio *radio,
			   struct airsim_radio_counters *count);

/* debugfs.c */
void airsim_debugfs_init(void);
void airsim_debugfs_exit(void);

#endif
