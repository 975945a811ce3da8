/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of airsim share. Needs _GNU_SOURCE. */
#ifndef AIRTCP_AIRSIM_H
#define AIRTCP_AIRSIM_H

#include <inttypes.h>
#include <libmnl/libmnl.h>
#include <linux/airsim.h>
#include <linux/genetlink.h>
#include <stdbool.h>

#include "program.h"

/* Of a request, and of what is read at once. */
#define BUFFER_OCTETS	32768
#define ARRAY_SIZE(array)	(sizeof(array) / sizeof(*(array)))

/* Commands that accept a key; keys with none are only shown. */
enum use {
	SHOWN,
	RADIO_ADD = 1,
	RADIO_SET = 2,
	AIR_SET = 4,
	LINK_SET = 8,
};

/* airsim.c: end the program with a message. */
_Noreturn __attribute__((format(printf, 2, 3)))
void give_up(int status, const char *format, ...);

/* airsim_keys.c: keys and their values. */
void name_keys(void);
const char *key_name(uint16_t attr);
int64_t integer(const char *name, const char *text, int64_t min, int64_t max);
void put(struct nlmsghdr *header, uint16_t attr, const char *text);
void put_pairs(struct nlmsghdr *header, enum use use, char **argv);
void print(const struct nlattr *attr);

/* airsim_show.c: callbacks that print a message of a reply. */
int show(const struct nlmsghdr *header, void *shown);
int show_new(const struct nlmsghdr *header, void *data);
int show_link(const struct nlmsghdr *header, void *data);

/* airsim_netlink.c: requests, and take() for each message of the reply. */
struct nlmsghdr *begin(uint8_t command, uint16_t flags);
void ask(struct nlmsghdr *header, mnl_cb_t take, void *data);

#endif
