// SPDX-License-Identifier: GPL-2.0-only
/* ACK policies in BPF */

#include <linux/bpf.h>
#include <netinet/tcp.h>
#include <test_progs.h>
#include "network_helpers.h"
#include "bpf_ackpol_aad.skel.h"
#include "bpf_ackpol_auto.skel.h"
#include "bpf_ackpol_ca.skel.h"
#include "bpf_ackpol_cwnd.skel.h"
#include "bpf_ackpol_incompl.skel.h"
#include "bpf_ackpol_key.skel.h"
#include "bpf_ackpol_setsockopt.skel.h"
#include "bpf_ackpol_sleepable.skel.h"
#include "bpf_ackpol_tail_call.skel.h"
#include "bpf_ackpol_unsupp.skel.h"
#include "bpf_ackpol_write.skel.h"
#include "bpf_ackpol_write_priv.skel.h"

#ifndef TCP_ACK_POLICY
#define TCP_ACK_POLICY	47
#endif

#define NAME_MAX_LEN	16

/* An error of the kernel that user space has no name for */
#define NOT_SUPPORTED	524

static const unsigned int total_bytes = 1024 * 1024;

static int set_policy(int fd, const char *name)
{
	return setsockopt(fd, IPPROTO_TCP, TCP_ACK_POLICY, name, strlen(name));
}

static void check_policy(int fd, const char *expected)
{
	char name[NAME_MAX_LEN] = "";
	socklen_t len = sizeof(name);

	ASSERT_OK(getsockopt(fd, IPPROTO_TCP, TCP_ACK_POLICY, name, &len),
		  "getsockopt");
	ASSERT_STREQ(name, expected, "policy");
}

/* Opens a connection over loopback; sockets accepted by *lfd have the policy */
static bool open_connection(const char *policy, int *lfd, int *fd)
{
	*fd = -1;
	*lfd = start_server(AF_INET6, SOCK_STREAM, NULL, 0, 0);
	if (!ASSERT_GE(*lfd, 0, "start_server"))
		return false;

	if (!ASSERT_OK(set_policy(*lfd, policy), "set_policy"))
		return false;

	*fd = connect_to_fd(*lfd, 0);
	return ASSERT_GE(*fd, 0, "connect_to_fd");
}

static void close_connection(int lfd, int fd)
{
	if (fd >= 0)
		close(fd);
	if (lfd >= 0)
		close(lfd);
}

static void test_transfer(const char *policy)
{
	int lfd, fd;

	if (open_connection(policy, &lfd, &fd)) {
		ASSERT_OK(set_policy(fd, policy), "set_policy");
		check_policy(fd, policy);
		ASSERT_OK(send_recv_data(lfd, fd, total_bytes),
			  "send_recv_data");
	}
	close_connection(lfd, fd);
}

static void test_is_gone(const char *policy)
{
	int fd = socket(AF_INET6, SOCK_STREAM, 0);

	if (!ASSERT_GE(fd, 0, "socket"))
		return;

	ASSERT_ERR(set_policy(fd, policy), "set_policy");
	ASSERT_EQ(errno, ENOENT, "errno");
	close(fd);
}

static void test_aad(void)
{
	struct bpf_ackpol_aad *skel;
	struct bpf_link *link;

	skel = bpf_ackpol_aad__open_and_load();
	if (!ASSERT_OK_PTR(skel, "open_and_load"))
		return;

	link = bpf_map__attach_struct_ops(skel->maps.bpf_aad);
	if (ASSERT_OK_PTR(link, "attach_struct_ops")) {
		test_transfer("bpf_aad");
		bpf_link__destroy(link);
		test_is_gone("bpf_aad");
	}
	bpf_ackpol_aad__destroy(skel);
}

static struct bpf_ackpol_auto *load_with_link(void)
{
	struct bpf_ackpol_auto *skel = bpf_ackpol_auto__open();

	if (!ASSERT_OK_PTR(skel, "open"))
		return NULL;

	bpf_map__set_map_flags(skel->maps.bpf_auto,
			       bpf_map__map_flags(skel->maps.bpf_auto) |
			       BPF_F_LINK);
	if (ASSERT_OK(bpf_ackpol_auto__load(skel), "load"))
		return skel;

	bpf_ackpol_auto__destroy(skel);
	return NULL;
}

/* Connections keep the programs that they began with */
static void test_replace(void)
{
	struct bpf_ackpol_auto *first = load_with_link();
	struct bpf_ackpol_auto *second = load_with_link();
	struct bpf_link *link = NULL;
	int lfd = -1, fd = -1;

	if (!first || !second)
		goto out;

	link = bpf_map__attach_struct_ops(first->maps.bpf_auto);
	if (!ASSERT_OK_PTR(link, "attach_struct_ops") ||
	    !open_connection("bpf_auto", &lfd, &fd))
		goto out;

	ASSERT_OK(set_policy(fd, "bpf_auto"), "set_policy");
	ASSERT_OK(bpf_link__update_map(link, first->maps.bpf_auto),
		  "update by itself");
	ASSERT_OK(bpf_link__update_map(link, second->maps.bpf_auto), "update");
	bpf_ackpol_auto__destroy(first);
	first = NULL;
	test_transfer("bpf_auto");

	bpf_link__destroy(link);
	link = NULL;
	check_policy(fd, "bpf_auto");
	ASSERT_OK(send_recv_data(lfd, fd, total_bytes), "send_recv_data");

out:
	close_connection(lfd, fd);
	bpf_link__destroy(link);
	bpf_ackpol_auto__destroy(first);
	bpf_ackpol_auto__destroy(second);
}

static void test_name_is_taken(void)
{
	struct bpf_ackpol_aad *skels[2] = {};
	struct bpf_link *links[2] = {};
	int i;

	for (i = 0; i < 2; i++) {
		skels[i] = bpf_ackpol_aad__open_and_load();
		if (!ASSERT_OK_PTR(skels[i], "open_and_load"))
			goto out;
		links[i] = bpf_map__attach_struct_ops(skels[i]->maps.bpf_aad);
		if (!i && !ASSERT_OK_PTR(links[i], "first"))
			goto out;
	}
	ASSERT_ERR_PTR(links[1], "second");
	ASSERT_EQ(errno, EEXIST, "errno");

out:
	for (i = 0; i < 2; i++) {
		if (!IS_ERR(links[i]))
			bpf_link__destroy(links[i]);
		bpf_ackpol_aad__destroy(skels[i]);
	}
}

/* Programs that the verifier accepts, but that cannot be registered */
#define TEST_NOT_REGISTERED(name, error) do {				\
	struct bpf_ackpol_##name *skel;					\
	struct bpf_link *link;						\
									\
	skel = bpf_ackpol_##name##__open_and_load();			\
	if (!ASSERT_OK_PTR(skel, "open_and_load"))			\
		break;							\
									\
	link = bpf_map__attach_struct_ops(skel->maps.bpf_##name);	\
	ASSERT_ERR_PTR(link, "attach_struct_ops");			\
	ASSERT_EQ(errno, error, "errno");				\
	bpf_ackpol_##name##__destroy(skel);				\
} while (0)

static void test_unsupp(void)
{
	struct bpf_ackpol_unsupp *skel;
	int err;

	skel = bpf_ackpol_unsupp__open();
	if (!ASSERT_OK_PTR(skel, "open"))
		return;

	err = bpf_ackpol_unsupp__load(skel);
	ASSERT_EQ(err, -NOT_SUPPORTED, "load");
	bpf_ackpol_unsupp__destroy(skel);
}

/* Programs that the verifier must reject, and what it says */
#define TEST_REJECTED(name, message) do {				\
	struct bpf_ackpol_##name *skel;					\
	char log[4096] = "";						\
									\
	LIBBPF_OPTS(bpf_object_open_opts, opts,				\
		    .kernel_log_buf = log,				\
		    .kernel_log_size = sizeof(log),			\
		    .kernel_log_level = 1);				\
	skel = bpf_ackpol_##name##__open_opts(&opts);			\
	if (!ASSERT_OK_PTR(skel, "open"))				\
		break;							\
									\
	ASSERT_ERR(bpf_ackpol_##name##__load(skel), "load");		\
	ASSERT_HAS_SUBSTR(log, message, "log");				\
	bpf_ackpol_##name##__destroy(skel);				\
} while (0)

void test_bpf_ackpol(void)
{
	if (test__start_subtest("aad"))
		test_aad();
	if (test__start_subtest("replace"))
		test_replace();
	if (test__start_subtest("name_is_taken"))
		test_name_is_taken();
	if (test__start_subtest("incompl"))
		TEST_NOT_REGISTERED(incompl, EINVAL);
	if (test__start_subtest("key"))
		TEST_NOT_REGISTERED(key, EEXIST);
	if (test__start_subtest("unsupp"))
		test_unsupp();
	if (test__start_subtest("write"))
		TEST_REJECTED(write, "only read is supported");
	if (test__start_subtest("write_priv"))
		TEST_REJECTED(write_priv, "invalid access to memory");
	if (test__start_subtest("setsockopt"))
		TEST_REJECTED(setsockopt, "cannot use helper bpf_setsockopt");
	if (test__start_subtest("ca"))
		TEST_REJECTED(ca,
			      "calling kernel function bpf_tcp_ackpol_priv is not allowed");
	if (test__start_subtest("cwnd"))
		TEST_REJECTED(cwnd,
			      "calling kernel function tcp_slow_start is not allowed");
	if (test__start_subtest("sleepable"))
		TEST_REJECTED(sleepable, "unsupported member ack_delay_us");
	if (test__start_subtest("tail_call"))
		TEST_REJECTED(tail_call, "cannot use helper bpf_tail_call");
}
