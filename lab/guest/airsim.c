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
#include <stdarg.h>

#include "airsim.h"

#define MAX_ARGS	128

/* Print one line to standard error and exit. */
_Noreturn __attribute__((format(printf, 2, 3)))
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

static uint32_t radio(const char *text)
{
	return integer("radio", text, 0, UINT32_MAX);
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

	if (argc < 2)
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
		put(header, AIRSIM_ATTR_LOSS_MDB, argv[3]);
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
	name_keys();
	if (argc == 3 && !strcmp(argv[1], "-batch") && !strcmp(argv[2], "-"))
		run_batch();
	else
		run(argc - 1, argv + 1);
	end_output();
	return 0;
}
