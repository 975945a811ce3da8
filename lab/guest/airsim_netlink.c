// SPDX-License-Identifier: GPL-2.0-only
/* Requests to the kernel, and what it says about those that it rejects. */
#define _GNU_SOURCE
#include <stddef.h>

#include "airsim.h"

static struct mnl_socket *kernel;
static uint16_t family;
static char request[BUFFER_OCTETS];
static char answer[BUFFER_OCTETS];

/* The attribute at an offset in the request, or 0. */
static uint16_t attr_at(uint32_t offset)
{
	const struct nlmsghdr *header = (const void *)request;
	const struct nlattr *attr;

	mnl_attr_for_each(attr, header, sizeof(struct genlmsghdr))
		if ((const char *)attr - request == (ptrdiff_t)offset)
			return mnl_attr_get_type(attr);
	return 0;
}

/* The range in the kernel's policy, if there is one. */
static void print_range(const struct nlattr *policy)
{
	const struct nlattr *min = NULL, *max = NULL, *attr;
	bool negative = false;

	mnl_attr_for_each_nested(attr, policy) {
		switch (mnl_attr_get_type(attr)) {
		case NL_POLICY_TYPE_ATTR_MIN_VALUE_S:
			negative = true;
			/* fallthrough */
		case NL_POLICY_TYPE_ATTR_MIN_VALUE_U:
			min = attr;
			break;
		case NL_POLICY_TYPE_ATTR_MAX_VALUE_S:
		case NL_POLICY_TYPE_ATTR_MAX_VALUE_U:
			max = attr;
			break;
		}
	}
	if (!min || !max)
		return;
	if (negative)
		fprintf(stderr, "; allowed: %" PRId64 " to %" PRId64,
			(int64_t)mnl_attr_get_u64(min),
			(int64_t)mnl_attr_get_u64(max));
	else
		fprintf(stderr, "; allowed: %" PRIu64 " to %" PRIu64,
			mnl_attr_get_u64(min), mnl_attr_get_u64(max));
}

/* "airsim: KEY: MESSAGE: RANGE", as far as the kernel reports them. */
static _Noreturn void fail_refused(int error, const struct nlattr **tlvs)
{
	uint16_t attr = 0;

	if (tlvs[NLMSGERR_ATTR_OFFS])
		attr = attr_at(mnl_attr_get_u32(tlvs[NLMSGERR_ATTR_OFFS]));
	fputs("airsim: ", stderr);
	if (attr)
		fprintf(stderr, "%s: ", key_name(attr));
	fputs(tlvs[NLMSGERR_ATTR_MSG] ?
	      mnl_attr_get_str(tlvs[NLMSGERR_ATTR_MSG]) : strerror(error),
	      stderr);
	if (tlvs[NLMSGERR_ATTR_POLICY])
		print_range(tlvs[NLMSGERR_ATTR_POLICY]);
	fputc('\n', stderr);
	exit(1);
}

static void read_tlvs(const struct nlmsghdr *header, size_t offset,
		      const struct nlattr **tlvs)
{
	const struct nlattr *attr;

	mnl_attr_for_each(attr, header, offset)
		if (mnl_attr_get_type(attr) <= NLMSGERR_ATTR_MAX)
			tlvs[mnl_attr_get_type(attr)] = attr;
}

static int acknowledged(const struct nlmsghdr *header, void *data)
{
	const struct nlattr *tlvs[NLMSGERR_ATTR_MAX + 1] = {};
	const struct nlmsgerr *error = mnl_nlmsg_get_payload(header);
	size_t offset = sizeof(*error);

	(void)data;
	if (!error->error)
		return MNL_CB_STOP;
	if (!family)
		give_up(1, "no airsim in this kernel, or not in this network namespace");
	if (!(header->nlmsg_flags & NLM_F_CAPPED))
		offset += error->msg.nlmsg_len - sizeof(error->msg);
	if (header->nlmsg_flags & NLM_F_ACK_TLVS)
		read_tlvs(header, offset, tlvs);
	fail_refused(-error->error, tlvs);
}

static int dumped(const struct nlmsghdr *header, void *data)
{
	const struct nlattr *tlvs[NLMSGERR_ATTR_MAX + 1] = {};
	const int *error = mnl_nlmsg_get_payload(header);

	(void)data;
	if (*error >= 0)
		return MNL_CB_STOP;
	if (header->nlmsg_flags & NLM_F_ACK_TLVS)
		read_tlvs(header, sizeof(*error), tlvs);
	fail_refused(-*error, tlvs);
}

static mnl_cb_t control[] = {
	[NLMSG_ERROR] = acknowledged,
	[NLMSG_DONE] = dumped,
};

static struct nlmsghdr *begin_in(void *buffer, uint8_t command, uint16_t flags)
{
	struct nlmsghdr *header = mnl_nlmsg_put_header(buffer);
	struct genlmsghdr *generic;

	header->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	generic = mnl_nlmsg_put_extra_header(header, sizeof(*generic));
	generic->cmd = command;
	generic->version = AIRSIM_GENL_VERSION;
	return header;
}

struct nlmsghdr *begin(uint8_t command, uint16_t flags)
{
	return begin_in(request, command, flags);
}

static void exchange(const struct nlmsghdr *header, mnl_cb_t take, void *data)
{
	ssize_t octets;
	int more;

	if (mnl_socket_sendto(kernel, header, header->nlmsg_len) < 0)
		fail("sending the request");
	do {
		octets = mnl_socket_recvfrom(kernel, answer, sizeof(answer));
		if (octets < 0)
			fail("reading the kernel's reply");
		more = mnl_cb_run2(answer, octets, 0,
				   mnl_socket_get_portid(kernel), take, data,
				   control, ARRAY_SIZE(control));
		if (more < 0)
			fail("reading the kernel's reply");
	} while (more > MNL_CB_STOP);
}

static int read_family(const struct nlmsghdr *header, void *data)
{
	const struct nlattr *attr;

	(void)data;
	mnl_attr_for_each(attr, header, sizeof(struct genlmsghdr))
		if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID)
			family = mnl_attr_get_u16(attr);
	return MNL_CB_OK;
}

static void open_kernel(void)
{
	char buffer[MNL_NLMSG_HDRLEN + 64];
	struct nlmsghdr *header;
	int on = 1;

	kernel = mnl_socket_open(NETLINK_GENERIC);
	if (!kernel || mnl_socket_bind(kernel, 0, MNL_SOCKET_AUTOPID))
		fail("opening generic netlink");
	if (mnl_socket_setsockopt(kernel, NETLINK_EXT_ACK, &on, sizeof(on)))
		fail("enabling extended acknowledgments");
	header = begin_in(buffer, CTRL_CMD_GETFAMILY, 0);
	header->nlmsg_type = GENL_ID_CTRL;
	mnl_attr_put_strz(header, CTRL_ATTR_FAMILY_NAME, AIRSIM_GENL_NAME);
	exchange(header, read_family, NULL);
}

void ask(struct nlmsghdr *header, mnl_cb_t take, void *data)
{
	if (!kernel)
		open_kernel();
	header->nlmsg_type = family;
	exchange(header, take, data);
}
