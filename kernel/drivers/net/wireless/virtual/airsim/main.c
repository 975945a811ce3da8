// SPDX-License-Identifier: GPL-2.0-only
/* airsim: makes the media, the monitor interface and the radios. */
#include <linux/module.h>
#include <linux/slab.h>
#include "airsim.h"

static unsigned int radios = 2;
module_param(radios, uint, 0444);
MODULE_PARM_DESC(radios, "Radios to make (1 to 100, default 2)");

static struct airsim_radio **made;

static void destroy_radios(unsigned int count)
{
	while (count--)
		airsim_radio_destroy(made[count]);
	kfree(made);
}

static int create_radios(void)
{
	unsigned int i;

	made = kcalloc(radios, sizeof(*made), GFP_KERNEL);
	if (!made)
		return -ENOMEM;
	for (i = 0; i < radios; i++) {
		made[i] = airsim_radio_create(i);
		if (IS_ERR(made[i])) {
			int err = PTR_ERR(made[i]);

			destroy_radios(i);
			return err;
		}
	}
	return 0;
}

static int __init airsim_init(void)
{
	int err;

	if (radios < 1 || radios > 100) {
		pr_err("airsim: radios=%u: 1 to 100 are allowed\n", radios);
		return -EINVAL;
	}
	err = airsim_media_init();
	if (err)
		return err;
	err = airsim_monitor_init();
	if (err)
		goto free_media;
	err = create_radios();
	if (err)
		goto remove_monitor;
	airsim_debugfs_init();
	return 0;

remove_monitor:
	airsim_monitor_exit();
free_media:
	airsim_media_exit();
	return err;
}
module_init(airsim_init);

static void __exit airsim_exit(void)
{
	airsim_debugfs_exit();
	destroy_radios(radios);
	airsim_monitor_exit();
	airsim_media_exit();
}
module_exit(airsim_exit);

MODULE_DESCRIPTION("Simulated 802.11 radios on a medium with airtime");
MODULE_LICENSE("GPL");
