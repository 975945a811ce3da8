// SPDX-License-Identifier: GPL-2.0-only
/* Radios by index, and operations on them from user space. */
#include <linux/netlink.h>
#include "airsim.h"

static DEFINE_XARRAY_ALLOC(airsim_radios);
/* Protects creation and removal of radios. */
static DEFINE_MUTEX(airsim_registry_mutex);

static struct airsim_radio *airsim_registry_find(u32 index,
						 struct netlink_ext_ack *extack)
{
	struct airsim_radio *radio = xa_load(&airsim_radios, index);

	if (!radio)
		NL_SET_ERR_MSG_FMT(extack, "radio %u does not exist", index);
	return radio;
}

/**
 * airsim_radio_add - add a radio
 * @hardware: radio capabilities, checked
 * @settings: radio settings, checked
 * @extack: reports errors
 *
 * Return: its index, or a negative error.
 */
int airsim_radio_add(const struct airsim_hardware *hardware,
		     const struct airsim_settings *settings,
		     struct netlink_ext_ack *extack)
{
	struct airsim_radio *radio;
	u32 index;
	int err;

	mutex_lock(&airsim_registry_mutex);
	err = xa_alloc(&airsim_radios, &index, NULL,
		       XA_LIMIT(0, AIRSIM_MAX_RADIOS - 1), GFP_KERNEL);
	if (err == -EBUSY)
		NL_SET_ERR_MSG_FMT(extack, "at most %u radios are supported",
				   AIRSIM_MAX_RADIOS);
	else if (err)
		NL_SET_ERR_MSG(extack, "out of memory");
	if (err)
		goto unlock;
	radio = airsim_radio_create(hardware, settings, index);
	if (IS_ERR(radio)) {
		err = PTR_ERR(radio);
		xa_erase(&airsim_radios, index);
		NL_SET_ERR_MSG(extack, "registration with mac80211 failed");
		goto unlock;
	}
	xa_store(&airsim_radios, index, radio, GFP_KERNEL);
	err = index;
unlock:
	mutex_unlock(&airsim_registry_mutex);
	return err;
}

/* Links of a removed radio must not apply to the next one with its index. */
static void airsim_registry_remove_links(u32 index)
{
	struct airsim_radio *other;
	unsigned long i;

	xa_for_each(&airsim_radios, i, other)
		xa_erase_bh(&other->losses_mdb, index);
}

/**
 * airsim_radio_remove - remove a radio
 * @index: number of the radio
 * @extack: reports errors
 *
 * Return: 0, or -ENODEV.
 */
int airsim_radio_remove(u32 index, struct netlink_ext_ack *extack)
{
	struct airsim_radio *radio;

	mutex_lock(&airsim_registry_mutex);
	radio = airsim_registry_find(index, extack);
	if (radio) {
		xa_erase(&airsim_radios, index);
		airsim_radio_destroy(radio);
		airsim_registry_remove_links(index);
	}
	mutex_unlock(&airsim_registry_mutex);
	return radio ? 0 : -ENODEV;
}

/** airsim_registry_clear - remove all radios */
void airsim_registry_clear(void)
{
	struct airsim_radio *radio;
	unsigned long index;

	xa_for_each(&airsim_radios, index, radio)
		airsim_radio_remove(index, NULL);
}

/* Number of MPDUs that a radio has in all of its queues. */
static u64 airsim_count_queued(struct airsim_radio *radio)
{
	const struct airsim_txq *atxq;
	u64 queued = 0;
	int i;

	for (i = 0; i < AIRSIM_EDCAS; i++)
		queued += skb_queue_len(&radio->frames[i]);
	for (i = 0; i < IEEE80211_NUM_ACS; i++)
		list_for_each_entry(atxq, &radio->retry_txqs[i], retry_list)
			queued += skb_queue_len(&atxq->pending);
	if (radio->exchange.stage != AIRSIM_STAGE_NONE && !radio->ppdu.bar)
		queued += radio->ppdu.count;
	return queued;
}

/**
 * airsim_radio_read - read the state of a radio
 * @index: number of the radio
 * @info: receives it
 *
 * Return: 0, or -ENODEV.
 */
int airsim_radio_read(u32 index, struct airsim_radio_info *info)
{
	struct airsim_radio *radio;

	mutex_lock(&airsim_registry_mutex);
	radio = xa_load(&airsim_radios, index);
	if (radio) {
		memset(info, 0, sizeof(*info));
		info->index = index;
		strscpy(info->wiphy, wiphy_name(radio->hw->wiphy));
		memcpy(info->address, radio->address.addr, ETH_ALEN);
		info->hardware = radio->hardware;
		spin_lock_bh(&airsim_medium.lock);
		info->settings = radio->settings;
		info->counters = radio->count;
		info->counters.queued = airsim_count_queued(radio);
		info->counters.rx_waiting = skb_queue_len(&radio->arrived) +
			skb_queue_len_lockless(&radio->received);
		spin_unlock_bh(&airsim_medium.lock);
		airsim_ack_hold_count(radio, &info->counters);
	}
	mutex_unlock(&airsim_registry_mutex);
	return radio ? 0 : -ENODEV;
}

/**
 * airsim_radio_set - change the settings of a radio, from its next PPDU on
 * @index: number of the radio
 * @settings: all settings, checked
 * @extack: reports errors
 *
 * Return: 0, -ENODEV, or -EOPNOTSUPP for switching between a fixed rate and
 * rate control, which is decided when a radio is added.
 */
int airsim_radio_set(u32 index, const struct airsim_settings *settings,
		     struct netlink_ext_ack *extack)
{
	struct airsim_radio *radio;
	int err = -ENODEV;

	mutex_lock(&airsim_registry_mutex);
	radio = airsim_registry_find(index, extack);
	if (radio && settings->rate_fixed != radio->settings.rate_fixed) {
		NL_SET_ERR_MSG_FMT(extack, "radio %u was added with%s a fixed rate",
				   index, settings->rate_fixed ? "out" : "");
		err = -EOPNOTSUPP;
	} else if (radio) {
		spin_lock_bh(&airsim_medium.lock);
		radio->settings = *settings;
		spin_unlock_bh(&airsim_medium.lock);
		err = 0;
	}
	mutex_unlock(&airsim_registry_mutex);
	return err;
}

/**
 * airsim_link_set - set or reset the loss from one radio to another
 * @from: transmitter
 * @to: receiver
 * @given: set the loss; otherwise return to the path loss
 * @loss_mdb: the loss; AIRSIM_LINK_BLOCKED: nothing is received
 * @extack: reports errors
 *
 * Return: 0, -ENODEV or -ENOMEM.
 */
int airsim_link_set(u32 from, u32 to, bool given, s32 loss_mdb,
		    struct netlink_ext_ack *extack)
{
	struct airsim_radio *receiver;
	int err = -ENODEV;

	mutex_lock(&airsim_registry_mutex);
	receiver = airsim_registry_find(to, extack);
	if (!receiver || !airsim_registry_find(from, extack))
		goto unlock;
	err = 0;
	if (given)
		err = xa_err(xa_store_bh(&receiver->losses_mdb, from,
					 xa_mk_value(loss_mdb), GFP_KERNEL));
	else
		xa_erase_bh(&receiver->losses_mdb, from);
	if (err)
		NL_SET_ERR_MSG(extack, "out of memory");
unlock:
	mutex_unlock(&airsim_registry_mutex);
	return err;
}

/**
 * airsim_link_read - read the loss that was set for a link
 * @from: transmitter
 * @to: receiver
 * @loss_mdb: receives it
 *
 * Return: 0, or -ENOENT if none was set.
 */
int airsim_link_read(u32 from, u32 to, s32 *loss_mdb)
{
	struct airsim_radio *receiver;
	void *given = NULL;

	mutex_lock(&airsim_registry_mutex);
	receiver = xa_load(&airsim_radios, to);
	if (receiver)
		given = xa_load(&receiver->losses_mdb, from);
	mutex_unlock(&airsim_registry_mutex);
	if (!given)
		return -ENOENT;
	*loss_mdb = xa_to_value(given);
	return 0;
}

/**
 * airsim_air_read - read the propagation parameters
 * @air: receives them
 */
void airsim_air_read(struct airsim_air *air)
{
	spin_lock_bh(&airsim_medium.lock);
	*air = airsim_medium.air;
	spin_unlock_bh(&airsim_medium.lock);
}

/**
 * airsim_air_set - change the propagation parameters
 * @air: the parameters, checked
 */
void airsim_air_set(const struct airsim_air *air)
{
	spin_lock_bh(&airsim_medium.lock);
	airsim_medium.air = *air;
	spin_unlock_bh(&airsim_medium.lock);
}
