// SPDX-License-Identifier: GPL-2.0-only
/* Nodes, their sockets, and messages of netlink. */
#define _GNU_SOURCE
#include <linux/genetlink.h>
#include <linux/nl80211.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "configure.h"
#include "namespace.h"

struct node *current;

static struct node nodes[MAX_NODES];
static unsigned int node_count;

static uint16_t nl80211;

static union {
	struct nlmsghdr header;
	char octets[8192];
} message, answer;

static int open_socket(int *fd, int family, int type, int protocol)
{
	if (*fd < 0)
		*fd = socket(family, type | SOCK_CLOEXEC, protocol);
	if (*fd < 0)
		refused(errno);
	return *fd;
}

int inet_of(const struct node *node)
{
	return open_socket((int *)&node->inet, AF_INET, SOCK_DGRAM, 0);
}

static int open_namespace(const char *name)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), *name ? NAMESPACES "/%s" : "%s", *name ?
		 name : "/proc/self/ns/net");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		refused(errno);
	return fd;
}

struct node *find_node(const char *name)
{
	struct node *node = nodes;

	while (node < nodes + node_count && strcmp(node->name, name))
		node++;
	if (node < nodes + node_count)
		return node;
	if (node_count == MAX_NODES || strlen(name) >= sizeof(node->name))
		refused(ENAMETOOLONG);
	strcpy(node->name, name);
	node->ns = open_namespace(name);
	node->inet = node->route = node->generic = -1;
	node_count++;
	return node;
}

void enter(struct node *node)
{
	if (node != current && setns(node->ns, CLONE_NEWNET))
		refused(errno);
	current = node;
}

uint32_t index_of(const char *device)
{
	struct ifreq request = {};

	strncpy(request.ifr_name, device, IFNAMSIZ - 1);
	if (ioctl(inet_of(current), SIOCGIFINDEX, &request))
		refused(errno);
	return request.ifr_ifindex;
}

/* Netlink messages. */

void *begin(uint16_t type, uint16_t flags, size_t size)
{
	memset(&message, 0, NLMSG_HDRLEN + NLMSG_ALIGN(size));
	message.header.nlmsg_type = type;
	message.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	message.header.nlmsg_len = NLMSG_HDRLEN + NLMSG_ALIGN(size);
	return NLMSG_DATA(&message.header);
}

void *extend(size_t size)
{
	char *end = message.octets + message.header.nlmsg_len;

	message.header.nlmsg_len += NLMSG_ALIGN(size);
	if (message.header.nlmsg_len > sizeof(message))
		refused(EMSGSIZE);
	return memset(end, 0, NLMSG_ALIGN(size));
}

struct rtattr *attribute(uint16_t type, const void *value, size_t size)
{
	struct rtattr *at = extend(RTA_LENGTH(size));

	at->rta_type = type;
	at->rta_len = RTA_LENGTH(size);
	if (size)
		memcpy(RTA_DATA(at), value, size);
	return at;
}

void attribute_text(uint16_t type, const char *text)
{
	attribute(type, text, strlen(text) + 1);
}

void attribute_u32(uint16_t type, uint32_t value)
{
	attribute(type, &value, sizeof(value));
}

struct rtattr *nest(uint16_t type)
{
	return attribute(type, NULL, 0);
}

void nest_end(struct rtattr *at)
{
	at->rta_len = message.octets + message.header.nlmsg_len - (char *)at;
}

/* Sends the message; returns the error that the kernel answers, or 0. */
static int talk(int fd)
{
	const struct nlmsghdr *header;
	ssize_t length;

	if (send(fd, &message, message.header.nlmsg_len, 0) < 0)
		return errno;
	for (;;) {
		length = recv(fd, &answer, sizeof(answer), 0);
		if (length < 0)
			return errno;
		for (header = &answer.header; NLMSG_OK(header, length);
		     header = NLMSG_NEXT(header, length)) {
			const struct nlmsgerr *error = NLMSG_DATA(header);

			if (header->nlmsg_type == NLMSG_ERROR)
				return -error->error;
			/* An answer with data; the acknowledgment follows. */
			memcpy(&message, header, header->nlmsg_len);
		}
	}
}

void talk_route(void)
{
	int error = talk(open_socket(&current->route, AF_NETLINK, SOCK_RAW,
				     NETLINK_ROUTE));

	if (error)
		refused(error);
}

int talk_generic(void)
{
	return talk(open_socket(&current->generic, AF_NETLINK, SOCK_RAW,
				NETLINK_GENERIC));
}

static void begin_generic(uint16_t family, uint8_t command)
{
	struct genlmsghdr *header = begin(family, 0, sizeof(*header));

	header->cmd = command;
	header->version = 1;
}

void begin_nl80211(uint8_t command)
{
	const struct rtattr *at;
	int left, error;

	if (!nl80211) {
		begin_generic(GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
		attribute_text(CTRL_ATTR_FAMILY_NAME, "nl80211");
		error = talk_generic();
		if (error)
			refused(error);
		left = message.header.nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN);
		at = (void *)(message.octets + NLMSG_LENGTH(GENL_HDRLEN));
		for (; RTA_OK(at, left); at = RTA_NEXT(at, left))
			if (at->rta_type == CTRL_ATTR_FAMILY_ID)
				memcpy(&nl80211, RTA_DATA(at), sizeof(nl80211));
	}
	begin_generic(nl80211, command);
}

void talk_nl80211(void)
{
	int error = talk_generic();

	if (error)
		refused(error);
}
