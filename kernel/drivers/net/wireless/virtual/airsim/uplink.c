// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exchanges of UL OFDMA, IEEE 802.11ax-2021 clause 26.5.2: a Trigger frame, HE
 * TB PPDUs of the stations in it, and a Multi-STA BlockAck, SIFS apart. After
 * buffer status reports, a Basic Trigger frame follows within the TXOP.
 *
 * An exchange succeeds if one station has answered. Stations that are not
 * acknowledged send their MPDUs again, by UL OFDMA or EDCA; their contention
 * windows do not change.
 */
#include "airsim.h"

/*
 * When the exchange ends. A BSRP Trigger frame reserves the medium until the
 * Basic one.
 */
static u64 airsim_uplink_end_ns(struct airsim_radio *radio, u64 trigger_end_ns)
{
	const struct airsim_uplink *uplink = &radio->uplink;
	u32 sifs_ns = radio->phy->sifs_ns;
	u64 end_ns = trigger_end_ns + sifs_ns + uplink->tb_ns;

	if (!uplink->basic)
		return end_ns;
	return end_ns + sifs_ns +
	       airsim_uplink_response_ns(radio, uplink->users);
}

static u64 airsim_uplink_interval_ns(const struct airsim_radio *radio)
{
	return (u64)radio->settings.ul_ofdma_interval_us * NSEC_PER_USEC;
}

/* Set up a control frame for all stations of the exchange, without NAV after it */
static void airsim_uplink_prepare(struct airsim_radio *radio,
				  enum airsim_frame frame, u64 now_ns)
{
	const struct airsim_rate *control = &radio->uplink.control;
	struct airsim_emission *emission = &radio->emission;

	emission->frame = frame;
	emission->to = NULL;
	emission->rate = *control;
	emission->start_ns = now_ns;
	emission->end_ns = now_ns + airsim_ppdu_ns(control,
						   airsim_uplink_octets(radio));
	emission->nav_until_ns = emission->end_ns;
}

/**
 * airsim_uplink_send - send a Trigger frame that was set up
 * @radio: the access point; the medium is locked
 * @now_ns: current time
 */
void airsim_uplink_send(struct airsim_radio *radio, u64 now_ns)
{
	struct airsim_emission *emission = &radio->emission;
	struct airsim_uplink *uplink = &radio->uplink;

	radio->exchange.stage = AIRSIM_STAGE_TRIGGER;
	radio->exchange.peer = NULL;
	uplink->number = ++airsim_medium.trigger ?: ++airsim_medium.trigger;
	uplink->answered = false;
	if (!uplink->basic)
		uplink->ask_again_ns = now_ns + airsim_uplink_interval_ns(radio);
	airsim_uplink_prepare(radio, AIRSIM_TRIGGER, now_ns);
	emission->nav_until_ns = airsim_uplink_end_ns(radio, emission->end_ns);
	radio->count.triggers_sent++;
	airsim_transmit(radio);
}

/* Whether a station answers a Trigger frame that has just ended. */
static bool airsim_tb_may_send(struct airsim_radio *station,
			       const struct airsim_emission *trigger,
			       u32 octets, u64 now_ns)
{
	return test_bit(station->index, trigger->reached) &&
	       !station->dozing && station->ap &&
	       !airsim_control_lost(station, trigger, octets) &&
	       station->exchange.stage == AIRSIM_STAGE_NONE &&
	       airsim_nav_ns(station) <= now_ns;
}

/**
 * airsim_uplink_trigger_ended - a Trigger frame has ended
 * @radio: the access point; the medium is locked
 * @now_ns: current time
 */
void airsim_uplink_trigger_ended(struct airsim_radio *radio, u64 now_ns)
{
	struct airsim_emission *emission = &radio->emission;
	struct airsim_uplink *uplink = &radio->uplink;
	u32 octets = airsim_uplink_octets(radio);
	bool reached = false, received = false;
	int i;

	for (i = 0; i < uplink->users; i++) {
		struct airsim_radio *station = uplink->user[i].radio;

		if (!station)
			continue;
		reached |= test_bit(station->index, emission->reached);
		if (station->status.silent < U8_MAX)
			station->status.silent++;
		if (!airsim_tb_may_send(station, emission, octets, now_ns))
			continue;
		received = true;
		station->reply.to = radio;
		station->reply.frame = AIRSIM_PPDU;
		airsim_schedule(station, AIRSIM_EVENT_REPLY,
				now_ns + radio->phy->sifs_ns);
	}
	emission->collided = !reached &&
			     !bitmap_empty(emission->detected_by,
					   AIRSIM_MAX_RADIOS);
	airsim_monitor_control(radio, octets, received);
	airsim_count_emission(radio, now_ns);
	airsim_schedule(radio, AIRSIM_EVENT_STEP,
			airsim_answer_timeout_ns(radio, now_ns));
}

static bool airsim_tb_build(struct airsim_radio *radio,
			    const struct airsim_uplink *uplink,
			    const struct airsim_rate *rate)
{
	struct ieee80211_txq *txq = airsim_next_txq(radio);
	struct sk_buff *null;

	if (uplink->basic && txq &&
	    airsim_ppdu_build_tb(radio, txq, rate, uplink->tb_ns))
		return true;
	null = airsim_null_make(radio);
	if (!null)
		return false;
	airsim_ppdu_build_null(radio, null, rate);
	return true;
}

/**
 * airsim_tb_send - answer a Trigger frame
 * @radio: the station; the medium is locked
 * @now_ns: current time
 *
 * The PPDU has the duration that the Trigger frame specifies, and carries what
 * fits of the queue, or else a QoS Null.
 */
void airsim_tb_send(struct airsim_radio *radio, u64 now_ns)
{
	struct airsim_emission *emission = &radio->emission;
	struct airsim_radio *to = radio->reply.to;
	struct airsim_tb_user *user = airsim_uplink_find(to, radio);

	if (!user || !radio->ap ||
	    radio->exchange.stage != AIRSIM_STAGE_NONE ||
	    !airsim_tb_build(radio, &to->uplink, &user->rate))
		return;
	radio->exchange.stage = AIRSIM_STAGE_TB;
	radio->exchange.peer = to;
	radio->exchange.txop_end_ns = 0;
	radio->exchange.airtime_ns = 0;
	radio->exchange.answered = false;
	emission->end_ns = now_ns + to->uplink.tb_ns;
	emission->nav_until_ns = to->emission.nav_until_ns;
	airsim_send_ppdu(radio, to, now_ns);
	if (to->exchange.stage == AIRSIM_STAGE_TRIGGER &&
	    airsim_receives(to, emission)) {
		/* It started before the timeout. */
		to->uplink.answered = true;
		airsim_schedule(to, AIRSIM_EVENT_STEP,
				emission->end_ns + to->phy->sifs_ns);
	}
}

/**
 * airsim_tb_ended - an HE TB PPDU has ended
 * @radio: the station; the medium is locked
 * @now_ns: current time
 */
void airsim_tb_ended(struct airsim_radio *radio, u64 now_ns)
{
	if (radio->ppdu.response == AIRSIM_NO_RESPONSE)
		airsim_tb_finish(radio, now_ns);
	else
		airsim_schedule(radio, AIRSIM_EVENT_STEP,
				airsim_answer_timeout_ns(radio, now_ns));
}

/**
 * airsim_tb_finish - process an HE TB PPDU after its response, or without one
 * @radio: the station; the medium is locked
 * @now_ns: current time
 */
void airsim_tb_finish(struct airsim_radio *radio, u64 now_ns)
{
	struct airsim_reception *reception = &radio->reception;
	const struct airsim_ppdu *ppdu = &radio->ppdu;

	airsim_cancel(radio, AIRSIM_EVENT_STEP);
	airsim_ppdu_settle(radio, radio->exchange.answered);
	radio->exchange.stage = AIRSIM_STAGE_NONE;
	airsim_fifo_share(radio, now_ns);
	if (ppdu->queued && radio->settings.formed_ppdus)
		airsim_prefetch(radio, ppdu->ac);
	if (radio->exchange.answered)
		airsim_mu_edca_start(radio, ppdu->ac, now_ns);
	else
		reception->idle_from_ns = max(reception->idle_from_ns, now_ns);
	if (ppdu->txq && !skb_queue_empty(&airsim_txq(ppdu->txq)->pending))
		airsim_request_access(radio, ppdu->ac, now_ns);
	airsim_contend(radio, now_ns);
}

static void airsim_uplink_finish(struct airsim_radio *radio, u64 now_ns,
				 bool answered)
{
	u32 *octets = radio->ppdu.octets;

	airsim_cancel(radio, AIRSIM_EVENT_STEP);
	if (!octets[AIRSIM_KIND_DATA] && !octets[AIRSIM_KIND_TCP_ACK])
		octets[AIRSIM_KIND_OTHER] = 1;
	airsim_count_airtime(radio);
	radio->exchange.stage = AIRSIM_STAGE_NONE;
	radio->uplink.users = 0;
	radio->uplink.not_before_ns = now_ns + airsim_uplink_interval_ns(radio);
	airsim_contend_again(radio, &radio->edca[IEEE80211_AC_BE], answered,
			     now_ns);
}

/* Counts what has arrived. Returns the number of stations that it is from. */
static unsigned int airsim_uplink_collect(struct airsim_radio *radio)
{
	struct airsim_uplink *uplink = &radio->uplink;
	unsigned int arrived = 0;
	int i, kind;

	for (i = 0; i < uplink->users; i++) {
		struct airsim_tb_user *user = &uplink->user[i];

		if (!user->radio || !user->arrived)
			continue;
		arrived++;
		user->acknowledged =
			user->radio->exchange.stage == AIRSIM_STAGE_TB &&
			user->radio->exchange.peer == radio &&
			user->radio->ppdu.response != AIRSIM_NO_RESPONSE;
		if (!user->acknowledged)
			continue;
		for (kind = 0; kind < AIRSIM_KINDS; kind++)
			radio->ppdu.octets[kind] +=
				user->radio->ppdu.octets[kind];
	}
	if (arrived)
		radio->exchange.airtime_ns += radio->phy->sifs_ns +
					      uplink->tb_ns;
	return arrived;
}

static void airsim_uplink_send_blockack(struct airsim_radio *radio, u64 now_ns)
{
	struct airsim_emission *emission = &radio->emission;
	struct airsim_uplink *uplink = &radio->uplink;
	int i;

	airsim_uplink_prepare(radio, AIRSIM_MULTI_BLOCKACK, now_ns);
	airsim_transmit(radio);
	for (i = 0; i < uplink->users; i++) {
		struct airsim_tb_user *user = &uplink->user[i];

		if (!user->acknowledged)
			continue;
		user->awaits = user->radio->reception.locked == emission;
		/* The capture of the BlockAck reads the MPDUs at its end. */
		airsim_cancel(user->radio, AIRSIM_EVENT_STEP);
	}
}

static bool airsim_uplink_has_acknowledged(const struct airsim_uplink *uplink)
{
	int i;

	for (i = 0; i < uplink->users; i++)
		if (uplink->user[i].acknowledged)
			return true;
	return false;
}

/**
 * airsim_uplink_step - SIFS after the HE TB PPDUs, or they have not started
 * @radio: the access point; the medium is locked
 * @now_ns: current time
 */
void airsim_uplink_step(struct airsim_radio *radio, u64 now_ns)
{
	struct airsim_uplink *uplink = &radio->uplink;

	if (!uplink->answered || !airsim_uplink_collect(radio) ||
	    radio->emitting)
		return airsim_uplink_finish(radio, now_ns, false);
	if (airsim_uplink_has_acknowledged(uplink))
		return airsim_uplink_send_blockack(radio, now_ns);
	if (!uplink->basic && airsim_uplink_choose_data(radio, now_ns)) {
		radio->exchange.airtime_ns += radio->phy->sifs_ns;
		return airsim_uplink_send(radio, now_ns);
	}
	airsim_uplink_finish(radio, now_ns, true);
}

/**
 * airsim_uplink_blockack_ended - a Multi-STA BlockAck has ended
 * @radio: the access point; the medium is locked
 * @now_ns: current time
 *
 * Each station processes it in an event of its own, as mac80211 gets one report
 * at a time.
 */
void airsim_uplink_blockack_ended(struct airsim_radio *radio, u64 now_ns)
{
	struct airsim_emission *emission = &radio->emission;
	struct airsim_uplink *uplink = &radio->uplink;
	u32 octets = airsim_uplink_octets(radio);
	bool received = false;
	int i;

	for (i = 0; i < uplink->users; i++) {
		struct airsim_tb_user *user = &uplink->user[i];
		struct airsim_radio *station = user->radio;

		if (!user->acknowledged)
			continue;
		station->exchange.answered = user->awaits &&
			test_bit(station->index, emission->reached) &&
			!airsim_control_lost(station, emission, octets);
		received |= station->exchange.answered;
		airsim_schedule(station, AIRSIM_EVENT_STEP, now_ns);
	}
	airsim_monitor_control(radio, octets, received);
	airsim_count_emission(radio, now_ns);
	radio->exchange.airtime_ns += radio->phy->sifs_ns;
	airsim_uplink_finish(radio, now_ns, true);
}

/**
 * airsim_uplink_abort - abort the exchange of an access point
 * @radio: the access point, which leaves its channel; the medium is locked
 */
void airsim_uplink_abort(struct airsim_radio *radio)
{
	radio->exchange.stage = AIRSIM_STAGE_NONE;
	radio->uplink.users = 0;
}
