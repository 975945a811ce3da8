// SPDX-License-Identifier: GPL-2.0-only
/*
 * configure: build the nodes of a network, with the commands on standard input.
 *
 * It does what ip, iw, ethtool and ping do, for those of their commands that
 * plans use, in all nodes in one process: in User Mode Linux starting a program
 * costs more than most of these commands. A line `node NAME` selects the node,
 * a network namespace, of the following commands; `node` alone selects that of
 * the caller. Other lines are commands of these programs in exactly the forms
 * of the table at the end, or
 *
 *	sysctl NAME VALUE...	in net.ipv4 of the node
 *	put PATH VALUE...	write a value to a file of the kernel
 *	offload DEV FEATURE	turn it on if the device has it
 *	carrier DEV SECONDS WHAT...	wait; WHAT is for the message
 *	associate DEV SSID MHZ SECONDS [BSSID]
 *
 * Associations begin at once and go on while further stations associate; the
 * first other command, or the end of the input, waits for all of them.
 *
 * The first command that fails ends the program, with a line on standard error
 * that starts like those of plan.sh.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

#include "configure.h"

#define MAX_WORDS	64

char *line;

/* The command and what went wrong, in the form of the failures of plan.sh. */
_Noreturn __attribute__((format(printf, 1, 2)))
void give_up(const char *format, ...)
{
	va_list arguments;

	fputs("airtcp: failed: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(1);
}

_Noreturn void refused(int error)
{
	give_up("%s: %s", line, strerror(error));
}

static bool write_file(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	size_t length = strlen(value);
	bool done = fd >= 0 && write(fd, value, length) == (ssize_t)length;

	if (fd >= 0)
		close(fd);
	return done;
}

static const char *rest(char **words)
{
	return strstr(line, words[0]) + strlen(words[0]) + 1;
}

static void set_sysctl(char **words)
{
	char path[256];

	snprintf(path, sizeof(path), "/proc/sys/net/ipv4/%s", words[0]);
	if (access(path, F_OK))
		give_up("this kernel has no sysctl net.ipv4.%s, so it cannot be set to %s",
			words[0], rest(words));
	if (!write_file(path, rest(words)))
		give_up("net.ipv4.%s refuses the value %s", words[0],
			rest(words));
}

static void put(char **words)
{
	if (!write_file(words[0], rest(words)))
		give_up("%s refuses the value %s", words[0], rest(words));
}

static void select_node(char **words)
{
	enter(find_node(words[0] ? words[0] : ""));
}

/*
 * The commands. In a pattern, `*` is any word, which the function gets, and `+`
 * at the end is one or more words. The first match applies.
 */
static const struct {
	const char *pattern;
	void (*run)(char **words);
} commands[] = {
	{ "node *", select_node },
	{ "node", select_node },
	{ "associate * * * +", associate },
	{ "ip netns add *", add_namespace },
	{ "ip link add * netns +", add_veth },
	{ "ip link add * type *", add_link },
	{ "ip link set +", set_link },
	{ "ip address add * dev *", add_address },
	{ "ip neighbour replace * lladdr * nud permanent dev *", set_neighbour },
	{ "iw phy * set netns name *", move_phy },
	{ "iw phy * set txq limit *", set_txq_limit },
	{ "iw phy * set rts *", set_rts },
	{ "iw dev * set power_save off", power_save_off },
	{ "ethtool -K +", offloads_off },
	{ "ping -nq -c 1 -w 10 *", ping },
	{ "offload * *", try_offload },
	{ "carrier * * +", await_carrier },
	{ "sysctl * +", set_sysctl },
	{ "put * +", put },
};

/* Collects the arguments. */
static bool matches(const char *pattern, char **words, char **arguments)
{
	char copy[128], *save, *part;

	strcpy(copy, pattern);
	for (part = strtok_r(copy, " ", &save); part;
	     part = strtok_r(NULL, " ", &save), words++) {
		if (!*words)
			return false;
		if (*part == '+') {
			while ((*arguments++ = *words++))
				;
			return true;
		}
		if (*part == '*')
			*arguments++ = *words;
		else if (strcmp(part, *words))
			return false;
	}
	*arguments = NULL;
	return !*words;
}

static void run_line(void)
{
	char copy[1024], *words[MAX_WORDS + 1] = {}, *arguments[MAX_WORDS + 1];
	char *save, *word;
	size_t i, count = 0;

	if (strlen(line) >= sizeof(copy))
		refused(E2BIG);
	strcpy(copy, line);
	for (word = strtok_r(copy, " ", &save); word;
	     word = strtok_r(NULL, " ", &save)) {
		if (count == MAX_WORDS)
			refused(E2BIG);
		words[count++] = word;
	}
	if (!count || words[0][0] == '#')
		return;
	for (i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		if (!matches(commands[i].pattern, words, arguments))
			continue;
		if (commands[i].run != select_node &&
		    commands[i].run != associate)
			await_associations();
		commands[i].run(arguments);
		return;
	}
	give_up("%s: not a command of configure", line);
}

int main(void)
{
	size_t size = 0;
	ssize_t length;

	line = "configure";
	current = find_node("");
	while ((length = getline(&line, &size, stdin)) > 0) {
		if (line[length - 1] == '\n')
			line[length - 1] = '\0';
		run_line();
	}
	await_associations();
	return 0;
}
