// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/debug/airsim/stats: airtime, and what has become of all MPDUs,
 * one "name value" per line.
 *
 * /sys/kernel/debug/airsim/peers: what each radio has sent to each receiver, one
 * "radio address present|left airtime_ns" per line.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include "airsim.h"

static struct dentry *airsim_debugfs_dir;

static void airsim_stats_show_radios(struct seq_file *file)
{
	struct airsim_radio_counters sum = {};
	struct airsim_radio_info *info;
	u64 *total = (u64 *)&sum;
	int i, j;

	info = kmalloc(sizeof(*info), GFP_KERNEL);
	if (!info)
		return;
	for (i = 0; i < AIRSIM_MAX_RADIOS; i++) {
		if (airsim_radio_read(i, info))
			continue;
		for (j = 0; j < sizeof(sum) / sizeof(u64); j++)
			total[j] += ((u64 *)&info->counters)[j];
	}
	kfree(info);
	seq_printf(file, "ppdus %llu\n", sum.ppdus);
	seq_printf(file, "rts %llu\n", sum.rts_sent);
	seq_printf(file, "cts_to_self %llu\n", sum.cts_to_self_sent);
	seq_printf(file, "block_ack_requests %llu\n", sum.bar_sent);
	seq_printf(file, "triggers %llu\n", sum.triggers_sent);
	seq_printf(file, "he_tb_ppdus %llu\n", sum.tb_sent);
	seq_printf(file, "collisions %llu\n", sum.collided);
	seq_printf(file, "acks_suppressed %llu\n", sum.acks_suppressed);
	seq_printf(file, "acks_held %llu\n", sum.acks_held);
	seq_printf(file, "tx_taken %llu\n", sum.taken);
	seq_printf(file, "tx_acked %llu\n", sum.acked);
	seq_printf(file, "tx_unanswerable %llu\n", sum.unanswerable);
	seq_printf(file, "tx_dropped_retries %llu\n", sum.dropped_retries);
	seq_printf(file, "tx_dropped_stopped %llu\n", sum.dropped_stopped);
	seq_printf(file, "tx_dropped_queue_gone %llu\n",
		   sum.dropped_queue_gone);
	seq_printf(file, "tx_queued %llu\n", sum.queued);
	seq_printf(file, "tx_retries %llu\n", sum.retries);
	seq_printf(file, "rx_received %llu\n", sum.received);
	seq_printf(file, "rx_handed_up %llu\n", sum.handed_up);
	seq_printf(file, "rx_no_memory %llu\n", sum.rx_no_memory);
	seq_printf(file, "rx_dropped_stopped %llu\n", sum.rx_dropped_stopped);
	seq_printf(file, "rx_waiting %llu\n", sum.rx_waiting);
}

static int airsim_stats_show(struct seq_file *file, void *unused)
{
	struct airsim_counters *counters;
	u64 busy_ns, now_ns;
	int i;

	counters = kmalloc(sizeof(*counters), GFP_KERNEL);
	if (!counters)
		return -ENOMEM;
	now_ns = ktime_get_ns();
	spin_lock_bh(&airsim_medium.lock);
	*counters = airsim_medium.counters;
	spin_unlock_bh(&airsim_medium.lock);
	busy_ns = counters->collision_ns;
	for (i = 0; i < AIRSIM_KINDS; i++)
		busy_ns += counters->airtime_ns[i];
	seq_printf(file, "time_ns %llu\n", now_ns);
	seq_printf(file, "airtime_data_ns %llu\n",
		   counters->airtime_ns[AIRSIM_KIND_DATA]);
	seq_printf(file, "airtime_ack_ns %llu\n",
		   counters->airtime_ns[AIRSIM_KIND_TCP_ACK]);
	seq_printf(file, "airtime_other_ns %llu\n",
		   counters->airtime_ns[AIRSIM_KIND_OTHER]);
	seq_printf(file, "airtime_collision_ns %llu\n",
		   counters->collision_ns);
	/* Sum of all channels: 0 if several are busy. */
	seq_printf(file, "airtime_idle_ns %llu\n",
		   now_ns - min(busy_ns, now_ns));
	airsim_stats_show_radios(file);
	for (i = 1; i <= AIRSIM_MAX_MPDUS; i++)
		if (i <= 64 || counters->ampdu_sizes[i])
			seq_printf(file, "ampdu_size_%d %llu\n", i,
				   counters->ampdu_sizes[i]);
	kfree(counters);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(airsim_stats);

static int airsim_peers_file_show(struct seq_file *file, void *unused)
{
	airsim_registry_show_peers(file);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(airsim_peers_file);

/** airsim_debugfs_init - create the files */
void airsim_debugfs_init(void)
{
	airsim_debugfs_dir = debugfs_create_dir("airsim", NULL);
	debugfs_create_file("stats", 0444, airsim_debugfs_dir, NULL,
			    &airsim_stats_fops);
	debugfs_create_file("peers", 0444, airsim_debugfs_dir, NULL,
			    &airsim_peers_file_fops);
}

/** airsim_debugfs_exit - remove the files */
void airsim_debugfs_exit(void)
{
	debugfs_remove(airsim_debugfs_dir);
}
