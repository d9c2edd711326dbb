// SPDX-License-Identifier: BSD-2-Clause
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../lib/util.h"
#include "counting.h"
#include "process.h"
#include "program.h"
#include "tuning.h"

#define FIRST_NS     (2 * HALO_MS)   /* length of the first burst */
#define BURST_NS     (10 * HALO_MS)  /* of any */
#define LONG_NS	     (200 * HALO_MS) /* of one for a root that is seldom entered */
#define LEAVE_NS     (100 * HALO_MS) /* for those inside to leave, before a burst is looked at */
#define POLL_NS	     HALO_MS
#define REST_MIN_NS  (20 * HALO_MS)
#define REST_MAX_NS  (60 * HALO_SEC)
#define MIN_BURSTS   3
#define MAX_BURSTS   40
#define MAX_EMPTY    5	   /* of the longest */
#define GOOD_ENTRIES 100   /* of the root: fewer tell little, unless much is done in each */
#define GOOD_COUNTS  1e6   /* so much */
#define ENOUGH	     0.995 /* overlap of the counts with those of the burst before */
#define GUESS	     3.0   /* how much slower code that counts is, before that is measured */

#define PLACE_STEP   64 /* a cache line */

#define ARM_REST     0
#define ARM_BURST    1

/* See optimizer/pgo.h. */
#define ENTERED	   0
#define LEFT	   1
#define FIRST	   HALO_COUNTERS_FIRST
#define SITE_WORDS (HALO_COUNTS_SITE / 8)

struct halo_counting {
	struct halo_program *program;
	struct halo_tuning *section;
	struct halo_group *group;
	const struct halo_variant *variant;
	struct halo_counted what;
	halo_counting_fn fn;
	struct halo_timer timer;
	uint32_t at;	/* where in the counters its own are */
	uint64_t *base; /* what was there before, of an image that an earlier daemon made */
	uint64_t burst_ns;
	uint64_t leave_ns; /* until when those inside may leave */
	unsigned int bursts, empty;
	uint64_t entered; /* up to the burst before */
	uint64_t cpu_ns;  /* spent in bursts */
	bool truncated;
	double slowdown;
	uint64_t *counts; /* up to the last burst */
	uint64_t *before; /* and to the one before */
};

const struct halo_group *halo_counting__group(const struct halo_counting *c)
{
	return c->group;
}

json_object *halo_counting__request(const struct halo_program *p, const struct halo_group *group)
{
	json_object *obj = json_object_new_object();
	int64_t place = halo_prepared__arena(p->prepared) + (int64_t)HALO_ARENA_SIZE +
			(int64_t)HALO_COUNTS_OFFSET + p->counts_used;
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	json_object_object_add(obj, "place", json_object_new_int64(place));
	json_object_object_add(obj, "room",
			       json_object_new_int64(HALO_COUNTS_SIZE - p->counts_used));
	json_object_object_add(obj, "cpus", json_object_new_int64(cpus > 0 ? cpus : 1));
	json_object_object_add(obj, "rseq",
			       json_object_new_int64(halo_rseq__offset(halo_group__pid(p, group))));
	return obj;
}

static uint32_t size_of(const struct halo_counted *what)
{
	return what->copies * what->stride + what->sites * HALO_COUNTS_SITE;
}

/* Programs write there: it may be anything. */
static uint64_t word(const struct halo_counting *c, uint64_t byte)
{
	const uint64_t *area = halo_family__counts(c->group->family);

	return __atomic_load_n(&area[(c->at + byte) / sizeof(*area)], __ATOMIC_RELAXED);
}

/* One that only grows, as far as it has grown. */
static uint64_t count(const struct halo_counting *c, uint64_t byte)
{
	return word(c, byte) - c->base[byte / sizeof(*c->base)];
}

static uint64_t sum(const struct halo_counting *c, uint32_t counter)
{
	uint64_t total = 0;

	for (uint32_t copy = 0; copy < c->what.copies; copy++)
		total += count(c, (uint64_t)copy * c->what.stride + 8ULL * counter);
	return total & (UINT64_MAX >> 12);
}

static void counting__free(struct halo_counting *c)
{
	struct halo_daemon *d = c->program->daemon;

	halo_loop__cancel(d->loop, &c->timer);
	halo_kernel__cost_end(d->kernel, c->group->id);
	c->program->counting = NULL;
	json_object_put(c->what.map);
	free(c->counts);
	free(c->before);
	free(c->base);
	free(c);
}

static json_object *new_counts(const struct halo_counting *c)
{
	json_object *list = json_object_new_array_ext((int)c->what.counters);

	for (uint32_t i = 0; i < c->what.counters; i++)
		json_object_array_add(list, json_object_new_int64((int64_t)c->counts[i]));
	return list;
}

static void add_value(json_object *list, uint32_t site, uint64_t value, uint64_t count)
{
	json_object *row = json_object_new_array_ext(3);

	json_object_array_add(row, json_object_new_int64(site));
	json_object_array_add(row, json_object_new_int64((int64_t)value));
	json_object_array_add(row, json_object_new_int64((int64_t)(count & (UINT64_MAX >> 12))));
	json_object_array_add(list, row);
}

static json_object *new_values(const struct halo_counting *c)
{
	json_object *list = json_object_new_array();
	uint64_t at = (uint64_t)c->what.copies * c->what.stride;

	for (uint32_t site = 0; site < c->what.sites; site++, at += SITE_WORDS * 8) {
		if (!count(c, at))
			continue;
		add_value(list, site, 0, count(c, at));
		for (uint32_t i = 2; i < SITE_WORDS; i += 2)
			if (word(c, at + 8 * i) && count(c, at + 8 * i + 8))
				add_value(list, site, word(c, at + 8 * i) - 1,
					  count(c, at + 8 * i + 8));
	}
	return list;
}

static json_object *new_profile(const struct halo_counting *c)
{
	json_object *obj = json_object_new_object();

	json_object_object_add(obj, "map", json_object_get(c->what.map));
	json_object_object_add(obj, "counts", new_counts(c));
	json_object_object_add(obj, "values", new_values(c));
	json_object_object_add(obj, "bias",
			       json_object_new_int64((int64_t)halo_family__bias(c->group->family)));
	return obj;
}

static void end(struct halo_counting *c, const char *why)
{
	struct halo_program *p = c->program;
	struct halo_tuning *s = c->section;
	json_object *profile = why ? NULL : new_profile(c);
	halo_counting_fn fn = c->fn;

	if (!why)
		halo_program__note(
			p, "%s: counted %llu entries in %u bursts of %.3f s%s, %.1f times slower",
			s->root->name, (unsigned long long)c->entered, c->bursts,
			(double)c->cpu_ns / 1e9, c->truncated ? " (not all had returned)" : "",
			c->slowdown);
	counting__free(c);
	fn(p, s, profile, why);
}

/* What both distributions have in common, as llvm-profdata overlap has it: 0 to 1. */
static double overlap(const uint64_t *a, const uint64_t *b, uint32_t n)
{
	double total_a = 0, total_b = 0, common = 0;

	for (uint32_t i = FIRST; i < n; i++) {
		total_a += (double)a[i];
		total_b += (double)b[i];
	}
	if (total_a <= 0 || total_b <= 0)
		return 0;
	for (uint32_t i = FIRST; i < n; i++)
		common += fmin((double)a[i] / total_a, (double)b[i] / total_b);
	return common;
}

static bool tells_enough(const struct halo_counting *c)
{
	double total = 0;

	for (uint32_t i = FIRST; i < c->what.counters; i++)
		total += (double)c->counts[i];
	if (c->bursts < MIN_BURSTS || (c->entered < GOOD_ENTRIES && total < GOOD_COUNTS))
		return false;
	return overlap(c->counts, c->before, c->what.counters) >= ENOUGH;
}

static void take_counts(struct halo_counting *c)
{
	uint64_t *swap = c->before;

	c->before = c->counts;
	c->counts = swap;
	for (uint32_t i = 0; i < c->what.counters; i++)
		c->counts[i] = sum(c, i);
}

/* From the cost of an entry now and in the audit before. */
static void measure(struct halo_counting *c, uint64_t entered)
{
	double usual = c->section->ns_per_entry;

	if (usual <= 0 || !entered || !c->cpu_ns)
		return;
	c->slowdown = (double)c->cpu_ns / (double)entered / usual;
	/* The time that those inside take to leave is not in bursts: never trust a bargain. */
	if (c->slowdown < 1.2)
		c->slowdown = 1.2;
}

static void begin_burst(void *ctx);

/* A burst in which nothing was entered has cost nothing. */
static void rest(struct halo_counting *c, bool entered)
{
	double ns = entered ? (double)c->burst_ns * (c->slowdown - 1) / HALO_COUNTING_DUTY : 0;
	uint64_t wait = ns < REST_MIN_NS   ? REST_MIN_NS
			: ns > REST_MAX_NS ? REST_MAX_NS
					   : (uint64_t)ns;

	halo_loop__arm(c->program->daemon->loop, &c->timer, halo_loop__now() + wait, begin_burst,
		       c);
}

static void lengthen(struct halo_counting *c, uint64_t entries)
{
	uint64_t max = entries ? BURST_NS : LONG_NS;

	if (entries >= GOOD_ENTRIES)
		return;
	c->burst_ns *= 2;
	if (c->burst_ns > max)
		c->burst_ns = max;
}

static void judge(struct halo_counting *c)
{
	uint64_t entered = sum(c, ENTERED), fresh = entered - c->entered;

	c->bursts++;
	c->entered = entered;
	if (!fresh && c->burst_ns == LONG_NS && ++c->empty == MAX_EMPTY) {
		end(c, "it was not entered while code that counts was in its place");
		return;
	}
	measure(c, entered);
	take_counts(c);
	if (tells_enough(c) || (entered && c->bursts == MAX_BURSTS)) {
		end(c, NULL);
		return;
	}
	if (c->bursts == MAX_BURSTS) {
		end(c, "it was hardly entered while code that counts was in its place");
		return;
	}
	/* What this burst has cost, before the next one is longer. */
	rest(c, fresh);
	lengthen(c, fresh);
}

static void poll_left(void *ctx)
{
	struct halo_counting *c = ctx;
	uint64_t now = halo_loop__now();

	if (sum(c, ENTERED) != sum(c, LEFT) && now < c->leave_ns) {
		halo_loop__arm(c->program->daemon->loop, &c->timer, now + POLL_NS, poll_left, c);
		return;
	}
	c->truncated = sum(c, ENTERED) != sum(c, LEFT);
	judge(c);
}

static void end_burst(void *ctx)
{
	struct halo_counting *c = ctx;
	uint64_t ns[8] = {0};

	halo_tuning__settle_slot(c->section, c->group);
	if (!halo_kernel__cost_switch(c->program->daemon->kernel, c->group->id, ARM_REST, ns))
		c->cpu_ns = ns[ARM_BURST];
	c->leave_ns = halo_loop__now() + LEAVE_NS;
	poll_left(c);
}

static void begin_burst(void *ctx)
{
	struct halo_counting *c = ctx;
	uint64_t ns[8];

	halo_kernel__cost_switch(c->program->daemon->kernel, c->group->id, ARM_BURST, ns);
	halo_family__set_slot(c->group->family, c->section->root->slot, c->variant->entry);
	halo_loop__arm(c->program->daemon->loop, &c->timer, halo_loop__now() + c->burst_ns,
		       end_burst, c);
}

int halo_counting__start(struct halo_program *p, struct halo_tuning *s, struct halo_group *group,
			 const struct halo_variant *v, const struct halo_counted *counted,
			 halo_counting_fn fn, struct halo_err *err)
{
	struct halo_counting *c;
	int ret;

	if (size_of(counted) > HALO_COUNTS_SIZE - p->counts_used)
		return halo_err__set(err, -ENOSPC, "no counters are left");
	c = calloc(1, sizeof(*c));
	if (!c)
		return halo_err__set(err, -ENOMEM, "out of memory");
	*c = (struct halo_counting){
		.program = p,
		.section = s,
		.group = group,
		.variant = v,
		.what = *counted,
		.fn = fn,
		.at = p->counts_used,
		.base = calloc(1, size_of(counted)),
		.burst_ns = FIRST_NS,
		.slowdown = GUESS,
		.counts = calloc(counted->counters, sizeof(uint64_t)),
		.before = calloc(counted->counters, sizeof(uint64_t)),
	};
	json_object_get(c->what.map);
	ret = c->counts && c->before && c->base
		      ? halo_kernel__cost_begin(p->daemon->kernel, group->id, ARM_REST)
		      : -ENOMEM;
	if (ret) {
		counting__free(c);
		return halo_err__set(err, ret, "starting to count: %s", strerror(-ret));
	}
	for (uint32_t byte = 0; byte < size_of(counted); byte += sizeof(*c->base))
		c->base[byte / sizeof(*c->base)] = word(c, byte);
	p->counts_used += (size_of(counted) + PLACE_STEP - 1) / PLACE_STEP * PLACE_STEP;
	p->counting = c;
	halo_program__note(p, "%s: counting, %u counters and %u values", s->root->name,
			   counted->counters - FIRST, counted->sites);
	halo_loop__arm(p->daemon->loop, &c->timer, 0, begin_burst, c);
	return 0;
}

void halo_counting__cancel(struct halo_program *p)
{
	struct halo_counting *c = p->counting;

	if (!c)
		return;
	halo_tuning__settle_slot(c->section, c->group);
	counting__free(c);
}
