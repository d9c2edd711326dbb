/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/rseq.h>

#include "attach_program.h"

#define THREADS 8
#define CALLS	200000
#define ARM	3

/* Emitted code runs here: slot pages, code and counters as far apart as in a program. */
struct place {
	uint8_t *base;
	uint64_t *slots; /* data pages */
	uint8_t *code;
	uint8_t *counters;
};

#define CODE_DISTANCE (1UL << 30)

static void make_place(struct place *p)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

	p->base = mmap(NULL, CODE_DISTANCE + HALO_PAGE, PROT_READ | PROT_WRITE, flags, -1, 0);
	assert_ptr_not_equal(p->base, MAP_FAILED);
	p->code = p->base;
	p->slots = (uint64_t *)(p->base + CODE_DISTANCE);
	p->counters = mmap(NULL, HALO_COUNTERS_SIZE, PROT_READ | PROT_WRITE, flags, -1, 0);
	assert_ptr_not_equal(p->counters, MAP_FAILED);
	p->slots[HALO_DATA_ARM0 + ARM] = (uint64_t)p->counters + ARM * HALO_ARM_SIZE;
}

static void drop_place(struct place *p)
{
	munmap(p->base, CODE_DISTANCE + HALO_PAGE);
	munmap(p->counters, HALO_COUNTERS_SIZE);
}

static uint64_t total(const struct place *p, unsigned int from, unsigned int to)
{
	uint64_t sum = 0;
	size_t i;

	for (i = from; i < to; i++)
		sum += *(uint64_t *)(p->counters + i * HALO_ARM_SIZE / HALO_ARM_CPUS);
	return sum;
}

static uint64_t counted(const struct place *p)
{
	return total(p, ARM * HALO_ARM_CPUS, (ARM + 1) * HALO_ARM_CPUS);
}

/* Code that is jumped to lies at offset 128 of the page. */
static void emit(struct place *p, int64_t rseq, const uint8_t *target, size_t len)
{
	int n = halo_count_entry__emit(p->code, (int64_t)p->code, (int64_t)p->code + 128,
				       (uint64_t)p->slots, ARM, rseq);

	assert_true(n > 0 && n <= HALO_COUNT_ENTRY_SIZE);
	memcpy(p->code + 128, target, len);
	assert_int_equal(mprotect(p->code, HALO_PAGE, PROT_READ | PROT_EXEC), 0);
}

struct registers {
	uint64_t general[15]; /* rax rbx rcx rdx rsi rdi rbp r8 r9 r10 r12 r13 r14 r15 rsp */
	uint8_t xmm[16][16];
};

static const struct registers *given __attribute__((used));
static struct registers taken __attribute__((used));
static void (*entry)(void) __attribute__((used));

/* Load all registers, call the entry; what is behind it (a ret) changes nothing; store them all. */
void call_with_registers(void);
__asm__(".text\n"
	"call_with_registers:\n"
	"	push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
	"	mov given(%rip), %r11\n"
	"	mov %rsp, saved_rsp(%rip)\n"
	".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
	"	movups 120 + \\n * 16(%r11), %xmm\\n\n"
	".endr\n"
	"	mov 0(%r11), %rax; mov 8(%r11), %rbx; mov 16(%r11), %rcx; mov 24(%r11), %rdx\n"
	"	mov 32(%r11), %rsi; mov 40(%r11), %rdi; mov 48(%r11), %rbp; mov 56(%r11), %r8\n"
	"	mov 64(%r11), %r9; mov 72(%r11), %r10; mov 80(%r11), %r12; mov 88(%r11), %r13\n"
	"	mov 96(%r11), %r14; mov 104(%r11), %r15\n"
	"	call *entry(%rip)\n"
	"	lea taken(%rip), %r11\n"
	"	mov %rax, 0(%r11); mov %rbx, 8(%r11); mov %rcx, 16(%r11); mov %rdx, 24(%r11)\n"
	"	mov %rsi, 32(%r11); mov %rdi, 40(%r11); mov %rbp, 48(%r11); mov %r8, 56(%r11)\n"
	"	mov %r9, 64(%r11); mov %r10, 72(%r11); mov %r12, 80(%r11); mov %r13, 88(%r11)\n"
	"	mov %r14, 96(%r11); mov %r15, 104(%r11)\n"
	"	sub saved_rsp(%rip), %rsp; mov %rsp, 112(%r11); add saved_rsp(%rip), %rsp\n"
	".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
	"	movups %xmm\\n, 120 + \\n * 16(%r11)\n"
	".endr\n"
	"	pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
	"	ret\n"
	"	.local saved_rsp\n"
	"	.comm saved_rsp, 8, 8\n");

static void check_registers(int64_t rseq)
{
	static const uint8_t ret[] = {0xc3};
	struct registers values;
	struct place p;
	size_t i;

	make_place(&p);
	emit(&p, rseq, ret, sizeof(ret));
	for (i = 0; i < sizeof(values); i++)
		((uint8_t *)&values)[i] = (uint8_t)(i * 7 + 1);
	values.general[14] = 0; /* rsp: the difference */
	given = &values;
	entry = (void (*)(void))p.code;
	call_with_registers();
	assert_memory_equal(&taken, &values, sizeof(values));
	assert_int_equal(counted(&p), 1);
	drop_place(&p);
}

static void test_registers_rseq(void **state)
{
	(void)state;
	if (!__rseq_size)
		skip();
	check_registers(__rseq_offset);
}

static void test_registers_no_rseq(void **state)
{
	(void)state;
	check_registers(0);
}

static long (*counted_call)(long);
static volatile long wrong;

static void *call_often(void *arg)
{
	long i;

	for (i = 0; i < CALLS; i++)
		if (counted_call(i) != 3 * i)
			wrong++;
	return arg;
}

static uint64_t count_threads(int64_t rseq)
{
	static const uint8_t triple[] = {0x48, 0x8d, 0x04, 0x7f, 0xc3};
	pthread_t thread[THREADS];
	struct place p;
	uint64_t n;
	int i;

	make_place(&p);
	emit(&p, rseq, triple, sizeof(triple));
	counted_call = (long (*)(long))p.code;
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, call_often, NULL), 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(wrong, 0);
	n = counted(&p);
	assert_int_equal(total(&p, 0, HALO_ARMS * HALO_ARM_CPUS), n);
	drop_place(&p);
	return n;
}

static void test_threads_no_rseq(void **state)
{
	(void)state;
	assert_int_equal(count_threads(0), THREADS * CALLS);
}

/* Without a lock, a move to another CPU between two instructions may lose one; hardly any do. */
static void test_threads_rseq(void **state)
{
	uint64_t n;

	(void)state;
	if (!__rseq_size)
		skip();
	n = count_threads(__rseq_offset);
	assert_true(n <= THREADS * CALLS);
	assert_true(n >= THREADS * CALLS - THREADS * CALLS / 1000);
}

static _Thread_local struct rseq unregistered __attribute__((aligned(32)));

/* A thread that is not registered has a CPU number below zero, which counts as some CPU. */
static void test_unregistered(void **state)
{
	static const uint8_t ret[] = {0xc3};
	int64_t offset = (char *)&unregistered - (char *)__builtin_thread_pointer();
	struct place p;

	(void)state;
	make_place(&p);
	emit(&p, offset, ret, sizeof(ret));
	unregistered.cpu_id = (uint32_t)RSEQ_CPU_ID_UNINITIALIZED;
	((void (*)(void))p.code)();
	unregistered.cpu_id = (uint32_t)RSEQ_CPU_ID_REGISTRATION_FAILED;
	((void (*)(void))p.code)();
	unregistered.cpu_id = 0x7fffffff;
	((void (*)(void))p.code)();
	assert_int_equal(counted(&p), 3);
	drop_place(&p);
}

static void test_ranges(void **state)
{
	uint8_t buf[HALO_COUNT_ENTRY_SIZE];
	const int64_t far = 1LL << 32;

	(void)state;
	assert_true(halo_count_entry__emit(buf, HALO_ARENA_PIC, 0x1000, 0x5000, 0, 0) > 0);
	assert_int_equal(halo_count_entry__emit(buf, far, 0x1000, (uint64_t)far, 0, 0), -ERANGE);
	assert_int_equal(halo_count_entry__emit(buf, far, far, 0x1000, 0, 0), -ERANGE);
	assert_int_equal(halo_count_entry__emit(buf, INT64_MAX, 0, 0, 0, 0), -ERANGE);
	assert_int_equal(halo_count_entry__emit(buf, 0, 0, UINT64_MAX, 0, 0), -ERANGE);
	assert_int_equal(halo_count_entry__emit(buf, 0, 0, 0, HALO_ARMS, 0), -EINVAL);
	assert_int_equal(halo_count_entry__emit(buf, 0, 0, 0, 0, far), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_registers_rseq),	cmocka_unit_test(test_registers_no_rseq),
		cmocka_unit_test(test_threads_no_rseq), cmocka_unit_test(test_threads_rseq),
		cmocka_unit_test(test_unregistered),	cmocka_unit_test(test_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
