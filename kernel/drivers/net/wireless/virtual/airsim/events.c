// SPDX-License-Identifier: GPL-2.0-only
/*
 * What radios are to do, in order of time, and of their making where times are
 * equal.
 */
#include "airsim.h"

/**
 * airsim_schedule - let a radio do something at a time
 * @radio: the radio, the medium locked
 * @kind: what; it takes the place of one that is scheduled already
 * @at_ns: when
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
 * airsim_cancel - take back what a radio was to do
 * @radio: the radio, the medium locked
 * @kind: what
 */
void airsim_cancel(struct airsim_radio *radio, enum airsim_event_kind kind)
{
	struct airsim_event *event = &radio->event[kind];

	if (airsim_scheduled(radio, kind))
		timerqueue_del(&airsim_medium.events, &event->node);
}

/**
 * airsim_scheduled - whether a radio is to do something
 * @radio: the radio, the medium locked
 * @kind: what
 */
bool airsim_scheduled(const struct airsim_radio *radio,
		      enum airsim_event_kind kind)
{
	return !RB_EMPTY_NODE(&radio->event[kind].node.node);
}

/**
 * airsim_events_arm - let the medium's timer fire for the first event
 *
 * With the medium locked, when events have been added or taken back.
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
