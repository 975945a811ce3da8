// SPDX-License-Identifier: GPL-2.0-only
/* An ACK policy whose name has the route metric of "default": cannot be
 * registered
 */

#include "bpf_ackpol.h"

char _license[] SEC("license") = "GPL";

SEC("struct_ops/key_ack_delay_us")
__u32 BPF_PROG(key_ack_delay_us, struct sock *sk)
{
	return 0;
}

SEC(".struct_ops")
struct tcp_ackpol_ops bpf_key = {
	.ack_delay_us	= (void *)key_ack_delay_us,
	.name		= "bpf_cjcbrwm",
};
