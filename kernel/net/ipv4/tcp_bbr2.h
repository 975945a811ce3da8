/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * BBRv2: from measurements to bounds
 *
 * Pure functions, tested by KUnit. Names and sections are those of
 * draft-cardwell-iccrg-bbr-congestion-control-02.
 */
#ifndef _TCP_BBR2_H
#define _TCP_BBR2_H

#include <linux/bits.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include <linux/types.h>

/* Bandwidth is in packets per microsecond, times 2^24: from 715 bit/s to
 * 3 Tbit/s with packets of 1500 bytes.
 */
#define BBR2_BW_SCALE	24
#define BBR2_BW_UNIT	BIT(BBR2_BW_SCALE)

/* Gains, times 2^8 */
#define BBR2_SCALE	8
#define BBR2_UNIT	BIT(BBR2_SCALE)

/* No bound */
#define BBR2_INFINITY	U32_MAX

/* 2.5: pace 1% below the estimate, so that the queue drains on average */
#define BBR2_PACING_MARGIN_PERCENT	1
/* 2.8: tolerated loss in a round trip */
#define BBR2_LOSS_THRESH_PERCENT	2
/* 2.8: factor on a bound after a round trip with loss */
#define BBR2_BETA_PERCENT		70
/* 2.8: part of inflight_hi that is used while not probing. The pseudocode uses
 * the same 0.85 for the headroom, the table in 4.6.1 for the part that is used,
 * as here.
 */
#define BBR2_HEADROOM_PERCENT		85
/* 2.8: two segments in flight and two being acknowledged together */
#define BBR2_MIN_PIPE_CWND		4U
/* 4.3.3.5.3: rounds that Reno needs to fill 25 Mbit/s times 30 ms */
#define BBR2_RENO_ROUNDS		63U

static inline u32 bbr2_percent_of(u32 value, u32 percent)
{
	return div_u64((u64)value * percent, 100);
}

/* rs.delivery_rate, but not zero */
static inline u32 bbr2_delivery_rate(u32 delivered, unsigned long interval_us)
{
	u64 bw = div64_ul((u64)delivered * BBR2_BW_UNIT, interval_us);

	return clamp_t(u64, bw, 1, U32_MAX);
}

/* 4.6.2: bytes per second at @gain and @percent of @bw */
static inline u64 bbr2_pacing_rate(u32 bw, u32 mss, u32 gain, u32 percent)
{
	u64 rate = (u64)bw * mss;

	/* Less than 2^58, as a gain has 10 bits */
	rate = rate * gain >> BBR2_SCALE;
	rate = mul_u64_u32_shr(rate, USEC_PER_SEC / 100 *
				     (100 - BBR2_PACING_MARGIN_PERCENT),
			       BBR2_BW_SCALE);
	return div_u64(rate * percent, 100);
}

/* 4.6.4.2, BBRBDPMultiple(): rounded up, to prevent shrinking estimates */
static inline u32 bbr2_bdp_multiple(u32 bw, u32 min_rtt_us, u32 gain)
{
	u64 bdp = mul_u64_u32_shr((u64)bw * min_rtt_us, gain, BBR2_SCALE);

	return min_t(u64, (bdp + BBR2_BW_UNIT - 1) >> BBR2_BW_SCALE,
		     BBR2_INFINITY - 1);
}

/* 4.6.4.2, BBRQuantizationBudget() */
static inline u32 bbr2_quantization_budget(u32 inflight, u32 send_quantum,
					   bool probe_up)
{
	inflight = max3(inflight, 3 * send_quantum, BBR2_MIN_PIPE_CWND);
	if (probe_up)
		inflight += 2;
	return inflight;
}

/* 4.3.3.6, BBRInflightWithHeadroom() */
static inline u32 bbr2_inflight_with_headroom(u32 inflight_hi)
{
	u32 used;

	if (inflight_hi == BBR2_INFINITY)
		return BBR2_INFINITY;
	used = bbr2_percent_of(inflight_hi, BBR2_HEADROOM_PERCENT);
	return max(used, BBR2_MIN_PIPE_CWND);
}

/* 4.3.3.5.3, BBRIsRenoCoexistenceProbeTime() */
static inline bool bbr2_is_reno_coexistence_probe_time(u32 rounds,
						       u32 target_inflight)
{
	return rounds >= min(target_inflight, BBR2_RENO_ROUNDS);
}

/* 4.3.3.6, BBRRaiseInflightHiSlope(): number of acknowledged packets after
 * which inflight_hi grows by one, so that it grows by 1, 2, 4, ... in a round
 */
static inline u32 bbr2_probe_up_cnt(u32 cwnd, u32 rounds)
{
	return max(cwnd >> rounds, 1U);
}

/* 4.5.6.2, IsInflightTooHigh() */
static inline bool bbr2_is_inflight_too_high(u32 lost, u32 tx_in_flight)
{
	return (u64)lost * 100 > (u64)tx_in_flight * BBR2_LOSS_THRESH_PERCENT;
}

/* 4.5.6.2, BBRInflightHiFromLostPacket(): data in flight at which the loss of
 * @lost among @tx_in_flight became too high, within the last @size lost packets
 */
static inline u32 bbr2_inflight_hi_from_lost(u32 tx_in_flight, u32 lost,
					     u32 size)
{
	u32 inflight_prev = tx_in_flight - min(size, tx_in_flight);
	u32 lost_prev = lost - min(size, lost);
	u64 allowed = (u64)inflight_prev * BBR2_LOSS_THRESH_PERCENT;
	u32 lost_prefix = 0;

	if (allowed > (u64)lost_prev * 100)
		lost_prefix = div_u64(allowed - (u64)lost_prev * 100,
				      100 - BBR2_LOSS_THRESH_PERCENT);
	return inflight_prev + min(lost_prefix, size);
}

/* 4.5.6.3, BBRLossLowerBounds(): @bound after a round with loss in which
 * @latest was delivered
 */
static inline u32 bbr2_loss_lower_bound(u32 bound, u32 latest)
{
	return max3(latest, bbr2_percent_of(bound, BBR2_BETA_PERCENT), 1U);
}

#endif /* _TCP_BBR2_H */
