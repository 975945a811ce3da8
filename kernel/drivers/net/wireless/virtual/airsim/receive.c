// SPDX-License-Identifier: GPL-2.0-only
/*
 * Delivers received MPDUs through NAPI according to the setting rx_delivery:
 * each at its end, all of a PPDU at its end, or with interrupt coalescing.
 *
 * If the MPDUs of an A-MPDU are delivered one by one, the poll ends between
 * them and GRO never sees two segments together, unlike with a driver that uses
 * interrupt moderation. gro_flush_us stands for that moderation: GRO may hold a
 * segment for that time. Nothing is held if GRO is off.
 */
#include <linux/etherdevice.h>
#include <linux/ieee80211.h>
#include "airsim.h"

/**
 * airsim_is_receiver - whether a radio has a MAC address
 * @radio: the radio
 * @address: first address of an MPDU
 */
bool airsim_is_receiver(const struct airsim_radio *radio, const u8 *address)
{
	return radio->vif && ether_addr_equal(radio->vif->addr, address);
}

static void airsim_receive_fill_status(const struct airsim_radio *radio,
				       const struct airsim_ppdu *ppdu,
				       unsigned int index,
				       struct ieee80211_rx_status *status)
{
	const struct airsim_radio *sender =
		container_of(ppdu, struct airsim_radio, ppdu);
	const struct airsim_emission *emission = &sender->emission;

	memset(status, 0, sizeof(*status));
	status->mactime = div_u64(ppdu->mpdu_end_ns[index], NSEC_PER_USEC);
	status->flag = RX_FLAG_MACTIME_END;
	status->freq = radio->frequency_mhz;
	status->band = airsim_band(radio);
	status->signal = DIV_ROUND_CLOSEST(airsim_signal_mdbm(radio, emission),
					   1000);
	airsim_rate_to_rx_status(&ppdu->rate, status);
	if (airsim_crypto_octets(ppdu->mpdu[index]))
		status->flag |= RX_FLAG_DECRYPTED | RX_FLAG_IV_STRIPPED |
				RX_FLAG_MIC_STRIPPED;
	if (airsim_ppdu_is_ampdu(ppdu)) {
		status->flag |= RX_FLAG_AMPDU_DETAILS |
				RX_FLAG_AMPDU_LAST_KNOWN;
		status->ampdu_reference = ppdu->reference;
		if (index + 1 == ppdu->count)
			status->flag |= RX_FLAG_AMPDU_IS_LAST;
	}
}

/**
 * airsim_receive_interrupt - deliver what has arrived
 * @radio: the radio; the medium is locked
 */
void airsim_receive_interrupt(struct airsim_radio *radio)
{
	if (skb_queue_empty(&radio->arrived))
		return;
	spin_lock(&radio->received.lock);
	skb_queue_splice_tail_init(&radio->arrived, &radio->received);
	spin_unlock(&radio->received.lock);
	napi_schedule(&radio->napi);
}

/* As ath9k's hardware does with RIMT_FIRST and RIMT_LAST. */
static u64 airsim_coalesce_due_ns(const struct airsim_radio *radio)
{
	const struct airsim_settings *settings = &radio->settings;
	u64 due_ns = radio->coalesce_first_ns +
		     (u64)settings->coalesce_us * NSEC_PER_USEC;

	if (settings->coalesce_idle_us)
		due_ns = min(due_ns, radio->coalesce_last_ns +
				     (u64)settings->coalesce_idle_us *
				     NSEC_PER_USEC);
	return due_ns;
}

static void airsim_coalesce_start(struct airsim_radio *radio)
{
	hrtimer_start(&radio->coalesce_timer,
		      ns_to_ktime(airsim_coalesce_due_ns(radio)),
		      HRTIMER_MODE_ABS_SOFT);
}

static void airsim_receive_coalesce(struct airsim_radio *radio)
{
	u32 arrived = skb_queue_len(&radio->arrived);

	radio->coalesce_last_ns = ktime_get_ns();
	if (arrived == 1)
		radio->coalesce_first_ns = radio->coalesce_last_ns;
	if (arrived >= radio->settings.coalesce_mpdus)
		airsim_receive_interrupt(radio);
	else if (arrived == 1)
		airsim_coalesce_start(radio);
}

/**
 * airsim_receive - a radio has received an MPDU
 * @radio: the radio; the medium is locked
 * @sent: the MPDU, which the transmitter keeps
 * @ppdu: the PPDU
 * @index: index of the MPDU in it
 */
void airsim_receive(struct airsim_radio *radio, const struct sk_buff *sent,
		    const struct airsim_ppdu *ppdu, unsigned int index)
{
	struct sk_buff *skb = netdev_alloc_skb(radio->napi_dev, sent->len);

	radio->count.received++;
	if (!skb) {
		radio->count.rx_no_memory++;
		return;
	}
	skb_copy_bits(sent, 0, skb_put(skb, sent->len), sent->len);
	airsim_receive_fill_status(radio, ppdu, index, IEEE80211_SKB_RXCB(skb));
	__skb_queue_tail(&radio->arrived, skb);
	if (radio->settings.rx_delivery == AIRSIM_RX_DELIVERY_MPDU)
		airsim_receive_interrupt(radio);
	else if (radio->settings.rx_delivery == AIRSIM_RX_DELIVERY_COALESCED)
		airsim_receive_coalesce(radio);
}

/**
 * airsim_receive_ended - the PPDU that a radio was receiving has ended
 * @radio: the radio; the medium is locked
 */
void airsim_receive_ended(struct airsim_radio *radio)
{
	if (radio->settings.rx_delivery != AIRSIM_RX_DELIVERY_COALESCED)
		airsim_receive_interrupt(radio);
}

/**
 * airsim_receive_with_tx - coalescing may end with the report of a transmission
 * @radio: the radio; the medium is not locked
 */
void airsim_receive_with_tx(struct airsim_radio *radio)
{
	if (!READ_ONCE(radio->settings.coalesce_tx))
		return;
	spin_lock_bh(&airsim_medium.lock);
	if (radio->settings.rx_delivery == AIRSIM_RX_DELIVERY_COALESCED)
		airsim_receive_interrupt(radio);
	spin_unlock_bh(&airsim_medium.lock);
}

/**
 * airsim_coalesce_timer - a coalescing delay has expired
 * @timer: a radio's timer
 *
 * MPDUs that arrive later do not restart the timer; it restarts itself.
 */
enum hrtimer_restart airsim_coalesce_timer(struct hrtimer *timer)
{
	struct airsim_radio *radio =
		container_of(timer, struct airsim_radio, coalesce_timer);

	spin_lock(&airsim_medium.lock);
	if (skb_queue_empty(&radio->arrived) ||
	    airsim_coalesce_due_ns(radio) <= ktime_get_ns())
		airsim_receive_interrupt(radio);
	else
		airsim_coalesce_start(radio);
	spin_unlock(&airsim_medium.lock);
	return HRTIMER_NORESTART;
}

/**
 * airsim_poll - NAPI poll
 * @napi: a radio's NAPI
 * @budget: maximum number of MPDUs to deliver
 *
 * Return: number of MPDUs delivered.
 */
int airsim_poll(struct napi_struct *napi, int budget)
{
	struct airsim_radio *radio =
		container_of(napi, struct airsim_radio, napi);
	struct napi_struct *gro = NULL;
	struct sk_buff *skb;
	unsigned long flush_ns;
	int done = 0;

	if (READ_ONCE(radio->settings.gro))
		gro = napi;
	while (done < budget && (skb = skb_dequeue(&radio->received))) {
		ieee80211_rx_napi(radio->hw, NULL, skb, gro);
		done++;
	}
	spin_lock_bh(&airsim_medium.lock);
	radio->count.handed_up += done;
	flush_ns = radio->settings.gro_flush_us * NSEC_PER_USEC;
	spin_unlock_bh(&airsim_medium.lock);
	if (done < budget) {
		WRITE_ONCE(napi->dev->gro_flush_timeout, flush_ns);
		napi_complete_done(napi, done);
	}
	return done;
}
