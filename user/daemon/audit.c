// SPDX-License-Identifier: BSD-2-Clause
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/random.h>

#include "audit.h"
#include "audit_stats.h"

#define MSEC	1000000ULL
#define SEC	1000000000ULL

#define STARVED 100 /* less than 1/100 of the time is idle, rather than kept from running */

/* How long to wait between two looks at a counter. */
#define POLL_MIN (MSEC / 5)
#define POLL_MAX (2 * MSEC)
/* Looks at an edge that is slow to come. */
#define POLLS_PER_EDGE 32

/*
 * A look costs the daemon some 40 us: so much time of a window pays for one, for an audit to take
 * less than 2 % of a CPU. Windows longer than FILL_MAX are not made for that.
 */
#define FILL_PER_POLL (5 * MSEC / 2)
#define FILL_MAX      (100 * MSEC)

/* With fewer pairs the median has no 95 % interval. */
#define LEAST_PAIRS 6

/*
 * From so many entries on, an entry cut by a window's edge matters less than how late the edge is
 * noticed.
 */
#define MANY_ENTRIES 128

enum phase {
	PHASE_EDGE, /* the slot was switched; waiting for the first entry */
	PHASE_FILL, /* the window is open */
};

/* What was read at one moment: on-CPU time of the family and entries of one arm. */
struct reading {
	uint64_t ns, entries;
};

struct block {
	enum halo_audit_arm arm;
	uint64_t entries;      /* of its arm, when the slot was switched to it */
	struct reading opened; /* at its first entry */
	struct reading left;   /* when the slot was switched to the next block */
	uint64_t switched_at, opened_at;
};

/*
 * The two ways to measure a block. Between the first entry and the switch away, all that runs is
 * the arm's code, but the entries at both edges are cut. From the first entry to the first of the
 * next block there are whole entries, but both edges are noticed late; entries are then counted
 * from the switch on, so that the delay shifts a window and does not stretch it.
 */
struct window {
	struct reading inner, whole; /* 0: to be discarded */
};

struct halo_audit {
	struct halo_audit_opts opts;
	struct halo_audit_target target;
	struct halo_audit_stats stats;
	uint64_t random; /* state of the generator */

	enum phase phase;
	struct block block, previous;
	unsigned int blocks;   /* begun so far; blocks 2i - 1 and 2i make pair i */
	bool first_is_new;     /* order of the pair under way */
	struct window pair[2]; /* of the pair under way, by arm */
	uint64_t poll_ns;
	unsigned int polls;    /* at the last edge and in the window before it */
	uint64_t edge_ns;      /* how long the last edge was waited for */
	uint64_t fill_ns;      /* shortest window */
	uint64_t seen_entries; /* when last looked at */
	uint64_t progress_at;  /* when they last grew */
	uint64_t progress_ns;  /* time spent up to then */

	uint64_t started_at, now;
	struct reading total[2]; /* over all pairs, by arm */
	enum halo_verdict verdict;
	char reason[200];
};

static void set_defaults(struct halo_audit_opts *o)
{
	if (!o->block_ns)
		o->block_ns = 10 * MSEC;
	if (!o->min_entries)
		o->min_entries = 1;
	if (!o->min_pairs)
		o->min_pairs = 8;
	if (o->min_pairs < LEAST_PAIRS)
		o->min_pairs = LEAST_PAIRS;
	if (!o->max_pairs)
		o->max_pairs = 400;
	if (o->max_pairs < o->min_pairs)
		o->max_pairs = o->min_pairs;
	if (!o->max_ns)
		o->max_ns = 60 * SEC;
	if (!o->entry_timeout_ns)
		o->entry_timeout_ns = 3 * SEC;
	if (o->alpha == 0.0)
		o->alpha = 0.01;
	if (o->min_effect == 0.0)
		o->min_effect = 0.01;
}

/* splitmix64 */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

__attribute__((format(printf, 3, 4))) static void conclude(struct halo_audit *a,
							   enum halo_verdict verdict,
							   const char *fmt, ...)
{
	va_list args;

	a->verdict = verdict;
	va_start(args, fmt);
	vsnprintf(a->reason, sizeof(a->reason), fmt, args);
	va_end(args);
}

static uint64_t entries(const struct halo_audit *a, enum halo_audit_arm arm)
{
	return a->target.entries(a->target.ctx, arm);
}

/* Read the clocks; from now on time goes to @next. False: the audit has failed. */
static bool read_ns(struct halo_audit *a, enum halo_audit_arm next, uint64_t *sum)
{
	uint64_t ns[2];
	int err = a->target.cost(a->target.ctx, next, ns);

	if (err) {
		conclude(a, HALO_AUDIT_FAILED, "the time spent can't be read: %s", strerror(-err));
		return false;
	}
	*sum = ns[0] + ns[1];
	return true;
}

/* The slot goes to the arm whose turn it is; the window opens with its first entry. */
static void begin_block(struct halo_audit *a)
{
	struct block *b = &a->block, *p = &a->previous;
	bool second = a->blocks % 2;

	if (!second)
		a->first_is_new = next_random(&a->random) >> 63;
	*p = *b;
	b->arm = a->first_is_new != second ? HALO_ARM_NEW : HALO_ARM_OLD;
	if (!read_ns(a, b->arm, &p->left.ns))
		return;
	p->left.entries = entries(a, p->arm);
	b->entries = entries(a, b->arm);
	if (a->blocks == 0 || b->arm != p->arm)
		a->target.run(a->target.ctx, b->arm);
	a->blocks++;
	a->phase = PHASE_EDGE;
	a->seen_entries = b->entries;
	a->progress_at = b->switched_at = a->now;
	a->progress_ns = p->left.ns;
}

/* Median and interval as ratios of costs. Without an interval both bounds are 0. */
static void estimate(const struct halo_audit *a, double *speedup, double *low, double *high)
{
	const struct halo_audit_stats *s = &a->stats;

	*speedup = s->pairs ? exp(halo_audit_stats__median(s)) : 0.0;
	*low = *high = 0.0;
	if (halo_audit_stats__interval(s, low, high)) {
		*low = exp(*low);
		*high = exp(*high);
	}
}

static void decide(struct halo_audit *a)
{
	const struct halo_audit_opts *o = &a->opts;
	double speedup, low, high, worth = 1.0 + o->min_effect;

	if (a->stats.pairs < o->min_pairs)
		return;
	estimate(a, &speedup, &low, &high);
	if (a->stats.better_peak >= 1.0 / o->alpha && speedup >= worth && low > 1.0)
		conclude(a, HALO_AUDIT_BETTER,
			 "%.3f times as fast (95 %% interval %.3f to %.3f) over %u pairs", speedup,
			 low, high, a->stats.pairs);
	else if (a->stats.worse_peak >= 1.0 / o->alpha && speedup <= 1.0 / worth && high < 1.0)
		conclude(a, HALO_AUDIT_WORSE,
			 "slower: %.3f times as fast (95 %% interval %.3f to %.3f) over %u pairs",
			 speedup, low, high, a->stats.pairs);
	else if (low > 1.0 / worth && high < worth)
		conclude(a, HALO_AUDIT_NO_DIFFERENCE,
			 "no difference of %.1f %% or more (95 %% interval %.3f to %.3f) over %u "
			 "pairs",
			 o->min_effect * 100, low, high, a->stats.pairs);
	else if (a->stats.pairs >= o->max_pairs)
		conclude(a, HALO_AUDIT_NO_DIFFERENCE,
			 "no difference shown in %u pairs, the most allowed (95 %% interval %.3f "
			 "to %.3f)",
			 a->stats.pairs, low, high);
}

/* The counters are the program's to write: nothing says that they grow. */
static uint64_t growth(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

static void end_pair(struct halo_audit *a)
{
	const struct window *w = a->pair;
	bool many = MIN(w[0].inner.entries, w[1].inner.entries) >= MANY_ENTRIES;
	struct reading used[2];
	double cost[2];

	for (int arm = 0; arm < 2; arm++) {
		used[arm] = many ? w[arm].inner : w[arm].whole;
		if (!used[arm].ns || !used[arm].entries)
			return;
		cost[arm] = (double)used[arm].ns / (double)used[arm].entries;
	}
	for (int arm = 0; arm < 2; arm++) {
		a->total[arm].ns += used[arm].ns;
		a->total[arm].entries += used[arm].entries;
	}
	halo_audit_stats__add(&a->stats, log(cost[HALO_ARM_OLD] / cost[HALO_ARM_NEW]));
	decide(a);
}

/* The previous block's window ends at @ns. */
static void close_window(struct halo_audit *a, uint64_t ns)
{
	const struct block *b = &a->block, *p = &a->previous;
	struct window *w = &a->pair[p->arm];
	uint64_t end = p->arm == b->arm ? b->entries : entries(a, p->arm);

	w->inner.ns = growth(p->opened.ns, p->left.ns);
	w->inner.entries = growth(p->opened.entries, p->left.entries);
	w->whole.ns = growth(p->opened.ns, ns);
	w->whole.entries = growth(p->entries, end);
	if (a->blocks % 2)
		end_pair(a);
}

/* The last edge took @edge_ns to come: how often to look for the next, and how long to pay for it. */
static void pace(struct halo_audit *a, uint64_t edge_ns)
{
	a->poll_ns = MAX(edge_ns, a->edge_ns) / POLLS_PER_EDGE;
	a->poll_ns = MIN(MAX(a->poll_ns, POLL_MIN), POLL_MAX);
	a->edge_ns = edge_ns;
	a->fill_ns = MAX(a->opts.block_ns, MIN(a->polls * FILL_PER_POLL, FILL_MAX));
	a->polls = 0;
}

/* The first entry of a block. */
static void cross_edge(struct halo_audit *a)
{
	struct block *b = &a->block;

	if (!read_ns(a, b->arm, &b->opened.ns))
		return;
	b->opened.entries = entries(a, b->arm);
	b->opened_at = a->now;
	a->phase = PHASE_FILL;
	pace(a, a->now - b->switched_at);
	if (a->blocks > 1)
		close_window(a, b->opened.ns);
}

/*
 * No entry came for @waited. A program that gets little of a busy machine's time needs longer: what
 * counts is its own time then. One that waits for something is not going to be entered.
 */
static void consider_giving_up(struct halo_audit *a, uint64_t waited)
{
	uint64_t ns, ran;

	if (!read_ns(a, a->block.arm, &ns))
		return;
	ran = growth(a->progress_ns, ns);
	if (ran < a->opts.entry_timeout_ns && ran >= waited / STARVED)
		return;
	conclude(a, HALO_AUDIT_NO_ENTRIES, "the function was not entered for %.1f s",
		 (double)waited / SEC);
}

/* Whether @least entries came since the switch; gives up when none comes for too long. */
static bool entered(struct halo_audit *a, uint64_t least)
{
	uint64_t count = entries(a, a->block.arm);

	if (growth(a->block.entries, count) >= least)
		return true;
	a->polls++;
	if (count > a->seen_entries) {
		a->seen_entries = count;
		a->progress_at = a->now;
		read_ns(a, a->block.arm, &a->progress_ns);
	} else if (a->now - a->progress_at >= a->opts.entry_timeout_ns) {
		consider_giving_up(a, a->now - a->progress_at);
	}
	return false;
}

static uint64_t advance(struct halo_audit *a)
{
	uint64_t end;

	if (a->blocks == 0)
		begin_block(a);
	if (a->phase == PHASE_EDGE) {
		if (!entered(a, 1))
			return a->now + a->poll_ns;
		cross_edge(a);
	}
	end = a->block.opened_at + a->fill_ns;
	if (a->now < end)
		return end;
	if (!entered(a, a->opts.min_entries))
		return a->now + a->poll_ns;
	begin_block(a);
	return a->now + a->poll_ns;
}

enum halo_verdict halo_audit__step(struct halo_audit *a, uint64_t now_ns, uint64_t *next_ns)
{
	*next_ns = now_ns;
	if (a->verdict != HALO_AUDIT_RUNNING)
		return a->verdict;
	a->now = MAX(a->now, now_ns);
	*next_ns = advance(a);
	if (a->verdict == HALO_AUDIT_RUNNING && a->now - a->started_at >= a->opts.max_ns)
		conclude(a, HALO_AUDIT_NO_DIFFERENCE, "no difference shown in %.1f s (%u pairs)",
			 (double)a->opts.max_ns / SEC, a->stats.pairs);
	return a->verdict;
}

void halo_audit__result(const struct halo_audit *a, struct halo_audit_result *out)
{
	memset(out, 0, sizeof(*out));
	out->verdict = a->verdict;
	estimate(a, &out->speedup, &out->low, &out->high);
	out->pairs = a->stats.pairs;
	out->seconds = (double)(a->now - a->started_at) / SEC;
	for (int arm = 0; arm < 2; arm++) {
		if (a->total[arm].entries)
			out->ns_per_entry[arm] = (double)a->total[arm].ns /
						 (double)a->total[arm].entries;
	}
	memcpy(out->reason, a->reason, sizeof(out->reason));
}

struct halo_audit *halo_audit__new(const struct halo_audit_opts *opts,
				   const struct halo_audit_target *target, uint64_t now_ns)
{
	struct halo_audit *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->opts = *opts;
	set_defaults(&a->opts);
	a->target = *target;
	a->random = a->opts.seed;
	if (!a->random && getrandom(&a->random, sizeof(a->random), 0) != sizeof(a->random))
		goto fail;
	if (halo_audit_stats__init(&a->stats, a->opts.max_pairs))
		goto fail;
	a->poll_ns = POLL_MIN;
	a->started_at = a->now = now_ns;
	return a;
fail:
	free(a);
	return NULL;
}

void halo_audit__free(struct halo_audit *a)
{
	if (!a)
		return;
	halo_audit_stats__free(&a->stats);
	free(a);
}
