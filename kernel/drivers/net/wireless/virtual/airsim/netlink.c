// SPDX-License-Identifier: GPL-2.0-only
/*
 * The generic netlink family "airsim". Settings are changed in a copy, which is
 * checked before it is applied, so a rejected request changes nothing. The
 * policies check single attributes, config.c checks constraints between them.
 */
#include <linux/args.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <net/genetlink.h>
#include <uapi/linux/airsim.h>
#include "control.h"

#define AIRSIM_RANGE(_suffix, _min, _max) \
	(&(const struct netlink_range_validation##_suffix){ \
		.min = (_min), .max = (_max) })
#define AIRSIM_POLICY_u8(...) \
	NLA_POLICY_FULL_RANGE(NLA_U8, AIRSIM_RANGE(, __VA_ARGS__))
#define AIRSIM_POLICY_u16(...) \
	NLA_POLICY_FULL_RANGE(NLA_U16, AIRSIM_RANGE(, __VA_ARGS__))
#define AIRSIM_POLICY_u32(...) \
	NLA_POLICY_FULL_RANGE(NLA_U32, AIRSIM_RANGE(, __VA_ARGS__))
#define AIRSIM_POLICY_s32(...) \
	NLA_POLICY_FULL_RANGE_SIGNED(NLA_S32, AIRSIM_RANGE(_signed, __VA_ARGS__))

#define AIRSIM_INT_POLICY(_name, _member, _type, _min, _max, ...) \
	[AIRSIM_ATTR_##_name] = AIRSIM_POLICY_##_type(_min, _max),
#define AIRSIM_BOOL_POLICY(_name, ...) \
	[AIRSIM_ATTR_##_name] = NLA_POLICY_MAX(NLA_U8, 1),
#define AIRSIM_ENUM_POLICY(_name, _member, _tag, _default, ...) \
	[AIRSIM_ATTR_##_name] = \
		NLA_POLICY_MAX(NLA_U32, COUNT_ARGS(__VA_ARGS__) - 1),
#define AIRSIM_POLICIES(_rows) \
	_rows(AIRSIM_INT_POLICY, AIRSIM_BOOL_POLICY, AIRSIM_ENUM_POLICY)

/* For requests without attributes: without a policy, any would be accepted. */
static const struct nla_policy empty_policy[AIRSIM_ATTR_INDEX + 1];

static const struct nla_policy index_policy[] = {
	[AIRSIM_ATTR_INDEX] = NLA_POLICY_MAX(NLA_U32, AIRSIM_MAX_RADIOS - 1),
};

static const struct nla_policy radio_policy[] = {
	[AIRSIM_ATTR_INDEX] = NLA_POLICY_MAX(NLA_U32, AIRSIM_MAX_RADIOS - 1),
	[AIRSIM_ATTR_PRESET] = { .type = NLA_NUL_STRING, .len = 31 },
	AIRSIM_POLICIES(AIRSIM_HARDWARE)
	AIRSIM_POLICIES(AIRSIM_SETTINGS)
	AIRSIM_POLICIES(AIRSIM_BURST)
	AIRSIM_POLICIES(AIRSIM_POSITION)
	AIRSIM_POLICIES(AIRSIM_RATE)
};

static const struct nla_policy link_policy[] = {
	[AIRSIM_ATTR_RATE_FIXED] = NLA_POLICY_MAX(NLA_U8, 1),
	AIRSIM_POLICIES(AIRSIM_RATE)
	AIRSIM_POLICIES(AIRSIM_LINK)
};

static const struct nla_policy air_policy[] = {
	AIRSIM_POLICIES(AIRSIM_AIR)
};

/* An attribute whose value is a member of a struct. */
struct field {
	u16 attr;
	u16 offset;
	u16 octets;
};

#define AIRSIM_FIELD(_attr, _struct, _member) { \
	.attr = _attr, \
	.offset = offsetof(struct _struct, _member), \
	.octets = sizeof_field(struct _struct, _member), \
},
#define AIRSIM_FIELDS(_rows, _field)	_rows(_field, _field, _field)

#define HARDWARE_FIELD(_name, _member, ...) \
	AIRSIM_FIELD(AIRSIM_ATTR_##_name, airsim_hardware, _member)
#define SETTINGS_FIELD(_name, _member, ...) \
	AIRSIM_FIELD(AIRSIM_ATTR_##_name, airsim_settings, _member)
#define BURST_FIELD(_name, _member, ...) \
	AIRSIM_FIELD(AIRSIM_ATTR_##_name, airsim_settings, burst._member)
#define POSITION_FIELD(_name, _member, ...) \
	AIRSIM_FIELD(AIRSIM_ATTR_##_name, airsim_position, _member)
#define RATE_FIELD(_name, _member, ...) \
	AIRSIM_FIELD(AIRSIM_ATTR_##_name, airsim_rate, _member)
#define AIR_FIELD(_name, _member, ...) \
	AIRSIM_FIELD(AIRSIM_ATTR_##_name, airsim_air, _member)
#define COUNTER_FIELD(_name, _member) \
	AIRSIM_FIELD(AIRSIM_COUNTER_##_name, airsim_radio_counters, _member)

static const struct field hardware_fields[] = {
	AIRSIM_FIELDS(AIRSIM_HARDWARE, HARDWARE_FIELD)
};

static const struct field settings_fields[] = {
	AIRSIM_FIELDS(AIRSIM_SETTINGS, SETTINGS_FIELD)
	AIRSIM_FIELDS(AIRSIM_BURST, BURST_FIELD)
};

static const struct field position_fields[] = {
	AIRSIM_FIELDS(AIRSIM_POSITION, POSITION_FIELD)
};

static const struct field rate_fields[] = {
	AIRSIM_FIELDS(AIRSIM_RATE, RATE_FIELD)
};

static const struct field air_fields[] = {
	AIRSIM_FIELDS(AIRSIM_AIR, AIR_FIELD)
};

static const struct field counters[] = {
	AIRSIM_COUNTERS(COUNTER_FIELD)
};

/*
 * Serializes read-modify-write of settings. Radios are removed under it, too:
 * another one may get the index, for which the settings were not checked.
 */
static DEFINE_MUTEX(airsim_nl_mutex);

/* The first attribute of these fields in the request, or NULL. */
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
			       fields[i].octets);
	}
}

static int airsim_nl_put_fields(struct sk_buff *skb,
				const struct field *fields, unsigned int count,
				const void *from)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		if (nla_put(skb, fields[i].attr, fields[i].octets,
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

static s32 airsim_nl_coordinate_mm(s32 start_mm, s32 mm_per_s, s64 elapsed_ns)
{
	return clamp_t(s64, airsim_coordinate_mm(start_mm, mm_per_s, elapsed_ns),
		       -AIRSIM_MAX_MM, AIRSIM_MAX_MM);
}

/* Current position and velocity of a radio. */
static struct airsim_position
airsim_nl_position_now(const struct airsim_position *then)
{
	struct airsim_position now = *then;
	s64 elapsed_ns;

	now.since_ns = ktime_get_ns();
	elapsed_ns = now.since_ns - then->since_ns;
	now.x_mm = airsim_nl_coordinate_mm(then->x_mm, then->vx_mm_per_s,
					   elapsed_ns);
	now.y_mm = airsim_nl_coordinate_mm(then->y_mm, then->vy_mm_per_s,
					   elapsed_ns);
	return now;
}

static int airsim_nl_put_settings(struct sk_buff *skb,
				  const struct airsim_settings *settings)
{
	struct airsim_position position =
		airsim_nl_position_now(&settings->position);

	if (airsim_nl_put_fields(skb, settings_fields,
				 ARRAY_SIZE(settings_fields), settings))
		return -EMSGSIZE;
	if (settings->placed &&
	    airsim_nl_put_fields(skb, position_fields,
				 ARRAY_SIZE(position_fields), &position))
		return -EMSGSIZE;
	if (settings->rate_fixed &&
	    airsim_nl_put_fields(skb, rate_fields, ARRAY_SIZE(rate_fields),
				 &settings->rate))
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
	    airsim_nl_put_fields(skb, hardware_fields,
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
	    airsim_nl_put_fields(skb, hardware_fields,
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
			      int flags, u32 from, u32 to,
			      const struct airsim_link_info *link)
{
	void *header = __genlmsg_iput(skb, info, flags);
	int err;

	if (!header)
		return -EMSGSIZE;
	err = nla_put_u32(skb, AIRSIM_ATTR_FROM, from);
	err = err ?: nla_put_u32(skb, AIRSIM_ATTR_TO, to);
	if (link->has_loss && link->loss_mdb == AIRSIM_LINK_BLOCKED)
		err = err ?: nla_put_u8(skb, AIRSIM_ATTR_BLOCKED, 1);
	else if (link->has_loss)
		err = err ?: nla_put_s32(skb, AIRSIM_ATTR_LOSS_MDB,
					 link->loss_mdb);
	if (link->has_rate)
		err = err ?: airsim_nl_put_fields(skb, rate_fields,
						  ARRAY_SIZE(rate_fields),
						  &link->rate);
	if (err) {
		genlmsg_cancel(skb, header);
		return err;
	}
	genlmsg_end(skb, header);
	return 0;
}

static int airsim_nl_reject(const struct genl_info *info,
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

static int airsim_nl_get_position(const struct genl_info *info,
				  struct airsim_settings *settings)
{
	struct airsim_position position = {};
	struct nlattr *given;

	given = airsim_nl_first_given(info, position_fields,
				      ARRAY_SIZE(position_fields));
	if (given && info->attrs[AIRSIM_ATTR_PLACED] &&
	    !nla_get_u8(info->attrs[AIRSIM_ATTR_PLACED]))
		return airsim_nl_reject(info, given,
					"not allowed with placed 0");
	if (!given && !info->attrs[AIRSIM_ATTR_PLACED])
		return 0;
	if (settings->placed)
		position = settings->position;
	settings->position = airsim_nl_position_now(&position);
	airsim_nl_get_fields(info, position_fields, ARRAY_SIZE(position_fields),
			     &settings->position);
	settings->placed |= !!given;
	return 0;
}

/* An attribute of the rate that is not used by its format, or NULL. */
static struct nlattr *airsim_nl_unused_rate_attr(const struct genl_info *info,
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
	struct nlattr *unused;

	if (!given)
		return 0;
	if (info->attrs[AIRSIM_ATTR_RATE_FIXED] &&
	    !nla_get_u8(info->attrs[AIRSIM_ATTR_RATE_FIXED]))
		return airsim_nl_reject(info, given,
					"not allowed with rate_fixed 0");
	if (format)
		settings->rate = airsim_nl_lowest_rate(nla_get_u32(format));
	unused = airsim_nl_unused_rate_attr(info, &settings->rate);
	if (unused)
		return airsim_nl_reject(info, unused,
					"not used by this rate_format");
	airsim_nl_get_fields(info, rate_fields, ARRAY_SIZE(rate_fields),
			     &settings->rate);
	settings->rate_fixed = true;
	return 0;
}

/* Applies the attributes in the request to @settings. */
static int airsim_nl_get_settings(const struct genl_info *info,
				  const struct airsim_hardware *hardware,
				  struct airsim_settings *settings)
{
	int err;

	err = airsim_nl_get_position(info, settings);
	if (err)
		return err;
	err = airsim_nl_get_rate(info, settings);
	if (err)
		return err;
	airsim_nl_get_fields(info, settings_fields, ARRAY_SIZE(settings_fields),
			     settings);
	if (settings->ul_ofdma && hardware->standard != AIRSIM_80211AX)
		return airsim_nl_reject(info, info->attrs[AIRSIM_ATTR_UL_OFDMA],
					"requires 802.11ax");
	if (settings->rate_fixed)
		return airsim_rate_check(hardware, &settings->rate,
					 info->extack);
	return 0;
}

/* Reports a missing attribute by number and by name. */
static bool airsim_nl_missing(const struct genl_info *info, u32 attr,
			      const char *name)
{
	if (!GENL_REQ_ATTR_CHECK(info, attr))
		return false;
	GENL_SET_ERR_MSG_FMT(info, "%s is missing", name);
	return true;
}

static int airsim_nl_reject_index(const struct genl_info *info)
{
	const struct nlattr *index = info->attrs[AIRSIM_ATTR_INDEX];

	NL_SET_ERR_MSG_ATTR_FMT(info->extack, index, "radio %u does not exist",
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
			    "unknown preset: see the list of presets");
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
		return airsim_nl_reject(info, info->attrs[AIRSIM_ATTR_INDEX],
					"not allowed for a new radio");
	err = airsim_nl_choose_preset(info, &preset);
	if (err)
		return err;
	hardware = preset->hardware;
	airsim_nl_get_fields(info, hardware_fields, ARRAY_SIZE(hardware_fields),
			     &hardware);
	/* The first preset, generic, has the default of its standard. */
	if (preset == airsim_preset_at(0) &&
	    !info->attrs[AIRSIM_ATTR_MPDU_SPACING_NS])
		hardware.mpdu_spacing_ns =
			airsim_default_spacing_ns(hardware.standard);
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
		NL_SET_ERR_MSG(info->extack, "the radio was removed concurrently");
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
	int err;

	if (airsim_nl_missing(info, AIRSIM_ATTR_INDEX, "index"))
		return -EINVAL;
	mutex_lock(&airsim_nl_mutex);
	err = airsim_radio_remove(nla_get_u32(info->attrs[AIRSIM_ATTR_INDEX]),
				  info->extack);
	mutex_unlock(&airsim_nl_mutex);
	return err;
}

static int airsim_nl_get_radio(struct sk_buff *request, struct genl_info *info)
{
	struct airsim_radio_info radio;
	struct sk_buff *reply;
	int err;

	if (airsim_nl_missing(info, AIRSIM_ATTR_INDEX, "index"))
		return -EINVAL;
	if (airsim_radio_read(nla_get_u32(info->attrs[AIRSIM_ATTR_INDEX]),
			      &radio))
		return airsim_nl_reject_index(info);
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

/* Progress of a dump. */
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
			return skb->len ?: err;
	}
	return 0;
}

static int airsim_nl_set_radio(struct sk_buff *request, struct genl_info *info)
{
	struct airsim_radio_info radio;
	struct nlattr *fixed;
	u32 index;
	int err;

	if (airsim_nl_missing(info, AIRSIM_ATTR_INDEX, "index"))
		return -EINVAL;
	fixed = airsim_nl_first_given(info, hardware_fields,
				      ARRAY_SIZE(hardware_fields));
	if (!fixed)
		fixed = info->attrs[AIRSIM_ATTR_PRESET];
	if (fixed)
		return airsim_nl_reject(info, fixed,
					"only allowed for a new radio");
	index = nla_get_u32(info->attrs[AIRSIM_ATTR_INDEX]);

	mutex_lock(&airsim_nl_mutex);
	err = airsim_radio_read(index, &radio);
	if (err)
		err = airsim_nl_reject_index(info);
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
			return skb->len ?: err;
		at->next++;
	}
	return 0;
}

/* The rate that a radio uses for another one now. */
static int airsim_nl_read_link_rate(u32 from, u32 to, struct airsim_rate *rate,
				    struct genl_info *info)
{
	struct airsim_link_info link;
	struct airsim_radio_info radio;

	if (!airsim_link_read(from, to, &link) && link.has_rate) {
		*rate = link.rate;
		return 0;
	}
	if (airsim_radio_read(from, &radio)) {
		NL_SET_ERR_MSG_ATTR_FMT(info->extack,
					info->attrs[AIRSIM_ATTR_FROM],
					"radio %u does not exist", from);
		return -ENODEV;
	}
	*rate = radio.settings.rate;
	return 0;
}

/* Attributes of the rate, or rate_fixed 0: back to that of the radio. */
static int airsim_nl_set_link_rate(struct genl_info *info, u32 from, u32 to)
{
	struct airsim_settings settings;
	int err;

	settings.rate_fixed = false;
	mutex_lock(&airsim_nl_mutex);
	err = airsim_nl_read_link_rate(from, to, &settings.rate, info);
	err = err ?: airsim_nl_get_rate(info, &settings);
	err = err ?: airsim_link_set_rate(from, to,
					  settings.rate_fixed ? &settings.rate :
								NULL,
					  info->extack);
	mutex_unlock(&airsim_nl_mutex);
	return err;
}

static int airsim_nl_set_link(struct sk_buff *request, struct genl_info *info)
{
	struct nlattr *loss = info->attrs[AIRSIM_ATTR_LOSS_MDB];
	struct nlattr *blocked = info->attrs[AIRSIM_ATTR_BLOCKED];
	struct nlattr *fixed = info->attrs[AIRSIM_ATTR_RATE_FIXED];
	struct nlattr *rate = airsim_nl_first_given(info, rate_fields,
						    ARRAY_SIZE(rate_fields));
	bool given = true;
	s32 loss_mdb;
	u32 from, to;

	if (airsim_nl_missing(info, AIRSIM_ATTR_FROM, "from") ||
	    airsim_nl_missing(info, AIRSIM_ATTR_TO, "to"))
		return -EINVAL;
	if (loss && blocked)
		return airsim_nl_reject(info, blocked,
					"loss_mdb and blocked are mutually exclusive");
	if ((loss || blocked) && (rate || fixed))
		return airsim_nl_reject(info, rate ?: fixed,
					"not allowed with loss_mdb or blocked");
	if (fixed && nla_get_u8(fixed) && !rate)
		return airsim_nl_reject(info, fixed,
					"on needs attributes of the rate");
	if (!loss && !rate && !fixed &&
	    airsim_nl_missing(info, AIRSIM_ATTR_BLOCKED,
			      "loss_mdb, blocked or a rate"))
		return -EINVAL;
	from = nla_get_u32(info->attrs[AIRSIM_ATTR_FROM]);
	to = nla_get_u32(info->attrs[AIRSIM_ATTR_TO]);
	if (from == to)
		return airsim_nl_reject(info, info->attrs[AIRSIM_ATTR_TO],
					"from and to are the same radio");
	if (rate || fixed)
		return airsim_nl_set_link_rate(info, from, to);
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
	struct airsim_link_info link;
	int err;

	for (; at->next < AIRSIM_MAX_RADIOS * AIRSIM_MAX_RADIOS; at->next++) {
		u32 from = at->next / AIRSIM_MAX_RADIOS;
		u32 to = at->next % AIRSIM_MAX_RADIOS;

		if (airsim_link_read(from, to, &link))
			continue;
		err = airsim_nl_put_link(skb, genl_info_dump(cb), NLM_F_MULTI,
					 from, to, &link);
		if (err)
			return skb->len ?: err;
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
	if (!header || airsim_nl_put_fields(reply, air_fields,
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
	/* All commands use strict validation. */
	.resv_start_op = AIRSIM_CMD_NEW_RADIO,
	.split_ops = airsim_nl_ops,
	.n_split_ops = ARRAY_SIZE(airsim_nl_ops),
};

/**
 * airsim_netlink_init - register the family
 *
 * Called last in initialization: requests may arrive at once.
 *
 * Return: 0 or a negative error.
 */
int airsim_netlink_init(void)
{
	return genl_register_family(&airsim_nl_family);
}

/**
 * airsim_netlink_exit - unregister the family
 *
 * Waits for requests in progress.
 */
void airsim_netlink_exit(void)
{
	genl_unregister_family(&airsim_nl_family);
}
