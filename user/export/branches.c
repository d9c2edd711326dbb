// SPDX-License-Identifier: BSD-2-Clause
/* Branch profiles as other tools read them: BOLT's and llvm-profgen's. */
#include "../lib/util.h"
#include "profile.h"

static int need_branches(const struct profile *p, struct halo_err *err)
{
	json_object *tier = NULL, *reason = NULL;

	if (!p->program.symbols) {
		halo_err__set(err, -ENODATA, "the program's file can't be read any more");
		return -ENODATA;
	}
	if (p->n_edges)
		return 0;
	json_object_object_get_ex(p->header, "tier", &tier);
	json_object_object_get_ex(p->header, "tier_reason", &reason);
	halo_err__set(err, -ENODATA, "no branches were recorded, and this format is made of them");
	halo_err__cause(err, "sampling is by %s: %.180s", tier ? json_object_get_string(tier) : "?",
			reason ? json_object_get_string(reason) : "");
	halo_err__remedy(err,
			 "use a CPU that records branches (mostly not in virtual machines), or "
			 "--format llvm, pprof or folded");
	return -ENODATA;
}

/* BOLT takes an end outside of the program as address 0. */
int profile__write_bolt(const struct profile *p, FILE *out, struct halo_err *err)
{
	int ret = need_branches(p, err);

	if (ret)
		return ret;
	for (size_t i = 0; i < p->n_edges; i++)
		fprintf(out, "B %lx %lx %lu %lu\n", p->edges[i].from, p->edges[i].to,
			p->edges[i].count, p->edges[i].mispredicts);
	for (size_t i = 0; i < p->n_ranges; i++)
		fprintf(out, "F %lx %lx %lu\n", p->ranges[i].begin, p->ranges[i].end,
			p->ranges[i].count);
	return ferror(out) ? -EIO : 0;
}

/* llvm-profgen counts addresses from the first executable segment, unless told --use-offset=0. */
int profile__write_unsymbolized(const struct profile *p, FILE *out, struct halo_err *err)
{
	int ret = need_branches(p, err);
	size_t inside = 0;
	uint64_t base;

	if (ret)
		return ret;
	base = halo_symbols__text_base(p->program.symbols);
	fprintf(out, "%zu\n", p->n_ranges);
	for (size_t i = 0; i < p->n_ranges; i++)
		fprintf(out, "%lx-%lx:%lu\n", p->ranges[i].begin - base, p->ranges[i].end - base,
			p->ranges[i].count);
	for (size_t i = 0; i < p->n_edges; i++)
		inside += p->edges[i].from && p->edges[i].to;
	fprintf(out, "%zu\n", inside);
	for (size_t i = 0; i < p->n_edges; i++)
		if (p->edges[i].from && p->edges[i].to)
			fprintf(out, "%lx->%lx:%lu\n", p->edges[i].from - base,
				p->edges[i].to - base, p->edges[i].count);
	return ferror(out) ? -EIO : 0;
}
