/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_SELFTESTS_BPF_FIXTURE_H
#define HALO_SELFTESTS_BPF_FIXTURE_H

/* A kernel half to test, a program to watch, what was heard of it, and results in TAP. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "kernel/kernel.h"

#define MAX_EVENTS 1024
#define WAIT_S	   20 /* for something that must happen; far longer than it takes */

/* Results. The text says what is true. */
void check(bool good, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void skip(const char *text, const char *reason);
int tap_done(void);
/* Print what failed, and end. */
void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* An executable, as much of it as halo_kernel__enroll() looks at. */
struct exe {
	char path[256];
	struct halo_prepared p;
};

/* Copy the file @from to @path, so that it is a file not seen before, and read it. */
void exe__copy(struct exe *exe, const char *from, const char *path);
void exe__free(struct exe *exe);
/* File offset and size of a function. */
uint64_t exe__function(const struct exe *exe, const char *name, uint64_t *size);

struct fixture {
	struct halo_kernel *k;
	struct halo_event events[MAX_EVENTS];
	unsigned int n_events;
};

void fixture__open(struct fixture *f, bool pin);
/* Unpinned, with the program that takes recorded branch stacks. */
void fixture__open_feed(struct fixture *f);
void fixture__close(struct fixture *f);

/* Start @path with up to two arguments; it dies with this process. */
pid_t start(const char *path, const char *arg1, const char *arg2);
void stop(pid_t pid);

/* The first event of that kind and process, from number @from on; waits for it. NULL: none came. */
const struct halo_event *fixture__wait(struct fixture *f, enum halo_event_kind kind, pid_t pid,
				       unsigned int from);
/* Events of that kind and process so far. */
unsigned int fixture__count(struct fixture *f, enum halo_event_kind kind, pid_t pid);
/* Wait until @n more samples of enrolled programs were taken; false: they did not come. */
bool fixture__wait_samples(struct fixture *f, uint64_t n);
uint64_t fixture__stat(struct fixture *f, enum halo_stat which);

#endif
