// SPDX-License-Identifier: GPL-2.0-only
/*
 * One EDCA function, IEEE 802.11-2020 clause 10.23.2.
 *
 * After the medium has been idle for AIFS = SIFS + AIFSN slots there is a
 * boundary, and one more after each idle slot. At every boundary the function
 * either counts its backoff down or, if that is zero already, transmits. So
 * a function with backoff b transmits at AIFS + b slots, and one that sees
 * another transmit at boundary k has counted down k + 1 times by then: at
 * that boundary too. (DCF stations would have counted k times.)
 *
 * Nothing here runs while the medium is idle: the count-down is worked out
 * when the medium turns busy.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include "edca.h"

/**
 * airsim_edca_configure - set the parameters of an access category
 * @edca: the function
 * @aifsn: AIFSN, slots
 * @cw_min: least contention window, slots
 * @cw_max: greatest contention window, slots
 */
void airsim_edca_configure(struct airsim_edca *edca, u8 aifsn, u16 cw_min,
			   u16 cw_max)
{
	edca->aifsn = aifsn;
	edca->cw_min = cw_min;
	edca->cw_max = max(cw_min, cw_max);
	edca->cw = cw_min;
}

/**
 * airsim_edca_draw - begin a backoff
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
 * airsim_edca_access_ns - when the function transmits if nobody else does
 * @edca: the function
 * @phy: slot and SIFS
 * @idle_from_ns: since when, or from when on, its radio sees the medium idle
 */
u64 airsim_edca_access_ns(const struct airsim_edca *edca,
			  const struct airsim_phy *phy, u64 idle_from_ns)
{
	return max(edca->wanted_from_ns,
		   airsim_edca_first_boundary_ns(edca, phy, idle_from_ns) +
		   edca->backoff * phy->slot_ns);
}

/**
 * airsim_edca_request - a frame has arrived
 * @edca: the function
 * @now_ns: when
 * @medium_busy: somebody is transmitting
 * @rnd: random numbers
 *
 * A frame that finds the medium busy and no backoff running starts one
 * (10.23.2.2 a). One that finds the medium idle and the backoff run down goes
 * out at once.
 */
void airsim_edca_request(struct airsim_edca *edca, u64 now_ns,
			 bool medium_busy, struct rnd_state *rnd)
{
	if (edca->wants)
		return;
	if (medium_busy && !edca->backoff)
		airsim_edca_draw(edca, rnd);
	edca->wants = true;
	edca->wanted_from_ns = now_ns;
}

/**
 * airsim_edca_freeze - the medium has turned busy
 * @edca: the function, which is not the one that transmits
 * @phy: slot and SIFS
 * @idle_from_ns: since when the medium had been idle
 * @busy_from_ns: since when it is busy
 */
void airsim_edca_freeze(struct airsim_edca *edca, const struct airsim_phy *phy,
			u64 idle_from_ns, u64 busy_from_ns)
{
	u64 first_ns = airsim_edca_first_boundary_ns(edca, phy, idle_from_ns);
	u64 boundaries;

	if (busy_from_ns < first_ns)
		return;
	boundaries = div_u64(busy_from_ns - first_ns, phy->slot_ns) + 1;
	edca->backoff -= min_t(u64, edca->backoff, boundaries);
}

/**
 * airsim_edca_succeeded - a transmission was answered, or needs no answer
 * @edca: the function
 * @rnd: random numbers
 */
void airsim_edca_succeeded(struct airsim_edca *edca, struct rnd_state *rnd)
{
	edca->failures = 0;
	edca->cw = edca->cw_min;
	airsim_edca_draw(edca, rnd);
}

/**
 * airsim_edca_failed - a transmission was not answered
 * @edca: the function
 * @retry_limit: failures in a row after which the window starts anew
 * @rnd: random numbers
 */
void airsim_edca_failed(struct airsim_edca *edca, u8 retry_limit,
			struct rnd_state *rnd)
{
	if (++edca->failures >= retry_limit) {
		airsim_edca_succeeded(edca, rnd);
		return;
	}
	edca->cw = min(2 * edca->cw + 1, edca->cw_max);
	airsim_edca_draw(edca, rnd);
}
