// SPDX-License-Identifier: GPL-2.0-only
/* Commands of iw, and associations. */
#define _GNU_SOURCE
#include <linux/nl80211.h>
#include <net/if.h>

#include "configure.h"

#define AGAIN_NS	NSEC_PER_SEC

/* A station that is associating. */
struct station {
	const struct node *node;
	char device[IFNAMSIZ], ssid[33];
	bool has_bssid;
	uint8_t bssid[6];
	uint32_t mhz;
	long long again_ns, limit_ns;
};

static struct station stations[MAX_NODES];
static unsigned int station_count;

/* cfg80211 names its devices phy0, phy1, ... */
static uint32_t phy(const char *name)
{
	if (strncmp(name, "phy", 3))
		refused(ENODEV);
	return u32(name + 3);
}

void move_phy(char **words)
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

void set_txq_limit(char **words)
{
	set_phy(words[0], NL80211_ATTR_TXQ_LIMIT, words[1]);
}

void set_rts(char **words)
{
	set_phy(words[0], NL80211_ATTR_WIPHY_RTS_THRESHOLD, words[1]);
}

void power_save_off(char **words)
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
	if (station->has_bssid)
		attribute(NL80211_ATTR_MAC, station->bssid,
			  sizeof(station->bssid));
	return talk_generic();
}

void associate(char **words)
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
	station->has_bssid = words[4];
	if (station->has_bssid)
		read_mac(words[4], station->bssid);
	station->limit_ns = now + u32(words[3]) * NSEC_PER_SEC;
	station->again_ns = now + AGAIN_NS;
	error = connect_station(station);
	if (error)
		refused(error);
	station_count++;
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

void await_associations(void)
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
