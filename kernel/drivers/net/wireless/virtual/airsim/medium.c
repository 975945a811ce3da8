// SPDX-License-Identifier: GPL-2.0-only
/*
 * The medium: who transmits, who collides, what comes after.
 *
 * All radios of a channel hear each other. While nobody transmits, the next
 * event is the earliest access of any EDCA function. Functions whose accesses
 * lie less than a slot apart cannot sense each other in time: they all
 * transmit, and collide. From the moment that transmissions begin everything
 * about them is known - their lengths, which MPDUs are lost, whether an answer
 * comes - so the counters and everybody's deferral are settled there. What is
 * left are the ends of the MPDUs, when they are handed up, and the end of the
 * exchange, when their senders learn the outcome.
 *
 * Times are those of the model, not of the timer that may fire a little late.
 */
#include <linux/etherdevice.h>
#include <linux/ieee80211.h>
#include <linux/random.h>
#include <linux/slab.h>
#include "airsim.h"

/*
 * EIFS less DIFS: after a frame that it could not read a radio gives its
 * receiver the time to answer at the lowest rate (10.3.2.3.7).
 */
#define EIFS_EXTRA_NS	(AIRSIM_SIFS_NS + \
			 airsim_control_ns(6000, AIRSIM_ACK_OCTETS))

/* How long a sender waits for the answer to begin (10.3.2.11). */
#define RESPONSE_TIMEOUT_NS \
	(AIRSIM_SIFS_NS + AIRSIM_SLOT_NS + AIRSIM_RX_START_DELAY_NS)

static const u16 frequencies_mhz[] = {
	5180, 5200, 5220, 5240, 5260, 5280, 5300, 5320, 5500, 5520, 5540, 5560,
	5580, 5600, 5620, 5640, 5660, 5680, 5700, 5720, 5745, 5765, 5785, 5805,
	5825,
};

static struct airsim_medium *media;

/**
 * airsim_medium_at - the medium of a channel
 * @frequency_mhz: centre of its primary 20 MHz channel
 */
struct airsim_medium *airsim_medium_at(u16 frequency_mhz)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(frequencies_mhz); i++)
		if (frequencies_mhz[i] == frequency_mhz)
			return &media[i];
	return NULL;
}

static u64 next_event_ns(const struct airsim_ppdu *ppdu)
{
	if (ppdu->next < ppdu->count)
		return ppdu->mpdu_end_ns[ppdu->next];
	return ppdu->done_ns;
}

static u64 earliest_access_ns(const struct airsim_medium *medium)
{
	const struct airsim_radio *radio;
	u64 first_ns = U64_MAX;
	int i;

	list_for_each_entry(radio, &medium->radios, list) {
		for (i = 0; i < AIRSIM_EDCAS; i++) {
			const struct airsim_edca *edca = &radio->edca[i];

			if (edca->wants)
				first_ns = min(first_ns,
					       airsim_edca_access_ns(edca));
		}
	}
	return first_ns;
}

static struct airsim_radio *next_sender(const struct airsim_medium *medium)
{
	struct airsim_radio *radio, *first = NULL;

	list_for_each_entry(radio, &medium->radios, list)
		if (radio->ppdu.active &&
		    (!first || next_event_ns(&radio->ppdu) <
			       next_event_ns(&first->ppdu)))
			first = radio;
	return first;
}

static void arm(struct airsim_medium *medium)
{
	const struct airsim_radio *sender = next_sender(medium);
	u64 next_ns = sender ? next_event_ns(&sender->ppdu) :
			       earliest_access_ns(medium);

	if (next_ns != U64_MAX)
		hrtimer_start(&medium->timer, ns_to_ktime(next_ns),
			      HRTIMER_MODE_ABS_SOFT);
}

static bool chance(struct airsim_medium *medium, u32 ppm)
{
	u64 draw = prandom_u32_state(&medium->error_rnd);

	return (draw * 1000000) >> 32 < ppm;
}

static bool receiver_present(const struct airsim_medium *medium,
			     const struct airsim_ppdu *ppdu)
{
	const struct ieee80211_hdr *hdr = (void *)ppdu->mpdu[0]->data;
	struct airsim_radio *radio;

	if (is_multicast_ether_addr(hdr->addr1))
		return true;
	list_for_each_entry(radio, &medium->radios, list)
		if (&radio->ppdu != ppdu &&
		    airsim_radio_hears(radio, hdr->addr1))
			return true;
	return false;
}

/* Decides which MPDUs arrive. Return: whether an answer will come. */
static bool draw_losses(struct airsim_medium *medium, struct airsim_ppdu *ppdu)
{
	bool present = receiver_present(medium, ppdu);
	bool any = false;
	unsigned int i;

	for (i = 0; i < ppdu->count; i++) {
		struct ieee80211_hdr *hdr = (void *)ppdu->mpdu[i]->data;
		bool lost = ppdu->collided || !present;

		if (!lost && ieee80211_is_data_present(hdr->frame_control))
			lost = chance(medium, airsim_settings.error_rate_ppm);
		airsim_mpdu(ppdu->mpdu[i])->lost = lost;
		any |= !lost;
	}
	return any && ppdu->response != AIRSIM_NO_RESPONSE;
}

static u32 response_ns(const struct airsim_ppdu *ppdu)
{
	return airsim_control_ns(airsim_response_kbps(&ppdu->rate),
				 ppdu->response == AIRSIM_RESPONSE_BLOCKACK ?
				 AIRSIM_BLOCKACK_OCTETS : AIRSIM_ACK_OCTETS);
}

static void count_ppdu(struct airsim_medium *medium,
		       const struct airsim_ppdu *ppdu, bool answered)
{
	u64 ns = (answered ? ppdu->done_ns : ppdu->end_ns) - ppdu->start_ns;
	struct airsim_counters *counters = &medium->counters;
	u64 octets = 0;
	int i;

	counters->ppdus++;
	counters->mpdus += ppdu->count;
	if (ppdu->octets[AIRSIM_KIND_DATA])
		counters->ampdu_sizes[ppdu->count]++;
	for (i = 0; i < ppdu->count; i++)
		if (airsim_mpdu(ppdu->mpdu[i])->attempts > 1)
			counters->retries++;
	if (ppdu->collided)
		return;
	for (i = 0; i < AIRSIM_KINDS; i++)
		octets += ppdu->octets[i];
	for (i = 0; i < AIRSIM_KINDS; i++)
		counters->airtime_ns[i] +=
			div64_u64(ns * ppdu->octets[i], octets);
}

/* Fixes the future of a PPDU whose start and company are known. */
static void launch(struct airsim_medium *medium, struct airsim_ppdu *ppdu)
{
	bool answered = draw_losses(medium, ppdu);

	ppdu->done_ns = ppdu->end_ns;
	if (answered) {
		ppdu->done_ns += AIRSIM_SIFS_NS + response_ns(ppdu);
	} else if (ppdu->response != AIRSIM_NO_RESPONSE) {
		ppdu->done_ns += RESPONSE_TIMEOUT_NS;
		ppdu->response = AIRSIM_RESPONSE_MISSING;
	}
	ppdu->reference = ++medium->reference;
	medium->busy_until_ns = max(medium->busy_until_ns, ppdu->done_ns);
	count_ppdu(medium, ppdu, answered);
}

/* When a radio may count the medium idle again after a PPDU. */
static u64 idle_after_ns(const struct airsim_radio *radio,
			 const struct airsim_ppdu *ppdu)
{
	if (&radio->ppdu == ppdu ||
	    (!ppdu->collided && ppdu->response != AIRSIM_RESPONSE_MISSING))
		return ppdu->done_ns;
	if (radio->ppdu.active && ppdu->end_ns <= radio->ppdu.end_ns)
		return 0;
	return ppdu->end_ns + EIFS_EXTRA_NS;
}

static void defer_all(struct airsim_medium *medium)
{
	struct airsim_radio *radio, *sender;
	int i;

	list_for_each_entry(radio, &medium->radios, list) {
		u64 idle_ns = 0;

		list_for_each_entry(sender, &medium->radios, list)
			if (sender->ppdu.active)
				idle_ns = max(idle_ns,
					      idle_after_ns(radio,
							    &sender->ppdu));
		for (i = 0; i < AIRSIM_EDCAS; i++)
			radio->edca[i].idle_from_ns = idle_ns;
	}
}

/* Beacons first, then voice to background. */
static const u8 priority[AIRSIM_EDCAS] = {
	AIRSIM_BEACON, IEEE80211_AC_VO, IEEE80211_AC_VI, IEEE80211_AC_BE,
	IEEE80211_AC_BK,
};

/*
 * Lets a radio transmit if one of its functions has access before @before_ns,
 * and notes the functions of lower priority that had access too.
 */
static bool radio_transmits(struct airsim_radio *radio, u64 before_ns)
{
	bool built = false;
	int i;

	radio->outranked = 0;

	for (i = 0; i < AIRSIM_EDCAS; i++) {
		struct airsim_edca *edca = &radio->edca[priority[i]];
		u64 access_ns = airsim_edca_access_ns(edca);

		if (!edca->wants || access_ns >= before_ns)
			continue;
		if (built) {
			radio->outranked |= BIT(priority[i]);
		} else if (airsim_ppdu_build(radio, priority[i])) {
			airsim_ppdu_start(&radio->ppdu, access_ns);
			edca->backoff = 0;
			built = true;
		} else {
			edca->wants = false;
		}
	}
	return built;
}

static u8 retry_limit(const struct airsim_radio *radio)
{
	return radio->hw->conf.short_frame_max_tx_count;
}

/*
 * Stops the backoffs. Functions that a higher one of the same radio outran
 * behave as if they had collided (10.23.2.4, internal collision).
 */
static void freeze_all(struct airsim_medium *medium, u64 busy_from_ns)
{
	struct airsim_radio *radio;
	int i;

	list_for_each_entry(radio, &medium->radios, list) {
		for (i = 0; i < AIRSIM_EDCAS; i++) {
			airsim_edca_freeze(&radio->edca[i], busy_from_ns);
			if (radio->outranked & BIT(i))
				airsim_edca_failed(&radio->edca[i],
						   retry_limit(radio),
						   &medium->backoff_rnd);
		}
	}
}

/* Return: whether transmissions have begun at or before @now_ns. */
static bool begin(struct airsim_medium *medium, u64 now_ns)
{
	u64 first_ns, end_ns = 0;
	struct airsim_radio *radio;
	unsigned int senders = 0;

	do {
		first_ns = earliest_access_ns(medium);
		if (first_ns > now_ns)
			return false;
		list_for_each_entry(radio, &medium->radios, list)
			senders += radio_transmits(radio,
						   first_ns + AIRSIM_SLOT_NS);
	} while (!senders);

	freeze_all(medium, first_ns);
	medium->on_air = senders;
	list_for_each_entry(radio, &medium->radios, list) {
		if (!radio->ppdu.active)
			continue;
		radio->ppdu.collided = senders > 1;
		launch(medium, &radio->ppdu);
		end_ns = max(end_ns, radio->ppdu.end_ns);
	}
	if (senders > 1) {
		medium->counters.collisions++;
		medium->counters.collision_ns += end_ns - first_ns;
	}
	defer_all(medium);
	return true;
}

static void mpdu_ended(struct airsim_medium *medium,
		       struct airsim_radio *sender)
{
	struct airsim_ppdu *ppdu = &sender->ppdu;
	struct sk_buff *skb = ppdu->mpdu[ppdu->next];
	u64 end_ns = ppdu->mpdu_end_ns[ppdu->next];
	bool lost = airsim_mpdu(skb)->lost;

	airsim_monitor_mpdu(medium, ppdu, ppdu->next, lost);
	if (!lost)
		airsim_deliver(sender, ppdu, ppdu->next, end_ns);
	ppdu->next++;
}

static void ppdu_done(struct airsim_medium *medium,
		      struct airsim_radio *sender, struct sk_buff_head *done)
{
	struct airsim_ppdu *ppdu = &sender->ppdu;
	struct airsim_edca *edca = &sender->edca[ppdu->ac];
	bool missing = ppdu->response == AIRSIM_RESPONSE_MISSING;

	if (ppdu->response == AIRSIM_RESPONSE_ACK ||
	    ppdu->response == AIRSIM_RESPONSE_BLOCKACK)
		airsim_monitor_response(medium, ppdu,
					airsim_response_kbps(&ppdu->rate));
	if (missing)
		airsim_edca_failed(edca, retry_limit(sender),
				   &medium->backoff_rnd);
	else
		airsim_edca_succeeded(edca, &medium->backoff_rnd);
	airsim_ppdu_settle(sender, done);
	medium->on_air--;
}

static enum hrtimer_restart medium_timer(struct hrtimer *timer)
{
	struct airsim_medium *medium =
		container_of(timer, struct airsim_medium, timer);
	u64 now_ns = ktime_get_ns();
	struct airsim_radio *sender;
	struct sk_buff_head done;

	__skb_queue_head_init(&done);
	rcu_read_lock();
	spin_lock(&medium->lock);
	for (;;) {
		sender = next_sender(medium);
		if (!sender) {
			if (!begin(medium, now_ns))
				break;
			continue;
		}
		if (next_event_ns(&sender->ppdu) > now_ns)
			break;
		if (sender->ppdu.next < sender->ppdu.count) {
			mpdu_ended(medium, sender);
			continue;
		}
		ppdu_done(medium, sender, &done);
		spin_unlock(&medium->lock);
		airsim_ppdu_report(sender, &done);
		spin_lock(&medium->lock);
	}
	arm(medium);
	spin_unlock(&medium->lock);
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
	struct airsim_medium *medium = radio->medium;
	struct airsim_edca *edca = &radio->edca[ac];

	spin_lock_bh(&medium->lock);
	/* It may have changed channel meanwhile; whoever joins asks anew. */
	if (radio->medium == medium && radio->started && !edca->wants) {
		airsim_edca_request(edca, ktime_get_ns(), medium->on_air,
				    &medium->backoff_rnd);
		if (!medium->on_air)
			arm(medium);
	}
	spin_unlock_bh(&medium->lock);
}

/**
 * airsim_medium_join - tune a radio to a channel
 * @medium: the channel
 * @radio: the radio, on no channel
 */
void airsim_medium_join(struct airsim_medium *medium,
			struct airsim_radio *radio)
{
	int i;

	spin_lock_bh(&medium->lock);
	radio->medium = medium;
	list_add_tail(&radio->list, &medium->radios);
	for (i = 0; i < AIRSIM_EDCAS; i++)
		radio->edca[i].idle_from_ns =
			max_t(u64, medium->busy_until_ns, ktime_get_ns());
	if (!medium->on_air)
		arm(medium);
	spin_unlock_bh(&medium->lock);
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
	struct airsim_medium *medium = radio->medium;
	struct sk_buff_head done;

	__skb_queue_head_init(&done);
	rcu_read_lock();
	spin_lock_bh(&medium->lock);
	list_del_init(&radio->list);
	if (radio->ppdu.active) {
		radio->ppdu.response = AIRSIM_RESPONSE_MISSING;
		airsim_ppdu_settle(radio, &done);
		medium->on_air--;
	}
	spin_unlock_bh(&medium->lock);
	airsim_ppdu_report(radio, &done);
	rcu_read_unlock();
	synchronize_net();
}

/**
 * airsim_media_sum - add up the counters of all channels
 * @sum: the sums
 */
void airsim_media_sum(struct airsim_counters *sum)
{
	u64 *total = (u64 *)sum;
	int i, j;

	memset(sum, 0, sizeof(*sum));
	for (i = 0; i < ARRAY_SIZE(frequencies_mhz); i++) {
		const u64 *one = (u64 *)&media[i].counters;

		spin_lock_bh(&media[i].lock);
		for (j = 0; j < sizeof(*sum) / sizeof(u64); j++)
			total[j] += one[j];
		spin_unlock_bh(&media[i].lock);
	}
}

/**
 * airsim_media_init - make the channels
 *
 * Return: 0, or -ENOMEM.
 */
int airsim_media_init(void)
{
	u64 seed = get_random_u64();
	int i;

	media = kcalloc(ARRAY_SIZE(frequencies_mhz), sizeof(*media),
			GFP_KERNEL);
	if (!media)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(frequencies_mhz); i++) {
		struct airsim_medium *medium = &media[i];

		spin_lock_init(&medium->lock);
		INIT_LIST_HEAD(&medium->radios);
		hrtimer_init(&medium->timer, CLOCK_MONOTONIC,
			     HRTIMER_MODE_ABS_SOFT);
		medium->timer.function = medium_timer;
		medium->frequency_mhz = frequencies_mhz[i];
		prandom_seed_state(&medium->backoff_rnd, seed + 2 * i);
		prandom_seed_state(&medium->error_rnd, seed + 2 * i + 1);
	}
	return 0;
}

/** airsim_media_exit - free the channels, when no radio is left */
void airsim_media_exit(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(frequencies_mhz); i++)
		hrtimer_cancel(&media[i].timer);
	kfree(media);
}
