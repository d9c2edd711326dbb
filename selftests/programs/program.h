/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROGRAM_H
#define PROGRAM_H

/*
 * What the programs here have in common: how long to run, and what to print.
 *
 *	struct program run;
 *
 *	program__begin(&run, argc, argv);
 *	while (program__next(&run))
 *		program__add(&run, work(run.round));
 *	return program__end(&run);
 *
 * Options: --rounds N (a fixed amount of work, so the output is always the same), --seconds S, or
 * --endless (until SIGTERM or SIGINT). The last two print once per second, on standard error,
 *
 *	rate 123.4 rounds/s-cpu total 617 cpu 5.002
 *
 * : the rounds per second of CPU time since the line before, the rounds and the CPU seconds of the
 * whole process so far. Standard output gets the results alone, at the end.
 */
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct program {
	const char *name;
	uint64_t round; /* number of the current round, from 0 */
	bool started;
	uint64_t rounds;  /* do that many; 0: until the deadline or a signal */
	double seconds;	  /* wall time to run; 0: no deadline */
	double begin;	  /* CLOCK_MONOTONIC, seconds */
	double line_time; /* of the last rate line */
	double line_cpu;
	uint64_t line_round;
	uint64_t checksum; /* over the bits of every value added */
	double last;	   /* the value added last */
};

/* Parse the command line; exits with a usage message when it is wrong. */
void program__begin(struct program *run, int argc, char **argv);

/* Go on to the next round; false when the program is to end. */
bool program__next(struct program *run);

/* Take a round's result into the checksum. */
void program__add(struct program *run, double value);

/* Print the results. Returns main()'s exit status. */
int program__end(struct program *run);

#ifdef __cplusplus
}
#endif

#endif
