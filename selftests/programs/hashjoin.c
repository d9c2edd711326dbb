// SPDX-License-Identifier: BSD-2-Clause
/* An equi-join of two tables: hash the smaller one, probe with the larger one, sum what matches. */
#include <string.h>

#include "kernel.h"

#define ORDERS	(1 << 13)
#define ITEMS	(1 << 16)
#define BUCKETS (1 << 14)

struct order {
	uint32_t key;
	uint32_t discount;
	int32_t next; /* in the same bucket; -1: last */
};

struct item {
	uint32_t order;
	uint32_t price;
};

static struct order orders[ORDERS];
static struct item items[ITEMS];
static int32_t buckets[BUCKETS];

static uint32_t bucket(uint32_t key)
{
	return key * 2654435769u >> 18;
}

void build(void)
{
	memset(buckets, -1, sizeof(buckets));
	for (int i = 0; i < ORDERS; i++) {
		uint32_t b = bucket(orders[i].key);

		orders[i].next = buckets[b];
		buckets[b] = i;
	}
}

uint64_t probe(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < ITEMS; i++)
		for (int32_t o = buckets[bucket(items[i].order)]; o >= 0; o = orders[o].next)
			if (orders[o].key == items[i].order)
				sum += (uint64_t)items[i].price * (100 - orders[o].discount);
	return sum;
}

void kernel__setup(void)
{
	for (uint32_t i = 0; i < ORDERS; i++)
		orders[i] = (struct order){.key = i * 7919 + 13, .discount = i % 50};
}

double kernel__round(uint64_t round)
{
	uint32_t seed = (uint32_t)round + 1;

	for (int i = 0; i < ITEMS; i++) {
		seed = seed * 1664525u + 1013904223u;
		items[i].order = (seed >> 16) % (2 * ORDERS) * 7919 + 13;
		items[i].price = seed >> 20;
	}
	build();
	return (double)probe();
}
