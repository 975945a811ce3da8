/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * airsim is written for Linux 6.12. This file, included before each of its
 * files, defines what it uses for versions in which that is missing or differs.
 *
 * A driver operation whose parameters differ is a macro with parameters: it
 * changes the definition, and leaves the name in struct ieee80211_ops alone.
 */
#ifndef AIRSIM_COMPAT_H
#define AIRSIM_COMPAT_H

#include <linux/bug.h>
#include <linux/etherdevice.h>
#include <linux/hrtimer.h>
#include <linux/netdevice.h>
#include <linux/netlink.h>
#include <linux/version.h>
#include <net/cfg80211.h>
#include <net/genetlink.h>
#include <net/mac80211.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
#define airsim_config(_hw, _changed) airsim_config(_hw, int radio_idx, _changed)
#define airsim_set_rts_threshold(_hw, _value) \
	airsim_set_rts_threshold(_hw, int radio_idx, _value)
#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
static inline enum hrtimer_restart airsim_timer_unset(struct hrtimer *timer)
{
	return HRTIMER_NORESTART;
}

#define hrtimer_init(_timer, _clock, _mode) \
	hrtimer_setup(_timer, airsim_timer_unset, _clock, _mode)
#endif

#ifndef NL_ASSERT_DUMP_CTX_FITS
#define NL_ASSERT_DUMP_CTX_FITS(_type) \
	BUILD_BUG_ON(sizeof(_type) > sizeof_field(struct netlink_callback, ctx))
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#define ieee80211_radiotap_header_fixed ieee80211_radiotap_header
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define airsim_stop(_hw, _suspend) airsim_stop(_hw)
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
/* It is not registered. */
#define alloc_netdev_dummy(_size) \
	alloc_netdev(_size, "airsim", NET_NAME_UNKNOWN, ether_setup)

static inline int cfg80211_chandef_get_width(const struct cfg80211_chan_def *c)
{
	switch (c->width) {
	case NL80211_CHAN_WIDTH_40:
		return 40;
	case NL80211_CHAN_WIDTH_80:
		return 80;
	case NL80211_CHAN_WIDTH_160:
		return 160;
	case NL80211_CHAN_WIDTH_320:
		return 320;
	default:
		return 20;
	}
}
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 9, 0)
/* Without these operations mac80211 emulates channel contexts. */
#define ieee80211_emulate_add_chanctx NULL
#define ieee80211_emulate_remove_chanctx NULL
#define ieee80211_emulate_change_chanctx NULL
#define ieee80211_emulate_switch_vif_chanctx NULL
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
#define _ieee80211_set_sband_iftype_data(_sband, _data, _count) \
	((_sband)->iftype_data = (_data), (_sband)->n_iftype_data = (_count))
#define genl_info_dump(_cb) \
	(&(const struct genl_info){ \
		.snd_portid = NETLINK_CB((_cb)->skb).portid, \
		.snd_seq = (_cb)->nlh->nlmsg_seq, \
		.genlhdr = nlmsg_data((_cb)->nlh), \
	})
#define __genlmsg_iput(_skb, _info, _flags) \
	genlmsg_put(_skb, (_info)->snd_portid, (_info)->snd_seq, \
		    &airsim_nl_family, _flags, (_info)->genlhdr->cmd)
#define genlmsg_iput(_skb, _info) __genlmsg_iput(_skb, _info, 0)
/* Without const it would not accept a const struct genl_info. */
#undef GENL_REQ_ATTR_CHECK
#define GENL_REQ_ATTR_CHECK(_info, _attr) \
	NL_REQ_ATTR_CHECK((_info)->extack, NULL, (_info)->attrs, _attr)
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
#include <net/ieee80211_radiotap_eht.h>
#endif

#ifndef NL_SET_ERR_MSG_FMT
#define NL_SET_ERR_MSG_FMT(_extack, ...) do { \
	static char _text[80]; \
	snprintf(_text, sizeof(_text), __VA_ARGS__); \
	if (_extack) \
		(_extack)->_msg = _text; \
} while (0)
#endif

#ifndef NL_SET_ERR_MSG_ATTR_FMT
#define NL_SET_ERR_MSG_ATTR_FMT(_extack, _attr, ...) do { \
	NL_SET_ERR_MSG_FMT(_extack, __VA_ARGS__); \
	NL_SET_BAD_ATTR(_extack, _attr); \
} while (0)
#endif

#ifndef GENL_SET_ERR_MSG_FMT
#define GENL_SET_ERR_MSG_FMT(_info, ...) \
	NL_SET_ERR_MSG_FMT((_info)->extack, __VA_ARGS__)
#endif

#endif
