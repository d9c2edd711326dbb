/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Unwinding through variants. The unwinder of GCC asks _dl_find_object() of the C library where the
 * frame descriptions of an address are. An executable comes first in symbol lookup, so this
 * definition is asked instead: it answers for the arena, and passes everything else on.
 *
 * Called from anywhere, in signal handlers and before the stub's constructor too: no lock, no
 * allocation, no state but the C library's own function, once found.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <halo/prepared.h>

#include "elf.h"

#ifdef DLFO_STRUCT_HAS_EH_DBASE

#define NAME "_dl_find_object"

typedef int find_fn(void *pc, struct dl_find_object *result);

extern const uint64_t __halo_slots_begin[] __attribute__((visibility("hidden")));
extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));
#pragma weak dl_iterate_phdr

int __halo_find_object(void *pc, struct dl_find_object *result);

static const ElfW(Dyn) * dynamic_of(uintptr_t base)
{
	const ElfW(Ehdr) *ehdr = (const ElfW(Ehdr) *)base;
	const ElfW(Phdr) *ph = (const ElfW(Phdr) *)(base + ehdr->e_phoff);
	unsigned int i;

	for (i = 0; i < ehdr->e_phnum; i++)
		if (ph[i].p_type == PT_DYNAMIC)
			return (const ElfW(Dyn) *)(base + ph[i].p_vaddr);
	return NULL;
}

/* The C library's own; NULL: it is older than that. */
static find_fn *own(void)
{
	static uintptr_t found = 1; /* not looked for yet */
	uintptr_t fn = __atomic_load_n(&found, __ATOMIC_RELAXED);
	const struct r_debug *debug;

	if (fn == 1) {
		debug = (const struct r_debug *)dynamic(_DYNAMIC, DT_DEBUG, 0);
		fn = debug && debug->r_ldbase
			     ? look_up(dynamic_of(debug->r_ldbase), debug->r_ldbase, NAME)
			     : 0;
		__atomic_store_n(&found, fn, __ATOMIC_RELAXED);
	}
	return (find_fn *)fn;
}

struct search {
	uintptr_t pc;
	struct dl_find_object *result;
};

static int look_into(struct dl_phdr_info *info, size_t size, void *ctx)
{
	const struct search *s = ctx;
	struct dl_find_object found = {0};
	unsigned int i;
	uintptr_t at;

	(void)size;
	for (i = 0; i < info->dlpi_phnum; i++) {
		at = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
			found.dlfo_eh_frame = (void *)at;
		if (info->dlpi_phdr[i].p_type != PT_LOAD ||
		    s->pc - at >= info->dlpi_phdr[i].p_memsz)
			continue;
		found.dlfo_map_start = (void *)at;
		found.dlfo_map_end = (void *)(at + info->dlpi_phdr[i].p_memsz);
	}
	if (!found.dlfo_map_start || !found.dlfo_eh_frame)
		return 0;
	*s->result = found;
	return 1;
}

/* Unwinders that ask this function have no second way, so there has to be one here. */
static int find_elsewhere(void *pc, struct dl_find_object *result)
{
	struct search s = {(uintptr_t)pc, result};
	find_fn *fn = own();

	if (fn)
		return fn(pc, result);
	return dl_iterate_phdr && dl_iterate_phdr(look_into, &s) ? 0 : -1;
}

static int find_in_arena(uintptr_t arena, uint32_t at, struct dl_find_object *result)
{
	const struct halo_index *index = (const struct halo_index *)(arena + HALO_INDEX_OFFSET);
	uint64_t lo = 0, n = __atomic_load_n(&index->count, __ATOMIC_ACQUIRE), end, mid;

	/* The last one that begins at or before it. */
	end = n;
	while (lo < n) {
		mid = lo + (n - lo) / 2;
		if (index->entry[mid].begin <= at)
			lo = mid + 1;
		else
			n = mid;
	}
	if (lo == 0 || !index->entry[lo - 1].frames)
		return -1;
	/* Whose code it is: the program's, whatever else there is to know of that. */
	if (find_elsewhere((void *)__halo_find_object, result))
		return -1;
	result->dlfo_flags = 0;
	result->dlfo_map_start = (void *)(arena + index->entry[lo - 1].begin);
	result->dlfo_map_end =
		(void *)(arena + (lo < end ? index->entry[lo].begin : HALO_ARENA_SIZE));
	result->dlfo_eh_frame = (void *)(arena + index->entry[lo - 1].frames);
	return 0;
}

__attribute__((visibility("hidden"))) int __halo_find_object(void *pc,
							     struct dl_find_object *result)
{
	uintptr_t arena = __atomic_load_n(&__halo_slots_begin[HALO_DATA_ARENA], __ATOMIC_RELAXED);

	if (arena && (uintptr_t)pc - arena < HALO_ARENA_SIZE)
		return find_in_arena(arena, (uint32_t)((uintptr_t)pc - arena), result);
	return find_elsewhere(pc, result);
}

/* Weak: a program may have reasons of its own to define it. */
__attribute__((weak, alias("__halo_find_object"), visibility("default"))) int _dl_find_object(
	void *pc, struct dl_find_object *result);

#endif
