/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
#ifndef _UAPI_LINUX_TCP_WATCH_H
#define _UAPI_LINUX_TCP_WATCH_H

#include <linux/inet_diag.h>
#include <linux/types.h>

/**
 * struct tcp_watch - the state of a TCP connection, as read from /proc/tcp_watch
 * @time_ns: CLOCK_REALTIME
 * @info_bytes: length of the struct tcp_info that follows
 * @reserved: 0
 * @id: the ends of the connection, and its cookie
 */
struct tcp_watch {
	__u64 time_ns;
	__u32 info_bytes;
	__u32 reserved;
	struct inet_diag_sockid id;
};

#endif /* _UAPI_LINUX_TCP_WATCH_H */
