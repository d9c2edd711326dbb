// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "../lib/util.h"
#include "files.h"
#include "identity.h"
#include "mappings.h"
#include "privileges.h"
#include "store.h"

#define LOG_TAG "mappings"
#include "../lib/log.h"

/* Reading what one process has mapped takes so small a part of a CPU at most. */
#define READ_SHARE 200
#define USER_END   (1ULL << 47)

static const struct halo_program *by_arena(struct halo_daemon *d, const struct halo_map *m)
{
	const struct halo_program *p;

	TAILQ_FOREACH(p, &d->programs, link)
		if (halo_arena__is_mapped(p->arena, m->dev, m->ino))
			return p;
	TAILQ_FOREACH(p, &d->retired, link)
		if (halo_arena__is_mapped(p->arena, m->dev, m->ino))
			return p;
	return NULL;
}

static void identify(const struct halo_program *p, int proc, const struct halo_map *m,
		     struct halo_region *region, dev_t *trusted)
{
	struct halo_daemon *d = p->daemon;
	const struct halo_program *owner = m->ino ? by_arena(d, m) : NULL;
	const struct halo_file *file;

	if (owner) {
		region->kind = HALO_REGION_ARENA;
		region->exe_id = owner->exe_id;
		return;
	}
	if (!strcmp(m->path, "[vdso]")) {
		region->kind = HALO_REGION_VDSO;
		file = halo_files__vdso(d);
	} else {
		file = halo_files__of_map(d, proc, m, trusted);
		region->kind = !file			   ? HALO_REGION_ANON
			       : file->exe_id == p->exe_id ? HALO_REGION_EXE
							   : HALO_REGION_LIBRARY;
	}
	region->exe_id = file ? file->exe_id : 0;
}

/* Parts of one mapping that differ in what does not matter here. */
static bool continues(const struct halo_region *a, const struct halo_region *b)
{
	return a->end_addr == b->start_addr && a->kind == b->kind && a->exe_id == b->exe_id &&
	       (a->kind == HALO_REGION_ANON || b->off - a->off == b->start_addr - a->start_addr);
}

static size_t to_regions(const struct halo_program *p, int proc, const struct halo_maps *maps,
			 struct halo_region *v)
{
	dev_t trusted = 0;
	size_t n = 0;

	for (size_t i = 0; i < maps->n && n < HALO_MAX_MAPPED; i++) {
		const struct halo_map *m = &maps->v[i];
		struct halo_region region = {
			.start_addr = m->start,
			.end_addr = m->end,
			.off = m->off,
		};

		/* The vsyscall page is none of the process's own. */
		if (!(m->prot & PROT_EXEC) || m->start >= USER_END)
			continue;
		identify(p, proc, m, &region, &trusted);
		if (region.kind == HALO_REGION_ANON || region.kind == HALO_REGION_VDSO)
			region.off = 0;
		if (n && continues(&v[n - 1], &region))
			v[n - 1].end_addr = region.end_addr;
		else
			v[n++] = region;
	}
	return n;
}

/* Not what the clock shows: on a busy machine that is far more. */
static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * HALO_SEC + now.tv_nsec;
}

void halo_mappings__read(struct halo_program *p, const struct halo_event *event)
{
	__cleanup_free struct halo_region *v = calloc(HALO_MAX_MAPPED, sizeof(*v));
	__cleanup_fd int proc = halo_proc__open(event->tgid, NULL);
	const struct halo_proc asked = {.start_ns = event->start_ns, .exec_ns = event->exec_ns};
	uint64_t began = cpu_ns();
	struct halo_maps maps;
	size_t n;
	int ret;

	if (!v || proc < 0 || halo_maps__read(proc, &maps, NULL))
		return;
	halo_privileges__raise_admin();
	n = to_regions(p, proc, &maps, v);
	halo_privileges__lower_admin();
	halo_maps__free(&maps);
	/* Not those of one that has its number by now. */
	if (halo_identity__start_ns(event->tgid) / HALO_START_STEP !=
	    event->start_ns / HALO_START_STEP)
		return;
	ret = halo_kernel__set_regions(p->daemon->kernel, event->tgid, &asked, event->exec_pages,
				       READ_SHARE * (cpu_ns() - began), v, n);
	if (ret && ret != -ESRCH)
		log_debug("process %u: mappings: %s", event->tgid, strerror(-ret));
}
