// SPDX-License-Identifier: GPL-2.0-only
/*
 * Error models: fixed error rate, bursts (Gilbert, 1960; Elliott, 1963), or
 * additive white Gaussian noise. For noise, loss_table.h has the error rate of
 * an octet; a frame is received if all of its octets are.
 *
 * Spatial streams share the transmit power, and the receiver separates them
 * perfectly: with n streams the SNR of each is that of the PPDU less 10
 * log10(n) decibels.
 *
 * Fixed point arithmetic: exponents have 28 fractional bits. Every step rounds
 * down, so that the result is monotonic.
 */
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include "airtime.h"
#include "loss.h"
#include "loss_table.h"

#define EXPONENT_BITS	28
#define EXPONENT_MASK	GENMASK_ULL(EXPONENT_BITS - 1, 0)
#define MANTISSA_BITS	31
#define LN2_BITS	32
#define LN2		2977044471ULL

/* 10 log10 of 1 to 4 streams. */
static const s32 stream_share_mdb[] = { 0, 3010, 4771, 6021 };

static const enum loss_modulation mcs_modulation[] = {
	BPSK_1_2, QPSK_1_2, QPSK_3_4, QAM16_1_2, QAM16_3_4, QAM64_2_3,
	QAM64_3_4, QAM64_5_6, QAM256_3_4, QAM256_5_6, QAM1024_3_4, QAM1024_5_6,
};

static enum loss_modulation airsim_modulation(const struct airsim_rate *rate)
{
	unsigned int i;

	if (rate->format != AIRSIM_CCK && rate->format != AIRSIM_OFDM)
		return mcs_modulation[rate->mcs];
	for (i = 0; i < AIRSIM_LEGACY_RATES - 1; i++)
		if (airsim_legacy_kbps[i] == rate->legacy_kbps)
			break;
	return i;
}

/* Linear interpolation; constant beyond the ends of the table. */
static u64 airsim_log2_hazard(const struct loss_curve *curve, s64 snr_mdb)
{
	u32 offset = clamp_t(s64, snr_mdb - curve->first_mdb, 0,
			     (LOSS_POINTS - 1) * LOSS_STEP_MDB - 1);
	const u16 *point = &curve->log2_hazard[offset / LOSS_STEP_MDB];
	u32 beyond = offset % LOSS_STEP_MDB;
	u64 mean = point[0] * (LOSS_STEP_MDB - beyond) + point[1] * beyond;

	return div_u64(mean << (EXPONENT_BITS - LOSS_SCALE_BITS),
		       LOSS_STEP_MDB);
}

/*
 * 2 to the power of a fraction: the series of exp(), up to the last significant
 * term. Returns a mantissa from 1 to less than 2.
 */
static u64 airsim_exp2_fraction(u64 fraction)
{
	u64 x = fraction * LN2 >> (EXPONENT_BITS + LN2_BITS - MANTISSA_BITS);
	u64 sum = BIT_ULL(MANTISSA_BITS);
	unsigned int n;

	for (n = 11; n; n--)
		sum = BIT_ULL(MANTISSA_BITS) +
		      div_u64(x * sum >> MANTISSA_BITS, n);
	return sum;
}

/* 1 - 2^-exponent as a fraction of 2^32. */
static u32 airsim_one_minus_exp2(u64 exponent)
{
	u64 whole = (exponent + EXPONENT_MASK) >> EXPONENT_BITS;
	u64 survival;

	if (whole > 32)
		return U32_MAX;
	survival = airsim_exp2_fraction((whole << EXPONENT_BITS) - exponent);
	survival = survival << (32 - MANTISSA_BITS) >> whole;
	return min(BIT_ULL(32) - survival, U32_MAX);
}

/**
 * airsim_chance_ppm - random event of a given probability
 * @rnd: random numbers
 * @ppm: probability, in millionths
 */
bool airsim_chance_ppm(struct rnd_state *rnd, u32 ppm)
{
	u64 draw = prandom_u32_state(rnd);

	return (draw * 1000000) >> 32 < ppm;
}

/**
 * airsim_burst_lost - Gilbert-Elliott model: draw whether the next frame is
 * lost
 * @burst: parameters
 * @bad: state of the channel; changes before the frame
 * @rnd: random numbers
 *
 * Return: whether the frame is lost.
 */
bool airsim_burst_lost(const struct airsim_burst *burst, bool *bad,
		       struct rnd_state *rnd)
{
	u32 move_ppm = *bad ? burst->leave_ppm : burst->enter_ppm;

	*bad ^= airsim_chance_ppm(rnd, move_ppm);
	return airsim_chance_ppm(rnd, *bad ? burst->bad_error_ppm :
				 burst->good_error_ppm);
}

/**
 * airsim_snr_loss - probability that noise destroys a frame
 * @rate: a valid rate
 * @snr_mdb: signal-to-noise ratio in the bandwidth of the PPDU
 * @octets: length, including FCS
 *
 * Return: the probability as a fraction of 2^32, U32_MAX for certain loss.
 */
u32 airsim_snr_loss(const struct airsim_rate *rate, s32 snr_mdb, u32 octets)
{
	s64 stream_snr_mdb = (s64)snr_mdb - stream_share_mdb[rate->streams - 1];
	u64 level = airsim_log2_hazard(&loss_curves[airsim_modulation(rate)],
				       stream_snr_mdb);
	s32 whole = (s32)(level >> EXPONENT_BITS) + LOSS_LOG2_FLOOR;
	u64 hazard = airsim_exp2_fraction(level & EXPONENT_MASK) * octets;

	/* The hazard is below 8, so this shifts to the right. */
	return airsim_one_minus_exp2(hazard >>
				     (MANTISSA_BITS - EXPONENT_BITS - whole));
}

/**
 * airsim_snr_lost - draw whether noise destroys a frame
 * @rate: a valid rate
 * @snr_mdb: signal-to-noise ratio in the bandwidth of the PPDU
 * @octets: length, including FCS
 * @rnd: random numbers
 */
bool airsim_snr_lost(const struct airsim_rate *rate, s32 snr_mdb, u32 octets,
		     struct rnd_state *rnd)
{
	return prandom_u32_state(rnd) < airsim_snr_loss(rate, snr_mdb, octets);
}
