/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
#ifndef HALO_CONTEXT_BPF_H
#define HALO_CONTEXT_BPF_H

/* Contexts, once they are found: checked against the branch stack, and counted. */
#include "caller_core.h"
#include "maps.bpf.h"

#ifndef EEXIST
#define EEXIST 17
#endif
#ifndef E2BIG
#define E2BIG 7
#endif

static __always_inline void context__check(struct halo_ctx_key *key, __u64 open_call)
{
	bool found = key->nr > 1;
	enum halo_caller caller = caller__check(key, open_call);

	if (caller == HALO_CALLER_UNKNOWN)
		return;
	HALO_COUNT(callers);
	if (caller == HALO_CALLER_AGREES)
		return;
	if (found)
		HALO_COUNT(wrong_caller);
	if (caller == HALO_CALLER_MENDED)
		HALO_COUNT(mended);
}

static __always_inline long context__add(void *table, const struct halo_ctx_key *key)
{
	const struct halo_ctx_val one = {.count = 1};
	struct halo_ctx_val *val = bpf_map_lookup_elem(table, key);
	long err;

	if (!val) {
		err = bpf_map_update_elem(table, key, &one, BPF_NOEXIST);
		if (err != -EEXIST)
			return err;
		val = bpf_map_lookup_elem(table, key);
		if (!val)
			return err;
	}
	__sync_fetch_and_add(&val->count, 1);
	return 0;
}

static __always_inline void context__count(const struct halo_ctx_key *key)
{
	long err;

	if (halo_generation & 1)
		err = context__add(&halo_ctx_b, key);
	else
		err = context__add(&halo_ctx_a, key);
	if (err == -E2BIG)
		HALO_COUNT(ctx_full);
	else if (err)
		HALO_COUNT(ctx_busy);
}

#endif
