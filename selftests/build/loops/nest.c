// SPDX-License-Identifier: BSD-2-Clause
/*
 * All of the work is in loops of main(), which ends when it is told to, or after as many rounds as its
 * argument says. The CPU's own vectors make it several times as fast.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define N 4096

static volatile sig_atomic_t ended;

static void on_end(int sig)
{
	(void)sig;
	ended = 1;
}

int main(int argc, char **argv)
{
	static float x[N], y[N];
	long rounds = argc > 1 ? atol(argv[1]) : 0, r;
	double sum = 0;

	signal(SIGTERM, on_end);
	for (int i = 0; i < N; i++) {
		x[i] = (float)i;
		y[i] = (float)(N - i);
	}
	for (r = 0; rounds ? r < rounds : !ended; r++) {
		for (int k = 0; k < 64; k++) {
			for (int i = 0; i < N; i++) {
				float d = x[i] * 0.5f - y[i];

				y[i] = d < 0 ? y[i] * 0.75f : d * 0.5f + 1;
			}
		}
		x[r % N] += 1;
	}
	for (int i = 0; i < N; i++)
		sum += y[i];
	printf("rounds %ld\nsum %a\n", r, sum);
	return 0;
}
