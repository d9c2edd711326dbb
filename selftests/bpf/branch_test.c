// SPDX-License-Identifier: BSD-2-Clause
/* Branch stacks in the kernel's tables: what is drained is what was fed, under load too. */
#include "fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernel/feed.h"
#include "kernel/internal.h"

#define TGID	4100000 /* above pid_max: no process */
#define EXE_ID	9
#define BASE	0x400000
#define SIZE	0x100000
#define THREADS 4
#define ROUNDS	60
#define STACKS	(HALO_MAX_FEED / THREADS)
#define DEPTH	32
#define FILTER	(HALO_FILTER_ON | HALO_FILTER_WRONG_PATH | HALO_FILTER_TWICE)

static struct fixture f;

static struct tally {
	uint64_t edges, ranges, mispredicts, contexts, mended;
	uint64_t foreign; /* of a file that was not fed */
} got;

static void on_edge(void *ctx, const struct halo_edge_key *key, const struct halo_edge_val *val)
{
	struct tally *t = ctx;

	t->edges += val->count;
	t->mispredicts += val->mispredicts;
	t->foreign += key->from_exe != EXE_ID || key->to_exe != EXE_ID;
}

static void on_range(void *ctx, const struct halo_range_key *key, uint64_t count)
{
	struct tally *t = ctx;

	t->ranges += count;
	t->foreign += key->exe_id != EXE_ID || key->begin_off > key->end_off;
}

static void on_context(void *ctx, const struct halo_ctx_key *key, uint64_t count)
{
	struct tally *t = ctx;

	if (key->exe_id != EXE_ID)
		return;
	t->contexts += count;
	if (key->quality == HALO_CTX_MENDED)
		t->mended += count;
}

static void drain(void)
{
	int err = halo_kernel__drain(f.k, on_context, &got);

	if (err)
		die("drain: %s", strerror(-err));
}

static void add_process(void)
{
	const struct halo_proc proc = {
		.exe_id = EXE_ID,
		.text_start_addr = BASE,
		.text_end_addr = BASE + SIZE,
	};

	if (halo_kernel__set_proc(f.k, TGID, &proc))
		die("can't add a process");
}

/* A stack of branches that all lead back, each with a range of its own to the next. */
static void fill(struct halo_feed *stack, unsigned int seed)
{
	*stack = (struct halo_feed){.tgid = TGID, .nr = DEPTH};
	for (unsigned int i = 0; i < DEPTH; i++) {
		uint64_t to = BASE + (seed * 7919 + i * 64) % (SIZE - 64);

		stack->branch[i].to_addr = to;
		stack->branch[i].flags = i % 4 == 0;
		if (i)
			stack->branch[i - 1].from_addr = to + 16;
	}
	stack->branch[DEPTH - 1].from_addr = BASE;
}

static void feed(const struct halo_feed *stacks, uint32_t n)
{
	int err = halo_kernel__feed(f.k, stacks, n, FILTER);

	if (err)
		die("feed: %s", strerror(-err));
}

static void test_one(void)
{
	struct halo_feed stack;

	fill(&stack, 1);
	memset(&got, 0, sizeof(got));
	feed(&stack, 1);
	drain();
	check(got.edges == DEPTH && got.ranges == DEPTH - 1 && !got.foreign,
	      "a stack of %d branches makes %lu edges and %lu ranges", DEPTH, got.edges,
	      got.ranges);
	check(got.mispredicts == DEPTH / 4, "%lu of them mispredicted", got.mispredicts);
	drain();
	check(got.edges == DEPTH, "and is not told twice");
}

static void test_refused(void)
{
	struct halo_feed stack = {.tgid = TGID + 1, .nr = 1};

	check(halo_kernel__feed(f.k, &stack, 1, FILTER) == -ESRCH,
	      "a stack of a process that is not enrolled is refused");
	stack = (struct halo_feed){.tgid = TGID, .nr = HALO_MAX_BRANCHES + 1};
	check(halo_kernel__feed(f.k, &stack, 1, FILTER) == -EINVAL,
	      "so is one that is deeper than any");
}

static void test_mended(void)
{
	struct halo_feed stack = {
		.tgid = TGID,
		.nr = 1,
		.ip_addr = BASE + 0x701,
		.nr_callers = 1,
		.return_addr = {BASE + 0x505},
		.branch = {{BASE + 0x600, BASE + 0x700,
			    (uint64_t)HALO_BRANCH_CALL << HALO_BRANCH_TYPE_SHIFT}},
	};
	uint64_t wrong = fixture__stat(&f, HALO_STAT_WRONG_CALLER);
	uint64_t callers = fixture__stat(&f, HALO_STAT_CALLERS);

	memset(&got, 0, sizeof(got));
	feed(&stack, 1);
	stack.return_addr[0] = BASE + 0x605;
	feed(&stack, 1);
	drain();
	check(got.contexts == 2 && got.mended == 1,
	      "a caller that the open call contradicts is mended, one that agrees is not");
	check(fixture__stat(&f, HALO_STAT_WRONG_CALLER) == wrong + 1 &&
		      fixture__stat(&f, HALO_STAT_CALLERS) == callers + 2,
	      "and it is counted");
}

static atomic_uint running;

/* Each thread has slots of its own in the map that the program reads. */
static void *feed_many(void *arg)
{
	uint32_t first = (uintptr_t)arg * STACKS;
	int map = bpf_map__fd(f.k->skel->maps.halo_feed);
	int prog = bpf_program__fd(f.k->skel->progs.halo_branch_feed);
	struct halo_feed stack;

	for (int round = 0; round < ROUNDS; round++) {
		for (uint32_t i = 0; i < STACKS; i++) {
			uint32_t index = first + i;

			fill(&stack, (index + round) % 199);
			if (bpf_map_update_elem(map, &index, &stack, BPF_ANY))
				die("can't write to halo_feed: %m");
		}
		if (halo_feed__run(prog, first, STACKS, FILTER))
			die("feeding failed");
	}
	running--;
	return NULL;
}

/* Feeding threads on all CPUs, the sampler among them, and a drain after the other. */
static void test_load(void)
{
	const uint64_t fed = (uint64_t)THREADS * ROUNDS * STACKS * DEPTH;
	uint64_t lost = fixture__stat(&f, HALO_STAT_EDGE_FULL) +
			fixture__stat(&f, HALO_STAT_EDGE_BUSY);
	uint64_t lost_ranges = fixture__stat(&f, HALO_STAT_RANGE_FULL) +
			       fixture__stat(&f, HALO_STAT_RANGE_BUSY);
	uint64_t branches = fixture__stat(&f, HALO_STAT_BRANCHES);
	pthread_t thread[THREADS];
	unsigned int drains = 0;

	memset(&got, 0, sizeof(got));
	running = THREADS;
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, feed_many, (void *)i);
	for (; running; drains++)
		drain();
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	drain();
	drain();
	lost = fixture__stat(&f, HALO_STAT_EDGE_FULL) + fixture__stat(&f, HALO_STAT_EDGE_BUSY) -
	       lost;
	lost_ranges = fixture__stat(&f, HALO_STAT_RANGE_FULL) +
		      fixture__stat(&f, HALO_STAT_RANGE_BUSY) - lost_ranges;
	check(fixture__stat(&f, HALO_STAT_BRANCHES) - branches == fed,
	      "%lu branches were seen while %u drains ran", fed, drains);
	check(got.edges == fed - lost && !got.foreign,
	      "edges drained are those fed less those counted as lost (%lu = %lu - %lu)", got.edges,
	      fed, lost);
	check(got.ranges == fed / DEPTH * (DEPTH - 1) - lost_ranges,
	      "and so are ranges (%lu, %lu lost)", got.ranges, lost_ranges);
}

/* More different edges than the table holds. */
static void test_full(void)
{
	struct halo_feed *stacks = calloc(HALO_MAX_FEED, sizeof(*stacks));
	uint64_t full = fixture__stat(&f, HALO_STAT_EDGE_FULL), fed = 0;
	unsigned int seed = 0;

	drain();
	drain();
	memset(&got, 0, sizeof(got));
	while (fed <= HALO_MAX_EDGES + 4096) {
		for (uint32_t i = 0; i < HALO_MAX_FEED; i++, seed++) {
			stacks[i] = (struct halo_feed){.tgid = TGID, .nr = DEPTH};
			for (uint32_t j = 0; j < DEPTH; j++)
				stacks[i].branch[j] = (struct halo_branch){
					BASE + (seed * DEPTH + j) % SIZE, BASE, 0};
		}
		feed(stacks, HALO_MAX_FEED);
		fed += HALO_MAX_FEED * DEPTH;
	}
	free(stacks);
	drain();
	full = fixture__stat(&f, HALO_STAT_EDGE_FULL) - full;
	check(full > 0 && got.edges == fed - full,
	      "branches that find the table full are counted as lost (%lu of %lu)", full, fed);
}

int main(void)
{
	fixture__open_feed(&f);
	halo_kernel__on_branches(f.k, on_edge, on_range, &got);
	add_process();
	test_one();
	test_refused();
	test_mended();
	test_load();
	test_full();
	fixture__close(&f);
	return tap_done();
}
