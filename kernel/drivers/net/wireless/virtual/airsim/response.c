// SPDX-License-Identifier: GPL-2.0-only
/* Responses to PPDUs, frames that protect them, and their duration. */
#include "airsim.h"

/* Size of the receiver's reorder buffer. */
static u16 airsim_response_window(const struct airsim_ppdu *ppdu)
{
	return ppdu->txq ? airsim_txq(ppdu->txq)->buf_size : 0;
}

/**
 * airsim_control_octets - length of a control frame, including FCS
 * @frame: frame type; not a PPDU, nor a frame to several stations
 * @ppdu: the PPDU of its exchange
 */
u32 airsim_control_octets(enum airsim_frame frame,
			  const struct airsim_ppdu *ppdu)
{
	switch (frame) {
	case AIRSIM_RTS:
		return AIRSIM_RTS_OCTETS;
	case AIRSIM_CTS:
		return AIRSIM_CTS_OCTETS;
	case AIRSIM_BLOCKACK:
		return airsim_blockack_octets(airsim_response_window(ppdu));
	case AIRSIM_ACK:
	case AIRSIM_PPDU:
	case AIRSIM_TRIGGER:
	case AIRSIM_MULTI_BLOCKACK:
		break;
	}
	return AIRSIM_ACK_OCTETS;
}

/**
 * airsim_response_frame - type of the response to a PPDU
 * @ppdu: the PPDU, which requires a response
 */
enum airsim_frame airsim_response_frame(const struct airsim_ppdu *ppdu)
{
	return ppdu->response == AIRSIM_RESPONSE_BLOCKACK ? AIRSIM_BLOCKACK :
							    AIRSIM_ACK;
}

/**
 * airsim_response_ns - duration of SIFS and the response to a PPDU
 * @radio: transmitter of the PPDU; the medium is locked
 *
 * Return: nanoseconds, 0 if no response is expected, and for an HE TB PPDU, whose
 * response the Trigger frame has taken into account.
 */
u32 airsim_response_ns(struct airsim_radio *radio)
{
	const struct airsim_ppdu *ppdu = &radio->ppdu;
	struct airsim_rate rate;

	if (ppdu->response == AIRSIM_NO_RESPONSE || ppdu->tb)
		return 0;
	rate = airsim_response_rate(&ppdu->rate, airsim_basic_rates(radio));
	return radio->phy->sifs_ns +
	       airsim_ppdu_ns(&rate,
			      airsim_control_octets(airsim_response_frame(ppdu),
						    ppdu));
}

/**
 * airsim_rts_rate - rate of the RTS that protects a PPDU
 * @radio: transmitter of the PPDU; the medium is locked
 */
struct airsim_rate airsim_rts_rate(struct airsim_radio *radio)
{
	const struct airsim_rate *rate = &radio->ppdu.rate;
	u16 basic_rates = airsim_basic_rates(radio);

	if (rate->format == AIRSIM_CCK)
		return airsim_response_rate(rate, basic_rates);
	return airsim_protection_rate(rate, basic_rates,
				      airsim_non_erp_nearby(radio));
}

/**
 * airsim_cts_to_self_rate - rate of the CTS to itself that protects a PPDU
 * @radio: transmitter of the PPDU; the medium is locked
 */
struct airsim_rate airsim_cts_to_self_rate(struct airsim_radio *radio)
{
	return airsim_protection_rate(&radio->ppdu.rate,
				      airsim_basic_rates(radio),
				      airsim_non_erp_nearby(radio));
}

/**
 * airsim_protection_ns - time from the start of an exchange to its PPDU
 * @radio: transmitter of the PPDU; the medium is locked
 * @first: first frame of the exchange
 */
u32 airsim_protection_ns(struct airsim_radio *radio, enum airsim_frame first)
{
	u32 sifs_ns = radio->phy->sifs_ns;
	struct airsim_rate rate, cts;

	if (first == AIRSIM_CTS) {
		rate = airsim_cts_to_self_rate(radio);
		return airsim_ppdu_ns(&rate, AIRSIM_CTS_OCTETS) + sifs_ns;
	}
	if (first != AIRSIM_RTS)
		return 0;
	rate = airsim_rts_rate(radio);
	cts = airsim_response_rate(&rate, airsim_basic_rates(radio));
	return airsim_ppdu_ns(&rate, AIRSIM_RTS_OCTETS) + sifs_ns +
	       airsim_ppdu_ns(&cts, AIRSIM_CTS_OCTETS) + sifs_ns;
}
