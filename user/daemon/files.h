/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_FILES_H
#define HALO_FILES_H

/*
 * Files with code that processes of enrolled programs map, and the numbers that stand for them in
 * frames. A number is a file's until it is neither enrolled nor mapped any more, and some time has
 * passed; then it is another's. A program has one, whatever copy of it is executed; other files are told apart by device, inode, change time and size, never by their
 * build-id, which anyone can forge.
 */
#include "core.h"
#include "maps.h"

struct halo_file {
	uint32_t exe_id;
	dev_t dev; /* of the filesystem, as in /proc/PID/maps */
	ino_t ino;
	struct timespec ctime;
	off_t size;
	struct halo_buildid build_id; /* len 0: it has none */
	char path[HALO_PATH_MAX];     /* where it was first seen; of a process's mount namespace */
};

/* A number that stands for nothing. -ENOSPC: all do. */
int halo_files__number(struct halo_daemon *d, uint32_t *exe_id);
/* The number of a file that was seen mapped; 0: it was not. */
uint32_t halo_files__find(const struct halo_daemon *d, int fd);
/* Files of that build-id may be copies of a program that was just enrolled: look at them anew. */
void halo_files__forget(struct halo_daemon *d, const struct halo_buildid *id);
/* Free, every d->sweep_ns, the numbers and tables of what nobody has mapped any more. */
void halo_files__sweep(struct halo_daemon *d);
/* Numbers that stand for something. */
unsigned int halo_files__numbers(const struct halo_daemon *d);
void halo_files__free(struct halo_daemon *d);

/*
 * The file of mapping @m of the process at descriptor @proc, CAP_SYS_ADMIN being raised. NULL: none,
 * or one that can't be read without trusting whoever serves its filesystem. @trusted: 0 at first, for
 * a row of calls about the same process.
 */
const struct halo_file *halo_files__of_map(struct halo_daemon *d, int proc,
					   const struct halo_map *m, dev_t *trusted);
/* The same file, open for reading; -1: none, or one not to be read. */
int halo_files__open_map(int proc, const struct halo_map *m, dev_t *trusted);
/* The vdso of 64-bit processes. NULL: the kernel has none. */
const struct halo_file *halo_files__vdso(struct halo_daemon *d);

#endif
