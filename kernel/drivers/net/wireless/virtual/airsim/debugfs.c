// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/debug/airsim: `stats`, one "name value" a line, and a file for
 * each of struct airsim_settings.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include "airsim.h"

struct airsim_settings airsim_settings = {
	.ampdu_mpdus = AIRSIM_MAX_MPDUS,
	.ampdu_octets = 65535,
	.ampdu_duration_us = AIRSIM_HT_MAX_PPDU_NS / 1000,
	.gro_flush_us = 100,
};

static struct dentry *directory;

static int stats_show(struct seq_file *file, void *unused)
{
	struct airsim_counters *sum;
	u64 busy_ns, now_ns;
	int i;

	sum = kzalloc(sizeof(*sum), GFP_KERNEL);
	if (!sum)
		return -ENOMEM;
	now_ns = ktime_get_ns();
	airsim_media_sum(sum);
	busy_ns = sum->collision_ns;
	for (i = 0; i < AIRSIM_KINDS; i++)
		busy_ns += sum->airtime_ns[i];
	seq_printf(file, "time_ns %llu\n", now_ns);
	seq_printf(file, "airtime_data_ns %llu\n",
		   sum->airtime_ns[AIRSIM_KIND_DATA]);
	seq_printf(file, "airtime_ack_ns %llu\n",
		   sum->airtime_ns[AIRSIM_KIND_TCP_ACK]);
	seq_printf(file, "airtime_other_ns %llu\n",
		   sum->airtime_ns[AIRSIM_KIND_OTHER]);
	seq_printf(file, "airtime_collision_ns %llu\n", sum->collision_ns);
	seq_printf(file, "airtime_idle_ns %llu\n", now_ns - busy_ns);
	seq_printf(file, "ppdus %llu\n", sum->ppdus);
	seq_printf(file, "mpdus %llu\n", sum->mpdus);
	seq_printf(file, "tx_retries %llu\n", sum->retries);
	seq_printf(file, "tx_drops %llu\n", sum->drops);
	seq_printf(file, "collisions %llu\n", sum->collisions);
	for (i = 1; i <= AIRSIM_MAX_MPDUS; i++)
		seq_printf(file, "ampdu_size_%d %llu\n", i,
			   sum->ampdu_sizes[i]);
	kfree(sum);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

/** airsim_debugfs_init - make the files */
void airsim_debugfs_init(void)
{
	struct airsim_settings *set = &airsim_settings;

	directory = debugfs_create_dir("airsim", NULL);
	debugfs_create_file("stats", 0444, directory, NULL, &stats_fops);
	debugfs_create_u32("error_rate_ppm", 0644, directory,
			   &set->error_rate_ppm);
	debugfs_create_u32("ampdu_mpdus", 0644, directory, &set->ampdu_mpdus);
	debugfs_create_u32("ampdu_bytes", 0644, directory, &set->ampdu_octets);
	debugfs_create_u32("ampdu_duration_us", 0644, directory,
			   &set->ampdu_duration_us);
	debugfs_create_u32("gro_flush_us", 0644, directory,
			   &set->gro_flush_us);
}

/** airsim_debugfs_exit - remove them */
void airsim_debugfs_exit(void)
{
	debugfs_remove(directory);
}
