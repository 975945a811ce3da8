// SPDX-License-Identifier: GPL-2.0-only
/*
 * Instead of the kernel's sock_diag, for tcpwatch: the first dump has a
 * connection, the second one has it although it was closed before, and later
 * ones are empty. The program is told to end during the second one.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

struct message {
	struct nlmsghdr header;
	struct inet_diag_msg diag;
	struct rtattr attribute;
	struct tcp_info info;
};

static int dumps;

int setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
	(void)fd, (void)level, (void)name, (void)value, (void)size;
	return 0;
}

ssize_t send(int fd, const void *data, size_t size, int flags)
{
	(void)fd, (void)data, (void)flags;
	dumps++;
	return size;
}

static void answer(struct mmsghdr *to, int type, int sequence)
{
	struct message message = {
		.header.nlmsg_len = sizeof(message),
		.header.nlmsg_type = type,
		.header.nlmsg_seq = sequence,
		.diag.idiag_family = AF_INET,
		.diag.id.idiag_sport = htons(5201),
		.diag.id.idiag_dport = htons(40000),
		.diag.id.idiag_cookie = { 7, 0 },
		.attribute.rta_len = RTA_LENGTH(sizeof(message.info)),
		.attribute.rta_type = INET_DIAG_INFO,
	};

	memcpy(to->msg_hdr.msg_iov->iov_base, &message, sizeof(message));
	to->msg_len = sizeof(message);
}

int recvmmsg(int fd, struct mmsghdr *to, unsigned int size, int flags,
	     struct timespec *timeout)
{
	const int of_dump = 1;
	int count = 0;

	(void)fd, (void)size, (void)timeout;
	if (flags & MSG_DONTWAIT) {
		errno = EAGAIN;
		return -1;
	}
	if (dumps == 2) {
		raise(SIGTERM);
		answer(&to[count++], SOCK_DIAG_BY_FAMILY, 0);
	}
	if (dumps <= 2)
		answer(&to[count++], SOCK_DIAG_BY_FAMILY, of_dump);
	answer(&to[count++], NLMSG_DONE, of_dump);
	return count;
}
