// SPDX-License-Identifier: GPL-2.0-only
/*
 * bpf_replace UNTIL BUSY COUNT PAUSE_MS OBJECT...: replaces ACK policies in BPF
 * while they are in use.
 *
 * Each OBJECT has one policy.  Half of the replacements are updates of a link;
 * in the others the policy is removed, and registered again by another link.
 * After COUNT replacements the file BUSY is removed.  Goes on until the file
 * UNTIL exists; the policies are removed at the end.
 *
 * Prints "ready" when all are registered, and counts of replacements at the end.
 */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef BPF_F_LINK
#define BPF_F_LINK	(1U << 13)
#endif
#define STRUCT_OPS	44	/* BPF_STRUCT_OPS of enum bpf_attach_type */

static const char *current;	/* object, for messages */

static void die(const char *what)
{
	fprintf(stderr, "bpf_replace: %s: %s: %s\n", current, what,
		strerror(errno));
	exit(1);
}

/* The programs of a policy: loaded, but not registered */
static struct bpf_object *load(const char *path, int *map_fd)
{
	struct bpf_object *object;
	struct bpf_map *map, *ops = NULL;

	current = path;
	object = bpf_object__open_file(path, NULL);
	if (!object)
		die("open");
	bpf_object__for_each_map(map, object) {
		if (bpf_map__type(map) == BPF_MAP_TYPE_STRUCT_OPS)
			ops = map;
	}
	if (!ops || bpf_map__set_map_flags(ops, BPF_F_LINK))
		die("no struct_ops");
	if (bpf_object__load(object))
		die("load");
	/* With BPF_F_LINK this only makes the map ready for a link. */
	if (!bpf_map__attach_struct_ops(ops))
		die("attach");
	*map_fd = bpf_map__fd(ops);
	return object;
}

static int link_of(int map_fd)
{
	union bpf_attr attr = {
		.link_create = {
			.prog_fd = map_fd,	/* a union with map_fd */
			.attach_type = STRUCT_OPS,
		},
	};
	int fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	if (fd < 0)
		die("link");
	return fd;
}

static void update(int link_fd, int map_fd)
{
	union bpf_attr attr = {
		.link_update = {
			.link_fd = link_fd,
			.new_prog_fd = map_fd,	/* a union with new_map_fd */
		},
	};

	if (syscall(SYS_bpf, BPF_LINK_UPDATE, &attr, sizeof(attr)))
		die("update");
}

int main(int argc, char **argv)
{
	long updated = 0, registered = 0;
	struct bpf_object **objects;
	int count = argc - 5;
	int *links;

	if (count < 1) {
		fputs("usage: bpf_replace UNTIL BUSY COUNT PAUSE_MS OBJECT...\n",
		      stderr);
		return 2;
	}
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	objects = calloc(count, sizeof(*objects));
	links = calloc(count, sizeof(*links));
	if (!objects || !links)
		return 1;

	for (int i = 0; i < count; i++) {
		int map_fd;

		objects[i] = load(argv[5 + i], &map_fd);
		links[i] = link_of(map_fd);
	}
	puts("ready");
	fflush(stdout);
	for (long n = 0; access(argv[1], F_OK); n++) {
		struct bpf_object *next;
		int i = n % count;
		int map_fd;

		next = load(argv[5 + i], &map_fd);
		if (n / count % 2) {
			update(links[i], map_fd);
			updated++;
		} else {
			close(links[i]);
			links[i] = link_of(map_fd);
			registered++;
		}
		bpf_object__close(objects[i]);
		objects[i] = next;
		if (n + 1 == atol(argv[3]))
			unlink(argv[2]);
		usleep(atoi(argv[4]) * 1000);
	}
	for (int i = 0; i < count; i++) {
		close(links[i]);
		bpf_object__close(objects[i]);
	}
	printf("updated %ld\nregistered %ld\n", updated, registered);
	return 0;
}
