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
#include "decibel.h"
#include "loss.h"
#include "loss_table.h"

/* The MPDU with which rates are compared. */
#define TYPICAL_OCTETS	1538

/* 10 log10 of 1 to 4 streams. */
static const s32 stream_share_mdb[] = { 0, 3010, 4771, 6021 };

static const enum loss_modulation mcs_modulation[] = {
	BPSK_1_2, QPSK_1_2, QPSK_3_4, QAM16_1_2, QAM16_3_4, QAM64_2_3,
	QAM64_3_4, QAM64_5_6, QAM256_3_4, QAM256_5_6, QAM1024_3_4, QAM1024_5_6,
	QAM4096_3_4, QAM4096_5_6,
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

	return div_u64(mean << (AIRSIM_EXPONENT_BITS - LOSS_SCALE_BITS),
		       LOSS_STEP_MDB);
}

/* 1 - 2^-exponent as a fraction of 2^32. */
static u32 airsim_one_minus_exp2(u64 exponent)
{
	u64 whole = (exponent + AIRSIM_EXPONENT_MASK) >> AIRSIM_EXPONENT_BITS;
	u64 survival;

	if (whole > 32)
		return U32_MAX;
	survival = airsim_exp2_fraction((whole << AIRSIM_EXPONENT_BITS) - exponent);
	survival = survival << (32 - AIRSIM_MANTISSA_BITS) >> whole;
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

/*
 * The probability that noise does not destroy a frame is 2 to the power of
 * minus this.
 */
static u64 airsim_snr_exponent(const struct airsim_rate *rate, s32 snr_mdb,
			       u32 octets)
{
	s64 stream_snr_mdb = (s64)snr_mdb - stream_share_mdb[rate->streams - 1];
	u64 level = airsim_log2_hazard(&loss_curves[airsim_modulation(rate)],
				       stream_snr_mdb);
	s32 whole = (s32)(level >> AIRSIM_EXPONENT_BITS) + LOSS_LOG2_FLOOR;
	u64 hazard = airsim_exp2_fraction(level & AIRSIM_EXPONENT_MASK) *
		     octets;

	/* The hazard is below 8, so this shifts to the right. */
	return hazard >> (AIRSIM_MANTISSA_BITS - AIRSIM_EXPONENT_BITS - whole);
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
	return airsim_one_minus_exp2(airsim_snr_exponent(rate, snr_mdb,
							 octets));
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

/* Whether at least @most arrives per symbol, which is then increased to that. */
static bool airsim_arrives(const struct airsim_rate *rate, s32 snr_mdb,
			   u64 *most)
{
	u64 bits = airsim_bits_per_symbol(rate), arrives;

	if (bits * U32_MAX < *most)
		return false;
	arrives = bits * (U32_MAX - airsim_snr_loss(rate, snr_mdb,
						    TYPICAL_OCTETS));
	if (arrives < *most)
		return false;
	*most = arrives;
	return true;
}

/**
 * airsim_best_rate - the rate with the highest expected throughput of MPDUs
 * @rate: a valid rate of which format, width and guard interval are kept, and
 *	which receives the MCS and streams, or the rate of OFDM
 * @streams: maximum number of spatial streams
 * @snr_mdb: signal-to-noise ratio in the bandwidth of the PPDU
 *
 * Of several such rates it is that with the fewest streams and the lowest MCS.
 */
void airsim_best_rate(struct airsim_rate *rate, u8 streams, s32 snr_mdb)
{
	struct airsim_rate tried = *rate;
	unsigned int i;
	u64 most = 0;

	if (rate->format == AIRSIM_OFDM) {
		for (i = AIRSIM_LEGACY_RATES; i-- > AIRSIM_CCK_RATES;) {
			tried.legacy_kbps = airsim_legacy_kbps[i];
			if (airsim_arrives(&tried, snr_mdb, &most))
				*rate = tried;
		}
		return;
	}
	for (tried.streams = streams; tried.streams; tried.streams--) {
		for (i = ARRAY_SIZE(mcs_modulation); i--;) {
			tried.mcs = i;
			if (airsim_rate_valid(&tried) &&
			    airsim_arrives(&tried, snr_mdb, &most))
				*rate = tried;
		}
	}
}

/**
 * airsim_sinr_loss - probability that noise and interference destroy a frame
 * @rate: a valid rate
 * @sections: by start time; the first also applies before its start
 * @count: number of sections, at least 1
 * @from_ns: start of the frame
 * @to_ns: end of the frame, after its start
 * @octets: length, including FCS
 *
 * The octets of the frame are spread evenly over its time. Interference counts
 * as noise.
 *
 * Return: the probability as a fraction of 2^32, U32_MAX for certain loss.
 */
u32 airsim_sinr_loss(const struct airsim_rate *rate,
		     const struct airsim_section *sections, unsigned int count,
		     u64 from_ns, u64 to_ns, u32 octets)
{
	u64 exponent = 0, start_ns = from_ns;
	unsigned int i;

	for (i = 0; i < count && start_ns < to_ns; i++) {
		u64 end_ns = i + 1 < count ?
			     min(sections[i + 1].from_ns, to_ns) : to_ns;
		u64 whole;

		if (end_ns <= start_ns)
			continue;
		whole = airsim_snr_exponent(rate, sections[i].sinr_mdb, octets);
		exponent += mul_u64_u64_div_u64(whole, end_ns - start_ns,
						to_ns - from_ns);
		start_ns = end_ns;
	}
	return airsim_one_minus_exp2(exponent);
}
