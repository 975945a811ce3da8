// SPDX-License-Identifier: GPL-2.0-only
/* Print what the kernel replies: radios, links, presets and the air. */
#define _GNU_SOURCE
#include "airsim.h"

#define COUNTER(_name, _member) [AIRSIM_COUNTER_##_name] = #_member,
static const char * const counters[] = { AIRSIM_COUNTERS(COUNTER) };

static void print_counters(const struct nlattr *nest)
{
	const struct nlattr *attr;

	mnl_attr_for_each_nested(attr, nest) {
		uint16_t counter = mnl_attr_get_type(attr);

		if (counter < ARRAY_SIZE(counters) && counters[counter])
			printf("%s %" PRIu64 "\n", counters[counter],
			       mnl_attr_get_u64(attr));
	}
}

/* Sort the attributes of a message by number; NULL if absent. */
static void index_attrs(const struct nlmsghdr *header,
			const struct nlattr **attrs)
{
	const struct nlattr *attr;

	memset(attrs, 0, (AIRSIM_ATTR_MAX + 1) * sizeof(*attrs));
	mnl_attr_for_each(attr, header, sizeof(struct genlmsghdr))
		if (mnl_attr_get_type(attr) <= AIRSIM_ATTR_MAX)
			attrs[mnl_attr_get_type(attr)] = attr;
}

/*
 * Print all keys, one per line, counters last; an empty line before all but the
 * first entry.
 */
int show(const struct nlmsghdr *header, void *shown)
{
	const struct nlattr *attrs[AIRSIM_ATTR_MAX + 1];
	bool *before = shown;

	index_attrs(header, attrs);
	if (*before)
		putchar('\n');
	*before = true;
	for (size_t i = 0; i < ARRAY_SIZE(attrs); i++)
		if (attrs[i] && i != AIRSIM_ATTR_COUNTERS) {
			print(attrs[i]);
			putchar('\n');
		}
	if (attrs[AIRSIM_ATTR_COUNTERS])
		print_counters(attrs[AIRSIM_ATTR_COUNTERS]);
	return MNL_CB_OK;
}

static const struct nlattr *required(const struct nlattr **attrs, uint16_t type)
{
	if (!attrs[type])
		give_up(1, "the kernel's reply lacks an attribute");
	return attrs[type];
}

/* The attributes of a list that ends with 0, on one line. */
static void print_line(const struct nlattr **attrs, const uint16_t *list)
{
	for (; *list; list++) {
		print(required(attrs, *list));
		putchar(list[1] ? ' ' : '\n');
	}
}

int show_new(const struct nlmsghdr *header, void *data)
{
	static const uint16_t shown[] = {
		AIRSIM_ATTR_WIPHY, AIRSIM_ATTR_ADDRESS, 0,
	};
	const struct nlattr *attrs[AIRSIM_ATTR_MAX + 1];

	(void)data;
	index_attrs(header, attrs);
	printf("radio %u ",
	       mnl_attr_get_u32(required(attrs, AIRSIM_ATTR_INDEX)));
	print_line(attrs, shown);
	return MNL_CB_OK;
}

/* The keys that the format uses. */
static void print_rate(const struct nlattr **attrs)
{
	static const uint16_t legacy[] = {
		AIRSIM_ATTR_RATE_FORMAT, AIRSIM_ATTR_RATE_LEGACY_KBPS, 0,
	}, mcs[] = {
		AIRSIM_ATTR_RATE_FORMAT, AIRSIM_ATTR_RATE_MCS,
		AIRSIM_ATTR_RATE_STREAMS, AIRSIM_ATTR_RATE_WIDTH_MHZ,
		AIRSIM_ATTR_RATE_GI_NS, 0,
	};
	uint32_t format = mnl_attr_get_u32(attrs[AIRSIM_ATTR_RATE_FORMAT]);

	print_line(attrs, format <= AIRSIM_OFDM ? legacy : mcs);
}

/* In the format of `link set`: a line for the loss, and one for the rate. */
int show_link(const struct nlmsghdr *header, void *data)
{
	static const uint16_t loss[] = { AIRSIM_ATTR_LOSS_MDB, 0 };
	const struct nlattr *attrs[AIRSIM_ATTR_MAX + 1];
	uint32_t from, to;

	(void)data;
	index_attrs(header, attrs);
	from = mnl_attr_get_u32(required(attrs, AIRSIM_ATTR_FROM));
	to = mnl_attr_get_u32(required(attrs, AIRSIM_ATTR_TO));
	if (attrs[AIRSIM_ATTR_LOSS_MDB]) {
		printf("%u %u ", from, to);
		print_line(attrs, loss);
	}
	if (attrs[AIRSIM_ATTR_BLOCKED])
		printf("%u %u blocked\n", from, to);
	if (attrs[AIRSIM_ATTR_RATE_FORMAT]) {
		printf("%u %u ", from, to);
		print_rate(attrs);
	}
	return MNL_CB_OK;
}
