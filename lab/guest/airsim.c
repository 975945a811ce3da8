// SPDX-License-Identifier: GPL-2.0-only
/*
 * Add, remove, set and show simulated radios while the system runs.
 *
 *	airsim radio add [preset NAME] [KEY VALUE]...
 *	airsim radio del N
 *	airsim radio set N KEY VALUE...
 *	airsim radio show [N]
 *	airsim link set FROM TO loss_mdb X | blocked | clear
 *	airsim link show
 *	airsim air set KEY VALUE...
 *	airsim air show
 *	airsim preset list
 *	airsim -batch -
 *
 * The last one runs the lines on standard input, each a command without the word
 * airsim. Like ip and tc it stops at the first one that fails and reports its line
 * number. Keys are the attributes of the generic netlink family "airsim". Exit
 * status: 2 for an invalid request, 1 for one that the kernel rejects.
 */
#include <errno.h>
#include <inttypes.h>
#include <libmnl/libmnl.h>
#include <linux/airsim.h>
#include <linux/genetlink.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_OCTETS	32768
#define MOST_WORDS	128
#define ARRAY_SIZE(array)	(sizeof(array) / sizeof(*(array)))

enum type { U8, U16, U32, S32, BOOLEAN, WORD, TEXT, ADDRESS, COUNTERS };

/* Commands that accept a key; keys with none are only shown. */
enum use {
	SHOWN,
	HARDWARE = 1,
	SETTING = 2,
	AIR = 4,
};

struct key {
	const char *name;
	uint16_t attr;
	enum type type;
	unsigned int use;
	const char * const *words;
};

static const char * const standards[] = {
	[AIRSIM_80211A] = "802.11a",
	[AIRSIM_80211G] = "802.11g",
	[AIRSIM_80211N] = "802.11n",
	[AIRSIM_80211AC] = "802.11ac",
	[AIRSIM_80211AX] = "802.11ax",
	NULL
};

static const char * const queueings[] = {
	[AIRSIM_QUEUE_TXQ] = "txq",
	[AIRSIM_QUEUE_FIFO] = "fifo",
	NULL
};

static const char * const hand_ups[] = {
	[AIRSIM_HAND_UP_MPDU] = "mpdu",
	[AIRSIM_HAND_UP_PPDU] = "ppdu",
	[AIRSIM_HAND_UP_COALESCED] = "coalesced",
	NULL
};

static const char * const error_models[] = {
	[AIRSIM_ERRORS_FIXED] = "fixed",
	[AIRSIM_ERRORS_SNR] = "snr",
	[AIRSIM_ERRORS_BURST] = "burst",
	NULL
};

static const char * const formats[] = {
	[AIRSIM_CCK] = "cck",
	[AIRSIM_OFDM] = "ofdm",
	[AIRSIM_HT] = "ht",
	[AIRSIM_VHT] = "vht",
	[AIRSIM_HE] = "he",
	NULL
};

static const char * const switches[] = { "off", "on", NULL };

#define KEY(_name, _attr, _type, _use) \
	{ _name, AIRSIM_ATTR_##_attr, _type, _use, NULL }
#define CHOICE(_name, _attr, _use, _words) \
	{ _name, AIRSIM_ATTR_##_attr, WORD, _use, _words }
#define SWITCH(_name, _attr, _use) \
	{ _name, AIRSIM_ATTR_##_attr, BOOLEAN, _use, switches }

/* In the order of output. */
static const struct key keys[] = {
	KEY("index", INDEX, U32, SHOWN),
	KEY("wiphy", WIPHY, TEXT, SHOWN),
	KEY("address", ADDRESS, ADDRESS, SHOWN),
	KEY("preset", PRESET, TEXT, HARDWARE),
	CHOICE("standard", STANDARD, HARDWARE, standards),
	KEY("streams", STREAMS, U8, HARDWARE),
	KEY("width_mhz", WIDTH_MHZ, U16, HARDWARE),
	KEY("ba_window", BA_WINDOW, U16, HARDWARE),
	KEY("mpdu_spacing_ns", MPDU_SPACING_NS, U16, HARDWARE),
	SWITCH("amsdu", AMSDU, HARDWARE),
	CHOICE("queueing", QUEUEING, HARDWARE, queueings),
	KEY("ampdu_mpdus", AMPDU_MPDUS, U32, SETTING),
	KEY("ampdu_octets", AMPDU_OCTETS, U32, SETTING),
	KEY("ampdu_duration_us", AMPDU_DURATION_US, U32, SETTING),
	SWITCH("bar", BAR, SETTING),
	KEY("formed_ppdus", FORMED_PPDUS, U32, SETTING),
	KEY("fifo_mpdus", FIFO_MPDUS, U32, SETTING),
	CHOICE("hand_up", HAND_UP, SETTING, hand_ups),
	KEY("coalesce_mpdus", COALESCE_MPDUS, U32, SETTING),
	KEY("coalesce_us", COALESCE_US, U32, SETTING),
	KEY("ack_hold", ACK_HOLD, U32, SETTING),
	KEY("ack_hold_us", ACK_HOLD_US, U32, SETTING),
	KEY("ack_hold_kbps", ACK_HOLD_KBPS, U32, SETTING),
	SWITCH("gro", GRO, SETTING),
	KEY("gro_flush_us", GRO_FLUSH_US, U32, SETTING),
	CHOICE("errors", ERRORS, SETTING, error_models),
	KEY("mpdu_error_ppm", MPDU_ERROR_PPM, U32, SETTING),
	KEY("response_error_ppm", RESPONSE_ERROR_PPM, U32, SETTING),
	KEY("burst_enter_ppm", BURST_ENTER_PPM, U32, SETTING),
	KEY("burst_leave_ppm", BURST_LEAVE_PPM, U32, SETTING),
	KEY("burst_good_error_ppm", BURST_GOOD_ERROR_PPM, U32, SETTING),
	KEY("burst_bad_error_ppm", BURST_BAD_ERROR_PPM, U32, SETTING),
	KEY("tx_power_mdbm", TX_POWER_MDBM, S32, SETTING),
	SWITCH("placed", PLACED, SETTING),
	KEY("x_mm", X_MM, S32, SETTING),
	KEY("y_mm", Y_MM, S32, SETTING),
	KEY("vx_mm_per_s", VX_MM_PER_S, S32, SETTING),
	KEY("vy_mm_per_s", VY_MM_PER_S, S32, SETTING),
	SWITCH("rate_fixed", RATE_FIXED, SETTING),
	CHOICE("rate_format", RATE_FORMAT, SETTING, formats),
	KEY("rate_mcs", RATE_MCS, U8, SETTING),
	KEY("rate_streams", RATE_STREAMS, U8, SETTING),
	KEY("rate_width_mhz", RATE_WIDTH_MHZ, U16, SETTING),
	KEY("rate_gi_ns", RATE_GI_NS, U16, SETTING),
	KEY("rate_legacy_kbps", RATE_LEGACY_KBPS, U16, SETTING),
	KEY("counters", COUNTERS, COUNTERS, SHOWN),
	KEY("from", FROM, U32, SHOWN),
	KEY("to", TO, U32, SHOWN),
	KEY("loss_mdb", LOSS_MDB, S32, SHOWN),
	SWITCH("blocked", BLOCKED, SHOWN),
	KEY("path_loss_exponent_milli", PATH_LOSS_EXPONENT_MILLI, U32, AIR),
	KEY("path_loss_reference_mdb", PATH_LOSS_REFERENCE_MDB, U32, AIR),
	KEY("sense_mdbm", SENSE_MDBM, S32, AIR),
};

static const char * const counters[] = {
	[AIRSIM_COUNTER_TAKEN] = "taken",
	[AIRSIM_COUNTER_ACKED] = "acked",
	[AIRSIM_COUNTER_UNANSWERABLE] = "unanswerable",
	[AIRSIM_COUNTER_DROPPED_RETRIES] = "dropped_retries",
	[AIRSIM_COUNTER_DROPPED_STOPPED] = "dropped_stopped",
	[AIRSIM_COUNTER_DROPPED_QUEUE_GONE] = "dropped_queue_gone",
	[AIRSIM_COUNTER_QUEUED] = "queued",
	[AIRSIM_COUNTER_RECEIVED] = "received",
	[AIRSIM_COUNTER_HANDED_UP] = "handed_up",
	[AIRSIM_COUNTER_RX_NO_MEMORY] = "rx_no_memory",
	[AIRSIM_COUNTER_RX_DROPPED_STOPPED] = "rx_dropped_stopped",
	[AIRSIM_COUNTER_RX_WAITING] = "rx_waiting",
	[AIRSIM_COUNTER_PPDUS] = "ppdus",
	[AIRSIM_COUNTER_COLLIDED] = "collided",
	[AIRSIM_COUNTER_RETRIES] = "retries",
	[AIRSIM_COUNTER_TX_AIRTIME_NS] = "tx_airtime_ns",
	[AIRSIM_COUNTER_RTS_SENT] = "rts_sent",
	[AIRSIM_COUNTER_BAR_SENT] = "bar_sent",
	[AIRSIM_COUNTER_ACKS_SUPPRESSED] = "acks_suppressed",
	[AIRSIM_COUNTER_ACKS_HELD] = "acks_held",
};

static struct mnl_socket *kernel;
static uint16_t family;
static char request[BUFFER_OCTETS];
static char answer[BUFFER_OCTETS];

/* Print one line to standard error and exit. */
static _Noreturn __attribute__((format(printf, 2, 3)))
void fail(int status, const char *format, ...)
{
	va_list arguments;

	fputs("airsim: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(status);
}

static _Noreturn void fail_usage(void)
{
	fail(2, "usage: airsim radio add [preset NAME] [KEY VALUE]... | "
	     "radio del N | radio set N KEY VALUE... | radio show [N] | "
	     "link set FROM TO loss_mdb X|blocked|clear | link show | "
	     "air set KEY VALUE... | air show | preset list | -batch -");
}

static const struct key *key_of_attr(uint16_t attr)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].attr == attr)
			return &keys[i];
	return NULL;
}

static const struct key *key_of_name(const char *name, unsigned int use)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].use & use && !strcmp(keys[i].name, name))
			return &keys[i];
	fprintf(stderr, "airsim: %s: unknown key; allowed:", name);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].use & use)
			fprintf(stderr, " %s", keys[i].name);
	fputc('\n', stderr);
	exit(2);
}

static int64_t number(const char *name, const char *text, int64_t min,
		      int64_t max)
{
	char *end;
	int64_t value;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (end == text || *end || errno || value < min || value > max)
		fail(2, "%s: %s: not an integer from %" PRId64 " to %" PRId64,
		     name, text, min, max);
	return value;
}

static uint32_t word(const struct key *key, const char *text)
{
	for (uint32_t i = 0; key->words[i]; i++)
		if (!strcmp(key->words[i], text))
			return i;
	fprintf(stderr, "airsim: %s: %s; allowed:", key->name, text);
	for (uint32_t i = 0; key->words[i]; i++)
		fprintf(stderr, " %s", key->words[i]);
	fputc('\n', stderr);
	exit(2);
}

static uint32_t radio(const char *text)
{
	return number("radio", text, 0, UINT32_MAX);
}

static void put(struct nlmsghdr *header, const struct key *key,
		const char *text)
{
	const char *name = key->name;

	switch (key->type) {
	case U8:
		mnl_attr_put_u8(header, key->attr,
				number(name, text, 0, UINT8_MAX));
		break;
	case U16:
		mnl_attr_put_u16(header, key->attr,
				 number(name, text, 0, UINT16_MAX));
		break;
	case U32:
		mnl_attr_put_u32(header, key->attr,
				 number(name, text, 0, UINT32_MAX));
		break;
	case S32:
		mnl_attr_put_u32(header, key->attr,
				 number(name, text, INT32_MIN, INT32_MAX));
		break;
	case BOOLEAN:
		mnl_attr_put_u8(header, key->attr, word(key, text));
		break;
	case WORD:
		mnl_attr_put_u32(header, key->attr, word(key, text));
		break;
	case TEXT:
		if (!mnl_attr_put_strz_check(header, sizeof(request),
					     key->attr, text))
			fail(2, "%s: too long", name);
		break;
	case ADDRESS:
	case COUNTERS:
		break; /* only shown */
	}
}

/* KEY VALUE...; a repeated key is an error. */
static void put_pairs(struct nlmsghdr *header, unsigned int use, char **texts)
{
	bool given[ARRAY_SIZE(keys)] = {};

	for (; texts[0]; texts += 2) {
		const struct key *key = key_of_name(texts[0], use);

		if (!texts[1])
			fail(2, "%s: missing value", texts[0]);
		if (given[key - keys])
			fail(2, "%s: given twice", texts[0]);
		given[key - keys] = true;
		put(header, key, texts[1]);
	}
}

static void print_words(const struct key *key, uint32_t value)
{
	uint32_t i;

	for (i = 0; key->words[i]; i++)
		if (i == value)
			break;
	if (key->words[i])
		printf("%s %s\n", key->name, key->words[i]);
	else
		printf("%s %u\n", key->name, value);
}

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

static void print_address(const struct nlattr *attr)
{
	const uint8_t *octet = mnl_attr_get_payload(attr);
	uint16_t count = mnl_attr_get_payload_len(attr);

	for (uint16_t i = 0; i < count; i++)
		printf(i ? ":%02x" : "%02x", octet[i]);
}

static void print(const struct key *key, const struct nlattr *attr)
{
	switch (key->type) {
	case U8:
		printf("%s %u\n", key->name, mnl_attr_get_u8(attr));
		break;
	case U16:
		printf("%s %u\n", key->name, mnl_attr_get_u16(attr));
		break;
	case U32:
		printf("%s %u\n", key->name, mnl_attr_get_u32(attr));
		break;
	case S32:
		printf("%s %d\n", key->name, (int32_t)mnl_attr_get_u32(attr));
		break;
	case BOOLEAN:
		print_words(key, mnl_attr_get_u8(attr));
		break;
	case WORD:
		print_words(key, mnl_attr_get_u32(attr));
		break;
	case TEXT:
		printf("%s %s\n", key->name, mnl_attr_get_str(attr));
		break;
	case ADDRESS:
		printf("%s ", key->name);
		print_address(attr);
		putchar('\n');
		break;
	case COUNTERS:
		print_counters(attr);
		break;
	}
}

/* The attributes of a message by number; NULL for those not present. */
static void index_attrs(const struct nlmsghdr *header,
			const struct nlattr **attrs)
{
	const struct nlattr *attr;

	memset(attrs, 0, (AIRSIM_ATTR_MAX + 1) * sizeof(*attrs));
	mnl_attr_for_each(attr, header, sizeof(struct genlmsghdr))
		if (mnl_attr_get_type(attr) <= AIRSIM_ATTR_MAX)
			attrs[mnl_attr_get_type(attr)] = attr;
}

/* Print all keys, one per line; an empty line before all but the first entry. */
static int show(const struct nlmsghdr *header, void *shown)
{
	const struct nlattr *attrs[AIRSIM_ATTR_MAX + 1];
	bool *before = shown;

	index_attrs(header, attrs);
	if (*before)
		putchar('\n');
	*before = true;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (attrs[keys[i].attr])
			print(&keys[i], attrs[keys[i].attr]);
	return MNL_CB_OK;
}

static int show_new(const struct nlmsghdr *header, void *data)
{
	const struct nlattr *attrs[AIRSIM_ATTR_MAX + 1];

	(void)data;
	index_attrs(header, attrs);
	if (!attrs[AIRSIM_ATTR_INDEX] || !attrs[AIRSIM_ATTR_WIPHY] ||
	    !attrs[AIRSIM_ATTR_ADDRESS])
		fail(1, "the kernel's answer lacks an attribute");
	printf("radio %u wiphy %s address ",
	       mnl_attr_get_u32(attrs[AIRSIM_ATTR_INDEX]),
	       mnl_attr_get_str(attrs[AIRSIM_ATTR_WIPHY]));
	print_address(attrs[AIRSIM_ATTR_ADDRESS]);
	putchar('\n');
	return MNL_CB_OK;
}

/* In the format of `link set`. */
static int show_link(const struct nlmsghdr *header, void *data)
{
	const struct nlattr *attrs[AIRSIM_ATTR_MAX + 1];

	(void)data;
	index_attrs(header, attrs);
	if (!attrs[AIRSIM_ATTR_FROM] || !attrs[AIRSIM_ATTR_TO])
		fail(1, "the kernel's answer lacks an attribute");
	printf("%u %u ", mnl_attr_get_u32(attrs[AIRSIM_ATTR_FROM]),
	       mnl_attr_get_u32(attrs[AIRSIM_ATTR_TO]));
	if (attrs[AIRSIM_ATTR_LOSS_MDB])
		print(key_of_attr(AIRSIM_ATTR_LOSS_MDB),
		      attrs[AIRSIM_ATTR_LOSS_MDB]);
	else
		puts("blocked");
	return MNL_CB_OK;
}

/* The key at an offset of the request, or NULL. */
static const struct key *key_at(uint32_t offset)
{
	const struct nlmsghdr *header = (const void *)request;
	const struct nlattr *attr;

	mnl_attr_for_each(attr, header, sizeof(struct genlmsghdr))
		if ((const char *)attr - request == (ptrdiff_t)offset)
			return key_of_attr(mnl_attr_get_type(attr));
	return NULL;
}

/* Print the range allowed by the kernel's policy, if it reports one. */
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

/* "airsim: KEY: the kernel's message; allowed: range", as far as available. */
static _Noreturn void fail_refused(int error, const struct nlattr **tlvs)
{
	const struct key *key = NULL;

	if (tlvs[NLMSGERR_ATTR_OFFS])
		key = key_at(mnl_attr_get_u32(tlvs[NLMSGERR_ATTR_OFFS]));
	fputs("airsim: ", stderr);
	if (key)
		fprintf(stderr, "%s: ", key->name);
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
		fail(1, "this kernel has no airsim, or not in this network namespace");
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

static struct nlmsghdr *begin(uint8_t command, uint16_t flags)
{
	return begin_in(request, command, flags);
}

/* Send a request and pass each message of the answer to @take. */
static void exchange(const struct nlmsghdr *header, mnl_cb_t take, void *data)
{
	ssize_t octets;
	int more;

	if (mnl_socket_sendto(kernel, header, header->nlmsg_len) < 0)
		fail(1, "asking the kernel: %s", strerror(errno));
	do {
		octets = mnl_socket_recvfrom(kernel, answer, sizeof(answer));
		if (octets < 0)
			fail(1, "reading the kernel's answer: %s",
			     strerror(errno));
		more = mnl_cb_run2(answer, octets, 0,
				   mnl_socket_get_portid(kernel), take, data,
				   control, ARRAY_SIZE(control));
		if (more < 0)
			fail(1, "reading the kernel's answer: %s",
			     strerror(errno));
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
		fail(1, "opening generic netlink: %s", strerror(errno));
	if (mnl_socket_setsockopt(kernel, NETLINK_EXT_ACK, &on, sizeof(on)))
		fail(1, "enabling extended acknowledgments: %s",
		     strerror(errno));
	header = begin_in(buffer, CTRL_CMD_GETFAMILY, 0);
	header->nlmsg_type = GENL_ID_CTRL;
	mnl_attr_put_strz(header, CTRL_ATTR_FAMILY_NAME, AIRSIM_GENL_NAME);
	exchange(header, read_family, NULL);
}

/* Complete and send a request. */
static void ask(struct nlmsghdr *header, mnl_cb_t take, void *data)
{
	if (!kernel)
		open_kernel();
	header->nlmsg_type = family;
	exchange(header, take, data);
}

static void radio_add(int count, char **texts)
{
	struct nlmsghdr *header = begin(AIRSIM_CMD_NEW_RADIO, 0);

	(void)count;
	put_pairs(header, HARDWARE | SETTING, texts);
	ask(header, show_new, NULL);
}

static void radio_del(int count, char **texts)
{
	struct nlmsghdr *header = begin(AIRSIM_CMD_DEL_RADIO, 0);

	if (count != 1)
		fail_usage();
	mnl_attr_put_u32(header, AIRSIM_ATTR_INDEX, radio(texts[0]));
	ask(header, NULL, NULL);
}

static void radio_set(int count, char **texts)
{
	struct nlmsghdr *header = begin(AIRSIM_CMD_SET_RADIO, 0);

	if (count < 3)
		fail_usage();
	mnl_attr_put_u32(header, AIRSIM_ATTR_INDEX, radio(texts[0]));
	put_pairs(header, SETTING, texts + 1);
	ask(header, NULL, NULL);
}

static void radio_show(int count, char **texts)
{
	struct nlmsghdr *header;
	bool shown = false;

	if (count > 1)
		fail_usage();
	header = begin(AIRSIM_CMD_GET_RADIO, count ? 0 : NLM_F_DUMP);
	if (count)
		mnl_attr_put_u32(header, AIRSIM_ATTR_INDEX, radio(texts[0]));
	ask(header, show, &shown);
}

static void link_set(int count, char **texts)
{
	struct nlmsghdr *header = begin(AIRSIM_CMD_SET_LINK, 0);

	if (count < 3)
		fail_usage();
	mnl_attr_put_u32(header, AIRSIM_ATTR_FROM, radio(texts[0]));
	mnl_attr_put_u32(header, AIRSIM_ATTR_TO, radio(texts[1]));
	if (count == 4 && !strcmp(texts[2], "loss_mdb"))
		put(header, key_of_attr(AIRSIM_ATTR_LOSS_MDB), texts[3]);
	else if (count == 3 && !strcmp(texts[2], "blocked"))
		mnl_attr_put_u8(header, AIRSIM_ATTR_BLOCKED, 1);
	else if (count == 3 && !strcmp(texts[2], "clear"))
		mnl_attr_put_u8(header, AIRSIM_ATTR_BLOCKED, 0);
	else
		fail(2, "%s; allowed: loss_mdb X, blocked, clear",
		     texts[2]);
	ask(header, NULL, NULL);
}

static void link_show(int count, char **texts)
{
	(void)texts;
	if (count)
		fail_usage();
	ask(begin(AIRSIM_CMD_GET_LINK, NLM_F_DUMP), show_link, NULL);
}

static void air_set(int count, char **texts)
{
	struct nlmsghdr *header = begin(AIRSIM_CMD_SET_AIR, 0);

	if (!count)
		fail_usage();
	put_pairs(header, AIR, texts);
	ask(header, NULL, NULL);
}

static void air_show(int count, char **texts)
{
	bool shown = false;

	(void)texts;
	if (count)
		fail_usage();
	ask(begin(AIRSIM_CMD_GET_AIR, 0), show, &shown);
}

static void preset_list(int count, char **texts)
{
	bool shown = false;

	(void)texts;
	if (count)
		fail_usage();
	ask(begin(AIRSIM_CMD_GET_PRESET, NLM_F_DUMP), show, &shown);
}

static const struct {
	const char *object;
	const char *verb;
	void (*run)(int count, char **texts);
} commands[] = {
	{ "radio", "add", radio_add },
	{ "radio", "del", radio_del },
	{ "radio", "set", radio_set },
	{ "radio", "show", radio_show },
	{ "link", "set", link_set },
	{ "link", "show", link_show },
	{ "air", "set", air_set },
	{ "air", "show", air_show },
	{ "preset", "list", preset_list },
};

static int batch_line;

static void report_line(void)
{
	if (batch_line)
		fprintf(stderr, "Command failed -:%d\n", batch_line);
}

/* texts: the words of one command, terminated by NULL. */
static void run(int count, char **texts)
{
	if (count < 2)
		fail_usage();
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(commands[i].object, texts[0]) ||
		    strcmp(commands[i].verb, texts[1]))
			continue;
		commands[i].run(count - 2, texts + 2);
		return;
	}
	fail_usage();
}

static void run_batch(void)
{
	char *line = NULL, *texts[MOST_WORDS + 1];
	size_t size = 0;
	int number = 0;

	atexit(report_line);
	while (getline(&line, &size, stdin) >= 0) {
		int count = 0;

		batch_line = ++number;
		for (char *text = strtok(line, " \t\n"); text;
		     text = strtok(NULL, " \t\n")) {
			if (count == MOST_WORDS)
				fail(2, "more than %d words", MOST_WORDS);
			texts[count++] = text;
		}
		texts[count] = NULL;
		if (count)
			run(count, texts);
	}
	batch_line = 0;
	free(line);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "-batch") && !strcmp(argv[2], "-"))
		run_batch();
	else
		run(argc - 1, argv + 1);
	if (fflush(stdout) || ferror(stdout))
		fail(1, "writing: %s", strerror(errno));
	return 0;
}
