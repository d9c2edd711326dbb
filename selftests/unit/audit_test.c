// SPDX-License-Identifier: BSD-2-Clause
/* The audit against simulated programs whose true speed-up is known. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <daemon/audit_stats.h>

#include "audit_program.h"

/* Everything that a loaded machine does to a program, at once. */
static const struct program noisy = {
	.call_ns = 200e3,
	.batch = 200,
	.speedup = 1.0,
	.noise = 0.05,
	.memory = 0.98,
	.tail = 1.0 / 300,
	.drift = 0.1,
	.idle = 0.2,
	.lateness_ns = 100e3,
};

/* One-microsecond entries, all alike but for noise of five per cent from block to block. */
static const struct program plain = {
	.call_ns = 100e3,
	.batch = 100,
	.speedup = 1.0,
	.noise = 0.05,
	.memory = 0.98,
};

struct tally {
	unsigned int verdicts[HALO_AUDIT_FAILED + 1];
	unsigned int most_pairs;
	unsigned long pairs;
};

/* Audit @runs programs that differ in their seeds only. */
static struct tally audit_many(const struct program *like, const struct halo_audit_opts *opts,
			       unsigned int runs)
{
	struct tally tally = {0};

	for (unsigned int i = 0; i < runs; i++) {
		struct halo_audit_opts o = *opts;
		struct program p = *like;
		struct halo_audit_result r;

		p.seed = 1000003ULL * i + 17;
		o.seed = i + 1;
		r = program__audit(&p, &o);
		tally.verdicts[r.verdict]++;
		tally.pairs += r.pairs;
		if (r.pairs > tally.most_pairs)
			tally.most_pairs = r.pairs;
	}
	return tally;
}

static void no_difference_is_seldom_adopted(void **state)
{
	/* So small an effect is asked for that only the sequential test stands in the way. */
	struct halo_audit_opts opts = {.alpha = 0.05, .min_effect = 1e-9, .max_pairs = 120};
	struct tally t = audit_many(&noisy, &opts, 1000);

	(void)state;
	print_message("no difference, 5 %% test alone: %u better, %u worse of 1000\n",
		      t.verdicts[HALO_AUDIT_BETTER], t.verdicts[HALO_AUDIT_WORSE]);
	/* 50 are expected at most; 65 is more than two standard deviations above. */
	assert_in_range(t.verdicts[HALO_AUDIT_BETTER], 0, 65);
	assert_in_range(t.verdicts[HALO_AUDIT_WORSE], 0, 65);
}

static void defaults_hardly_ever_adopt_no_difference(void **state)
{
	struct halo_audit_opts opts = {.max_pairs = 200};
	struct tally t = audit_many(&noisy, &opts, 300);

	(void)state;
	print_message("no difference, defaults: %u better of 300\n", t.verdicts[HALO_AUDIT_BETTER]);
	assert_in_range(t.verdicts[HALO_AUDIT_BETTER], 0, 6);
}

/* A fixed order of the arms would find a difference here every time. */
static void steep_drift_is_no_difference(void **state)
{
	struct halo_audit_opts opts = {.max_pairs = 100};
	struct program p = plain;
	struct tally t;

	(void)state;
	p.noise = 0.01;
	p.drift = 5.0;
	t = audit_many(&p, &opts, 200);
	assert_in_range(t.verdicts[HALO_AUDIT_BETTER], 0, 5);
	assert_in_range(t.verdicts[HALO_AUDIT_WORSE], 0, 5);
}

static void three_per_cent_are_found(void **state)
{
	struct halo_audit_opts opts = {0};
	struct program p = plain;
	struct tally t;

	(void)state;
	p.speedup = 1.03;
	t = audit_many(&p, &opts, 60);
	print_message("3 %% gain: %u better of 60, %.0f pairs on average, %u at most\n",
		      t.verdicts[HALO_AUDIT_BETTER], (double)t.pairs / 60, t.most_pairs);
	assert_in_range(t.verdicts[HALO_AUDIT_BETTER], 58, 60);
	assert_int_equal(t.verdicts[HALO_AUDIT_WORSE], 0);
}

static void twice_as_fast_is_found_at_once(void **state)
{
	struct halo_audit_opts opts = {0};
	struct program p = noisy;
	struct tally t;

	(void)state;
	p.speedup = 2.0;
	t = audit_many(&p, &opts, 60);
	print_message("twice as fast: %u better of 60, %.1f pairs on average, %u at most\n",
		      t.verdicts[HALO_AUDIT_BETTER], (double)t.pairs / 60, t.most_pairs);
	assert_int_equal(t.verdicts[HALO_AUDIT_BETTER], 60);
	assert_in_range(t.pairs, 0, 60 * 20);
}

static void worse_is_never_adopted(void **state)
{
	struct halo_audit_opts opts = {0};
	struct program p = plain;
	struct tally t;

	(void)state;
	p.speedup = 0.9;
	t = audit_many(&p, &opts, 60);
	assert_int_equal(t.verdicts[HALO_AUDIT_WORSE], 60);
	p.speedup = 0.98;
	t = audit_many(&p, &opts, 60);
	assert_int_equal(t.verdicts[HALO_AUDIT_BETTER], 0);
}

static void gains_too_small_to_keep_are_not_adopted(void **state)
{
	struct halo_audit_opts opts = {0};
	struct program p = plain;
	struct tally t;

	(void)state;
	p.speedup = 1.004;
	p.noise = 0.005;
	p.call_ns = 10e3;
	p.batch = 10;
	t = audit_many(&p, &opts, 30);
	/* The gain is true, so an estimate above the least gain, once in a while, is no error. */
	assert_in_range(t.verdicts[HALO_AUDIT_NO_DIFFERENCE], 28, 30);
	assert_int_equal(t.verdicts[HALO_AUDIT_WORSE], 0);
	assert_in_range(t.most_pairs, 0, 100);

	opts.min_effect = 0.05;
	p = plain;
	p.speedup = 1.03;
	t = audit_many(&p, &opts, 60);
	assert_in_range(t.verdicts[HALO_AUDIT_BETTER], 0, 6);
}

/* Speed-up measured where a call takes @call_ns and is under way at most switches. */
static struct halo_audit_result audit_long_calls(double call_ns, double speedup)
{
	struct halo_audit_opts opts = {.seed = 7, .min_pairs = 60, .max_pairs = 60};
	struct program p = plain;

	p.seed = 11;
	p.batch = 1;
	p.call_ns = call_ns;
	p.speedup = speedup;
	p.noise = 0.02;
	p.memory = 0;
	return program__audit(&p, &opts);
}

static void long_calls_are_measured_without_bias(void **state)
{
	static const double calls[] = {0.3e6, 3e6, 9.9e6, 10.1e6, 37e6, 100e6};
	static const double speedups[] = {1.0, 1.05, 1.25, 3.0, 0.8};

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		for (size_t j = 0; j < sizeof(speedups) / sizeof(speedups[0]); j++) {
			struct halo_audit_result r = audit_long_calls(calls[i], speedups[j]);

			assert_int_not_equal(r.verdict, HALO_AUDIT_NO_ENTRIES);
			assert_true(fabs(r.speedup / speedups[j] - 1) < 0.015);
			assert_true(fabs(r.ns_per_entry[0] / calls[i] - 1) < 0.015);
			assert_true(fabs(r.ns_per_entry[1] * speedups[j] / calls[i] - 1) < 0.015);
		}
	}
}

/* An interval that holds the truth less often than it says would be a number from nowhere. */
static void interval_holds_the_truth(void **state)
{
	unsigned int held = 0, runs = 300;

	(void)state;
	for (unsigned int i = 0; i < runs; i++) {
		struct halo_audit_opts opts = {.seed = i + 1, .min_pairs = 40, .max_pairs = 40};
		struct program p = plain;
		struct halo_audit_result r;

		p.seed = i + 1;
		p.speedup = 1.2;
		r = program__audit(&p, &opts);
		assert_true(r.low <= r.speedup && r.speedup <= r.high);
		held += r.low <= 1.2 && 1.2 <= r.high;
	}
	print_message("95 %% interval held the truth %u times of %u\n", held, runs);
	assert_in_range(held, 276, runs);
}

static void late_wakeups_do_no_harm(void **state)
{
	struct halo_audit_opts opts = {0};
	struct program p = plain;
	struct tally t;

	(void)state;
	p.speedup = 1.03;
	p.noise = 0.02;
	p.lateness_ns = 4e6;
	t = audit_many(&p, &opts, 40);
	assert_int_equal(t.verdicts[HALO_AUDIT_BETTER], 40);
}

static void clock_error_fails_the_audit(void **state)
{
	struct halo_audit_opts opts = {.seed = 1};
	struct program p = plain;
	struct halo_audit_result r;

	(void)state;
	p.broken_from = 50 * MS;
	r = program__audit(&p, &opts);
	assert_int_equal(r.verdict, HALO_AUDIT_FAILED);
	assert_non_null(strstr(r.reason, "No such process"));
}

/* A busy machine's other programs do not make it one that is never entered. */
static void starved_programs_are_waited_for(void **state)
{
	struct halo_audit_opts opts = {.seed = 1};
	struct program p = plain;
	struct halo_audit_result r;

	(void)state;
	p.call_ns = 5000 * MS;
	p.share = 0.1;
	r = program__audit(&p, &opts);
	assert_int_equal(r.verdict, HALO_AUDIT_NO_DIFFERENCE);
	assert_true(r.pairs > 0);
}

static void no_entries_end_the_audit(void **state)
{
	struct halo_audit_opts opts = {.seed = 1};
	struct program never = plain, no_longer = plain, slow = plain;
	struct halo_audit_result r;

	(void)state;
	never.last_call = 1;
	never.busy_until = 1000000 * MS;
	r = program__audit(&never, &opts);
	assert_int_equal(r.verdict, HALO_AUDIT_NO_ENTRIES);
	assert_int_equal(r.pairs, 0);
	assert_true(r.speedup == 0 && r.low == 0 && r.high == 0);
	assert_in_range(never.now, 3000 * MS, 3010 * MS);

	no_longer.last_call = 100 * MS;
	r = program__audit(&no_longer, &opts);
	assert_int_equal(r.verdict, HALO_AUDIT_NO_ENTRIES);
	assert_in_range(no_longer.now, 3100 * MS, 3130 * MS);

	/* A program may be slow to come back, and a window wait for more than one entry. */
	slow.batch = 1;
	slow.call_ns = 400e6;
	opts = (struct halo_audit_opts){.seed = 1,
					.min_entries = 3,
					.min_pairs = 6,
					.max_pairs = 6,
					.entry_timeout_ns = 600 * MS};
	slow.noise = 0;
	r = program__audit(&slow, &opts);
	assert_int_equal(r.verdict, HALO_AUDIT_NO_DIFFERENCE);
	assert_int_equal(r.pairs, 6);
	assert_in_range(slow.now, 6 * 2 * 3 * 400 * MS, 7 * 2 * 3 * 400 * MS);
}

static void windows_without_time_are_discarded(void **state)
{
	struct halo_audit_opts opts = {.seed = 1, .max_ns = 2000 * MS};
	struct program p = plain;
	struct halo_audit_result r;

	(void)state;
	p.stopped_clock = true;
	r = program__audit(&p, &opts);
	assert_int_equal(r.verdict, HALO_AUDIT_NO_DIFFERENCE);
	assert_int_equal(r.pairs, 0);
	assert_in_range(p.now, 2000 * MS, 2020 * MS);
}

/* The counters are the program's to write: it may fool itself, but not the auditor's arithmetic. */
static void forged_counters_do_no_harm(void **state)
{
	struct halo_audit_opts once = {.seed = 1};
	struct program backwards = plain;

	(void)state;
	for (unsigned int i = 1; i <= 20; i++) {
		struct halo_audit_opts opts = {.seed = i, .max_ns = 1000 * MS};
		struct program p = plain;
		struct halo_audit_result r;

		p.seed = i;
		p.forges_counters = true;
		r = program__audit(&p, &opts);
		assert_true(isfinite(r.speedup) && isfinite(r.low) && isfinite(r.high));
		assert_true(r.reason[0] != '\0');
	}
	backwards.batch = -1;
	backwards.entries[0] = backwards.entries[1] = 1ULL << 40;
	assert_int_equal(program__audit(&backwards, &once).verdict, HALO_AUDIT_NO_ENTRIES);
}

static void same_seed_same_audit(void **state)
{
	struct halo_audit_opts opts = {.seed = 5, .min_pairs = 50, .max_pairs = 50};
	struct program a = noisy, b = noisy, c = noisy;
	struct halo_audit_result ra, rb;

	(void)state;
	a.seed = b.seed = c.seed = 3;
	ra = program__audit(&a, &opts);
	rb = program__audit(&b, &opts);
	assert_memory_equal(&ra, &rb, sizeof(ra));
	assert_true(a.order == b.order && a.now == b.now);
	opts.seed = 6;
	program__audit(&c, &opts);
	assert_true(a.order != c.order);
}

static void sleeps_between_edges(void **state)
{
	struct halo_audit_opts opts = {.seed = 5, .min_pairs = 100, .max_pairs = 100};
	struct program p = plain;

	(void)state;
	program__audit(&p, &opts);
	/* Per block: the switch, a look or two until the first entry. */
	assert_in_range(p.steps, 200, 3 * 201);
	assert_in_range(p.now, 2000 * MS, 2200 * MS);
}

/* Ranks computed from the binomial distribution in whole numbers. */
static void interval_is_by_order_statistics(void **state)
{
	static const struct {
		unsigned int n, low, high;
	} known[] = {{6, 1, 6}, {9, 2, 8}, {10, 2, 9}, {100, 40, 61}, {400, 180, 221}};
	struct halo_audit_stats s;
	double low, high;

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		assert_int_equal(halo_audit_stats__init(&s, known[i].n), 0);
		for (unsigned int v = known[i].n; v >= 1; v--) {
			assert_int_equal(halo_audit_stats__add(&s, v), 0);
			assert_int_equal(halo_audit_stats__interval(&s, &low, &high), s.pairs >= 6);
		}
		assert_true(low == known[i].low && high == known[i].high);
		assert_true(halo_audit_stats__median(&s) == (known[i].n + 1) / 2.0);
		assert_int_equal(halo_audit_stats__add(&s, 1), -ENOSPC);
		halo_audit_stats__free(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_difference_is_seldom_adopted),
		cmocka_unit_test(defaults_hardly_ever_adopt_no_difference),
		cmocka_unit_test(steep_drift_is_no_difference),
		cmocka_unit_test(three_per_cent_are_found),
		cmocka_unit_test(twice_as_fast_is_found_at_once),
		cmocka_unit_test(worse_is_never_adopted),
		cmocka_unit_test(gains_too_small_to_keep_are_not_adopted),
		cmocka_unit_test(long_calls_are_measured_without_bias),
		cmocka_unit_test(interval_holds_the_truth),
		cmocka_unit_test(late_wakeups_do_no_harm),
		cmocka_unit_test(clock_error_fails_the_audit),
		cmocka_unit_test(starved_programs_are_waited_for),
		cmocka_unit_test(no_entries_end_the_audit),
		cmocka_unit_test(windows_without_time_are_discarded),
		cmocka_unit_test(forged_counters_do_no_harm),
		cmocka_unit_test(same_seed_same_audit),
		cmocka_unit_test(sleeps_between_edges),
		cmocka_unit_test(interval_is_by_order_statistics),
	};

	return cmocka_run_group_tests_name("audit", tests, NULL, NULL);
}
