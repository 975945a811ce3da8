// SPDX-License-Identifier: GPL-2.0-only
/*
 * "ackhold": a qdisc that sends fewer TCP ACKs
 *
 * Over Wi-Fi the cost of an ACK is not its bytes but a channel access. The ACK
 * policy "auto" makes a receiver send fewer of them, but needs a patched TCP.
 * This qdisc does nearly the same at the egress of a host: a pure ACK waits for
 * as long as "auto" would delay it, and a newer one of its connection replaces
 * it. All other packets pass in order through a FIFO.
 *
 *	tc qdisc add dev wlan0 root ackhold
 *
 * ackhold.h decides which ACKs may wait and for how long; here is what it works
 * on: packets, connections, and the timer.
 *
 * The socket of the connection knows the RTT. Forwarded ACKs have no socket and
 * pass.
 *
 * Packets that are not plain TCP over IPv4 or IPv6 pass: fragments, IPv6 with
 * extension headers, VLANs, tunnels, GSO of other protocols, and BIG TCP.
 *
 * The qdisc is for devices that do not queue above their driver, such as those
 * of mac80211. It has no AQM.
 */

#include <linux/hrtimer.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/jhash.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/rbtree.h>
#include <linux/tcp.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/pkt_sched.h>
#include <net/tcp.h>

#include "ackhold.h"

/* Connections that are known at a time; each hash has a few places */
#define ACKHOLD_PLACES	4
#define ACKHOLD_FLOWS	(256 * ACKHOLD_PLACES)

/* A connection that was silent for so long gives its place to another */
#define ACKHOLD_FORGET_US	USEC_PER_SEC

static struct ackhold_params ackhold_params = ACKHOLD_PARAMS_DEFAULT;

/* Up to half of what TCP may delay an ACK by itself */
static int ackhold_set_us(const char *value, const struct kernel_param *param)
{
	return param_set_uint_minmax(value, param, 1, 100 * USEC_PER_MSEC);
}

static const struct kernel_param_ops ackhold_us_ops = {
	.set	= ackhold_set_us,
	.get	= param_get_uint,
};

module_param_cb(max_hold_us, &ackhold_us_ops, &ackhold_params.max_hold_us,
		0644);
MODULE_PARM_DESC(max_hold_us, "longest wait of data for a held ACK");
module_param_cb(min_interval_us, &ackhold_us_ops,
		&ackhold_params.timing.min_interval_us, 0644);
MODULE_PARM_DESC(min_interval_us, "tcp_auto_min_interval_us of auto");
module_param_cb(max_interval_us, &ackhold_us_ops,
		&ackhold_params.timing.max_interval_us, 0644);
MODULE_PARM_DESC(max_interval_us, "tcp_auto_max_interval_us of auto");

/* IPv4 addresses are mapped. All 32-bit words, without padding. */
struct ackhold_key {
	struct in6_addr saddr;
	struct in6_addr daddr;
	__be16 source;
	__be16 dest;
};

/**
 * struct ackhold_slot - a connection
 * @node: in ackhold_sched_data.held, by time, if an ACK is held
 * @skb: the held ACK, %NULL if there is none
 * @flow: state of the decisions
 * @key: addresses and ports
 * @is_used: the other members are valid
 */
struct ackhold_slot {
	struct rb_node node;
	struct sk_buff *skb;
	struct ackhold_flow flow;
	struct ackhold_key key;
	bool is_used;
};

/**
 * struct tc_ackhold_xstats - counters, as TCA_STATS_APP
 * @held: ACKs that were held
 * @replaced: held ACKs that a newer segment replaced; also in the drops of the
 *	qdisc
 * @expired: held ACKs that were sent by the timer
 * @flushed: held ACKs that were sent because of a segment that does not replace
 *	them
 * @crowded: segments of connections for which there was no place
 * @longest_us: longest time for which data waited for a held ACK
 * @holding: ACKs held now
 */
struct tc_ackhold_xstats {
	__u64 held;
	__u64 replaced;
	__u64 expired;
	__u64 flushed;
	__u64 crowded;
	__u32 longest_us;
	__u32 holding;
};

/**
 * struct ackhold_sched_data - the qdisc
 * @watchdog: fires when a held ACK is due, or earlier
 * @held: connections with a held ACK, by time
 * @slots: connections by hash
 * @perturb: initial value of the hash
 * @stats: counters
 *
 * Protected by the lock of the root qdisc. Held ACKs are part of the length and
 * the backlog of the qdisc, but not of its list of packets.
 */
struct ackhold_sched_data {
	struct qdisc_watchdog watchdog;
	struct rb_root_cached held;
	struct ackhold_slot *slots;
	u32 perturb;
	struct tc_ackhold_xstats stats;
};

static u64 ackhold_now_us(void)
{
	return div_u64(ktime_get_ns(), NSEC_PER_USEC);
}

/* Read the addresses.
 *
 * Return: the offset of the TCP header after the network header, and the length
 * from there on in @len; 0 if there is none.
 */
static unsigned int ackhold_read_ip(const struct sk_buff *skb,
				    struct ackhold_key *key, unsigned int *len)
{
	int offset = skb_network_offset(skb);
	union {
		struct iphdr ip4;
		struct ipv6hdr ip6;
	} buf;

	if (skb->protocol == htons(ETH_P_IP)) {
		const struct iphdr *ip4;
		unsigned int ip_len;

		ip4 = skb_header_pointer(skb, offset, sizeof(*ip4), &buf);
		if (!ip4 || ip4->version != 4 || ip4->ihl < 5 ||
		    ip4->protocol != IPPROTO_TCP || ip_is_fragment(ip4))
			return 0;

		ip_len = ntohs(ip4->tot_len);
		if (ip_len < ip4->ihl * 4)
			return 0;

		ipv6_addr_set_v4mapped(ip4->saddr, &key->saddr);
		ipv6_addr_set_v4mapped(ip4->daddr, &key->daddr);
		*len = ip_len - ip4->ihl * 4;
		return ip4->ihl * 4;
	}

	if (skb->protocol == htons(ETH_P_IPV6)) {
		const struct ipv6hdr *ip6;

		ip6 = skb_header_pointer(skb, offset, sizeof(*ip6), &buf);
		if (!ip6 || ip6->version != 6 || ip6->nexthdr != IPPROTO_TCP)
			return 0;

		key->saddr = ip6->saddr;
		key->daddr = ip6->daddr;
		*len = ntohs(ip6->payload_len);
		return sizeof(*ip6);
	}

	return 0;
}

/* Read the headers. Return: is it a segment that the qdisc understands? */
static bool ackhold_read(const struct sk_buff *skb, struct ackhold_key *key,
			 struct ackhold_segment *seg)
{
	u32 buf[ACKHOLD_TCP_MAX / sizeof(u32)];
	unsigned int offset, len, tcp_len;
	const struct tcphdr *tcph;

	/* GSO segments of TCP have data, so they do not wait, but an ACK of
	 * their connection must not follow them.
	 */
	if ((skb_is_gso(skb) && !skb_is_gso_tcp(skb)) ||
	    skb_vlan_tag_present(skb))
		return false;

	offset = ackhold_read_ip(skb, key, &len);
	if (!offset)
		return false;

	offset += skb_network_offset(skb);
	tcph = skb_header_pointer(skb, offset, sizeof(*tcph), buf);
	if (!tcph)
		return false;

	tcp_len = __tcp_hdrlen(tcph);
	if (tcp_len < sizeof(*tcph) || tcp_len > len)
		return false;

	tcph = skb_header_pointer(skb, offset, tcp_len, buf);
	if (!tcph)
		return false;

	key->source = tcph->source;
	key->dest = tcph->dest;

	return ackhold_parse(seg, (const u8 *)tcph, tcp_len, len - tcp_len);
}

/* What the socket of the segment knows. Its values are read without its lock,
 * but each is a single word, and an outdated one does no harm.
 *
 * Return: false if there is no socket of this connection, or it has just been
 * disconnected.
 */
static bool ackhold_ask_socket(const struct sk_buff *skb,
			       const struct ackhold_key *key,
			       struct ackhold_socket *result)
{
	const struct sock *sk = skb->sk;
	const struct tcp_sock *tp;
	u32 rtt_us, srtt_us;

	/* Not that of a tunnel, or of a connection before its translation */
	if (!sk || !sk_fullsock(sk) || !sk_is_tcp(sk) ||
	    inet_sk(sk)->inet_sport != key->source ||
	    inet_sk(sk)->inet_dport != key->dest)
		return false;

	/* As tcp_ackpol_rtt_us() */
	tp = tcp_sk(sk);
	rtt_us = READ_ONCE(tp->rcv_rtt_est.rtt_us);
	srtt_us = READ_ONCE(tp->srtt_us);
	if (srtt_us &&
	    (!rtt_us || (!tp->rx_opt.tstamp_ok && srtt_us < rtt_us)))
		rtt_us = srtt_us;

	result->rtt_us = rtt_us >> 3;
	result->mss = READ_ONCE(inet_csk(sk)->icsk_ack.rcv_mss);
	result->shift = tp->rx_opt.rcv_wscale;

	/* tcp_disconnect() clears it for a moment */
	return result->mss;
}

/* Find the connection of a segment, or give it a place if @may_add.
 *
 * Return: %NULL if it has none.
 */
static struct ackhold_slot *ackhold_find(struct ackhold_sched_data *q,
					 const struct ackhold_key *key,
					 bool may_add, u64 now_us)
{
	struct ackhold_slot *slot, *vacant = NULL;
	u32 hash;
	int i;

	BUILD_BUG_ON(sizeof(*key) % sizeof(u32));
	hash = jhash2((const u32 *)key, sizeof(*key) / sizeof(u32), q->perturb);
	slot = q->slots + hash % (ACKHOLD_FLOWS / ACKHOLD_PLACES) *
	       ACKHOLD_PLACES;
	for (i = 0; i < ACKHOLD_PLACES; i++, slot++) {
		if (slot->is_used && !memcmp(&slot->key, key, sizeof(*key)))
			return slot;

		if (!slot->is_used ||
		    (!slot->skb &&
		     now_us - slot->flow.arrival_us > ACKHOLD_FORGET_US))
			vacant = slot;
	}
	if (!may_add)
		return NULL;

	if (!vacant) {
		q->stats.crowded++;
		return NULL;
	}

	*vacant = (struct ackhold_slot){ .key = *key, .is_used = true };

	return vacant;
}

static bool ackhold_is_earlier(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct ackhold_slot, node)->flow.due_us <
	       rb_entry(b, struct ackhold_slot, node)->flow.due_us;
}

static void ackhold_hold(struct ackhold_sched_data *q,
			 struct ackhold_slot *slot, struct sk_buff *skb)
{
	slot->skb = skb;
	rb_add_cached(&slot->node, &q->held, ackhold_is_earlier);
	q->stats.holding++;
}

/* Take the held ACK of a connection out of the qdisc's data */
static struct sk_buff *ackhold_take(struct ackhold_sched_data *q,
				    struct ackhold_slot *slot)
{
	struct sk_buff *skb = slot->skb;

	rb_erase_cached(&slot->node, &q->held);
	slot->skb = NULL;
	q->stats.holding--;

	return skb;
}

/* The data that waited since @first_us is acknowledged */
static void ackhold_measure(struct ackhold_sched_data *q, u64 first_us,
			    u64 now_us)
{
	u32 waited_us = min_t(u64, now_us - first_us, U32_MAX);

	q->stats.longest_us = max(q->stats.longest_us, waited_us);
}

/* A held ACK, which is already part of the length and the backlog, follows those
 * packets that are in the list.
 */
static void ackhold_append(struct Qdisc *sch, struct sk_buff *skb)
{
	__qdisc_enqueue_tail(skb, &sch->q);
	sch->q.qlen--;
}

/* Drop the held ACK, after its successor was added to the qdisc: parents must not
 * see an empty qdisc in between.
 */
static void ackhold_drop(struct Qdisc *sch, struct sk_buff *skb,
			 struct sk_buff **to_free)
{
	unsigned int len = qdisc_pkt_len(skb);

	sch->q.qlen--;
	sch->qstats.backlog -= len;
	qdisc_tree_reduce_backlog(sch, 1, len);
	qdisc_drop(skb, sch, to_free);
}

static int ackhold_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			   struct sk_buff **to_free)
{
	struct ackhold_sched_data *q = qdisc_priv(sch);
	struct sk_buff *replaced = NULL;
	struct ackhold_verdict verdict;
	struct ackhold_slot *slot;
	struct ackhold_socket sk;
	struct ackhold_segment seg;
	struct ackhold_key key;
	u64 first_us, now_us;
	bool has_socket;

	/* Held ACKs do not keep other packets out; there are few */
	if (unlikely(sch->q.qlen - q->stats.holding >= READ_ONCE(sch->limit)))
		return qdisc_drop(skb, sch, to_free);

	if (!ackhold_read(skb, &key, &seg))
		return qdisc_enqueue_tail(skb, sch);

	now_us = ackhold_now_us();
	has_socket = ackhold_ask_socket(skb, &key, &sk);
	/* Data alone does not need a place */
	slot = ackhold_find(q, &key, has_socket && ackhold_is_pure(&seg),
			    now_us);
	if (!slot)
		return qdisc_enqueue_tail(skb, sch);

	first_us = slot->flow.first_us;
	verdict = ackhold_decide(&slot->flow, &ackhold_params, &seg,
				 has_socket ? &sk : NULL, now_us);
	if (verdict.send_held) {
		ackhold_append(sch, ackhold_take(q, slot));
		q->stats.flushed++;
	} else if (verdict.drop_held) {
		replaced = ackhold_take(q, slot);
		q->stats.replaced++;
	}
	if (verdict.send_held || (verdict.drop_held && !verdict.hold))
		ackhold_measure(q, first_us, now_us);

	if (verdict.hold) {
		ackhold_hold(q, slot, skb);
		q->stats.held++;
		sch->qstats.overlimits++;
		sch->q.qlen++;
		qdisc_qstats_backlog_inc(sch, skb);
	} else {
		qdisc_enqueue_tail(skb, sch);
	}
	if (replaced)
		ackhold_drop(sch, replaced, to_free);

	return NET_XMIT_SUCCESS;
}

static struct ackhold_slot *ackhold_first(struct ackhold_sched_data *q)
{
	struct rb_node *node = rb_first_cached(&q->held);

	return rb_entry_safe(node, struct ackhold_slot, node);
}

/* Let ACKs follow that are due */
static void ackhold_expire(struct Qdisc *sch)
{
	struct ackhold_sched_data *q = qdisc_priv(sch);
	struct ackhold_slot *slot = ackhold_first(q);
	u64 now_us;

	if (!slot)
		return;

	now_us = ackhold_now_us();
	for (; slot && slot->flow.due_us <= now_us; slot = ackhold_first(q)) {
		ackhold_append(sch, ackhold_take(q, slot));
		ackhold_sent(&slot->flow, &ackhold_params);
		ackhold_measure(q, slot->flow.first_us, now_us);
		q->stats.expired++;
	}
}

/* An earlier time than needed does no harm: it is programmed again when it is
 * over. So it is not changed for each ACK.
 */
static void ackhold_start_timer(struct ackhold_sched_data *q)
{
	const struct ackhold_slot *slot = ackhold_first(q);
	struct hrtimer *timer = &q->watchdog.timer;
	u64 due_ns;

	if (!slot)
		return;

	due_ns = slot->flow.due_us * NSEC_PER_USEC;
	if (!hrtimer_is_queued(timer) ||
	    ktime_to_ns(hrtimer_get_expires(timer)) > due_ns)
		qdisc_watchdog_schedule_ns(&q->watchdog, due_ns);
}

static struct sk_buff *ackhold_dequeue(struct Qdisc *sch)
{
	struct sk_buff *skb;

	ackhold_expire(sch);
	skb = qdisc_dequeue_head(sch);
	if (!skb)
		ackhold_start_timer(qdisc_priv(sch));

	return skb;
}

static void ackhold_reset(struct Qdisc *sch)
{
	struct ackhold_sched_data *q = qdisc_priv(sch);
	struct ackhold_slot *slot;
	struct sk_buff *skb;

	qdisc_watchdog_cancel(&q->watchdog);
	if (!q->slots)
		return;

	while ((slot = ackhold_first(q))) {
		skb = ackhold_take(q, slot);
		rtnl_kfree_skbs(skb, skb);
	}
	memset(q->slots, 0, ACKHOLD_FLOWS * sizeof(*q->slots));
	qdisc_reset_queue(sch);
}

static void ackhold_destroy(struct Qdisc *sch)
{
	struct ackhold_sched_data *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	kvfree(q->slots);
}

static int ackhold_init(struct Qdisc *sch, struct nlattr *opt,
			struct netlink_ext_ack *extack)
{
	struct ackhold_sched_data *q = qdisc_priv(sch);

	qdisc_watchdog_init(&q->watchdog, sch);
	q->held = RB_ROOT_CACHED;
	if (opt) {
		NL_SET_ERR_MSG(extack,
			       "ackhold has module parameters, no options");
		return -EINVAL;
	}

	sch->limit = qdisc_dev(sch)->tx_queue_len ?: 1;
	q->perturb = get_random_u32();
	q->slots = kvcalloc(ACKHOLD_FLOWS, sizeof(*q->slots), GFP_KERNEL);

	return q->slots ? 0 : -ENOMEM;
}

static int ackhold_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct ackhold_sched_data *q = qdisc_priv(sch);
	struct tc_ackhold_xstats stats;

	sch_tree_lock(sch);
	stats = q->stats;
	sch_tree_unlock(sch);

	return gnet_stats_copy_app(d, &stats, sizeof(stats));
}

static struct Qdisc_ops ackhold_qdisc_ops __read_mostly = {
	.id		= "ackhold",
	.priv_size	= sizeof(struct ackhold_sched_data),
	.enqueue	= ackhold_enqueue,
	.dequeue	= ackhold_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= ackhold_init,
	.reset		= ackhold_reset,
	.destroy	= ackhold_destroy,
	.dump_stats	= ackhold_dump_stats,
	.owner		= THIS_MODULE,
};

static int __init ackhold_register(void)
{
	return register_qdisc(&ackhold_qdisc_ops);
}

static void __exit ackhold_unregister(void)
{
	unregister_qdisc(&ackhold_qdisc_ops);
}

module_init(ackhold_register);
module_exit(ackhold_unregister);

MODULE_LICENSE("GPL");
MODULE_VERSION(ACKHOLD_VERSION);
MODULE_DESCRIPTION("Qdisc that holds TCP ACKs");
/* Linux 6.9 asks for net-sch-ackhold, earlier ones for sch_ackhold */
MODULE_ALIAS("net-sch-ackhold");
