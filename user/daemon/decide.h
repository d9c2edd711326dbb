/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_DECIDE_H
#define HALO_DECIDE_H

/* What is optimized next, with which configuration, and when that ends. */
#include "core.h"

#define HALO_FRESH_SAMPLES 100	/* before a section is chosen */
#define HALO_HOT_SHARE	   0.05 /* of a program's samples: less is not worth a section */

/* Called after each drain: start what is due. */
void halo_decide__tick(struct halo_program *p);
/* The section's trial has its verdict: try the next configuration, or go on to the next section. */
void halo_decide__next(struct halo_program *p, struct halo_tuning *s);
/* End the program's worker and audit, if any. */
void halo_decide__cancel(struct halo_program *p);

/*
 * Own-code functions of at least HALO_HOT_SHARE of all samples whose section is not settled: their
 * addresses, hottest first, at most @max. Returns their number.
 */
size_t halo_decide__hot(struct halo_program *p, uint64_t *addr, size_t max);

#endif
