/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * airsim: 802.11 radios for mac80211 on a simulated medium.
 *
 *	radio.c		what mac80211 asks of a radio
 *	aggregate.c	builds PPDUs from mac80211's queues, settles them after
 *	edca.c		when an access category may transmit
 *	medium.c	who transmits, who collides, what comes after
 *	airtime.c	how long it takes
 *	deliver.c	hands received MPDUs up
 *	monitor.c	shows everything on the air to a radiotap interface
 *	classify.c	tells TCP acknowledgments from data, for the counters
 *	debugfs.c	counters and settings
 *
 * Locking: a medium's lock guards its state, its radios' EDCA functions, the
 * PPDUs on the air and the queues between mac80211 and the air. mac80211 is
 * never called with the lock held but to dequeue a frame.
 */
#ifndef AIRSIM_H
#define AIRSIM_H

#include <linux/hrtimer.h>
#include <linux/netdevice.h>
#include <linux/prandom.h>
#include <linux/skbuff.h>
#include <net/mac80211.h>
#include "airtime.h"
#include "edca.h"

#define AIRSIM_MAX_MPDUS	64
#define AIRSIM_MAX_VIFS		4
#define AIRSIM_SIGNAL_DBM	-40

/* The access categories, in mac80211's order, and the beacons before them. */
enum { AIRSIM_BEACON = IEEE80211_NUM_ACS, AIRSIM_EDCAS };

enum airsim_kind {
	AIRSIM_KIND_DATA,
	AIRSIM_KIND_TCP_ACK,	/* TCP segments without data */
	AIRSIM_KIND_OTHER,	/* management, control */
	AIRSIM_KINDS
};

/**
 * struct airsim_settings - what debugfs sets, for all radios
 * @error_rate_ppm: MPDUs lost, of a million
 * @ampdu_mpdus: MPDUs in an A-MPDU at most
 * @ampdu_octets: octets in an A-MPDU at most
 * @ampdu_duration_us: duration of a PPDU at most
 * @gro_flush_us: how long GRO may hold a segment for the next one
 */
struct airsim_settings {
	u32 error_rate_ppm;
	u32 ampdu_mpdus;
	u32 ampdu_octets;
	u32 ampdu_duration_us;
	u32 gro_flush_us;
};

extern struct airsim_settings airsim_settings;

/**
 * struct airsim_counters - what has been on the air
 * @airtime_ns: whole exchanges (PPDU, SIFS, answer) by kind
 * @collision_ns: PPDUs that overlapped
 * @ppdus: transmissions
 * @mpdus: MPDUs in them
 * @retries: MPDUs sent again
 * @drops: MPDUs given up
 * @collisions: times that PPDUs overlapped
 * @ampdu_sizes: data PPDUs by number of MPDUs
 */
struct airsim_counters {
	u64 airtime_ns[AIRSIM_KINDS];
	u64 collision_ns;
	u64 ppdus;
	u64 mpdus;
	u64 retries;
	u64 drops;
	u64 collisions;
	u64 ampdu_sizes[AIRSIM_MAX_MPDUS + 1];
};

/**
 * struct airsim_mpdu - driver state of an MPDU, in its skb's driver data
 * @attempts: transmissions so far
 * @lost: the receiver did not get it from the PPDU now on the air
 */
struct airsim_mpdu {
	u8 attempts;
	bool lost;
};

/**
 * struct airsim_txq - driver state of a mac80211 transmit queue
 * @txq: mac80211's part
 * @pending: MPDUs taken from mac80211, in sequence, to be sent or sent again
 * @retry_list: in the radio's list while @pending is not empty
 * @buf_size: the receiver's reorder buffer, MPDUs; 0 without a BlockAck
 *	agreement
 */
struct airsim_txq {
	struct ieee80211_txq *txq;
	struct sk_buff_head pending;
	struct list_head retry_list;
	u16 buf_size;
};

enum airsim_response {
	AIRSIM_NO_RESPONSE,
	AIRSIM_RESPONSE_ACK,
	AIRSIM_RESPONSE_BLOCKACK,
	AIRSIM_RESPONSE_MISSING,	/* one was due and does not come */
};

/**
 * struct airsim_ppdu - one transmission
 * @active: on the air, or waiting for its answer
 * @collided: another one overlapped
 * @queued: its MPDUs are a queue's, and go back there if @txq still exists
 * @ac: EDCA function that sent it
 * @count: MPDUs
 * @next: the next MPDU to end
 * @response: what answers it
 * @rate: modulation
 * @start_ns: start of the preamble
 * @end_ns: end of the PPDU
 * @done_ns: end of the answer, or when its absence is noticed
 * @reference: A-MPDU reference for radiotap
 * @octets: MPDUs' octets by kind
 * @txq: where unanswered MPDUs go back to, or NULL
 * @mpdu: the MPDUs
 * @subframe_octets: of each but the last, with delimiter and padding
 * @mpdu_end_ns: when each has wholly arrived
 */
struct airsim_ppdu {
	bool active;
	bool collided;
	bool queued;
	u8 ac;
	u8 count;
	u8 next;
	enum airsim_response response;
	struct airsim_rate rate;
	u64 start_ns;
	u64 end_ns;
	u64 done_ns;
	u32 reference;
	u32 octets[AIRSIM_KINDS];
	struct ieee80211_txq *txq;
	struct sk_buff *mpdu[AIRSIM_MAX_MPDUS];
	u16 subframe_octets[AIRSIM_MAX_MPDUS];
	u64 mpdu_end_ns[AIRSIM_MAX_MPDUS];
};

/**
 * struct airsim_medium - one channel
 * @lock: guards all that the top of this file says
 * @timer: the next thing to happen
 * @radios: radios tuned to it
 * @on_air: PPDUs not yet done
 * @busy_until_ns: when the last of them is done
 * @backoff_rnd: backoffs
 * @error_rnd: frame errors, apart so that a policy does not shift the backoffs
 * @frequency_mhz: centre of its primary channel
 * @reference: A-MPDU reference of the newest PPDU
 * @counters: what has been on the air
 */
struct airsim_medium {
	spinlock_t lock; /* see the top of this file */
	struct hrtimer timer;
	struct list_head radios;
	u32 on_air;
	u64 busy_until_ns;
	struct rnd_state backoff_rnd;
	struct rnd_state error_rnd;
	u16 frequency_mhz;
	u32 reference;
	struct airsim_counters counters;
};

/**
 * struct airsim_radio - one radio
 * @hw: its mac80211 half
 * @device: its device
 * @medium: the channel that it is tuned to, or was last
 * @list: in @medium's radios, or empty while the radio is down
 * @started: up
 * @edca: EDCA functions, the beacons' last
 * @outranked: functions that lost to a higher one in this access
 * @frames: frames that came by the tx callback, by EDCA function
 * @retry_txqs: queues with pending MPDUs, by access category
 * @ppdu: its transmission, if active
 * @vifs: its interfaces
 * @beacon_timer: next beacon
 * @beacon_interval_us: 0 while no beacons are sent
 * @beacon_vif: whose beacons
 * @napi_dev: carries @napi
 * @napi: hands up received MPDUs
 * @received: MPDUs to be handed up
 * @supported: its band
 * @address: its MAC address
 */
struct airsim_radio {
	struct ieee80211_hw *hw;
	struct platform_device *device;
	struct airsim_medium *medium;
	struct list_head list;
	bool started;
	struct airsim_edca edca[AIRSIM_EDCAS];
	u8 outranked;
	struct sk_buff_head frames[AIRSIM_EDCAS];
	struct list_head retry_txqs[IEEE80211_NUM_ACS];
	struct airsim_ppdu ppdu;
	struct ieee80211_vif *vifs[AIRSIM_MAX_VIFS];
	struct hrtimer beacon_timer;
	u32 beacon_interval_us;
	struct ieee80211_vif *beacon_vif;
	struct net_device *napi_dev;
	struct napi_struct napi;
	struct sk_buff_head received;
	struct ieee80211_supported_band supported;
	struct mac_address address;
};

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

/* radio.c */
struct airsim_radio *airsim_radio_create(unsigned int index);
void airsim_radio_destroy(struct airsim_radio *radio);
u8 airsim_legacy_index(u16 kbps);

/* medium.c */
int airsim_media_init(void);
void airsim_media_exit(void);
struct airsim_medium *airsim_medium_at(u16 frequency_mhz);
void airsim_media_sum(struct airsim_counters *sum);
void airsim_medium_join(struct airsim_medium *medium,
			struct airsim_radio *radio);
void airsim_medium_leave(struct airsim_radio *radio);
void airsim_medium_request(struct airsim_radio *radio, u8 ac);

/* aggregate.c */
void airsim_txq_init(struct ieee80211_txq *txq);
void airsim_txq_forget(struct airsim_radio *radio, struct ieee80211_txq *txq,
		       struct sk_buff_head *done);
bool airsim_ppdu_build(struct airsim_radio *radio, u8 ac);
void airsim_ppdu_start(struct airsim_ppdu *ppdu, u64 start_ns);
void airsim_ppdu_settle(struct airsim_radio *radio, struct sk_buff_head *done);
void airsim_ppdu_report(struct airsim_radio *radio, struct sk_buff_head *done);

/* deliver.c */
bool airsim_radio_hears(const struct airsim_radio *radio, const u8 *address);
void airsim_deliver(const struct airsim_radio *from,
		    const struct airsim_ppdu *ppdu, unsigned int index,
		    u64 end_ns);
int airsim_poll(struct napi_struct *napi, int budget);

/* classify.c */
enum airsim_kind airsim_classify(const struct sk_buff *skb);

/* monitor.c */
int airsim_monitor_init(void);
void airsim_monitor_exit(void);
void airsim_monitor_mpdu(const struct airsim_medium *medium,
			 const struct airsim_ppdu *ppdu, unsigned int index,
			 bool bad);
void airsim_monitor_response(const struct airsim_medium *medium,
			     const struct airsim_ppdu *ppdu, u16 kbps);

/* debugfs.c */
void airsim_debugfs_init(void);
void airsim_debugfs_exit(void);

#endif
