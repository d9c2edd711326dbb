// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls every case with many numbers and prints what comes of it; then says "ready", waits for a line on
 * standard input, meanwhile may be attached and switched, and does it all again, in children and
 * threads too. The output does not depend on what is switched.
 *
 *   main [LIBRARY]
 */
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"

#define THREADS 4

typedef long (*case_fn)(int n);

static __attribute__((noinline)) long call(case_fn fn, int n)
{
	outside_bottom = __builtin_return_address(0);
	long x = fn(n);
	__asm__ volatile("" : "+r"(x));
	return x;
}

static void hash(unsigned long *sum, const char *text, long x)
{
	for (; *text; text++)
		*sum = *sum * 31 + (unsigned char)*text;
	*sum = *sum * 31 + (unsigned long)x;
}

static void run(case_fn fn, int n, unsigned long *sum)
{
	try {
		hash(sum, "value", call(fn, n));
	} catch (const Failure &e) {
		hash(sum, e.what(), 1);
	} catch (const Derived &e) {
		hash(sum, "derived", e.value);
	} catch (const Base &e) {
		hash(sum, "base", e.value);
	} catch (const std::exception &e) {
		hash(sum, e.what(), 2);
	} catch (int e) {
		hash(sum, "int", e);
	} catch (double e) {
		hash(sum, "double", (long)e);
	}
}

static void print_case(const char *name, case_fn fn)
{
	unsigned long sum = 0;

	guards_ended = 0;
	for (int n = 0; n < 50; n++)
		run(fn, n, &sum);
	printf("%s %016lx %ld\n", name, sum, guards_ended);
}

static pthread_barrier_t began;

void outside_began(void)
{
	pthread_barrier_wait(&began);
}

struct ending {
	case_fn fn;
	bool cancel;
};

static void *run_ending(void *arg)
{
	const ending *e = static_cast<const ending *>(arg);

	e->fn(7);
	return arg;
}

static void print_ending(const char *name, const ending &e)
{
	pthread_t thread;
	void *result;

	guards_ended = 0;
	pthread_barrier_init(&began, nullptr, 2);
	pthread_create(&thread, nullptr, run_ending, const_cast<ending *>(&e));
	if (e.cancel) {
		pthread_barrier_wait(&began);
		pthread_cancel(thread);
	}
	pthread_join(thread, &result);
	printf("%s %s %ld\n", name,
	       !result			    ? "exited"
	       : result == PTHREAD_CANCELED ? "cancelled"
					    : "returned",
	       guards_ended);
	pthread_barrier_destroy(&began);
}

static void *throw_often(void *arg)
{
	unsigned long *sum = static_cast<unsigned long *>(arg);

	for (int n = 0; n < 500; n++) {
		run(passes, n, sum);
		run(catches, n, sum);
		run(rethrows, n, sum);
	}
	return nullptr;
}

static void print_threads(void)
{
	unsigned long sum[THREADS] = {};
	pthread_t thread[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], nullptr, throw_often, &sum[i]);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], nullptr);
		printf("thread %016lx\n", sum[i]);
	}
}

static void print_all(void)
{
#define PRINT(name) print_case(#name, name);
	CASES(PRINT)
#undef PRINT
	print_threads();
	print_ending("thread_exit", {thread_exit, false});
	print_ending("cancelled", {cancelled, true});
	print_ending("spinning", {spinning, true});
}

static void load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void *fn = library ? dlsym(library, "outside") : nullptr;

	if (!fn) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
	outside_library = reinterpret_cast<long (*)(int)>(fn);
}

static void wait_for_line(int fd)
{
	char c;

	while (read(fd, &c, 1) == 1 && c != '\n')
		;
}

static void in_child(const char *which, int wait_on)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		wait_for_line(wait_on);
		print_all();
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	printf("child forked %s: %d\n", which, status);
}

int main(int argc, char **argv)
{
	int early[2];

	print_all();
	if (argc > 1)
		load(argv[1]);
	printf("ready\n");
	fflush(stdout);

	/* A child that is there before anything is attached, and goes on when all is switched. */
	if (pipe(early))
		return 2;
	pid_t pid = fork();
	if (pid == 0) {
		close(early[1]);
		wait_for_line(early[0]);
		print_all();
		fflush(stdout);
		_exit(0);
	}
	close(early[0]);
	wait_for_line(0);
	close(early[1]);
	int status;
	waitpid(pid, &status, 0);
	printf("child forked before: %d\n", status);
	fflush(stdout);

	print_all();
	fflush(stdout);
	int now = open("/dev/null", 0);
	in_child("after", now);
	return 0;
}
