/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_TUNING_H
#define HALO_TUNING_H

/*
 * Which code a section's root runs: images go into the arena, slots are switched, variants are
 * audited, adopted or rolled back. A switch is one aligned store per group of processes.
 */
#include "answer.h"
#include "core.h"

/* The program's section with this root; a new one if there is none. NULL: no room for more. */
struct halo_tuning *halo_tuning__get(struct halo_program *p, const struct halo_func *root);
struct halo_tuning *halo_tuning__find(struct halo_program *p, const struct halo_func *root);

/*
 * Check the image in the worker's folder and write it into the arena, as a variant of the section.
 * @config: the configuration's name.
 */
int halo_tuning__install(struct halo_program *p, struct halo_tuning *s,
			 const struct halo_answer *answer, const char *config, int dir_fd,
			 struct halo_variant **out, struct halo_err *err);
/* Whether the same object was installed for this section before. */
bool halo_tuning__has_hash(const struct halo_program *p, const struct halo_tuning *s,
			   const char *hash);

/* Point the slot to what the section has adopted, or to the original. */
void halo_tuning__settle_slot(const struct halo_tuning *s, struct halo_group *group);
/* Let all adopted variants run in a group that was just attached. */
void halo_tuning__apply(struct halo_program *p, struct halo_group *group);

/* The same for slots that may lead anywhere: an earlier daemon has set them. */
void halo_tuning__settle(struct halo_program *p, struct halo_group *group);

/* Audit the section's trial in @group. The verdict is acted upon, then halo_decide__next() called. */
int halo_tuning__audit(struct halo_program *p, struct halo_tuning *s, struct halo_group *group,
		       struct halo_err *err);
/* End a running audit without a verdict; the slot goes back to what was adopted before. */
void halo_tuning__cancel_audit(struct halo_program *p);

/* The group is about to be freed. */
void halo_tuning__group_gone(struct halo_program *p, struct halo_group *group);

/* No more is tried on the section. Its state follows from what is adopted. */
void halo_tuning__finish(struct halo_program *p, struct halo_tuning *s);
/* The section's next trial is not to be had; adopted code stays. */
void halo_tuning__fail(struct halo_program *p, struct halo_tuning *s, const char *reason);

/* Every slot of the program back to the original, and every section failed. */
void halo_tuning__fail_all(struct halo_program *p, const char *reason);
/* Every slot of the program back to the original; for the end. */
void halo_tuning__reset_all(struct halo_program *p);

/* Drop what is known of all sections; no slot is touched. */
void halo_tuning__forget_all(struct halo_program *p);

/* Whether any slot of the group points into the arena. */
bool halo_tuning__any_active(const struct halo_program *p, const struct halo_group *group);

/* The variant whose image holds link-time address @vaddr, or NULL. */
const struct halo_variant *halo_variant__at(const struct halo_program *p, int64_t vaddr);
/* The source function of that address, the variant's root if it can't be told. */
const struct halo_func *halo_variant__func(const struct halo_variant *v, int64_t vaddr);

const char *halo_tuning__state_text(enum halo_tuning_state state);

#endif
