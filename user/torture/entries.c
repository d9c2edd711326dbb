// SPDX-License-Identifier: BSD-2-Clause
/* Counting entries, as audits use them: behind the image that they lead to. */
#include <string.h>

#include "../daemon/names.h"
#include "../lib/util.h"
#include "internal.h"

#define ARMS (TORTURE_TARGETS / 2)
#define PAD  0xcc

static int emit(const struct torture *t, struct torture_version *v, uint64_t off, uint8_t *code,
		struct halo_err *err)
{
	for (unsigned int arm = 0; arm < ARMS; arm++) {
		uint64_t at = arm * HALO_COUNT_ENTRY_SIZE;
		int64_t addr = halo_prepared__arena(t->prepared) + (int64_t)(off + at);
		int n = halo_count_entry__emit(code + at, addr, v->target[arm],
					       t->prepared->stub.slots_begin, arm, t->rseq_offset);

		if (n < 0)
			return halo_err__set(err, n, "the counting entry can't reach its target");
		v->target[ARMS + arm] = addr;
	}
	return 0;
}

int torture__write_entries(struct torture *t, struct torture_version *v, struct halo_err *err)
{
	const uint32_t size = ARMS * HALO_COUNT_ENTRY_SIZE;
	uint64_t off = halo_arena__next(t->arena);
	uint8_t code[ARMS * HALO_COUNT_ENTRY_SIZE + HALO_FRAMES_SIZE];
	int64_t direct[ARMS] = {v->target[0], v->target[1]};
	int ret;

	memset(code, PAD, sizeof(code));
	ret = emit(t, v, off, code, err);
	halo_frames__leaf(code + size, size);
	if (!ret)
		ret = halo_arena__write(t->arena, off, code, sizeof(code), size, err);
	if (ret)
		memcpy(&v->target[ARMS], direct, sizeof(direct));
	else
		halo_names__entries(t->arena, off, size, v->func);
	return ret;
}

void torture__know_rseq(struct torture *t, int64_t rseq_offset)
{
	struct halo_err err = {0};

	if (t->counting)
		return;
	t->counting = true;
	t->rseq_offset = rseq_offset;
	/* Compiled before there was any process: nobody switches yet. */
	for (unsigned int i = 0; i < t->n_versions; i++)
		if (torture__write_entries(t, &t->versions[i], &err))
			torture__refuse(t, t->versions[i].func, true, err.what);
}
