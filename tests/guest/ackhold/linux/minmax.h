/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ACKHOLD_MINMAX_H
#define _ACKHOLD_MINMAX_H

#define min(a, b)		((a) < (b) ? (a) : (b))
#define max(a, b)		((a) > (b) ? (a) : (b))
#define min_t(type, a, b)	min((type)(a), (type)(b))

#endif
