/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
#ifndef HALO_CALLER_CORE_H
#define HALO_CALLER_CORE_H

/*
 * Does the innermost caller that a stack walk found agree with the branch stack? The newest call that
 * has not returned is what entered the function that runs (or the one that jumped to it at its end).
 */
#include "halo_bpf.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#define CALLER_CALL_SIZE 15 /* bytes; no instruction is longer */

enum halo_caller {
	HALO_CALLER_UNKNOWN, /* no open call in the stack, or no caller to compare with */
	HALO_CALLER_AGREES,
	HALO_CALLER_WRONG,
	HALO_CALLER_MENDED, /* was wrong, or none was found: now the open call's */
};

/*
 * Frame pointers miss the innermost caller wherever the function has not set up its frame yet, or has
 * taken it down: put it in. What it was found by is a call, not the return address behind it: a frame
 * one byte into the call does for all who look one byte before a return address.
 */
static __always_inline void caller__mend(struct halo_ctx_key *key, __u64 open_call)
{
	/* One after the other: the compiler would load more of them at once than a stack holds. */
	volatile __u64 *frame = key->frame;

	for (int i = HALO_MAX_FRAMES - 1; i > 1; i--)
		frame[i] = frame[i - 1];
	key->frame[1] = open_call + 1;
	if (key->nr < 2)
		key->end = HALO_END_NO_RULE;
	if (key->nr < HALO_MAX_FRAMES)
		key->nr++;
	else
		key->end = HALO_END_DEPTH;
	key->quality = HALO_CTX_MENDED;
}

/* @open_call: the frame of the call; 0: none. Only callers found by frame pointers are mended. */
static __always_inline enum halo_caller caller__check(struct halo_ctx_key *key, __u64 open_call)
{
	__u64 caller = key->nr > 1 ? key->frame[1] : 0;

	if (!open_call || (key->nr > 1 && !caller))
		return HALO_CALLER_UNKNOWN;
	if (caller > open_call && caller - open_call <= CALLER_CALL_SIZE)
		return HALO_CALLER_AGREES;
	if (key->quality != HALO_CTX_LEAF && key->quality != HALO_CTX_FP)
		return HALO_CALLER_WRONG;
	caller__mend(key, open_call);
	return HALO_CALLER_MENDED;
}

#endif
