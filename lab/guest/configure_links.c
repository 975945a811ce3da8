// SPDX-License-Identifier: GPL-2.0-only
/* Commands of ip and ethtool. */
#define _GNU_SOURCE
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/sockios.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "configure.h"
#include "namespace.h"

void read_mac(const char *text, uint8_t *mac)
{
	if (sscanf(text, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", mac, mac + 1, mac + 2,
		   mac + 3, mac + 4, mac + 5) != 6)
		refused(EINVAL);
}

void add_namespace(char **words)
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
void add_veth(char **words)
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

void add_link(char **words)
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
void set_link(char **words)
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

void add_address(char **words)
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

void set_neighbour(char **words)
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

void offloads_off(char **words)
{
	char **word;

	for (word = words + 1; word[0] && word[1]; word += 2)
		if (strcmp(word[1], "off") ||
		    !set_offload(words[0], word[0], 0))
			refused(EOPNOTSUPP);
}

void try_offload(char **words)
{
	if (!set_offload(words[0], words[1], 1))
		printf("airtcp: %s has no %s\n", words[0], words[1]);
	fflush(stdout);
}

bool has_carrier(const struct node *node, const char *device)
{
	uint32_t on = 0;

	return !ethtool(node, device, ETHTOOL_GLINK, &on) && on;
}

void await_carrier(char **words)
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
