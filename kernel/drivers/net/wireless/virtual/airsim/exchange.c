// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frame exchanges, IEEE 802.11-2020 clauses 10.3.2 and 10.23.2: RTS and CTS, or
 * a CTS to the sender itself, if required, the PPDU, its ACK or BlockAck, and
 * further exchanges within the TXOP. If an expected frame does not start in
 * time, or cannot be decoded, the exchange and the TXOP end. Exchanges of UL
 * OFDMA are in uplink.c.
 */
#include <linux/etherdevice.h>
#include <linux/ieee80211.h>
#include "airsim.h"

/* Order of priority: beacons, then voice to background. */
static const u8 airsim_priority[AIRSIM_EDCAS] = {
	AIRSIM_BEACON, IEEE80211_AC_VO, IEEE80211_AC_VI, IEEE80211_AC_BE,
	IEEE80211_AC_BK,
};

static const u8 *airsim_receiver_address(const struct airsim_ppdu *ppdu)
{
	const struct ieee80211_hdr *hdr = (const void *)ppdu->mpdu[0]->data;

	return hdr->addr1;
}

static struct airsim_radio *
airsim_find_receiver(const struct airsim_radio *radio)
{
	const u8 *address = airsim_receiver_address(&radio->ppdu);
	struct airsim_radio *other;

	if (is_multicast_ether_addr(address))
		return NULL;
	list_for_each_entry(other, &airsim_medium.radios, list)
		if (other != radio && airsim_is_receiver(other, address))
			return other;
	return NULL;
}

static u32 airsim_exchange_ppdu_ns(const struct airsim_ppdu *ppdu)
{
	return airsim_ppdu_ns(&ppdu->rate, ppdu->psdu_octets);
}

static void airsim_exchange_send_rts(struct airsim_radio *radio, u64 now_ns)
{
	struct airsim_emission *emission = &radio->emission;
	struct airsim_ppdu *ppdu = &radio->ppdu;
	u32 sifs_ns = radio->phy->sifs_ns;
	struct airsim_rate cts;

	emission->frame = AIRSIM_RTS;
	emission->to = radio->exchange.peer;
	emission->rate = airsim_rts_rate(radio);
	cts = airsim_response_rate(&emission->rate, airsim_basic_rates(radio));
	emission->start_ns = now_ns;
	emission->end_ns = now_ns + airsim_ppdu_ns(&emission->rate,
						   AIRSIM_RTS_OCTETS);
	emission->nav_until_ns = emission->end_ns + sifs_ns +
				 airsim_ppdu_ns(&cts, AIRSIM_CTS_OCTETS) +
				 sifs_ns + airsim_exchange_ppdu_ns(ppdu) +
				 airsim_response_ns(radio);
	radio->exchange.stage = AIRSIM_STAGE_RTS;
	radio->count.rts_sent++;
	airsim_transmit(radio);
}

/*
 * A CTS to the sender itself sets the NAV of others until the response to the
 * PPDU has ended (9.2.5.2). Nobody answers it.
 */
static void airsim_exchange_send_cts(struct airsim_radio *radio, u64 now_ns)
{
	struct airsim_emission *emission = &radio->emission;
	struct airsim_ppdu *ppdu = &radio->ppdu;

	emission->frame = AIRSIM_CTS;
	emission->to = NULL;
	emission->rate = airsim_cts_to_self_rate(radio);
	emission->start_ns = now_ns;
	emission->end_ns = now_ns + airsim_ppdu_ns(&emission->rate,
						   AIRSIM_CTS_OCTETS);
	emission->nav_until_ns = emission->end_ns + radio->phy->sifs_ns +
				 airsim_exchange_ppdu_ns(ppdu) +
				 airsim_response_ns(radio);
	radio->exchange.stage = AIRSIM_STAGE_CTS;
	radio->count.cts_to_self_sent++;
	airsim_transmit(radio);
}

static void airsim_exchange_send_ppdu(struct airsim_radio *radio, u64 now_ns)
{
	struct airsim_emission *emission = &radio->emission;

	emission->end_ns = now_ns + airsim_exchange_ppdu_ns(&radio->ppdu);
	/* Whether another PPDU follows in the TXOP is not known yet. */
	emission->nav_until_ns = emission->end_ns + airsim_response_ns(radio);
	radio->exchange.stage = AIRSIM_STAGE_PPDU;
	airsim_send_ppdu(radio, radio->exchange.peer, now_ns);
}

/*
 * Builds what an EDCA function sends: a PPDU. For best effort at an access point
 * with UL OFDMA it is a Trigger frame if one is due or nothing else is to be sent.
 */
static bool airsim_exchange_build(struct airsim_radio *radio, u8 ac, u64 now_ns)
{
	bool uplink = ac == IEEE80211_AC_BE && radio->settings.ul_ofdma;

	radio->uplink.users = 0;
	return (uplink && airsim_uplink_choose(radio, now_ns, false)) ||
	       airsim_ppdu_build(radio, ac, 0) ||
	       (uplink && airsim_uplink_choose(radio, now_ns, true));
}

/* Whether an EDCA function has something to send, see airsim_exchange_build(). */
static bool airsim_exchange_is_due(struct airsim_radio *radio, u8 ac, u64 now_ns)
{
	return airsim_has_frame(radio, ac) ||
	       (ac == IEEE80211_AC_BE && radio->settings.ul_ofdma &&
		airsim_uplink_trigger_due(radio, now_ns));
}

/*
 * A function has gained access together with one of higher priority. If it has
 * something to send, it behaves as after a collision (10.23.2.4, internal
 * collision).
 */
static void airsim_exchange_outranked(struct airsim_radio *radio, u8 ac,
				      u64 now_ns)
{
	struct airsim_edca *edca = &radio->edca[ac];

	if (airsim_exchange_is_due(radio, ac, now_ns)) {
		radio->count.internal_collisions++;
		airsim_edca_failed(edca, airsim_retry_limit(radio),
				   &airsim_medium.backoff_rnd);
		return;
	}
	edca->pending = false;
	if (ac == IEEE80211_AC_BE)
		airsim_uplink_request(radio, now_ns, true);
}

/**
 * airsim_exchange_begin - a radio has gained access to the medium
 * @radio: the radio; the medium is locked
 * @now_ns: current time
 *
 * The pending function of highest priority that has something to send
 * transmits.
 */
void airsim_exchange_begin(struct airsim_radio *radio, u64 now_ns)
{
	struct airsim_edca *winner = NULL;
	u8 outranked = 0;
	int i;

	for (i = 0; i < AIRSIM_EDCAS; i++) {
		struct airsim_edca *edca = &radio->edca[airsim_priority[i]];

		if (!edca->pending ||
		    airsim_edca_access_ns(edca, radio->phy,
					  radio->reception.idle_from_ns) >
		    now_ns)
			continue;
		if (winner)
			outranked |= BIT(airsim_priority[i]);
		else if (airsim_exchange_build(radio, airsim_priority[i],
					       now_ns))
			winner = edca;
		else
			edca->pending = false;
	}
	if (!winner) {
		if (radio->committed)
			airsim_freeze(radio, now_ns);
		radio->committed = false;
		airsim_contend(radio, now_ns);
		return;
	}

	airsim_freeze(radio, now_ns);
	winner->backoff = 0;
	for (i = 0; i < AIRSIM_EDCAS; i++)
		if (outranked & BIT(i))
			airsim_exchange_outranked(radio, i, now_ns);
	radio->exchange.txop_end_ns = winner->txop_ns ?
				      now_ns + winner->txop_ns : 0;
	radio->exchange.airtime_ns = 0;
	if (radio->uplink.users)
		return airsim_uplink_send(radio, now_ns);
	radio->exchange.peer = airsim_find_receiver(radio);
	if (radio->ppdu.first == AIRSIM_RTS)
		airsim_exchange_send_rts(radio, now_ns);
	else if (radio->ppdu.first == AIRSIM_CTS)
		airsim_exchange_send_cts(radio, now_ns);
	else
		airsim_exchange_send_ppdu(radio, now_ns);
}

/*
 * Starts another exchange of the same function if there is one within the TXOP.
 */
static bool airsim_txop_continue(struct airsim_radio *radio, u64 now_ns)
{
	u64 begin_ns = now_ns + radio->phy->sifs_ns;

	if (begin_ns >= radio->exchange.txop_end_ns ||
	    !airsim_ppdu_build(radio, radio->ppdu.ac,
			       radio->exchange.txop_end_ns - begin_ns))
		return false;
	airsim_edca_reset(&radio->edca[radio->ppdu.ac]);
	radio->exchange.peer = airsim_find_receiver(radio);
	radio->exchange.airtime_ns = 0;
	radio->exchange.stage = AIRSIM_STAGE_READY;
	airsim_schedule(radio, AIRSIM_EVENT_STEP, begin_ns);
	return true;
}

static void airsim_exchange_finish(struct airsim_radio *radio, u64 now_ns,
				   bool answered)
{
	airsim_cancel(radio, AIRSIM_EVENT_STEP);
	airsim_count_airtime(radio);
	airsim_ppdu_settle(radio, answered);
	if (answered && radio->settings.ul_ofdma)
		airsim_uplink_sent(radio, now_ns);
	radio->exchange.stage = AIRSIM_STAGE_NONE;
	airsim_fifo_share(radio, now_ns);
	/* Before the MPDUs are reported, which lets TCP send more. */
	if (radio->ppdu.queued && radio->settings.formed_ppdus)
		airsim_prefetch(radio, radio->ppdu.ac);
	if (answered && airsim_txop_continue(radio, now_ns))
		return;
	airsim_contend_again(radio, &radio->edca[radio->ppdu.ac], answered,
			     now_ns);
}

/**
 * airsim_exchange_step - SIFS has passed, or a response has timed out
 * @radio: the radio that started the exchange; the medium is locked
 * @now_ns: current time
 */
void airsim_exchange_step(struct airsim_radio *radio, u64 now_ns)
{
	if (radio->exchange.stage == AIRSIM_STAGE_TRIGGER)
		airsim_uplink_step(radio, now_ns);
	else if (radio->exchange.stage == AIRSIM_STAGE_TB)
		airsim_tb_finish(radio, now_ns);
	else if (radio->exchange.stage != AIRSIM_STAGE_READY)
		airsim_exchange_finish(radio, now_ns, false);
	else if (radio->emitting)
		airsim_schedule(radio, AIRSIM_EVENT_STEP,
				radio->emission.end_ns + radio->phy->sifs_ns);
	else
		airsim_exchange_send_ppdu(radio, now_ns);
}

static void airsim_schedule_reply(struct airsim_radio *radio,
				  struct airsim_radio *to,
				  enum airsim_frame frame, u64 now_ns)
{
	radio->reply.to = to;
	radio->reply.frame = frame;
	radio->reply.rate = to->emission.rate;
	radio->reply.nav_until_ns = to->emission.nav_until_ns;
	airsim_schedule(radio, AIRSIM_EVENT_REPLY,
			now_ns + radio->phy->sifs_ns);
}

/**
 * airsim_exchange_reply - send a response to another radio
 * @radio: the radio; the medium is locked
 * @now_ns: current time
 */
void airsim_exchange_reply(struct airsim_radio *radio, u64 now_ns)
{
	struct airsim_emission *emission = &radio->emission;
	const struct airsim_reply *reply = &radio->reply;
	struct airsim_radio *to = reply->to;
	u32 octets;

	if (radio->emitting || !to)
		return;
	if (reply->frame == AIRSIM_PPDU)
		return airsim_tb_send(radio, now_ns);
	octets = airsim_control_octets(reply->frame, &to->ppdu);
	emission->frame = reply->frame;
	emission->to = to;
	emission->rate = airsim_response_rate(&reply->rate,
					      airsim_basic_rates(to));
	emission->start_ns = now_ns;
	emission->end_ns = now_ns + airsim_ppdu_ns(&emission->rate, octets);
	emission->nav_until_ns = reply->nav_until_ns;
	airsim_monitor_prepare(radio, octets);
	airsim_transmit(radio);
	/* It started before the timeout. */
	emission->awaited = to->reception.locked == emission;
	if (emission->awaited)
		airsim_cancel(to, AIRSIM_EVENT_STEP);
}

static bool airsim_mpdu_arrives(struct airsim_radio *radio,
				struct airsim_radio *to, u64 from_ns,
				u64 end_ns)
{
	struct airsim_ppdu *ppdu = &radio->ppdu;

	if (!airsim_receives(to, &radio->emission) ||
	    (to->dozing && radio->emission.to) ||
	    airsim_interfered(to, from_ns, end_ns) ||
	    airsim_mpdu_lost(to, &radio->emission, ppdu->mpdu[ppdu->next],
			     from_ns, end_ns))
		return false;
	airsim_receive(to, ppdu->mpdu[ppdu->next], ppdu, ppdu->next);
	return true;
}

/*
 * Start of the next MPDU to end: the end of the one before it, or the start of
 * the symbol in which both end. Interference destroys symbols as a whole.
 */
static u64 airsim_mpdu_start_ns(const struct airsim_radio *radio)
{
	const struct airsim_ppdu *ppdu = &radio->ppdu;

	if (!ppdu->next)
		return radio->emission.start_ns;
	return min(ppdu->mpdu_end_ns[ppdu->next - 1],
		   ppdu->mpdu_end_ns[ppdu->next] -
		   airsim_symbol_ns(&ppdu->rate));
}

/**
 * airsim_exchange_mpdu_ended - the next MPDU of a PPDU on the air has ended
 * @radio: transmitter; the medium is locked
 */
void airsim_exchange_mpdu_ended(struct airsim_radio *radio)
{
	struct airsim_emission *emission = &radio->emission;
	struct airsim_ppdu *ppdu = &radio->ppdu;
	u64 end_ns = ppdu->mpdu_end_ns[ppdu->next];
	u64 from_ns = airsim_mpdu_start_ns(radio);
	bool received = false;
	int i;

	if (emission->to) {
		received = airsim_mpdu_arrives(radio, emission->to, from_ns,
					       end_ns);
		ppdu->arrived += received;
	} else if (is_multicast_ether_addr(airsim_receiver_address(ppdu))) {
		for_each_set_bit(i, emission->detected_by, AIRSIM_MAX_RADIOS)
			received |= airsim_mpdu_arrives(radio,
							airsim_medium.tuned[i],
							from_ns, end_ns);
	}
	if (received)
		airsim_mpdu(ppdu->mpdu[ppdu->next])->received = true;
	airsim_monitor_mpdu(radio, ppdu->next, received);
	ppdu->next++;
}

/* 10.3.2.9: no CTS while the NAV is set. */
static bool airsim_may_send_cts(const struct airsim_radio *radio, u64 now_ns)
{
	return airsim_nav_ns(radio) <= now_ns &&
	       radio->exchange.stage == AIRSIM_STAGE_NONE;
}

static void airsim_rts_ended(struct airsim_radio *radio, u64 now_ns,
			     bool arrived)
{
	struct airsim_emission *emission = &radio->emission;
	struct airsim_radio *to = emission->to;

	arrived = arrived && !to->dozing &&
		  !airsim_control_lost(to, emission, AIRSIM_RTS_OCTETS);
	airsim_monitor_control(radio, AIRSIM_RTS_OCTETS, arrived);
	airsim_count_emission(radio, now_ns);
	airsim_schedule(radio, AIRSIM_EVENT_STEP,
			airsim_answer_timeout_ns(radio, now_ns));
	if (arrived && airsim_may_send_cts(to, now_ns))
		airsim_schedule_reply(to, radio, AIRSIM_CTS, now_ns);
}

static void airsim_cts_to_self_ended(struct airsim_radio *radio, u64 now_ns,
				     bool received)
{
	airsim_monitor_control(radio, AIRSIM_CTS_OCTETS, received);
	airsim_count_emission(radio, now_ns);
	if (!radio->emission.collided)
		radio->exchange.airtime_ns += radio->phy->sifs_ns;
	radio->exchange.stage = AIRSIM_STAGE_READY;
	airsim_schedule(radio, AIRSIM_EVENT_STEP,
			now_ns + radio->phy->sifs_ns);
}

static void airsim_ppdu_ended(struct airsim_radio *radio, u64 now_ns)
{
	struct airsim_emission *emission = &radio->emission;
	struct airsim_ppdu *ppdu = &radio->ppdu;

	airsim_count_emission(radio, now_ns);
	if (emission->to && ppdu->arrived && emission->to->settings.ul_ofdma)
		airsim_uplink_heard(emission->to, radio);
	if (radio->exchange.stage == AIRSIM_STAGE_TB)
		return airsim_tb_ended(radio, now_ns);
	if (ppdu->response == AIRSIM_NO_RESPONSE)
		return airsim_exchange_finish(radio, now_ns, true);
	airsim_schedule(radio, AIRSIM_EVENT_STEP,
			airsim_answer_timeout_ns(radio, now_ns));
	if (emission->to && ppdu->arrived)
		airsim_schedule_reply(emission->to, radio,
				      airsim_response_frame(ppdu), now_ns);
}

static void airsim_response_ended(struct airsim_radio *radio, u64 now_ns,
				  bool arrived)
{
	struct airsim_emission *emission = &radio->emission;
	struct airsim_radio *to = emission->to;
	u32 octets;

	if (!to)
		return;
	octets = airsim_control_octets(emission->frame, &to->ppdu);
	arrived = arrived && !airsim_control_lost(to, emission, octets);
	airsim_monitor_response(radio, arrived);
	/*
	 * Otherwise it times out, or has timed out and another exchange has
	 * started.
	 */
	if (!emission->awaited)
		return;
	if (arrived)
		to->exchange.airtime_ns += now_ns - emission->start_ns +
					   to->phy->sifs_ns;
	if (emission->frame != AIRSIM_CTS || !arrived)
		return airsim_exchange_finish(to, now_ns, arrived);
	to->exchange.airtime_ns += to->phy->sifs_ns;
	to->exchange.stage = AIRSIM_STAGE_READY;
	airsim_schedule(to, AIRSIM_EVENT_STEP, now_ns + to->phy->sifs_ns);
}

/**
 * airsim_exchange_emission_ended - a radio has stopped transmitting
 * @radio: the radio; the medium is locked
 * @now_ns: current time
 * @arrived: no interference at the addressed radio; CTS to itself: another radio
 *	has received it
 */
void airsim_exchange_emission_ended(struct airsim_radio *radio, u64 now_ns,
				    bool arrived)
{
	if (radio->exchange.stage == AIRSIM_STAGE_CTS)
		return airsim_cts_to_self_ended(radio, now_ns, arrived);
	switch (radio->emission.frame) {
	case AIRSIM_RTS:
		return airsim_rts_ended(radio, now_ns, arrived);
	case AIRSIM_PPDU:
		return airsim_ppdu_ended(radio, now_ns);
	case AIRSIM_CTS:
	case AIRSIM_ACK:
	case AIRSIM_BLOCKACK:
		return airsim_response_ended(radio, now_ns, arrived);
	case AIRSIM_TRIGGER:
		return airsim_uplink_trigger_ended(radio, now_ns);
	case AIRSIM_MULTI_BLOCKACK:
		return airsim_uplink_blockack_ended(radio, now_ns);
	}
}

/**
 * airsim_exchange_abort - abort the exchange that a radio has started
 * @radio: the radio; the medium is locked
 */
void airsim_exchange_abort(struct airsim_radio *radio)
{
	if (radio->exchange.stage == AIRSIM_STAGE_NONE)
		return;
	if (radio->exchange.stage == AIRSIM_STAGE_TRIGGER)
		return airsim_uplink_abort(radio);
	airsim_ppdu_settle(radio, false);
	radio->exchange.stage = AIRSIM_STAGE_NONE;
	radio->exchange.peer = NULL;
}
