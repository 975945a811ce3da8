// SPDX-License-Identifier: GPL-2.0-only
/* Pluggable TCP acknowledgment policies: socket option TCP_ACK_POLICY */

#include <linux/module.h>
#include <linux/sysctl.h>
#include <net/tcp.h>

#include "tcp_ackpol_core.h"

/* Protects tcp_ackpol_net.allowed */
static DEFINE_SPINLOCK(tcp_ackpol_allowed_lock);

static bool tcp_ackpol_allowed(const struct net *net, const char *name)
{
	const struct tcp_ackpol_net *an = tcp_ackpol_pernet(net);
	char word[TCP_ACKPOL_NAME_MAX + 2];
	const char *found;

	snprintf(word, sizeof(word), "%s ", name);

	guard(spinlock_bh)(&tcp_ackpol_allowed_lock);
	found = strstr(an->allowed, word);
	while (found && found != an->allowed && found[-1] != ' ')
		found = strstr(found + 1, word);
	return found;
}

/* Send the ACK that was delayed by the socket's former policy. A BPF program
 * may run while an ACK is being sent, so it must not send one itself: the ACK
 * leaves with the next arrival or in the next jiffy.
 */
static void tcp_ackpol_send_pending(struct sock *sk)
{
	if (!inet_csk_ack_scheduled(sk) ||
	    (1 << sk->sk_state) & (TCPF_CLOSE | TCPF_LISTEN | TCPF_SYN_SENT |
				   TCPF_SYN_RECV))
		return;

	if (has_current_bpf_ctx()) {
		inet_csk(sk)->icsk_ack.pending |= ICSK_ACK_NOW;
		inet_csk_reset_xmit_timer(sk, ICSK_TIME_DACK, 1, TCP_RTO_MAX);
	} else {
		tcp_mstamp_refresh(tcp_sk(sk));
		tcp_send_ack(sk);
	}
}

/**
 * tcp_ackpol_set() - choose a socket's policy, for TCP_ACK_POLICY
 * @sk: socket, locked
 * @name: the policy's name
 *
 * Loads its module if necessary, except for BPF programs.  An ACK that was
 * delayed by the old policy is sent.
 *
 * Return: 0, -ENOENT if there is no such policy, -EPERM if neither
 * tcp_allowed_ack_policies nor CAP_NET_ADMIN allows it, -EBUSY if its module is
 * being removed or a hook of the current policy is running, -EOPNOTSUPP for
 * MPTCP subflows and for sockets that are being cloned, or -ENOMEM.
 */
int tcp_ackpol_set(struct sock *sk, const char *name)
{
	const struct tcp_ackpol *ap = tcp_ackpol(sk);
	struct net *net = sock_net(sk);
	const struct tcp_ackpol_ops *ops;
	bool bpf = has_current_bpf_ctx();
	int ret;

	if (sk_is_mptcp(sk))
		return -EOPNOTSUPP;
	/* In security_inet_csk_clone() the state is the listening socket's */
	if (sk->sk_state == TCP_SYN_RECV && sk_unhashed(sk))
		return -EOPNOTSUPP;
	if (ap && ap->busy)
		return -EBUSY;

	ret = tcp_ackpol_get(name, !bpf, &ops);
	if (ret)
		return ret;

	/* BPF programs may choose any: they need not take the lock */
	if (!bpf && !tcp_ackpol_allowed(net, name) &&
	    !sockopt_ns_capable(net->user_ns, CAP_NET_ADMIN)) {
		ret = -EPERM;
		goto put;
	}

	if (ops == (ap ? ap->ops : NULL)) {
		tcp_sk(sk)->ackpol_chosen = true;
		goto put;
	}

	if (ops)
		tcp_ackpol_enable(!bpf);
	ret = tcp_ackpol_attach(sk, ops);
	if (ret)
		goto put;

	smp_wmb();	/* pairs with __tcp_ackpol_assign_child() */
	tcp_sk(sk)->ackpol_chosen = true;
	tcp_ackpol_send_pending(sk);
	return 0;

put:
	if (ops)
		module_put(ops->owner);
	return ret;
}

/* Name of a socket's policy, padded with zeros */
void tcp_ackpol_get_name(const struct sock *sk, char name[TCP_ACKPOL_NAME_MAX])
{
	const struct tcp_ackpol *ap;

	rcu_read_lock();
	ap = READ_ONCE(tcp_sk(sk)->ackpol);
	strscpy_pad(name, tcp_ackpol_name(ap ? ap->ops : NULL),
		    TCP_ACKPOL_NAME_MAX);
	rcu_read_unlock();
}

/* New namespaces inherit the list of the initial one */
void tcp_ackpol_allowed_init(struct net *net)
{
	struct tcp_ackpol_net *init = tcp_ackpol_pernet(&init_net);
	struct tcp_ackpol_net *an = tcp_ackpol_pernet(net);

	guard(spinlock_bh)(&tcp_ackpol_allowed_lock);
	if (net_eq(net, &init_net))
		strscpy(an->allowed, TCP_ACKPOL_DEFAULT " ");
	else
		strscpy(an->allowed, init->allowed);
}

#ifdef CONFIG_SYSCTL
static int tcp_ackpol_set_allowed(struct net *net, char *names)
{
	char allowed[TCP_ACKPOL_BUF_MAX] = "";
	size_t len = 0;
	char *name;

	while ((name = strsep(&names, " "))) {
		if (!*name)
			continue;
		rcu_read_lock();
		if (strcmp(name, TCP_ACKPOL_DEFAULT) &&
		    !tcp_ackpol_find(name)) {
			rcu_read_unlock();
			return -ENOENT;
		}
		rcu_read_unlock();
		len += snprintf(allowed + len, sizeof(allowed) - len, "%s ",
				name);
		if (len >= sizeof(allowed))
			return -EINVAL;
	}

	guard(spinlock_bh)(&tcp_ackpol_allowed_lock);
	strscpy(tcp_ackpol_pernet(net)->allowed, allowed);
	return 0;
}

int proc_tcp_allowed_ack_policies(const struct ctl_table *ctl, int write,
				  void *buffer, size_t *lenp, loff_t *ppos)
{
	char names[TCP_ACKPOL_BUF_MAX];
	struct ctl_table table = {
		.data = names,
		.maxlen = sizeof(names),
	};
	struct net *net = ctl->data;
	int ret;

	spin_lock_bh(&tcp_ackpol_allowed_lock);
	strscpy(names, tcp_ackpol_pernet(net)->allowed);
	spin_unlock_bh(&tcp_ackpol_allowed_lock);
	strim(names);

	ret = proc_dostring(&table, write, buffer, lenp, ppos);
	if (write && !ret)
		ret = tcp_ackpol_set_allowed(net, names);
	return ret;
}
#endif
