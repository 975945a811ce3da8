// SPDX-License-Identifier: GPL-2.0-only
/* Radiotap headers of the frames that the monitor interface shows. */
#include <net/ieee80211_radiotap.h>
#include "airsim.h"

#define VENDOR_SUBNAMESPACE	1

/* The MCS field's number of extension spatial streams is known. */
#define RADIOTAP_MCS_HAVE_NESS	0x40

/*
 * Information that has no radiotap field, in a vendor namespace of the locally
 * administered OUI 02:00:00. Times are those of the PPDU.
 */
struct airsim_vendor {
	u8 oui[3];
	u8 subnamespace;
	__le16 skip_length;
	__le64 start_ns;
	__le64 end_ns;
	__le16 sender;
	__le16 receiver;	/* radio indices, 0xffff: none */
	u8 flags;
	u8 mpdus;		/* 255: 255 or more */
	u8 index;
	u8 function;		/* EDCA function, 255: response */
	__le32 channel_mhz;
} __packed;

/* The same as content of a TLV, in PPDUs of up to 1024 MPDUs. */
struct airsim_vendor_content {
	u8 oui[3];
	u8 subnamespace;
	__le16 type;
	__le16 reserved;
	__le64 start_ns;
	__le64 end_ns;
	__le16 sender;
	__le16 receiver;
	u8 flags;
	u8 function;
	__le16 mpdus;
	__le16 index;
	__le32 channel_mhz;
} __packed;

enum {
	VENDOR_COLLIDED = BIT(0),	/* another transmission interfered */
	VENDOR_RETRY = BIT(1),
	VENDOR_NOISE = BIT(2),		/* lost without a collision */
};

/* Appends a field, or its first part, with natural alignment. */
static void airsim_radiotap_put(struct airsim_radiotap *header, int bit,
				const void *field, unsigned int octets,
				unsigned int align)
{
	unsigned int at = ALIGN(header->length, align);

	header->present |= BIT(bit);
	memset(header->octets + header->length, 0, at - header->length);
	memcpy(header->octets + at, field, octets);
	header->length = at + octets;
}

/* HT uses BCC, without STBC or extension streams, all of which are zero. */
static void airsim_radiotap_put_ht(struct airsim_radiotap *header,
				   const struct airsim_rate *rate)
{
	u8 mcs[3] = {
		IEEE80211_RADIOTAP_MCS_HAVE_BW |
		IEEE80211_RADIOTAP_MCS_HAVE_MCS |
		IEEE80211_RADIOTAP_MCS_HAVE_GI |
		IEEE80211_RADIOTAP_MCS_HAVE_FMT |
		IEEE80211_RADIOTAP_MCS_HAVE_FEC |
		IEEE80211_RADIOTAP_MCS_HAVE_STBC |
		RADIOTAP_MCS_HAVE_NESS,
		0,
		rate->mcs + 8 * (rate->streams - 1),
	};

	if (rate->width_mhz == 40)
		mcs[1] |= IEEE80211_RADIOTAP_MCS_BW_40;
	if (rate->gi_ns == 400)
		mcs[1] |= IEEE80211_RADIOTAP_MCS_SGI;
	airsim_radiotap_put(header, IEEE80211_RADIOTAP_MCS, mcs, sizeof(mcs),
			    1);
}

static void airsim_radiotap_put_ampdu(struct airsim_radiotap *header,
				      const struct airsim_ppdu *ppdu,
				      unsigned int index)
{
	struct {
		__le32 reference;
		__le16 flags;
		__le16 reserved;
	} ampdu = {
		.reference = cpu_to_le32(ppdu->reference),
		.flags = cpu_to_le16(IEEE80211_RADIOTAP_AMPDU_LAST_KNOWN),
	};

	if (index + 1 == ppdu->count)
		ampdu.flags |= cpu_to_le16(IEEE80211_RADIOTAP_AMPDU_IS_LAST);
	airsim_radiotap_put(header, IEEE80211_RADIOTAP_AMPDU_STATUS, &ampdu,
			    sizeof(ampdu), 4);
}

/* BCC, no STBC, no beamforming: all zero. */
static void airsim_radiotap_put_vht(struct airsim_radiotap *header,
				    const struct airsim_rate *rate)
{
	struct {
		__le16 known;
		u8 flags;
		u8 bandwidth;
		u8 mcs_nss[4];
		u8 coding;
		u8 group_id;
		__le16 partial_aid;
	} vht = {
		.known = cpu_to_le16(IEEE80211_RADIOTAP_VHT_KNOWN_STBC |
			IEEE80211_RADIOTAP_VHT_KNOWN_GI |
			IEEE80211_RADIOTAP_VHT_KNOWN_LDPC_EXTRA_OFDM_SYM |
			IEEE80211_RADIOTAP_VHT_KNOWN_BEAMFORMED |
			IEEE80211_RADIOTAP_VHT_KNOWN_BANDWIDTH),
		.mcs_nss[0] = rate->mcs << 4 | rate->streams,
	};

	if (rate->gi_ns == 400)
		vht.flags = IEEE80211_RADIOTAP_VHT_FLAG_SGI;
	/* 20, 40, 80 and 160 MHz are values 0, 1, 4 and 11. */
	vht.bandwidth = rate->width_mhz == 160 ? 11 :
			rate->width_mhz == 80 ? 4 : rate->width_mhz == 40;
	airsim_radiotap_put(header, IEEE80211_RADIOTAP_VHT, &vht, sizeof(vht),
			    2);
}

/* The width, or the size of the resource unit. */
static u16 airsim_radiotap_bandwidth(const struct airsim_rate *rate)
{
	switch (rate->ru_tones) {
	case 26:
		return IEEE80211_RADIOTAP_HE_DATA5_DATA_BW_RU_ALLOC_26T;
	case 52:
		return IEEE80211_RADIOTAP_HE_DATA5_DATA_BW_RU_ALLOC_52T;
	case 106:
		return IEEE80211_RADIOTAP_HE_DATA5_DATA_BW_RU_ALLOC_106T;
	case 242:
		return IEEE80211_RADIOTAP_HE_DATA5_DATA_BW_RU_ALLOC_242T;
	case 484:
		return IEEE80211_RADIOTAP_HE_DATA5_DATA_BW_RU_ALLOC_484T;
	case 996:
		return IEEE80211_RADIOTAP_HE_DATA5_DATA_BW_RU_ALLOC_996T;
	case 1992:
		return IEEE80211_RADIOTAP_HE_DATA5_DATA_BW_RU_ALLOC_2x996T;
	default:
		return ilog2(rate->width_mhz / 20);
	}
}

/*
 * LDPC without the extra symbol; no STBC, beamforming, DCM, Doppler or
 * midambles. HE-LTFs as in airtime.c.
 */
static void airsim_radiotap_put_he(struct airsim_radiotap *header,
				   const struct airsim_rate *rate)
{
	u16 ltf_size = rate->gi_ns == 3200 ?
		       IEEE80211_RADIOTAP_HE_DATA5_LTF_SIZE_4X :
		       IEEE80211_RADIOTAP_HE_DATA5_LTF_SIZE_2X;
	u16 bandwidth = airsim_radiotap_bandwidth(rate);
	u8 ltfs = rate->ru_tones ? rate->ltfs : airsim_ltfs(rate->streams);
	u16 guard = rate->gi_ns == 3200 ? IEEE80211_RADIOTAP_HE_DATA5_GI_3_2 :
		    rate->gi_ns == 1600 ? IEEE80211_RADIOTAP_HE_DATA5_GI_1_6 :
					  IEEE80211_RADIOTAP_HE_DATA5_GI_0_8;
	struct ieee80211_radiotap_he he = {
		.data1 = cpu_to_le16((rate->ru_tones ?
			 IEEE80211_RADIOTAP_HE_DATA1_FORMAT_TRIG :
			 IEEE80211_RADIOTAP_HE_DATA1_FORMAT_SU) |
			IEEE80211_RADIOTAP_HE_DATA1_DATA_MCS_KNOWN |
			IEEE80211_RADIOTAP_HE_DATA1_DATA_DCM_KNOWN |
			IEEE80211_RADIOTAP_HE_DATA1_CODING_KNOWN |
			IEEE80211_RADIOTAP_HE_DATA1_LDPC_XSYMSEG_KNOWN |
			IEEE80211_RADIOTAP_HE_DATA1_STBC_KNOWN |
			IEEE80211_RADIOTAP_HE_DATA1_BW_RU_ALLOC_KNOWN |
			IEEE80211_RADIOTAP_HE_DATA1_DOPPLER_KNOWN),
		.data2 = cpu_to_le16(IEEE80211_RADIOTAP_HE_DATA2_GI_KNOWN |
			IEEE80211_RADIOTAP_HE_DATA2_NUM_LTF_SYMS_KNOWN |
			IEEE80211_RADIOTAP_HE_DATA2_TXBF_KNOWN |
			IEEE80211_RADIOTAP_HE_DATA2_MIDAMBLE_KNOWN),
		.data3 = cpu_to_le16(IEEE80211_RADIOTAP_HE_DATA3_CODING),
	};

	le16p_replace_bits(&he.data3, rate->mcs,
			   IEEE80211_RADIOTAP_HE_DATA3_DATA_MCS);
	le16p_replace_bits(&he.data5, bandwidth,
			   IEEE80211_RADIOTAP_HE_DATA5_DATA_BW_RU_ALLOC);
	le16p_replace_bits(&he.data5, guard, IEEE80211_RADIOTAP_HE_DATA5_GI);
	le16p_replace_bits(&he.data5, ltf_size,
			   IEEE80211_RADIOTAP_HE_DATA5_LTF_SIZE);
	/* 0, 1 and 2 stand for 1, 2 and 4 symbols. */
	le16p_replace_bits(&he.data5, ltfs / 2,
			   IEEE80211_RADIOTAP_HE_DATA5_NUM_LTF_SYMS);
	le16p_replace_bits(&he.data6, rate->streams,
			   IEEE80211_RADIOTAP_HE_DATA6_NSTS);
	airsim_radiotap_put(header, IEEE80211_RADIOTAP_HE, &he, sizeof(he), 2);
}

/* Appends a TLV field (type, length, value), padded to 32 bits. */
static void airsim_radiotap_put_tlv(struct airsim_radiotap *header, u16 type,
				    const void *value, unsigned int octets)
{
	struct ieee80211_radiotap_tlv tlv = {
		.type = cpu_to_le16(type),
		.len = cpu_to_le16(octets),
	};
	unsigned int padded = ALIGN(octets, 4);
	u8 *at = header->octets + header->length;

	memcpy(at, &tlv, sizeof(tlv));
	memcpy(at + sizeof(tlv), value, octets);
	memset(at + sizeof(tlv) + octets, 0, padded - octets);
	header->length += sizeof(tlv) + padded;
}

/* The U-SIG field of an EHT MU PPDU to one receiver. */
static void airsim_radiotap_put_usig(struct airsim_radiotap *header,
				     const struct airsim_radio *radio,
				     const struct airsim_rate *rate)
{
	struct ieee80211_radiotap_eht_usig usig = {};
	u32 width = ilog2(rate->width_mhz / 20);
	u32 common, value, mask;

	/* Channels of 320 MHz-1 begin at 5945 MHz, and every 320 MHz on. */
	if (rate->width_mhz == 320 && (radio->low_mhz - 5945) % 320)
		width++;
	common = IEEE80211_RADIOTAP_EHT_USIG_COMMON_PHY_VER_KNOWN |
		 IEEE80211_RADIOTAP_EHT_USIG_COMMON_BW_KNOWN |
		 u32_encode_bits(width, IEEE80211_RADIOTAP_EHT_USIG_COMMON_BW);
	mask = IEEE80211_RADIOTAP_EHT_USIG2_MU_B0_B1_PPDU_TYPE |
	       IEEE80211_RADIOTAP_EHT_USIG2_MU_B9_B10_SIG_MCS |
	       IEEE80211_RADIOTAP_EHT_USIG2_MU_B11_B15_EHT_SIG_SYMBOLS;
	/* One user; EHT-SIG has one symbol more than its value. */
	value = u32_encode_bits(1,
				IEEE80211_RADIOTAP_EHT_USIG2_MU_B0_B1_PPDU_TYPE) |
		u32_encode_bits(1,
				IEEE80211_RADIOTAP_EHT_USIG2_MU_B11_B15_EHT_SIG_SYMBOLS);
	usig.common = cpu_to_le32(common);
	usig.value = cpu_to_le32(value);
	usig.mask = cpu_to_le32(mask);
	airsim_radiotap_put_tlv(header, IEEE80211_RADIOTAP_EHT_USIG, &usig,
				sizeof(usig));
}

/*
 * LDPC without the extra symbol, no beamforming; EHT-LTFs as in airtime.c. There
 * is one user. Unlike in HE, 0 stands for one stream.
 */
static void airsim_radiotap_put_eht(struct airsim_radiotap *header,
				    const struct airsim_rate *rate)
{
	struct {
		struct ieee80211_radiotap_eht fixed;
		__le32 user;
	} eht = {};
	u32 known, data0, user;

	known = IEEE80211_RADIOTAP_EHT_KNOWN_GI |
		IEEE80211_RADIOTAP_EHT_KNOWN_EHT_LTF |
		IEEE80211_RADIOTAP_EHT_KNOWN_LDPC_EXTRA_SYM_OM;
	/* 0, 1 and 2: 0.8, 1.6 and 3.2 us; 1, 2 and 4 symbols. */
	data0 = u32_encode_bits(ilog2(rate->gi_ns / 800),
				IEEE80211_RADIOTAP_EHT_DATA0_GI) |
		u32_encode_bits(airsim_ltfs(rate->streams) / 2,
				IEEE80211_RADIOTAP_EHT_DATA0_EHT_LTF);
	user = IEEE80211_RADIOTAP_EHT_USER_INFO_MCS_KNOWN |
	       IEEE80211_RADIOTAP_EHT_USER_INFO_CODING_KNOWN |
	       IEEE80211_RADIOTAP_EHT_USER_INFO_NSS_KNOWN_O |
	       IEEE80211_RADIOTAP_EHT_USER_INFO_BEAMFORMING_KNOWN_O |
	       IEEE80211_RADIOTAP_EHT_USER_INFO_DATA_FOR_USER |
	       IEEE80211_RADIOTAP_EHT_USER_INFO_CODING |
	       u32_encode_bits(rate->mcs, IEEE80211_RADIOTAP_EHT_USER_INFO_MCS) |
	       u32_encode_bits(rate->streams - 1,
			       IEEE80211_RADIOTAP_EHT_USER_INFO_NSS_O);
	eht.fixed.known = cpu_to_le32(known);
	eht.fixed.data[0] = cpu_to_le32(data0);
	eht.user = cpu_to_le32(user);
	airsim_radiotap_put_tlv(header, IEEE80211_RADIOTAP_EHT, &eht,
				sizeof(eht));
}

static struct airsim_vendor
airsim_radiotap_vendor(const struct airsim_radio *radio, unsigned int index,
		       bool received)
{
	const struct airsim_emission *emission = &radio->emission;
	const struct airsim_ppdu *ppdu = &radio->ppdu;
	struct airsim_vendor vendor = {
		.oui = { 0x02, 0x00, 0x00 },
		.subnamespace = VENDOR_SUBNAMESPACE,
		.skip_length = cpu_to_le16(sizeof(vendor) -
				offsetof(struct airsim_vendor, start_ns)),
		.start_ns = cpu_to_le64(emission->start_ns),
		.end_ns = cpu_to_le64(emission->end_ns),
		.sender = cpu_to_le16(radio->index),
		.receiver = cpu_to_le16(emission->to ? emission->to->index :
						       0xffff),
		.mpdus = 1,
		.function = 255,
		.channel_mhz = cpu_to_le32((radio->low_mhz + radio->high_mhz) /
					   2),
	};
	bool collided = emission->collided;

	if (emission->frame == AIRSIM_PPDU) {
		const struct ieee80211_hdr *hdr =
			(const void *)ppdu->mpdu[index]->data;

		vendor.mpdus = min(ppdu->count, 255);
		vendor.index = index;
		vendor.function = ppdu->ac;
		if (ieee80211_has_retry(hdr->frame_control))
			vendor.flags |= VENDOR_RETRY;
		collided = !received && airsim_is_collided(emission);
	} else if (emission->frame == AIRSIM_RTS ||
		   radio->exchange.stage == AIRSIM_STAGE_CTS ||
		   emission->frame == AIRSIM_TRIGGER) {
		vendor.function = ppdu->ac;
	}
	if (collided)
		vendor.flags |= VENDOR_COLLIDED;
	else if (!received)
		vendor.flags |= VENDOR_NOISE;
	return vendor;
}

/*
 * EHT exists only as TLVs, after which there are only TLVs. That of a vendor has
 * a type and a reserved field, both 0, in place of a length.
 */
static void airsim_radiotap_put_tlvs(struct airsim_radiotap *header,
				     const struct airsim_radio *radio,
				     unsigned int index,
				     const struct airsim_vendor *vendor)
{
	struct airsim_vendor_content content = {
		.subnamespace = vendor->subnamespace,
		.start_ns = vendor->start_ns,
		.end_ns = vendor->end_ns,
		.sender = vendor->sender,
		.receiver = vendor->receiver,
		.flags = vendor->flags,
		.function = vendor->function,
		.mpdus = cpu_to_le16(radio->ppdu.count),
		.index = cpu_to_le16(index),
		.channel_mhz = vendor->channel_mhz,
	};

	memcpy(content.oui, vendor->oui, sizeof(content.oui));
	header->present |= BIT(IEEE80211_RADIOTAP_TLV);
	memset(header->octets + header->length, 0, 4);
	header->length = ALIGN(header->length, 4);
	airsim_radiotap_put_usig(header, radio, &radio->emission.rate);
	airsim_radiotap_put_eht(header, &radio->emission.rate);
	airsim_radiotap_put_tlv(header, IEEE80211_RADIOTAP_VENDOR_NAMESPACE,
				&content, sizeof(content));
}

/**
 * airsim_radiotap_make - the radiotap header of a frame that has ended
 * @header: receives it
 * @radio: transmitter; the medium is locked
 * @index: index of the MPDU in its PPDU; 0 for a control frame
 * @received: a radio has received it
 */
void airsim_radiotap_make(struct airsim_radiotap *header,
			  const struct airsim_radio *radio,
			  unsigned int index, bool received)
{
	const struct airsim_emission *emission = &radio->emission;
	const struct airsim_rate *rate = &emission->rate;
	bool cck = rate->format == AIRSIM_CCK;
	__le64 tsft_us = cpu_to_le64(div_u64(emission->start_ns,
					     NSEC_PER_USEC));
	u8 flags = received ? 0 : IEEE80211_RADIOTAP_F_BADFCS;
	u8 rate_500kbps = rate->legacy_kbps / 500;
	u16 band = airsim_band(radio) == NL80211_BAND_2GHZ ?
		   IEEE80211_CHAN_2GHZ : IEEE80211_CHAN_5GHZ;
	__le16 channel[2] = {
		cpu_to_le16(radio->frequency_mhz),
		cpu_to_le16(band | (cck ? IEEE80211_CHAN_CCK :
					  IEEE80211_CHAN_OFDM)),
	};
	s8 signal_dbm = radio->settings.tx_power_mdbm / 1000;
	struct airsim_vendor vendor =
		airsim_radiotap_vendor(radio, index, received);
	struct ieee80211_radiotap_header_fixed fixed = {};

	header->length = sizeof(fixed);
	header->present = 0;
	airsim_radiotap_put(header, IEEE80211_RADIOTAP_TSFT, &tsft_us,
			    sizeof(tsft_us), 8);
	airsim_radiotap_put(header, IEEE80211_RADIOTAP_FLAGS, &flags,
			    sizeof(flags), 1);
	if (rate->format <= AIRSIM_OFDM)
		airsim_radiotap_put(header, IEEE80211_RADIOTAP_RATE,
				    &rate_500kbps, 1, 1);
	airsim_radiotap_put(header, IEEE80211_RADIOTAP_CHANNEL, channel,
			    sizeof(channel), 2);
	airsim_radiotap_put(header, IEEE80211_RADIOTAP_DBM_TX_POWER,
			    &signal_dbm, 1, 1);
	if (rate->format == AIRSIM_HT)
		airsim_radiotap_put_ht(header, rate);
	if (emission->frame == AIRSIM_PPDU && airsim_ppdu_is_ampdu(&radio->ppdu))
		airsim_radiotap_put_ampdu(header, &radio->ppdu, index);
	if (rate->format == AIRSIM_VHT)
		airsim_radiotap_put_vht(header, rate);
	if (rate->format == AIRSIM_HE)
		airsim_radiotap_put_he(header, rate);
	if (rate->format == AIRSIM_EHT)
		airsim_radiotap_put_tlvs(header, radio, index, &vendor);
	else
		airsim_radiotap_put(header, IEEE80211_RADIOTAP_VENDOR_NAMESPACE,
				    &vendor, sizeof(vendor), 2);
	fixed.it_len = cpu_to_le16(header->length);
	fixed.it_present = cpu_to_le32(header->present);
	memcpy(header->octets, &fixed, sizeof(fixed));
}
