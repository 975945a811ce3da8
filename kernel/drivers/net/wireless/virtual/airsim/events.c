// SPDX-License-Identifier: GPL-2.0-only
/*
 * The event queue, ordered by time, and by time of insertion where times are
 * equal.
 */
#include "airsim.h"

/**
 * airsim_schedule - schedule an event of a radio
 * @radio: the radio; the medium is locked
 * @kind: event type; replaces a scheduled event of this type
 * @at_ns: time
 */
void airsim_schedule(struct airsim_radio *radio, enum airsim_event_kind kind,
		     u64 at_ns)
{
	struct airsim_event *event = &radio->event[kind];

	airsim_cancel(radio, kind);
	event->node.expires = ns_to_ktime(at_ns);
	timerqueue_add(&airsim_medium.events, &event->node);
}

/**
 * airsim_cancel - cancel an event of a radio
 * @radio: the radio; the medium is locked
 * @kind: event type
 */
void airsim_cancel(struct airsim_radio *radio, enum airsim_event_kind kind)
{
	struct airsim_event *event = &radio->event[kind];

	if (airsim_scheduled(radio, kind))
		timerqueue_del(&airsim_medium.events, &event->node);
}

/**
 * airsim_scheduled - whether an event of a radio is scheduled
 * @radio: the radio; the medium is locked
 * @kind: event type
 */
bool airsim_scheduled(const struct airsim_radio *radio,
		      enum airsim_event_kind kind)
{
	return !RB_EMPTY_NODE(&radio->event[kind].node.node);
}

/**
 * airsim_events_arm - start the medium's timer for the first event
 *
 * Called with the medium locked after events were added or removed.
 */
void airsim_events_arm(void)
{
	struct timerqueue_node *next =
		timerqueue_getnext(&airsim_medium.events);
	struct hrtimer *timer = &airsim_medium.timer;

	if (next && (!hrtimer_is_queued(timer) ||
		     hrtimer_get_expires(timer) != next->expires))
		hrtimer_start(timer, next->expires, HRTIMER_MODE_ABS_SOFT);
}
