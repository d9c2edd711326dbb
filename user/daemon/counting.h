/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_COUNTING_H
#define HALO_COUNTING_H

/*
 * Bursts of code that counts. A section's root goes to an image that counts what it does, for some
 * milliseconds at a time, until the counts change no more; then it is gone. Samples tell where time
 * goes, counts tell which way branches go.
 */
#include "answer.h"
#include "core.h"

/*
 * What a program may lose to code that counts, of its time: bursts are as far apart as that takes, by
 * how much slower they were measured to be.
 */
#define HALO_COUNTING_DUTY 0.01

/* @profile: member "profile" of later requests, the callee's; NULL: none was to be had, for @why. */
typedef void (*halo_counting_fn)(struct halo_program *p, struct halo_tuning *s,
				 json_object *profile, const char *why);

/*
 * Run @v, which counts what @counted says, in @group. fn() is called once when that has ended and the
 * slot is as it was, unless it is cancelled first. p->counting is set meanwhile.
 */
int halo_counting__start(struct halo_program *p, struct halo_tuning *s, struct halo_group *group,
			 const struct halo_variant *v, const struct halo_counted *counted,
			 halo_counting_fn fn, struct halo_err *err);
/* The slot goes back; nothing is called. */
void halo_counting__cancel(struct halo_program *p);

const struct halo_group *halo_counting__group(const struct halo_counting *c);

/* Member "counters" of a request, for code that is to count in @group. */
json_object *halo_counting__request(const struct halo_program *p, const struct halo_group *group);

#endif
