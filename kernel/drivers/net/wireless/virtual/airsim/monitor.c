// SPDX-License-Identifier: GPL-2.0-only
/*
 * airsim0: a monitor interface that shows every frame on every medium with a
 * radiotap header; lost and collided frames are marked as having a bad FCS. It
 * costs nothing while it is down.
 */
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include "airsim.h"

static struct net_device *airsim_monitor;

/* Returns the zeroed space for a frame of @octets octets. */
static void *airsim_monitor_new_frame(const struct airsim_radio *radio,
				      unsigned int index, bool received,
				      unsigned int octets, struct sk_buff **skb)
{
	struct airsim_radiotap header;

	if (!netif_running(airsim_monitor))
		return NULL;
	airsim_radiotap_make(&header, radio, index, received);
	*skb = netdev_alloc_skb(airsim_monitor, header.length + octets);
	if (!*skb)
		return NULL;
	skb_put_data(*skb, header.octets, header.length);
	return skb_put_zero(*skb, octets);
}

static void airsim_monitor_deliver(struct sk_buff *skb)
{
	skb_reset_mac_header(skb);
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	skb->pkt_type = PACKET_OTHERHOST;
	skb->protocol = htons(ETH_P_802_2);
	netif_rx(skb);
}

/* The Duration field: how long the NAV of others is set, in whole us. */
static __le16 airsim_monitor_duration(const struct airsim_emission *emission)
{
	if (emission->nav_until_ns <= emission->end_ns)
		return 0;
	return cpu_to_le16(DIV_ROUND_UP_ULL(emission->nav_until_ns -
					    emission->end_ns, 1000));
}

/**
 * airsim_monitor_mpdu - show an MPDU that has ended, decrypted
 * @radio: transmitter; the medium is locked
 * @index: index of the MPDU in its PPDU
 * @received: a radio has received it
 */
void airsim_monitor_mpdu(const struct airsim_radio *radio, unsigned int index,
			 bool received)
{
	const struct sk_buff *mpdu = radio->ppdu.mpdu[index];
	struct ieee80211_hdr *hdr;
	struct sk_buff *skb;
	void *frame;

	frame = airsim_monitor_new_frame(radio, index, received, mpdu->len,
					 &skb);
	if (!frame)
		return;
	skb_copy_bits(mpdu, 0, frame, mpdu->len);
	hdr = frame;
	/* That of a PS-Poll is an AID. */
	if (!ieee80211_is_pspoll(hdr->frame_control))
		hdr->duration_id = airsim_monitor_duration(&radio->emission);
	if (airsim_crypto_octets(mpdu))
		hdr->frame_control &= ~cpu_to_le16(IEEE80211_FCTL_PROTECTED);
	airsim_monitor_deliver(skb);
}

/*
 * Fragment Number of the Block Ack Starting Sequence Control, which encodes the
 * size of the bitmap (9.3.1.8.2).
 */
static u8 airsim_bitmap_encoding(unsigned int octets)
{
	switch (octets) {
	case 128:
		return 10;
	case 64:
		return 8;
	case 32:
		return 4;
	default:
		return 0;
	}
}

/*
 * Fills in the BlockAck in response to @ppdu; the bitmap is at its end. That of a
 * BlockAckReq from mac80211, for MPDUs that it has given up, is empty.
 */
static void airsim_monitor_put_blockack(u8 *frame, unsigned int octets,
					const struct airsim_ppdu *ppdu)
{
	const struct ieee80211_hdr *hdr = (const void *)ppdu->mpdu[0]->data;
	const struct ieee80211_bar *bar = (const void *)hdr;
	bool data = ieee80211_is_data_qos(hdr->frame_control);
	u16 flags = IEEE80211_BAR_CTRL_CBMTID_COMPRESSED_BA;
	__le16 field, sequence;
	u16 start;

	if (ieee80211_is_back_req(hdr->frame_control)) {
		sequence = bar->start_seq_num;
		flags |= le16_to_cpu(bar->control) &
			 IEEE80211_BAR_CTRL_TID_INFO_MASK;
	} else {
		sequence = hdr->seq_ctrl;
	}
	if (data)
		flags |= ieee80211_get_tid((void *)hdr) <<
			 IEEE80211_BAR_CTRL_TID_INFO_SHIFT;
	start = le16_to_cpu(sequence) & IEEE80211_SCTL_SEQ;
	ether_addr_copy(frame + 10, hdr->addr1);
	field = cpu_to_le16(flags);
	memcpy(frame + 16, &field, sizeof(field));
	field = cpu_to_le16(start | airsim_bitmap_encoding(octets - 20));
	memcpy(frame + 18, &field, sizeof(field));
	if (data || ppdu->bar)
		airsim_put_bitmap(frame + 20, 8 * (octets - 20), ppdu,
				  IEEE80211_SEQ_TO_SN(start));
}

/* Returns the space for a control frame, whose first two fields are set. */
static void *airsim_monitor_new_control(const struct airsim_radio *radio,
					bool received, u32 octets,
					struct sk_buff **skb)
{
	static const u16 types[] = {
		[AIRSIM_RTS] = IEEE80211_STYPE_RTS,
		[AIRSIM_CTS] = IEEE80211_STYPE_CTS,
		[AIRSIM_ACK] = IEEE80211_STYPE_ACK,
		[AIRSIM_BLOCKACK] = IEEE80211_STYPE_BACK,
		[AIRSIM_TRIGGER] = IEEE80211_STYPE_TRIGGER,
		[AIRSIM_MULTI_BLOCKACK] = IEEE80211_STYPE_BACK,
	};
	const struct airsim_emission *emission = &radio->emission;
	struct ieee80211_cts *frame;

	frame = airsim_monitor_new_frame(radio, 0, received, octets, skb);
	if (!frame)
		return NULL;
	frame->frame_control = cpu_to_le16(IEEE80211_FTYPE_CTL |
					   types[emission->frame]);
	frame->duration = airsim_monitor_duration(emission);
	return frame;
}

/**
 * airsim_monitor_control - show a control frame that has ended, not a response
 * @radio: transmitter; the medium is locked
 * @octets: length, including FCS
 * @received: the addressed radio has received it
 */
void airsim_monitor_control(const struct airsim_radio *radio, u32 octets,
			    bool received)
{
	enum airsim_frame kind = radio->emission.frame;
	const struct ieee80211_hdr *hdr;
	struct ieee80211_rts *frame;
	struct sk_buff *skb;

	frame = airsim_monitor_new_control(radio, received,
					   octets - AIRSIM_FCS_OCTETS, &skb);
	if (!frame)
		return;
	if (kind == AIRSIM_TRIGGER || kind == AIRSIM_MULTI_BLOCKACK) {
		airsim_uplink_fill(radio, (u8 *)frame);
	} else {
		/* The addresses are those of the exchange's data frame. */
		hdr = (const void *)radio->ppdu.mpdu[0]->data;
		ether_addr_copy(frame->ra, kind == AIRSIM_RTS ? hdr->addr1 :
								hdr->addr2);
		if (kind == AIRSIM_RTS)
			ether_addr_copy(frame->ta, hdr->addr2);
	}
	airsim_monitor_deliver(skb);
}

/**
 * airsim_monitor_prepare - note the contents of a response
 * @radio: transmitter, which starts to send it; the medium is locked
 * @octets: length, including FCS
 *
 * At its end, the exchange that it answers may have timed out.
 */
void airsim_monitor_prepare(struct airsim_radio *radio, u32 octets)
{
	const struct airsim_ppdu *ppdu = &radio->emission.to->ppdu;
	const struct ieee80211_hdr *hdr = (const void *)ppdu->mpdu[0]->data;
	struct airsim_shown_response *shown = &radio->shown;

	shown->length = 0;
	if (!netif_running(airsim_monitor))
		return;
	shown->length = octets - AIRSIM_FCS_OCTETS;
	memset(shown->octets, 0, shown->length);
	ether_addr_copy(shown->octets + 4, hdr->addr2);
	if (radio->emission.frame == AIRSIM_BLOCKACK)
		airsim_monitor_put_blockack(shown->octets, shown->length, ppdu);
}

/**
 * airsim_monitor_response - show a CTS, ACK or BlockAck that has ended
 * @radio: transmitter; the medium is locked
 * @received: the addressed radio has received it
 */
void airsim_monitor_response(const struct airsim_radio *radio, bool received)
{
	const struct airsim_shown_response *shown = &radio->shown;
	struct sk_buff *skb;
	u8 *frame;

	if (!shown->length)
		return;
	frame = airsim_monitor_new_control(radio, received, shown->length,
					   &skb);
	if (!frame)
		return;
	memcpy(frame + 4, shown->octets + 4, shown->length - 4);
	airsim_monitor_deliver(skb);
}

static netdev_tx_t airsim_monitor_xmit(struct sk_buff *skb,
				       struct net_device *dev)
{
	dev_kfree_skb(skb);
	return NETDEV_TX_OK;
}

static const struct net_device_ops airsim_monitor_ops = {
	.ndo_start_xmit = airsim_monitor_xmit,
};

static void airsim_monitor_setup(struct net_device *dev)
{
	static const u8 address[ETH_ALEN] = { 0x12 };

	ether_setup(dev);
	dev->netdev_ops = &airsim_monitor_ops;
	dev->needs_free_netdev = true;
	dev->priv_flags |= IFF_NO_QUEUE;
	dev->type = ARPHRD_IEEE80211_RADIOTAP;
	eth_hw_addr_set(dev, address);
}

/**
 * airsim_monitor_init - create airsim0
 *
 * Return: 0 or a negative error.
 */
int airsim_monitor_init(void)
{
	int err;

	airsim_monitor =
		alloc_netdev(0, "airsim0", NET_NAME_ENUM, airsim_monitor_setup);
	if (!airsim_monitor)
		return -ENOMEM;
	err = register_netdev(airsim_monitor);
	if (err)
		free_netdev(airsim_monitor);
	return err;
}

/** airsim_monitor_exit - remove airsim0 */
void airsim_monitor_exit(void)
{
	unregister_netdev(airsim_monitor);
}
