// SPDX-License-Identifier: GPL-2.0-only
/*
 * The UL OFDMA scheduler of an access point: when to send a Trigger frame, to
 * which stations, and on which resource units.
 *
 * All that the access point knows about a station's queue is the report in the
 * last frame that arrived from it, and whether it has sent data to it since.
 * A Basic Trigger frame is due for stations that have reported data. A BSRP
 * Trigger frame asks others first: those to which it has sent data, which may have
 * caused TCP ACKs, those that have sent data lately, and those that hardly contend
 * because their MU EDCA timer runs. While the access point has data to send, Trigger
 * frames are at least ul_ofdma_interval_us apart; a Basic Trigger frame does not
 * wait otherwise.
 *
 * Stations get equal RUs, of the size with which most can be sent in the time of
 * the exchange, and the MCS and streams of their last data. If there are fewer
 * RUs than stations, they take turns. The HE TB PPDUs are as long as the longest
 * of the queues needs.
 */
#include <linux/etherdevice.h>
#include "airsim.h"

/* How long stations are asked for reports after their last data. */
#define ACTIVE_NS	(100 * NSEC_PER_MSEC)

/* An inactive station that does not answer is left out until its next frame. */
#define MAX_SILENT	3

static bool airsim_uplink_active(const struct airsim_radio *station, u64 now_ns)
{
	return now_ns < station->status.active_until_ns ||
	       airsim_mu_edca_active(station);
}

/* The associated station whose radio has a number, if it can be triggered. */
static struct airsim_radio *airsim_uplink_station(struct airsim_radio *radio,
						  u32 index, u64 now_ns)
{
	struct airsim_radio *station = airsim_medium.tuned[index];
	const struct ieee80211_vif *vif;

	if (!station || station == radio || !radio->vif || !station->vif ||
	    !station->ap)
		return NULL;
	vif = station->vif;
	if (vif->type != NL80211_IFTYPE_STATION || !vif->cfg.assoc ||
	    !vif->bss_conf.he_support || !vif->bss_conf.bssid ||
	    !ether_addr_equal(vif->bss_conf.bssid, radio->vif->addr))
		return NULL;
	if (station->low_mhz != radio->low_mhz ||
	    station->high_mhz != radio->high_mhz || station->dozing ||
	    !station->status.rate.streams ||
	    (station->status.silent >= MAX_SILENT &&
	     !airsim_uplink_active(station, now_ns)))
		return NULL;
	return station;
}

static bool airsim_uplink_wants(const struct airsim_radio *station, bool basic,
				u64 now_ns)
{
	const struct airsim_buffer_status *status = &station->status;

	if (status->left.octets)
		return basic;
	return !basic && (status->awaited ||
			  airsim_uplink_active(station, now_ns));
}

/* Whether a station is to be triggered. */
static bool airsim_uplink_is_due(struct airsim_radio *radio, bool basic,
				 u64 now_ns)
{
	struct airsim_radio *station;
	u32 i;

	if (!airsim_tuned(radio) || !radio->vif ||
	    radio->vif->type != NL80211_IFTYPE_AP)
		return false;
	for (i = 0; i < AIRSIM_MAX_RADIOS; i++) {
		station = airsim_uplink_station(radio, i, now_ns);
		if (station && airsim_uplink_wants(station, basic, now_ns))
			return true;
	}
	return false;
}

static u16 airsim_channel_mhz(const struct airsim_radio *radio)
{
	return radio->high_mhz - radio->low_mhz;
}

/*
 * The rate of a station's HE TB PPDU, but for its RU. The guard interval and the
 * HE-LTFs are the same for all stations.
 */
static struct airsim_rate airsim_tb_rate(const struct airsim_radio *radio,
					 const struct airsim_radio *station)
{
	return (struct airsim_rate){
		.format = AIRSIM_HE,
		.mcs = station->status.rate.mcs,
		.streams = station->status.rate.streams,
		.width_mhz = airsim_channel_mhz(radio),
		.gi_ns = 1600,
		.extension_ns = radio->phy->extension_ns,
	};
}

static void airsim_uplink_add(struct airsim_radio *radio, bool basic,
			      u64 now_ns)
{
	struct airsim_uplink *uplink = &radio->uplink;
	u32 most = airsim_ru_count(airsim_channel_mhz(radio), 26);
	u32 first = uplink->next;
	u32 i;

	uplink->basic = basic;
	uplink->users = 0;
	for (i = 0; i < AIRSIM_MAX_RADIOS && uplink->users < most; i++) {
		u32 index = (first + i) % AIRSIM_MAX_RADIOS;
		struct airsim_radio *station =
			airsim_uplink_station(radio, index, now_ns);

		if (!station || !airsim_uplink_wants(station, basic, now_ns))
			continue;
		uplink->user[uplink->users++] = (struct airsim_tb_user){
			.radio = station,
			.rate = airsim_tb_rate(radio, station),
		};
	}
}

/**
 * airsim_uplink_response_ns - expected duration of a Multi-STA BlockAck
 * @radio: the access point; the medium is locked
 * @users: how many of the stations in the Trigger frame it acknowledges
 *
 * It has bitmaps of 256 bits for those that have reported several MPDUs.
 */
u32 airsim_uplink_response_ns(const struct airsim_radio *radio, u8 users)
{
	const struct airsim_uplink *uplink = &radio->uplink;
	u32 bitmaps = 0;
	int i;

	for (i = 0; i < users; i++)
		if (uplink->user[i].radio &&
		    uplink->user[i].radio->status.left.mpdus > 1)
			bitmaps += 2 + 256 / 8;
	return airsim_ppdu_ns(&uplink->control,
			      airsim_multi_blockack_octets(users, bitmaps));
}

/* What an exchange with the first stations takes apart from HE TB PPDUs. */
static u32 airsim_uplink_control_ns(const struct airsim_radio *radio, u8 users)
{
	const struct airsim_rate *control = &radio->uplink.control;

	return airsim_ppdu_ns(control, airsim_trigger_octets(true, users)) +
	       2 * radio->phy->sifs_ns + airsim_uplink_response_ns(radio, users);
}

static u32 airsim_tb_limit_ns(const struct airsim_radio *radio, u8 users)
{
	u32 limit_ns = radio->settings.ampdu_duration_us * NSEC_PER_USEC;
	u32 txop_ns = radio->uplink.txop_ns;
	u32 control_ns;

	if (!txop_ns)
		return limit_ns;
	control_ns = airsim_uplink_control_ns(radio, users);
	return min(limit_ns, txop_ns - min(txop_ns, control_ns));
}

/* The rate of control frames that the first stations support. */
static void airsim_uplink_set_control(struct airsim_radio *radio, u8 users)
{
	struct airsim_uplink *uplink = &radio->uplink;
	struct airsim_rate lowest = uplink->user[0].rate;
	int i;

	for (i = 1; i < users; i++)
		lowest.mcs = min(lowest.mcs, uplink->user[i].rate.mcs);
	uplink->control = airsim_response_rate(&lowest,
					       airsim_basic_rates(radio));
}

static u32 airsim_tb_octets(const struct airsim_radio *radio,
			    const struct airsim_tb_user *user)
{
	u32 octets = AIRSIM_DELIMITER_OCTETS + AIRSIM_NULL_OCTETS;

	return radio->uplink.basic ? max(octets,
					 user->radio->status.left.octets) :
				     octets;
}

/*
 * Gives the first stations RUs of a size, and sets the rate of the control
 * frames and the duration of the HE TB PPDUs: as long as the longest needs,
 * within the limits, but long enough for a QoS Null of each.
 */
static void airsim_uplink_divide(struct airsim_radio *radio, u16 tones, u8 users)
{
	struct airsim_uplink *uplink = &radio->uplink;
	u16 gi_ns = 1600;
	u32 limit_ns;
	u8 ltfs = 0;
	int i;

	airsim_uplink_set_control(radio, users);
	limit_ns = airsim_tb_limit_ns(radio, users);
	for (i = 0; i < users; i++) {
		struct airsim_tb_user *user = &uplink->user[i];

		ltfs = max(ltfs, airsim_ltfs(user->rate.streams));
		gi_ns = max(gi_ns, user->radio->status.rate.gi_ns);
	}
	uplink->tb_ns = 0;
	for (i = 0; i < users; i++) {
		struct airsim_tb_user *user = &uplink->user[i];
		u32 least_ns, wanted_ns;

		user->rate.ru_tones = tones;
		user->rate.ltfs = ltfs;
		user->rate.gi_ns = gi_ns;
		least_ns = airsim_ppdu_ns(&user->rate, AIRSIM_DELIMITER_OCTETS +
						       AIRSIM_NULL_OCTETS);
		wanted_ns = airsim_tb_ns(&user->rate,
					 airsim_tb_octets(radio, user),
					 limit_ns);
		uplink->tb_ns = max3(uplink->tb_ns, least_ns, wanted_ns);
	}
}

/* What the first stations can send of their queues, octets. */
static u64 airsim_uplink_served(const struct airsim_radio *radio, u8 users)
{
	const struct airsim_uplink *uplink = &radio->uplink;
	u64 octets = 0;
	int i;

	for (i = 0; i < users; i++) {
		const struct airsim_tb_user *user = &uplink->user[i];
		u32 symbols = (uplink->tb_ns - airsim_preamble_ns(&user->rate) -
			       user->rate.extension_ns) /
			      airsim_symbol_ns(&user->rate);
		u32 room = symbols * airsim_bits_per_symbol(&user->rate) / 8;

		octets += min(room, airsim_tb_octets(radio, user));
	}
	return octets;
}

/* The mean duration of an exchange with the first stations, with its backoff. */
static u32 airsim_uplink_ns(const struct airsim_radio *radio, u8 users)
{
	const struct airsim_edca *edca = &radio->edca[IEEE80211_AC_BE];

	return radio->phy->sifs_ns +
	       (2 * edca->aifsn + edca->cw_min) * radio->phy->slot_ns / 2 +
	       airsim_uplink_control_ns(radio, users) + radio->uplink.tb_ns;
}

/*
 * Chooses the size of the RUs with which most octets can be sent in the time of
 * the exchange. If there are fewer RUs than stations, the first ones get them.
 */
static void airsim_uplink_allocate(struct airsim_radio *radio)
{
	struct airsim_uplink *uplink = &radio->uplink;
	u16 width_mhz = airsim_channel_mhz(radio);
	u16 all = airsim_ru_tones(width_mhz, uplink->users);
	u64 best_octets = 0, best_ns = 1;
	u16 best = all;
	u32 stations;

	for (stations = 1; uplink->basic && stations <= uplink->users;
	     stations++) {
		u16 tones = airsim_ru_tones(width_mhz, stations);
		u64 octets;
		u32 ns;

		/* As many as there are RUs of this size, or all. */
		if (stations < uplink->users &&
		    stations < airsim_ru_count(width_mhz, tones))
			continue;
		airsim_uplink_divide(radio, tones, stations);
		octets = airsim_uplink_served(radio, stations);
		ns = airsim_uplink_ns(radio, stations);
		if (octets * best_ns > best_octets * ns) {
			best_octets = octets;
			best_ns = ns;
			best = tones;
		}
	}
	uplink->users = min_t(u32, uplink->users,
			      airsim_ru_count(width_mhz, best));
	airsim_uplink_divide(radio, best, uplink->users);
	uplink->next = uplink->user[uplink->users - 1].radio->index + 1;
}

/* txop_ns: rest of the TXOP, or 0 without a limit. */
static bool airsim_uplink_set_up(struct airsim_radio *radio, bool basic,
				 u64 now_ns, u32 txop_ns)
{
	radio->uplink.txop_ns = txop_ns;
	airsim_uplink_add(radio, basic, now_ns);
	if (!radio->uplink.users)
		return false;
	airsim_uplink_allocate(radio);
	airsim_ppdu_clear(&radio->ppdu, IEEE80211_AC_BE);
	return true;
}

/**
 * airsim_uplink_choose - set up a Trigger frame if one is due
 * @radio: the access point, which has gained access; the medium is locked
 * @now_ns: current time
 * @idle: it has nothing else to send
 *
 * Return: false if none is due.
 */
bool airsim_uplink_choose(struct airsim_radio *radio, u64 now_ns, bool idle)
{
	u32 txop_ns = radio->edca[IEEE80211_AC_BE].txop_ns;
	bool ask = airsim_uplink_is_due(radio, false, now_ns);
	bool ask_now = ask && now_ns >= radio->uplink.ask_again_ns;

	if (now_ns >= radio->uplink.not_before_ns || (idle && ask_now))
		return airsim_uplink_set_up(radio, !ask_now, now_ns, txop_ns);
	if (!idle)
		return false;
	if (airsim_uplink_is_due(radio, true, now_ns))
		return airsim_uplink_set_up(radio, true, now_ns, txop_ns);
	if (ask)
		airsim_schedule(radio, AIRSIM_EVENT_UPLINK,
				radio->uplink.ask_again_ns);
	return false;
}

/**
 * airsim_uplink_choose_data - set up a Basic Trigger frame after a BSRP one
 * @radio: the access point; the medium is locked
 * @now_ns: current time
 *
 * Return: false if no station has reported data, or the TXOP is too short.
 */
bool airsim_uplink_choose_data(struct airsim_radio *radio, u64 now_ns)
{
	const struct airsim_uplink *uplink = &radio->uplink;
	u64 end_ns = radio->exchange.txop_end_ns;
	u32 txop_ns = 0;

	if (!airsim_uplink_is_due(radio, true, now_ns))
		return false;
	if (end_ns) {
		if (now_ns >= end_ns)
			return false;
		txop_ns = end_ns - now_ns;
	}
	return airsim_uplink_set_up(radio, true, now_ns, txop_ns) &&
	       (!txop_ns ||
		airsim_uplink_control_ns(radio, uplink->users) +
		uplink->tb_ns <= txop_ns);
}

/**
 * airsim_uplink_trigger_due - whether a Trigger frame is due
 * @radio: the access point; the medium is locked
 * @now_ns: current time
 */
bool airsim_uplink_trigger_due(struct airsim_radio *radio, u64 now_ns)
{
	return airsim_uplink_is_due(radio, true, now_ns) ||
	       (airsim_uplink_is_due(radio, false, now_ns) &&
		now_ns >= radio->uplink.ask_again_ns);
}

/**
 * airsim_uplink_request - contend for a Trigger frame, now or later
 * @radio: the access point; the medium is locked
 * @now_ns: current time
 * @busy: the medium is busy
 *
 * Data that it has to send itself, or to ask for, is left to its best effort
 * function, which decides when it gains access.
 */
void airsim_uplink_request(struct airsim_radio *radio, u64 now_ns, bool busy)
{
	struct airsim_edca *edca = &radio->edca[IEEE80211_AC_BE];

	if (!radio->settings.ul_ofdma || edca->pending)
		return;
	if (airsim_uplink_trigger_due(radio, now_ns)) {
		airsim_edca_request(edca, now_ns, busy,
				    &airsim_medium.backoff_rnd);
		airsim_contend(radio, now_ns);
	} else if (airsim_uplink_is_due(radio, false, now_ns)) {
		airsim_schedule(radio, AIRSIM_EVENT_UPLINK,
				radio->uplink.ask_again_ns);
	}
}

/**
 * airsim_uplink_event - a Trigger frame may be due
 * @radio: the access point; the medium is locked
 * @now_ns: current time
 */
void airsim_uplink_event(struct airsim_radio *radio, u64 now_ns)
{
	airsim_uplink_request(radio, now_ns, airsim_busy(radio) ||
			      radio->exchange.stage != AIRSIM_STAGE_NONE ||
			      now_ns < radio->reception.idle_from_ns);
}

/*
 * Chooses MCS and streams of a station's HE TB PPDUs by the SNR of what it has
 * just sent. Without the error model snr, all rates have the same losses.
 */
static void airsim_uplink_adapt(struct airsim_radio *radio,
				struct airsim_radio *station)
{
	struct airsim_rate rate = airsim_tb_rate(radio, station);
	u8 streams = min(radio->hardware.streams, station->hardware.streams);
	s32 snr_mdb = airsim_signal_mdbm(radio, &station->emission) -
		      airsim_noise_mdbm(rate.width_mhz);

	if (radio->settings.errors != AIRSIM_ERRORS_SNR)
		snr_mdb = S32_MAX;
	airsim_best_rate(&rate, streams, snr_mdb);
	station->status.rate.mcs = rate.mcs;
	station->status.rate.streams = rate.streams;
}

/**
 * airsim_uplink_heard - MPDUs of a station have arrived
 * @radio: the access point; the medium is locked
 * @station: the station, whose PPDU has just ended
 */
void airsim_uplink_heard(struct airsim_radio *radio,
			 struct airsim_radio *station)
{
	struct airsim_buffer_status *status = &station->status;
	const struct airsim_ppdu *ppdu = &station->ppdu;
	struct airsim_tb_user *user;

	if (!ppdu->queued && !ppdu->null)
		return;
	status->left = ppdu->left;
	status->awaited = false;
	status->silent = 0;
	if (ppdu->queued)
		status->active_until_ns = station->emission.end_ns + ACTIVE_NS;
	user = ppdu->tb ? airsim_uplink_find(radio, station) : NULL;
	if (user)
		user->arrived = true;
	if (!ppdu->tb && ppdu->rate.format >= AIRSIM_HT)
		status->rate = ppdu->rate;
	/* Rate control has no rates of HE, and learns nothing from HE TB PPDUs. */
	if ((!station->settings.rate_fixed || station->settings.rate_ideal) &&
	    status->rate.streams)
		airsim_uplink_adapt(radio, station);
	if (!ppdu->tb)
		airsim_uplink_request(radio, station->emission.end_ns, true);
}

/**
 * airsim_uplink_sent - the access point has sent something to a station
 * @radio: the access point; the medium is locked; its exchange has succeeded
 * @now_ns: current time
 */
void airsim_uplink_sent(struct airsim_radio *radio, u64 now_ns)
{
	if (!radio->ppdu.queued || !radio->exchange.peer)
		return;
	radio->exchange.peer->status.awaited = true;
	airsim_uplink_request(radio, now_ns, true);
}

/**
 * airsim_uplink_forget - a station leaves
 * @radio: a radio, maybe its access point; the medium is locked
 * @station: the station
 */
void airsim_uplink_forget(struct airsim_radio *radio,
			  const struct airsim_radio *station)
{
	struct airsim_tb_user *user = airsim_uplink_find(radio, station);

	if (!user)
		return;
	user->radio = NULL;
	user->acknowledged = false;
	user->awaits = false;
}
