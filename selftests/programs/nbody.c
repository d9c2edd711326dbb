// SPDX-License-Identifier: BSD-2-Clause
/* Five bodies under gravity, by symplectic Euler steps; the energy is the check. */
#include <math.h>

#include "kernel.h"

#define BODIES 5
#define STEPS  20000

struct body {
	double x, y, z;
	double vx, vy, vz;
	double mass;
};

void advance(struct body *bodies, double dt)
{
	for (int i = 0; i < BODIES; i++) {
		struct body *a = &bodies[i];

		for (int j = i + 1; j < BODIES; j++) {
			struct body *b = &bodies[j];
			double dx = a->x - b->x;
			double dy = a->y - b->y;
			double dz = a->z - b->z;
			double square = dx * dx + dy * dy + dz * dz;
			double pull = dt / (square * sqrt(square));

			a->vx -= dx * b->mass * pull;
			a->vy -= dy * b->mass * pull;
			a->vz -= dz * b->mass * pull;
			b->vx += dx * a->mass * pull;
			b->vy += dy * a->mass * pull;
			b->vz += dz * a->mass * pull;
		}
	}
	for (int i = 0; i < BODIES; i++) {
		bodies[i].x += dt * bodies[i].vx;
		bodies[i].y += dt * bodies[i].vy;
		bodies[i].z += dt * bodies[i].vz;
	}
}

double energy(const struct body *bodies)
{
	double sum = 0;

	for (int i = 0; i < BODIES; i++) {
		const struct body *a = &bodies[i];

		sum += 0.5 * a->mass * (a->vx * a->vx + a->vy * a->vy + a->vz * a->vz);
		for (int j = i + 1; j < BODIES; j++) {
			const struct body *b = &bodies[j];
			double dx = a->x - b->x;
			double dy = a->y - b->y;
			double dz = a->z - b->z;

			sum -= a->mass * b->mass / sqrt(dx * dx + dy * dy + dz * dz);
		}
	}
	return sum;
}

/* A star and planets on circles, the outer ones slower; all in units where gravity is 1. */
static void place(struct body *bodies)
{
	for (int i = 0; i < BODIES; i++) {
		double radius = i * 5.0;
		double speed = i ? 1 / sqrt(radius) : 0;

		bodies[i] = (struct body){
			.x = i & 1 ? radius : -radius,
			.z = 0.1 * i,
			.vy = i & 1 ? speed : -speed,
			.mass = i ? 0.0005 * i : 1,
		};
	}
}

static struct body bodies[BODIES];

void kernel__setup(void)
{
	place(bodies);
}

double kernel__round(uint64_t round)
{
	(void)round;
	for (int step = 0; step < STEPS; step++)
		advance(bodies, 0.001);
	return energy(bodies);
}
