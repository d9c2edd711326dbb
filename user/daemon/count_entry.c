/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "../lib/util.h"
#include "attach.h"

/* Assembles into a buffer that the caller knows to be big enough. */
struct code {
	uint8_t *buf;
	int len;
};

static void put(struct code *c, const void *bytes, int len)
{
	memcpy(c->buf + c->len, bytes, len);
	c->len += len;
}

static void put32(struct code *c, int32_t value)
{
	put(c, &value, sizeof(value));
}

#define PUT(c, ...) put(c, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static bool fits32(int64_t value)
{
	return value == (int32_t)value;
}

/* r11d = CPU number as struct rseq has it; (unsigned) -1 or -2 while it is not registered. */
static void put_cpu(struct code *c, int64_t rseq_offset)
{
	PUT(c, 0x64, 0x44, 0x8b, 0x1c, 0x25); /* mov %fs:disp32, %r11d */
	put32(c, (int32_t)rseq_offset + 4);   /* cpu_id */
}

/*
 * r11 = a number that differs between threads, mostly: a hash of the stack pointer. The thread
 * pointer would do as well, but a program without a libc has none, and reading %fs:0 would kill it.
 */
static void put_stack_hash(struct code *c)
{
	PUT(c, 0x4c, 0x69, 0xdc); /* imul $imm32, %rsp, %r11 */
	put32(c, 0x5bd1e995);
	PUT(c, 0x49, 0xc1, 0xeb, 0x30); /* shr $48, %r11 */
}

int halo_count_entry__emit(uint8_t *buf, int64_t at, int64_t target, uint64_t slots_begin,
			   unsigned int arm, int64_t rseq_offset)
{
	struct code c = {buf, 0};
	int64_t word, from;

	_Static_assert(HALO_ARM_STRIDE == 64, "the shift below");
	if (arm >= HALO_ARMS || !fits32(rseq_offset) || !fits32(rseq_offset + 4))
		return -EINVAL;
	PUT(&c, 0xf3, 0x0f, 0x1e, 0xfa); /* endbr64 */
	if (rseq_offset)
		put_cpu(&c, rseq_offset);
	else
		put_stack_hash(&c);
	PUT(&c, 0x41, 0x81, 0xe3); /* and $imm32, %r11d */
	put32(&c, HALO_ARM_CPUS - 1);
	PUT(&c, 0x41, 0xc1, 0xe3, 0x06); /* shl $6, %r11d */

	PUT(&c, 0x4c, 0x03, 0x1d); /* add disp32(%rip), %r11 */
	if (__builtin_add_overflow(slots_begin, 8 * (HALO_DATA_ARM0 + arm), &word) ||
	    __builtin_add_overflow(at, c.len + 4, &from) ||
	    __builtin_sub_overflow(word, from, &word) || !fits32(word))
		return -ERANGE;
	put32(&c, (int32_t)word);

	if (!rseq_offset)
		PUT(&c, 0xf0);	   /* lock */
	PUT(&c, 0x49, 0xff, 0x03); /* incq (%r11) */

	PUT(&c, 0xe9); /* jmp rel32 */
	if (__builtin_add_overflow(at, c.len + 4, &from) ||
	    __builtin_sub_overflow(target, from, &target) || !fits32(target))
		return -ERANGE;
	put32(&c, (int32_t)target);
	return c.len;
}
