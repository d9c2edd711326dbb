// SPDX-License-Identifier: BSD-2-Clause
/* Exact on-CPU time of a family: against what the kernel's own accounting says. */
#include "fixture.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXE_ID 5
#define FAMILY 77

/*
 * The kernel's accounting, read from outside, is behind by up to a tick (10 ms) for each thread, at
 * either end.
 */
#define TICK_NS 10e6

static struct fixture f;
static struct exe exe;

static pid_t start_family(const char *arg1, const char *arg2, uint32_t family)
{
	pid_t pid = start(exe.path, arg1, arg2);
	struct halo_proc proc;

	if (!fixture__wait(&f, HALO_EVENT_EXEC, pid, 0) || halo_kernel__get_proc(f.k, pid, &proc))
		die("the program was not seen");
	/* Long enough for its threads to be there and to run. */
	usleep(100000);
	proc.family = family;
	halo_kernel__set_proc(f.k, pid, &proc);
	return pid;
}

static double cpu_ns(pid_t pid)
{
	struct timespec ts;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &ts))
		die("no CPU clock of %d", pid);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static void begin(uint32_t family, uint32_t arm)
{
	int err = halo_kernel__cost_begin(f.k, family, arm);

	if (err)
		die("cost_begin: %s", strerror(-err));
}

static void turn(uint32_t family, uint32_t arm, uint64_t ns[HALO_MAX_ARMS])
{
	int err = halo_kernel__cost_switch(f.k, family, arm, ns);

	if (err)
		die("cost_switch: %s", strerror(-err));
}

static bool near(double a, double b, double slack)
{
	printf("# %.2f ms, the kernel says %.2f ms\n", a / 1e6, b / 1e6);
	return fabs(a - b) <= slack + 0.01 * b;
}

/* Threads that wander between CPUs, in a hundred short turns of two arms. */
static void test_sum(const char *threads)
{
	pid_t pid = start_family("threads", threads, FAMILY);
	uint64_t ns[HALO_MAX_ARMS], sum = 0;
	double before, after;

	before = cpu_ns(pid);
	begin(FAMILY, 0);
	for (int i = 1; i <= 100; i++) {
		usleep(10000);
		turn(FAMILY, i & 1, ns);
	}
	after = cpu_ns(pid);
	halo_kernel__cost_end(f.k, FAMILY);
	for (int i = 0; i < HALO_MAX_ARMS; i++)
		sum += ns[i];
	check(near(sum, after - before, 2 * atoi(threads) * TICK_NS),
	      "the arms of %s threads add up to the process's CPU time", threads);
	check(ns[0] && ns[1] && !ns[2], "and only those that had a turn have any");
	stop(pid);
}

static void pin_to(pid_t pid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(pid, sizeof(set), &set))
		die("can't run on CPU %d: %m", cpu);
}

/* A program that is not switched out all the while: real-time, alone on its CPU. */
static void test_running_at_begin(void)
{
	const char *text = "a program that runs on when an audit begins is accounted from then on";
	const struct sched_param realtime = {.sched_priority = 1};
	uint64_t ns[HALO_MAX_ARMS];
	double before, after;
	cpu_set_t all;
	pid_t pid;

	sched_getaffinity(0, sizeof(all), &all);
	if (CPU_COUNT(&all) < 2) {
		skip(text, "one CPU");
		return;
	}
	pid = start_family("spin", NULL, FAMILY);
	pin_to(0, 0);
	pin_to(pid, 1);
	if (sched_setscheduler(pid, SCHED_FIFO, &realtime)) {
		skip(text, "no real-time scheduling here");
	} else {
		usleep(20000);
		begin(FAMILY, 0);
		before = cpu_ns(pid);
		usleep(100000);
		after = cpu_ns(pid);
		turn(FAMILY, 1, ns);
		halo_kernel__cost_end(f.k, FAMILY);
		check(ns[0] + TICK_NS >= after - before, "%s", text);
	}
	stop(pid);
	sched_setaffinity(0, sizeof(all), &all);
}

/* A turn gets what happened in it: a program that is stopped costs nothing. */
static void test_turns(void)
{
	pid_t pid = start_family("spin", NULL, FAMILY);
	uint64_t ns[HALO_MAX_ARMS], later[HALO_MAX_ARMS];

	begin(FAMILY, 2);
	usleep(50000);
	turn(FAMILY, 3, ns);
	usleep(50000);
	turn(FAMILY, 2, later);
	check(ns[2] && later[2] == ns[2], "time after a switch does not go to the arm before");
	check(later[3] > 0, "but to the arm whose turn it is");
	halo_kernel__cost_end(f.k, FAMILY);
	stop(pid);
}

static void test_two_families(void)
{
	pid_t a = start_family("spin", NULL, FAMILY), b = start_family("spin", NULL, FAMILY + 1);
	uint64_t ns_a[HALO_MAX_ARMS], ns_b[HALO_MAX_ARMS];
	double before_a, before_b, after_a, after_b;

	before_a = cpu_ns(a);
	begin(FAMILY, 0);
	usleep(200000);
	before_b = cpu_ns(b);
	begin(FAMILY + 1, 4);
	usleep(400000);
	turn(FAMILY, 1, ns_a);
	after_a = cpu_ns(a);
	halo_kernel__cost_end(f.k, FAMILY);
	usleep(200000);
	turn(FAMILY + 1, 5, ns_b);
	after_b = cpu_ns(b);
	halo_kernel__cost_end(f.k, FAMILY + 1);
	check(near(ns_a[0], after_a - before_a, 2 * TICK_NS), "two audits at a time: the first");
	check(near(ns_b[4], after_b - before_b, 2 * TICK_NS), "and the second, begun later");
	stop(a);
	stop(b);
}

/* A process with the slots of its program and of two libraries: each is told all of its time. */
static void test_libraries(void)
{
	pid_t pid = start_family("spin", NULL, FAMILY);
	uint64_t ns_program[HALO_MAX_ARMS], ns_library[HALO_MAX_ARMS];
	struct halo_proc proc;
	double before, after;
	int refused;

	halo_kernel__get_proc(f.k, pid, &proc);
	for (uint32_t i = 1; i <= HALO_MAX_LIBRARIES; i++)
		if (halo_kernel__set_library(f.k, pid, &proc, FAMILY + i, true) ||
		    halo_kernel__set_library(f.k, pid, &proc, FAMILY + i, true))
			die("no place for library %u", i);
	refused = halo_kernel__set_library(f.k, pid, &proc, FAMILY + 100, true);
	check(refused == -ENOSPC, "a process has so many libraries and no more, each once");
	before = cpu_ns(pid);
	begin(FAMILY, 0);
	begin(FAMILY + 2, 3);
	usleep(300000);
	turn(FAMILY, 1, ns_program);
	turn(FAMILY + 2, 4, ns_library);
	after = cpu_ns(pid);
	check(near(ns_program[0], after - before, 2 * TICK_NS), "audited at a time: the program");
	check(near(ns_library[3], after - before, 2 * TICK_NS), "and its library");
	halo_kernel__set_library(f.k, pid, &proc, FAMILY + 2, false);
	usleep(50000);
	turn(FAMILY + 2, 5, ns_library);
	usleep(50000);
	turn(FAMILY + 2, 6, ns_library);
	check(!ns_library[5], "a library that was closed is told nothing more");
	halo_kernel__cost_end(f.k, FAMILY);
	halo_kernel__cost_end(f.k, FAMILY + 2);
	stop(pid);
}

static void test_refusals(void)
{
	uint64_t ns[HALO_MAX_ARMS];

	check(halo_kernel__cost_switch(f.k, FAMILY, 0, ns) == -ENOENT,
	      "no switch in a family that is not under audit");
	check(halo_kernel__cost_begin(f.k, 0, 0) == -EINVAL &&
		      halo_kernel__cost_begin(f.k, FAMILY, HALO_MAX_ARMS) == -EINVAL,
	      "no audit of no family, or of an arm too many");
	begin(FAMILY, 0);
	check(halo_kernel__cost_begin(f.k, FAMILY, 0) == -EEXIST, "no second audit of a family");
	halo_kernel__cost_end(f.k, FAMILY);
}

int main(int argc, char **argv)
{
	struct halo_err err = {0};
	char path[256];

	if (argc != 3)
		die("usage: cost_test BUSY DIR");
	snprintf(path, sizeof(path), "%s/enrolled", argv[2]);
	exe__copy(&exe, argv[1], path);
	fixture__open(&f, false);
	if (halo_kernel__enroll(f.k, EXE_ID, &exe.p, exe.path, &err))
		die("%s", err.what);

	test_sum("1");
	test_sum("3");
	test_running_at_begin();
	test_turns();
	test_two_families();
	test_libraries();
	test_refusals();

	fixture__close(&f);
	exe__free(&exe);
	return tap_done();
}
