// SPDX-License-Identifier: BSD-2-Clause
#include "../tools/prepare/probes.h"
#include "ir.h"
#include "pgo.h"

#define FREQUENT 0.05 /* of the calls from one place */

struct targets {
	const struct halo_prepared *p;
	const struct request_profile *profile;
	const struct halo_func **out;
	size_t n;
};

static void add(struct targets *t, uint64_t addr)
{
	uint64_t vaddr = addr - t->profile->bias;
	const struct halo_func *row = halo_prepared__func_at(t->p, vaddr);

	if (!row || row->addr != vaddr || t->n == PGO_TARGETS_MAX)
		return;
	for (size_t i = 0; i < t->n; i++)
		if (t->out[i] == row)
			return;
	t->out[t->n++] = row;
}

/* The first value of a site is the count of all. */
static void add_site(struct targets *t, uint32_t site)
{
	const struct request_value *v = t->profile->values;
	uint64_t all = 0;
	bool first = true;

	for (size_t i = 0; i < t->profile->n_values; i++) {
		if (v[i].site != site)
			continue;
		if (!first && (double)v[i].count >= FREQUENT * (double)all)
			add(t, v[i].value);
		if (first)
			all = v[i].count;
		first = false;
	}
}

size_t pgo__targets(const struct halo_prepared *p, const struct request_profile *profile,
		    const struct halo_func *out[PGO_TARGETS_MAX])
{
	struct targets t = {.p = p, .profile = profile, .out = out};

	for (size_t i = 0; i < profile->n_functions; i++) {
		const struct request_counted *f = &profile->functions[i];

		for (uint32_t s = 0; s < f->sites[PGO_KIND_TARGET]; s++)
			add_site(&t, f->first_site + s);
	}
	return t.n;
}

static size_t add_recorded(const struct call_count *calls, size_t n_calls,
			   const struct halo_func *out[PGO_TARGETS_MAX], size_t n)
{
	uint64_t all = 0;
	size_t k;

	for (size_t i = 0; i < n_calls; i++)
		all += calls[i].count;
	for (size_t i = 0; i < n_calls && n < PGO_TARGETS_MAX; i++) {
		if ((double)calls[i].count < FREQUENT * (double)all)
			continue;
		for (k = 0; k < n && out[k] != calls[i].target;)
			k++;
		if (k == n)
			out[n++] = calls[i].target;
	}
	return n;
}

size_t pgo__recorded_targets(const struct branches *branches, LLVMValueRef fn,
			     const struct halo_func *out[PGO_TARGETS_MAX], size_t n)
{
	const struct call_count *calls;
	uint64_t function, number;
	size_t n_calls;

	ir__for_each_block(block, fn)
	{
		ir__for_each_inst(inst, block)
		{
			if (!halo_probe__read(inst, &function, &number) ||
			    !(number & HALO_PROBE_CALL))
				continue;
			calls = branches__calls(branches, function, number, &n_calls);
			n = add_recorded(calls, n_calls, out, n);
		}
	}
	return n;
}
