/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of configure share. Needs _GNU_SOURCE. */
#ifndef AIRTCP_CONFIGURE_H
#define AIRTCP_CONFIGURE_H

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdint.h>

#include "program.h"

#define MAX_NODES	256
#define POLL_NS		20000000

/* A node with the sockets that have been opened in it. */
struct node {
	char name[64];
	int ns, inet, route, generic;
};

/* The command that runs, and the node that is selected. */
extern char *line;
extern struct node *current;

/* configure.c: end the program with the command and what went wrong. */
_Noreturn __attribute__((format(printf, 1, 2)))
void give_up(const char *format, ...);
_Noreturn void refused(int error);

/* configure_nodes.c: nodes, their sockets, and messages of netlink. */
struct node *find_node(const char *name);
void enter(struct node *node);
int inet_of(const struct node *node);
uint32_t index_of(const char *device);
void *begin(uint16_t type, uint16_t flags, size_t size);
void *extend(size_t size);
struct rtattr *attribute(uint16_t type, const void *value, size_t size);
void attribute_text(uint16_t type, const char *text);
void attribute_u32(uint16_t type, uint32_t value);
struct rtattr *nest(uint16_t type);
void nest_end(struct rtattr *at);
void talk_route(void);
void begin_nl80211(uint8_t command);
int talk_generic(void);
void talk_nl80211(void);

/* configure_links.c: commands of ip and ethtool. */
void read_mac(const char *text, uint8_t *mac);
void add_namespace(char **words);
void add_veth(char **words);
void add_link(char **words);
void set_link(char **words);
void add_address(char **words);
void set_neighbour(char **words);
void offloads_off(char **words);
void try_offload(char **words);
void await_carrier(char **words);
bool has_carrier(const struct node *node, const char *device);

/* configure_radios.c: commands of iw, and associations. */
void move_phy(char **words);
void set_txq_limit(char **words);
void set_rts(char **words);
void power_save_off(char **words);
void associate(char **words);
void await_associations(void);

/* configure_ping.c */
void ping(char **words);

static inline uint32_t u32(const char *text)
{
	return number(text, 0, INT32_MAX);
}

static inline in_addr_t read_address(const char *text)
{
	struct in_addr address;

	if (!inet_aton(text, &address))
		refused(EINVAL);
	return address.s_addr;
}

static inline void pause_until(long long time_ns)
{
	struct timespec wake = {
		.tv_sec = time_ns / NSEC_PER_SEC,
		.tv_nsec = time_ns % NSEC_PER_SEC,
	};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL);
}

#endif
