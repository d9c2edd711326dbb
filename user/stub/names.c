/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Names in a program's own backtraces. The C library finds them by the list of loaded objects, in which
 * variants are not. So, for programs that ask, addresses in variants become such in the functions of
 * the program that they stand for; then the C library answers as ever.
 *
 * In an archive: only programs that use one of these functions have them.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <halo/prepared.h>

#include "elf.h"

extern const uint64_t __halo_slots_begin[] __attribute__((visibility("hidden")));
extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));
extern void *malloc(size_t size);
extern void free(void *ptr);

/* The first definition behind the program's own. NULL: there is none. */
static void *next(const char *name)
{
	const struct r_debug *debug = (const struct r_debug *)dynamic(_DYNAMIC, DT_DEBUG, 0);
	const struct link_map *map = debug ? debug->r_map : NULL;
	uintptr_t found = 0;

	while (map && !found && (map = map->l_next))
		found = look_up(map->l_ld, map->l_addr, name);
	return (void *)found;
}

/* Its program's function, behind the entry; @addr itself where it is no variant's. */
static const void *own(const void *addr)
{
	uintptr_t arena = __atomic_load_n(&__halo_slots_begin[HALO_DATA_ARENA], __ATOMIC_RELAXED);
	const struct halo_origins *o;
	uint64_t lo = 0, n, mid;
	uint32_t at;

	if (!arena || (uintptr_t)addr - arena >= HALO_ARENA_SIZE)
		return addr;
	at = (uint32_t)((uintptr_t)addr - arena);
	o = (const struct halo_origins *)(arena + HALO_ORIGINS_OFFSET);
	n = __atomic_load_n(&o->count, __ATOMIC_ACQUIRE);
	while (lo < n) {
		mid = lo + (n - lo) / 2;
		if (o->entry[mid].begin <= at)
			lo = mid + 1;
		else
			n = mid;
	}
	if (!lo || !o->entry[lo - 1].function)
		return addr;
	return (const void *)(arena + o->entry[lo - 1].function + HALO_ENTRY_SIZE);
}

__attribute__((weak, visibility("default"))) int dladdr(const void *addr, Dl_info *info)
{
	int (*fn)(const void *, Dl_info *) = next("dladdr");

	return fn ? fn(own(addr), info) : 0;
}

__attribute__((weak, visibility("default"))) int dladdr1(const void *addr, Dl_info *info,
							 void **extra, int flags)
{
	int (*fn)(const void *, Dl_info *, void **, int) = next("dladdr1");

	return fn ? fn(own(addr), info, extra, flags) : 0;
}

__attribute__((weak, visibility("default"))) char **backtrace_symbols(void *const *frames, int n)
{
	char **(*fn)(void *const *, int) = next("backtrace_symbols");
	const void **copy = fn && n > 0 ? malloc(n * sizeof(*copy)) : NULL;
	char **names;
	int i;

	if (!copy)
		return fn ? fn(frames, n) : NULL;
	for (i = 0; i < n; i++)
		copy[i] = own(frames[i]);
	names = fn((void *const *)copy, n);
	free(copy);
	return names;
}

/* For signal handlers: allocates nothing. */
__attribute__((weak, visibility("default"))) void backtrace_symbols_fd(void *const *frames, int n,
								       int fd)
{
	void (*fn)(void *const *, int, int) = next("backtrace_symbols_fd");
	const void *frame;
	int i;

	for (i = 0; fn && i < n; i++) {
		frame = own(frames[i]);
		fn((void *const *)&frame, 1, fd);
	}
}
