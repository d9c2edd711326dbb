// SPDX-License-Identifier: BSD-2-Clause
/* A ray tracer for a sphere with smaller spheres on it, and so on: one small picture per round. */
#include <math.h>
#include <stddef.h>

#include "kernel.h"

#define LEVELS	 4
#define CHILDREN 6
#define SIZE	 48
#define FAR	 1e30

struct vec {
	double x, y, z;
};

struct sphere {
	struct vec center;
	double radius;
	double bound; /* radius of the ball around the same center that holds all descendants */
	int children; /* index of the first of CHILDREN; 0: none */
};

struct hit {
	double distance;
	const struct sphere *sphere;
};

static struct sphere spheres[1 + 6 + 36 + 216 + 1296];
static int n_spheres;

static struct vec add(struct vec a, struct vec b)
{
	return (struct vec){a.x + b.x, a.y + b.y, a.z + b.z};
}

static struct vec sub(struct vec a, struct vec b)
{
	return (struct vec){a.x - b.x, a.y - b.y, a.z - b.z};
}

static struct vec scale(struct vec a, double s)
{
	return (struct vec){a.x * s, a.y * s, a.z * s};
}

static double dot(struct vec a, struct vec b)
{
	return a.x * b.x + a.y * b.y + a.z * b.z;
}

static struct vec unit(struct vec a)
{
	return scale(a, 1 / sqrt(dot(a, a)));
}

static void grow(int index, int level)
{
	static const struct vec directions[CHILDREN] = {{1, 0, 0},  {-1, 0, 0}, {0, 1, 0},
							{0, -1, 0}, {0, 0, 1},	{0, 0, -1}};
	struct sphere *parent = &spheres[index];
	double radius = parent->radius / 2.5;
	int first = n_spheres;

	parent->bound = parent->radius * 2.4;
	if (level == LEVELS)
		return;
	parent->children = first;
	n_spheres += CHILDREN;
	for (int i = 0; i < CHILDREN; i++) {
		spheres[first + i].center = add(parent->center,
						scale(directions[i], parent->radius + radius));
		spheres[first + i].radius = radius;
		grow(first + i, level + 1);
	}
}

/* Distance along the ray to the ball, FAR when it is missed or behind. */
static double intersect(struct vec origin, struct vec ray, struct vec center, double radius)
{
	struct vec to = sub(center, origin);
	double along = dot(to, ray);
	double square = along * along - dot(to, to) + radius * radius;
	double root;

	if (square < 0)
		return FAR;
	root = sqrt(square);
	if (along - root > 1e-6)
		return along - root;
	return along + root > 1e-6 ? along + root : FAR;
}

void trace(int index, struct vec origin, struct vec ray, struct hit *hit)
{
	const struct sphere *sphere = &spheres[index];
	double distance;

	if (intersect(origin, ray, sphere->center, sphere->bound) >= FAR)
		return;
	distance = intersect(origin, ray, sphere->center, sphere->radius);
	if (distance < hit->distance) {
		hit->distance = distance;
		hit->sphere = sphere;
	}
	for (int i = 0; sphere->children && i < CHILDREN; i++)
		trace(sphere->children + i, origin, ray, hit);
}

double shade(struct vec origin, struct vec ray)
{
	struct vec light = unit((struct vec){1, 2, -3});
	struct hit hit = {FAR, NULL}, shadow = {FAR, NULL};
	struct vec point, normal;
	double cosine;

	trace(0, origin, ray, &hit);
	if (!hit.sphere)
		return 0;
	point = add(origin, scale(ray, hit.distance));
	normal = unit(sub(point, hit.sphere->center));
	cosine = dot(normal, light);
	if (cosine <= 0)
		return 0.1;
	trace(0, add(point, scale(normal, 1e-4)), light, &shadow);
	return shadow.sphere ? 0.1 : 0.1 + 0.9 * cosine;
}

void kernel__setup(void)
{
	spheres[0].radius = 1;
	n_spheres = 1;
	grow(0, 0);
}

double kernel__round(uint64_t round)
{
	double angle = (double)(round % 360) * 0.0174532925;
	struct vec eye = {6 * sin(angle), 2, -6 * cos(angle)};
	struct vec ahead = unit(scale(eye, -1));
	struct vec right = unit((struct vec){ahead.z, 0, -ahead.x});
	struct vec up = {ahead.y * right.z, ahead.z * right.x - ahead.x * right.z,
			 -ahead.y * right.x};
	double sum = 0;

	for (int y = 0; y < SIZE; y++)
		for (int x = 0; x < SIZE; x++) {
			struct vec ray = add(ahead, scale(right, (double)x / SIZE - 0.5));

			sum += shade(eye, unit(add(ray, scale(up, (double)y / SIZE - 0.5))));
		}
	return sum;
}
