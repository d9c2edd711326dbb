// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <string.h>

#include "../lib/util.h"
#include "counting.h"
#include "decide.h"
#include "program.h"
#include "tuning.h"
#include "trial.h"

#define MAX_INTERRUPTIONS 20 /* audits cut short by the end of a process */

static const char *const state_text[] = {
	[HALO_TUNING_COMPILING] = "compiling", [HALO_TUNING_AUDITING] = "auditing",
	[HALO_TUNING_ADOPTED] = "adopted",     [HALO_TUNING_ROLLED_BACK] = "rolled back",
	[HALO_TUNING_FAILED] = "failed",
};

const char *halo_tuning__state_text(enum halo_tuning_state state)
{
	return state_text[state];
}

struct halo_tuning *halo_tuning__find(struct halo_program *p, const struct halo_func *root)
{
	for (unsigned int i = 0; i < p->n_tunings; i++)
		if (p->tunings[i].root == root)
			return &p->tunings[i];
	return NULL;
}

struct halo_tuning *halo_tuning__get(struct halo_program *p, const struct halo_func *root)
{
	struct halo_tuning *s = halo_tuning__find(p, root);

	if (s || p->n_tunings == HALO_MAX_SECTIONS)
		return s;
	s = &p->tunings[p->n_tunings++];
	memset(s, 0, sizeof(*s));
	s->root = root;
	s->speedup = s->low = s->high = 1.0;
	return s;
}

void halo_tuning__settle_slot(const struct halo_tuning *s, struct halo_group *group)
{
	if (s->adopted)
		halo_family__set_slot(group->family, s->root->slot, s->adopted->entry);
	else
		halo_family__reset_slot(group->family, s->root);
}

static void settle_everywhere(struct halo_program *p, const struct halo_tuning *s)
{
	struct halo_group *group;

	TAILQ_FOREACH(group, &p->groups, link)
		if (group->procs)
			halo_tuning__settle_slot(s, group);
}

void halo_tuning__apply(struct halo_program *p, struct halo_group *group)
{
	for (unsigned int i = 0; i < p->n_tunings; i++)
		if (p->tunings[i].adopted)
			halo_tuning__settle_slot(&p->tunings[i], group);
}

void halo_tuning__settle(struct halo_program *p, struct halo_group *group)
{
	const struct halo_tuning *s;
	size_t i;

	for (i = 0; i < p->prepared->n_funcs; i++) {
		const struct halo_func *func = &p->prepared->funcs[i];

		if (!func->slot)
			continue;
		s = halo_tuning__find(p, func);
		if (s)
			halo_tuning__settle_slot(s, group);
		else
			halo_family__reset_slot(group->family, func);
	}
}

static void adopt(struct halo_program *p, struct halo_tuning *s, const struct halo_audit_result *r)
{
	bool first = !s->adopted;

	s->adopted = s->trial;
	s->speedup = r->speedup * (first ? 1.0 : s->speedup);
	s->low = r->low * (first ? 1.0 : s->low);
	s->high = r->high * (first ? 1.0 : s->high);
	s->pairs = r->pairs;
	s->state = HALO_TUNING_ADOPTED;
	snprintf(s->reason, sizeof(s->reason), "%s", r->reason);
	halo_program__note(p, "%s: adopted %s: %s", s->root->name, s->adopted->name, r->reason);
}

static void reject(struct halo_program *p, struct halo_tuning *s, const struct halo_audit_result *r)
{
	halo_program__note(p, "%s: rolled back %s: %s", s->root->name, s->trial->name, r->reason);
	if (s->adopted) {
		s->state = HALO_TUNING_ADOPTED;
		return;
	}
	s->speedup = r->speedup;
	s->low = r->low;
	s->high = r->high;
	s->pairs = r->pairs;
	s->state = HALO_TUNING_ROLLED_BACK;
	snprintf(s->reason, sizeof(s->reason), "%s", r->reason);
}

static void on_verdict(struct halo_program *p, struct halo_tuning *s, struct halo_group *group,
		       const struct halo_audit_result *result)
{
	(void)group;
	s->trials++;
	if (result->pairs)
		s->ns_per_entry = result->ns_per_entry[result->verdict == HALO_AUDIT_BETTER];
	if (result->verdict == HALO_AUDIT_BETTER)
		adopt(p, s, result);
	else
		reject(p, s, result);
	s->trial = NULL;
	settle_everywhere(p, s);
	/* No other variant would be entered either. */
	if (result->verdict == HALO_AUDIT_NO_ENTRIES)
		halo_tuning__finish(p, s);
	halo_decide__next(p, s);
}

int halo_tuning__audit(struct halo_program *p, struct halo_tuning *s, struct halo_group *group,
		       struct halo_err *err)
{
	int ret = halo_trial__start(p, s, group, on_verdict, err);

	if (ret)
		return ret;
	if (!s->adopted)
		s->state = HALO_TUNING_AUDITING;
	halo_program__note(p, "%s: audit of %s against %s", s->root->name, s->trial->name,
			   s->adopted ? s->adopted->name : "original");
	return 0;
}

void halo_tuning__cancel_audit(struct halo_program *p)
{
	struct halo_tuning *s;

	halo_counting__cancel(p);
	if (!p->trial)
		return;
	s = halo_trial__section(p->trial);
	halo_trial__cancel(p);
	settle_everywhere(p, s);
}

void halo_tuning__group_gone(struct halo_program *p, struct halo_group *group)
{
	struct halo_tuning *s;

	/* It is counted anew in another one, since nothing was noted of this one. */
	if (p->counting && halo_counting__group(p->counting) == group)
		halo_counting__cancel(p);
	if (!p->trial || halo_trial__group(p->trial) != group)
		return;
	s = halo_trial__section(p->trial);
	halo_trial__cancel(p);
	halo_program__note(p, "%s: the process ended during the audit of %s", s->root->name,
			   s->trial->name);
	if (++s->interruptions >= MAX_INTERRUPTIONS)
		halo_tuning__fail(p, s, "no process lived long enough for an audit");
}

void halo_tuning__finish(struct halo_program *p, struct halo_tuning *s)
{
	s->handled = true;
	s->trial = NULL;
	if (p->current == s)
		p->current = NULL;
	if (s->adopted)
		s->state = HALO_TUNING_ADOPTED;
	else if (s->state != HALO_TUNING_FAILED)
		s->state = HALO_TUNING_ROLLED_BACK;
}

void halo_tuning__fail(struct halo_program *p, struct halo_tuning *s, const char *reason)
{
	if (!s->adopted) {
		s->state = HALO_TUNING_FAILED;
		snprintf(s->reason, sizeof(s->reason), "%s", reason);
	}
	halo_program__note(p, "%s: %s", s->root->name, reason);
	halo_tuning__finish(p, s);
}

void halo_tuning__reset_all(struct halo_program *p)
{
	halo_counting__cancel(p);
	halo_trial__cancel(p);
	for (unsigned int i = 0; i < p->n_tunings; i++) {
		p->tunings[i].adopted = NULL;
		p->tunings[i].trial = NULL;
		settle_everywhere(p, &p->tunings[i]);
	}
}

void halo_tuning__fail_all(struct halo_program *p, const char *reason)
{
	halo_tuning__reset_all(p);
	for (unsigned int i = 0; i < p->n_tunings; i++) {
		struct halo_tuning *s = &p->tunings[i];

		s->state = HALO_TUNING_FAILED;
		s->speedup = s->low = s->high = 1.0;
		snprintf(s->reason, sizeof(s->reason), "%s", reason);
		halo_tuning__finish(p, s);
	}
}

void halo_tuning__forget_all(struct halo_program *p)
{
	for (unsigned int i = 0; i < p->n_tunings; i++)
		json_object_put(p->tunings[i].profile);
	p->n_tunings = 0;
}

bool halo_tuning__any_active(const struct halo_program *p, const struct halo_group *group)
{
	if (p->trial && halo_trial__group(p->trial) == group)
		return true;
	if (p->counting && halo_counting__group(p->counting) == group)
		return true;
	for (unsigned int i = 0; i < p->n_tunings; i++)
		if (p->tunings[i].adopted)
			return true;
	return false;
}
