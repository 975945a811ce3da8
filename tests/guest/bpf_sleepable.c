// SPDX-License-Identifier: GPL-2.0-only
/* bpf_sleepable OBJECT: loads its programs as sleepable ones. libbpf 1.1 has no
 * section for struct_ops that may sleep.
 */

#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	struct bpf_program *prog;
	struct bpf_object *obj;

	if (argc != 2) {
		fprintf(stderr, "usage: bpf_sleepable OBJECT\n");
		return 2;
	}
	obj = bpf_object__open_file(argv[1], NULL);
	if (!obj)
		return 2;
	bpf_object__for_each_program(prog, obj)
		bpf_program__set_flags(prog, BPF_F_SLEEPABLE);
	return bpf_object__load(obj) ? 1 : 0;
}
