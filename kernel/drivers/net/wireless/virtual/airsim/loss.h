/* SPDX-License-Identifier: GPL-2.0-only */
/* Error models. Probabilities are fractions of 2^32. */
#ifndef AIRSIM_LOSS_H
#define AIRSIM_LOSS_H

#include <linux/prandom.h>
#include <linux/types.h>

struct airsim_rate;

/**
 * struct airsim_burst - Gilbert-Elliott model; all values in millionths
 * @enter_ppm: probability of a transition to the bad state before a frame
 * @leave_ppm: probability of a transition to the good state before a frame
 * @good_error_ppm: frames lost in the good state
 * @bad_error_ppm: frames lost in the bad state
 */
struct airsim_burst {
	u32 enter_ppm;
	u32 leave_ppm;
	u32 good_error_ppm;
	u32 bad_error_ppm;
};

/**
 * struct airsim_section - a part of a reception with constant interference
 * @from_ns: its start
 * @sinr_mdb: ratio of the signal to interference and noise
 */
struct airsim_section {
	u64 from_ns;
	s32 sinr_mdb;
};

bool airsim_chance_ppm(struct rnd_state *rnd, u32 ppm);
bool airsim_burst_lost(const struct airsim_burst *burst, bool *bad,
		       struct rnd_state *rnd);
u32 airsim_snr_loss(const struct airsim_rate *rate, s32 snr_mdb, u32 octets);
bool airsim_snr_lost(const struct airsim_rate *rate, s32 snr_mdb, u32 octets,
		     struct rnd_state *rnd);
void airsim_best_rate(struct airsim_rate *rate, u8 streams, s32 snr_mdb);
u32 airsim_sinr_loss(const struct airsim_rate *rate,
		     const struct airsim_section *sections, unsigned int count,
		     u64 from_ns, u64 to_ns, u32 octets);

#endif
