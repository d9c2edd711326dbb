/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stdbool.h>
#include <stddef.h>

/* One run of a command to its end. */
struct run {
	double cpu; /* user and system time of it and of the children that it waited for, seconds */
	double wall; /* seconds */
	int status;  /* exit status */
	int output;  /* descriptor: its standard output; freed with run__free() */
};

/*
 * Run @argv with standard input from @input (NULL: nothing). 0 or -errno; -ECHILD when it could not
 * be executed or was killed by a signal, which is said on standard error.
 */
int run__measure(char *const argv[], const char *input, struct run *run);
void run__free(struct run *run);

/* Was the output the same to the byte? False when it can't be read. */
bool run__same_output(const struct run *a, const struct run *b);

double median(const double *values, size_t n);

#endif
