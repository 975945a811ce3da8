// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pluggable TCP acknowledgment policies: policies in BPF
 *
 * struct tcp_ackpol_ops as struct_ops.  Programs read struct tcp_sock and
 * write only to the private state of their policy, in struct tcp_ackpol, or to
 * socket storage.  They cannot set socket options: a hook must not change the
 * policy that is running.  They run in softirq and must not sleep.  The bound on
 * the delay applies to their return values as to those of modules.  Their
 * parameters are global variables, and their state is reported by maps, not by
 * get_info().
 */

#include <linux/bpf.h>
#include <linux/bpf_verifier.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/filter.h>
#include <linux/init.h>
#include <net/bpf_sk_storage.h>
#include <net/tcp.h>

#include "tcp_ackpol_core.h"

BTF_ID_LIST_SINGLE(bpf_tcp_ackpol_ops_id, struct, tcp_ackpol_ops)

static int bpf_tcp_ackpol_init(struct btf *btf)
{
	return 0;
}

static bool bpf_tcp_ackpol_is_valid_access(int off, int size,
					   enum bpf_access_type type,
					   const struct bpf_prog *prog,
					   struct bpf_insn_access_aux *info)
{
	if (!bpf_tracing_btf_ctx_access(off, size, type, prog, info))
		return false;

	/* Each socket with a policy is one of TCP */
	if (base_type(info->reg_type) == PTR_TO_BTF_ID &&
	    !bpf_type_has_unsafe_modifiers(info->reg_type) &&
	    info->btf_id == btf_sock_ids[BTF_SOCK_TYPE_SOCK])
		info->btf_id = btf_sock_ids[BTF_SOCK_TYPE_TCP];

	return true;
}

static const struct bpf_func_proto *
bpf_tcp_ackpol_get_func_proto(enum bpf_func_id func_id,
			      const struct bpf_prog *prog)
{
	switch (func_id) {
	/* A hook of congestion control can have the same type */
	case BPF_FUNC_tail_call:
		return NULL;
	case BPF_FUNC_sk_storage_get:
		return &bpf_sk_storage_get_proto;
	case BPF_FUNC_sk_storage_delete:
		return &bpf_sk_storage_delete_proto;
	default:
		return bpf_base_func_proto(func_id, prog);
	}
}

/* Without btf_struct_access() all kernel memory is read-only */
static const struct bpf_verifier_ops bpf_tcp_ackpol_verifier_ops = {
	.get_func_proto		= bpf_tcp_ackpol_get_func_proto,
	.is_valid_access	= bpf_tcp_ackpol_is_valid_access,
};

__bpf_kfunc_start_defs();

/**
 * bpf_tcp_ackpol_priv() - private state of a policy
 * @sk: the socket that the hook was called for
 * @rdwr_buf_size: size of the state, a constant
 *
 * Return: the state, which is zero when the policy is attached; NULL if there is
 * no policy in BPF or less space.
 */
__bpf_kfunc u8 *bpf_tcp_ackpol_priv(struct sock *sk, const u32 rdwr_buf_size)
{
	struct tcp_ackpol *ap = tcp_ackpol(sk);

	/* A program of congestion control may have called the one that asks */
	if (!ap || ap->ops->owner != BPF_MODULE_OWNER ||
	    rdwr_buf_size > sizeof(ap->priv))
		return NULL;

	return (u8 *)ap->priv;
}

/**
 * bpf_tcp_ackpol_rtt_us() - the receiver's estimate of the round trip time
 * @sk: the socket that the hook was called for
 *
 * Return: microseconds, 0 if unknown. See tcp_ackpol_rtt_us().
 */
__bpf_kfunc u32 bpf_tcp_ackpol_rtt_us(const struct sock *sk)
{
	return tcp_ackpol_rtt_us(sk);
}

/**
 * bpf_tcp_ackpol_exceeds() - are more than this many segments unacknowledged?
 * @sk: the socket that the hook was called for
 * @segs: full segments; TCP itself acknowledges more than one
 *
 * Return: 1 or 0. Not a bool: programs read 32 bits, of which it has 8.
 */
__bpf_kfunc int bpf_tcp_ackpol_exceeds(const struct sock *sk, u32 segs)
{
	return tcp_ackpol_exceeds(sk, segs);
}

__bpf_kfunc_end_defs();

BTF_KFUNCS_START(bpf_tcp_ackpol_kfunc_ids)
BTF_ID_FLAGS(func, bpf_tcp_ackpol_priv, KF_TRUSTED_ARGS | KF_RET_NULL)
BTF_ID_FLAGS(func, bpf_tcp_ackpol_rtt_us, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_tcp_ackpol_exceeds, KF_TRUSTED_ARGS)
BTF_KFUNCS_END(bpf_tcp_ackpol_kfunc_ids)

/* Other struct_ops, such as congestion control, may run for sockets without a
 * policy, and must not write to the state of one. Nor must a policy call kfuncs
 * of other struct_ops: those of congestion control write to the socket's. This
 * filter sees the built-in ones, bpf_tcp_ackpol_check_member() those of modules.
 */
static int bpf_tcp_ackpol_filter(const struct bpf_prog *prog, u32 kfunc_id)
{
	bool own = btf_id_set8_contains(&bpf_tcp_ackpol_kfunc_ids, kfunc_id);
	bool policy = prog->type == BPF_PROG_TYPE_STRUCT_OPS &&
		      prog->aux->attach_btf_id == bpf_tcp_ackpol_ops_id[0] &&
		      !btf_is_module(prog->aux->attach_btf);

	return own == policy ? 0 : -EACCES;
}

static const struct btf_kfunc_id_set bpf_tcp_ackpol_kfunc_set = {
	.owner	= THIS_MODULE,
	.set	= &bpf_tcp_ackpol_kfunc_ids,
	.filter	= bpf_tcp_ackpol_filter,
};

static int bpf_tcp_ackpol_check_member(const struct btf_type *t,
				       const struct btf_member *member,
				       const struct bpf_prog *prog)
{
	if (prog->sleepable)
		return -EINVAL;

	/* It calls kfuncs of modules, which their own filters, if any, judge */
	if (prog->aux->kfunc_btf_tab)
		return -EACCES;

	return 0;
}

/* Members other than hooks and the name must be zero */
static int bpf_tcp_ackpol_init_member(const struct btf_type *t,
				      const struct btf_member *member,
				      void *kdata, const void *udata)
{
	const struct tcp_ackpol_ops *uops = udata;
	struct tcp_ackpol_ops *ops = kdata;

	if (__btf_member_bit_offset(t, member) / BITS_PER_BYTE !=
	    offsetof(struct tcp_ackpol_ops, name))
		return 0;

	if (bpf_obj_name_cpy(ops->name, uops->name, sizeof(ops->name)) <= 0)
		return -EINVAL;

	return 1;
}

static int bpf_tcp_ackpol_validate(void *kdata)
{
	return tcp_ackpol_validate(kdata);
}

static int bpf_tcp_ackpol_reg(void *kdata, struct bpf_link *link)
{
	return tcp_register_ackpol(kdata);
}

static void bpf_tcp_ackpol_unreg(void *kdata, struct bpf_link *link)
{
	tcp_unregister_ackpol(kdata);
}

static int bpf_tcp_ackpol_update(void *kdata, void *old_kdata,
				 struct bpf_link *link)
{
	return tcp_ackpol_update(kdata, old_kdata);
}

/* The hooks that programs can implement, for control-flow integrity */
static u32 bpf_tcp_ackpol_ack_delay_us(struct sock *sk)
{
	return 0;
}

static void bpf_tcp_ackpol_hook(struct sock *sk)
{
}

static struct tcp_ackpol_ops bpf_tcp_ackpol_stubs = {
	.ack_delay_us	= bpf_tcp_ackpol_ack_delay_us,
	.data_recv	= bpf_tcp_ackpol_hook,
	.ack_sent	= bpf_tcp_ackpol_hook,
	.init		= bpf_tcp_ackpol_hook,
	.release	= bpf_tcp_ackpol_hook,
};

static struct bpf_struct_ops bpf_tcp_ackpol_ops = {
	.verifier_ops	= &bpf_tcp_ackpol_verifier_ops,
	.init		= bpf_tcp_ackpol_init,
	.check_member	= bpf_tcp_ackpol_check_member,
	.init_member	= bpf_tcp_ackpol_init_member,
	.validate	= bpf_tcp_ackpol_validate,
	.reg		= bpf_tcp_ackpol_reg,
	.unreg		= bpf_tcp_ackpol_unreg,
	.update		= bpf_tcp_ackpol_update,
	.cfi_stubs	= &bpf_tcp_ackpol_stubs,
	.name		= "tcp_ackpol_ops",
	.owner		= THIS_MODULE,
};

static int __init bpf_tcp_ackpol_register(void)
{
	int ret;

	ret = register_btf_kfunc_id_set(BPF_PROG_TYPE_STRUCT_OPS,
					&bpf_tcp_ackpol_kfunc_set);
	return ret ?: register_bpf_struct_ops(&bpf_tcp_ackpol_ops,
					      tcp_ackpol_ops);
}
late_initcall(bpf_tcp_ackpol_register);
