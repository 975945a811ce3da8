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
 *	associate DEV SSID MHZ SECONDS
 *
 * Associations begin at once and go on while further stations associate; the
 * first other command, or the end of the input, waits for all of them.
 *
 * The first command that fails ends the program, with a line on standard error
 * that starts like those of plan.sh.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/genetlink.h>
#include <linux/if_link.h>
#include <linux/nl80211.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <linux/veth.h>
#include <net/if.h>
#include <netinet/ip_icmp.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program.h"

#define NAMESPACES	"/run/netns"
#define MAX_WORDS	64
#define MAX_NODES	256
#define POLL_NS		20000000
#define AGAIN_NS	NSEC_PER_SEC
#define PING_TRIES	10
#define PING_OCTETS	56

/* A node with the sockets that have been opened in it. */
struct node {
	char name[64];
	int ns, inet, route, generic;
};

/* A station that is associating. */
struct station {
	const struct node *node;
	char device[IFNAMSIZ], ssid[33];
	uint32_t mhz;
	long long again_ns, limit_ns;
};

static struct node nodes[MAX_NODES];
static unsigned int node_count;
static struct node *current;

static struct station stations[MAX_NODES];
static unsigned int station_count;

static char *line;
static uint16_t nl80211;

static union {
	struct nlmsghdr header;
	char octets[8192];
} message, answer;

/* The command and what went wrong, in the form of the failures of plan.sh. */
static _Noreturn __attribute__((format(printf, 1, 2)))
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

static _Noreturn void refused(int error)
{
	give_up("%s: %s", line, strerror(error));
}

static int open_socket(int *fd, int family, int type, int protocol)
{
	if (*fd < 0)
		*fd = socket(family, type | SOCK_CLOEXEC, protocol);
	if (*fd < 0)
		refused(errno);
	return *fd;
}

static int inet_of(const struct node *node)
{
	return open_socket((int *)&node->inet, AF_INET, SOCK_DGRAM, 0);
}

static int open_namespace(const char *name)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), *name ? NAMESPACES "/%s" : "%s", *name ?
		 name : "/proc/self/ns/net");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		refused(errno);
	return fd;
}

static struct node *find_node(const char *name)
{
	struct node *node = nodes;

	while (node < nodes + node_count && strcmp(node->name, name))
		node++;
	if (node < nodes + node_count)
		return node;
	if (node_count == MAX_NODES || strlen(name) >= sizeof(node->name))
		refused(ENAMETOOLONG);
	strcpy(node->name, name);
	node->ns = open_namespace(name);
	node->inet = node->route = node->generic = -1;
	node_count++;
	return node;
}

static void enter(struct node *node)
{
	if (node != current && setns(node->ns, CLONE_NEWNET))
		refused(errno);
	current = node;
}

/* Netlink messages. */

static void *begin(uint16_t type, uint16_t flags, size_t size)
{
	memset(&message, 0, NLMSG_HDRLEN + NLMSG_ALIGN(size));
	message.header.nlmsg_type = type;
	message.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	message.header.nlmsg_len = NLMSG_HDRLEN + NLMSG_ALIGN(size);
	return NLMSG_DATA(&message.header);
}

static void *extend(size_t size)
{
	char *end = message.octets + message.header.nlmsg_len;

	message.header.nlmsg_len += NLMSG_ALIGN(size);
	if (message.header.nlmsg_len > sizeof(message))
		refused(EMSGSIZE);
	return memset(end, 0, NLMSG_ALIGN(size));
}

static struct rtattr *attribute(uint16_t type, const void *value, size_t size)
{
	struct rtattr *at = extend(RTA_LENGTH(size));

	at->rta_type = type;
	at->rta_len = RTA_LENGTH(size);
	if (size)
		memcpy(RTA_DATA(at), value, size);
	return at;
}

static void attribute_text(uint16_t type, const char *text)
{
	attribute(type, text, strlen(text) + 1);
}

static void attribute_u32(uint16_t type, uint32_t value)
{
	attribute(type, &value, sizeof(value));
}

static struct rtattr *nest(uint16_t type)
{
	return attribute(type, NULL, 0);
}

static void nest_end(struct rtattr *at)
{
	at->rta_len = message.octets + message.header.nlmsg_len - (char *)at;
}

/* Sends the message; returns the error that the kernel answers, or 0. */
static int talk(int fd)
{
	const struct nlmsghdr *header;
	ssize_t length;

	if (send(fd, &message, message.header.nlmsg_len, 0) < 0)
		return errno;
	for (;;) {
		length = recv(fd, &answer, sizeof(answer), 0);
		if (length < 0)
			return errno;
		for (header = &answer.header; NLMSG_OK(header, length);
		     header = NLMSG_NEXT(header, length)) {
			const struct nlmsgerr *error = NLMSG_DATA(header);

			if (header->nlmsg_type == NLMSG_ERROR)
				return -error->error;
			/* An answer with data; the acknowledgment follows. */
			memcpy(&message, header, header->nlmsg_len);
		}
	}
}

static void talk_route(void)
{
	int error = talk(open_socket(&current->route, AF_NETLINK, SOCK_RAW,
				     NETLINK_ROUTE));

	if (error)
		refused(error);
}

static int talk_generic(void)
{
	return talk(open_socket(&current->generic, AF_NETLINK, SOCK_RAW,
				NETLINK_GENERIC));
}

static void begin_generic(uint16_t family, uint8_t command)
{
	struct genlmsghdr *header = begin(family, 0, sizeof(*header));

	header->cmd = command;
	header->version = 1;
}

static void begin_nl80211(uint8_t command)
{
	const struct rtattr *at;
	int left, error;

	if (!nl80211) {
		begin_generic(GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
		attribute_text(CTRL_ATTR_FAMILY_NAME, "nl80211");
		error = talk_generic();
		if (error)
			refused(error);
		left = message.header.nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN);
		at = (void *)(message.octets + NLMSG_LENGTH(GENL_HDRLEN));
		for (; RTA_OK(at, left); at = RTA_NEXT(at, left))
			if (at->rta_type == CTRL_ATTR_FAMILY_ID)
				memcpy(&nl80211, RTA_DATA(at), sizeof(nl80211));
	}
	begin_generic(nl80211, command);
}

static void talk_nl80211(void)
{
	int error = talk_generic();

	if (error)
		refused(error);
}

static uint32_t index_of(const char *device)
{
	struct ifreq request = {};

	strncpy(request.ifr_name, device, IFNAMSIZ - 1);
	if (ioctl(inet_of(current), SIOCGIFINDEX, &request))
		refused(errno);
	return request.ifr_ifindex;
}

static uint32_t u32(const char *text)
{
	return number(text, 0, INT32_MAX);
}

static void read_mac(const char *text, uint8_t *mac)
{
	if (sscanf(text, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", mac, mac + 1, mac + 2,
		   mac + 3, mac + 4, mac + 5) != 6)
		refused(EINVAL);
}

static in_addr_t read_address(const char *text)
{
	struct in_addr address;

	if (!inet_aton(text, &address))
		refused(EINVAL);
	return address.s_addr;
}

/* Commands of ip. */

static void add_namespace(char **words)
{
	struct node *before = current;
	char path[128];
	int fd;

	snprintf(path, sizeof(path), NAMESPACES "/%s", words[0]);
	if (mkdir(NAMESPACES, 0755) && errno != EEXIST)
		refused(errno);
	fd = open(path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);
	if (fd < 0 || close(fd) || unshare(CLONE_NEWNET) ||
	    mount("/proc/self/ns/net", path, "none", MS_BIND, NULL) ||
	    setns(before->ns, CLONE_NEWNET))
		refused(errno);
}

/* DEV NODE [address MAC] */
static void veth_end(char **words)
{
	uint8_t mac[6];

	attribute_text(IFLA_IFNAME, words[0]);
	attribute_u32(IFLA_NET_NS_FD, find_node(words[1])->ns);
	if (words[2] && !strcmp(words[2], "address")) {
		read_mac(words[3], mac);
		attribute(IFLA_ADDRESS, mac, sizeof(mac));
	}
}

/* DEV NODE [address MAC] type veth peer name DEV netns NODE [address MAC] */
static void add_veth(char **words)
{
	struct rtattr *info, *data, *peer;
	char **far = words;

	while (*far && strcmp(*far, "name"))
		far++;
	if (!far[0] || !far[1] || !far[2] || !far[3])
		refused(EINVAL);
	/* Without the word netns. */
	far[2] = far[1];
	far += 2;

	begin(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, sizeof(struct ifinfomsg));
	veth_end(words);
	info = nest(IFLA_LINKINFO);
	attribute_text(IFLA_INFO_KIND, "veth");
	data = nest(IFLA_INFO_DATA);
	peer = nest(VETH_INFO_PEER);
	extend(sizeof(struct ifinfomsg));
	veth_end(far);
	nest_end(peer);
	nest_end(data);
	nest_end(info);
	talk_route();
}

static void add_link(char **words)
{
	struct rtattr *info;

	begin(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, sizeof(struct ifinfomsg));
	attribute_text(IFLA_IFNAME, words[0]);
	info = nest(IFLA_LINKINFO);
	attribute_text(IFLA_INFO_KIND, words[1]);
	nest_end(info);
	talk_route();
}

/* DEV, then `up` and pairs of a setting and its value. */
static void set_link(char **words)
{
	uint32_t device = index_of(words[0]), master = 0;
	struct ifinfomsg *info;
	char **word;

	for (word = words + 1; *word; word++)
		if (!strcmp(*word, "master"))
			master = index_of(word[1]);
	info = begin(RTM_NEWLINK, 0, sizeof(*info));
	info->ifi_index = device;
	for (word = words + 1; *word; word++) {
		if (!strcmp(*word, "up"))
			info->ifi_flags = info->ifi_change = IFF_UP;
		else if (!word[1])
			refused(EINVAL);
		else if (!strcmp(*word, "master") && word++)
			attribute_u32(IFLA_MASTER, master);
		else if (!strcmp(*word, "name"))
			attribute_text(IFLA_IFNAME, *++word);
		else if (!strcmp(*word, "gso_max_segs"))
			attribute_u32(IFLA_GSO_MAX_SEGS, u32(*++word));
		else
			refused(EINVAL);
	}
	talk_route();
}

static void add_address(char **words)
{
	char *prefix = strchr(words[0], '/');
	struct ifaddrmsg *info;
	uint32_t device = index_of(words[1]);
	in_addr_t address;

	if (!prefix)
		refused(EINVAL);
	*prefix = '\0';
	address = read_address(words[0]);
	info = begin(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, sizeof(*info));
	info->ifa_family = AF_INET;
	info->ifa_prefixlen = u32(prefix + 1);
	info->ifa_index = device;
	attribute(IFA_LOCAL, &address, sizeof(address));
	attribute(IFA_ADDRESS, &address, sizeof(address));
	talk_route();
}

static void set_neighbour(char **words)
{
	in_addr_t address = read_address(words[0]);
	uint32_t device = index_of(words[2]);
	struct ndmsg *info;
	uint8_t mac[6];

	read_mac(words[1], mac);
	info = begin(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, sizeof(*info));
	info->ndm_family = AF_INET;
	info->ndm_ifindex = device;
	info->ndm_state = NUD_PERMANENT;
	attribute(NDA_DST, &address, sizeof(address));
	attribute(NDA_LLADDR, mac, sizeof(mac));
	talk_route();
}

/* Commands of iw; cfg80211 names its devices phy0, phy1, ... */

static uint32_t phy(const char *name)
{
	if (strncmp(name, "phy", 3))
		refused(ENODEV);
	return u32(name + 3);
}

static void move_phy(char **words)
{
	int ns = find_node(words[1])->ns;

	begin_nl80211(NL80211_CMD_SET_WIPHY_NETNS);
	attribute_u32(NL80211_ATTR_WIPHY, phy(words[0]));
	attribute_u32(NL80211_ATTR_NETNS_FD, ns);
	talk_nl80211();
}

static void set_phy(const char *name, uint16_t type, const char *value)
{
	begin_nl80211(NL80211_CMD_SET_WIPHY);
	attribute_u32(NL80211_ATTR_WIPHY, phy(name));
	attribute_u32(type, u32(value));
	talk_nl80211();
}

static void set_txq_limit(char **words)
{
	set_phy(words[0], NL80211_ATTR_TXQ_LIMIT, words[1]);
}

static void set_rts(char **words)
{
	set_phy(words[0], NL80211_ATTR_WIPHY_RTS_THRESHOLD, words[1]);
}

static void power_save_off(char **words)
{
	uint32_t device = index_of(words[0]);

	begin_nl80211(NL80211_CMD_SET_POWER_SAVE);
	attribute_u32(NL80211_ATTR_IFINDEX, device);
	attribute_u32(NL80211_ATTR_PS_STATE, NL80211_PS_DISABLED);
	talk_nl80211();
}

static int connect_station(const struct station *station)
{
	uint32_t device = index_of(station->device);

	begin_nl80211(NL80211_CMD_CONNECT);
	attribute_u32(NL80211_ATTR_IFINDEX, device);
	attribute(NL80211_ATTR_SSID, station->ssid, strlen(station->ssid));
	attribute_u32(NL80211_ATTR_WIPHY_FREQ, station->mhz);
	return talk_generic();
}

static void associate(char **words)
{
	struct station *station = &stations[station_count];
	long long now = now_ns(CLOCK_MONOTONIC);
	int error;

	if (station_count == MAX_NODES || strlen(words[0]) >= IFNAMSIZ ||
	    strlen(words[1]) >= sizeof(station->ssid))
		refused(ENAMETOOLONG);
	station->node = current;
	strcpy(station->device, words[0]);
	strcpy(station->ssid, words[1]);
	station->mhz = u32(words[2]);
	station->limit_ns = now + u32(words[3]) * NSEC_PER_SEC;
	station->again_ns = now + AGAIN_NS;
	error = connect_station(station);
	if (error)
		refused(error);
	station_count++;
}

/* Offloads and the state of the carrier: ethtool's ioctl. */

static int ethtool(const struct node *node, const char *device,
		   uint32_t command, uint32_t *value)
{
	struct ethtool_value data = { .cmd = command, .data = *value };
	struct ifreq request = { .ifr_data = (void *)&data };

	strncpy(request.ifr_name, device, IFNAMSIZ - 1);
	if (ioctl(inet_of(node), SIOCETHTOOL, &request))
		return errno;
	*value = data.data;
	return 0;
}

static const struct {
	const char *name;
	uint32_t get, set;
} offloads[] = {
	{ "gro", ETHTOOL_GGRO, ETHTOOL_SGRO },
	{ "gso", ETHTOOL_GGSO, ETHTOOL_SGSO },
	{ "tso", ETHTOOL_GTSO, ETHTOOL_STSO },
};

/* Whether the device has now set the offload so. */
static bool set_offload(const char *device, const char *name, uint32_t on)
{
	uint32_t value = on;
	size_t i;

	for (i = 0; i < sizeof(offloads) / sizeof(*offloads); i++) {
		if (strcmp(name, offloads[i].name))
			continue;
		ethtool(current, device, offloads[i].set, &value);
		if (ethtool(current, device, offloads[i].get, &value))
			refused(errno);
		return value == on;
	}
	refused(EINVAL);
}

static void offloads_off(char **words)
{
	char **word;

	for (word = words + 1; word[0] && word[1]; word += 2)
		if (strcmp(word[1], "off") ||
		    !set_offload(words[0], word[0], 0))
			refused(EOPNOTSUPP);
}

static void try_offload(char **words)
{
	if (!set_offload(words[0], words[1], 1))
		printf("airtcp: %s has no %s\n", words[0], words[1]);
	fflush(stdout);
}

static bool has_carrier(const struct node *node, const char *device)
{
	uint32_t on = 0;

	return !ethtool(node, device, ETHTOOL_GLINK, &on) && on;
}

static void pause_until(long long time_ns)
{
	struct timespec wake = {
		.tv_sec = time_ns / NSEC_PER_SEC,
		.tv_nsec = time_ns % NSEC_PER_SEC,
	};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL);
}

static void await_carrier(char **words)
{
	long long now = now_ns(CLOCK_MONOTONIC);
	long long limit_ns = now + u32(words[1]) * NSEC_PER_SEC;

	while (!has_carrier(current, words[0])) {
		if (now > limit_ns)
			give_up("gave up waiting until %s",
				strstr(line, words[2]));
		now += POLL_NS;
		pause_until(now);
	}
}

static void associate_again(struct station *station, long long now)
{
	enter((struct node *)station->node);
	if (now > station->limit_ns)
		give_up("gave up waiting until the station is associated (%s)",
			station->node->name);
	if (now < station->again_ns)
		return;
	/* The scan missed the access point, or the attempt still goes on. */
	connect_station(station);
	station->again_ns = now + AGAIN_NS;
}

static void await_associations(void)
{
	long long now = now_ns(CLOCK_MONOTONIC);
	struct node *before = current;
	unsigned int i;

	while (station_count) {
		now += POLL_NS;
		pause_until(now);
		for (i = 0; i < station_count;)
			if (has_carrier(stations[i].node, stations[i].device))
				stations[i] = stations[--station_count];
			else
				associate_again(&stations[i++], now);
	}
	enter(before);
}

/* One answered request of ICMP; another one every second. */

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

static void ping(char **words)
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

/* Files of the kernel. */

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
	{ "associate * * * *", associate },
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
