// SPDX-License-Identifier: GPL-2.0-only
/* Radios by index, and operations on them from user space. */
#include <linux/netlink.h>
#include <linux/slab.h>
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

/* Readers hold the medium's lock, with bottom halves disabled. */
static void airsim_registry_free_rate(struct airsim_link_rate *given)
{
	if (given)
		kfree_rcu(given, rcu);
}

/* Links of a removed radio must not apply to the next one with its index. */
static void airsim_registry_remove_links(u32 index)
{
	struct airsim_radio *other;
	unsigned long i;

	xa_for_each(&airsim_radios, i, other) {
		xa_erase_bh(&other->losses_mdb, index);
		airsim_registry_free_rate(xa_erase_bh(&other->link_rates,
						      index));
	}
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
	if (radio->exchange.stage != AIRSIM_STAGE_NONE && !radio->ppdu.bar &&
	    !radio->ppdu.null)
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
		info->counters.doze_ns = airsim_doze_ns(radio);
		info->counters.rx_waiting = skb_queue_len(&radio->arrived) +
			skb_queue_len_lockless(&radio->received);
		spin_unlock_bh(&airsim_medium.lock);
		airsim_ack_hold_count(radio, &info->counters);
	}
	mutex_unlock(&airsim_registry_mutex);
	return radio ? 0 : -ENODEV;
}

/**
 * airsim_registry_show_peers - print what each radio has sent to each receiver
 * @file: receives a line for each
 */
void airsim_registry_show_peers(struct seq_file *file)
{
	struct airsim_radio *radio;
	unsigned long index;

	mutex_lock(&airsim_registry_mutex);
	xa_for_each(&airsim_radios, index, radio)
		airsim_peers_show(radio, file);
	mutex_unlock(&airsim_registry_mutex);
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
		/* Coalescing would have no timer for what has arrived. */
		if (settings->rx_delivery != radio->settings.rx_delivery)
			airsim_receive_interrupt(radio);
		radio->settings = *settings;
		spin_unlock_bh(&airsim_medium.lock);
		airsim_set_codel(radio);
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

/* The rate for what @sender sends to @to; NULL: its rate for all. */
static int airsim_registry_store_rate(struct airsim_radio *sender, u32 to,
				      const struct airsim_rate *rate,
				      struct netlink_ext_ack *extack)
{
	struct airsim_link_rate *given = NULL;
	void *old;

	if (!sender->settings.rate_fixed) {
		NL_SET_ERR_MSG_FMT(extack, "radio %u was added without a fixed rate",
				   sender->index);
		return -EOPNOTSUPP;
	}
	if (rate) {
		if (airsim_rate_check(&sender->hardware, rate, extack))
			return -EINVAL;
		given = kzalloc(sizeof(*given), GFP_KERNEL);
		if (!given)
			return -ENOMEM;
		given->rate = *rate;
	}
	old = given ? xa_store_bh(&sender->link_rates, to, given, GFP_KERNEL) :
		      xa_erase_bh(&sender->link_rates, to);
	if (xa_is_err(old)) {
		kfree(given);
		NL_SET_ERR_MSG(extack, "out of memory");
		return xa_err(old);
	}
	airsim_registry_free_rate(old);
	return 0;
}

/**
 * airsim_link_set_rate - set or reset the rate of data from a radio to another
 * @from: transmitter
 * @to: receiver
 * @rate: the rate; NULL: that of the transmitter
 * @extack: reports errors
 *
 * Return: 0, -ENODEV, -EINVAL, -ENOMEM, or -EOPNOTSUPP if the transmitter has
 * no fixed rate.
 */
int airsim_link_set_rate(u32 from, u32 to, const struct airsim_rate *rate,
			 struct netlink_ext_ack *extack)
{
	struct airsim_radio *sender;
	int err = -ENODEV;

	mutex_lock(&airsim_registry_mutex);
	sender = airsim_registry_find(from, extack);
	if (sender && airsim_registry_find(to, extack))
		err = airsim_registry_store_rate(sender, to, rate, extack);
	mutex_unlock(&airsim_registry_mutex);
	return err;
}

/**
 * airsim_link_read - read what was set for a link
 * @from: transmitter
 * @to: receiver
 * @info: receives it
 *
 * Return: 0, or -ENOENT if nothing was set.
 */
int airsim_link_read(u32 from, u32 to, struct airsim_link_info *info)
{
	struct airsim_radio *receiver, *sender;
	struct airsim_link_rate *rate = NULL;
	void *loss = NULL;

	mutex_lock(&airsim_registry_mutex);
	receiver = xa_load(&airsim_radios, to);
	sender = xa_load(&airsim_radios, from);
	if (receiver)
		loss = xa_load(&receiver->losses_mdb, from);
	if (sender)
		rate = xa_load(&sender->link_rates, to);
	info->has_loss = loss;
	info->has_rate = rate;
	if (loss)
		info->loss_mdb = xa_to_value(loss);
	if (rate)
		info->rate = rate->rate;
	mutex_unlock(&airsim_registry_mutex);
	return loss || rate ? 0 : -ENOENT;
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
