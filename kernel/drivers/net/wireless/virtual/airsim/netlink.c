// SPDX-License-Identifier: GPL-2.0-only
/*
 * The generic netlink family "airsim". A radio's settings are changed in a
 * copy, which is checked as a whole before it is applied: a request that is
 * refused changes nothing. The policy of each command refuses what is malformed
 * in itself, config.c what does not fit together.
 */
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <net/genetlink.h>
#include <uapi/linux/airsim.h>
#include "control.h"
#include "ranges.h"

static const struct netlink_range_validation legacy_kbps_range = {
	.min = 1000, .max = 54000,
};

static const struct netlink_range_validation_signed loss_mdb_range = {
	.max = 300000,
};

static const struct netlink_range_validation reference_mdb_range = {
	.max = 200000,
};

static const struct netlink_range_validation_signed sense_mdbm_range = {
	.min = -120000,
};

/* For requests that take no attributes: without a policy, they take any. */
static const struct nla_policy empty_policy[AIRSIM_ATTR_INDEX + 1];

static const struct nla_policy index_policy[] = {
	[AIRSIM_ATTR_INDEX] = NLA_POLICY_MAX(NLA_U32, AIRSIM_MAX_RADIOS - 1),
};

static const struct nla_policy radio_policy[] = {
	[AIRSIM_ATTR_INDEX] = NLA_POLICY_MAX(NLA_U32, AIRSIM_MAX_RADIOS - 1),
	[AIRSIM_ATTR_PRESET] = { .type = NLA_NUL_STRING, .len = 31 },
	[AIRSIM_ATTR_STANDARD] = NLA_POLICY_MAX(NLA_U32, AIRSIM_80211AX),
	[AIRSIM_ATTR_STREAMS] = NLA_POLICY_RANGE(NLA_U8, 1, 4),
	[AIRSIM_ATTR_WIDTH_MHZ] = NLA_POLICY_RANGE(NLA_U16, 20, 160),
	[AIRSIM_ATTR_BA_WINDOW] =
		NLA_POLICY_FULL_RANGE(NLA_U16, &airsim_ampdu_mpdus_range),
	[AIRSIM_ATTR_MPDU_SPACING_NS] = NLA_POLICY_MAX(NLA_U16, 16000),
	[AIRSIM_ATTR_AMSDU] = NLA_POLICY_MAX(NLA_U8, 1),
	[AIRSIM_ATTR_QUEUEING] = NLA_POLICY_MAX(NLA_U32, AIRSIM_QUEUE_FIFO),
	[AIRSIM_ATTR_AMPDU_MPDUS] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &airsim_ampdu_mpdus_range),
	[AIRSIM_ATTR_AMPDU_OCTETS] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &airsim_ampdu_octets_range),
	[AIRSIM_ATTR_AMPDU_DURATION_US] =
		NLA_POLICY_FULL_RANGE(NLA_U32,
				      &airsim_ampdu_duration_us_range),
	[AIRSIM_ATTR_BAR] = NLA_POLICY_MAX(NLA_U8, 1),
	[AIRSIM_ATTR_FORMED_PPDUS] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &airsim_formed_ppdus_range),
	[AIRSIM_ATTR_FIFO_MPDUS] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &airsim_fifo_mpdus_range),
	[AIRSIM_ATTR_HAND_UP] =
		NLA_POLICY_MAX(NLA_U32, AIRSIM_HAND_UP_COALESCED),
	[AIRSIM_ATTR_COALESCE_MPDUS] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &airsim_ampdu_mpdus_range),
	[AIRSIM_ATTR_COALESCE_US] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &airsim_wait_us_range),
	[AIRSIM_ATTR_ACK_HOLD] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &airsim_ack_hold_range),
	[AIRSIM_ATTR_ACK_HOLD_US] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &airsim_wait_us_range),
	[AIRSIM_ATTR_ACK_HOLD_KBPS] = { .type = NLA_U32 },
	[AIRSIM_ATTR_GRO] = NLA_POLICY_MAX(NLA_U8, 1),
	[AIRSIM_ATTR_GRO_FLUSH_US] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &airsim_wait_us_range),
	[AIRSIM_ATTR_ERRORS] = NLA_POLICY_MAX(NLA_U32, AIRSIM_ERRORS_BURST),
	[AIRSIM_ATTR_MPDU_ERROR_PPM] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &airsim_ppm_range),
	[AIRSIM_ATTR_RESPONSE_ERROR_PPM] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &airsim_ppm_range),
	[AIRSIM_ATTR_BURST_ENTER_PPM] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &airsim_ppm_range),
	[AIRSIM_ATTR_BURST_LEAVE_PPM] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &airsim_ppm_range),
	[AIRSIM_ATTR_BURST_GOOD_ERROR_PPM] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &airsim_ppm_range),
	[AIRSIM_ATTR_BURST_BAD_ERROR_PPM] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &airsim_ppm_range),
	[AIRSIM_ATTR_TX_POWER_MDBM] =
		NLA_POLICY_FULL_RANGE_SIGNED(NLA_S32,
					     &airsim_tx_power_mdbm_range),
	[AIRSIM_ATTR_PLACED] = NLA_POLICY_MAX(NLA_U8, 1),
	[AIRSIM_ATTR_X_MM] =
		NLA_POLICY_FULL_RANGE_SIGNED(NLA_S32, &airsim_place_mm_range),
	[AIRSIM_ATTR_Y_MM] =
		NLA_POLICY_FULL_RANGE_SIGNED(NLA_S32, &airsim_place_mm_range),
	[AIRSIM_ATTR_VX_MM_PER_S] =
		NLA_POLICY_FULL_RANGE_SIGNED(NLA_S32, &airsim_mm_per_s_range),
	[AIRSIM_ATTR_VY_MM_PER_S] =
		NLA_POLICY_FULL_RANGE_SIGNED(NLA_S32, &airsim_mm_per_s_range),
	[AIRSIM_ATTR_RATE_FIXED] = NLA_POLICY_MAX(NLA_U8, 1),
	[AIRSIM_ATTR_RATE_FORMAT] = NLA_POLICY_MAX(NLA_U32, AIRSIM_HE),
	[AIRSIM_ATTR_RATE_MCS] = NLA_POLICY_MAX(NLA_U8, 11),
	[AIRSIM_ATTR_RATE_STREAMS] = NLA_POLICY_RANGE(NLA_U8, 1, 4),
	[AIRSIM_ATTR_RATE_WIDTH_MHZ] = NLA_POLICY_RANGE(NLA_U16, 20, 160),
	[AIRSIM_ATTR_RATE_GI_NS] = NLA_POLICY_RANGE(NLA_U16, 400, 3200),
	[AIRSIM_ATTR_RATE_LEGACY_KBPS] =
		NLA_POLICY_FULL_RANGE(NLA_U16, &legacy_kbps_range),
};

static const struct nla_policy link_policy[] = {
	[AIRSIM_ATTR_FROM] = NLA_POLICY_MAX(NLA_U32, AIRSIM_MAX_RADIOS - 1),
	[AIRSIM_ATTR_TO] = NLA_POLICY_MAX(NLA_U32, AIRSIM_MAX_RADIOS - 1),
	[AIRSIM_ATTR_LOSS_MDB] =
		NLA_POLICY_FULL_RANGE_SIGNED(NLA_S32, &loss_mdb_range),
	[AIRSIM_ATTR_BLOCKED] = NLA_POLICY_MAX(NLA_U8, 1),
};

static const struct nla_policy air_policy[] = {
	[AIRSIM_ATTR_PATH_LOSS_EXPONENT_MILLI] =
		NLA_POLICY_RANGE(NLA_U32, 1000, 10000),
	[AIRSIM_ATTR_PATH_LOSS_REFERENCE_MDB] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &reference_mdb_range),
	[AIRSIM_ATTR_SENSE_MDBM] =
		NLA_POLICY_FULL_RANGE_SIGNED(NLA_S32, &sense_mdbm_range),
};

/* An attribute that is a member of a struct; the policy knows its size. */
struct field {
	u16 attr;
	u16 offset;
};

#define FIELD(_attr, _struct, _member) { \
	.attr = AIRSIM_ATTR_##_attr, \
	.offset = offsetof(struct _struct, _member), \
}

static const struct field hardware_fields[] = {
	FIELD(STANDARD, airsim_hardware, standard),
	FIELD(STREAMS, airsim_hardware, streams),
	FIELD(WIDTH_MHZ, airsim_hardware, width_mhz),
	FIELD(BA_WINDOW, airsim_hardware, ba_window),
	FIELD(MPDU_SPACING_NS, airsim_hardware, mpdu_spacing_ns),
	FIELD(AMSDU, airsim_hardware, amsdu),
	FIELD(QUEUEING, airsim_hardware, queueing),
};

static const struct field settings_fields[] = {
	FIELD(AMPDU_MPDUS, airsim_settings, ampdu_mpdus),
	FIELD(AMPDU_OCTETS, airsim_settings, ampdu_octets),
	FIELD(AMPDU_DURATION_US, airsim_settings, ampdu_duration_us),
	FIELD(BAR, airsim_settings, bar),
	FIELD(FORMED_PPDUS, airsim_settings, formed_ppdus),
	FIELD(FIFO_MPDUS, airsim_settings, fifo_mpdus),
	FIELD(HAND_UP, airsim_settings, hand_up),
	FIELD(COALESCE_MPDUS, airsim_settings, coalesce_mpdus),
	FIELD(COALESCE_US, airsim_settings, coalesce_us),
	FIELD(ACK_HOLD, airsim_settings, ack_hold),
	FIELD(ACK_HOLD_US, airsim_settings, ack_hold_us),
	FIELD(ACK_HOLD_KBPS, airsim_settings, ack_hold_kbps),
	FIELD(GRO, airsim_settings, gro),
	FIELD(GRO_FLUSH_US, airsim_settings, gro_flush_us),
	FIELD(ERRORS, airsim_settings, errors),
	FIELD(MPDU_ERROR_PPM, airsim_settings, mpdu_error_ppm),
	FIELD(RESPONSE_ERROR_PPM, airsim_settings, response_error_ppm),
	FIELD(BURST_ENTER_PPM, airsim_settings, burst.enter_ppm),
	FIELD(BURST_LEAVE_PPM, airsim_settings, burst.leave_ppm),
	FIELD(BURST_GOOD_ERROR_PPM, airsim_settings, burst.good_error_ppm),
	FIELD(BURST_BAD_ERROR_PPM, airsim_settings, burst.bad_error_ppm),
	FIELD(TX_POWER_MDBM, airsim_settings, tx_power_mdbm),
	FIELD(PLACED, airsim_settings, placed),
	FIELD(RATE_FIXED, airsim_settings, rate_fixed),
};

static const struct field place_fields[] = {
	FIELD(X_MM, airsim_place, x_mm),
	FIELD(Y_MM, airsim_place, y_mm),
	FIELD(VX_MM_PER_S, airsim_place, vx_mm_per_s),
	FIELD(VY_MM_PER_S, airsim_place, vy_mm_per_s),
};

static const struct field rate_fields[] = {
	FIELD(RATE_FORMAT, airsim_rate, format),
	FIELD(RATE_MCS, airsim_rate, mcs),
	FIELD(RATE_STREAMS, airsim_rate, streams),
	FIELD(RATE_WIDTH_MHZ, airsim_rate, width_mhz),
	FIELD(RATE_GI_NS, airsim_rate, gi_ns),
	FIELD(RATE_LEGACY_KBPS, airsim_rate, legacy_kbps),
};

static const struct field air_fields[] = {
	FIELD(PATH_LOSS_EXPONENT_MILLI, airsim_air, propagation.exponent_milli),
	FIELD(PATH_LOSS_REFERENCE_MDB, airsim_air, propagation.reference_mdb),
	FIELD(SENSE_MDBM, airsim_air, sense_mdbm),
};

#define COUNTER(_attr, _member) { \
	.attr = AIRSIM_COUNTER_##_attr, \
	.offset = offsetof(struct airsim_radio_counters, _member), \
}

static const struct field counters[] = {
	COUNTER(TAKEN, taken),
	COUNTER(ACKED, acked),
	COUNTER(UNANSWERABLE, unanswerable),
	COUNTER(DROPPED_RETRIES, dropped_retries),
	COUNTER(DROPPED_STOPPED, dropped_stopped),
	COUNTER(DROPPED_QUEUE_GONE, dropped_queue_gone),
	COUNTER(QUEUED, queued),
	COUNTER(RECEIVED, received),
	COUNTER(HANDED_UP, handed_up),
	COUNTER(RX_NO_MEMORY, rx_no_memory),
	COUNTER(RX_DROPPED_STOPPED, rx_dropped_stopped),
	COUNTER(RX_WAITING, rx_waiting),
	COUNTER(PPDUS, ppdus),
	COUNTER(COLLIDED, collided),
	COUNTER(RETRIES, retries),
	COUNTER(TX_AIRTIME_NS, tx_airtime_ns),
	COUNTER(RTS_SENT, rts_sent),
	COUNTER(BAR_SENT, bar_sent),
	COUNTER(ACKS_SUPPRESSED, acks_suppressed),
	COUNTER(ACKS_HELD, acks_held),
};

/* Settings are read, changed and applied by one request at a time. */
static DEFINE_MUTEX(airsim_nl_mutex);

/* The first attribute of these fields that the request has, or NULL. */
static struct nlattr *airsim_nl_first_given(const struct genl_info *info,
					    const struct field *fields,
					    unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		if (info->attrs[fields[i].attr])
			return info->attrs[fields[i].attr];
	return NULL;
}

static void airsim_nl_get_fields(const struct genl_info *info,
				 const struct field *fields, unsigned int count,
				 void *to)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		const struct nlattr *attr = info->attrs[fields[i].attr];

		if (attr)
			memcpy(to + fields[i].offset, nla_data(attr),
			       nla_len(attr));
	}
}

static int airsim_nl_octets(u8 type)
{
	switch (type) {
	case NLA_U8:
		return sizeof(u8);
	case NLA_U16:
		return sizeof(u16);
	default:
		return sizeof(u32);
	}
}

static int airsim_nl_put_fields(struct sk_buff *skb,
				const struct nla_policy *policy,
				const struct field *fields, unsigned int count,
				const void *from)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		if (nla_put(skb, fields[i].attr,
			    airsim_nl_octets(policy[fields[i].attr].type),
			    from + fields[i].offset))
			return -EMSGSIZE;
	return 0;
}

static int airsim_nl_put_counters(struct sk_buff *skb,
				  const struct airsim_radio_counters *from)
{
	struct nlattr *nest = nla_nest_start(skb, AIRSIM_ATTR_COUNTERS);
	unsigned int i;

	if (!nest)
		return -EMSGSIZE;
	for (i = 0; i < ARRAY_SIZE(counters); i++) {
		u64 value = *(u64 *)((void *)from + counters[i].offset);

		if (nla_put_u64_64bit(skb, counters[i].attr, value,
				      AIRSIM_COUNTER_PAD))
			return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return 0;
}

static s32 airsim_nl_position(s32 start_mm, s32 mm_per_s, s64 elapsed_ns)
{
	return clamp_t(s64, airsim_coordinate_mm(start_mm, mm_per_s, elapsed_ns),
		       airsim_place_mm_range.min, airsim_place_mm_range.max);
}

/* Where a radio is now, and how it walks on. */
static struct airsim_place airsim_nl_place_now(const struct airsim_place *then)
{
	struct airsim_place now = *then;
	s64 elapsed_ns;

	now.since_ns = ktime_get_ns();
	elapsed_ns = now.since_ns - then->since_ns;
	now.x_mm =
		airsim_nl_position(then->x_mm, then->vx_mm_per_s, elapsed_ns);
	now.y_mm =
		airsim_nl_position(then->y_mm, then->vy_mm_per_s, elapsed_ns);
	return now;
}

static int airsim_nl_put_settings(struct sk_buff *skb,
				  const struct airsim_settings *settings)
{
	struct airsim_place place = airsim_nl_place_now(&settings->place);

	if (airsim_nl_put_fields(skb, radio_policy, settings_fields,
				 ARRAY_SIZE(settings_fields), settings))
		return -EMSGSIZE;
	if (settings->placed &&
	    airsim_nl_put_fields(skb, radio_policy, place_fields,
				 ARRAY_SIZE(place_fields), &place))
		return -EMSGSIZE;
	if (settings->rate_fixed &&
	    airsim_nl_put_fields(skb, radio_policy, rate_fields,
				 ARRAY_SIZE(rate_fields), &settings->rate))
		return -EMSGSIZE;
	return 0;
}

static int airsim_nl_put_radio(struct sk_buff *skb,
			       const struct genl_info *info, int flags,
			       const struct airsim_radio_info *radio)
{
	void *header = __genlmsg_iput(skb, info, flags);

	if (!header)
		return -EMSGSIZE;
	if (nla_put_u32(skb, AIRSIM_ATTR_INDEX, radio->index) ||
	    nla_put_string(skb, AIRSIM_ATTR_WIPHY, radio->wiphy) ||
	    nla_put(skb, AIRSIM_ATTR_ADDRESS, ETH_ALEN, radio->address) ||
	    airsim_nl_put_fields(skb, radio_policy, hardware_fields,
				 ARRAY_SIZE(hardware_fields),
				 &radio->hardware) ||
	    airsim_nl_put_settings(skb, &radio->settings) ||
	    airsim_nl_put_counters(skb, &radio->counters)) {
		genlmsg_cancel(skb, header);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, header);
	return 0;
}

static int airsim_nl_put_preset(struct sk_buff *skb,
				const struct genl_info *info, int flags,
				const struct airsim_preset *preset)
{
	void *header = __genlmsg_iput(skb, info, flags);

	if (!header)
		return -EMSGSIZE;
	if (nla_put_string(skb, AIRSIM_ATTR_PRESET, preset->name) ||
	    airsim_nl_put_fields(skb, radio_policy, hardware_fields,
				 ARRAY_SIZE(hardware_fields),
				 &preset->hardware) ||
	    airsim_nl_put_settings(skb, &preset->settings)) {
		genlmsg_cancel(skb, header);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, header);
	return 0;
}

static int airsim_nl_put_link(struct sk_buff *skb, const struct genl_info *info,
			      int flags, u32 from, u32 to, s32 loss_mdb)
{
	void *header = __genlmsg_iput(skb, info, flags);
	int err;

	if (!header)
		return -EMSGSIZE;
	err = nla_put_u32(skb, AIRSIM_ATTR_FROM, from);
	err = err ?: nla_put_u32(skb, AIRSIM_ATTR_TO, to);
	if (loss_mdb == AIRSIM_LINK_BLOCKED)
		err = err ?: nla_put_u8(skb, AIRSIM_ATTR_BLOCKED, 1);
	else
		err = err ?: nla_put_s32(skb, AIRSIM_ATTR_LOSS_MDB, loss_mdb);
	if (err) {
		genlmsg_cancel(skb, header);
		return err;
	}
	genlmsg_end(skb, header);
	return 0;
}

static int airsim_nl_refuse(const struct genl_info *info,
			    const struct nlattr *attr, const char *why)
{
	NL_SET_ERR_MSG_ATTR_FMT(info->extack, attr, "%s", why);
	return -EINVAL;
}

/* The lowest rate of a format. */
static struct airsim_rate airsim_nl_lowest_rate(enum airsim_format format)
{
	struct airsim_rate rate = {
		.format = format,
		.streams = 1,
		.width_mhz = 20,
		.gi_ns = 800,
	};

	if (format == AIRSIM_CCK)
		rate.legacy_kbps = airsim_legacy_kbps[0];
	if (format == AIRSIM_OFDM)
		rate.legacy_kbps = airsim_legacy_kbps[AIRSIM_CCK_RATES];
	return rate;
}

static int airsim_nl_get_place(const struct genl_info *info,
			       struct airsim_settings *settings)
{
	struct nlattr *given = airsim_nl_first_given(info, place_fields,
						     ARRAY_SIZE(place_fields));
	struct airsim_place place = {};

	if (given && info->attrs[AIRSIM_ATTR_PLACED] &&
	    !nla_get_u8(info->attrs[AIRSIM_ATTR_PLACED]))
		return airsim_nl_refuse(info, given,
					"placed 0 takes the place away: give none with it");
	if (!given && !info->attrs[AIRSIM_ATTR_PLACED])
		return 0;
	if (settings->placed)
		place = settings->place;
	settings->place = airsim_nl_place_now(&place);
	airsim_nl_get_fields(info, place_fields, ARRAY_SIZE(place_fields),
			     &settings->place);
	settings->placed |= !!given;
	return 0;
}

/* An attribute of the rate that its format has no use for, or NULL. */
static struct nlattr *airsim_nl_useless(const struct genl_info *info,
					const struct airsim_rate *rate)
{
	if (rate->format > AIRSIM_OFDM)
		return info->attrs[AIRSIM_ATTR_RATE_LEGACY_KBPS];
	if (info->attrs[AIRSIM_ATTR_RATE_MCS])
		return info->attrs[AIRSIM_ATTR_RATE_MCS];
	return info->attrs[AIRSIM_ATTR_RATE_GI_NS];
}

static int airsim_nl_get_rate(const struct genl_info *info,
			      struct airsim_settings *settings)
{
	struct nlattr *given = airsim_nl_first_given(info, rate_fields,
						     ARRAY_SIZE(rate_fields));
	struct nlattr *format = info->attrs[AIRSIM_ATTR_RATE_FORMAT];

	if (!given)
		return 0;
	if (info->attrs[AIRSIM_ATTR_RATE_FIXED] &&
	    !nla_get_u8(info->attrs[AIRSIM_ATTR_RATE_FIXED]))
		return airsim_nl_refuse(info, given,
					"rate_fixed 0 is for rate control: give no rate with it");
	if (format)
		settings->rate = airsim_nl_lowest_rate(nla_get_u32(format));
	if (airsim_nl_useless(info, &settings->rate))
		return airsim_nl_refuse(info, airsim_nl_useless(info, &settings->rate),
					"no such thing in this rate_format");
	airsim_nl_get_fields(info, rate_fields, ARRAY_SIZE(rate_fields),
			     &settings->rate);
	settings->rate_fixed = true;
	return 0;
}

/* What the request gives goes over what @settings has. */
static int airsim_nl_get_settings(const struct genl_info *info,
				  const struct airsim_hardware *hardware,
				  struct airsim_settings *settings)
{
	int err;

	err = airsim_nl_get_place(info, settings);
	if (err)
		return err;
	err = airsim_nl_get_rate(info, settings);
	if (err)
		return err;
	airsim_nl_get_fields(info, settings_fields, ARRAY_SIZE(settings_fields),
			     settings);
	return airsim_settings_check(hardware, settings, info->extack);
}

/* Names a missing attribute both ways: by number and in words. */
static bool airsim_nl_lacks(const struct genl_info *info, u32 attr,
			    const char *name)
{
	if (!GENL_REQ_ATTR_CHECK(info, attr))
		return false;
	GENL_SET_ERR_MSG_FMT(info, "%s is missing", name);
	return true;
}

static int airsim_nl_no_such_radio(const struct genl_info *info)
{
	const struct nlattr *index = info->attrs[AIRSIM_ATTR_INDEX];

	NL_SET_ERR_MSG_ATTR_FMT(info->extack, index, "there is no radio %u",
				nla_get_u32(index));
	return -ENODEV;
}

static int airsim_nl_choose_preset(const struct genl_info *info,
				   const struct airsim_preset **preset)
{
	struct nlattr *name = info->attrs[AIRSIM_ATTR_PRESET];

	*preset = name ? airsim_preset_find(nla_data(name)) :
		  airsim_preset_at(0);
	if (*preset)
		return 0;
	NL_SET_ERR_MSG_ATTR(info->extack, name,
			    "there is no such preset: see the list of presets");
	return -ENOENT;
}

static int airsim_nl_new_radio(struct sk_buff *request, struct genl_info *info)
{
	const struct airsim_preset *preset;
	struct airsim_hardware hardware;
	struct airsim_settings settings;
	struct airsim_radio_info radio;
	struct sk_buff *reply;
	int index, err;

	if (info->attrs[AIRSIM_ATTR_INDEX])
		return airsim_nl_refuse(info, info->attrs[AIRSIM_ATTR_INDEX],
					"index: a new radio gets one, it is not asked for");
	err = airsim_nl_choose_preset(info, &preset);
	if (err)
		return err;
	hardware = preset->hardware;
	airsim_nl_get_fields(info, hardware_fields, ARRAY_SIZE(hardware_fields),
			     &hardware);
	/* The generic radio, the first, has what is usual for its standard. */
	if (preset == airsim_preset_at(0) &&
	    !info->attrs[AIRSIM_ATTR_MPDU_SPACING_NS])
		hardware.mpdu_spacing_ns =
			airsim_usual_spacing_ns(hardware.standard);
	err = airsim_hardware_check(&hardware, info->extack);
	if (err)
		return err;
	settings = preset->settings;
	err = airsim_nl_get_settings(info, &hardware, &settings);
	if (err)
		return err;

	reply = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!reply)
		return -ENOMEM;
	index = airsim_radio_add(&hardware, &settings, info->extack);
	if (index < 0) {
		err = index;
		goto free_reply;
	}
	err = airsim_radio_read(index, &radio);
	if (err) {
		NL_SET_ERR_MSG(info->extack, "the radio was removed at once");
		goto free_reply;
	}
	err = airsim_nl_put_radio(reply, info, 0, &radio);
	if (err)
		goto free_reply;
	return genlmsg_reply(reply, info);

free_reply:
	nlmsg_free(reply);
	return err;
}

static int airsim_nl_del_radio(struct sk_buff *request, struct genl_info *info)
{
	if (airsim_nl_lacks(info, AIRSIM_ATTR_INDEX, "index"))
		return -EINVAL;
	return airsim_radio_remove(nla_get_u32(info->attrs[AIRSIM_ATTR_INDEX]),
				   info->extack);
}

static int airsim_nl_get_radio(struct sk_buff *request, struct genl_info *info)
{
	struct airsim_radio_info radio;
	struct sk_buff *reply;
	int err;

	if (airsim_nl_lacks(info, AIRSIM_ATTR_INDEX, "index"))
		return -EINVAL;
	if (airsim_radio_read(nla_get_u32(info->attrs[AIRSIM_ATTR_INDEX]),
			      &radio))
		return airsim_nl_no_such_radio(info);
	reply = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!reply)
		return -ENOMEM;
	err = airsim_nl_put_radio(reply, info, 0, &radio);
	if (err) {
		nlmsg_free(reply);
		return err;
	}
	return genlmsg_reply(reply, info);
}

/* Where a dump goes on. */
struct progress {
	u32 next;
};

static struct progress *airsim_nl_dump_progress(struct netlink_callback *cb)
{
	NL_ASSERT_DUMP_CTX_FITS(struct progress);
	return (struct progress *)cb->ctx;
}

static int airsim_nl_dump_radios(struct sk_buff *skb,
				 struct netlink_callback *cb)
{
	struct progress *at = airsim_nl_dump_progress(cb);
	struct airsim_radio_info radio;
	int err;

	for (; at->next < AIRSIM_MAX_RADIOS; at->next++) {
		if (airsim_radio_read(at->next, &radio))
			continue;
		err = airsim_nl_put_radio(skb, genl_info_dump(cb), NLM_F_MULTI,
					  &radio);
		if (err)
			return err;
	}
	return 0;
}

static int airsim_nl_set_radio(struct sk_buff *request, struct genl_info *info)
{
	struct airsim_radio_info radio;
	struct nlattr *fixed;
	u32 index;
	int err;

	if (airsim_nl_lacks(info, AIRSIM_ATTR_INDEX, "index"))
		return -EINVAL;
	fixed = airsim_nl_first_given(info, hardware_fields,
				      ARRAY_SIZE(hardware_fields));
	if (!fixed)
		fixed = info->attrs[AIRSIM_ATTR_PRESET];
	if (fixed)
		return airsim_nl_refuse(info, fixed,
					"hardware and preset are allowed for a new radio only");
	index = nla_get_u32(info->attrs[AIRSIM_ATTR_INDEX]);

	mutex_lock(&airsim_nl_mutex);
	err = airsim_radio_read(index, &radio);
	if (err)
		err = airsim_nl_no_such_radio(info);
	else
		err = airsim_nl_get_settings(info, &radio.hardware,
					     &radio.settings);
	if (!err)
		err = airsim_radio_set(index, &radio.settings, info->extack);
	mutex_unlock(&airsim_nl_mutex);
	return err;
}

static int airsim_nl_dump_presets(struct sk_buff *skb,
				  struct netlink_callback *cb)
{
	struct progress *at = airsim_nl_dump_progress(cb);
	const struct airsim_preset *preset;
	int err;

	while ((preset = airsim_preset_at(at->next))) {
		err = airsim_nl_put_preset(skb, genl_info_dump(cb), NLM_F_MULTI,
					   preset);
		if (err)
			return err;
		at->next++;
	}
	return 0;
}

static int airsim_nl_set_link(struct sk_buff *request, struct genl_info *info)
{
	struct nlattr *loss = info->attrs[AIRSIM_ATTR_LOSS_MDB];
	struct nlattr *blocked = info->attrs[AIRSIM_ATTR_BLOCKED];
	bool given = true;
	s32 loss_mdb;
	u32 from, to;

	if (airsim_nl_lacks(info, AIRSIM_ATTR_FROM, "from") ||
	    airsim_nl_lacks(info, AIRSIM_ATTR_TO, "to"))
		return -EINVAL;
	if (loss && blocked)
		return airsim_nl_refuse(info, blocked,
					"loss_mdb and blocked: only one of them is allowed");
	if (!loss &&
	    airsim_nl_lacks(info, AIRSIM_ATTR_BLOCKED, "loss_mdb or blocked"))
		return -EINVAL;
	from = nla_get_u32(info->attrs[AIRSIM_ATTR_FROM]);
	to = nla_get_u32(info->attrs[AIRSIM_ATTR_TO]);
	if (from == to)
		return airsim_nl_refuse(info, info->attrs[AIRSIM_ATTR_TO],
					"from and to are the same radio");
	if (loss) {
		loss_mdb = nla_get_s32(loss);
	} else {
		loss_mdb = AIRSIM_LINK_BLOCKED;
		given = nla_get_u8(blocked);
	}
	return airsim_link_set(from, to, given, loss_mdb, info->extack);
}

static int airsim_nl_dump_links(struct sk_buff *skb,
				struct netlink_callback *cb)
{
	struct progress *at = airsim_nl_dump_progress(cb);
	s32 loss_mdb;
	int err;

	for (; at->next < AIRSIM_MAX_RADIOS * AIRSIM_MAX_RADIOS; at->next++) {
		u32 from = at->next / AIRSIM_MAX_RADIOS;
		u32 to = at->next % AIRSIM_MAX_RADIOS;

		if (airsim_link_read(from, to, &loss_mdb))
			continue;
		err = airsim_nl_put_link(skb, genl_info_dump(cb), NLM_F_MULTI,
					 from, to, loss_mdb);
		if (err)
			return err;
	}
	return 0;
}

static int airsim_nl_set_air(struct sk_buff *request, struct genl_info *info)
{
	struct airsim_air air;

	mutex_lock(&airsim_nl_mutex);
	airsim_air_read(&air);
	airsim_nl_get_fields(info, air_fields, ARRAY_SIZE(air_fields), &air);
	airsim_air_set(&air);
	mutex_unlock(&airsim_nl_mutex);
	return 0;
}

static int airsim_nl_get_air(struct sk_buff *request, struct genl_info *info)
{
	struct sk_buff *reply;
	struct airsim_air air;
	void *header;

	reply = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!reply)
		return -ENOMEM;
	header = genlmsg_iput(reply, info);
	airsim_air_read(&air);
	if (!header || airsim_nl_put_fields(reply, air_policy, air_fields,
					    ARRAY_SIZE(air_fields), &air)) {
		nlmsg_free(reply);
		return -EMSGSIZE;
	}
	genlmsg_end(reply, header);
	return genlmsg_reply(reply, info);
}

static const struct genl_split_ops airsim_nl_ops[] = {
	{
		.cmd = AIRSIM_CMD_NEW_RADIO,
		.doit = airsim_nl_new_radio,
		.flags = GENL_CMD_CAP_DO | GENL_ADMIN_PERM,
		.policy = radio_policy,
		.maxattr = ARRAY_SIZE(radio_policy) - 1,
	},
	{
		.cmd = AIRSIM_CMD_DEL_RADIO,
		.doit = airsim_nl_del_radio,
		.flags = GENL_CMD_CAP_DO | GENL_ADMIN_PERM,
		.policy = index_policy,
		.maxattr = ARRAY_SIZE(index_policy) - 1,
	},
	{
		.cmd = AIRSIM_CMD_GET_RADIO,
		.doit = airsim_nl_get_radio,
		.flags = GENL_CMD_CAP_DO,
		.policy = index_policy,
		.maxattr = ARRAY_SIZE(index_policy) - 1,
	},
	{
		.cmd = AIRSIM_CMD_GET_RADIO,
		.dumpit = airsim_nl_dump_radios,
		.flags = GENL_CMD_CAP_DUMP,
		.policy = empty_policy,
		.maxattr = ARRAY_SIZE(empty_policy) - 1,
	},
	{
		.cmd = AIRSIM_CMD_SET_RADIO,
		.doit = airsim_nl_set_radio,
		.flags = GENL_CMD_CAP_DO | GENL_ADMIN_PERM,
		.policy = radio_policy,
		.maxattr = ARRAY_SIZE(radio_policy) - 1,
	},
	{
		.cmd = AIRSIM_CMD_GET_PRESET,
		.dumpit = airsim_nl_dump_presets,
		.flags = GENL_CMD_CAP_DUMP,
		.policy = empty_policy,
		.maxattr = ARRAY_SIZE(empty_policy) - 1,
	},
	{
		.cmd = AIRSIM_CMD_SET_LINK,
		.doit = airsim_nl_set_link,
		.flags = GENL_CMD_CAP_DO | GENL_ADMIN_PERM,
		.policy = link_policy,
		.maxattr = ARRAY_SIZE(link_policy) - 1,
	},
	{
		.cmd = AIRSIM_CMD_GET_LINK,
		.dumpit = airsim_nl_dump_links,
		.flags = GENL_CMD_CAP_DUMP,
		.policy = empty_policy,
		.maxattr = ARRAY_SIZE(empty_policy) - 1,
	},
	{
		.cmd = AIRSIM_CMD_SET_AIR,
		.doit = airsim_nl_set_air,
		.flags = GENL_CMD_CAP_DO | GENL_ADMIN_PERM,
		.policy = air_policy,
		.maxattr = ARRAY_SIZE(air_policy) - 1,
	},
	{
		.cmd = AIRSIM_CMD_GET_AIR,
		.doit = airsim_nl_get_air,
		.flags = GENL_CMD_CAP_DO,
		.policy = empty_policy,
		.maxattr = ARRAY_SIZE(empty_policy) - 1,
	},
};

static struct genl_family airsim_nl_family __ro_after_init = {
	.name = AIRSIM_GENL_NAME,
	.version = AIRSIM_GENL_VERSION,
	.module = THIS_MODULE,
	.parallel_ops = true,
	/* Every command is validated strictly. */
	.resv_start_op = AIRSIM_CMD_NEW_RADIO,
	.split_ops = airsim_nl_ops,
	.n_split_ops = ARRAY_SIZE(airsim_nl_ops),
};

/**
 * airsim_netlink_init - let radios be asked for
 *
 * The last thing that is set up: requests may come at once.
 *
 * Return: 0 or a negative error.
 */
int airsim_netlink_init(void)
{
	return genl_register_family(&airsim_nl_family);
}

/**
 * airsim_netlink_exit - no more requests
 *
 * Waits for those that are being answered.
 */
void airsim_netlink_exit(void)
{
	genl_unregister_family(&airsim_nl_family);
}
