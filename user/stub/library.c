/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * What a shared library's stub has beyond a program's: when the library is closed, its arena and
 * counters go too, so that it can be opened again at the same place.
 *
 * At the end of the process they stay: other threads may still be inside. The two are told apart by
 * the order of things. exit(3) calls what was registered with __cxa_atexit() before any destructor of
 * a library; dlclose(3) calls what this library has registered from its destructors.
 */
#include "sys.h"

#include <halo/prepared.h>

extern uint64_t __halo_slots_begin[] __attribute__((visibility("hidden")));
extern uint64_t __halo_slots_end[] __attribute__((visibility("hidden")));
extern void *__dso_handle __attribute__((visibility("hidden")));
extern int __cxa_atexit(void (*fn)(void *arg), void *arg, void *dso) __attribute__((weak));

/* Anything but CLOSING keeps the mappings. */
static enum {
	UNKNOWN,
	RUNNING,
	CLOSING,
	EXITING,
} state;

static void at_exit_or_close(void *arg)
{
	(void)arg;
	if (state == RUNNING)
		state = EXITING;
}

__attribute__((constructor(102))) static void halo_library_begin(void)
{
	if (__cxa_atexit && !__cxa_atexit(at_exit_or_close, NULL, &__dso_handle))
		state = RUNNING;
}

/* Without priority: before that of the C library, which calls what was registered. */
__attribute__((destructor)) static void halo_library_closing(void)
{
	if (state == RUNNING)
		state = CLOSING;
}

/*
 * Slots as the library was linked, before the code that they led to goes: a destructor of another
 * library may still call. The slots' file holds them behind what the daemon switches.
 */
static bool restore_slots(void)
{
	uint64_t slots = (uint64_t)__halo_slots_begin;
	uint64_t len = (uint64_t)__halo_slots_end - slots;
	long both, ret;

	/* An old length of 0 makes a second view of a shared mapping. */
	both = sys_call6(__NR_mremap, (long)slots, 0, (long)(2 * len), MREMAP_MAYMOVE, 0, 0);
	if (sys_failed(both))
		return false;
	ret = sys_call6(__NR_mremap, both + (long)len, (long)len, (long)len,
			MREMAP_MAYMOVE | MREMAP_FIXED, (long)slots, 0);
	sys_munmap((uint64_t)both, sys_failed(ret) ? 2 * len : len);
	return !sys_failed(ret);
}

/* The first constructor's counterpart, so the last one that runs. */
__attribute__((destructor(101))) static void halo_library_end(void)
{
	uint64_t arena = __atomic_load_n(&__halo_slots_begin[HALO_DATA_ARENA], __ATOMIC_RELAXED);
	uint64_t counters = arena + HALO_ARENA_SIZE;

	if (state != CLOSING || !arena || !restore_slots())
		return;
	__atomic_fetch_add((uint64_t *)(counters + HALO_COUNTERS_LEFT), 1, __ATOMIC_RELEASE);
	sys_munmap(arena, HALO_ARENA_SIZE);
	sys_munmap(counters, HALO_COUNTERS_SIZE);
}
