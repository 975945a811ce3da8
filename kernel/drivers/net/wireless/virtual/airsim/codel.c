// SPDX-License-Identifier: GPL-2.0-only
/*
 * The target of mac80211's CoDel, which mac80211 fixes at 20 ms. With a FIFO in
 * the driver and the 5 ms of fq_codel, mac80211's queues behave like that qdisc
 * above a driver of the time before them.
 */
#include <net/codel.h>
#include "../../../../../net/mac80211/ieee80211_i.h"
#include "airsim.h"

/**
 * airsim_set_codel - give a radio's target to mac80211
 * @radio: the radio, which is registered
 */
void airsim_set_codel(struct airsim_radio *radio)
{
	u64 target_ns = (u64)radio->settings.codel_target_us * NSEC_PER_USEC;

	/* Read whenever a packet is dequeued; mac80211 does not write it. */
	WRITE_ONCE(hw_to_local(radio->hw)->cparams.target,
		   target_ns >> CODEL_SHIFT);
}
