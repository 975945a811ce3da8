// SPDX-License-Identifier: GPL-2.0-only
/* One answered request of ICMP; another one every second. */
#define _GNU_SOURCE
#include <netinet/ip_icmp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "configure.h"

#define PING_TRIES	10
#define PING_OCTETS	56

static uint16_t checksum(const void *data, size_t octets)
{
	const uint16_t *word = data;
	uint32_t sum = 0;

	for (; octets > 1; octets -= 2)
		sum += *word++;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

static bool await_reply(int fd, uint16_t id)
{
	const struct icmphdr *icmp;
	struct {
		struct iphdr ip;
		char rest[1500];
	} packet;
	ssize_t octets;

	while ((octets = recv(fd, &packet, sizeof(packet), 0)) > 0) {
		icmp = (const void *)((char *)&packet + 4 * packet.ip.ihl);
		if (octets >= (ssize_t)(4 * packet.ip.ihl + sizeof(*icmp)) &&
		    icmp->type == ICMP_ECHOREPLY && icmp->un.echo.id == id)
			return true;
	}
	return false;
}

void ping(char **words)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = read_address(words[0]),
	};
	struct {
		struct icmphdr header;
		char data[PING_OCTETS];
	} request = { .header.type = ICMP_ECHO };
	struct timeval limit = { .tv_sec = 1 };
	int fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP), i;

	if (fd < 0)
		refused(errno);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	request.header.un.echo.id = htons(getpid());
	for (i = 0; i < PING_TRIES; i++) {
		request.header.un.echo.sequence = htons(i + 1);
		request.header.checksum = 0;
		request.header.checksum = checksum(&request, sizeof(request));
		if (sendto(fd, &request, sizeof(request), 0, (void *)&to,
			   sizeof(to)) < 0)
			refused(errno);
		if (await_reply(fd, request.header.un.echo.id)) {
			close(fd);
			return;
		}
	}
	give_up("%s: no answer", line);
}
