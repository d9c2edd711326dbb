// SPDX-License-Identifier: BSD-2-Clause
/*
 * many: burns a little CPU time in a redirectable function, again and again, until killed.
 *
 *   many MS PAUSE_MS           so much time at a time, with pauses
 *   many MS PAUSE_MS N         in N processes, each executed for itself; prints their number
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

volatile uint64_t sink;

__attribute__((noinline)) uint64_t churn(uint64_t x, int n)
{
	for (int i = 0; i < n; i++)
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
	return x;
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* They die with the first process. */
static void spawn(char **argv, int n)
{
	int started = 0;

	for (int i = 0; i < n; i++) {
		pid_t pid = vfork();

		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			execl("/proc/self/exe", argv[0], argv[1], argv[2], (char *)NULL);
			_exit(127);
		}
		started += pid > 0;
	}
	printf("%d\n", started);
	fflush(stdout);
	pause();
}

int main(int argc, char **argv)
{
	uint64_t burn = argc > 1 ? strtoull(argv[1], NULL, 10) * 1000000 : 1000000, end;
	unsigned int pause_us = argc > 2 ? strtoul(argv[2], NULL, 10) * 1000 : 100000;

	if (argc > 3)
		spawn(argv, atoi(argv[3]));
	/* Not all at the same moment. */
	usleep(pause_us / 1000 * (getpid() % 1000));
	for (;;) {
		end = cpu_ns() + burn;
		while (cpu_ns() < end)
			sink = churn(sink, 10000);
		usleep(pause_us);
	}
}
