// SPDX-License-Identifier: BSD-2-Clause
/* A landscape of gradient noise, octave upon octave, cut into terraces: one strip per round. */
#include <math.h>

#include "kernel.h"

#define WIDTH	256
#define DEPTH	16
#define OCTAVES 3
#define STEPS	12 /* terraces per unit of height */

/* Scatter the bits of a lattice point's coordinates. */
static uint32_t scatter(int x, int y)
{
	uint32_t h = (uint32_t)x * 0x8da6b343u ^ (uint32_t)y * 0xd8163841u;

	h ^= h >> 15;
	h *= 0x2c1b3c6du;
	return h ^ h >> 13;
}

/* The dot product of (x, y) with one of the four diagonals. */
static double gradient(uint32_t h, double x, double y)
{
	return ((h & 1) ? -x : x) + ((h & 2) ? -y : y);
}

static double fade(double t)
{
	return t * t * t * (t * (t * 6 - 15) + 10);
}

static double lerp(double t, double a, double b)
{
	return a + t * (b - a);
}

static double noise(double x, double y)
{
	double left = floor(x);
	double low = floor(y);
	int xi = (int)left;
	int yi = (int)low;
	double u, v;

	x -= left;
	y -= low;
	u = fade(x);
	v = fade(y);
	return lerp(
		v,
		lerp(u, gradient(scatter(xi, yi), x, y), gradient(scatter(xi + 1, yi), x - 1, y)),
		lerp(u, gradient(scatter(xi, yi + 1), x, y - 1),
		     gradient(scatter(xi + 1, yi + 1), x - 1, y - 1)));
}

void noise_line(double *heights, double y)
{
	for (int i = 0; i < WIDTH; i++) {
		double x = i * 0.03;
		double height = 0;

		for (int octave = 0; octave < OCTAVES; octave++)
			height += noise(x * (1 << octave), y * (1 << octave)) / (1 << octave);
		heights[i] = floor(height * STEPS) / STEPS;
	}
}

double kernel__round(uint64_t round)
{
	static double heights[WIDTH];
	double sum = 0;

	for (int y = 0; y < DEPTH; y++) {
		noise_line(heights, (double)(round % 4096) + y * 0.0625);
		for (int i = 0; i < WIDTH; i++)
			sum += heights[i];
	}
	return sum;
}
