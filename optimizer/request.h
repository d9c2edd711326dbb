/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_REQUEST_H
#define OPT_REQUEST_H

/* The request of docs/formats/job.md, with every member's type and range checked. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../user/lib/err.h"

#define REQUEST_MAX	(64U << 20) /* bytes */
#define REQUEST_FRAMES	128	    /* of one context */
#define REQUEST_SAMPLES (1U << 20)
#define REQUEST_ROOTS	64

enum request_fp {
	FP_EXACT,    /* results to the bit as the shipped code has them */
	FP_CONTRACT, /* a * b + c may be rounded once */
	FP_REASSOC,  /* and operations may be reordered where the source allows it */
};

struct request_sample {
	uint64_t addr; /* link-time */
	uint64_t count;
};

struct request_context {
	uint64_t *frames; /* leaf first, then return addresses; link-time */
	size_t n_frames;
	uint64_t count;
};

/* A function by its name in the bitcode and the index of its unit. */
struct request_name {
	char *function;
	char *reason; /* of skip; "" in roots */
	uint32_t unit;
};

struct request_config {
	char *name;
	bool cpu_host;	    /* else the features that the function was shipped with */
	bool tune_host;	    /* else the tuning that the function was shipped with */
	const char *passes; /* LLVM's pipeline, "default<O3>" */
	int level;	    /* of code generation: 1 to 3 */
	bool vectorize, slp, interleave, unroll;
	int inline_threshold; /* -1: the pipeline's */
};

struct request {
	struct request_name *roots; /* of one section; none: the hottest function is looked for */
	size_t n_roots;
	struct request_sample *samples;
	size_t n_samples;
	struct request_context *contexts;
	size_t n_contexts;
	struct request_name *skip;
	size_t n_skip;
	struct request_config config;
	enum request_fp fp;
	int64_t place; /* link-time address, a multiple of the page size */
	uint64_t room; /* bytes */
};

/* Read descriptor @fd up to its end and parse it; release with request__free(), on failure too. */
int request__read(int fd, struct request *req, struct halo_err *err);
/* The same from a text of @len bytes. */
int request__parse(const char *text, size_t len, struct request *req, struct halo_err *err);
void request__free(struct request *req);

#endif
