// SPDX-License-Identifier: BSD-2-Clause
/*
 * The program that the BPF selftests watch. Compiled by plain gcc with frame pointers.
 *
 *   busy spin          burn CPU time in inner(), called by outer(), until killed
 *   busy threads N     the same in N threads
 *   busy fork          fork a child that exits with status 3; exit with status 4
 *   busy thread        make a thread, which ends; exit with status 5
 *   busy exec PATH     execute PATH
 *   busy leader        the first thread ends first; another exits the process with status 7
 *   busy crash         write to address 8 in crash()
 *   busy thread-crash  the same in the second thread, while the first and third sleep
 *   busy reported-crash  the same, with a handler that sends the signal again
 *   busy kernel        spend the time in system calls
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

NOINLINE void leaf(void)
{
	__asm__ volatile("");
}

/* Calls something, since gcc gives leaf functions no frame. */
NOINLINE uint64_t inner(uint64_t x)
{
	for (int i = 0; i < 100000; i++)
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
	leaf();
	return x;
}

NOINLINE uint64_t outer(uint64_t x)
{
	uint64_t sum = 0;

	for (int i = 0; i < 100; i++)
		sum += inner(x + i);
	return sum;
}

NOINLINE void crash(volatile int *p)
{
	*p = 1;
}

static volatile uint64_t sink;

static void *spin(void *arg)
{
	for (;;)
		sink = outer(sink + (uintptr_t)arg);
	return NULL;
}

static void *nothing(void *arg)
{
	return arg;
}

static void *exit_later(void *arg)
{
	pthread_join(*(pthread_t *)arg, NULL);
	exit(7);
}

static int run_threads(int n)
{
	pthread_t t;

	for (int i = 1; i < n; i++)
		pthread_create(&t, NULL, spin, (void *)(uintptr_t)i);
	spin(NULL);
	return 0;
}

static int run_fork(void)
{
	pid_t child = fork();

	if (!child)
		_exit(3);
	waitpid(child, NULL, 0);
	return 4;
}

static int run_thread(void)
{
	pthread_t t;

	pthread_create(&t, NULL, nothing, NULL);
	pthread_join(t, NULL);
	return 5;
}

static int run_leader(void)
{
	static pthread_t self;
	pthread_t t;

	self = pthread_self();
	pthread_create(&t, NULL, exit_later, &self);
	pthread_exit(NULL);
}

static void *sleep_on(void *arg)
{
	pause();
	return arg;
}

static void *crash_thread(void *arg)
{
	crash((int *)8);
	return arg;
}

static int run_thread_crash(void)
{
	pthread_t t;

	pthread_create(&t, NULL, sleep_on, NULL);
	pthread_create(&t, NULL, crash_thread, NULL);
	pause();
	return 0;
}

static void report(int sig)
{
	signal(sig, SIG_DFL);
	raise(sig);
}

static int run_reported_crash(void)
{
	signal(SIGSEGV, report);
	crash((int *)8);
	return 0;
}

static int run_kernel(void)
{
	char buf[1 << 16];

	for (;;)
		syscall(SYS_getrandom, buf, sizeof(buf), 0);
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "spin"))
		spin(NULL);
	if (!strcmp(mode, "threads"))
		return run_threads(atoi(argv[2]));
	if (!strcmp(mode, "fork"))
		return run_fork();
	if (!strcmp(mode, "thread"))
		return run_thread();
	if (!strcmp(mode, "exec"))
		execl(argv[2], argv[2], (char *)NULL);
	if (!strcmp(mode, "leader"))
		return run_leader();
	if (!strcmp(mode, "thread-crash"))
		return run_thread_crash();
	if (!strcmp(mode, "reported-crash"))
		return run_reported_crash();
	if (!strcmp(mode, "kernel"))
		return run_kernel();
	if (!strcmp(mode, "crash"))
		crash((int *)8);
	return 1;
}
