// SPDX-License-Identifier: BSD-2-Clause
/* Ranges that can be true, and those that can't. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "branches/check.h"
#include "lib/tally.h"

#define BASE 0x1000

static const uint8_t code[] = {
	0x55,			      /* 0: push %rbp */
	0x85, 0xff,		      /* 1: test %edi,%edi */
	0x74, 0x05,		      /* 3: je 10 */
	0xe8, 0x00, 0x00, 0x00, 0x00, /* 5: call */
	0x5d,			      /* 10: pop %rbp */
	0xc3,			      /* 11: ret */
	0x90,			      /* 12: nop, of the next function */
	0xeb, 0x00,		      /* 13: jmp 15 */
	0x0f, 0x0b,		      /* 15: ud2 */
	0x06,			      /* 17: no instruction */
	0xc3,			      /* 18: ret */
};

static const uint8_t *bytes(void *ctx, uint64_t vaddr, size_t *size)
{
	(void)ctx;
	if (vaddr < BASE || vaddr >= BASE + sizeof(code))
		return NULL;
	*size = BASE + sizeof(code) - vaddr;
	return code + (vaddr - BASE);
}

/* [0, 12), [12, 19) where @ctx is set. */
static bool function(void *ctx, uint64_t vaddr, uint64_t *begin, uint64_t *end)
{
	*begin = vaddr < BASE + 12 ? BASE : BASE + 12;
	*end = vaddr < BASE + 12 ? BASE + 12 : BASE + 19;
	return ctx;
}

static enum halo_check check(bool functions, unsigned int begin, unsigned int end)
{
	const struct halo_code c = {functions ? (void *)code : NULL, bytes, function};

	return halo_range__check(&c, BASE + begin, BASE + end);
}

static void test_ranges(void **state)
{
	(void)state;
	assert_int_equal(check(true, 0, 3), HALO_RANGE_GOOD);
	/* Over a conditional jump and a call, which come back. */
	assert_int_equal(check(true, 0, 11), HALO_RANGE_GOOD);
	assert_int_equal(check(true, 11, 11), HALO_RANGE_GOOD);
	assert_int_equal(check(true, 0, 2), HALO_CHECK_NOT_CODE);
	assert_int_equal(check(true, 1, 13), HALO_CHECK_CROSS_FUNCTION);
	assert_int_equal(check(false, 1, 13), HALO_CHECK_CROSS_JUMP);
	assert_int_equal(check(true, 12, 15), HALO_CHECK_CROSS_JUMP);
	assert_int_equal(check(true, 15, 17), HALO_CHECK_CROSS_JUMP);
	assert_int_equal(check(true, 17, 18), HALO_CHECK_NOT_CODE);
	assert_int_equal(check(false, 3, 1), HALO_CHECK_UNCHECKED);
	assert_int_equal(check(false, 0, 100), HALO_CHECK_NOT_CODE);
	assert_int_equal(check(false, 50, 60), HALO_CHECK_UNCHECKED);
}

static void test_tally(void **state)
{
	struct halo_tally *t = halo_tally__new(sizeof(uint64_t[2]), 5000);
	uint64_t count, second, sum = 0;

	(void)state;
	for (int round = 0; round < 3; round++)
		for (uint64_t i = 0; i < 6000; i++)
			halo_tally__add(t, (uint64_t[]){i, i << 40}, 1, 2);
	assert_int_equal(halo_tally__size(t), 5000);
	assert_int_equal(halo_tally__dropped(t), 3000);
	for (size_t i = 0; i < 5000; i++) {
		const uint64_t *key = halo_tally__at(t, i, &count, &second);

		assert_int_equal(key[0], i);
		assert_int_equal(count, 3);
		assert_int_equal(second, 6);
		assert_int_equal(halo_tally__find(t, key), i);
		sum += count;
	}
	assert_int_equal(sum, 15000);
	halo_tally__free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_tally),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
