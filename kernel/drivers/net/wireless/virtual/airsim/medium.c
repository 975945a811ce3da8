// SPDX-License-Identifier: GPL-2.0-only
/*
 * The medium: signals. Who hears whom, who senses the medium busy, what spoils
 * what. All that happens is an event of one radio; events happen in order of
 * time, and of their making where times are equal.
 *
 * A radio receives the first emission that it hears while it neither hears
 * another nor transmits; whatever else it hears meanwhile spoils what arrives
 * at that time. A radio whose access lies less than a slot after the beginning
 * of an emission cannot sense it in time, and transmits all the same.
 *
 * Times are those of the model, not of the timer that may fire a little late.
 */
#include <linux/ieee80211.h>
#include <linux/random.h>
#include "airsim.h"

/* Loss between radios that have neither a place nor a loss given: near. */
#define NEAR_LOSS_MDB	60000

/*
 * Friis at one metre and 5.15 GHz, an exponent for indoors, and a preamble that
 * is found 4 dB above the noise of 20 MHz. (Receivers have to find one at -82
 * dBm, 17.3.10.6; they do better.)
 */
static const struct airsim_air air_default = {
	.propagation = { .exponent_milli = 3000, .reference_mdb = 46677 },
	.sense_mdbm = -90000,
};

struct airsim_medium airsim_medium;

/**
 * airsim_schedule - let a radio do something at a time
 * @radio: the radio, the medium locked
 * @kind: what; it takes the place of one that is scheduled already
 * @at_ns: when
 */
void airsim_schedule(struct airsim_radio *radio, enum airsim_event_kind kind,
		     u64 at_ns)
{
	struct airsim_event *event = &radio->event[kind];

	airsim_cancel(radio, kind);
	event->node.expires = ns_to_ktime(at_ns);
	timerqueue_add(&airsim_medium.events, &event->node);
}

/**
 * airsim_cancel - take back what a radio was to do
 * @radio: the radio, the medium locked
 * @kind: what
 */
void airsim_cancel(struct airsim_radio *radio, enum airsim_event_kind kind)
{
	struct airsim_event *event = &radio->event[kind];

	if (airsim_scheduled(radio, kind))
		timerqueue_del(&airsim_medium.events, &event->node);
}

/**
 * airsim_scheduled - whether a radio is to do something
 * @radio: the radio, the medium locked
 * @kind: what
 */
bool airsim_scheduled(const struct airsim_radio *radio,
		      enum airsim_event_kind kind)
{
	return !RB_EMPTY_NODE(&radio->event[kind].node.node);
}

static void arm(void)
{
	struct timerqueue_node *next =
		timerqueue_getnext(&airsim_medium.events);
	struct hrtimer *timer = &airsim_medium.timer;

	if (next && (!hrtimer_is_queued(timer) ||
		     hrtimer_get_expires(timer) != next->expires))
		hrtimer_start(timer, next->expires, HRTIMER_MODE_ABS_SOFT);
}

static bool busy(const struct airsim_radio *radio)
{
	return radio->emitting || radio->reception.audible;
}

static bool tuned(const struct airsim_radio *radio)
{
	return !list_empty(&radio->list);
}

/**
 * airsim_nav_ns - until when a radio has been asked to defer
 * @radio: the radio, the medium locked
 *
 * What an RTS asks for is void if nothing follows it in time (10.3.2.4).
 */
u64 airsim_nav_ns(const struct airsim_radio *radio)
{
	const struct airsim_reception *reception = &radio->reception;

	if (reception->nav_reset_ns)
		return min(reception->nav_reset_ns, reception->nav_until_ns);
	return reception->nav_until_ns;
}

static u64 first_access_ns(const struct airsim_radio *radio)
{
	u64 idle_from_ns = radio->reception.idle_from_ns;
	u64 first_ns = U64_MAX;
	int i;

	for (i = 0; i < AIRSIM_EDCAS; i++) {
		const struct airsim_edca *edca = &radio->edca[i];

		if (edca->wants)
			first_ns = min(first_ns,
				       airsim_edca_access_ns(edca, radio->phy,
							     idle_from_ns));
	}
	return first_ns;
}

/**
 * airsim_contend - work out when a radio may transmit next
 * @radio: the radio, the medium locked
 */
void airsim_contend(struct airsim_radio *radio)
{
	u64 first_ns;

	if (radio->committed)
		return;
	first_ns = first_access_ns(radio);
	if (!tuned(radio) || busy(radio) || first_ns == U64_MAX ||
	    radio->exchange.stage != AIRSIM_STAGE_NONE)
		airsim_cancel(radio, AIRSIM_EVENT_ACCESS);
	else
		airsim_schedule(radio, AIRSIM_EVENT_ACCESS, first_ns);
}

/**
 * airsim_freeze - stop a radio's backoffs
 * @radio: the radio, the medium locked
 * @busy_from_ns: since when the medium is busy for it
 */
void airsim_freeze(struct airsim_radio *radio, u64 busy_from_ns)
{
	int i;

	for (i = 0; i < AIRSIM_EDCAS; i++)
		airsim_edca_freeze(&radio->edca[i], radio->phy,
				   radio->reception.idle_from_ns,
				   busy_from_ns);
}

static void turned_busy(struct airsim_radio *radio, u64 now_ns)
{
	struct airsim_reception *reception = &radio->reception;
	ktime_t access = radio->event[AIRSIM_EVENT_ACCESS].node.expires;

	if (reception->nav_reset_ns) {
		if (now_ns > reception->nav_reset_ns)
			reception->nav_until_ns = 0;
		reception->nav_reset_ns = 0;
	}
	if (radio->exchange.stage != AIRSIM_STAGE_NONE)
		return;
	if (airsim_scheduled(radio, AIRSIM_EVENT_ACCESS) &&
	    ktime_to_ns(access) < now_ns + radio->phy->slot_ns) {
		radio->committed = true;
		return;
	}
	airsim_freeze(radio, now_ns);
	airsim_cancel(radio, AIRSIM_EVENT_ACCESS);
}

static void turned_idle(struct airsim_radio *radio, u64 now_ns)
{
	struct airsim_reception *reception = &radio->reception;

	if (reception->failed)
		now_ns += airsim_eifs_extra_ns(radio->phy);
	reception->idle_from_ns = max(now_ns, airsim_nav_ns(radio));
	airsim_contend(radio);
}

static s32 loss_mdb(const struct airsim_radio *radio,
		    const struct airsim_radio *from, u64 now_ns)
{
	const struct airsim_settings *here = &radio->settings;
	const struct airsim_settings *there = &from->settings;
	void *given = xa_load((struct xarray *)&radio->losses_mdb, from->index);

	if (given)
		return xa_to_value(given);
	if (!here->placed || !there->placed)
		return NEAR_LOSS_MDB;
	return airsim_path_loss_mdb(&airsim_medium.air.propagation,
				    airsim_distance_mm(&here->place,
						       &there->place, now_ns));
}

/* Channels that overlap disturb each other. Return: whether it is audible. */
static bool hears(const struct airsim_radio *radio,
		  const struct airsim_radio *from, u64 now_ns,
		  s32 *signal_mdbm)
{
	s32 loss;

	if (radio->high_mhz <= from->low_mhz || from->high_mhz <= radio->low_mhz)
		return false;
	loss = loss_mdb(radio, from, now_ns);
	if (loss == AIRSIM_LINK_BLOCKED)
		return false;
	*signal_mdbm = from->settings.tx_power_mdbm - loss;
	return *signal_mdbm >= airsim_medium.air.sense_mdbm;
}

static void hear_begin(struct airsim_radio *radio,
		       struct airsim_emission *emission, s32 signal_mdbm)
{
	struct airsim_reception *reception = &radio->reception;

	if (reception->locked) {
		reception->spoiled_from_ns = min(reception->spoiled_from_ns,
						 emission->start_ns);
		reception->spoiled_to_ns = U64_MAX;
	} else if (!busy(radio)) {
		turned_busy(radio, emission->start_ns);
		if (radio->frequency_mhz == emission->from->frequency_mhz) {
			reception->locked = emission;
			reception->signal_mdbm = signal_mdbm;
			reception->spoiled_from_ns = U64_MAX;
			reception->spoiled_to_ns = 0;
		}
	}
	reception->audible++;
}

static s32 snr_mdb(const struct airsim_radio *radio, u16 width_mhz)
{
	return radio->reception.signal_mdbm - airsim_noise_mdbm(width_mhz);
}

/* Whether a bystander can read the Duration field of what it receives. */
static bool readable(const struct airsim_radio *radio,
		     const struct airsim_rate *rate)
{
	if (radio->settings.errors != AIRSIM_ERRORS_SNR)
		return true;
	return airsim_snr_loss(rate, snr_mdb(radio, rate->width_mhz),
			       AIRSIM_RTS_OCTETS) <= U32_MAX / 2;
}

static void defer(struct airsim_radio *radio,
		  const struct airsim_emission *emission)
{
	struct airsim_reception *reception = &radio->reception;
	const struct airsim_phy *phy = radio->phy;
	struct airsim_rate cts;

	if (emission->nav_until_ns <= reception->nav_until_ns)
		return;
	reception->nav_until_ns = emission->nav_until_ns;
	reception->nav_reset_ns = 0;
	if (emission->frame == AIRSIM_RTS) {
		cts = airsim_response_rate(&emission->rate,
					   airsim_basic_rates(radio));
		reception->nav_reset_ns = emission->end_ns +
			2 * phy->sifs_ns + 2 * phy->slot_ns +
			airsim_preamble_ns(&cts) +
			airsim_ppdu_ns(&cts, AIRSIM_CTS_OCTETS);
	}
}

static void hear_end(struct airsim_radio *radio,
		     const struct airsim_emission *emission, u64 now_ns)
{
	struct airsim_reception *reception = &radio->reception;

	reception->audible--;
	if (reception->locked == emission) {
		reception->locked = NULL;
		airsim_receive_ended(radio);
		reception->failed = reception->spoiled_from_ns != U64_MAX ||
				    !readable(radio, &emission->rate);
		if (!reception->failed && emission->to != radio)
			defer(radio, emission);
	} else {
		if (reception->locked)
			reception->spoiled_to_ns = now_ns;
		/* What went on while it transmitted it knows nothing of. */
		if (!radio->emitting && now_ns > radio->emission.end_ns)
			reception->failed = true;
	}
	if (!busy(radio))
		turned_idle(radio, now_ns);
}

/**
 * airsim_disturbed - whether another signal reaches the radio that is addressed
 * @emission: on the air, the medium locked
 */
bool airsim_disturbed(const struct airsim_emission *emission)
{
	const struct airsim_radio *to = emission->to;

	return to && test_bit(to->index, emission->heard_by) &&
	       (to->reception.locked != emission ||
		to->reception.spoiled_from_ns != U64_MAX);
}

/**
 * airsim_spoiled - whether other signals spoil part of what a radio receives
 * @radio: the radio, receiving, the medium locked
 * @from_ns: the part's beginning
 * @to_ns: its end
 *
 * What is not there at the preamble is never found.
 */
bool airsim_spoiled(const struct airsim_radio *radio, u64 from_ns, u64 to_ns)
{
	const struct airsim_reception *reception = &radio->reception;
	const struct airsim_emission *emission = reception->locked;
	u64 data_ns = emission->start_ns + airsim_preamble_ns(&emission->rate);

	return reception->spoiled_from_ns < data_ns ||
	       (reception->spoiled_from_ns < to_ns &&
		reception->spoiled_to_ns > from_ns);
}

/**
 * airsim_mpdu_lost - draw whether noise spoils an MPDU
 * @radio: who receives it, the medium locked
 * @rate: its modulation
 * @mpdu: the MPDU
 *
 * The models that know no signal strength lose data only, so that stations
 * come and stay associated.
 */
bool airsim_mpdu_lost(struct airsim_radio *radio,
		      const struct airsim_rate *rate,
		      const struct sk_buff *mpdu)
{
	const struct ieee80211_hdr *hdr = (const void *)mpdu->data;
	const struct airsim_settings *settings = &radio->settings;
	struct rnd_state *rnd = &airsim_medium.error_rnd;

	if (settings->errors == AIRSIM_ERRORS_SNR)
		return airsim_snr_lost(rate, snr_mdb(radio, rate->width_mhz),
				       airsim_mpdu_octets(mpdu), rnd);
	if (!ieee80211_is_data_present(hdr->frame_control))
		return false;
	if (settings->errors == AIRSIM_ERRORS_BURST)
		return airsim_burst_lost(&settings->burst, &radio->burst_bad,
					 rnd);
	return airsim_chance_ppm(rnd, settings->mpdu_error_ppm);
}

/**
 * airsim_control_lost - draw whether noise spoils an RTS, CTS, ACK or BlockAck
 * @radio: who receives it, the medium locked
 * @rate: its modulation
 * @octets: its length
 */
bool airsim_control_lost(struct airsim_radio *radio,
			 const struct airsim_rate *rate, u32 octets)
{
	const struct airsim_settings *settings = &radio->settings;
	struct rnd_state *rnd = &airsim_medium.error_rnd;

	if (settings->errors == AIRSIM_ERRORS_SNR)
		return airsim_snr_lost(rate, snr_mdb(radio, rate->width_mhz),
				       octets, rnd);
	return settings->response_error_ppm &&
	       airsim_chance_ppm(rnd, settings->response_error_ppm);
}

static u64 next_on_air_ns(const struct airsim_radio *radio)
{
	const struct airsim_ppdu *ppdu = &radio->ppdu;

	if (radio->emission.frame == AIRSIM_PPDU && ppdu->next < ppdu->count)
		return ppdu->mpdu_end_ns[ppdu->next];
	return radio->emission.end_ns;
}

/**
 * airsim_emit - a radio begins to transmit
 * @radio: the radio, the medium locked; its @emission says what, but for
 *	@heard_by and @collided
 */
void airsim_emit(struct airsim_radio *radio)
{
	struct airsim_emission *emission = &radio->emission;
	struct airsim_radio *other;
	s32 signal_mdbm;

	if (!busy(radio))
		turned_busy(radio, emission->start_ns);
	airsim_cancel(radio, AIRSIM_EVENT_ACCESS);
	radio->committed = false;
	radio->reception.locked = NULL;
	radio->emitting = true;
	emission->from = radio;
	emission->collided = false;
	bitmap_zero(emission->heard_by, AIRSIM_MAX_RADIOS);
	list_for_each_entry(other, &airsim_medium.radios, list) {
		if (other == radio ||
		    !hears(other, radio, emission->start_ns, &signal_mdbm))
			continue;
		__set_bit(other->index, emission->heard_by);
		hear_begin(other, emission, signal_mdbm);
	}
	airsim_schedule(radio, AIRSIM_EVENT_AIR, next_on_air_ns(radio));
}

static void emission_ended(struct airsim_radio *radio, u64 now_ns)
{
	struct airsim_emission *emission = &radio->emission;
	struct airsim_radio *to = emission->to;
	bool arrived;
	int i;

	emission->collided = airsim_disturbed(emission);
	arrived = to && to->reception.locked == emission &&
		  !emission->collided;
	for_each_set_bit(i, emission->heard_by, AIRSIM_MAX_RADIOS)
		hear_end(airsim_medium.tuned[i], emission, now_ns);
	radio->emitting = false;
	radio->reception.failed = false;
	if (!busy(radio))
		turned_idle(radio, now_ns);
	airsim_exchange_emission_ended(radio, now_ns, arrived);
}

static void air(struct airsim_radio *radio, u64 now_ns)
{
	struct airsim_ppdu *ppdu = &radio->ppdu;

	if (radio->emission.frame == AIRSIM_PPDU)
		while (ppdu->next < ppdu->count &&
		       ppdu->mpdu_end_ns[ppdu->next] <= now_ns)
			airsim_exchange_mpdu_ended(radio);
	if (now_ns >= radio->emission.end_ns)
		emission_ended(radio, now_ns);
	else
		airsim_schedule(radio, AIRSIM_EVENT_AIR,
				next_on_air_ns(radio));
}

static void happen(struct airsim_event *event, u64 now_ns)
{
	switch (event->kind) {
	case AIRSIM_EVENT_ACCESS:
		return airsim_exchange_begin(event->radio, now_ns);
	case AIRSIM_EVENT_AIR:
		return air(event->radio, now_ns);
	case AIRSIM_EVENT_STEP:
		return airsim_exchange_step(event->radio, now_ns);
	case AIRSIM_EVENT_REPLY:
		return airsim_exchange_reply(event->radio, now_ns);
	case AIRSIM_EVENTS:
		break;
	}
}

/* Takes the report over, so that it can be passed on without the lock. */
static bool take_report(struct airsim_report *report)
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

static enum hrtimer_restart medium_timer(struct hrtimer *timer)
{
	u64 now_ns = ktime_get_ns();
	struct airsim_report report;
	struct timerqueue_node *node;

	rcu_read_lock();
	spin_lock(&airsim_medium.lock);
	while ((node = timerqueue_getnext(&airsim_medium.events)) &&
	       ktime_to_ns(node->expires) <= now_ns) {
		timerqueue_del(&airsim_medium.events, node);
		happen(container_of(node, struct airsim_event, node),
		       ktime_to_ns(node->expires));
		if (take_report(&report)) {
			spin_unlock(&airsim_medium.lock);
			airsim_report_flush(&report);
			spin_lock(&airsim_medium.lock);
		}
	}
	arm();
	spin_unlock(&airsim_medium.lock);
	rcu_read_unlock();
	return HRTIMER_NORESTART;
}

/**
 * airsim_medium_request - a radio has something to send
 * @radio: the radio
 * @ac: EDCA function
 */
void airsim_medium_request(struct airsim_radio *radio, u8 ac)
{
	struct airsim_edca *edca = &radio->edca[ac];

	spin_lock_bh(&airsim_medium.lock);
	if (ac != AIRSIM_BEACON)
		airsim_take_ahead(radio, ac);
	/* Whoever is not tuned asks anew when it is. */
	if (tuned(radio) && !edca->wants) {
		u64 now_ns = ktime_get_ns();
		bool is_busy = busy(radio) ||
			       radio->exchange.stage != AIRSIM_STAGE_NONE ||
			       now_ns < radio->reception.idle_from_ns;

		airsim_edca_request(edca, now_ns, is_busy,
				    &airsim_medium.backoff_rnd);
		airsim_contend(radio);
		arm();
	}
	spin_unlock_bh(&airsim_medium.lock);
}

/* Whose answer breaks off is not to be waited for: its time-out is now. */
static void stop_waiting(struct airsim_radio *radio, u64 now_ns)
{
	radio->exchange.peer = NULL;
	if (radio->exchange.stage != AIRSIM_STAGE_NONE && !radio->emitting &&
	    !airsim_scheduled(radio, AIRSIM_EVENT_STEP))
		airsim_schedule(radio, AIRSIM_EVENT_STEP, now_ns);
}

/* Nobody shall wait for, or answer, a radio that goes. */
static void be_forgotten(struct airsim_radio *radio, u64 now_ns)
{
	struct airsim_radio *other;

	list_for_each_entry(other, &airsim_medium.radios, list) {
		__clear_bit(radio->index, other->emission.heard_by);
		if (other->emission.to == radio)
			other->emission.to = NULL;
		if (other->exchange.peer == radio)
			stop_waiting(other, now_ns);
		if (other->reply.to == radio) {
			other->reply.to = NULL;
			airsim_cancel(other, AIRSIM_EVENT_REPLY);
		}
	}
}

static void break_off(struct airsim_radio *radio, u64 now_ns)
{
	struct airsim_emission *emission = &radio->emission;
	int i;

	radio->emitting = false;
	for_each_set_bit(i, emission->heard_by, AIRSIM_MAX_RADIOS) {
		struct airsim_radio *other = airsim_medium.tuned[i];

		if (other->reception.locked == emission)
			other->reception.spoiled_from_ns = 0;
		hear_end(other, emission, now_ns);
	}
}

/**
 * airsim_medium_leave - take a radio off its channel
 * @radio: the radio
 *
 * What it is transmitting breaks off, and is settled as unanswered. A radio
 * that is on no channel stays so.
 */
void airsim_medium_leave(struct airsim_radio *radio)
{
	struct airsim_report report;
	bool told = false;
	u64 now_ns;
	int i;

	rcu_read_lock();
	spin_lock_bh(&airsim_medium.lock);
	if (tuned(radio)) {
		now_ns = ktime_get_ns();
		be_forgotten(radio, now_ns);
		if (radio->emitting)
			break_off(radio, now_ns);
		airsim_exchange_break(radio);
		for (i = 0; i < AIRSIM_EVENTS; i++)
			airsim_cancel(radio, i);
		list_del_init(&radio->list);
		airsim_medium.tuned[radio->index] = NULL;
		memset(&radio->reception, 0, sizeof(radio->reception));
		radio->committed = false;
		told = take_report(&report);
		arm();
	}
	spin_unlock_bh(&airsim_medium.lock);
	if (told)
		airsim_report_flush(&report);
	rcu_read_unlock();
	synchronize_net();
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

	if (tuned(radio) && radio->frequency_mhz == frequency_mhz &&
	    radio->low_mhz == low_mhz &&
	    radio->high_mhz == low_mhz + width_mhz)
		return;
	airsim_medium_leave(radio);
	spin_lock_bh(&airsim_medium.lock);
	radio->frequency_mhz = frequency_mhz;
	radio->low_mhz = low_mhz;
	radio->high_mhz = low_mhz + width_mhz;
	radio->phy = channel->chan->band == NL80211_BAND_5GHZ ?
		     &airsim_phy_5ghz : &airsim_phy_2ghz_long_slot;
	radio->reception.idle_from_ns = ktime_get_ns();
	list_add_tail(&radio->list, &airsim_medium.radios);
	airsim_medium.tuned[radio->index] = radio;
	airsim_contend(radio);
	arm();
	spin_unlock_bh(&airsim_medium.lock);
}

/** airsim_medium_init - before the first radio */
void airsim_medium_init(void)
{
	u64 seed = get_random_u64();

	spin_lock_init(&airsim_medium.lock);
	INIT_LIST_HEAD(&airsim_medium.radios);
	timerqueue_init_head(&airsim_medium.events);
	__skb_queue_head_init(&airsim_medium.report.done);
	hrtimer_init(&airsim_medium.timer, CLOCK_MONOTONIC,
		     HRTIMER_MODE_ABS_SOFT);
	airsim_medium.timer.function = medium_timer;
	airsim_medium.air = air_default;
	prandom_seed_state(&airsim_medium.backoff_rnd, seed);
	prandom_seed_state(&airsim_medium.error_rnd, seed + 1);
}

/** airsim_medium_exit - after the last radio */
void airsim_medium_exit(void)
{
	hrtimer_cancel(&airsim_medium.timer);
}
