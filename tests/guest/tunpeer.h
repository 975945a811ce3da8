/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A TCP peer behind a TUN device that sends arbitrary segments. The kernel's end is a socket that
 * listens at 192.0.2.1, port 7.
 */
#ifndef TUNPEER_H
#define TUNPEER_H

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define MSS 1448

static struct {
	int tun, listener;
	int sock;		/* the kernel's end of the connection, or -1 */
	uint16_t port;		/* the peer's */
	uint32_t next;		/* sequence number of the next data to send */
	uint32_t acked;		/* acknowledged by the kernel */
	uint32_t sent;		/* sent by the kernel */
	bool stamps;
	bool synack;		/* received since peer_connect() started */
	uint32_t stamp;		/* the kernel's timestamp in its SYN-ACK */
	long segments, replies;
	useconds_t rtt_us;	/* of the handshake */
} peer = { .sock = -1 };

struct segment {
	struct iphdr ip;
	struct tcphdr tcp;
	uint8_t rest[40 + 4 * MSS];
} __attribute__((packed));

/* A segment to send; flags as in packetdrill: S . F R P U E W */
struct sent {
	uint32_t seq, ack;
	const char *flags;
	const uint8_t *options;
	size_t options_size, length;
	uint16_t window;
	uint8_t ecn;
};

static uint32_t peer_add(const void *data, size_t length, uint32_t sum)
{
	const uint8_t *octet = data;
	size_t i;

	for (i = 0; i < length; i++)
		sum += i & 1 ? octet[i] : octet[i] << 8;
	return sum;
}

static uint16_t peer_fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons(~sum);
}

/* Returns the length of *out in octets. */
static size_t peer_build(struct segment *out, struct sent what)
{
	size_t tcp_length = sizeof(out->tcp) + what.options_size + what.length;

	memset(out, 0, sizeof(out->ip) + tcp_length);
	out->ip = (struct iphdr){ .version = 4, .ihl = 5, .tos = what.ecn, .ttl = 64,
				  .protocol = IPPROTO_TCP, .saddr = htonl(0xc0000202),
				  .daddr = htonl(0xc0000201) };
	out->tcp = (struct tcphdr){ .source = htons(peer.port), .dest = htons(7),
				    .seq = htonl(what.seq), .ack_seq = htonl(what.ack),
				    .doff = 5 + what.options_size / 4,
				    .window = htons(what.window) };
	out->tcp.syn = !!strchr(what.flags, 'S');
	out->tcp.ack = !!strchr(what.flags, '.');
	out->tcp.fin = !!strchr(what.flags, 'F');
	out->tcp.rst = !!strchr(what.flags, 'R');
	out->tcp.psh = !!strchr(what.flags, 'P');
	out->tcp.urg = !!strchr(what.flags, 'U');
	out->tcp.ece = !!strchr(what.flags, 'E');
	out->tcp.cwr = !!strchr(what.flags, 'W');
	if (what.options_size)
		memcpy(out->rest, what.options, what.options_size);
	out->ip.tot_len = htons(sizeof(out->ip) + tcp_length);
	out->ip.check = peer_fold(peer_add(&out->ip, sizeof(out->ip), 0));
	out->tcp.check = peer_fold(peer_add(&out->tcp, tcp_length,
					    peer_add(&out->ip.saddr, 8,
						     IPPROTO_TCP + tcp_length)));
	return sizeof(out->ip) + tcp_length;
}

static void peer_write(const struct segment *out, size_t octets)
{
	if (write(peer.tun, out, octets) < 0 && errno != EIO)
		err(1, "write a segment");
	peer.segments++;
}

static void peer_send(struct sent what)
{
	struct segment out;

	peer_write(&out, peer_build(&out, what));
}

/* The timestamp of a segment, 0 if it has none */
static uint32_t peer_stamp(const struct segment *in)
{
	const uint8_t *option = in->rest, *end = in->rest + 4 * in->tcp.doff - sizeof(in->tcp);
	uint32_t stamp;

	while (option + 10 <= end && *option != 8)
		option += *option > 1 && option[1] ? option[1] : 1;
	if (option + 10 > end)
		return 0;
	memcpy(&stamp, option + 2, sizeof(stamp));
	return ntohl(stamp);
}

/* Process the segments that the kernel sent. */
static void peer_drain(void)
{
	struct segment in;

	while (read(peer.tun, &in, sizeof(in)) > 0) {
		if (in.ip.version != 4 || in.ip.protocol != IPPROTO_TCP ||
		    ntohs(in.tcp.dest) != peer.port)
			continue;
		peer.replies++;
		peer.synack |= in.tcp.syn;
		if (in.tcp.syn)
			peer.stamp = peer_stamp(&in);
		if (in.tcp.ack)
			peer.acked = ntohl(in.tcp.ack_seq);
		peer.sent = ntohl(in.tcp.seq) + ntohs(in.ip.tot_len) - 20 - 4 * in.tcp.doff +
			    in.tcp.syn + in.tcp.fin;
	}
}

/* Replace the connection by a new one; false if the kernel does not accept it. */
static bool peer_connect(uint16_t port, uint32_t isn, bool stamps)
{
	static const uint8_t options[] = { 2, 4, MSS >> 8, MSS & 0xff, 1, 3, 3, 7, 4, 2,
					   8, 10, 0, 0, 0, 1, 0, 0, 0, 0 };
	static const uint8_t stamp[] = { 1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0 };

	if (peer.sock >= 0)
		close(peer.sock);
	peer_drain();
	peer.port = port;
	peer.next = isn;
	peer.stamps = stamps;
	peer.synack = false;
	peer_send((struct sent){ .seq = isn, .flags = "S", .window = 60000, .options = options,
				 .options_size = stamps ? 20 : 8 });
	peer_drain();
	if (!peer.synack) {
		peer.sock = -1;
		return false;
	}
	usleep(peer.rtt_us);
	peer.next++;
	peer_send((struct sent){ .seq = peer.next, .ack = peer.sent, .flags = ".",
				 .window = 60000, .options = stamp,
				 .options_size = stamps ? sizeof(stamp) : 0 });
	peer.sock = accept4(peer.listener, NULL, NULL, SOCK_NONBLOCK);
	return peer.sock >= 0;
}

static void peer_open(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(7) };
	struct ifreq request = { .ifr_name = "peer", .ifr_flags = IFF_TUN | IFF_NO_PI };
	int on = 1;

	peer.tun = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
	if (peer.tun < 0 || ioctl(peer.tun, TUNSETIFF, &request))
		err(1, "/dev/net/tun");
	if (system("ip address add 192.0.2.1/24 dev peer && ip link set peer up"))
		errx(1, "cannot set up the TUN device");
	peer.listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	setsockopt(peer.listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(peer.listener, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(peer.listener, 64))
		err(1, "listen");
}

#endif
