// SPDX-License-Identifier: BSD-2-Clause
#include "../lib/tally.h"
#include "../lib/util.h"
#include "taken.h"

#define WINDOW_NS (30 * HALO_SEC)
#define KEYS_MAX  (1U << 17)
/* Ranges: of a section with 5 % of them, as small as one may be, some 500 are left. */
#define ENOUGH 10000

/* Two halves: when the newer one is WINDOW_NS old, the older one goes. */
struct halo_taken_half {
	struct halo_tally *edges, *ranges;
	uint64_t n_ranges; /* sum of their counts */
};

struct halo_taken {
	struct halo_taken_half half[2]; /* the newer one first */
	uint64_t since_ns;
};

static void free_half(struct halo_taken_half *h)
{
	halo_tally__free(h->edges);
	halo_tally__free(h->ranges);
	*h = (struct halo_taken_half){0};
}

static bool new_half(struct halo_taken_half *h)
{
	h->edges = halo_tally__new(sizeof(struct halo_edge_key), KEYS_MAX);
	h->ranges = halo_tally__new(sizeof(struct halo_range_key), KEYS_MAX);
	if (h->edges && h->ranges)
		return true;
	free_half(h);
	return false;
}

/* NULL: out of memory, and nothing is kept. */
static struct halo_taken_half *current(struct halo_program *p)
{
	uint64_t now = halo_loop__now();
	struct halo_taken *b = p->taken;

	if (!b)
		b = p->taken = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	if (b->half[0].edges && now - b->since_ns < WINDOW_NS)
		return &b->half[0];
	free_half(&b->half[1]);
	b->half[1] = b->half[0];
	b->half[0] = (struct halo_taken_half){0};
	b->since_ns = now;
	return new_half(&b->half[0]) ? &b->half[0] : NULL;
}

void halo_taken__edge(struct halo_program *p, const struct halo_edge_key *key, uint64_t count)
{
	struct halo_taken_half *h;

	if (key->from_exe != p->exe_id || key->to_exe != p->exe_id)
		return;
	h = current(p);
	if (h)
		halo_tally__add(h->edges, key, count, 0);
}

void halo_taken__range(struct halo_program *p, const struct halo_range_key *key, uint64_t count)
{
	struct halo_taken_half *h = key->exe_id == p->exe_id ? current(p) : NULL;

	if (h && !halo_tally__add(h->ranges, key, count, 0))
		h->n_ranges += count;
}

bool halo_taken__enough(const struct halo_program *p)
{
	const struct halo_taken *b = p->taken;

	return b && b->half[0].n_ranges + b->half[1].n_ranges >= ENOUGH;
}

static void add_row(const struct halo_program *p, json_object *list, uint64_t from, uint64_t to,
		    uint64_t count)
{
	json_object *row;
	uint64_t vaddr[2];

	if (!halo_prepared__off_to_vaddr(p->prepared, from, &vaddr[0]) ||
	    !halo_prepared__off_to_vaddr(p->prepared, to, &vaddr[1]))
		return;
	row = json_object_new_array_ext(3);
	json_object_array_add(row, json_object_new_int64((int64_t)vaddr[0]));
	json_object_array_add(row, json_object_new_int64((int64_t)vaddr[1]));
	json_object_array_add(
		row, json_object_new_int64(count > UINT32_MAX ? UINT32_MAX : (int64_t)count));
	json_object_array_add(list, row);
}

static void add_half(const struct halo_program *p, const struct halo_taken_half *h,
		     json_object *edges, json_object *ranges)
{
	uint64_t count, unused;

	for (size_t i = 0; h->edges && i < halo_tally__size(h->edges); i++) {
		const struct halo_edge_key *key = halo_tally__at(h->edges, i, &count, &unused);

		add_row(p, edges, key->from_off, key->to_off, count);
	}
	for (size_t i = 0; h->ranges && i < halo_tally__size(h->ranges); i++) {
		const struct halo_range_key *key = halo_tally__at(h->ranges, i, &count, &unused);

		add_row(p, ranges, key->begin_off, key->end_off, count);
	}
}

json_object *halo_taken__request(const struct halo_program *p)
{
	json_object *obj = json_object_new_object(), *edges = json_object_new_array(),
		    *ranges = json_object_new_array();

	add_half(p, &p->taken->half[0], edges, ranges);
	add_half(p, &p->taken->half[1], edges, ranges);
	json_object_object_add(obj, "ranges", ranges);
	json_object_object_add(obj, "edges", edges);
	return obj;
}

void halo_taken__free(struct halo_program *p)
{
	if (!p->taken)
		return;
	free_half(&p->taken->half[0]);
	free_half(&p->taken->half[1]);
	free(p->taken);
	p->taken = NULL;
}
