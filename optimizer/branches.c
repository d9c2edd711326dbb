// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../tools/prepare/probes.h"
#include "../user/lib/util.h"
#include "branches.h"

/* How often the instructions from here up to the next step ran. */
struct step {
	uint64_t addr;
	int64_t change;
};

static int by_step(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

static int compare(uint64_t a_function, uint64_t a_number, uint64_t b_function, uint64_t b_number)
{
	if (a_function != b_function)
		return a_function < b_function ? -1 : 1;
	return (a_number > b_number) - (a_number < b_number);
}

static int by_block(const void *a, const void *b)
{
	const struct block_count *x = a, *y = b;

	return compare(x->function, x->number, y->function, y->number);
}

static int by_call(const void *a, const void *b)
{
	const struct call_count *x = a, *y = b;
	int order = compare(x->function, x->number, y->function, y->number);

	if (order)
		return order;
	return (x->target > y->target) - (x->target < y->target);
}

static int new_steps(const struct request *req, struct step **out)
{
	struct step *steps = calloc(2 * req->n_ranges + 1, sizeof(*steps));

	if (!steps)
		return -ENOMEM;
	for (size_t i = 0; i < req->n_ranges; i++) {
		const struct request_range *r = &req->ranges[i];

		steps[2 * i] = (struct step){r->begin, (int64_t)r->count};
		steps[2 * i + 1] = (struct step){r->end + 1, -(int64_t)r->count};
	}
	qsort(steps, 2 * req->n_ranges, sizeof(*steps), by_step);
	*out = steps;
	return 0;
}

/* Copies of a block add up. */
static void join_blocks(struct branches *out)
{
	size_t kept = 0;

	qsort(out->blocks, out->n_blocks, sizeof(*out->blocks), by_block);
	for (size_t i = 0; i < out->n_blocks; i++)
		if (kept && !by_block(&out->blocks[i], &out->blocks[kept - 1]))
			out->blocks[kept - 1].count += out->blocks[i].count;
		else
			out->blocks[kept++] = out->blocks[i];
	out->n_blocks = kept;
}

static int count_blocks(const struct probes *probes, const struct request *req,
			struct branches *out)
{
	__cleanup_free struct step *steps = NULL;
	size_t next = 0;
	int64_t sum = 0;

	out->blocks = calloc(probes->n + 1, sizeof(*out->blocks));
	if (!out->blocks || new_steps(req, &steps))
		return -ENOMEM;
	for (size_t i = 0; i < probes->n; i++) {
		const struct probe *probe = &probes->v[i];

		for (; next < 2 * req->n_ranges && steps[next].addr <= probe->addr; next++)
			sum += steps[next].change;
		if (!(probe->number & HALO_PROBE_CALL))
			out->blocks[out->n_blocks++] =
				(struct block_count){probe->function, probe->number, (uint64_t)sum};
	}
	join_blocks(out);
	return 0;
}

/* The probe of the call at @addr: the nearest before it in the same function's code. */
static const struct probe *probe_of_call(const struct halo_prepared *p, const struct probes *probes,
					 uint64_t addr)
{
	const struct halo_func *f = halo_prepared__func_at(p, addr);
	size_t low = 0, high = probes->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (probes->v[middle].addr <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	for (; f && low && probes->v[low - 1].addr >= f->addr; low--)
		if (probes->v[low - 1].number & HALO_PROBE_CALL)
			return &probes->v[low - 1];
	return NULL;
}

/* Direct calls have no probe of their own, but may find that of an indirect one before them. */
static bool is_direct(const struct halo_prepared *p, uint64_t addr)
{
	uint64_t off;

	return halo_prepared__vaddr_to_off(p, addr, &off) && off < p->map_size &&
	       p->map[off] == 0xe8;
}

static void join_calls(struct branches *out)
{
	size_t kept = 0;

	qsort(out->calls, out->n_calls, sizeof(*out->calls), by_call);
	for (size_t i = 0; i < out->n_calls; i++)
		if (kept && !by_call(&out->calls[i], &out->calls[kept - 1]))
			out->calls[kept - 1].count += out->calls[i].count;
		else
			out->calls[kept++] = out->calls[i];
	out->n_calls = kept;
}

static int count_calls(const struct halo_prepared *p, const struct probes *probes,
		       const struct request *req, struct branches *out)
{
	out->calls = calloc(req->n_edges + 1, sizeof(*out->calls));
	if (!out->calls)
		return -ENOMEM;
	for (size_t i = 0; i < req->n_edges; i++) {
		const struct request_edge *e = &req->edges[i];
		const struct halo_func *target = halo_prepared__func_at(p, e->to);
		const struct probe *probe;

		if (!target || target->addr != e->to || is_direct(p, e->from))
			continue;
		probe = probe_of_call(p, probes, e->from);
		if (probe)
			out->calls[out->n_calls++] = (struct call_count){
				probe->function, probe->number, target, e->count};
	}
	join_calls(out);
	return 0;
}

int branches__read(const struct halo_prepared *p, const struct request *req, struct branches *out,
		   struct halo_err *err)
{
	struct probes probes;
	int ret;

	memset(out, 0, sizeof(*out));
	ret = probes__read(p, &probes, err);
	if (!ret) {
		ret = count_blocks(&probes, req, out);
		if (!ret)
			ret = count_calls(p, &probes, req, out);
		if (ret)
			halo_err__set(err, ret, "out of memory");
	}
	probes__free(&probes);
	return ret;
}

void branches__free(struct branches *branches)
{
	free(branches->blocks);
	free(branches->calls);
	memset(branches, 0, sizeof(*branches));
}

const struct block_count *branches__block(const struct branches *branches, uint64_t function,
					  uint64_t number)
{
	const struct block_count key = {.function = function, .number = number};

	return branches->n_blocks
		       ? bsearch(&key, branches->blocks, branches->n_blocks, sizeof(key), by_block)
		       : NULL;
}

const struct call_count *branches__calls(const struct branches *branches, uint64_t function,
					 uint64_t number, size_t *n)
{
	size_t low = 0, high = branches->n_calls, first;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(branches->calls[middle].function, branches->calls[middle].number,
			    function, number) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (first = low; low < branches->n_calls && branches->calls[low].function == function &&
			  branches->calls[low].number == number;)
		low++;
	*n = low - first;
	return &branches->calls[first];
}
