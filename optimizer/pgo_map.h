/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_PGO_MAP_H
#define OPT_PGO_MAP_H

/* The intrinsics that shim__count() inserts, and the numbers of the counters that they stand for. */
#include "pgo.h"

bool pgo_map__is_increment(LLVMValueRef inst);
bool pgo_map__is_value(LLVMValueRef inst);
/* Operand @i of such an intrinsic: 1 hash, 2 number of counters, 3 counter; of a value: 3 kind, 4 site. */
uint64_t pgo_map__constant(LLVMValueRef inst, unsigned int i);

/* Number the module's counters, function by function, from map->n_counters on; then its sites. */
int pgo_map__number(struct pgo_map *map, LLVMModuleRef module);
/* The function whose counter or site @inst is, or NULL. */
struct request_counted *pgo_map__find(const struct pgo_map *map, LLVMValueRef inst);

/* Drop the names of functions, and what a runtime would look at. */
void pgo_map__drop_names(LLVMModuleRef module);

#endif
