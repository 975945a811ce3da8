/* SPDX-License-Identifier: GPL-2.0-only */
/* What tcp_ackpol_auto.h and ackhold.h need of Linux, for user space */
#ifndef _ACKHOLD_TYPES_H
#define _ACKHOLD_TYPES_H

#include <stdbool.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;

#define __must_check	__attribute__((warn_unused_result))
#define READ_ONCE(x)	(x)

#endif
