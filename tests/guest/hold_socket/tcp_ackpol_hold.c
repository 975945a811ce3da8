// SPDX-License-Identifier: GPL-2.0-only
/* /proc/hold_socket: a process that writes "FD MICROSECONDS" owns that socket for this time, so
 * that segments for it wait in its backlog. Processing takes no virtual time, so without this no
 * segment arrives while a process owns a socket. --policy builds it into the kernel as a policy.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/proc_fs.h>
#include <linux/uaccess.h>
#include <net/tcp_ackpol.h>

static ssize_t hold_write(struct file *file, const char __user *text, size_t size, loff_t *pos)
{
	char words[32] = "";
	struct socket *sock;
	int fd, us, err;

	if (size >= sizeof(words))
		return -EINVAL;
	if (copy_from_user(words, text, size))
		return -EFAULT;
	if (sscanf(words, "%d %d", &fd, &us) != 2)
		return -EINVAL;

	sock = sockfd_lookup(fd, &err);
	if (!sock)
		return err;

	lock_sock(sock->sk);
	usleep_range_state(us, us, TASK_UNINTERRUPTIBLE);
	release_sock(sock->sk);
	sockfd_put(sock);
	return size;
}

static const struct proc_ops hold_ops = {
	.proc_write	= hold_write,
};

/* Accesses an invalid address, for a test of what is reported then */
static u32 tcp_hold_ack_delay_us(struct sock *sk)
{
	return READ_ONCE(*(u32 *)sk->sk_user_data);
}

static struct tcp_ackpol_ops tcp_hold __read_mostly = {
	.ack_delay_us	= tcp_hold_ack_delay_us,
	.name		= "hold",
	.owner		= THIS_MODULE,
};

static int __init tcp_hold_register(void)
{
	if (!proc_create("hold_socket", 0200, NULL, &hold_ops))
		return -ENOMEM;
	return tcp_register_ackpol(&tcp_hold);
}

static void __exit tcp_hold_unregister(void)
{
	tcp_unregister_ackpol(&tcp_hold);
	remove_proc_entry("hold_socket", NULL);
}

module_init(tcp_hold_register);
module_exit(tcp_hold_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Own sockets for a time, for tests");
MODULE_ALIAS_TCP_ACKPOL("hold");
