/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_DAEMON_AUDIT_H
#define HALO_DAEMON_AUDIT_H

/*
 * The audit of a variant against what it replaces, as a state machine without a clock or memory of
 * its own: the caller passes the time in, so that tests can simulate programs.
 *
 * Cost of a version: on-CPU time of the family per entry of the section's root. Blocks of the two
 * arms come in pairs, in random order. A block's window begins at the first entry of its own arm and
 * ends at the first entry of the next, so it holds whole entries however long one takes.
 */
#include <stdint.h>

enum halo_audit_arm {
	HALO_ARM_OLD, /* what runs now: the original, or the version adopted before */
	HALO_ARM_NEW, /* the variant on trial */
};

/* How the audit acts on the world. */
struct halo_audit_target {
	void *ctx;
	/* The slot goes to this arm's counting entry. */
	void (*run)(void *ctx, enum halo_audit_arm arm);
	/* Entries counted for the arm since the audit began. */
	uint64_t (*entries)(void *ctx, enum halo_audit_arm arm);
	/* On-CPU time in ns per arm so far; from now on time goes to @next. 0 or -errno. */
	int (*cost)(void *ctx, enum halo_audit_arm next, uint64_t ns[2]);
};

struct halo_audit_opts {
	uint64_t block_ns;	/* shortest window; 0: 10 ms */
	uint64_t min_entries;	/* a window goes on until it holds as many; 0: 1 */
	unsigned int min_pairs; /* no verdict before; 0: 8; 6 at least */
	unsigned int max_pairs; /* then "no difference"; 0: 400 */
	uint64_t max_ns;	/* longest audit; 0: 60 s */
	/* No entry for as long, of the program's own time too where it gets some: "no entries"; 0: 3 s */
	uint64_t entry_timeout_ns;
	double alpha;	   /* error bound of the sequential test; 0: 0.01 */
	double min_effect; /* smallest relative gain worth keeping; 0: 0.01 */
	uint64_t seed;	   /* 0: from getrandom() */
};

enum halo_verdict {
	HALO_AUDIT_RUNNING,
	HALO_AUDIT_BETTER,
	HALO_AUDIT_WORSE,
	HALO_AUDIT_NO_DIFFERENCE,
	HALO_AUDIT_NO_ENTRIES, /* the root was not entered: a switch would take no effect */
	HALO_AUDIT_FAILED,     /* the target reported an error */
};

struct halo_audit_result {
	enum halo_verdict verdict;
	double speedup;	  /* old cost / new cost, median over pairs; 0 with no pair */
	double low, high; /* 95 % interval of it; both 0 with fewer than 6 pairs */
	unsigned int pairs;
	double seconds;
	double ns_per_entry[2]; /* by arm */
	char reason[200];	/* a sentence for people */
};

struct halo_audit;

/* Copies @opts and @target. NULL: no memory. */
struct halo_audit *halo_audit__new(const struct halo_audit_opts *opts,
				   const struct halo_audit_target *target, uint64_t now_ns);
void halo_audit__free(struct halo_audit *a);

/*
 * Do what is due at @now_ns (CLOCK_MONOTONIC). *next_ns: when to call again, at the latest. After a
 * verdict other than HALO_AUDIT_RUNNING the slot is the caller's again.
 */
enum halo_verdict halo_audit__step(struct halo_audit *a, uint64_t now_ns, uint64_t *next_ns);
void halo_audit__result(const struct halo_audit *a, struct halo_audit_result *out);

#endif
