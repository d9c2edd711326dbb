/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_TRIAL_H
#define HALO_TRIAL_H

/* One audit as it runs: counting entries, the clock, the timer. Used by section.c alone. */
#include "audit.h"
#include "core.h"

typedef void (*halo_trial_fn)(struct halo_program *p, struct halo_tuning *s,
			      struct halo_group *group, const struct halo_audit_result *result);

/*
 * Audit the section's trial against what it runs now. fn() is called once with the verdict, when the
 * slot may point to either arm, unless the trial is cancelled first. p->trial is set meanwhile.
 */
int halo_trial__start(struct halo_program *p, struct halo_tuning *s, struct halo_group *group,
		      halo_trial_fn fn, struct halo_err *err);
/* Free without a verdict. The slot is the caller's again. */
void halo_trial__cancel(struct halo_program *p);

const struct halo_group *halo_trial__group(const struct halo_trial *t);
struct halo_tuning *halo_trial__section(const struct halo_trial *t);

#endif
