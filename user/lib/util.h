/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_UTIL_H
#define HALO_UTIL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define ALIGN_UP(x, a) (((x) + (a)-1) & ~((__typeof__(x))(a)-1))
#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#define HALO_PAGE 4096UL

static inline void halo__close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void halo__free_ptr(void *p)
{
	free(*(void **)p);
}

/* Scope guards: the value is released when the variable goes out of scope. */
#define __cleanup_fd __attribute__((cleanup(halo__close_fd)))
#define __cleanup_free __attribute__((cleanup(halo__free_ptr)))

/* Hand a guarded value on to its new owner. */
#define take_fd(fd)                                                                                \
	({                                                                                         \
		int __fd = (fd);                                                                   \
		(fd) = -1;                                                                         \
		__fd;                                                                              \
	})
#define take_ptr(p)                                                                                \
	({                                                                                         \
		__typeof__(p) __p = (p);                                                           \
		(p) = NULL;                                                                        \
		__p;                                                                               \
	})

/*
 * Names come from files that anyone can write: no escape sequence of them may reach a terminal, and
 * no line end a log.
 */
static inline void halo__clean_text(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = *text == '\n' || *text == '\t' ? ' ' : '?';
}

/* Close *fd if it is open and mark it closed. */
static inline void zclose(int *fd)
{
	halo__close_fd(fd);
	*fd = -1;
}

#endif
