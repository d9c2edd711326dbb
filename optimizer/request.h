/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_REQUEST_H
#define OPT_REQUEST_H

/* The request of docs/formats/job.md, with every member's type and range checked. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../user/lib/err.h"

#define REQUEST_MAX	 (64U << 20) /* bytes */
#define REQUEST_FRAMES	 128	     /* of one context */
#define REQUEST_SAMPLES	 (1U << 20)
#define REQUEST_ROOTS	 64
#define REQUEST_BRANCHES (1U << 19) /* ranges, and edges */

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

/* Code that ran from its first to its last instruction, between two branches; link-time addresses. */
struct request_range {
	uint64_t begin, end;
	uint64_t count;
};

/* A branch that was taken. */
struct request_edge {
	uint64_t from, to;
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

/* Where code that counts finds its counters, in the program. */
struct request_counters {
	int64_t place; /* link-time address */
	uint64_t room; /* bytes */
	uint32_t cpus; /* that may be on at a time */
	int64_t rseq;  /* offset of struct rseq from the thread pointer; 0: there is none */
};

#define REQUEST_COUNTERS (1U << 20)
#define REQUEST_KINDS	 3 /* of values, as LLVM numbers them: 0 is the target of an indirect call */

/* A function as it was counted: which counters are its own. */
struct request_counted {
	char *name; /* LLVM's for profiles */
	uint64_t hash;
	uint32_t first, n;	       /* counters */
	uint32_t sites[REQUEST_KINDS]; /* where values were recorded, by kind */
	uint32_t first_site;
};

struct request_value {
	uint32_t site;
	uint64_t value;
	uint64_t count;
};

struct request_profile {
	struct request_name *members; /* of the section that was counted */
	size_t n_members;
	struct request_counted *functions;
	size_t n_functions;
	uint64_t *counts;
	size_t n_counts;
	struct request_value *values; /* ascending by site */
	size_t n_values;
	uint64_t bias; /* of the process: run-time minus link-time addresses */
};

struct request {
	struct request_name *roots; /* of one section; none: the hottest function is looked for */
	size_t n_roots;
	bool has_counters; /* make code that counts */
	bool has_profile;
	bool has_branches; /* of the shipped code, as the CPU recorded them */
	struct request_range *ranges;
	size_t n_ranges;
	struct request_edge *edges;
	size_t n_edges;
	struct request_counters counters;
	struct request_profile profile;
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
