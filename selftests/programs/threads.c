// SPDX-License-Identifier: BSD-2-Clause
/* Threads that share one hot function: each round is a picture of a Julia set, row by row. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernel.h"

#define THREADS 4
#define WIDTH	128
#define HEIGHT	64 /* a multiple of THREADS */
#define LIMIT	400

struct worker {
	pthread_t thread;
	int index;
	uint64_t rows;	/* done so far */
	uint64_t steps; /* in this round */
} __attribute__((aligned(64)));

static struct worker workers[THREADS];
static pthread_barrier_t barrier;
static double parameter; /* written between rounds alone */
static bool stopping;

uint64_t escape_row(int row, double c)
{
	uint64_t sum = 0;

	for (int column = 0; column < WIDTH; column++) {
		double re = 3.0 * column / WIDTH - 1.5;
		double im = 3.0 * row / HEIGHT - 1.5;
		int steps = 0;

		while (steps < LIMIT && re * re + im * im < 4) {
			double next = re * re - im * im - 0.8;

			im = 2 * re * im + c;
			re = next;
			steps++;
		}
		sum += (uint64_t)steps;
	}
	return sum;
}

static void *work(void *arg)
{
	struct worker *self = (struct worker *)arg;

	for (;;) {
		pthread_barrier_wait(&barrier);
		if (stopping)
			return NULL;
		self->steps = 0;
		for (int row = self->index; row < HEIGHT; row += THREADS) {
			self->steps += escape_row(row, parameter);
			self->rows++;
		}
		pthread_barrier_wait(&barrier);
	}
}

static void start(void)
{
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++) {
		workers[i].index = i;
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i])) {
			fprintf(stderr, "threads: cannot start thread %d\n", i);
			exit(1);
		}
	}
}

static void stop(void)
{
	stopping = true;
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		printf("thread %d rows %llu\n", i, (unsigned long long)workers[i].rows);
	}
}

void kernel__setup(void)
{
	start();
	atexit(stop);
}

double kernel__round(uint64_t round)
{
	double sum = 0;

	parameter = 0.1 + (double)(round % 64) / 1024;
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < THREADS; i++)
		sum += (double)workers[i].steps;
	return sum;
}
