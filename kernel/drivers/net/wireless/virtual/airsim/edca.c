// SPDX-License-Identifier: GPL-2.0-only
/*
 * One EDCA function, IEEE 802.11-2020 clause 10.23.2.
 *
 * A slot boundary follows after the medium has been idle for AIFS = SIFS +
 * AIFSN slots, and another one after each idle slot. At every boundary the
 * function either decrements its backoff counter or, if that is zero,
 * transmits. So a function with backoff b transmits at AIFS + b slots, and one
 * that detects another transmission at boundary k has decremented its counter k
 * + 1 times by then, including at that boundary. (A DCF station would have done
 * so k times.)
 *
 * Nothing runs while the medium is idle: the counter is updated when the medium
 * turns busy.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include "edca.h"

/**
 * airsim_edca_configure - set the parameters of an access category
 * @edca: the function
 * @aifsn: AIFSN, slots
 * @cw_min: minimum contention window, slots
 * @cw_max: maximum contention window, slots
 */
void airsim_edca_configure(struct airsim_edca *edca, u8 aifsn, u16 cw_min,
			   u16 cw_max)
{
	edca->aifsn = aifsn;
	edca->cw_min = cw_min;
	edca->cw_max = max(cw_min, cw_max);
	edca->cw = cw_min;
	edca->suspended = false;
}

/**
 * airsim_edca_draw - start a backoff
 * @edca: the function
 * @rnd: random numbers
 */
void airsim_edca_draw(struct airsim_edca *edca, struct rnd_state *rnd)
{
	u64 draw = prandom_u32_state(rnd);

	edca->backoff = (draw * (edca->cw + 1)) >> 32;
}

static u64 airsim_edca_first_boundary_ns(const struct airsim_edca *edca,
					 const struct airsim_phy *phy,
					 u64 idle_from_ns)
{
	return idle_from_ns + phy->sifs_ns + edca->aifsn * phy->slot_ns;
}

/**
 * airsim_edca_access_ns - when the function transmits if the medium stays idle
 * @edca: the function
 * @phy: slot and SIFS
 * @idle_from_ns: time since when, or from when on, the medium is idle
 *
 * Return: U64_MAX if it is suspended.
 */
u64 airsim_edca_access_ns(const struct airsim_edca *edca,
			  const struct airsim_phy *phy, u64 idle_from_ns)
{
	if (edca->suspended)
		return U64_MAX;
	return max(edca->pending_since_ns,
		   airsim_edca_first_boundary_ns(edca, phy, idle_from_ns) +
		   edca->backoff * phy->slot_ns);
}

/**
 * airsim_edca_request - a frame was queued
 * @edca: the function
 * @now_ns: current time
 * @medium_busy: the medium is busy
 * @rnd: random numbers
 *
 * A frame that is queued while the medium is busy and no backoff is in progress
 * starts one (10.23.2.2 a). If the medium is idle and the backoff has ended,
 * the frame is sent at once.
 */
void airsim_edca_request(struct airsim_edca *edca, u64 now_ns,
			 bool medium_busy, struct rnd_state *rnd)
{
	if (edca->pending)
		return;
	if (medium_busy && !edca->backoff)
		airsim_edca_draw(edca, rnd);
	edca->pending = true;
	edca->pending_since_ns = now_ns;
}

/**
 * airsim_edca_freeze - the medium turned busy
 * @edca: the function, which is not the one that transmits
 * @phy: slot and SIFS
 * @idle_from_ns: since when the medium was idle
 * @busy_from_ns: since when the medium is busy
 */
void airsim_edca_freeze(struct airsim_edca *edca, const struct airsim_phy *phy,
			u64 idle_from_ns, u64 busy_from_ns)
{
	u64 first_ns = airsim_edca_first_boundary_ns(edca, phy, idle_from_ns);
	u64 boundaries;

	if (busy_from_ns < first_ns || edca->suspended)
		return;
	boundaries = div_u64(busy_from_ns - first_ns, phy->slot_ns) + 1;
	edca->backoff -= min_t(u64, edca->backoff, boundaries);
}

/**
 * airsim_edca_reset - a transmission was answered, and the TXOP may go on
 * @edca: the function
 */
void airsim_edca_reset(struct airsim_edca *edca)
{
	edca->failures = 0;
	edca->cw = edca->cw_min;
}

/**
 * airsim_edca_succeeded - a transmission was answered, or needs no response
 * @edca: the function
 * @rnd: random numbers
 */
void airsim_edca_succeeded(struct airsim_edca *edca, struct rnd_state *rnd)
{
	airsim_edca_reset(edca);
	airsim_edca_draw(edca, rnd);
}

/**
 * airsim_edca_failed - a transmission was not answered
 * @edca: the function
 * @retry_limit: dot11ShortRetryLimit
 * @rnd: random numbers
 *
 * After as many failures in a row as the limit, the next one resets the window
 * (10.23.2.2).
 */
void airsim_edca_failed(struct airsim_edca *edca, u8 retry_limit,
			struct rnd_state *rnd)
{
	if (edca->failures >= retry_limit) {
		airsim_edca_succeeded(edca, rnd);
		return;
	}
	edca->failures++;
	edca->cw = min(2 * edca->cw + 1, edca->cw_max);
	airsim_edca_draw(edca, rnd);
}
