/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_TORTURE_INTERNAL_H
#define HALO_TORTURE_INTERNAL_H

/* What the parts of torture share. */
#include <pthread.h>

#include "../daemon/attach.h"
#include "../daemon/config.h"
#include "../daemon/job.h"
#include "../daemon/loop.h"
#include "torture.h"

#define TORTURE_FAMILIES 256
#define TORTURE_TARGETS	 4

/* The same seed gives the same numbers on every machine. */
struct torture_random {
	uint64_t state;
};

static inline uint64_t torture_random__next(struct torture_random *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15ULL; /* SplitMix64 */

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* 0 … n - 1 */
static inline unsigned int torture_random__below(struct torture_random *r, unsigned int n)
{
	return (unsigned int)((torture_random__next(r) >> 32) * n >> 32);
}

/* A function that has a variant, and where its slot may lead. */
struct torture_version {
	const struct halo_func *func;
	int64_t target[TORTURE_TARGETS]; /* link-time addresses */
	int64_t place;			 /* of the image */
	uint64_t size;
	const char *config;
	struct torture_code *codes;
	size_t n_codes;
};

/* A function's code in an image. */
struct torture_code {
	const char *name; /* NULL: the program has no such function */
	int64_t vaddr;
	uint64_t size;
};

struct torture_process {
	pid_t pid;
	struct halo_family *family;
};

struct torture {
	const struct torture_opts *opts;
	struct torture_report *report;
	struct halo_loop *loop;
	struct halo_configs configs;
	struct halo_workers workers;
	struct halo_store *store;
	struct halo_arena *arena;
	struct halo_prepared *prepared;
	char dir[64]; /* of its own; empty: none yet */
	char jobs_dir[80], store_dir[80], socket[80];
	int socket_fd;
	struct halo_io *socket_io;

	/* Filled from the front; the switching thread reads up to the counts. */
	struct torture_process processes[TORTURE_FAMILIES];
	unsigned int n_processes;
	struct torture_version *versions;
	unsigned int n_versions;

	const struct halo_func **order; /* redirectable functions, as they are to be compiled */
	unsigned int n_order, next;
	struct torture_random random; /* for what is compiled */
	struct halo_job *job;
	const char *config; /* of the job */
	int64_t place;	    /* of the job's image */
	uint64_t room;
	int64_t rseq_offset;
	bool held;

	pthread_t switcher;
	bool switching, stop;
	uint64_t switches;
	struct halo_timer deadline;

	pid_t child;
	int pid_fd, signal_fd, kmsg_fd;
	struct halo_io *pid_io, *signal_io;
};

/* torture.c: no error is possible, or none that could be dealt with */
void torture__begin_switching(struct torture *t);
void torture__refuse(struct torture *t, const struct halo_func *func, bool failed,
		     const char *reason);

/* program.c: the program, before and after it runs */
int torture__open_program(struct torture *t, struct halo_err *err);
int torture__start_child(struct torture *t, struct halo_err *err);

/* follow.c: processes come to be attached */
int torture__listen(struct torture *t, struct halo_err *err);
int torture__attach_pid(struct torture *t, struct halo_err *err);

/* compile.c: all functions in @order, one after the other; calls the loop */
int torture__prepare_compiling(struct torture *t, struct halo_err *err);
void torture__compile_next(struct torture *t);
void torture__free_versions(struct torture *t);

/* switcher.c: a thread that writes slots */
int torture__start_switcher(struct torture *t);
void torture__stop_switcher(struct torture *t);

/* crash.c: what the kernel's log says of a process that died of a signal */
void torture__open_kernel_log(struct torture *t);
void torture__find_crash(struct torture *t);

#endif
