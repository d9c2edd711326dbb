// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ir.h"
#include "pgo_map.h"
#include "resolve.h"

uint64_t pgo_map__constant(LLVMValueRef inst, unsigned int i)
{
	return LLVMConstIntGetZExtValue(LLVMGetOperand(inst, i));
}

bool pgo_map__is_increment(LLVMValueRef inst)
{
	return ir__is_intrinsic(inst, "llvm.instrprof.increment");
}

bool pgo_map__is_value(LLVMValueRef inst)
{
	return ir__is_intrinsic(inst, "llvm.instrprof.value.profile");
}

/* LLVM's name for the function, from the variable that holds it. Not terminated. */
static const char *profile_name(LLVMValueRef inst, size_t *len)
{
	LLVMValueRef var = LLVMGetOperand(inst, 0);

	return LLVMGetAsString(LLVMGetInitializer(var), len);
}

struct request_counted *pgo_map__find(const struct pgo_map *map, LLVMValueRef inst)
{
	size_t len;
	const char *name = profile_name(inst, &len);

	for (size_t i = map->n_functions; i-- > 0;)
		if (strlen(map->functions[i].name) == len &&
		    !memcmp(map->functions[i].name, name, len))
			return &map->functions[i];
	return NULL;
}

static int add_function(struct pgo_map *map, LLVMValueRef inst)
{
	struct request_counted *f;
	const char *name;
	size_t len;

	f = reallocarray(map->functions, map->n_functions + 1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	map->functions = f;
	f += map->n_functions;
	name = profile_name(inst, &len);
	*f = (struct request_counted){
		.name = strndup(name, len),
		.hash = pgo_map__constant(inst, 1),
		.first = map->n_counters,
		.n = pgo_map__constant(inst, 2),
	};
	if (!f->name)
		return -ENOMEM;
	map->n_functions++;
	map->n_counters += f->n;
	return 0;
}

static int add_functions(struct pgo_map *map, LLVMValueRef fn)
{
	ir__for_each_block(block, fn)
	{
		ir__for_each_inst(inst, block)
		{
			if (pgo_map__is_increment(inst) && !pgo_map__find(map, inst) &&
			    add_function(map, inst))
				return -ENOMEM;
		}
	}
	return 0;
}

static void add_sites(struct pgo_map *map, LLVMValueRef fn)
{
	ir__for_each_block(block, fn)
	{
		ir__for_each_inst(inst, block)
		{
			struct request_counted *f = pgo_map__is_value(inst)
							    ? pgo_map__find(map, inst)
							    : NULL;
			uint64_t kind, site;

			if (!f)
				continue;
			kind = pgo_map__constant(inst, 3);
			site = pgo_map__constant(inst, 4);
			if (kind < REQUEST_KINDS && f->sites[kind] <= site)
				f->sites[kind] = site + 1;
		}
	}
}

int pgo_map__number(struct pgo_map *map, LLVMModuleRef module)
{
	ir__for_each_function(fn, module)
	{
		if (add_functions(map, fn))
			return -ENOMEM;
		add_sites(map, fn);
	}
	for (size_t i = 0; i < map->n_functions; i++) {
		struct request_counted *f = &map->functions[i];

		f->first_site = map->n_sites;
		for (size_t k = 0; k < REQUEST_KINDS; k++)
			map->n_sites += f->sites[k];
	}
	return 0;
}

void pgo_map__drop_names(LLVMModuleRef module)
{
	LLVMValueRef next;

	for (LLVMValueRef v = LLVMGetFirstGlobal(module); v; v = next) {
		const char *name = resolve__name(v);

		next = LLVMGetNextGlobal(v);
		if (!LLVMGetFirstUse(v) &&
		    (!strncmp(name, "__profn_", 8) || !strncmp(name, "__llvm_profile_", 15)))
			LLVMDeleteGlobal(v);
	}
}

void pgo__free_map(struct pgo_map *map)
{
	for (size_t i = 0; i < map->n_functions; i++)
		free(map->functions[i].name);
	free(map->functions);
	memset(map, 0, sizeof(*map));
}
