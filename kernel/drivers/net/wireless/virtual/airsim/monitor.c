// SPDX-License-Identifier: GPL-2.0-only
/*
 * airsim0: an interface that shows every frame on every medium with a radiotap
 * header, lost and collided ones marked as having a bad FCS. It costs nothing
 * while it is down.
 */
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <net/ieee80211_radiotap.h>
#include "airsim.h"

/* Fields in the order of their bits, each aligned to its own size. */
struct airsim_radiotap {
	struct ieee80211_radiotap_header_fixed header;
	__le64 tsft_us;
	u8 flags;
	u8 rate_500kbps;
	__le16 frequency_mhz;
	__le16 channel_flags;
	s8 signal_dbm;
	u8 mcs_known;
	u8 mcs_flags;
	u8 mcs_index;
	__le16 padding;
	__le32 ampdu_reference;
	__le16 ampdu_flags;
	u8 ampdu_delimiter_crc;
	u8 ampdu_reserved;
} __packed;

static struct net_device *monitor;

static void fill_radiotap(struct airsim_radiotap *tap, u16 frequency_mhz,
			  const struct airsim_rate *rate, u64 start_ns,
			  bool bad)
{
	u32 present = BIT(IEEE80211_RADIOTAP_TSFT) |
		      BIT(IEEE80211_RADIOTAP_FLAGS) |
		      BIT(IEEE80211_RADIOTAP_RATE) |
		      BIT(IEEE80211_RADIOTAP_CHANNEL) |
		      BIT(IEEE80211_RADIOTAP_DBM_ANTSIGNAL);

	memset(tap, 0, sizeof(*tap));
	tap->header.it_len = cpu_to_le16(sizeof(*tap));
	tap->tsft_us = cpu_to_le64(div_u64(start_ns, NSEC_PER_USEC));
	tap->flags = bad ? IEEE80211_RADIOTAP_F_BADFCS : 0;
	tap->frequency_mhz = cpu_to_le16(frequency_mhz);
	tap->channel_flags = cpu_to_le16(IEEE80211_CHAN_5GHZ |
					 IEEE80211_CHAN_OFDM);
	tap->signal_dbm = AIRSIM_SIGNAL_DBM;
	if (rate->format == AIRSIM_HT) {
		present |= BIT(IEEE80211_RADIOTAP_MCS);
		tap->mcs_known = IEEE80211_RADIOTAP_MCS_HAVE_BW |
				 IEEE80211_RADIOTAP_MCS_HAVE_MCS |
				 IEEE80211_RADIOTAP_MCS_HAVE_GI;
		tap->mcs_index = rate->mcs;
		if (rate->ht40)
			tap->mcs_flags |= IEEE80211_RADIOTAP_MCS_BW_40;
		if (rate->short_gi)
			tap->mcs_flags |= IEEE80211_RADIOTAP_MCS_SGI;
	} else {
		tap->rate_500kbps = rate->legacy_kbps / 500;
	}
	tap->header.it_present = cpu_to_le32(present);
}

static struct airsim_radiotap *new_frame(unsigned int octets,
					 struct sk_buff **skb)
{
	if (!netif_running(monitor))
		return NULL;
	*skb = netdev_alloc_skb(monitor,
				sizeof(struct airsim_radiotap) + octets);
	return *skb ? skb_put(*skb, sizeof(struct airsim_radiotap)) : NULL;
}

static void show(struct sk_buff *skb)
{
	skb_reset_mac_header(skb);
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	skb->pkt_type = PACKET_OTHERHOST;
	skb->protocol = htons(ETH_P_802_2);
	netif_rx(skb);
}

/**
 * airsim_monitor_mpdu - show an MPDU that is over
 * @medium: where
 * @ppdu: the PPDU
 * @index: which of its MPDUs
 * @bad: it was lost
 */
void airsim_monitor_mpdu(const struct airsim_medium *medium,
			 const struct airsim_ppdu *ppdu, unsigned int index,
			 bool bad)
{
	const struct sk_buff *mpdu = ppdu->mpdu[index];
	struct airsim_radiotap *tap;
	struct sk_buff *skb;

	tap = new_frame(mpdu->len, &skb);
	if (!tap)
		return;
	fill_radiotap(tap, medium->frequency_mhz, &ppdu->rate, ppdu->start_ns,
		      bad);
	if (ppdu->count > 1) {
		u16 flags = IEEE80211_RADIOTAP_AMPDU_LAST_KNOWN;

		if (index + 1 == ppdu->count)
			flags |= IEEE80211_RADIOTAP_AMPDU_IS_LAST;
		tap->header.it_present |=
			cpu_to_le32(BIT(IEEE80211_RADIOTAP_AMPDU_STATUS));
		tap->ampdu_reference = cpu_to_le32(ppdu->reference);
		tap->ampdu_flags = cpu_to_le16(flags);
	}
	skb_copy_bits(mpdu, 0, skb_put(skb, mpdu->len), mpdu->len);
	show(skb);
}

static void put_bitmap(u8 *bitmap, const struct airsim_ppdu *ppdu, u16 start)
{
	unsigned int i;

	for (i = 0; i < ppdu->count; i++) {
		struct ieee80211_hdr *hdr = (void *)ppdu->mpdu[i]->data;
		u16 sequence = IEEE80211_SEQ_TO_SN(le16_to_cpu(hdr->seq_ctrl));
		u16 bit = ieee80211_sn_sub(sequence, start);

		if (!airsim_mpdu(ppdu->mpdu[i])->lost && bit < 64)
			bitmap[bit / 8] |= BIT(bit % 8);
	}
}

/**
 * airsim_monitor_response - show the ACK or BlockAck of a PPDU
 * @medium: where
 * @ppdu: the PPDU
 * @kbps: rate of the answer
 */
void airsim_monitor_response(const struct airsim_medium *medium,
			     const struct airsim_ppdu *ppdu, u16 kbps)
{
	const struct airsim_rate rate = {
		.format = AIRSIM_LEGACY, .legacy_kbps = kbps,
	};
	bool block = ppdu->response == AIRSIM_RESPONSE_BLOCKACK;
	const struct ieee80211_hdr *hdr = (void *)ppdu->mpdu[0]->data;
	u32 octets = (block ? AIRSIM_BLOCKACK_OCTETS : AIRSIM_ACK_OCTETS) -
		     AIRSIM_FCS_OCTETS;
	struct airsim_radiotap *tap;
	struct sk_buff *skb;
	__le16 control;
	u8 *frame;

	tap = new_frame(octets, &skb);
	if (!tap)
		return;
	fill_radiotap(tap, medium->frequency_mhz, &rate,
		      ppdu->end_ns + AIRSIM_SIFS_NS, false);
	frame = skb_put_zero(skb, octets);
	control = cpu_to_le16(IEEE80211_FTYPE_CTL |
			      (block ? IEEE80211_STYPE_BACK :
				       IEEE80211_STYPE_ACK));
	memcpy(frame, &control, sizeof(control));
	ether_addr_copy(frame + 4, hdr->addr2);
	if (block) {
		u16 start = le16_to_cpu(hdr->seq_ctrl) & IEEE80211_SCTL_SEQ;
		u16 flags = IEEE80211_BAR_CTRL_CBMTID_COMPRESSED_BA;
		__le16 field;

		if (ieee80211_is_data_qos(hdr->frame_control))
			flags |= ieee80211_get_tid((void *)hdr) <<
				 IEEE80211_BAR_CTRL_TID_INFO_SHIFT;
		ether_addr_copy(frame + 10, hdr->addr1);
		field = cpu_to_le16(flags);
		memcpy(frame + 16, &field, sizeof(field));
		field = cpu_to_le16(start);
		memcpy(frame + 18, &field, sizeof(field));
		if (ieee80211_is_data_qos(hdr->frame_control))
			put_bitmap(frame + 20, ppdu,
				   IEEE80211_SEQ_TO_SN(start));
	}
	show(skb);
}

static netdev_tx_t monitor_xmit(struct sk_buff *skb, struct net_device *dev)
{
	dev_kfree_skb(skb);
	return NETDEV_TX_OK;
}

static const struct net_device_ops monitor_ops = {
	.ndo_start_xmit = monitor_xmit,
};

static void monitor_setup(struct net_device *dev)
{
	static const u8 address[ETH_ALEN] = { 0x12 };

	ether_setup(dev);
	dev->netdev_ops = &monitor_ops;
	dev->needs_free_netdev = true;
	dev->priv_flags |= IFF_NO_QUEUE;
	dev->type = ARPHRD_IEEE80211_RADIOTAP;
	eth_hw_addr_set(dev, address);
}

/**
 * airsim_monitor_init - make airsim0
 *
 * Return: 0 or a negative error.
 */
int airsim_monitor_init(void)
{
	int err;

	BUILD_BUG_ON(offsetof(struct airsim_radiotap, ampdu_reference) % 4);
	monitor = alloc_netdev(0, "airsim0", NET_NAME_ENUM, monitor_setup);
	if (!monitor)
		return -ENOMEM;
	err = register_netdev(monitor);
	if (err)
		free_netdev(monitor);
	return err;
}

/** airsim_monitor_exit - remove airsim0 */
void airsim_monitor_exit(void)
{
	unregister_netdev(monitor);
}
