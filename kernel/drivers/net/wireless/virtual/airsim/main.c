// SPDX-License-Identifier: GPL-2.0-only
/* Module init and exit. */
#include <linux/module.h>
#include "airsim.h"

static unsigned int radios = 2;
module_param(radios, uint, 0444);
MODULE_PARM_DESC(radios, "Number of initial radios (0 to 256, default 2)");

static char *preset = "generic";
module_param(preset, charp, 0444);
MODULE_PARM_DESC(preset, "Preset of the initial radios (default generic)");

static int airsim_add_radios(void)
{
	const struct airsim_preset *chosen = airsim_preset_find(preset);
	unsigned int i;
	int index;

	if (!chosen || radios > AIRSIM_MAX_RADIOS) {
		pr_err("airsim: radios=%u preset=%s: up to %u of a known preset are allowed\n",
		       radios, preset, AIRSIM_MAX_RADIOS);
		return -EINVAL;
	}
	for (i = 0; i < radios; i++) {
		index = airsim_radio_add(&chosen->hardware, &chosen->settings,
					 NULL);
		if (index < 0) {
			airsim_registry_clear();
			return index;
		}
	}
	return 0;
}

static int __init airsim_init(void)
{
	int err;

	airsim_medium_init();
	err = airsim_monitor_init();
	if (err)
		return err;
	err = airsim_add_radios();
	if (err)
		goto remove_monitor;
	err = airsim_netlink_init();
	if (err)
		goto remove_radios;
	airsim_debugfs_init();
	return 0;

remove_radios:
	airsim_registry_clear();
remove_monitor:
	/* The radios may have been used already. */
	airsim_medium_exit();
	airsim_monitor_exit();
	return err;
}
module_init(airsim_init);

static void __exit airsim_exit(void)
{
	airsim_debugfs_exit();
	airsim_netlink_exit();
	airsim_registry_clear();
	airsim_medium_exit();
	airsim_monitor_exit();
}
module_exit(airsim_exit);

MODULE_DESCRIPTION("Simulated 802.11 radios on a medium with airtime");
MODULE_LICENSE("GPL");
