// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keys: the attributes of airsim's netlink family, named in lower case, and
 * their values as text.
 */
#define _GNU_SOURCE
#include <ctype.h>

#include "airsim.h"

enum type { u8, u16, u32, s32, BOOLEAN, WORD, TEXT, ADDRESS, COUNTERS };

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

/*
 * By attribute, and shown in this order; name_keys() makes the names lower
 * case.
 */
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

void name_keys(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		for (char *c = keys[i].name; *c; c++)
			*c = tolower((unsigned char)*c);
}

const char *key_name(uint16_t attr)
{
	return keys[attr].name;
}

static uint16_t find_key(const char *name, enum use use)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].use & use && !strcmp(keys[i].name, name))
			return i;
	fprintf(stderr, "airsim: %s: unknown key; allowed:", name);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].use & use)
			fprintf(stderr, " %s", keys[i].name);
	fputc('\n', stderr);
	exit(2);
}

int64_t integer(const char *name, const char *text, int64_t min, int64_t max)
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

void put(struct nlmsghdr *header, uint16_t attr, const char *text)
{
	const struct key *key = &keys[attr];
	const char *name = key->name;

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
		if (!mnl_attr_put_strz_check(header, BUFFER_OCTETS, attr, text))
			give_up(2, "%s: too long", name);
		break;
	case ADDRESS:
	case COUNTERS:
		break; /* only shown */
	}
}

/* KEY VALUE...; each key at most once. */
void put_pairs(struct nlmsghdr *header, enum use use, char **argv)
{
	bool given[ARRAY_SIZE(keys)] = {};

	for (; argv[0]; argv += 2) {
		uint16_t attr = find_key(argv[0], use);

		if (!argv[1])
			give_up(2, "%s: missing value", argv[0]);
		if (given[attr])
			give_up(2, "%s: given twice", argv[0]);
		given[attr] = true;
		put(header, attr, argv[1]);
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

static void print_address(const struct nlattr *attr)
{
	const uint8_t *octet = mnl_attr_get_payload(attr);
	uint16_t count = mnl_attr_get_payload_len(attr);

	for (uint16_t i = 0; i < count; i++)
		printf(i ? ":%02x" : "%02x", octet[i]);
}

/* KEY VALUE, without a newline. */
void print(const struct nlattr *attr)
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
