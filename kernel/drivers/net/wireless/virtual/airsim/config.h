/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Radio capabilities, fixed when a radio is added, and settings, which may
 * change at any time. Ranges and defaults are in <uapi/linux/airsim.h>,
 * constraints between attributes in config.c.
 */
#ifndef AIRSIM_CONFIG_H
#define AIRSIM_CONFIG_H

#include <linux/netlink.h>
#include <linux/types.h>
#include <uapi/linux/airsim.h>
#include "airtime.h"
#include "fading.h"
#include "loss.h"
#include "propagation.h"

#define AIRSIM_INT_MEMBER(_name, _member, _type, ...)	_type _member;
#define AIRSIM_BOOL_MEMBER(_name, _member, ...)	bool _member;
#define AIRSIM_ENUM_MEMBER(_name, _member, _tag, ...)	enum _tag _member;
#define AIRSIM_MEMBERS(_rows) \
	_rows(AIRSIM_INT_MEMBER, AIRSIM_BOOL_MEMBER, AIRSIM_ENUM_MEMBER)

/* Initializers. */
#define AIRSIM_INT_DEFAULT(_name, _member, _type, _min, _max, _default) \
	._member = _default,
#define AIRSIM_BOOL_DEFAULT(_name, _member, _default)	._member = _default,
#define AIRSIM_ENUM_DEFAULT(_name, _member, _tag, _default, ...) \
	._member = _default,
#define AIRSIM_DEFAULTS(_rows) \
	_rows(AIRSIM_INT_DEFAULT, AIRSIM_BOOL_DEFAULT, AIRSIM_ENUM_DEFAULT)

/* Radio capabilities. The members are documented in enum airsim_attr. */
struct airsim_hardware {
	AIRSIM_MEMBERS(AIRSIM_HARDWARE)
};

/* Radio settings. The members are documented in enum airsim_attr. */
struct airsim_settings {
	AIRSIM_MEMBERS(AIRSIM_SETTINGS)
	struct airsim_burst burst;
	struct airsim_position position;
	struct airsim_rate rate;
};

/**
 * struct airsim_air - propagation parameters, for all radios
 * @propagation: path loss between radios with positions
 * @fading: of the signals between all radios
 * @cca_threshold_mdbm: weaker signals are not detected
 */
struct airsim_air {
	struct airsim_propagation propagation;
	struct airsim_fading fading;
	s32 cca_threshold_mdbm;
};

/**
 * struct airsim_preset - a radio of existing hardware
 * @name: name
 * @hardware: radio capabilities
 * @settings: radio settings
 */
struct airsim_preset {
	const char *name;
	struct airsim_hardware hardware;
	struct airsim_settings settings;
};

/* config.c */
u16 airsim_default_spacing_ns(enum airsim_standard standard);
int airsim_hardware_check(const struct airsim_hardware *hardware,
			  struct netlink_ext_ack *extack);
int airsim_rate_check(const struct airsim_hardware *hardware,
		      const struct airsim_rate *rate,
		      struct netlink_ext_ack *extack);

/* presets.c */
const struct airsim_preset *airsim_preset_find(const char *name);
const struct airsim_preset *airsim_preset_at(unsigned int index);

#endif
