// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program whose hot spot moves: one kind of work for PHASE rounds, then the next. Phases are
 * counted in rounds, not in seconds, so the output is always the same.
 */
#include "kernel.h"

#define PHASE 5000 /* rounds, a few seconds */

/* Iterations until points of a strip of the plane escape the Mandelbrot set's circle. */
double escape(uint32_t seed)
{
	double y = (double)(seed % 200) / 100 - 1;
	int sum = 0;

	for (int i = 0; i < 240; i++) {
		double x = i / 80.0 - 2, re = 0, im = 0;
		int steps = 0;

		while (steps < 1000 && re * re + im * im < 4) {
			double next = re * re - im * im + x;

			im = 2 * re * im + y;
			re = next;
			steps++;
		}
		sum += steps;
	}
	return sum;
}

/* The cyclic redundancy check of pseudo-random bytes, bit by bit. */
double check(uint32_t seed)
{
	uint32_t crc = ~0u;

	for (int i = 0; i < 20000; i++) {
		seed = seed * 1664525u + 1013904223u;
		crc ^= seed >> 24;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

/* Edit distance of two pseudo-random words. */
double distance(uint32_t seed)
{
	enum {
		LENGTH = 450
	};
	static unsigned char a[LENGTH], b[LENGTH];
	static int row[LENGTH + 1];

	for (int i = 0; i < LENGTH; i++) {
		seed = seed * 1664525u + 1013904223u;
		a[i] = seed >> 30;
		b[i] = seed >> 28 & 3;
	}
	for (int j = 0; j <= LENGTH; j++)
		row[j] = j;
	for (int i = 1; i <= LENGTH; i++) {
		int diagonal = row[0];

		row[0] = i;
		for (int j = 1; j <= LENGTH; j++) {
			int cost = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < cost)
				cost = row[j] + 1;
			if (row[j - 1] + 1 < cost)
				cost = row[j - 1] + 1;
			row[j] = cost;
		}
	}
	return row[LENGTH];
}

/* Insertion sort; the median. */
double median(uint32_t seed)
{
	enum {
		COUNT = 1300
	};
	static uint32_t values[COUNT];

	for (int i = 0; i < COUNT; i++) {
		int at = i;

		seed = seed * 1664525u + 1013904223u;
		for (; at > 0 && values[at - 1] > seed; at--)
			values[at] = values[at - 1];
		values[at] = seed;
	}
	return values[COUNT / 2];
}

double kernel__round(uint64_t round)
{
	uint32_t seed = (uint32_t)round;

	switch (round / PHASE % 4) {
	case 0:
		return escape(seed);
	case 1:
		return check(seed);
	case 2:
		return distance(seed);
	default:
		return median(seed);
	}
}
