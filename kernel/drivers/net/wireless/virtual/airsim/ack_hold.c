// SPDX-License-Identifier: GPL-2.0-only
/*
 * Holds back TCP ACKs in the driver, as some vendors' drivers do: the newest
 * ACK of a connection waits until it replaces enough earlier ones, or until a
 * timeout.
 *
 * Vendors' drivers see Ethernet frames before they get a sequence number. This
 * code does the same at the egress hook of the interface, above mac80211. A
 * segment that acknowledges less than the held ACK, or carries more than an
 * acknowledgment, is sent at once, after all ACKs that the interface holds. So
 * the order is kept, and only pure ACKs that a newer one repeats are dropped.
 */
#include <linux/jhash.h>
#include <linux/netfilter_netdev.h>
#include <linux/unaligned.h>
#include <net/tcp.h>
#include <net/tcp_ack_filter.h>
#include "airsim.h"

#define FLOWS	64

#define ALIGNED_TIMESTAMPS	(TCPOPT_NOP << 24 | TCPOPT_NOP << 16 | \
				 TCPOPT_TIMESTAMP << 8 | TCPOLEN_TIMESTAMP)

/*
 * The fields of a pure ACK that are needed after its packet has been sent. IPv4
 * addresses are mapped.
 */
struct airsim_bare_ack {
	struct in6_addr saddr;
	struct in6_addr daddr;
	__be16 source;
	__be16 dest;
	u32 ack;
	u16 window;
};

/* No data, no flag but ACK, no option but timestamps in Linux's alignment */
static bool airsim_bare_ack_parse(const struct sk_buff *skb,
				  struct airsim_bare_ack *bare)
{
	const struct ipv6hdr *ip6;
	struct tcp_ack_filter ack;
	const struct tcphdr *tcph;
	const struct iphdr *ip;

	if (!tcp_ack_filter_init(&ack, skb))
		return false;
	tcph = ack.newer.tcph;
	if (ack.newer.len != __tcp_hdrlen(tcph) ||
	    (tcp_flag_word(tcph) & htonl(0x0fff0000)) != TCP_FLAG_ACK ||
	    (tcph->doff != 5 &&
	     (tcph->doff != 5 + TCPOLEN_TSTAMP_ALIGNED / 4 ||
	      get_unaligned_be32(tcph + 1) != ALIGNED_TIMESTAMPS)))
		return false;
	ip = ack.newer.iph;
	ip6 = (const struct ipv6hdr *)ip;
	if (ip->version == 4) {
		ipv6_addr_set_v4mapped(ip->saddr, &bare->saddr);
		ipv6_addr_set_v4mapped(ip->daddr, &bare->daddr);
	} else {
		bare->saddr = ip6->saddr;
		bare->daddr = ip6->daddr;
	}
	bare->source = tcph->source;
	bare->dest = tcph->dest;
	bare->ack = ntohl(tcph->ack_seq);
	bare->window = ntohs(tcph->window);
	return true;
}

static bool airsim_bare_ack_same_flow(const struct airsim_bare_ack *one,
				      const struct airsim_bare_ack *other)
{
	return one->source == other->source && one->dest == other->dest &&
	       ipv6_addr_equal(&one->saddr, &other->saddr) &&
	       ipv6_addr_equal(&one->daddr, &other->daddr);
}

static bool airsim_bare_ack_supersedes(const struct airsim_bare_ack *newer,
				       const struct airsim_bare_ack *older)
{
	return airsim_bare_ack_same_flow(newer, older) &&
	       after(newer->ack, older->ack) && newer->window == older->window;
}

/*
 * The held ACK of a connection. Connections with the same hash evict each
 * other.
 */
struct airsim_ack_flow {
	struct sk_buff *skb;
	struct airsim_bare_ack bare;
	u32 acks;
	u64 due_ns;
};

/**
 * struct airsim_ack_hold - ACKs held back by a radio
 * @radio: the radio
 * @lock: protects the members below
 * @timer: sends ACKs whose delay has expired
 * @flows: connections, by hash
 * @suppressed: ACKs dropped in favour of a newer one
 * @held: ACKs held now
 * @hook: egress hook of the interface
 */
struct airsim_ack_hold {
	struct airsim_radio *radio;
	spinlock_t lock; /* leaf lock */
	struct hrtimer timer;
	struct airsim_ack_flow flows[FLOWS];
	u64 suppressed;
	u32 held;
	struct nf_hook_ops hook;
};

static void airsim_ack_hold_take(struct airsim_ack_hold *hold,
				 struct airsim_ack_flow *flow,
				 struct sk_buff_head *out)
{
	if (!flow->skb)
		return;
	__skb_queue_tail(out, flow->skb);
	flow->skb = NULL;
	hold->held--;
}

static void airsim_ack_hold_take_device(struct airsim_ack_hold *hold,
					const struct net_device *device,
					struct sk_buff_head *out)
{
	int i;

	for (i = 0; hold->held && i < FLOWS; i++)
		if (hold->flows[i].skb && hold->flows[i].skb->dev == device)
			airsim_ack_hold_take(hold, &hold->flows[i], out);
}

static void airsim_ack_hold_send(struct sk_buff_head *out)
{
	struct sk_buff *skb;

	while ((skb = __skb_dequeue(out))) {
		nf_skip_egress(skb, true);
		dev_queue_xmit(skb);
	}
}

static struct airsim_ack_flow *
airsim_ack_hold_flow(struct airsim_ack_hold *hold,
		     const struct airsim_bare_ack *bare)
{
	u32 ports = (__force u32)bare->source << 16 | (__force u32)bare->dest;
	u32 hash = jhash_2words(ipv6_addr_hash(&bare->daddr), ports,
				ipv6_addr_hash(&bare->saddr));

	return &hold->flows[hash % FLOWS];
}

static void airsim_ack_hold_start_timer(struct airsim_ack_hold *hold,
					u64 due_ns)
{
	if (!hrtimer_is_queued(&hold->timer) ||
	    due_ns < ktime_to_ns(hrtimer_get_expires(&hold->timer)))
		hrtimer_start(&hold->timer, ns_to_ktime(due_ns),
			      HRTIMER_MODE_ABS_SOFT);
}

/* Returns whether the ACK is held. */
static bool airsim_ack_hold_keep(struct airsim_ack_hold *hold,
				 struct sk_buff *skb,
				 const struct airsim_bare_ack *bare, u32 most,
				 struct sk_buff_head *out,
				 struct sk_buff **superseded)
{
	struct airsim_ack_flow *flow = airsim_ack_hold_flow(hold, bare);
	u64 wait_ns = (u64)READ_ONCE(hold->radio->settings.ack_hold_us) *
		      NSEC_PER_USEC;
	bool more;

	if (flow->skb && airsim_bare_ack_supersedes(bare, &flow->bare)) {
		*superseded = flow->skb;
		flow->skb = NULL;
		hold->held--;
		hold->suppressed++;
	} else {
		airsim_ack_hold_take(hold, flow, out);
		flow->acks = 0;
		flow->due_ns = ktime_get_ns() + wait_ns;
	}
	more = airsim_bare_ack_same_flow(bare, &flow->bare) &&
	       !after(bare->ack, flow->bare.ack);
	flow->bare = *bare;
	/* Duplicate ACKs and window updates carry information of their own. */
	if (more || ++flow->acks >= most)
		return false;
	/* It is kept for longer than the caller's RCU section. */
	if (skb_dst(skb) && !skb_dst_force(skb))
		return false;
	flow->skb = skb;
	hold->held++;
	airsim_ack_hold_start_timer(hold, flow->due_ns);
	return true;
}

static bool airsim_ack_hold_is_tcp(const struct sk_buff *skb)
{
	int at = skb_network_offset(skb);
	u8 protocol;

	if (skb->protocol == htons(ETH_P_IP))
		at += offsetof(struct iphdr, protocol);
	else if (skb->protocol == htons(ETH_P_IPV6))
		at += offsetof(struct ipv6hdr, nexthdr);
	else
		return false;
	return !skb_copy_bits(skb, at, &protocol, 1) &&
	       protocol == IPPROTO_TCP;
}

static unsigned int airsim_ack_hold_egress(void *priv, struct sk_buff *skb,
					   const struct nf_hook_state *state)
{
	struct airsim_ack_hold *hold = priv;
	struct airsim_radio *radio = hold->radio;
	u32 most = READ_ONCE(radio->settings.ack_hold);
	struct sk_buff *superseded = NULL;
	struct airsim_bare_ack bare;
	struct sk_buff_head out;
	bool kept = false;

	if (most < 2 && !READ_ONCE(hold->held))
		return NF_ACCEPT;
	if (!airsim_ack_hold_is_tcp(skb))
		return NF_ACCEPT;
	__skb_queue_head_init(&out);
	spin_lock_bh(&hold->lock);
	if (most >= 2 && READ_ONCE(radio->started) &&
	    READ_ONCE(radio->tx_kbps) >= radio->settings.ack_hold_kbps &&
	    airsim_bare_ack_parse(skb, &bare))
		kept = airsim_ack_hold_keep(hold, skb, &bare, most, &out,
					    &superseded);
	else
		airsim_ack_hold_take_device(hold, skb->dev, &out);
	spin_unlock_bh(&hold->lock);
	consume_skb(superseded);
	airsim_ack_hold_send(&out);
	return kept ? NF_STOLEN : NF_ACCEPT;
}

static enum hrtimer_restart airsim_ack_hold_expired(struct hrtimer *timer)
{
	struct airsim_ack_hold *hold =
		container_of(timer, struct airsim_ack_hold, timer);
	u64 now_ns = ktime_get_ns(), next_ns = U64_MAX;
	struct sk_buff_head out;
	struct airsim_ack_flow *flow;
	int i;

	__skb_queue_head_init(&out);
	spin_lock_bh(&hold->lock);
	for (i = 0; i < FLOWS; i++) {
		flow = &hold->flows[i];
		if (flow->skb && flow->due_ns <= now_ns)
			airsim_ack_hold_take(hold, flow, &out);
		else if (flow->skb)
			next_ns = min(next_ns, flow->due_ns);
	}
	if (next_ns != U64_MAX)
		airsim_ack_hold_start_timer(hold, next_ns);
	spin_unlock_bh(&hold->lock);
	airsim_ack_hold_send(&out);
	return HRTIMER_NORESTART;
}

/**
 * airsim_ack_hold_create - allocate the state of a radio
 * @radio: the radio
 *
 * Return: 0 or -ENOMEM.
 */
int airsim_ack_hold_create(struct airsim_radio *radio)
{
	struct airsim_ack_hold *hold = kzalloc(sizeof(*hold), GFP_KERNEL);

	if (!hold)
		return -ENOMEM;
	hold->radio = radio;
	spin_lock_init(&hold->lock);
	hrtimer_init(&hold->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	hold->timer.function = airsim_ack_hold_expired;
	radio->ack_hold = hold;
	return 0;
}

/**
 * airsim_ack_hold_destroy - free the state of a radio without interfaces
 * @radio: the radio
 */
void airsim_ack_hold_destroy(struct airsim_radio *radio)
{
	hrtimer_cancel(&radio->ack_hold->timer);
	kfree(radio->ack_hold);
}

/**
 * airsim_ack_hold_attach - hook into the egress path of an interface
 * @radio: its radio
 * @device: the interface, about to come up
 *
 * Return: 0 or an error.
 */
int airsim_ack_hold_attach(struct airsim_radio *radio,
			   struct net_device *device)
{
	struct nf_hook_ops *hook = &radio->ack_hold->hook;

	*hook = (struct nf_hook_ops){
		.hook = airsim_ack_hold_egress,
		.dev = device,
		.priv = radio->ack_hold,
		.pf = NFPROTO_NETDEV,
		.hooknum = NF_NETDEV_EGRESS,
	};
	return nf_register_net_hook(dev_net(device), hook);
}

/**
 * airsim_ack_hold_detach - remove the hook and drop held ACKs
 * @radio: its radio
 * @device: the interface, which is down
 */
void airsim_ack_hold_detach(struct airsim_radio *radio,
			    struct net_device *device)
{
	struct airsim_ack_hold *hold = radio->ack_hold;
	struct sk_buff_head out;

	nf_unregister_net_hook(dev_net(device), &hold->hook);
	/* Wait for senders inside the hook. */
	synchronize_net();
	__skb_queue_head_init(&out);
	spin_lock_bh(&hold->lock);
	airsim_ack_hold_take_device(hold, device, &out);
	spin_unlock_bh(&hold->lock);
	__skb_queue_purge(&out);
}

/**
 * airsim_ack_hold_count - read the counters
 * @radio: the radio
 * @count: acks_suppressed and acks_held are filled in
 */
void airsim_ack_hold_count(struct airsim_radio *radio,
			   struct airsim_radio_counters *count)
{
	struct airsim_ack_hold *hold = radio->ack_hold;

	spin_lock_bh(&hold->lock);
	count->acks_suppressed = hold->suppressed;
	count->acks_held = hold->held;
	spin_unlock_bh(&hold->lock);
}
