// SPDX-License-Identifier: GPL-2.0-only
/* Sets the ACK policy POLICY for connections of a cgroup. The program has its name. */

#include "bpf_ackpol.h"

#define IPPROTO_TCP				6
#define TCP_ACK_POLICY				47
#define BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB	4
#define BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB	5

/* The first member of the one in linux/bpf.h */
struct bpf_sock_ops {
	u32 op;
};

char _license[] SEC("license") = "GPL";

#define TEXT_OF(word)				#word
#define TEXT(word)				TEXT_OF(word)

SEC("sockops")
int POLICY(struct bpf_sock_ops *ops)
{
	char name[16] = TEXT(POLICY);

	if (ops->op == BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB ||
	    ops->op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
		bpf_setsockopt(ops, IPPROTO_TCP, TCP_ACK_POLICY, name,
			       sizeof(name));
	return 1;
}
