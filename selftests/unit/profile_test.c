// SPDX-License-Identifier: BSD-2-Clause
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "daemon/loop.h"
#include "daemon/tuning.h"

#define NEAR(a, b) assert_true(fabs((a) - (double)(b)) < 1e-6 * (1 + (double)(b)))

struct sum {
	double own, variant;
	size_t n;
	uint64_t last;
};

static void add_up(void *ctx, uint64_t vaddr, double own, double variant)
{
	struct sum *sum = ctx;

	sum->own += own;
	sum->variant += variant;
	sum->last = vaddr;
	sum->n++;
}

static struct sum sum_of(const struct halo_profile *p)
{
	struct sum sum = {0};

	halo_profile__each(p, add_up, &sum);
	return sum;
}

static void test_counts(void **state)
{
	struct halo_profile *p = halo_profile__new();
	struct sum sum;

	(void)state;
	assert_non_null(p);
	assert_true(halo_profile__add(p, 0x1000, 3, false));
	assert_true(halo_profile__add(p, 0x1000, 4, true));
	halo_profile__add_outside(p, 3);
	sum = sum_of(p);
	assert_int_equal(sum.n, 1);
	assert_int_equal(sum.last, 0x1000);
	NEAR(sum.own, 3);
	NEAR(sum.variant, 4);
	NEAR(halo_profile__inside(p), 7);
	NEAR(halo_profile__total(p), 10);
	halo_profile__free(p);
}

static void test_half_life(void **state)
{
	const uint64_t start = 1000 * HALO_SEC;
	const uint64_t half = HALO_PROFILE_HALF_LIFE_S * HALO_SEC;
	struct halo_profile *p = halo_profile__new();

	(void)state;
	halo_profile__decay(p, start);
	halo_profile__add(p, 1, 100, false);
	halo_profile__add_outside(p, 100);
	halo_profile__decay(p, start + half);
	NEAR(halo_profile__total(p), 100);
	NEAR(halo_profile__inside(p), 50);
	NEAR(sum_of(p).own, 50);
	/* In however many steps. */
	for (int i = 1; i <= 10; i++)
		halo_profile__decay(p, start + half + half * i / 10);
	NEAR(halo_profile__total(p), 50);
	/* A clock that goes back is none. */
	halo_profile__decay(p, start);
	NEAR(halo_profile__total(p), 50);
	halo_profile__free(p);
}

static void test_forgets(void **state)
{
	struct halo_profile *p = halo_profile__new();
	uint64_t now = HALO_SEC;

	(void)state;
	halo_profile__decay(p, now);
	for (uint64_t a = 0; a < 10000; a++)
		assert_true(halo_profile__add(p, a * 16, 1, false));
	assert_int_equal(sum_of(p).n, 10000);
	halo_profile__decay(p, now + 100 * HALO_SEC);
	assert_int_equal(sum_of(p).n, 0);
	assert_true(halo_profile__add(p, 7, 1, false));
	assert_int_equal(sum_of(p).last, 7);
	halo_profile__free(p);
}

static void test_bounded(void **state)
{
	struct halo_profile *p = halo_profile__new();
	uint64_t taken = 0;

	(void)state;
	for (uint64_t a = 0; a < 4 * HALO_PROFILE_MAX; a++)
		taken += halo_profile__add(p, a, 1, false);
	assert_in_range(taken, HALO_PROFILE_MAX, 2 * HALO_PROFILE_MAX);
	assert_int_equal(halo_profile__dropped(p), 4 * HALO_PROFILE_MAX - taken);
	/* What is known already still counts. */
	assert_true(halo_profile__add(p, 0, 1, false));
	halo_profile__free(p);
}

/* Addresses in images go back to their source functions. */
static void test_variant_map(void **state)
{
	const struct halo_func root = {.name = "root", .addr = 0x1000};
	const struct halo_func leaf = {.name = "leaf", .addr = 0x2000};
	struct halo_variant_func funcs[] = {
		{&root, -0x3fff0000, 0x40},
		{&leaf, -0x3ffeff00, 0x20},
		{NULL, -0x3ffefe00, 0x20},
	};
	struct halo_program *p = calloc(1, sizeof(*p));

	(void)state;
	assert_non_null(p);
	p->n_variants = 1;
	p->variants[0] = (struct halo_variant){
		.place = -0x3fff0000, .size = 0x1000, .root = &root, .funcs = funcs, .n_funcs = 3};

	assert_null(halo_variant__at(p, -0x3fff0001));
	assert_null(halo_variant__at(p, -0x3ffef000));
	assert_null(halo_variant__at(p, INT64_MIN));
	assert_null(halo_variant__at(p, INT64_MAX));
	assert_ptr_equal(halo_variant__at(p, -0x3fff0000), &p->variants[0]);
	assert_ptr_equal(halo_variant__func(&p->variants[0], -0x3fff0000), &root);
	assert_ptr_equal(halo_variant__func(&p->variants[0], -0x3ffeff00 + 0x1f), &leaf);
	/* Between functions, and in one that the program has no copy of: the root's. */
	assert_ptr_equal(halo_variant__func(&p->variants[0], -0x3ffeff00 + 0x20), &root);
	assert_ptr_equal(halo_variant__func(&p->variants[0], -0x3ffefe00), &root);
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),	    cmocka_unit_test(test_half_life),
		cmocka_unit_test(test_forgets),	    cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_variant_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
