// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP Small Queues: sysctl and socket option
 *
 * The sysctl net.ipv4.tcp_small_queue accepts the words "driver" and "off", or
 * a number with a unit: "4000 us", "65536 bytes", "32 packets", or "32 paced",
 * which is 32 packets times the pacing ratio. The socket option TCP_SMALL_QUEUE
 * accepts the same as a struct tcp_small_queue. Ranges are in the table below.
 */

#include <linux/ctype.h>
#include <linux/string.h>
#include <linux/sysctl.h>
#include <net/tcp_small_queue.h>

static const struct {
	const char *name;
	u32 max;	/* 0: word without a number */
} tcp_small_queue_units[] = {
	[TCP_SMALL_QUEUE_DRIVER]	= { "driver" },
	[TCP_SMALL_QUEUE_OFF]		= { "off" },
	[TCP_SMALL_QUEUE_US]		= { "us", USEC_PER_SEC },
	[TCP_SMALL_QUEUE_BYTES]		= { "bytes", 1 << 28 },
	[TCP_SMALL_QUEUE_PACKETS]	= { "packets", U16_MAX },
	[TCP_SMALL_QUEUE_PACED]		= { "paced", U16_MAX },
};

/* Returns a limit, or 0 if it is not valid */
static u32 tcp_small_queue_checked(u32 unit, u32 limit)
{
	u32 max;

	BUILD_BUG_ON(ARRAY_SIZE(tcp_small_queue_units) >
		     1 << TCP_SMALL_QUEUE_UNIT_BITS);

	if (unit < TCP_SMALL_QUEUE_DRIVER ||
	    unit >= ARRAY_SIZE(tcp_small_queue_units))
		return 0;
	max = tcp_small_queue_units[unit].max;
	if (max ? !limit || limit > max : limit)
		return 0;
	return tcp_small_queue_choice(unit, limit);
}

static u32 tcp_small_queue_parse(const char *text)
{
	const char *word = text;
	u32 unit, limit = 0;
	bool numbered;

	for (; isdigit(*word); word++) {
		if (limit > (U32_MAX - 9) / 10)
			return 0;
		limit = limit * 10 + *word - '0';
	}
	numbered = word != text;

	word = skip_spaces(word);
	for (unit = TCP_SMALL_QUEUE_DRIVER;
	     unit < ARRAY_SIZE(tcp_small_queue_units); unit++)
		if (sysfs_streq(word, tcp_small_queue_units[unit].name) &&
		    numbered == !!tcp_small_queue_units[unit].max)
			return tcp_small_queue_checked(unit, limit);
	return 0;
}

static void tcp_small_queue_print(u32 choice, char *text, size_t size)
{
	u32 unit = tcp_small_queue_unit(choice) ?: TCP_SMALL_QUEUE_DRIVER;
	const char *name = tcp_small_queue_units[unit].name;

	if (tcp_small_queue_units[unit].max)
		snprintf(text, size, "%u %s", tcp_small_queue_limit(choice),
			 name);
	else
		strscpy(text, name, size);
}

int proc_tcp_small_queue(const struct ctl_table *table, int write, void *buffer,
			 size_t *lenp, loff_t *ppos)
{
	char text[TCP_SMALL_QUEUE_TEXT_MAX];
	const struct ctl_table as_text = {
		.data	= text,
		.maxlen	= sizeof(text),
	};
	u32 choice, *chosen = table->data;
	int ret;

	tcp_small_queue_print(READ_ONCE(*chosen), text, sizeof(text));
	ret = proc_dostring(&as_text, write, buffer, lenp, ppos);
	if (ret || !write)
		return ret;

	choice = tcp_small_queue_parse(text);
	if (!choice)
		return -EINVAL;
	WRITE_ONCE(*chosen, choice);
	return 0;
}

/* setsockopt(TCP_SMALL_QUEUE): -EINVAL if out of range; unit
 * TCP_SMALL_QUEUE_INHERIT returns to the sysctl. No privilege is required: any
 * UDP socket can fill a device's queue.
 */
int tcp_small_queue_set(struct sock *sk, sockptr_t optval, unsigned int optlen)
{
	struct tcp_small_queue given;
	u32 choice = 0;

	if (optlen < sizeof(given))
		return -EINVAL;
	if (copy_from_sockptr(&given, optval, sizeof(given)))
		return -EFAULT;

	if (given.unit != TCP_SMALL_QUEUE_INHERIT) {
		choice = tcp_small_queue_checked(given.unit, given.limit);
		if (!choice)
			return -EINVAL;
	} else if (given.limit) {
		return -EINVAL;
	}
	WRITE_ONCE(tcp_sk(sk)->small_queue, choice);
	return 0;
}

/* getsockopt(TCP_SMALL_QUEUE): the limit of the socket itself */
int tcp_small_queue_get(const struct sock *sk, sockptr_t optval,
			sockptr_t optlen)
{
	u32 choice = READ_ONCE(tcp_sk(sk)->small_queue);
	struct tcp_small_queue told = {
		.unit = tcp_small_queue_unit(choice),
		.limit = tcp_small_queue_limit(choice),
	};
	int len;

	if (copy_from_sockptr(&len, optlen, sizeof(len)))
		return -EFAULT;
	if (len < 0)
		return -EINVAL;
	len = min_t(unsigned int, len, sizeof(told));
	if (copy_to_sockptr(optlen, &len, sizeof(len)) ||
	    copy_to_sockptr(optval, &told, len))
		return -EFAULT;
	return 0;
}
