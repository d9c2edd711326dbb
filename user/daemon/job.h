/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_JOB_H
#define HALO_JOB_H

/*
 * One halo-opt process: an unprivileged user, no network, limited in memory, time and file size, with
 * five descriptors and an empty environment (docs/formats/job.md).
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <json-c/json.h>

#include "../lib/err.h"

#define HALO_JOB_LIMIT	   (60ULL * 1000000000ULL) /* nanoseconds of wall time */
#define HALO_JOB_LIMIT_MAX 3600			   /* seconds */

struct halo_job;
struct halo_loop;

/* What all workers of one daemon have in common. */
struct halo_workers {
	struct halo_loop *loop;
	const char
		*dir; /* where jobs have their folders: an absolute path that only root can reach */
	int opt_fd;   /* the worker's executable */
	uid_t uid;    /* whom workers run as */
	gid_t gid;
	bool urgent;	   /* somebody waits: workers run at our own priority */
	uint64_t limit_ns; /* wall time of a job; 0: HALO_JOB_LIMIT */
	unsigned int running;
	uint64_t started; /* ever: jobs are numbered */
	uint64_t died;	  /* by a signal, by their own failure, for want of memory */
	uint64_t late;	  /* ended at their deadline */
};

struct halo_job_end {
	int dir_fd;	    /* the job's folder, gone after the callback */
	const char *answer; /* what it wrote, if it ended well */
	size_t answer_len;
	double seconds;
	char failure[200]; /* empty: it ended well; else why not, in words */
	bool late;	   /* it was ended at its deadline */
};

typedef void (*halo_job_fn)(void *ctx, const struct halo_job_end *end);

/*
 * Start a worker with @request (stays the caller's) on the executable @exe_fd. fn(ctx) is called
 * exactly once, from the loop, unless the job is cancelled; the job is gone afterwards.
 */
int halo_job__start(struct halo_workers *workers, json_object *request, int exe_fd, halo_job_fn fn,
		    void *ctx, struct halo_job **out, struct halo_err *err);
void halo_job__cancel(struct halo_job *job);

/* Remove what an earlier daemon's jobs left, and make the folder that jobs live in. */
int halo_job__prepare_dir(const char *dir, struct halo_err *err);

#endif
