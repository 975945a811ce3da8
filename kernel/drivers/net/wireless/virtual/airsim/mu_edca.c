// SPDX-License-Identifier: GPL-2.0-only
/*
 * MU EDCA parameters, IEEE 802.11ax-2021 clause 26.2.7: for some time after an
 * access point has acknowledged QoS data in an HE TB PPDU, the station contends
 * with other parameters, or not at all.
 *
 * A backoff in progress is kept; the window applies to the next one.
 */
#include "airsim.h"

#define TIMER_UNIT_NS	(8 * 1024 * NSEC_PER_USEC)

static void airsim_mu_edca_stop(struct airsim_radio *radio, u8 ac)
{
	struct airsim_mu_edca *mu = &radio->mu_edca[ac];

	mu->until_ns = 0;
	airsim_edca_configure(&radio->edca[ac], mu->own.aifsn, mu->own.cw_min,
			      mu->own.cw_max);
}

/**
 * airsim_mu_edca_configure - set the EDCA parameters of an access category
 * @radio: the radio; the medium is locked
 * @ac: access category
 * @params: its parameters, for MU EDCA too
 */
void airsim_mu_edca_configure(struct airsim_radio *radio, u8 ac,
			      const struct ieee80211_tx_queue_params *params)
{
	const struct ieee80211_he_mu_edca_param_ac_rec *rec =
		&params->mu_edca_param_rec;
	struct airsim_mu_edca *mu = &radio->mu_edca[ac];

	mu->own.aifsn = params->aifs;
	mu->own.cw_min = params->cw_min;
	mu->own.cw_max = params->cw_max;
	mu->timer_ns = 0;
	if (params->mu_edca) {
		mu->aifsn = rec->aifsn & 0xf;
		mu->cw_min = BIT(rec->ecw_min_max & 0xf) - 1;
		mu->cw_max = BIT(rec->ecw_min_max >> 4) - 1;
		mu->timer_ns = rec->mu_edca_timer * TIMER_UNIT_NS;
	}
	airsim_mu_edca_stop(radio, ac);
}

/**
 * airsim_mu_edca_start - QoS data in an HE TB PPDU was acknowledged
 * @radio: the station; the medium is locked
 * @ac: access category of the data
 * @now_ns: current time
 */
void airsim_mu_edca_start(struct airsim_radio *radio, u8 ac, u64 now_ns)
{
	ktime_t next = radio->event[AIRSIM_EVENT_MU_EDCA].node.expires;
	struct airsim_mu_edca *mu = &radio->mu_edca[ac];

	if (!mu->timer_ns)
		return;
	if (!mu->until_ns) {
		airsim_edca_configure(&radio->edca[ac], mu->aifsn, mu->cw_min,
				      mu->cw_max);
		radio->edca[ac].suspended = !mu->aifsn;
	}
	mu->until_ns = now_ns + mu->timer_ns;
	if (!airsim_scheduled(radio, AIRSIM_EVENT_MU_EDCA) ||
	    mu->until_ns < ktime_to_ns(next))
		airsim_schedule(radio, AIRSIM_EVENT_MU_EDCA, mu->until_ns);
}

/**
 * airsim_mu_edca_active - whether a station relies on Trigger frames
 * @radio: the station; the medium is locked
 *
 * Return: whether an MU EDCA timer runs.
 */
bool airsim_mu_edca_active(const struct airsim_radio *radio)
{
	int ac;

	for (ac = 0; ac < IEEE80211_NUM_ACS; ac++)
		if (radio->mu_edca[ac].until_ns)
			return true;
	return false;
}

/**
 * airsim_mu_edca_expired - the MU EDCA timer of an access category may be over
 * @radio: the station; the medium is locked
 * @now_ns: current time
 */
void airsim_mu_edca_expired(struct airsim_radio *radio, u64 now_ns)
{
	u64 next_ns = U64_MAX;
	int ac;

	for (ac = 0; ac < IEEE80211_NUM_ACS; ac++) {
		struct airsim_mu_edca *mu = &radio->mu_edca[ac];

		if (mu->until_ns && mu->until_ns <= now_ns)
			airsim_mu_edca_stop(radio, ac);
		if (mu->until_ns)
			next_ns = min(next_ns, mu->until_ns);
	}
	if (next_ns != U64_MAX)
		airsim_schedule(radio, AIRSIM_EVENT_MU_EDCA, next_ns);
	airsim_contend(radio, now_ns);
}
