/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_SELFTESTS_AUDIT_PROGRAM_H
#define HALO_SELFTESTS_AUDIT_PROGRAM_H

/*
 * A simulated single-threaded program under audit. It does one call after another; a call counts
 * its entries when it starts, for the arm that the slot names then, and keeps that arm to its end.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <daemon/audit.h>

#define MS 1000000ULL

struct program {
	/* What it is like. */
	double call_ns;	      /* of the old arm, without noise */
	int batch;	      /* entries that a call counts */
	double speedup;	      /* of the new arm */
	double noise;	      /* standard deviation of log(cost), a process that keeps its ways */
	double memory;	      /* share of that noise that one call hands on to the next, below 1 */
	double tail;	      /* probability of a stall with an infinite mean */
	double drift;	      /* growth of log(cost) per second */
	double idle;	      /* share of the time between calls that is spent off the CPU */
	double share;	      /* of the CPU that it gets while busy; 0: all of it */
	uint64_t last_call;   /* no call starts at or after; 0: never ends */
	uint64_t broken_from; /* the clock can't be read at or after; 0: never */
	bool stopped_clock;
	bool forges_counters;
	double lateness_ns; /* mean delay of the auditor's wake-ups */
	uint64_t seed;

	/* Where it is. */
	uint64_t random, now, busy_until, idle_until;
	double level;
	enum halo_audit_arm slot, clock_arm;
	uint64_t entries[2];
	uint64_t on_cpu, clock_read_at, ns[2];
	unsigned int switches, steps;
	uint64_t order; /* hash of the arms run, in order */
};

static inline double program__uniform(struct program *p)
{
	uint64_t z = p->random += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 32)) * 0xd6e8feb86659fd93ULL;
	z = (z ^ (z >> 32)) * 0xd6e8feb86659fd93ULL;
	return ((double)((z ^ (z >> 32)) >> 11) + 0.5) * 0x1p-53;
}

static inline double program__normal(struct program *p)
{
	double r = sqrt(-2 * log(program__uniform(p)));

	return r * cos(2 * M_PI * program__uniform(p));
}

static inline void program__start_call(struct program *p)
{
	double ns = p->call_ns, fresh = sqrt(1 - p->memory * p->memory);

	p->level = p->memory * p->level + fresh * program__normal(p);
	ns *= exp(p->noise * p->level + p->drift * (double)p->now / 1e9);
	if (p->slot == HALO_ARM_NEW)
		ns /= p->speedup;
	if (p->tail > 0 && program__uniform(p) < p->tail)
		ns += fmin(p->call_ns / program__uniform(p), 100 * MS);
	p->entries[p->slot] += p->batch;
	if (p->forges_counters && program__uniform(p) < 0.3)
		p->entries[p->slot] = (uint64_t)(program__uniform(p) * 0x1p63);
	p->busy_until = p->now + (uint64_t)ns + 1;
	p->idle_until = p->busy_until + (uint64_t)(ns * p->idle / (1 - p->idle));
}

static inline uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Let the program run until @end. */
static inline void program__run_until(struct program *p, uint64_t end)
{
	while (p->now < end) {
		uint64_t busy = earlier(p->busy_until, end);

		if (p->now < busy) {
			p->on_cpu += (uint64_t)((double)(busy - p->now) * (p->share ?: 1));
			p->now = busy;
		} else if (p->now < p->idle_until) {
			p->now = earlier(p->idle_until, end);
		} else if (p->last_call && p->now >= p->last_call) {
			p->now = end;
		} else {
			program__start_call(p);
		}
	}
}

static inline void program__run(void *ctx, enum halo_audit_arm arm)
{
	struct program *p = ctx;

	p->slot = arm;
	p->switches++;
	p->order = p->order * 0x100000001b3ULL + arm + 1;
}

static inline uint64_t program__entries(void *ctx, enum halo_audit_arm arm)
{
	return ((struct program *)ctx)->entries[arm];
}

static inline int program__cost(void *ctx, enum halo_audit_arm next, uint64_t ns[2])
{
	struct program *p = ctx;

	if (p->broken_from && p->now >= p->broken_from)
		return -ESRCH;
	if (!p->stopped_clock)
		p->ns[p->clock_arm] += p->on_cpu - p->clock_read_at;
	p->clock_read_at = p->on_cpu;
	p->clock_arm = next;
	memcpy(ns, p->ns, sizeof(p->ns));
	return 0;
}

/* Audit the program, which starts afresh, to the verdict. */
static inline struct halo_audit_result program__audit(struct program *p,
						      const struct halo_audit_opts *opts)
{
	struct halo_audit_target target = {p, program__run, program__entries, program__cost};
	struct halo_audit_result result;
	struct halo_audit *audit;
	uint64_t next;

	p->random = p->seed;
	audit = halo_audit__new(opts, &target, p->now);
	assert_non_null(audit);
	while (halo_audit__step(audit, p->now, &next) == HALO_AUDIT_RUNNING) {
		double late = -log(program__uniform(p)) * p->lateness_ns;

		assert_true(next > p->now);
		p->steps++;
		program__run_until(p, next + (uint64_t)late);
	}
	halo_audit__result(audit, &result);
	halo_audit__free(audit);
	return result;
}

#endif
