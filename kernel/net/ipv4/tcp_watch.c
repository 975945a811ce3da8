// SPDX-License-Identifier: GPL-2.0-only
/*
 * /proc/tcp_watch: samples of TCP connections, many per read().
 *
 * A program that asks sock_diag for each sample enters the kernel several times
 * per sample, and in User Mode Linux that costs more than the sample. Instead, it
 * writes "INTERVAL_NS FIRST_PORT LAST_PORT", and each read() returns the samples
 * of TCP_WATCH_BATCH_NS, but at least one: a struct tcp_watch and a struct
 * tcp_info for each connection over IPv4 that has one of these ports at either
 * end, in the network namespace of the program that opened the file. The first
 * read() starts the first sample. It returns 0 if there were no connections.
 */
#include <linux/hrtimer.h>
#include <linux/inet_diag.h>
#include <linux/nsproxy.h>
#include <linux/proc_fs.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <net/inet_hashtables.h>
#include <net/tcp.h>
#include <uapi/linux/tcp_watch.h>

#define TCP_WATCH_BATCH_NS	(100 * NSEC_PER_MSEC)
#define TCP_WATCH_RECORD	(sizeof(struct tcp_watch) + \
				 sizeof(struct tcp_info))

/**
 * struct tcp_watch_file - an open file
 * @lock: protects the other fields except @net
 * @net: network namespace
 * @interval_ns: between samples; 0 until it is written
 * @next: time of the next sample, CLOCK_MONOTONIC; 0 before the first
 * @first_port: lowest port
 * @last_port: highest port
 * @socks: connections of the current sample, with references
 * @room: number of connections for which @socks has room
 */
struct tcp_watch_file {
	struct mutex lock; /* protects the other fields except @net */
	struct net *net;
	u64 interval_ns;
	ktime_t next;
	u16 first_port;
	u16 last_port;
	struct sock **socks;
	unsigned int room;
};

static bool tcp_watch_has_port(const struct tcp_watch_file *watch, u16 port)
{
	return port >= watch->first_port && port <= watch->last_port;
}

static bool tcp_watch_matches(const struct tcp_watch_file *watch,
			      const struct sock *sk)
{
	return sk_fullsock(sk) && net_eq(sock_net(sk), watch->net) &&
	       sk->sk_family == AF_INET &&
	       (tcp_watch_has_port(watch, sk->sk_num) ||
		tcp_watch_has_port(watch, ntohs(sk->sk_dport)));
}

/* Adds those of a hash bucket to @count others; returns the new number. */
static unsigned int tcp_watch_bucket(struct tcp_watch_file *watch,
				     struct inet_hashinfo *hashinfo,
				     unsigned int bucket, unsigned int count)
{
	struct hlist_nulls_head *chain = &hashinfo->ehash[bucket].chain;
	spinlock_t *lock = inet_ehash_lockp(hashinfo, bucket);
	struct hlist_nulls_node *node;
	struct sock *sk;

	if (hlist_nulls_empty(chain))
		return count;
	spin_lock_bh(lock);
	sk_nulls_for_each(sk, node, chain) {
		if (!tcp_watch_matches(watch, sk))
			continue;
		if (count >= watch->room)
			count++;
		else if (refcount_inc_not_zero(&sk->sk_refcnt))
			watch->socks[count++] = sk;
	}
	spin_unlock_bh(lock);
	return count;
}

static void tcp_watch_put(struct tcp_watch_file *watch, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		sock_put(watch->socks[i]);
}

/* Returns the number of connections, or an error. */
static int tcp_watch_find(struct tcp_watch_file *watch)
{
	struct inet_hashinfo *hashinfo =
		watch->net->ipv4.tcp_death_row.hashinfo;
	unsigned int count, bucket;
	struct sock **socks;

	while (1) {
		count = 0;
		for (bucket = 0; bucket <= hashinfo->ehash_mask; bucket++)
			count = tcp_watch_bucket(watch, hashinfo, bucket,
						 count);
		if (count <= watch->room)
			return count;
		tcp_watch_put(watch, watch->room);
		socks = kvmalloc_array(2 * count, sizeof(*socks), GFP_KERNEL);
		if (!socks)
			return -ENOMEM;
		kvfree(watch->socks);
		watch->socks = socks;
		watch->room = 2 * count;
	}
}

static int tcp_watch_copy(struct sock *sk, u64 time_ns, char __user *to)
{
	struct {
		struct tcp_watch head;
		struct tcp_info info;
	} record = {
		.head.time_ns = time_ns,
		.head.info_bytes = sizeof(record.info),
	};
	struct inet_diag_msg message;

	inet_diag_msg_common_fill(&message, sk);
	record.head.id = message.id;
	tcp_get_info(sk, &record.info);
	BUILD_BUG_ON(sizeof(record) != TCP_WATCH_RECORD);
	return copy_to_user(to, &record, sizeof(record)) ? -EFAULT : 0;
}

/* Returns the number of bytes, or an error. */
static ssize_t tcp_watch_sample(struct tcp_watch_file *watch, char __user *to,
				size_t len)
{
	u64 time_ns = ktime_get_real_ns();
	int i, err = 0, count;

	count = tcp_watch_find(watch);
	if (count < 0)
		return count;
	if (count * TCP_WATCH_RECORD > len)
		err = -ENOBUFS;
	for (i = 0; i < count && !err; i++)
		err = tcp_watch_copy(watch->socks[i], time_ns,
				     to + i * TCP_WATCH_RECORD);
	tcp_watch_put(watch, count);
	return err ?: count * TCP_WATCH_RECORD;
}

static int tcp_watch_sleep(struct tcp_watch_file *watch)
{
	set_current_state(TASK_INTERRUPTIBLE);
	return schedule_hrtimeout(&watch->next, HRTIMER_MODE_ABS);
}

static ssize_t tcp_watch_read(struct file *file, char __user *to, size_t len,
			      loff_t *ppos)
{
	struct tcp_watch_file *watch = file->private_data;
	ssize_t bytes = 0, done = 0;
	ktime_t until;

	if (mutex_lock_interruptible(&watch->lock))
		return -EINTR;
	if (!watch->interval_ns)
		bytes = -EINVAL;
	if (!watch->next)
		watch->next = ktime_get();
	until = ktime_add_ns(watch->next, TCP_WATCH_BATCH_NS);
	while (bytes >= 0 && ktime_before(watch->next, until)) {
		bytes = tcp_watch_sleep(watch);
		if (!bytes)
			bytes = tcp_watch_sample(watch, to + done, len - done);
		if (bytes < 0)
			break;
		done += bytes;
		watch->next = ktime_add_ns(watch->next, watch->interval_ns);
	}
	mutex_unlock(&watch->lock);
	return done ?: bytes;
}

static ssize_t tcp_watch_write(struct file *file, const char __user *from,
			       size_t len, loff_t *ppos)
{
	struct tcp_watch_file *watch = file->private_data;
	u64 interval_ns, first_port, last_port;
	char text[64];

	if (len >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, from, len))
		return -EFAULT;
	text[len] = 0;
	if (sscanf(text, "%llu %llu %llu", &interval_ns, &first_port,
		   &last_port) != 3 || !interval_ns || interval_ns > S64_MAX / 2 ||
	    first_port > last_port || last_port > U16_MAX)
		return -EINVAL;
	mutex_lock(&watch->lock);
	watch->interval_ns = interval_ns;
	watch->first_port = first_port;
	watch->last_port = last_port;
	mutex_unlock(&watch->lock);
	return len;
}

static int tcp_watch_open(struct inode *inode, struct file *file)
{
	struct tcp_watch_file *watch = kzalloc(sizeof(*watch), GFP_KERNEL);

	if (!watch)
		return -ENOMEM;
	mutex_init(&watch->lock);
	watch->net = get_net(current->nsproxy->net_ns);
	file->private_data = watch;
	return nonseekable_open(inode, file);
}

static int tcp_watch_release(struct inode *inode, struct file *file)
{
	struct tcp_watch_file *watch = file->private_data;

	put_net(watch->net);
	kvfree(watch->socks);
	kfree(watch);
	return 0;
}

static const struct proc_ops tcp_watch_ops = {
	.proc_open	= tcp_watch_open,
	.proc_read	= tcp_watch_read,
	.proc_write	= tcp_watch_write,
	.proc_release	= tcp_watch_release,
};

static int __init tcp_watch_init(void)
{
	return proc_create("tcp_watch", 0600, NULL, &tcp_watch_ops) ? 0 :
								     -ENOMEM;
}
late_initcall(tcp_watch_init);
