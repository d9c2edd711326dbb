// SPDX-License-Identifier: BSD-2-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/internal.h"

static void assert_freezes(const char *release, bool expected)
{
	char why[256] = "";

	if (halo_denylist__nmi_reads_freeze(release, why, sizeof(why)) != expected)
		fail_msg("%s: expected %s", release, expected ? "to freeze" : "not to freeze");
	assert_int_equal(why[0] && strstr(why, release), expected);
}

static void test_bad_ranges(void **state)
{
	(void)state;
	assert_freezes("5.19.0", true);
	assert_freezes("5.19.17-200.fc36.x86_64", true);
	assert_freezes("6.0.12", true);
	assert_freezes("6.1.0", true);
	assert_freezes("6.1.35", true);
	assert_freezes("6.2.16", true);
	assert_freezes("6.3.9", true);
}

static void test_good_ones(void **state)
{
	(void)state;
	assert_freezes("5.10.223", false);
	assert_freezes("5.15.0-100-generic", false);
	assert_freezes("5.18.19", false);
	assert_freezes("6.1.36", false);
	assert_freezes("6.1.192-3 (2026-11-02)", false);
	assert_freezes("6.3.10", false);
	assert_freezes("6.4.0", false);
	assert_freezes("6.18.44", false);
	assert_freezes("7.3.4", false);
}

static void test_nonsense(void **state)
{
	(void)state;
	assert_freezes("", false);
	assert_freezes("six", false);
	assert_freezes("99999999999999.1", false);
}

/* The stable version that a distribution's kernel is based on, wherever it tells it. */
static void test_distributions(void **state)
{
	static const struct {
		const char *release, *version, *signature;
		bool freezes;
	} rows[] = {
		{"6.1.0-57-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.192-3 (2026-11-02)", "",
		 false},
		{"6.1.0-9-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.27-1 (2023-05-08)", "", true},
		{"6.2.0-26-generic", "#26~22.04.1-Ubuntu SMP PREEMPT_DYNAMIC Thu Jul 13 2023",
		 "Ubuntu 6.2.0-26.26~22.04.1-generic 6.2.13", true},
		{"6.5.0-15-generic", "#15~22.04.1-Ubuntu SMP PREEMPT_DYNAMIC",
		 "Ubuntu 6.5.0-15.15~22.04.1-generic 6.5.3", false},
		{"5.15.0-91-generic", "#101-Ubuntu SMP", "Ubuntu 5.15.0-91.101-generic 5.15.131",
		 false},
		{"6.1.25-37.47.amzn2023.x86_64", "#1 SMP PREEMPT_DYNAMIC", NULL, true},
		{"6.1.119-129.201.amzn2023.x86_64", "#1 SMP PREEMPT_DYNAMIC", NULL, false},
		{"6.2.9-300.fc38.x86_64", "#1 SMP PREEMPT_DYNAMIC", NULL, true},
		{"5.14.0-427.el9.x86_64", "#1 SMP PREEMPT_DYNAMIC", NULL, false},
		{"6.3.9-arch1-1", "#1 SMP PREEMPT_DYNAMIC", NULL, true},
		{"6.3.10-arch1-1", "#1 SMP PREEMPT_DYNAMIC", NULL, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_freezes(halo_denylist__upstream(rows[i].release, rows[i].version,
						       rows[i].signature),
			       rows[i].freezes);
}

static void test_features_table(void **state)
{
	(void)state;
	assert_true(halo_features_count > 0);
	for (size_t i = 0; i < halo_features_count; i++) {
		char detail[256] = "";
		int there = halo_features[i].probe(detail, sizeof(detail));

		assert_in_range(there, 0, 1);
		/* Who is told that something is missing is told why. */
		if (!there && !detail[0])
			fail_msg("%s: no reason", halo_features[i].name);
		assert_true(halo_features[i].without[0] && halo_features[i].remedy[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_ranges),     cmocka_unit_test(test_good_ones),
		cmocka_unit_test(test_nonsense),       cmocka_unit_test(test_distributions),
		cmocka_unit_test(test_features_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
