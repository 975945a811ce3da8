/* SPDX-License-Identifier: GPL-2.0-only */
/* EDCA functions, IEEE 802.11-2020 clause 10.23.2. */
#ifndef AIRSIM_EDCA_H
#define AIRSIM_EDCA_H

#include <linux/prandom.h>
#include <linux/types.h>
#include "airtime.h"

/**
 * struct airsim_edca - state of an EDCA function
 * @aifsn: slots to wait after SIFS (AIFSN)
 * @cw_min: minimum contention window, slots
 * @cw_max: maximum contention window, slots
 * @txop_ns: TXOP limit; 0: one frame exchange
 * @cw: current contention window
 * @backoff: remaining slots after AIFS
 * @failures: transmissions failed since the last success (QSRC)
 * @pending: there may be a frame to send
 * @suspended: it does not contend
 * @pending_since_ns: since when there has been a frame
 */
struct airsim_edca {
	u8 aifsn;
	u16 cw_min;
	u16 cw_max;
	u32 txop_ns;
	u16 cw;
	u16 backoff;
	u8 failures;
	bool pending;
	bool suspended;
	u64 pending_since_ns;
};

void airsim_edca_configure(struct airsim_edca *edca, u8 aifsn, u16 cw_min,
			   u16 cw_max);
void airsim_edca_draw(struct airsim_edca *edca, struct rnd_state *rnd);
u64 airsim_edca_access_ns(const struct airsim_edca *edca,
			  const struct airsim_phy *phy, u64 idle_from_ns);
void airsim_edca_request(struct airsim_edca *edca, u64 now_ns,
			 bool medium_busy, struct rnd_state *rnd);
void airsim_edca_freeze(struct airsim_edca *edca, const struct airsim_phy *phy,
			u64 idle_from_ns, u64 busy_from_ns);
void airsim_edca_reset(struct airsim_edca *edca);
void airsim_edca_succeeded(struct airsim_edca *edca, struct rnd_state *rnd);
void airsim_edca_failed(struct airsim_edca *edca, u8 retry_limit,
			struct rnd_state *rnd);

#endif
