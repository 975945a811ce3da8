/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ACKHOLD_TIME64_H
#define _ACKHOLD_TIME64_H

#define USEC_PER_MSEC	1000L

#endif
