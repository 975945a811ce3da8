// SPDX-License-Identifier: GPL-2.0-only
/*
 * The medium: radios tune to a channel and leave it; a timer runs their events.
 *
 * Event times are those of the model, even if the timer fires slightly late.
 */
#include <linux/random.h>
#include "airsim.h"

/*
 * Friis at one metre and 5.15 GHz, an indoor exponent, and preamble detection 4
 * dB above the noise of 20 MHz. (The standard requires -82 dBm, 17.3.10.6;
 * receivers do better.)
 */
static const struct airsim_air airsim_air_default = {
	AIRSIM_DEFAULTS(AIRSIM_AIR)
};

struct airsim_medium airsim_medium;

static void airsim_emission_event(struct airsim_radio *radio, u64 now_ns)
{
	struct airsim_ppdu *ppdu = &radio->ppdu;

	if (radio->emission.frame == AIRSIM_PPDU)
		while (ppdu->next < ppdu->count &&
		       ppdu->mpdu_end_ns[ppdu->next] <= now_ns)
			airsim_exchange_mpdu_ended(radio);
	if (now_ns >= radio->emission.end_ns)
		airsim_exchange_emission_ended(radio, now_ns,
					       airsim_emission_end(radio,
								   now_ns));
	else
		airsim_schedule(radio, AIRSIM_EVENT_AIR,
				airsim_next_end_ns(radio));
}

static void airsim_dispatch(struct airsim_event *event, u64 now_ns)
{
	switch (event->kind) {
	case AIRSIM_EVENT_ACCESS:
		return airsim_exchange_begin(event->radio, now_ns);
	case AIRSIM_EVENT_AIR:
		return airsim_emission_event(event->radio, now_ns);
	case AIRSIM_EVENT_STEP:
		return airsim_exchange_step(event->radio, now_ns);
	case AIRSIM_EVENT_REPLY:
		return airsim_exchange_reply(event->radio, now_ns);
	case AIRSIM_EVENT_UPLINK:
		return airsim_uplink_event(event->radio, now_ns);
	case AIRSIM_EVENT_MU_EDCA:
		return airsim_mu_edca_expired(event->radio, now_ns);
	case AIRSIM_EVENTS:
		break;
	}
}

/* Takes the report, to be delivered without the lock. */
static bool airsim_take_report(struct airsim_report *report)
{
	struct airsim_report *ready = &airsim_medium.report;

	if (!ready->radio)
		return false;
	*report = *ready;
	__skb_queue_head_init(&report->done);
	skb_queue_splice_init(&ready->done, &report->done);
	ready->radio = NULL;
	return true;
}

static enum hrtimer_restart airsim_medium_timer(struct hrtimer *timer)
{
	u64 now_ns = ktime_get_ns();
	struct airsim_report report;
	struct timerqueue_node *node;

	rcu_read_lock();
	spin_lock(&airsim_medium.lock);
	while ((node = timerqueue_getnext(&airsim_medium.events)) &&
	       ktime_to_ns(node->expires) <= now_ns) {
		timerqueue_del(&airsim_medium.events, node);
		airsim_dispatch(container_of(node, struct airsim_event, node),
				ktime_to_ns(node->expires));
		if (airsim_take_report(&report)) {
			spin_unlock(&airsim_medium.lock);
			airsim_report_flush(&report);
			spin_lock(&airsim_medium.lock);
		}
	}
	airsim_events_arm();
	spin_unlock(&airsim_medium.lock);
	rcu_read_unlock();
	return HRTIMER_NORESTART;
}

/**
 * airsim_medium_request - a radio has a frame to send
 * @radio: the radio
 * @ac: EDCA function
 */
void airsim_medium_request(struct airsim_radio *radio, u8 ac)
{
	spin_lock_bh(&airsim_medium.lock);
	if (ac != AIRSIM_BEACON)
		airsim_prefetch(radio, ac);
	/* airsim_medium_tune() contends for radios that are not tuned now. */
	if (!radio->edca[ac].pending) {
		airsim_request_access(radio, ac, ktime_get_ns());
		airsim_events_arm();
	}
	spin_unlock_bh(&airsim_medium.lock);
}

/* Makes the exchange of a radio time out now, as its response was aborted. */
static void airsim_expire_response(struct airsim_radio *radio, u64 now_ns)
{
	radio->exchange.peer = NULL;
	if (radio->exchange.stage != AIRSIM_STAGE_NONE && !radio->emitting &&
	    !airsim_scheduled(radio, AIRSIM_EVENT_STEP))
		airsim_schedule(radio, AIRSIM_EVENT_STEP, now_ns);
}

/* Removes all references of other radios to a radio that leaves. */
static void airsim_detach_peers(struct airsim_radio *radio, u64 now_ns)
{
	struct airsim_radio *other;

	list_for_each_entry(other, &airsim_medium.radios, list) {
		__clear_bit(radio->index, other->emission.detected_by);
		if (other->emission.to == radio)
			other->emission.to = NULL;
		if (other->exchange.peer == radio)
			airsim_expire_response(other, now_ns);
		if (other->reply.to == radio) {
			other->reply.to = NULL;
			airsim_cancel(other, AIRSIM_EVENT_REPLY);
		}
		airsim_uplink_forget(other, radio);
	}
}

/**
 * airsim_medium_leave - take a radio off its channel
 * @radio: the radio
 *
 * Its transmission is aborted and treated as unanswered. No-op for a radio that
 * is not tuned.
 */
void airsim_medium_leave(struct airsim_radio *radio)
{
	struct airsim_report report;
	bool pending = false;
	u64 now_ns;
	int i;

	rcu_read_lock();
	spin_lock_bh(&airsim_medium.lock);
	if (airsim_tuned(radio)) {
		now_ns = ktime_get_ns();
		airsim_detach_peers(radio, now_ns);
		if (radio->emitting)
			airsim_emission_abort(radio, now_ns);
		airsim_exchange_abort(radio);
		for (i = 0; i < AIRSIM_EVENTS; i++)
			airsim_cancel(radio, i);
		list_del_init(&radio->list);
		airsim_medium.tuned[radio->index] = NULL;
		memset(&radio->reception, 0, sizeof(radio->reception));
		memset(&radio->status, 0, sizeof(radio->status));
		radio->committed = false;
		pending = airsim_take_report(&report);
		airsim_events_arm();
	}
	spin_unlock_bh(&airsim_medium.lock);
	if (pending) {
		local_bh_disable();
		airsim_report_flush(&report);
		local_bh_enable();
	}
	rcu_read_unlock();
	synchronize_net();
}

/**
 * airsim_phy_of - timing of a band, at 2.4 GHz with the slot that mac80211 wants
 * @radio: the radio; the medium is locked
 * @band: the band
 */
const struct airsim_phy *airsim_phy_of(const struct airsim_radio *radio,
				       enum nl80211_band band)
{
	switch (band) {
	case NL80211_BAND_6GHZ:
		return &airsim_phy_6ghz;
	case NL80211_BAND_5GHZ:
		return &airsim_phy_5ghz;
	default:
		/* mac80211 reports the slot only when it changes. */
		if (radio->vif && radio->vif->bss_conf.use_short_slot)
			return &airsim_phy_2ghz_short_slot;
		return &airsim_phy_2ghz_long_slot;
	}
}

/*
 * A radio contends for the MPDUs that it or mac80211 has held during a scan.
 * When mac80211 wakes its queues, it wakes only those from which the driver has
 * tried to dequeue, which it does not off the channel.
 */
static void airsim_contend_held(struct airsim_radio *radio)
{
	int i;

	rcu_read_lock(); /* for mac80211 */
	spin_lock_bh(&airsim_medium.lock);
	for (i = 0; i < IEEE80211_NUM_ACS; i++)
		if (airsim_has_frame(radio, i))
			airsim_request_access(radio, i, ktime_get_ns());
	airsim_events_arm();
	spin_unlock_bh(&airsim_medium.lock);
	rcu_read_unlock();
}

/**
 * airsim_medium_tune - tune a radio to a channel
 * @radio: the radio
 * @channel: the channel
 */
void airsim_medium_tune(struct airsim_radio *radio,
			const struct cfg80211_chan_def *channel)
{
	u16 width_mhz = cfg80211_chandef_get_width(channel);
	u16 low_mhz = channel->center_freq1 - width_mhz / 2;
	u16 frequency_mhz = channel->chan->center_freq;

	if (airsim_tuned(radio) && radio->frequency_mhz == frequency_mhz &&
	    radio->low_mhz == low_mhz &&
	    radio->high_mhz == low_mhz + width_mhz) {
		airsim_contend_held(radio);
		return;
	}
	airsim_medium_leave(radio);
	spin_lock_bh(&airsim_medium.lock);
	radio->frequency_mhz = frequency_mhz;
	radio->low_mhz = low_mhz;
	radio->high_mhz = low_mhz + width_mhz;
	radio->phy = airsim_phy_of(radio, channel->chan->band);
	radio->reception.idle_from_ns = ktime_get_ns();
	list_add_tail(&radio->list, &airsim_medium.radios);
	airsim_medium.tuned[radio->index] = radio;
	airsim_mu_edca_expired(radio, radio->reception.idle_from_ns);
	airsim_contend(radio, radio->reception.idle_from_ns);
	airsim_events_arm();
	spin_unlock_bh(&airsim_medium.lock);
	airsim_contend_held(radio);
}

/** airsim_medium_init - initialize the medium, before the first radio */
void airsim_medium_init(void)
{
	u64 seed = get_random_u64();

	spin_lock_init(&airsim_medium.lock);
	INIT_LIST_HEAD(&airsim_medium.radios);
	timerqueue_init_head(&airsim_medium.events);
	__skb_queue_head_init(&airsim_medium.report.done);
	hrtimer_init(&airsim_medium.timer, CLOCK_MONOTONIC,
		     HRTIMER_MODE_ABS_SOFT);
	airsim_medium.timer.function = airsim_medium_timer;
	airsim_medium.air = airsim_air_default;
	prandom_seed_state(&airsim_medium.backoff_rnd, seed);
	prandom_seed_state(&airsim_medium.error_rnd, seed + 1);
	airsim_medium.fading_seed = lower_32_bits(seed);
}

/** airsim_medium_exit - stop the medium, after the last radio */
void airsim_medium_exit(void)
{
	hrtimer_cancel(&airsim_medium.timer);
}
