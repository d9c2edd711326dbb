/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_TORTURE_INTERNAL_H
#define HALO_TORTURE_INTERNAL_H

/* What the parts of torture share. */
#include <pthread.h>
#include <sys/queue.h>

#include "../daemon/attach.h"
#include "../daemon/config.h"
#include "../daemon/job.h"
#include "../daemon/loop.h"
#include "torture.h"

#define TORTURE_TARGETS 4

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
	const struct torture_image *image;
	int64_t target[TORTURE_TARGETS]; /* link-time addresses: both versions, then counting */
};

/* A function's code in an image. */
struct torture_code {
	const char *name; /* NULL: the program has no such function */
	int64_t vaddr;
	uint64_t size;
};

struct torture_image {
	LIST_ENTRY(torture_image) link;
	int64_t place;
	uint64_t size;
	char config[64];
	struct torture_code *codes;
	size_t n_codes;
};

struct torture_process {
	TAILQ_ENTRY(torture_process) link;
	struct torture *t;
	pid_t pid;
	int pid_fd;
	struct halo_io *io;
	bool ended, used; /* used: it or a child of it is there, as of the last look */
	struct halo_family *family;
};

/* Where a process, which may have ended, was loaded. */
struct torture_place {
	pid_t pid;
	uint64_t bias;
};

/* Functions that are compiled in one job: [begin, end) of the order. */
struct torture_batch {
	unsigned int begin, end;
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
	dev_t exe_dev;
	ino_t exe_ino;
	char dir[64]; /* of its own; empty: none yet */
	char jobs_dir[80], store_dir[80], socket[80];
	int socket_fd;
	struct halo_io *socket_io;

	LIST_HEAD(, torture_peer) peers; /* being attached */
	uint32_t n_families;		 /* ever */
	pthread_mutex_t lock;		 /* the switching thread reads the list */
	TAILQ_HEAD(, torture_process) processes;
	struct torture_place *places; /* of all that were attached */
	struct halo_timer look;

	/* Filled from the front; the switching thread reads up to the count. */
	struct torture_version *versions;
	unsigned int n_versions;
	LIST_HEAD(, torture_image) images;
	bool counting; /* some process's offset of struct rseq is known, for counting entries */
	int64_t rseq_offset;

	const struct halo_func **order; /* redirectable functions, as they are to be compiled */
	unsigned int n_order;
	struct torture_batch *batches;
	unsigned int n_batches, next;
	struct halo_job *job;
	char config[64]; /* of the job */
	int64_t place;	 /* of the job's image */
	uint64_t room;

	pthread_t switcher;
	bool compiled; /* all that can be */
	bool switching, stop;
	uint64_t switches;
	struct torture_random random; /* for processes that come while there are variants */
	struct halo_timer deadline;
	struct halo_err failure; /* what ended the loop, if that was an error */

	pid_t child;
	int pid_fd, signal_fd, kmsg_fd;
	struct halo_io *pid_io, *signal_io;
};

/* torture.c */
void torture__begin_deadline(struct torture *t);
void torture__all_compiled(struct torture *t);
void torture__tell(struct torture *t, const struct halo_func *func, const char *config,
		   uint64_t size);
void torture__refuse(struct torture *t, const struct halo_func *func, bool failed,
		     const char *reason);

/* config.c: the same numbers choose the same */
json_object *torture__choose_config(struct torture *t, struct torture_random *r, char *name,
				    size_t size);

/* program.c: the program, before and after it runs */
int torture__open_program(struct torture *t, struct halo_err *err);
int torture__start_child(struct torture *t, struct halo_err *err);

/* processes.c: takes @family over, but for a failure */
int torture__add(struct torture *t, pid_t pid, struct halo_family *family, struct halo_err *err);
void torture__forget_all(struct torture *t);

/* follow.c: processes come to be attached */
int torture__listen(struct torture *t, struct halo_err *err);
void torture__stop_listening(struct torture *t);
int torture__attach_pid(struct torture *t, struct halo_err *err);

/* compile.c: all functions in @order, one after the other; calls the loop */
int torture__prepare_compiling(struct torture *t, struct halo_err *err);
void torture__compile_next(struct torture *t);
void torture__free_versions(struct torture *t);

/* entries.c: the entries through which an audit would send both versions of a function */
void torture__know_rseq(struct torture *t, int64_t rseq_offset);
int torture__write_entries(struct torture *t, struct torture_version *v, struct halo_err *err);

/* switcher.c: a thread that writes slots */
void torture__start_switcher(struct torture *t);
void torture__stop_switcher(struct torture *t);
/* A process that is new begins with any version of each function. */
void torture__switch_new(struct torture *t, struct halo_family *family);

/* crash.c: what the kernel's log says of a process that died of a signal */
void torture__open_kernel_log(struct torture *t);
void torture__find_crash(struct torture *t);

#endif
