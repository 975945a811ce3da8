// SPDX-License-Identifier: GPL-2.0-only
/*
 * Add, remove, configure and show simulated radios.
 *
 *	airsim radio add [preset NAME] [KEY VALUE]...
 *	airsim radio del N
 *	airsim radio set N KEY VALUE...
 *	airsim radio show [N]
 *	airsim link set FROM TO loss_mdb X | blocked | clear | RATE_KEY VALUE...
 *	airsim link show
 *	airsim air set KEY VALUE...
 *	airsim air show
 *	airsim preset list
 *	airsim -batch -
 *
 * -batch runs commands from standard input, one per line and without the word
 * airsim; like ip and tc it stops at the first that fails, and prints its line
 * number. Keys are the attributes of the generic netlink family "airsim".
 *
 * Exit status: 2 for an invalid request, 1 for one that the kernel rejects.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <inttypes.h>
#include <libmnl/libmnl.h>
#include <linux/airsim.h>
#include <linux/genetlink.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "program.h"

#define BUFFER_OCTETS	32768
#define MAX_ARGS	128
#define ARRAY_SIZE(array)	(sizeof(array) / sizeof(*(array)))

enum type { u8, u16, u32, s32, BOOLEAN, WORD, TEXT, ADDRESS, COUNTERS };

/* Commands that accept a key; keys with none are only shown. */
enum use {
	SHOWN,
	RADIO_ADD = 1,
	RADIO_SET = 2,
	AIR_SET = 4,
	LINK_SET = 8,
};

struct key {
	char name[32];
	enum type type;
	unsigned int use;
	const char * const *words;
};

static const char * const switches[] = { "off", "on", NULL };

#define KEY(_name, _type, _use) \
	[AIRSIM_ATTR_##_name] = { #_name, _type, _use, NULL },
#define SWITCH(_name, _use) \
	[AIRSIM_ATTR_##_name] = { #_name, BOOLEAN, _use, switches },
#define CHOICE(_name, _use, ...) \
	[AIRSIM_ATTR_##_name] = { #_name, WORD, _use, \
		(const char * const []){ __VA_ARGS__, NULL } },

#define HARDWARE_INT(_name, _member, _type, ...) KEY(_name, _type, RADIO_ADD)
#define HARDWARE_BOOL(_name, ...) SWITCH(_name, RADIO_ADD)
#define HARDWARE_ENUM(_name, _member, _tag, _default, ...) \
	CHOICE(_name, RADIO_ADD, __VA_ARGS__)
#define SETTING_INT(_name, _member, _type, ...) \
	KEY(_name, _type, RADIO_ADD | RADIO_SET)
#define SETTING_BOOL(_name, ...) SWITCH(_name, RADIO_ADD | RADIO_SET)
#define SETTING_ENUM(_name, _member, _tag, _default, ...) \
	CHOICE(_name, RADIO_ADD | RADIO_SET, __VA_ARGS__)
#define RATE_INT(_name, _member, _type, ...) \
	KEY(_name, _type, RADIO_ADD | RADIO_SET | LINK_SET)
#define RATE_ENUM(_name, _member, _tag, _default, ...) \
	CHOICE(_name, RADIO_ADD | RADIO_SET | LINK_SET, __VA_ARGS__)
#define LINK_INT(_name, _member, _type, ...) KEY(_name, _type, SHOWN)
#define LINK_BOOL(_name, ...) SWITCH(_name, SHOWN)
#define AIR_INT(_name, _member, _type, ...) KEY(_name, _type, AIR_SET)

/* By attribute, and shown in this order; main() makes the names lower case. */
static struct key keys[AIRSIM_ATTR_MAX + 1] = {
	KEY(INDEX, u32, SHOWN)
	KEY(WIPHY, TEXT, SHOWN)
	KEY(ADDRESS, ADDRESS, SHOWN)
	KEY(PRESET, TEXT, RADIO_ADD)
	KEY(COUNTERS, COUNTERS, SHOWN)
	AIRSIM_HARDWARE(HARDWARE_INT, HARDWARE_BOOL, HARDWARE_ENUM)
	AIRSIM_SETTINGS(SETTING_INT, SETTING_BOOL, SETTING_ENUM)
	AIRSIM_BURST(SETTING_INT, SETTING_BOOL, SETTING_ENUM)
	AIRSIM_POSITION(SETTING_INT, SETTING_BOOL, SETTING_ENUM)
	AIRSIM_RATE(RATE_INT,, RATE_ENUM)
	AIRSIM_LINK(LINK_INT, LINK_BOOL,)
	AIRSIM_AIR(AIR_INT,,)
};

#define COUNTER(_name, _member) [AIRSIM_COUNTER_##_name] = #_member,
static const char * const counters[] = { AIRSIM_COUNTERS(COUNTER) };

static struct mnl_socket *kernel;
static uint16_t family;
static char request[BUFFER_OCTETS];
static char answer[BUFFER_OCTETS];

/* Print one line to standard error and exit. */
static _Noreturn __attribute__((format(printf, 2, 3)))
void give_up(int status, const char *format, ...)
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
	give_up(2, "usage: airsim radio add [preset NAME] [KEY VALUE]... | "
		"radio del N | radio set N KEY VALUE... | radio show [N] | "
		"link set FROM TO loss_mdb X|blocked|clear|KEY VALUE... | "
		"link show | "
		"air set KEY VALUE... | air show | preset list | -batch -");
}

static uint16_t attr_of(const struct key *key)
{
	return key - keys;
}

static const struct key *find_key(const char *name, unsigned int use)
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

static int64_t integer(const char *name, const char *text, int64_t min,
		       int64_t max)
{
	char *end;
	int64_t value;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (end == text || *end || errno || value < min || value > max)
		give_up(2, "%s: %s: not an integer from %" PRId64 " to %" PRId64,
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
	return integer("radio", text, 0, UINT32_MAX);
}

static void put(struct nlmsghdr *header, const struct key *key,
		const char *text)
{
	const char *name = key->name;
	uint16_t attr = attr_of(key);

	switch (key->type) {
	case u8:
		mnl_attr_put_u8(header, attr,
				integer(name, text, 0, UINT8_MAX));
		break;
	case u16:
		mnl_attr_put_u16(header, attr,
				 integer(name, text, 0, UINT16_MAX));
		break;
	case u32:
		mnl_attr_put_u32(header, attr,
				 integer(name, text, 0, UINT32_MAX));
		break;
	case s32:
		mnl_attr_put_u32(header, attr,
				 integer(name, text, INT32_MIN, INT32_MAX));
		break;
	case BOOLEAN:
		mnl_attr_put_u8(header, attr, word(key, text));
		break;
	case WORD:
		mnl_attr_put_u32(header, attr, word(key, text));
		break;
	case TEXT:
		if (!mnl_attr_put_strz_check(header, sizeof(request),
					     attr, text))
			give_up(2, "%s: too long", name);
		break;
	case ADDRESS:
	case COUNTERS:
		break; /* only shown */
	}
}

/* KEY VALUE...; each key at most once. */
static void put_pairs(struct nlmsghdr *header, unsigned int use, char **argv)
{
	bool given[ARRAY_SIZE(keys)] = {};

	for (; argv[0]; argv += 2) {
		const struct key *key = find_key(argv[0], use);

		if (!argv[1])
			give_up(2, "%s: missing value", argv[0]);
		if (given[key - keys])
			give_up(2, "%s: given twice", argv[0]);
		given[key - keys] = true;
		put(header, key, argv[1]);
	}
}

static void print_word(const struct key *key, uint32_t value)
{
	for (uint32_t i = 0; key->words[i]; i++)
		if (i == value) {
			fputs(key->words[i], stdout);
			return;
		}
	printf("%u", value);
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

/* KEY VALUE, without a newline. */
static void print(const struct nlattr *attr)
{
	const struct key *key = &keys[mnl_attr_get_type(attr)];

	printf("%s ", key->name);
	switch (key->type) {
	case u8:
		printf("%u", mnl_attr_get_u8(attr));
		break;
	case u16:
		printf("%u", mnl_attr_get_u16(attr));
		break;
	case u32:
		printf("%u", mnl_attr_get_u32(attr));
		break;
	case s32:
		printf("%d", (int32_t)mnl_attr_get_u32(attr));
		break;
	case BOOLEAN:
		print_word(key, mnl_attr_get_u8(attr));
		break;
	case WORD:
		print_word(key, mnl_attr_get_u32(attr));
		break;
	case TEXT:
		fputs(mnl_attr_get_str(attr), stdout);
		break;
	case ADDRESS:
		print_address(attr);
		break;
	case COUNTERS:
		break; /* show() prints them */
	}
}

/* Sorts the attributes of a message by number; NULL if absent. */
static void index_attrs(const struct nlmsghdr *header,
			const struct nlattr **attrs)
{
	const struct nlattr *attr;

	memset(attrs, 0, (AIRSIM_ATTR_MAX + 1) * sizeof(*attrs));
	mnl_attr_for_each(attr, header, sizeof(struct genlmsghdr))
		if (mnl_attr_get_type(attr) <= AIRSIM_ATTR_MAX)
			attrs[mnl_attr_get_type(attr)] = attr;
}

/* Print all keys, one per line, counters last; an empty line before all but the
 * first entry.
 */
static int show(const struct nlmsghdr *header, void *shown)
{
	const struct nlattr *attrs[AIRSIM_ATTR_MAX + 1];
	bool *before = shown;

	index_attrs(header, attrs);
	if (*before)
		putchar('\n');
	*before = true;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
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

static int show_new(const struct nlmsghdr *header, void *data)
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
static int show_link(const struct nlmsghdr *header, void *data)
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

/* The key at an offset in the request, or NULL. */
static const struct key *key_at(uint32_t offset)
{
	const struct nlmsghdr *header = (const void *)request;
	const struct nlattr *attr;

	mnl_attr_for_each(attr, header, sizeof(struct genlmsghdr))
		if ((const char *)attr - request == (ptrdiff_t)offset)
			return &keys[mnl_attr_get_type(attr)];
	return NULL;
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

static struct nlmsghdr *begin(uint8_t command, uint16_t flags)
{
	return begin_in(request, command, flags);
}

/* Sends a request and calls @take for each message of the reply. */
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

/* Sends a complete request. */
static void ask(struct nlmsghdr *header, mnl_cb_t take, void *data)
{
	if (!kernel)
		open_kernel();
	header->nlmsg_type = family;
	exchange(header, take, data);
}

static void radio_add(int argc, char **argv)
{
	struct nlmsghdr *header = begin(AIRSIM_CMD_NEW_RADIO, 0);

	(void)argc;
	put_pairs(header, RADIO_ADD, argv);
	ask(header, show_new, NULL);
}

static void radio_del(int argc, char **argv)
{
	struct nlmsghdr *header = begin(AIRSIM_CMD_DEL_RADIO, 0);

	if (argc != 1)
		fail_usage();
	mnl_attr_put_u32(header, AIRSIM_ATTR_INDEX, radio(argv[0]));
	ask(header, NULL, NULL);
}

static void radio_set(int argc, char **argv)
{
	struct nlmsghdr *header = begin(AIRSIM_CMD_SET_RADIO, 0);

	if (argc < 3)
		fail_usage();
	mnl_attr_put_u32(header, AIRSIM_ATTR_INDEX, radio(argv[0]));
	put_pairs(header, RADIO_SET, argv + 1);
	ask(header, NULL, NULL);
}

static void radio_show(int argc, char **argv)
{
	struct nlmsghdr *header;
	bool shown = false;

	if (argc > 1)
		fail_usage();
	header = begin(AIRSIM_CMD_GET_RADIO, argc ? 0 : NLM_F_DUMP);
	if (argc)
		mnl_attr_put_u32(header, AIRSIM_ATTR_INDEX, radio(argv[0]));
	ask(header, show, &shown);
}

static void link_set(int argc, char **argv)
{
	struct nlmsghdr *header = begin(AIRSIM_CMD_SET_LINK, 0);

	if (argc < 3)
		fail_usage();
	mnl_attr_put_u32(header, AIRSIM_ATTR_FROM, radio(argv[0]));
	mnl_attr_put_u32(header, AIRSIM_ATTR_TO, radio(argv[1]));
	if (argc == 4 && !strcmp(argv[2], "loss_mdb"))
		put(header, &keys[AIRSIM_ATTR_LOSS_MDB], argv[3]);
	else if (argc == 3 && !strcmp(argv[2], "blocked"))
		mnl_attr_put_u8(header, AIRSIM_ATTR_BLOCKED, 1);
	else if (argc == 3 && !strcmp(argv[2], "clear"))
		mnl_attr_put_u8(header, AIRSIM_ATTR_BLOCKED, 0);
	else if (argc == 4 && !strcmp(argv[2], "rate_fixed") &&
		 !strcmp(argv[3], "off"))
		mnl_attr_put_u8(header, AIRSIM_ATTR_RATE_FIXED, 0);
	else if (!strncmp(argv[2], "rate_", 5))
		put_pairs(header, LINK_SET, argv + 2);
	else
		give_up(2, "%s; allowed: loss_mdb X, blocked, clear, rate_fixed off, or keys of a rate",
			argv[2]);
	ask(header, NULL, NULL);
}

static void link_show(int argc, char **argv)
{
	(void)argv;
	if (argc)
		fail_usage();
	ask(begin(AIRSIM_CMD_GET_LINK, NLM_F_DUMP), show_link, NULL);
}

static void air_set(int argc, char **argv)
{
	struct nlmsghdr *header = begin(AIRSIM_CMD_SET_AIR, 0);

	if (!argc)
		fail_usage();
	put_pairs(header, AIR_SET, argv);
	ask(header, NULL, NULL);
}

static void air_show(int argc, char **argv)
{
	bool shown = false;

	(void)argv;
	if (argc)
		fail_usage();
	ask(begin(AIRSIM_CMD_GET_AIR, 0), show, &shown);
}

static void preset_list(int argc, char **argv)
{
	bool shown = false;

	(void)argv;
	if (argc)
		fail_usage();
	ask(begin(AIRSIM_CMD_GET_PRESET, NLM_F_DUMP), show, &shown);
}

static const struct {
	const char *object;
	const char *verb;
	void (*run)(int argc, char **argv);
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

/* argv: one command, NULL-terminated */
static void run(int argc, char **argv)
{
	if (argc < 2)
		fail_usage();
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(commands[i].object, argv[0]) ||
		    strcmp(commands[i].verb, argv[1]))
			continue;
		commands[i].run(argc - 2, argv + 2);
		return;
	}
	fail_usage();
}

static void run_batch(void)
{
	char *line = NULL, *argv[MAX_ARGS + 1];
	size_t size = 0;

	atexit(report_line);
	while (getline(&line, &size, stdin) >= 0) {
		int argc = 0;

		batch_line++;
		for (char *text = strtok(line, " \t\n"); text;
		     text = strtok(NULL, " \t\n")) {
			if (argc == MAX_ARGS)
				give_up(2, "more than %d words", MAX_ARGS);
			argv[argc++] = text;
		}
		argv[argc] = NULL;
		if (argc)
			run(argc, argv);
	}
	batch_line = 0;
	free(line);
}

int main(int argc, char **argv)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		for (char *c = keys[i].name; *c; c++)
			*c = tolower((unsigned char)*c);
	if (argc == 3 && !strcmp(argv[1], "-batch") && !strcmp(argv[2], "-"))
		run_batch();
	else
		run(argc - 1, argv + 1);
	if (fflush(stdout) || ferror(stdout))
		fail("writing");
	return 0;
}
