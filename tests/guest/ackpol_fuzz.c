// SPDX-License-Identifier: GPL-2.0-only
/*
 * ackpol_fuzz SEED INPUTS BOUNDS POLICY...: random sysctls, socket options and segments.
 *
 * A kernel socket is connected over a TUN device to this program, which sends segments that are
 * mostly almost valid.  It checks the results: a value out of range must be refused with EINVAL
 * and change nothing, a value within range must be accepted.  Prints counts; exits with 1 at the
 * first wrong result.  The kernel has its debugging options enabled.
 * BOUNDS is a file with a line NAME MIN MAX for each sysctl under net.ipv4.
 */
#define _GNU_SOURCE
#include <time.h>

#include "tunpeer.h"

#ifndef TCP_ACK_POLICY
#define TCP_ACK_POLICY 47
#endif

#define ARRAY_SIZE(x) (sizeof(x) / sizeof((x)[0]))

static char **policies;
static size_t policy_count;

static struct bounds {
	char name[64];
	long min, max;
	int fd;
} sysctls[64];

static size_t sysctl_count;

static struct {
	long sysctls, sysctls_refused, options, options_refused, connections;
} counts;

static uint64_t state;

/* xorshift64*: the same seed gives the same inputs */
static uint32_t random_u32(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (state * 0x2545f4914f6cdd1dull) >> 32;
}

static uint32_t below(uint32_t n)
{
	return ((uint64_t)random_u32() * n) >> 32;
}

static bool one_in(uint32_t n)
{
	return !below(n);
}

static long read_number(int fd)
{
	char text[32] = "";

	if (pread(fd, text, sizeof(text) - 1, 0) < 1)
		err(1, "read a sysctl");
	return strtol(text, NULL, 10);
}

static void try_sysctl(void)
{
	struct bounds *sysctl = &sysctls[below(sysctl_count)];
	long before, value;
	bool allowed;
	char text[32];
	ssize_t done;

	switch (below(5)) {
	case 0:
		value = (int32_t)random_u32();
		break;
	case 1:
		value = sysctl->max + (long)below(3) - 1;
		break;
	case 2:
		value = sysctl->min + (long)below(3) - 1;
		break;
	case 3:
		value = (long)((uint64_t)random_u32() << 32 | random_u32());
		break;
	default:
		value = sysctl->min + below(sysctl->max - sysctl->min + 1);
	}
	allowed = value >= sysctl->min && value <= sysctl->max;

	before = read_number(sysctl->fd);
	snprintf(text, sizeof(text), "%ld", value);
	done = pwrite(sysctl->fd, text, strlen(text), 0);
	counts.sysctls++;
	if (allowed != (done > 0) || (done < 0 && errno != EINVAL))
		errx(1, "%s: %ld: %s", sysctl->name, value,
		     done > 0 ? "accepted" : strerror(errno));
	if (read_number(sysctl->fd) != (allowed ? value : before))
		errx(1, "%s: %ld after %ld was written", sysctl->name, read_number(sysctl->fd),
		     value);
	counts.sysctls_refused += !allowed;
}

static void try_option(int sock)
{
	static const int numbers[] = { TCP_QUICKACK, TCP_NODELAY, TCP_CORK };
	char name[24] = "", result[16];
	socklen_t size = sizeof(result);
	size_t i, length;
	bool known = false;
	int value, done;

	counts.options++;
	if (one_in(4)) {
		value = below(3);
		setsockopt(sock, IPPROTO_TCP, numbers[below(ARRAY_SIZE(numbers))], &value,
			   sizeof(value));
		return;
	}

	if (one_in(3))
		for (i = 0; i < sizeof(name) - 1; i++)
			name[i] = one_in(4) ? (char)random_u32() : "aeilmtdvck-"[below(11)];
	else
		strcpy(name, policies[below(policy_count)]);
	length = one_in(3) ? below(sizeof(name)) : strlen(name);

	/* The kernel's name ends at the length given, at a zero byte or after 15 bytes. */
	if (length < sizeof(name))
		memset(name + length, 0, sizeof(name) - length);
	name[15] = 0;
	for (i = 0; i < policy_count; i++)
		known |= !strcmp(name, policies[i]);

	done = setsockopt(sock, IPPROTO_TCP, TCP_ACK_POLICY, name, length);
	if (known && length ? done : !done || errno != (length ? ENOENT : EINVAL))
		errx(1, "TCP_ACK_POLICY %.16s (%zu bytes): %s", name, length,
		     done ? strerror(errno) : "accepted");
	counts.options_refused += !!done;
	if (done)
		return;
	if (getsockopt(sock, IPPROTO_TCP, TCP_ACK_POLICY, result, &size) || strcmp(result, name))
		errx(1, "TCP_ACK_POLICY: set %s, read %.16s", name, result);
}

static void pass_time(uint32_t max_us)
{
	struct timespec wait = { .tv_nsec = below(max_us) * 1000l };

	nanosleep(&wait, NULL);
}

static void establish(void)
{
	int tries = 0;

	do {
		if (++tries > 50)
			errx(1, "no connection after %d tries", tries);
	} while (!peer_connect(1024 + below(60000), random_u32(), one_in(2)));
	counts.connections++;
}

static void try_segment(void)
{
	static const char *const flags[] = {
		".", ".", ".", "P.", "P.", "P.", "P.E", "P.W", "U.", "F.", "P", "S", "R.", "",
	};
	uint8_t options[12] = { 1, 1, 8, 10 };
	uint32_t seq = peer.next, ack = peer.sent, stamp;
	size_t length, size = 0;
	const char *segment_flags;

	segment_flags = flags[one_in(50) ? below(ARRAY_SIZE(flags)) : below(6)];
	length = one_in(3) ? below(4 * MSS) : one_in(3) ? below(10) : MSS;
	if (one_in(10))
		seq = peer.acked + (int32_t)below(12000) - 3000;
	else if (one_in(50))
		seq = random_u32();
	if (one_in(10))
		ack += (int32_t)below(20000) - 10000;
	if (peer.stamps && !one_in(20)) {
		/* After a timestamp from the future, PAWS drops all others. */
		stamp = htonl(one_in(2000) ? random_u32() : one_in(50) ? 0 : 1);
		memcpy(options + 4, &stamp, 4);
		size = sizeof(options);
	} else if (one_in(20)) {
		for (size = 0; size < sizeof(options); size++)
			options[size] = random_u32();
	}
	peer_send((struct sent){ .seq = seq, .ack = ack, .flags = segment_flags, .length = length,
				 .options = options, .options_size = size,
				 .window = one_in(10) ? random_u32() : 60000,
				 .ecn = one_in(10) ? 3 : below(2) });
	if (seq == peer.next && strchr(segment_flags, '.'))
		peer.next += length;
	/* Fill the hole, so that not everything is out of order */
	if (one_in(8)) {
		peer_drain();
		peer.next = peer.acked;
	}
}

static void use_socket(void)
{
	static char buffer[65536];
	ssize_t done;

	if (one_in(2))
		done = recv(peer.sock, buffer, below(sizeof(buffer)) + 1, MSG_DONTWAIT);
	else
		done = send(peer.sock, buffer, below(3000), MSG_DONTWAIT | MSG_NOSIGNAL);
	if (done == 0 || (done < 0 && errno != EAGAIN))
		establish();
}

static void open_sysctls(const char *bounds)
{
	FILE *file = fopen(bounds, "r");
	struct bounds *sysctl;
	char *path;

	if (!file)
		err(1, "%s", bounds);
	for (sysctl = sysctls; fscanf(file, "%63s %ld %ld", sysctl->name, &sysctl->min,
				      &sysctl->max) == 3; sysctl++) {
		if (asprintf(&path, "/proc/sys/net/ipv4/%s", sysctl->name) < 0)
			err(1, "memory");
		sysctl->fd = open(path, O_RDWR);
		if (sysctl->fd < 0)
			err(1, "%s", path);
		free(path);
		sysctl_count++;
	}
	if (!sysctl_count)
		errx(1, "%s: no line NAME MIN MAX", bounds);
	fclose(file);
}

int main(int argc, char **argv)
{
	long inputs, i;

	if (argc < 5)
		errx(2, "usage: ackpol_fuzz SEED INPUTS BOUNDS POLICY...");
	state = strtoull(argv[1], NULL, 10) * 0x9e3779b97f4a7c15ull + 1;
	inputs = strtol(argv[2], NULL, 10);

	open_sysctls(argv[3]);
	policies = argv + 4;
	policy_count = argc - 4;
	peer_open();
	establish();

	for (i = 0; i < inputs; i++) {
		switch (below(8)) {
		case 0:
			try_sysctl();
			break;
		case 1:
			try_option(peer.sock);
			break;
		default:
			try_segment();
		}
		if (one_in(4))
			use_socket();
		if (one_in(16))
			peer_drain();
		if (one_in(64))
			pass_time(one_in(8) ? 600000 : 3000);
		if (one_in(2000))
			establish();
	}

	printf("sysctls %ld\nsysctls_refused %ld\noptions %ld\noptions_refused %ld\n"
	       "segments %ld\nreplies %ld\nconnections %ld\n",
	       counts.sysctls, counts.sysctls_refused, counts.options, counts.options_refused,
	       peer.segments, peer.replies, counts.connections);
	return 0;
}
