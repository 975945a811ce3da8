// SPDX-License-Identifier: GPL-2.0-only
/* Sets the ACK policy "count" for sockets that are being accepted, at a security
 * hook. results: calls, and the last return value.
 */

#include "bpf_ackpol.h"

#define IPPROTO_TCP		6
#define TCP_ACK_POLICY		47
#define BPF_MAP_TYPE_ARRAY	2

char _license[] SEC("license") = "GPL";

struct request_sock;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, s64);
} results SEC(".maps");

SEC("lsm_cgroup/inet_csk_clone")
int BPF_PROG(ackpol_clone, struct sock *sk, const struct request_sock *req)
{
	char name[16] = "count";
	u32 calls_key = 0, returned_key = 1;
	s64 *calls = bpf_map_lookup_elem(&results, &calls_key);
	s64 *returned = bpf_map_lookup_elem(&results, &returned_key);

	if (calls && returned) {
		*returned = bpf_setsockopt(sk, IPPROTO_TCP, TCP_ACK_POLICY,
					   name, sizeof(name));
		__sync_fetch_and_add(calls, 1);
	}
	return 1;
}
