/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_ANSWER_H
#define HALO_ANSWER_H

/*
 * The answer of a worker (docs/formats/job.md), checked against the program and the place that its
 * image was to take. Nothing of it is trusted.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <json-c/json.h>

#include "../lib/err.h"
#include "../lib/prepared.h"

#define HALO_ANSWER_MAX	       (4UL << 20) /* bytes of JSON */
#define HALO_ANSWER_FUNCS_MAX  4096
#define HALO_ANSWER_CHOICE_MAX 256 /* rows of "considered" that are kept */

enum halo_answer_status {
	HALO_ANSWER_OK,
	HALO_ANSWER_NONE,  /* nothing worth optimizing */
	HALO_ANSWER_ERROR, /* the worker says what went wrong */
};

struct halo_answer_func {
	const struct halo_func *func; /* NULL: the program has no copy of its own */
	char *name;		      /* then, what it is called; NULL: nothing */
	int64_t vaddr;
	uint64_t size;
	bool entry; /* a root: its slot may lead here */
};

/* What code that counts keeps in the program's counters; optimizer/pgo.h has the layout. */
struct halo_counted {
	uint32_t counters; /* 0: the code does not count */
	uint32_t copies;
	uint32_t stride; /* bytes of one copy */
	uint32_t sites;
	json_object *map; /* what the numbers mean, for the worker that uses them */
};

struct halo_answer {
	enum halo_answer_status status;
	const struct halo_func *root; /* OK: has a slot; else may be NULL */
	int64_t entry;		      /* link-time address inside the image */
	struct halo_answer_func *funcs;
	size_t n_funcs;
	uint64_t code_size;
	char hash[65];
	struct halo_counted counted;
	json_object *considered; /* a clean copy; may be NULL */
	char reason[256];	 /* NONE */
	struct halo_err error;	 /* ERROR */
};

/* -EBADMSG with the reason. Freed by halo_answer__free(), after a failure too. */
int halo_answer__parse(const char *text, size_t len, const struct halo_prepared *p, int64_t place,
		       uint64_t room, struct halo_answer *out, struct halo_err *err);
void halo_answer__free(struct halo_answer *a);

#endif
