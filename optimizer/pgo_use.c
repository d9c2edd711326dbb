// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_TAG "opt"
#include "../tools/prepare/probes.h"
#include "../user/lib/log.h"
#include "../user/lib/util.h"
#include "ir.h"
#include "pgo.h"
#include "shim.h"

/* No function and no size: all values of a site that were not recorded one by one. */
#define OTHERS 1ULL

struct use {
	const struct halo_prepared *p;
	struct bound *bound;
	const struct section *section;
	const struct request_profile *profile;
	struct shim_record *records;
	struct shim_site *sites;   /* of all records, in their order */
	struct shim_value *values; /* of all sites */
	size_t n_values;
};

static const struct member *member_at(const struct section *section, const struct halo_func *row)
{
	for (size_t i = 0; i < section->n_members; i++)
		if (section->members[i].row == row)
			return &section->members[i];
	return NULL;
}

/* What profiles know the function at run-time address @addr by; OTHERS: the module has none. */
static uint64_t target_id(const struct use *u, uint64_t addr)
{
	uint64_t vaddr = addr - u->profile->bias;
	const struct halo_func *row = halo_prepared__func_at(u->p, vaddr);
	const struct member *m;
	char name[4096];
	LLVMValueRef fn;

	if (!row || row->addr != vaddr)
		return OTHERS;
	m = member_at(u->section, row);
	if (m)
		bind__member_name(m, name, sizeof(name));
	else
		snprintf(name, sizeof(name), "%s", row->name);
	fn = LLVMGetNamedFunction(u->bound->module, name);
	return fn ? shim__function_id(fn) : OTHERS;
}

/* Values of site @number, from where *next is; the first of them is the count of all. */
static void fill_site(struct use *u, uint32_t number, uint32_t kind, size_t *next,
		      struct shim_site *site)
{
	const struct request_value *v = u->profile->values;
	uint64_t all = 0, seen = 0;
	bool first = true;

	*site = (struct shim_site){.kind = kind, .values = &u->values[u->n_values]};
	while (*next < u->profile->n_values && v[*next].site < number)
		(*next)++;
	for (; *next < u->profile->n_values && v[*next].site == number; (*next)++, first = false) {
		if (first) {
			all = v[*next].count;
			continue;
		}
		if (!v[*next].count)
			continue;
		seen += v[*next].count;
		u->values[u->n_values++] = (struct shim_value){
			.value = kind == PGO_KIND_TARGET ? target_id(u, v[*next].value)
							 : v[*next].value,
			.count = v[*next].count,
		};
	}
	if (all > seen)
		u->values[u->n_values++] = (struct shim_value){OTHERS, all - seen};
	site->n_values = (size_t)(&u->values[u->n_values] - site->values);
}

static size_t sites_of(const struct request_counted *f)
{
	size_t n = 0;

	for (size_t k = 0; k < REQUEST_KINDS; k++)
		n += f->sites[k];
	return n;
}

static int fill(struct use *u)
{
	const struct request_profile *p = u->profile;
	size_t n_sites = 0, site = 0, next = 0;

	for (size_t i = 0; i < p->n_functions; i++)
		n_sites += sites_of(&p->functions[i]);
	u->records = calloc(p->n_functions + 1, sizeof(*u->records));
	u->sites = calloc(n_sites + 1, sizeof(*u->sites));
	u->values = calloc(p->n_values + n_sites + 1, sizeof(*u->values));
	if (!u->records || !u->sites || !u->values)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_functions; i++) {
		const struct request_counted *f = &p->functions[i];
		uint32_t number = f->first_site;

		u->records[i] = (struct shim_record){
			.name = f->name,
			.hash = f->hash,
			.counts = &p->counts[f->first],
			.n_counts = f->n,
			.sites = &u->sites[site],
			.n_sites = sites_of(f),
		};
		for (uint32_t k = 0; k < REQUEST_KINDS; k++)
			for (uint32_t s = 0; s < f->sites[k]; s++)
				fill_site(u, number++, k, &next, &u->sites[site++]);
	}
	return 0;
}

/*
 * A comparison with a target is with the program's function, whose address pointers hold, while the
 * call behind it goes to our own copy.
 */
static int split_addresses(struct use *u, struct halo_err *err)
{
	char name[4096];
	int ret = 0;

	for (size_t i = 0; i < u->section->n_members && !ret; i++) {
		const struct member *m = &u->section->members[i];
		LLVMValueRef fn;

		bind__member_name(m, name, sizeof(name));
		fn = LLVMGetNamedFunction(u->bound->module, name);
		if (!fn)
			continue;
		ret = bind__split_address(u->bound, m, fn, err);
		if (m->target)
			LLVMSetLinkage(fn, LLVMInternalLinkage);
	}
	return ret;
}

static int use(struct units *units, struct bound *bound, const struct section *section,
	       const struct request_profile *profile, LLVMTargetMachineRef machine,
	       struct halo_err *err)
{
	struct use u = {.p = units->p, .bound = bound, .section = section, .profile = profile};
	unsigned int mismatched = 0;
	int ret;

	ret = fill(&u);
	if (ret)
		halo_err__set(err, ret, "out of memory");
	else
		ret = shim__use_counts(bound->module, machine, u.records, profile->n_functions,
				       &mismatched);
	if (ret && !err->code)
		halo_err__set(err, ret, "LLVM refuses the counts");
	if (mismatched)
		log_info("counts of %u functions are of other code", mismatched);
	free(u.records);
	free(u.sites);
	free(u.values);
	return ret ? ret : split_addresses(&u, err);
}

int pgo__use(struct units *units, struct bound *bound, const struct section *section,
	     const struct request_profile *profile, LLVMTargetMachineRef machine,
	     struct halo_err *err)
{
	shim__preinline(bound->module, machine);
	return use(units, bound, section, profile, machine, err);
}

int pgo__use_branches(struct units *units, struct bound *bound, const struct section *section,
		      LLVMTargetMachineRef machine, struct request_profile *inferred,
		      struct halo_err *err)
{
	int ret;

	shim__preinline(bound->module, machine);
	ret = pgo__infer(units, bound->module, machine, inferred, err);
	halo_probes__remove(bound->module);
	return ret ? ret : use(units, bound, section, inferred, machine, err);
}
