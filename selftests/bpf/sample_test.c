// SPDX-License-Identifier: BSD-2-Clause
/* Samples: on the right function, of enrolled programs alone, none lost between generations. */
#include "fixture.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EXE_ID 7

static struct fixture f;
static struct exe exe;
static uint64_t inner_off, inner_size, outer_off, outer_size;

struct tally {
	uint64_t total, inner, called, other_exe, malformed;
};

static bool in(uint64_t frame, uint64_t off, uint64_t size)
{
	uint64_t at = frame & HALO_OFF_MASK;

	return frame >> HALO_OFF_BITS == EXE_ID && at >= off && at - off < size;
}

static void on_context(void *ctx, const struct halo_ctx_key *key, uint64_t count)
{
	struct tally *t = ctx;

	t->total += count;
	if (key->exe_id != EXE_ID)
		t->other_exe += count;
	if (!key->nr || key->nr > HALO_MAX_FRAMES || !key->end || !key->quality)
		t->malformed += count;
	if (!in(key->frame[0], inner_off, inner_size))
		return;
	t->inner += count;
	/* A return address is behind its call. */
	if (key->nr > 1 && in(key->frame[1] - 1, outer_off, outer_size))
		t->called += count;
}

static void drain(struct tally *t)
{
	int err = halo_kernel__drain(f.k, on_context, t);

	if (err)
		die("drain: %s", strerror(-err));
}

static void test_right_function(void)
{
	pid_t pid = start(exe.path, "spin", NULL);
	struct tally t = {0};

	check(fixture__wait(&f, HALO_EVENT_EXEC, pid, 0), "exec of an enrolled file is told");
	check(fixture__wait_samples(&f, 300), "an enrolled program is sampled");
	drain(&t);
	check(t.total >= 300 && t.inner * 10 >= t.total * 9,
	      "samples are at the file offsets of the function that runs (%lu of %lu)", t.inner,
	      t.total);
	check(t.called * 10 >= t.inner * 9, "the caller is found by frame pointers (%lu of %lu)",
	      t.called, t.inner);
	check(!t.other_exe && !t.malformed, "all contexts are of the enrolled file, well-formed");
	stop(pid);
}

/* Many generations while the program runs: every sample comes out once. */
static void test_sum(void)
{
	struct tally t = {0};
	uint64_t before, lost_before, samples, lost;
	pid_t pid;

	drain(&t);
	memset(&t, 0, sizeof(t));
	before = fixture__stat(&f, HALO_STAT_SAMPLES);
	lost_before = fixture__stat(&f, HALO_STAT_CTX_FULL) + fixture__stat(&f, HALO_STAT_CTX_BUSY);
	pid = start(exe.path, "threads", "3");
	for (int i = 0; i < 200; i++) {
		fixture__wait_samples(&f, 2);
		drain(&t);
	}
	stop(pid);
	drain(&t);
	drain(&t);
	samples = fixture__stat(&f, HALO_STAT_SAMPLES) - before;
	lost = fixture__stat(&f, HALO_STAT_CTX_FULL) + fixture__stat(&f, HALO_STAT_CTX_BUSY) -
	       lost_before;
	check(t.total == samples - lost && t.total >= 400,
	      "what 200 drains gave is what was sampled less what was lost (%lu = %lu - %lu)",
	      t.total, samples, lost);
}

static void test_unenrolled(const char *busy, const char *dir)
{
	uint64_t samples, ticks;
	struct exe other;
	char path[256];
	pid_t pid;

	snprintf(path, sizeof(path), "%s/other", dir);
	exe__copy(&other, busy, path);
	samples = fixture__stat(&f, HALO_STAT_SAMPLES);
	ticks = fixture__stat(&f, HALO_STAT_TICKS);
	pid = start(other.path, "spin", NULL);
	check(fixture__wait(&f, HALO_EVENT_LOOK, pid, 0),
	      "an executable not seen before is asked about");
	for (int i = 0; i < WAIT_S * 100 && fixture__stat(&f, HALO_STAT_TICKS) < ticks + 200; i++)
		usleep(10000);
	check(fixture__stat(&f, HALO_STAT_TICKS) >= ticks + 200 &&
		      fixture__stat(&f, HALO_STAT_SAMPLES) == samples,
	      "a program that is not enrolled gives no samples");
	stop(pid);
	exe__free(&other);
}

static void test_kernel_side(void)
{
	uint64_t kernel = fixture__stat(&f, HALO_STAT_KERNEL);
	pid_t pid = start(exe.path, "kernel", NULL);
	struct tally t = {0};

	fixture__wait_samples(&f, 100);
	check(fixture__stat(&f, HALO_STAT_KERNEL) >= kernel + 50,
	      "samples inside the kernel are counted as such");
	stop(pid);
	drain(&t);
	check(!t.malformed && t.total >= 100, "and have the program's context");
}

/* The entry of a process that had this pid before. */
static void test_stale_pid(void)
{
	pid_t pid = start(exe.path, "spin", NULL);
	struct halo_proc proc;
	uint64_t stale, samples;

	if (!fixture__wait(&f, HALO_EVENT_EXEC, pid, 0) || halo_kernel__get_proc(f.k, pid, &proc))
		die("the program was not seen");
	proc.start_ns += 5 * HALO_START_STEP;
	halo_kernel__set_proc(f.k, pid, &proc);
	usleep(50000);
	stale = fixture__stat(&f, HALO_STAT_STALE_PID);
	samples = fixture__stat(&f, HALO_STAT_SAMPLES);
	for (int i = 0; i < WAIT_S * 100; i++) {
		if (fixture__stat(&f, HALO_STAT_STALE_PID) >= stale + 50)
			break;
		usleep(10000);
	}
	check(fixture__stat(&f, HALO_STAT_STALE_PID) >= stale + 50 &&
		      fixture__stat(&f, HALO_STAT_SAMPLES) == samples,
	      "samples are dropped while the entry is another process's");

	proc.start_ns = (proc.start_ns - 5 * HALO_START_STEP) / HALO_START_STEP * HALO_START_STEP;
	halo_kernel__set_proc(f.k, pid, &proc);
	check(fixture__wait_samples(&f, 20), "a start time in /proc's steps is close enough");
	stop(pid);
}

static void test_unenroll(void)
{
	pid_t pid = start(exe.path, "spin", NULL);
	struct halo_proc proc;
	uint64_t samples, ticks;

	fixture__wait(&f, HALO_EVENT_EXEC, pid, 0);
	halo_kernel__unenroll(f.k, EXE_ID, &exe.p.buildid);
	check(halo_kernel__get_proc(f.k, pid, &proc) == -ENOENT, "unenroll forgets the processes");
	usleep(50000);
	samples = fixture__stat(&f, HALO_STAT_SAMPLES);
	ticks = fixture__stat(&f, HALO_STAT_TICKS);
	for (int i = 0; i < WAIT_S * 100 && fixture__stat(&f, HALO_STAT_TICKS) < ticks + 100; i++)
		usleep(10000);
	check(fixture__stat(&f, HALO_STAT_SAMPLES) == samples, "and ends their samples");
	stop(pid);
}

int main(int argc, char **argv)
{
	struct halo_err err = {0};
	char path[256];

	if (argc != 3)
		die("usage: sample_test BUSY DIR");
	snprintf(path, sizeof(path), "%s/enrolled", argv[2]);
	exe__copy(&exe, argv[1], path);
	inner_off = exe__function(&exe, "inner", &inner_size);
	outer_off = exe__function(&exe, "outer", &outer_size);
	fixture__open(&f, false);
	printf("# tier %s; %s\n", halo_kernel__tier_name(f.k), halo_kernel__tier_reason(f.k));
	if (halo_kernel__enroll(f.k, EXE_ID, &exe.p, exe.path, &err))
		die("%s", err.what);

	test_right_function();
	test_sum();
	test_unenrolled(argv[1], argv[2]);
	test_kernel_side();
	test_stale_pid();
	test_unenroll();

	fixture__close(&f);
	exe__free(&exe);
	return tap_done();
}
