// SPDX-License-Identifier: BSD-2-Clause
/* Signals, threads and processes while all is switched. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sem.h"

static volatile sig_atomic_t handled;
static volatile long handled_sum;

static SEM_NOINLINE void on_signal(int number)
{
	long sum = (long)sem_work(number) & 0xffff;

	SEM_HERE("on_signal");
	handled_sum = handled_sum + sum;
	handled = handled + 1;
}

static SEM_NOINLINE void on_info(int number, siginfo_t *info, void *ctx)
{
	long sum = (long)sem_work(number ^ info->si_signo) & 0xffff;

	(void)ctx;
	SEM_HERE("on_info");
	handled_sum = handled_sum + sum;
	handled = handled + 1;
	errno = 0;
}

static SEM_NOINLINE unsigned long compute(unsigned long seed, int n)
{
	unsigned long h = seed;
	double d = (double)seed;
	int i;

	SEM_HERE("compute");
	for (i = 0; i < n; i++) {
		h = sem_mix(h, i);
		d = d * 0.75 + (double)(h & 255);
	}
	return h + (unsigned long)d;
}

/* By itself, and on a stack of its own. */
SEM_CASE(signals)
{
	static char stack[65536];
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)}, old;
	struct sigaction action = {.sa_handler = on_signal};
	int i;

	handled = 0;
	handled_sum = 0;
	sigaltstack(&alternate, &old);
	sigaction(SIGUSR1, &action, NULL);
	action = (struct sigaction){.sa_sigaction = on_info, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	sigaction(SIGUSR2, &action, NULL);
	for (i = 0; i < 10; i++)
		raise(i & 1 ? SIGUSR1 : SIGUSR2);
	sigaltstack(&old, NULL);
	sem_print("  %d %ld\n", (int)handled, handled_sum);
}

/* At any instruction of what is switched. */
SEM_CASE(interrupted)
{
	struct itimerval every = {{0, 300}, {0, 300}}, off = {{0, 0}, {0, 0}};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	unsigned long h = 1;
	int i;

	sigaction(SIGALRM, &action, NULL);
	handled = 0;
	setitimer(ITIMER_REAL, &every, NULL);
	for (i = 0; i < 100 || !handled; i++)
		if (i < 100)
			h = compute(h, 100);
	setitimer(ITIMER_REAL, &off, NULL);
	sem_print("  %lx\n", h);
}

static SEM_NOINLINE void *run_thread(void *arg)
{
	unsigned long h = (unsigned long)arg;
	int i;

	SEM_HERE("run_thread");
	for (i = 0; i < 5; i++)
		h = compute(h, 20 + i);
	return (void *)h;
}

/* They begin and end meanwhile. */
SEM_CASE(threads)
{
	pthread_t threads[4];
	unsigned long h = 1;
	void *got;
	int i, j;

	for (j = 0; j < 2; j++) {
		for (i = 0; i < 4; i++)
			pthread_create(&threads[i], NULL, run_thread, (void *)(long)(i + j));
		for (i = 0; i < 4; i++) {
			pthread_join(threads[i], &got);
			h = sem_mix(h, (unsigned long)got);
		}
	}
	sem_print("  %lx\n", h);
}

static SEM_NOINLINE unsigned long in_child(int n)
{
	unsigned long h = n;
	int i;

	SEM_HERE("in_child");
	for (i = 0; i < n; i++)
		h = compute(h, i & 31);
	return h;
}

static SEM_NOINLINE unsigned long fork_and_compute(int n)
{
	unsigned long h = sem_work(n);
	int fds[2], status;
	pid_t pid;

	SEM_HERE("fork_and_compute");
	if (pipe(fds))
		return 1;
	pid = fork();
	if (!pid) {
		h = in_child(n);
		/* A grandchild, too. */
		pid = fork();
		if (!pid)
			_exit(in_child(5) == 0);
		waitpid(pid, &status, 0);
		_exit(write(fds[1], &h, sizeof(h)) != sizeof(h) || status);
	}
	close(fds[1]);
	if (read(fds[0], &h, sizeof(h)) != sizeof(h))
		h = 2;
	close(fds[0]);
	waitpid(pid, &status, 0);
	return h + status;
}

/* vfork() returns twice, so this has no slot, yet runs in the variant of its caller. */
static SEM_NOINLINE int vfork_and_exec(int n)
{
	char *argv[] = {(char *)"true", NULL}, *env[] = {NULL};
	int status = 0, sum = (int)sem_work(n) & 255;
	pid_t pid;

	SEM_HERE("vfork_and_exec");
	pid = vfork();
	if (!pid) {
		execve("/bin/true", argv, env);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return status + sum;
}

static SEM_NOINLINE unsigned long drive_vfork(int n)
{
	unsigned long h = 1;
	int i;

	SEM_HERE("drive_vfork");
	for (i = 1; i < n; i++)
		h = sem_mix(h, vfork_and_exec(i));
	return h;
}

SEM_CASE(children)
{
	char *argv[] = {(char *)"false", NULL}, *env[] = {NULL};
	int status;
	pid_t pid;

	sem_print("  %lx\n", fork_and_compute(60));
	sem_print("  %lx\n", drive_vfork(3));
	if (posix_spawn(&pid, "/bin/false", NULL, NULL, argv, env) == 0)
		waitpid(pid, &status, 0);
	sem_print("  %d\n", WEXITSTATUS(status));
}
