// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../lib/util.h"
#include "adopt.h"
#include "maps.h"
#include "privileges.h"
#include "process.h"
#include "store.h"
#include "tuning.h"

/* The device of memfds: a mapping of another may be of a file that whoever opens it regrets. */
static bool is_memfd(const struct halo_map *m)
{
	__cleanup_fd int fd = memfd_create("halo-probe", MFD_CLOEXEC);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == m->dev;
}

/* The file has no name but the one that its mapping has, and only an administrator may use that. */
static int open_counters(int proc, const struct halo_map *m, struct halo_err *err)
{
	char path[64];
	int fd;

	if (!m || !m->shared || !is_memfd(m))
		return halo_err__set(err, -EBADMSG, "its counters are not what they were");
	snprintf(path, sizeof(path), "map_files/%" PRIx64 "-%" PRIx64, m->start, m->end);
	halo_privileges__raise_admin();
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	halo_privileges__lower_admin();
	return fd < 0 ? halo_err__set(err, -errno, "cannot open its counters: %m") : fd;
}

static bool is_arena_of(const struct halo_program *p, const struct halo_map *m)
{
	char found[128], wanted[128];
	int len = sprintf(wanted, "arena-");

	for (size_t i = 0; i < sizeof(p->hash); i++)
		len += sprintf(wanted + len, "%02x", p->hash[i]);
	return m && !m->shared && halo_store__find(p->daemon->store, m, found, sizeof(found)) &&
	       strcmp(found, wanted) == 0;
}

static int open_family(struct halo_program *p, int proc, const struct halo_maps *maps,
		       const struct halo_layout *layout, struct halo_group *group,
		       struct halo_err *err)
{
	uint64_t arena = layout->bias + halo_prepared__arena(p->prepared);
	const struct halo_map *slots;
	__cleanup_fd int counters = -1;
	char name[64];

	slots = halo_maps__at(maps, layout->bias + p->prepared->stub.slots_begin);
	if (!halo_store__find(p->daemon->store, slots, name, sizeof(name)) ||
	    sscanf(name, "slots-%u", &group->id) != 1 ||
	    !is_arena_of(p, halo_maps__at(maps, arena)))
		return halo_err__set(err, -EALREADY, "it is attached to files that are gone");
	counters = open_counters(proc, halo_maps__at(maps, arena + HALO_ARENA_SIZE), err);
	if (counters < 0)
		return counters;
	group->arena_start = arena;
	group->arena_end = arena + HALO_ARENA_SIZE;
	return halo_family__adopt(p->daemon->store, name, counters, p->prepared, layout,
				  &group->family, err);
}

static int adopt(struct halo_program *p, int proc, const struct halo_maps *maps,
		 const struct halo_layout *layout, struct halo_group **out, struct halo_err *err)
{
	struct halo_group *group = calloc(1, sizeof(*group));
	int ret;

	if (!group)
		return halo_err__set(err, -ENOMEM, "out of memory");
	group->pending = true;
	ret = open_family(p, proc, maps, layout, group, err);
	if (ret) {
		free(group);
		return ret;
	}
	TAILQ_INSERT_TAIL(&p->groups, group, link);
	halo_tuning__settle(p, group);
	*out = group;
	return 0;
}

int halo_group__adopt(struct halo_program *p, pid_t pid, const struct halo_layout *layout,
		      struct halo_group **out, struct halo_err *err)
{
	__cleanup_fd int proc = halo_proc__open(pid, err);
	const struct halo_map *slots;
	struct halo_maps maps;
	int ret;

	*out = NULL;
	if (proc < 0)
		return proc;
	ret = halo_maps__read(proc, &maps, err);
	if (ret)
		return ret;
	slots = halo_maps__at(&maps, layout->bias + p->prepared->stub.slots_begin);
	if (slots && slots->shared)
		ret = adopt(p, proc, &maps, layout, out, err);
	halo_maps__free(&maps);
	return ret;
}
