// SPDX-License-Identifier: GPL-2.0-only
/*
 * Contents of Trigger frames and Multi-STA BlockAcks, IEEE 802.11ax-2021 clauses
 * 9.3.1.22 and 9.3.1.8.6, for the monitor interface.
 */
#include <linux/etherdevice.h>
#include <linux/ieee80211.h>
#include <linux/log2.h>
#include <linux/unaligned.h>
#include "airsim.h"

/* Multi-STA BlockAck, in BA Control. */
#define BA_TYPE_MULTI_STA	(11 << 1)

/**
 * airsim_uplink_find - a station of the exchange
 * @radio: the access point; the medium is locked
 * @station: the station
 *
 * Return: NULL if the last Trigger frame is not for it.
 */
struct airsim_tb_user *airsim_uplink_find(struct airsim_radio *radio,
					  const struct airsim_radio *station)
{
	struct airsim_uplink *uplink = &radio->uplink;
	int i;

	for (i = 0; i < uplink->users; i++)
		if (uplink->user[i].radio == station)
			return &uplink->user[i];
	return NULL;
}

/* A BlockAck of several MPDUs has a starting sequence number and a bitmap. */
static u32 airsim_bitmap_octets(const struct airsim_ppdu *ppdu)
{
	if (ppdu->response != AIRSIM_RESPONSE_BLOCKACK)
		return 0;
	return 2 + airsim_control_octets(AIRSIM_BLOCKACK, ppdu) -
	       AIRSIM_BAR_OCTETS;
}

/**
 * airsim_uplink_octets - length of a frame to several stations, including FCS
 * @radio: the access point, whose emission it is; the medium is locked
 */
u32 airsim_uplink_octets(const struct airsim_radio *radio)
{
	const struct airsim_uplink *uplink = &radio->uplink;
	unsigned int stations = 0;
	u32 bitmaps = 0;
	int i;

	if (radio->emission.frame == AIRSIM_TRIGGER)
		return airsim_trigger_octets(uplink->basic, uplink->users);
	for (i = 0; i < uplink->users; i++) {
		if (!uplink->user[i].acknowledged)
			continue;
		stations++;
		bitmaps += airsim_bitmap_octets(&uplink->user[i].radio->ppdu);
	}
	return airsim_multi_blockack_octets(stations, bitmaps);
}

/* Common Info: 64 bits. */
static u64 airsim_common_info(const struct airsim_radio *radio)
{
	const struct airsim_uplink *uplink = &radio->uplink;
	const struct airsim_rate *rate = &uplink->user[0].rate;
	s32 power_dbm = radio->settings.tx_power_mdbm / 1000;

	return (uplink->basic ? IEEE80211_TRIGGER_TYPE_BASIC :
				IEEE80211_TRIGGER_TYPE_BSRP) |
	       airsim_ul_length(rate, uplink->tb_ns) << 4 |
	       BIT(17) | /* CS Required */
	       ilog2(rate->width_mhz / 20) << 18 |
	       (rate->gi_ns == 3200 ? 2 : 1) << 20 |
	       (rate->ltfs / 2) << 23 |
	       (u64)clamp(power_dbm + 20, 0, 60) << 28 |
	       GENMASK_ULL(62, 54); /* UL HE-SIG-A2 Reserved */
}

/* UL Target Receive Power: that of the RU's part of a PPDU over the channel. */
static u32 airsim_target_power(const struct airsim_radio *radio,
			       const struct airsim_tb_user *user)
{
	u16 ru_mhz = airsim_ru_mhz(user->rate.ru_tones);
	s32 signal_mdbm = -110000;

	airsim_detects(radio, user->radio, radio->emission.start_ns,
		       &signal_mdbm);
	signal_mdbm -= airsim_noise_mdbm(user->rate.width_mhz) -
		       airsim_noise_mdbm(ru_mhz);
	return clamp(signal_mdbm / 1000 + 110, 0, 90);
}

static u16 airsim_aid(const struct airsim_radio *station)
{
	return station->vif ? station->vif->cfg.aid : 0;
}

/* User Info: 40 bits, with LDPC. */
static u64 airsim_user_info(const struct airsim_radio *radio, unsigned int i)
{
	const struct airsim_tb_user *user = &radio->uplink.user[i];
	const struct airsim_rate *rate = &user->rate;

	return airsim_aid(user->radio) |
	       airsim_ru_allocation(rate->ru_tones, i) << 12 |
	       BIT(20) | rate->mcs << 21 | (u32)(rate->streams - 1) << 29 |
	       (u64)airsim_target_power(radio, user) << 32;
}

static void airsim_trigger_fill(const struct airsim_radio *radio, u8 *at)
{
	const struct airsim_uplink *uplink = &radio->uplink;
	int i;

	put_unaligned_le64(airsim_common_info(radio), at);
	at += 8;
	for (i = 0; i < uplink->users; i++) {
		u64 info = uplink->user[i].radio ? airsim_user_info(radio, i) :
						   0;

		put_unaligned_le32(info, at);
		at[4] = info >> 32;
		at += 5;
		/* No limit on TIDs, preferred AC: best effort. */
		if (uplink->basic)
			*at++ = 7 << 2;
	}
}

static void airsim_put_bit(u8 *bitmap, unsigned int bits, struct sk_buff *mpdu,
			   u16 start)
{
	const struct ieee80211_hdr *hdr = (const void *)mpdu->data;
	u16 sequence = IEEE80211_SEQ_TO_SN(le16_to_cpu(hdr->seq_ctrl));
	u16 bit = ieee80211_sn_sub(sequence, start);

	if (airsim_mpdu(mpdu)->received && bit < bits)
		bitmap[bit / 8] |= BIT(bit % 8);
}

/**
 * airsim_put_bitmap - fill in the bitmap of a BlockAck
 * @bitmap: zeroed bitmap
 * @bits: its size
 * @ppdu: the PPDU that it acknowledges, or the radio's BlockAckReq for MPDUs
 *	that wait
 * @start: sequence number of the first bit
 */
void airsim_put_bitmap(u8 *bitmap, unsigned int bits,
		       const struct airsim_ppdu *ppdu, u16 start)
{
	struct sk_buff *mpdu;
	unsigned int i;

	if (!ppdu->bar) {
		for (i = 0; i < ppdu->count; i++)
			airsim_put_bit(bitmap, bits, ppdu->mpdu[i], start);
	} else if (ppdu->txq) {
		skb_queue_walk(&airsim_txq(ppdu->txq)->pending, mpdu)
			airsim_put_bit(bitmap, bits, mpdu, start);
	}
}

/* Ack Type 1, without a bitmap, acknowledges a single MPDU. */
static u8 *airsim_put_station(const struct airsim_radio *station, u8 *at)
{
	const struct airsim_ppdu *ppdu = &station->ppdu;
	const struct ieee80211_hdr *hdr = (const void *)ppdu->mpdu[0]->data;
	u16 start = le16_to_cpu(hdr->seq_ctrl) & IEEE80211_SCTL_SEQ;
	u32 octets = airsim_bitmap_octets(ppdu);
	u16 info = airsim_aid(station);

	if (ieee80211_is_data_qos(hdr->frame_control))
		info |= ieee80211_get_tid((void *)hdr) << 12;
	if (!octets)
		info |= BIT(11);
	put_unaligned_le16(info, at);
	if (!octets)
		return at + 2;
	/* Fragment number 4: 256 bits (table 9-30). */
	put_unaligned_le16(start | (octets > 10 ? 4 : 0), at + 2);
	airsim_put_bitmap(at + 4, 8 * (octets - 2), ppdu,
			  IEEE80211_SEQ_TO_SN(start));
	return at + 2 + octets;
}

static void airsim_multi_blockack_fill(const struct airsim_radio *radio, u8 *at)
{
	const struct airsim_uplink *uplink = &radio->uplink;
	int i;

	put_unaligned_le16(BA_TYPE_MULTI_STA, at);
	at += 2;
	for (i = 0; i < uplink->users; i++)
		if (uplink->user[i].acknowledged)
			at = airsim_put_station(uplink->user[i].radio, at);
}

/* The receiver if there is only one, else all. */
static void airsim_put_receiver(const struct airsim_radio *radio, u8 *at)
{
	const struct airsim_uplink *uplink = &radio->uplink;
	bool all = radio->emission.frame == AIRSIM_TRIGGER;
	const struct airsim_radio *only = NULL;
	unsigned int stations = 0;
	int i;

	for (i = 0; i < uplink->users; i++) {
		if (!all && !uplink->user[i].acknowledged)
			continue;
		only = uplink->user[i].radio;
		stations++;
	}
	if (stations == 1 && only && only->vif)
		ether_addr_copy(at, only->vif->addr);
	else
		eth_broadcast_addr(at);
}

/**
 * airsim_uplink_fill - fill in a frame to several stations
 * @radio: the access point, whose emission it is; the medium is locked
 * @frame: zeroed frame, with Frame Control and Duration
 */
void airsim_uplink_fill(const struct airsim_radio *radio, u8 *frame)
{
	if (!radio->vif)
		return;
	airsim_put_receiver(radio, frame + 4);
	ether_addr_copy(frame + 10, radio->vif->addr);
	if (radio->emission.frame == AIRSIM_TRIGGER)
		airsim_trigger_fill(radio, frame + 16);
	else
		airsim_multi_blockack_fill(radio, frame + 16);
}
