/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_IDENTITY_H
#define HALO_IDENTITY_H

/* Which programs a process runs: by the files it executes, never by what it says of itself. */
#include "core.h"

/*
 * The executable as it was when it was enrolled, for a worker: its owner may have changed the file
 * since. -1 and errno.
 */
int halo_identity__copy(const struct halo_program *p);

/*
 * Where the program lies in process @pid, whose file may be a copy of the enrolled one. -ESTALE: it
 * runs another.
 */
int halo_identity__layout(const struct halo_program *p, pid_t pid, struct halo_layout *out,
			  struct halo_err *err);
/* The same; of a library that is loaded more than once the copy with its slots at @slots. */
int halo_identity__layout_at(const struct halo_program *p, pid_t pid, uint64_t slots,
			     struct halo_layout *out, struct halo_err *err);

/* Open what process @pid executes. -1 and errno. */
int halo_identity__open_exe(pid_t pid);

/* Whether the open file is the program's: the same inode, or the same build-id and contents. */
bool halo_identity__is_file_of(const struct halo_program *p, int fd);
bool halo_identity__is_process_of(const struct halo_program *p, pid_t pid);
/* The enrolled program that the file belongs to, or NULL. */
struct halo_program *halo_identity__program(struct halo_daemon *d, int fd);

/* The file that the process has for its slots, see halo_family__is_file(); false: it is not attached. */
bool halo_identity__slots(const struct halo_program *p, pid_t pid, const struct halo_layout *layout,
			  dev_t *dev, ino_t *ino);

/* All processes, until @fn returns false. */
void halo_identity__each_pid(bool (*fn)(void *ctx, pid_t pid), void *ctx);
void halo_identity__each_process(const struct halo_program *p, void (*fn)(void *ctx, pid_t pid),
				 void *ctx);
/* A process whose executable has the build-id; 0: none. */
pid_t halo_identity__pid_by_build_id(const struct halo_buildid *id);

/* Start of the process since boot in ns, in steps of 10 ms; 0 if it is gone. */
uint64_t halo_identity__start_ns(pid_t pid);
/* Whether the process that began then is gone, or its last thread is on its way out. */
bool halo_identity__is_over(pid_t pid, uint64_t start_ns);
/* User and system time of the process in clock ticks, 0 if it is gone. */
uint64_t halo_identity__cpu_ticks(pid_t pid);

#endif
