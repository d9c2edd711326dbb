/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_TORTURE_H
#define HALO_TORTURE_H

/*
 * Switches as many functions of a program as it can, among their original code and variants of it,
 * at random and as fast as it can: a program whose output changes shows a variant that computes
 * something else, or a switch that is not safe. Needs no daemon, and shares nothing with one.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include <json-c/json.h>

#include "../lib/err.h"

struct torture_opts {
	uint64_t seed;		/* of all that is chosen at random */
	unsigned int seconds;	/* of switching; 0: until the program ends */
	unsigned int functions; /* at most; 0: all */
	bool hold;		/* all is compiled before argv is started */
	const char **only;	/* switch only functions of these names; none: all */
	unsigned int n_only;
	pid_t pid; /* a running program; 0: start argv */
	char **argv;
	const char *program;  /* what to torture if argv[0] only starts it; NULL: argv[0] */
	const char *opt_path; /* of halo-opt; NULL: look for it */
	const char *knobs_dir;
};

/* What became of one function. */
struct torture_row {
	char *function;
	uint32_t unit;
	char *config; /* of its variant; NULL: it has none */
	char *reason; /* why not */
	bool failed;  /* something went wrong, as against "this function's code is not for us" */
	uint64_t code_size;
};

struct torture_report {
	char *program;
	unsigned int functions, redirectable;
	struct torture_row *rows;
	unsigned int n_rows, compiled;
	unsigned int processes; /* attached; forked children not counted */
	unsigned int missed;	/* that were not */
	char refused[256];	/* why the last of those was not */
	uint64_t switches;
	uint64_t entered[2]; /* counted entries: of original code, of variants */
	bool ended;	     /* the program did, while torture was there */
	int status;	     /* of wait(), if argv was started */
	char crash[256];     /* where the program crashed, if known */
};

/* Returns after the program has ended, or the time is over and all is set back. */
int torture__run(const struct torture_opts *opts, struct torture_report *report,
		 struct halo_err *err);
/* An object; the caller's. */
json_object *torture_report__json(const struct torture_opts *opts,
				  const struct torture_report *report);
/* Lines for people. */
void torture_report__print(const struct torture_opts *opts, const struct torture_report *report,
			   FILE *f);
void torture_report__free(struct torture_report *report);

#endif
