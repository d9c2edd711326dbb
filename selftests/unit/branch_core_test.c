// SPDX-License-Identifier: BSD-2-Clause
/* What becomes of branch stacks, and of callers that they contradict. Addresses are frames here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <branch_core.h>
#include <caller_core.h>

#define EXE	   (7ULL << HALO_OFF_BITS)
#define KERNEL	   0xffffffff81000000ULL
#define MAX	   64
#define TYPE(t)	   ((uint64_t)(t) << HALO_BRANCH_TYPE_SHIFT)
#define WRONG_PATH (1ULL << HALO_BRANCH_SPEC_SHIFT)

static struct {
	struct halo_edge_key edge[MAX];
	struct halo_range_key range[MAX];
	unsigned int edges, ranges, mispredicts;
	unsigned int tally[HALO_STAT_MAX];
} seen;

/* All below 1 MiB is the program's. */
static __u64 branch__frame(struct halo_branch_walk *w, __u64 addr)
{
	(void)w;
	return addr < 1 << 20 ? EXE | addr : 0;
}

static void branch__edge(struct halo_branch_walk *w, const struct halo_edge_key *key,
			 __u64 mispredicted)
{
	(void)w;
	seen.edge[seen.edges++] = *key;
	seen.mispredicts += !!mispredicted;
}

static void branch__range(struct halo_branch_walk *w, const struct halo_range_key *key)
{
	(void)w;
	seen.range[seen.ranges++] = *key;
}

static void branch__tally(struct halo_branch_walk *w, enum halo_stat which)
{
	(void)w;
	seen.tally[which]++;
}

#define ALL (HALO_FILTER_ON | HALO_FILTER_WRONG_PATH | HALO_FILTER_TWICE)

static struct halo_branch_walk walk(const struct halo_branch *b, uint32_t nr, uint32_t filter)
{
	struct halo_branch_walk w = {.nr = nr, .filter = filter};

	memset(&seen, 0, sizeof(seen));
	memcpy(w.branch, b, nr * sizeof(*b));
	for (uint32_t i = 0; i < nr; i++)
		branch__step(&w, i);
	return w;
}

#define WALK(filter, ...)                                        \
	({                                                       \
		const struct halo_branch __b[] = {__VA_ARGS__};  \
		walk(__b, sizeof(__b) / sizeof(__b[0]), filter); \
	})

static void assert_range(unsigned int i, uint64_t begin, uint64_t end)
{
	assert_true(i < seen.ranges);
	assert_int_equal(seen.range[i].exe_id, 7);
	assert_int_equal(seen.range[i].begin_off, begin);
	assert_int_equal(seen.range[i].end_off, end);
}

static void test_edges_and_ranges(void **state)
{
	(void)state;
	WALK(ALL, {0x50, 0x10, 1}, {0x30, 0x40, 0}, {0x90, 0x20, 0});
	assert_int_equal(seen.edges, 3);
	assert_int_equal(seen.mispredicts, 1);
	assert_int_equal(seen.edge[0].from_off, 0x50);
	assert_int_equal(seen.edge[0].to_off, 0x10);
	assert_int_equal(seen.edge[0].from_exe, 7);
	assert_int_equal(seen.ranges, 2);
	assert_range(0, 0x40, 0x50);
	assert_range(1, 0x20, 0x30);
}

static void test_wrong_path(void **state)
{
	(void)state;
	/* What did not happen lies between the other two: the range goes over it. */
	WALK(ALL, {0x50, 0x10, 0}, {0x30, 0x90, WRONG_PATH}, {0x90, 0x20, 0});
	assert_int_equal(seen.edges, 2);
	assert_int_equal(seen.tally[HALO_STAT_WRONG_PATH], 1);
	assert_int_equal(seen.ranges, 1);
	assert_range(0, 0x20, 0x50);
	/* Taken as it is where the CPU does not speculate in its records. */
	WALK(HALO_FILTER_ON, {0x30, 0x90, WRONG_PATH});
	assert_int_equal(seen.edges, 1);
}

static void test_told_twice(void **state)
{
	(void)state;
	/* Ahead: impossible. The range that it would make ends before it begins. */
	WALK(ALL, {0x30, 0x40, 0}, {0x30, 0x40, 0}, {0x90, 0x20, 0});
	assert_int_equal(seen.edges, 2);
	assert_int_equal(seen.ranges, 1);
	assert_range(0, 0x20, 0x30);
	assert_int_equal(seen.tally[HALO_STAT_TWICE], 1);
	assert_int_equal(seen.tally[HALO_STAT_RANGE_BAD], 0);
	/* Back: a loop, but for CPUs known to do that. */
	WALK(ALL, {0x40, 0x30, 0}, {0x40, 0x30, 0});
	assert_int_equal(seen.edges, 2);
	assert_range(0, 0x30, 0x40);
	WALK(ALL | HALO_FILTER_SKYLAKE, {0x40, 0x30, 0}, {0x40, 0x30, 0});
	assert_int_equal(seen.edges, 1);
	assert_int_equal(seen.ranges, 0);
	/* Not the newest two: never. */
	WALK(ALL, {0x99, 0x10, 0}, {0x30, 0x40, 0}, {0x30, 0x40, 0});
	assert_int_equal(seen.tally[HALO_STAT_TWICE], 0);
	assert_int_equal(seen.tally[HALO_STAT_RANGE_BAD], 1);
	WALK(HALO_FILTER_ON, {0x30, 0x40, 0}, {0x30, 0x40, 0});
	assert_int_equal(seen.edges, 2);
	assert_int_equal(seen.tally[HALO_STAT_RANGE_BAD], 1);
}

static void test_kernel_and_outside(void **state)
{
	(void)state;
	/* Back from the kernel, a range, into a library, and out of it. */
	WALK(ALL, {0x7f0000, 0x60, 0}, {0x50, 0x7f0000, 0}, {KERNEL, 0x20, 0},
	     {0x7f0000, 0x7f0100, 0}, {KERNEL, KERNEL + 9, 0});
	assert_int_equal(seen.edges, 3);
	assert_int_equal(seen.edge[0].from_exe, 0);
	assert_int_equal(seen.edge[0].from_off, 0);
	assert_int_equal(seen.edge[1].to_exe, 0);
	assert_int_equal(seen.edge[2].from_exe, 0);
	assert_int_equal(seen.ranges, 1);
	assert_range(0, 0x20, 0x50);
	assert_int_equal(seen.tally[HALO_STAT_TO_KERNEL], 2);
	assert_int_equal(seen.tally[HALO_STAT_ELSEWHERE], 2);
}

static void test_open_call(void **state)
{
	(void)state;
	/* g called h, which returned; g was called by f. */
	assert_int_equal(WALK(ALL, {0x205, 0x204, 0}, {0x310, 0x203, TYPE(HALO_BRANCH_RET)},
			      {0x202, 0x300, TYPE(HALO_BRANCH_CALL)},
			      {0x110, 0x200, TYPE(HALO_BRANCH_IND_CALL)},
			      {0x020, 0x100, TYPE(HALO_BRANCH_CALL)})
				 .open_call,
			 EXE | 0x110);
	/* More returns than calls: none is open. */
	assert_int_equal(WALK(ALL, {0x310, 0x203, TYPE(HALO_BRANCH_RET)},
			      {0x410, 0x303, TYPE(HALO_BRANCH_COND_RET)},
			      {0x302, 0x400, TYPE(HALO_BRANCH_CALL)})
				 .open_call,
			 0);
	/* Of unknown type. */
	assert_int_equal(WALK(ALL, {0x110, 0x200, 0}, {0x110, 0x200, 0}).open_call, 0);
}

/*
 * oggenc: the walk said that _vp_tonemask called seed_curve, since the sample was taken in the middle of
 * a stack adjustment; the branches said seed_loop. The functions are those of the report.
 */
enum {
	MAIN = 0x1000,
	OE_ENCODE = 0x2000,
	ANALYSIS = 0x3000,
	MAPPING0 = 0x4000,
	TONEMASK = 0x5000,
	SEED_LOOP = 0x6000,
	SEED_CURVE = 0x7000,
	FUNCTION_SIZE = 0x1000
};

static uint64_t function_of(uint64_t frame)
{
	return ((frame & HALO_OFF_MASK) - 1) / FUNCTION_SIZE * FUNCTION_SIZE;
}

static struct halo_branch_walk oggenc(void)
{
	struct halo_branch b[10];

	for (int i = 0; i < 10; i++) {
		b[i] = (struct halo_branch){SEED_LOOP + 0x40, SEED_CURVE, TYPE(HALO_BRANCH_CALL)};
		if (i % 2)
			b[i] = (struct halo_branch){SEED_CURVE + 0x80, SEED_LOOP + 0x45,
						    TYPE(HALO_BRANCH_RET)};
	}
	return walk(b, 10, ALL);
}

static void test_oggenc(void **state)
{
	static const uint64_t path[] = {SEED_CURVE, SEED_LOOP, TONEMASK, MAPPING0,
					ANALYSIS,   OE_ENCODE, MAIN};
	struct halo_ctx_key key = {
		.exe_id = 7,
		.quality = HALO_CTX_FP,
		.nr = 6,
		.frame = {EXE | (SEED_CURVE + 1), EXE | (TONEMASK + 0x99), EXE | (MAPPING0 + 0x99),
			  EXE | (ANALYSIS + 0x99), EXE | (OE_ENCODE + 0x99), EXE | (MAIN + 0x99)},
	};
	struct halo_branch_walk w = oggenc();

	(void)state;
	assert_int_equal(seen.edges, 10);
	/* The report has calls and returns alone: seed_loop's own branch back is missing. */
	assert_int_equal(seen.ranges, 4);
	assert_int_equal(seen.tally[HALO_STAT_RANGE_BAD], 5);
	assert_int_equal(w.open_call, EXE | (SEED_LOOP + 0x40));
	assert_int_equal(caller__check(&key, w.open_call), HALO_CALLER_MENDED);
	assert_int_equal(key.nr, 7);
	assert_int_equal(key.quality, HALO_CTX_MENDED);
	/* The samples are under seed_loop, which is under _vp_tonemask: a path, no knot. */
	for (int i = 0; i < key.nr; i++)
		assert_int_equal(function_of(key.frame[i]), path[i]);
	/* A walk that found seed_loop is left alone. */
	key.frame[1] = EXE | (SEED_LOOP + 0x45);
	key.quality = HALO_CTX_FP;
	assert_int_equal(caller__check(&key, w.open_call), HALO_CALLER_AGREES);
	assert_int_equal(key.nr, 7);
	assert_int_equal(key.quality, HALO_CTX_FP);
}

static void test_callers(void **state)
{
	struct halo_ctx_key key = {.exe_id = 7, .quality = HALO_CTX_LEAF, .nr = 1};

	(void)state;
	key.frame[0] = EXE | 0x100;
	assert_int_equal(caller__check(&key, 0), HALO_CALLER_UNKNOWN);
	/* None was found: the stack goes on behind the one that is put in. */
	assert_int_equal(caller__check(&key, EXE | 0x50), HALO_CALLER_MENDED);
	assert_int_equal(key.nr, 2);
	assert_int_equal(key.end, HALO_END_NO_RULE);
	assert_int_equal(function_of(key.frame[1]), function_of(EXE | 0x51));
	/* A full one loses its outermost frame. */
	key = (struct halo_ctx_key){.quality = HALO_CTX_FP, .nr = HALO_MAX_FRAMES};
	for (int i = 0; i < HALO_MAX_FRAMES; i++)
		key.frame[i] = EXE | (0x1000 * (i + 1));
	assert_int_equal(caller__check(&key, EXE | 0x50), HALO_CALLER_MENDED);
	assert_int_equal(key.nr, HALO_MAX_FRAMES);
	assert_int_equal(key.end, HALO_END_DEPTH);
	assert_int_equal(key.frame[HALO_MAX_FRAMES - 1], EXE | (0x1000 * (HALO_MAX_FRAMES - 1)));
	/* Callers found by better means are not touched. */
	key.quality = 9;
	assert_int_equal(caller__check(&key, EXE | 0x700), HALO_CALLER_WRONG);
	assert_int_equal(key.quality, 9);
	/* Just behind the longest call, and one byte further. */
	key.frame[1] = EXE | (0x50 + 15);
	assert_int_equal(caller__check(&key, EXE | 0x50), HALO_CALLER_AGREES);
	key.frame[1] = EXE | (0x50 + 16);
	assert_int_equal(caller__check(&key, EXE | 0x50), HALO_CALLER_WRONG);
	/* A caller in no known file can't be compared. */
	key.frame[1] = 0;
	assert_int_equal(caller__check(&key, EXE | 0x50), HALO_CALLER_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_edges_and_ranges), cmocka_unit_test(test_wrong_path),
		cmocka_unit_test(test_told_twice),	 cmocka_unit_test(test_kernel_and_outside),
		cmocka_unit_test(test_open_call),	 cmocka_unit_test(test_oggenc),
		cmocka_unit_test(test_callers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
