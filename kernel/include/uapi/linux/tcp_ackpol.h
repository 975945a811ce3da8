/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * TCP acknowledgment policies: the attributes of INET_DIAG_ACKPOL.
 * See Documentation/networking/tcp_ackpol.rst.
 */
#ifndef _UAPI_LINUX_TCP_ACKPOL_H
#define _UAPI_LINUX_TCP_ACKPOL_H

/* Nested in INET_DIAG_ACKPOL, which is absent for sockets with "default". Times
 * that are not known are absent.
 */
enum {
	TCP_ACKPOL_A_UNSPEC,
	TCP_ACKPOL_A_NAME,	/* string */
	TCP_ACKPOL_A_SEGS,	/* u32, received and not yet acknowledged */
	TCP_ACKPOL_A_IAT_US,	/* u32, between the last two arrivals */
	TCP_ACKPOL_A_DELAY_US,	/* u32, delay that the policy returned, absent
				 * if it left the decision or the time to TCP
				 */
	TCP_ACKPOL_A_DUE_US,	/* u32, until the policy's timer expires */
	TCP_ACKPOL_A_STATE,	/* nest, attributes of the policy */
	__TCP_ACKPOL_A_MAX,
};

#define TCP_ACKPOL_A_MAX	(__TCP_ACKPOL_A_MAX - 1)

/* In TCP_ACKPOL_A_STATE, policy "aad" */
enum {
	TCP_ACKPOL_AAD_A_UNSPEC,
	TCP_ACKPOL_AAD_A_IAT_MIN_US,	/* u32, minimum IAT of aggregates */
	TCP_ACKPOL_AAD_A_IAT_CURR_US,	/* u32, last IAT of aggregates */
	__TCP_ACKPOL_AAD_A_MAX,
};

#define TCP_ACKPOL_AAD_A_MAX	(__TCP_ACKPOL_AAD_A_MAX - 1)

#endif /* _UAPI_LINUX_TCP_ACKPOL_H */
