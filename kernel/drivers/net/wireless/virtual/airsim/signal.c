// SPDX-License-Identifier: GPL-2.0-only
/*
 * Carrier sense, NAV and collisions.
 *
 * A radio receives the first emission that it detects while it neither detects
 * another one nor transmits. Any other signal that it detects meanwhile
 * destroys what is received at that time, except with capture (sinr.c). HE TB
 * PPDUs in answer to the same Trigger frame are received in parallel. A radio
 * whose access to the
 * medium falls within one slot after the start of an emission cannot sense it
 * in time, and transmits as well.
 */
#include <linux/ieee80211.h>
#include "airsim.h"

/**
 * airsim_nav_ns - end of the NAV of a radio
 * @radio: the radio; the medium is locked
 *
 * A NAV set by an RTS is reset if no frame follows in time (10.3.2.4).
 */
u64 airsim_nav_ns(const struct airsim_radio *radio)
{
	const struct airsim_reception *reception = &radio->reception;

	if (reception->nav_reset_ns)
		return min(reception->nav_reset_ns, reception->nav_until_ns);
	return reception->nav_until_ns;
}

static u64 airsim_first_access_ns(const struct airsim_radio *radio)
{
	u64 idle_from_ns = radio->reception.idle_from_ns;
	u64 first_ns = U64_MAX;
	int i;

	for (i = 0; i < AIRSIM_EDCAS; i++) {
		const struct airsim_edca *edca = &radio->edca[i];

		if (edca->pending)
			first_ns = min(first_ns,
				       airsim_edca_access_ns(edca, radio->phy,
							     idle_from_ns));
	}
	return first_ns;
}

/**
 * airsim_contend - schedule the next medium access of a radio
 * @radio: the radio; the medium is locked
 * @now_ns: current time
 *
 * When parameters have changed, an idle medium could have been accessed earlier.
 */
void airsim_contend(struct airsim_radio *radio, u64 now_ns)
{
	u64 first_ns;

	if (radio->committed || !airsim_tuned(radio))
		return;
	first_ns = airsim_first_access_ns(radio);
	if (airsim_busy(radio) || first_ns == U64_MAX ||
	    radio->exchange.stage != AIRSIM_STAGE_NONE)
		airsim_cancel(radio, AIRSIM_EVENT_ACCESS);
	else
		airsim_schedule(radio, AIRSIM_EVENT_ACCESS,
				max(first_ns, now_ns));
}

/**
 * airsim_contend_again - contend again after an exchange
 * @radio: the radio that has started it; the medium is locked
 * @edca: its EDCA function, whose contention window changes
 * @answered: the exchange has succeeded
 * @now_ns: current time
 */
void airsim_contend_again(struct airsim_radio *radio, struct airsim_edca *edca,
			  bool answered, u64 now_ns)
{
	struct airsim_reception *reception = &radio->reception;

	if (answered) {
		airsim_edca_succeeded(edca, &airsim_medium.backoff_rnd);
	} else {
		reception->idle_from_ns = max(reception->idle_from_ns, now_ns);
		airsim_edca_failed(edca, airsim_retry_limit(radio),
				   &airsim_medium.backoff_rnd);
	}
	airsim_contend(radio, now_ns);
}

/**
 * airsim_request_access - a radio has a frame to send
 * @radio: the radio; the medium is locked
 * @ac: EDCA function
 * @now_ns: current time
 */
void airsim_request_access(struct airsim_radio *radio, u8 ac, u64 now_ns)
{
	bool is_busy = airsim_busy(radio) ||
		       radio->exchange.stage != AIRSIM_STAGE_NONE ||
		       now_ns < radio->reception.idle_from_ns;

	airsim_edca_request(&radio->edca[ac], now_ns, is_busy,
			    &airsim_medium.backoff_rnd);
	airsim_contend(radio, now_ns);
}

/**
 * airsim_freeze - freeze the backoffs of a radio
 * @radio: the radio; the medium is locked
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

static void airsim_cca_busy(struct airsim_radio *radio, u64 now_ns)
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

static void airsim_cca_idle(struct airsim_radio *radio, u64 now_ns)
{
	struct airsim_reception *reception = &radio->reception;
	u64 extra_ns = 0;

	if (reception->failed)
		extra_ns = airsim_eifs_extra_ns(radio->phy);
	reception->idle_from_ns = max(now_ns + extra_ns, airsim_nav_ns(radio));
	airsim_contend(radio, now_ns);
}

static void airsim_reception_start(struct airsim_radio *radio,
				   struct airsim_emission *emission,
				   s32 signal_mdbm)
{
	struct airsim_reception *reception = &radio->reception;

	reception->locked = emission;
	reception->signal_mdbm = signal_mdbm;
	reception->intf_start_ns = U64_MAX;
	reception->intf_end_ns = 0;
	airsim_sinr_start(radio);
}

static void airsim_signal_start(struct airsim_radio *radio,
				struct airsim_emission *emission,
				s32 signal_mdbm)
{
	struct airsim_reception *reception = &radio->reception;

	if (!airsim_busy(radio)) {
		reception->failed = false;
		airsim_cca_busy(radio, emission->start_ns);
		if (radio->frequency_mhz == emission->from->frequency_mhz)
			airsim_reception_start(radio, emission, signal_mdbm);
	} else if (reception->locked &&
		   airsim_in_parallel(reception->locked, emission)) {
		/* Received as well. */
	} else if (airsim_captures(radio)) {
		if (airsim_is_captured(radio, emission, signal_mdbm))
			airsim_reception_start(radio, emission, signal_mdbm);
		else if (reception->locked)
			airsim_sinr_change(radio, emission->start_ns, NULL);
	} else if (reception->locked) {
		reception->intf_start_ns =
			min(reception->intf_start_ns, emission->start_ns);
		reception->intf_end_ns = U64_MAX;
	}
	reception->audible++;
}

/* Whether a third radio can decode the Duration field. */
static bool airsim_nav_readable(const struct airsim_radio *radio,
				const struct airsim_emission *emission)
{
	return radio->settings.errors != AIRSIM_ERRORS_SNR ||
	       airsim_sinr_readable(radio, emission, AIRSIM_RTS_OCTETS);
}

static void airsim_update_nav(struct airsim_radio *radio,
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

/*
 * Whether the end of a signal that was not received counts as a frame with an
 * error (10.3.2.3.7). Those that began while the radio was transmitting, and
 * those of another primary channel, are energy without a preamble. With
 * capture, it did not detect the preambles of the others either.
 */
static bool airsim_is_error(const struct airsim_radio *radio,
			    const struct airsim_emission *emission)
{
	return !airsim_captures(radio) && !radio->emitting &&
	       emission->start_ns >= radio->emission.end_ns &&
	       radio->frequency_mhz == emission->from->frequency_mhz;
}

/* Another emission that a radio receives in parallel with one that ends. */
static struct airsim_emission *
airsim_find_parallel(const struct airsim_radio *radio,
		     const struct airsim_emission *emission)
{
	struct airsim_radio *from;

	if (emission->frame != AIRSIM_PPDU || !emission->trigger)
		return NULL;
	list_for_each_entry(from, &airsim_medium.radios, list)
		if (from->emitting && &from->emission != emission &&
		    airsim_in_parallel(&from->emission, emission) &&
		    test_bit(radio->index, from->emission.detected_by))
			return &from->emission;
	return NULL;
}

/* Whether others interfere with what a radio receives, when one of them ends. */
static bool airsim_still_interfered(const struct airsim_radio *radio,
				    const struct airsim_emission *ended)
{
	const struct airsim_radio *from;

	list_for_each_entry(from, &airsim_medium.radios, list)
		if (airsim_interferes(radio, from, radio->reception.locked,
				      ended))
			return true;
	return false;
}

/* Whether a frame is addressed to a radio, alone or with others. */
static bool airsim_is_addressed(const struct airsim_radio *radio,
				const struct airsim_emission *emission)
{
	const struct airsim_uplink *uplink = &emission->from->uplink;
	int i;

	if (emission->frame == AIRSIM_TRIGGER)
		for (i = 0; i < uplink->users; i++)
			if (uplink->user[i].radio == radio)
				return true;
	return emission->to == radio;
}

/* Whether no MPDU of a PPDU that is alone on the air has arrived. */
static bool airsim_is_lost_ppdu(const struct airsim_emission *emission)
{
	return emission->frame == AIRSIM_PPDU && !emission->trigger &&
	       !emission->from->ppdu.arrived;
}

/* Returns whether the radio has received it, so that its NAV is up to date. */
static bool airsim_signal_end(struct airsim_radio *radio,
			      const struct airsim_emission *emission,
			      u64 now_ns)
{
	struct airsim_reception *reception = &radio->reception;
	bool received = false;

	reception->audible--;
	if (airsim_receives(radio, emission) &&
	    airsim_find_parallel(radio, emission)) {
		reception->locked = airsim_find_parallel(radio, emission);
	} else if (reception->locked == emission) {
		reception->locked = NULL;
		airsim_receive_ended(radio);
		reception->failed =
			reception->intf_start_ns != U64_MAX ||
			reception->undetected ||
			!airsim_nav_readable(radio, emission);
		received = !reception->failed;
		if (received && !airsim_is_addressed(radio, emission))
			airsim_update_nav(radio, emission);
		if (emission->to == radio && airsim_is_lost_ppdu(emission))
			reception->failed = true;
	} else {
		if (reception->locked && airsim_captures(radio))
			airsim_sinr_change(radio, now_ns, emission);
		else if (reception->locked &&
			 !airsim_still_interfered(radio, emission))
			reception->intf_end_ns = now_ns;
		if (airsim_is_error(radio, emission))
			reception->failed = true;
	}
	if (!airsim_busy(radio))
		airsim_cca_idle(radio, now_ns);
	return received;
}

/*
 * Whether the addressed radio does not receive an emission that it detects. That
 * of a CTS to its sender is the receiver of the PPDU that follows.
 */
static bool airsim_is_missed(const struct airsim_emission *emission)
{
	const struct airsim_radio *to = emission->to;

	if (emission->from->exchange.stage == AIRSIM_STAGE_CTS)
		to = emission->from->exchange.peer;
	return to && test_bit(to->index, emission->detected_by) &&
	       (!airsim_receives(to, emission) || to->reception.undetected ||
		to->reception.intf_start_ns != U64_MAX);
}

/**
 * airsim_is_collided - whether another signal interferes at the addressed radio
 * @emission: on the air; the medium is locked
 */
bool airsim_is_collided(const struct airsim_emission *emission)
{
	return airsim_is_missed(emission) ||
	       (emission->to && airsim_receives(emission->to, emission) &&
		emission->to->reception.interfered);
}

/**
 * airsim_interfered - whether a part of a reception is lost to interference
 * @radio: the receiving radio; the medium is locked
 * @from_ns: start of the part
 * @to_ns: end of the part
 *
 * Interference with the preamble affects the whole PPDU. With capture, this is
 * whether its preamble was not detected.
 */
bool airsim_interfered(const struct airsim_radio *radio, u64 from_ns, u64 to_ns)
{
	const struct airsim_reception *reception = &radio->reception;
	const struct airsim_emission *emission = reception->locked;
	u64 data_ns = emission->start_ns + airsim_preamble_ns(&emission->rate);

	return reception->undetected || reception->intf_start_ns < data_ns ||
	       (reception->intf_start_ns < to_ns &&
		reception->intf_end_ns > from_ns);
}

/**
 * airsim_mpdu_lost - draw whether an MPDU is lost according to the error model
 * @radio: receiver; the medium is locked
 * @emission: emission of its PPDU
 * @mpdu: the MPDU
 * @from_ns: its start, or that of the emission
 * @to_ns: its end
 *
 * The models without signal strength only lose data, so that stations can
 * associate and stay associated.
 */
bool airsim_mpdu_lost(struct airsim_radio *radio,
		      const struct airsim_emission *emission,
		      const struct sk_buff *mpdu, u64 from_ns, u64 to_ns)
{
	const struct ieee80211_hdr *hdr = (const void *)mpdu->data;
	const struct airsim_settings *settings = &radio->settings;
	struct rnd_state *rnd = &airsim_medium.error_rnd;

	if (settings->errors == AIRSIM_ERRORS_SNR)
		return airsim_sinr_lost(radio, emission, from_ns, to_ns,
					airsim_mpdu_octets(mpdu));
	if (!ieee80211_is_data_present(hdr->frame_control))
		return false;
	if (settings->errors == AIRSIM_ERRORS_BURST)
		return airsim_burst_lost(&settings->burst, &radio->burst_bad,
					 rnd);
	return airsim_chance_ppm(rnd, settings->mpdu_error_ppm);
}

/**
 * airsim_control_lost - draw whether a control frame is lost
 * @radio: receiver; the medium is locked
 * @emission: emission of the frame, which has ended
 * @octets: length
 */
bool airsim_control_lost(struct airsim_radio *radio,
			 const struct airsim_emission *emission, u32 octets)
{
	const struct airsim_settings *settings = &radio->settings;

	if (settings->errors == AIRSIM_ERRORS_SNR)
		return airsim_sinr_lost(radio, emission, emission->start_ns,
					emission->end_ns, octets);
	return settings->response_error_ppm &&
	       airsim_chance_ppm(&airsim_medium.error_rnd,
				 settings->response_error_ppm);
}

/**
 * airsim_next_end_ns - end of the next MPDU of an emission, or of all of it
 * @radio: transmitter; the medium is locked
 */
u64 airsim_next_end_ns(const struct airsim_radio *radio)
{
	const struct airsim_ppdu *ppdu = &radio->ppdu;

	if (radio->emission.frame == AIRSIM_PPDU && ppdu->next < ppdu->count)
		return ppdu->mpdu_end_ns[ppdu->next];
	return radio->emission.end_ns;
}

/**
 * airsim_transmit - a radio starts to transmit
 * @radio: the radio; the medium is locked; its @emission is set up except for
 *	@detected_by and @collided
 */
void airsim_transmit(struct airsim_radio *radio)
{
	struct airsim_emission *emission = &radio->emission;
	struct airsim_radio *other;
	s32 signal_mdbm;

	if (!airsim_busy(radio))
		airsim_cca_busy(radio, emission->start_ns);
	airsim_cancel(radio, AIRSIM_EVENT_ACCESS);
	radio->committed = false;
	radio->reception.locked = NULL;
	radio->emitting = true;
	emission->from = radio;
	emission->collided = false;
	bitmap_zero(emission->detected_by, AIRSIM_MAX_RADIOS);
	list_for_each_entry(other, &airsim_medium.radios, list) {
		if (other == radio ||
		    !airsim_detects(other, radio, emission->start_ns,
				    &signal_mdbm))
			continue;
		__set_bit(other->index, emission->detected_by);
		airsim_signal_start(other, emission, signal_mdbm);
	}
	airsim_schedule(radio, AIRSIM_EVENT_AIR, airsim_next_end_ns(radio));
}

/* Notes the radios that receive a frame to several stations. */
static void airsim_note_reached(struct airsim_emission *emission)
{
	int i;

	bitmap_zero(emission->reached, AIRSIM_MAX_RADIOS);
	if (emission->frame != AIRSIM_TRIGGER &&
	    emission->frame != AIRSIM_MULTI_BLOCKACK)
		return;
	for_each_set_bit(i, emission->detected_by, AIRSIM_MAX_RADIOS) {
		const struct airsim_reception *reception =
			&airsim_medium.tuned[i]->reception;

		if (reception->locked == emission && !reception->undetected &&
		    reception->intf_start_ns == U64_MAX)
			__set_bit(i, emission->reached);
	}
}

/**
 * airsim_emission_end - a radio stops transmitting
 * @radio: the radio; the medium is locked
 * @now_ns: current time
 *
 * Return: whether the addressed radio received it without interference; of a CTS
 * to itself, whether any radio received it.
 */
bool airsim_emission_end(struct airsim_radio *radio, u64 now_ns)
{
	struct airsim_emission *emission = &radio->emission;
	struct airsim_radio *to = emission->to;
	bool missed = airsim_is_missed(emission);
	bool arrived = to && airsim_receives(to, emission) && !missed;
	bool received = false;
	int i;

	airsim_note_reached(emission);
	emission->collided = emission->frame == AIRSIM_PPDU ?
			     !radio->ppdu.arrived &&
			     airsim_is_collided(emission) : missed;
	for_each_set_bit(i, emission->detected_by, AIRSIM_MAX_RADIOS)
		received |= airsim_signal_end(airsim_medium.tuned[i], emission,
					      now_ns);
	radio->emitting = false;
	radio->reception.failed = false;
	if (!airsim_busy(radio))
		airsim_cca_idle(radio, now_ns);
	return radio->exchange.stage == AIRSIM_STAGE_CTS ? received : arrived;
}

/**
 * airsim_emission_abort - abort a transmission
 * @radio: the transmitting radio; the medium is locked
 * @now_ns: current time
 */
void airsim_emission_abort(struct airsim_radio *radio, u64 now_ns)
{
	struct airsim_emission *emission = &radio->emission;
	int i;

	radio->emitting = false;
	for_each_set_bit(i, emission->detected_by, AIRSIM_MAX_RADIOS) {
		struct airsim_radio *other = airsim_medium.tuned[i];

		if (other->reception.locked == emission &&
		    !airsim_find_parallel(other, emission))
			other->reception.intf_start_ns = 0;
		airsim_signal_end(other, emission, now_ns);
	}
}
