// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <string.h>

#include "../lib/util.h"
#include "answer.h"
#include "taken.h"
#include "counting.h"
#include "decide.h"
#include "identity.h"
#include "job.h"
#include "process.h"
#include "program.h"
#include "request.h"
#include "tuning.h"

#define MAX_JOBS      1		      /* workers at a time, of all programs */
#define MAX_CRASHES   2		      /* of workers on one root */
#define LOOK_AGAIN_NS (10 * HALO_SEC) /* at a program that had nothing to gain */
#define MIN_ROOM      (64ULL << 10)   /* less arena than that is full */
#define SPARE_ROOM    (64ULL << 10)   /* kept for counting entries */
#define MAX_HOT	      32

static void settle(struct halo_program *p, const char *reason)
{
	uint64_t hot[MAX_HOT];
	size_t n = halo_decide__hot(p, hot, MAX_HOT);

	p->settled = true;
	p->settled_ns = halo_loop__now();
	if (strcmp(p->settled_reason, reason))
		halo_program__note(p, "nothing more to try: %s", reason);
	snprintf(p->settled_reason, sizeof(p->settled_reason), "%s", reason);
	free(p->settled_hot);
	p->settled_hot = calloc(n + 1, sizeof(*hot));
	p->n_settled_hot = p->settled_hot ? n : 0;
	memcpy(p->settled_hot ? p->settled_hot : hot, hot, p->n_settled_hot * sizeof(*hot));
}

/* Whether a function is hot now that was not when the program was last looked at. */
static bool profile_changed(struct halo_program *p)
{
	uint64_t hot[MAX_HOT];
	size_t n = halo_decide__hot(p, hot, MAX_HOT);

	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		while (k < p->n_settled_hot && p->settled_hot[k] != hot[i])
			k++;
		if (k == p->n_settled_hot)
			return true;
	}
	return false;
}

static const struct halo_func *find_blame(struct halo_program *p)
{
	uint64_t hot[MAX_HOT];
	size_t n = halo_decide__hot(p, hot, MAX_HOT);

	for (size_t i = 0; i < n; i++) {
		const struct halo_func *f = halo_prepared__func_at(p->prepared, hot[i]);

		if (f && f->slot)
			return f;
	}
	return NULL;
}

static void on_job_end(void *ctx, const struct halo_job_end *end);

/* Branches that the CPU has recorded save counting them. */
static bool wants_branches(const struct halo_program *p, const struct halo_tuning *s)
{
	return s && !s->profile && !s->branches_tried &&
	       halo_request__wants_profile(p->daemon->configs.item[s->next_config].json) &&
	       halo_taken__enough(p);
}

/*
 * Compile for @s, or for a section of the worker's choice; with @count, code that counts in that
 * group.
 */
static void start_job(struct halo_program *p, struct halo_tuning *s, struct halo_group *count)
{
	struct halo_daemon *d = p->daemon;
	unsigned int config = s ? s->next_config : 0;
	uint64_t used = halo_arena__next(p->arena);
	__cleanup_fd int exe_fd = -1;
	struct halo_err err = {0};
	json_object *request;
	int ret;

	if (d->workers.running >= MAX_JOBS)
		return;
	if (used > HALO_ARENA_SIZE - SPARE_ROOM - MIN_ROOM) {
		if (s)
			halo_tuning__finish(p, s);
		settle(p, "the arena is full");
		return;
	}
	p->job_place = halo_prepared__arena(p->prepared) + (int64_t)used;
	p->job_room = HALO_ARENA_SIZE - SPARE_ROOM - used;
	p->blame = s ? s->root : find_blame(p);
	p->job_counts = count != NULL;
	p->job_branches = !count && wants_branches(p, s);
	if (s && !s->adopted)
		s->state = HALO_TUNING_COMPILING;
	exe_fd = halo_identity__copy(p);
	request = halo_request__new(p, s, d->configs.item[config].json, count, p->job_branches);
	if (exe_fd < 0)
		ret = halo_err__set(&err, -errno, "copying the executable: %s", strerror(errno));
	else
		ret = halo_job__start(&d->workers, request, exe_fd, on_job_end, p, &p->job, &err);
	json_object_put(request);
	/* So that the next look at CPU times tells who was busy meanwhile. */
	halo_process__busiest(p);
	p->fresh = 0;
	if (!ret)
		return;
	if (s)
		halo_tuning__fail(p, s, err.what);
	else
		settle(p, err.what);
}

static void start_audit(struct halo_program *p, struct halo_tuning *s)
{
	struct halo_group *group = halo_process__busiest(p);
	struct halo_err err = {0};

	if (group && halo_tuning__audit(p, s, group, &err))
		halo_tuning__fail(p, s, err.what);
}

/* The worker has nothing new for this configuration: the next one, if any. */
static void advance(struct halo_program *p, struct halo_tuning *s)
{
	char reason[sizeof(s->reason)];

	s->next_config++;
	s->crashes = 0;
	if (s->next_config < p->daemon->configs.count)
		return;
	snprintf(reason, sizeof(reason), "%s", s->reason);
	if (s->broken && !s->trials)
		halo_tuning__fail(p, s, reason);
	else
		halo_tuning__finish(p, s);
}

static void on_counted(struct halo_program *p, struct halo_tuning *s, json_object *profile,
		       const char *why)
{
	s->count_tried = true;
	s->profile = profile;
	if (!profile)
		halo_program__note(p, "%s: nothing was counted: %s", s->root->name, why);
	halo_decide__tick(p);
}

static void start_counting(struct halo_program *p, struct halo_tuning *s,
			   const struct halo_variant *v, const struct halo_counted *counted)
{
	struct halo_group *group = halo_process__busiest(p);
	struct halo_err err = {0};

	if (!group)
		return;
	if (halo_counting__start(p, s, group, v, counted, on_counted, &err))
		on_counted(p, s, NULL, err.what);
}

static void continue_section(struct halo_program *p)
{
	const struct halo_configs *configs = &p->daemon->configs;
	struct halo_tuning *s = p->current;
	struct halo_group *group;

	if (s->trial) {
		start_audit(p, s);
		return;
	}
	if (s->next_config >= configs->count) {
		halo_tuning__finish(p, s);
		return;
	}
	if (!halo_request__wants_profile(configs->item[s->next_config].json) || s->profile ||
	    wants_branches(p, s)) {
		start_job(p, s, NULL);
		return;
	}
	if (s->count_tried) {
		advance(p, s);
		return;
	}
	group = halo_process__busiest(p);
	if (group)
		start_job(p, s, group);
}

static void choose_section(struct halo_program *p)
{
	uint64_t hot;

	if (p->fresh < HALO_FRESH_SAMPLES || TAILQ_EMPTY(&p->groups))
		return;
	if (p->settled) {
		if (halo_loop__now() - p->settled_ns < LOOK_AGAIN_NS)
			return;
		p->settled_ns = halo_loop__now();
		if (!profile_changed(p))
			return;
		p->settled = false;
	}
	if (p->n_tunings == HALO_MAX_SECTIONS)
		settle(p, "as many sections as a program may have");
	else if (!halo_decide__hot(p, &hot, 1))
		settle(p, "no other function of the program takes 5 % of its time");
	else
		start_job(p, NULL, NULL);
}

void halo_decide__tick(struct halo_program *p)
{
	if (p->watched || p->denied[0] || p->job || p->trial || p->counting)
		return;
	if (p->current)
		continue_section(p);
	else
		choose_section(p);
}

void halo_decide__next(struct halo_program *p, struct halo_tuning *s)
{
	if (s->next_config >= p->daemon->configs.count)
		halo_tuning__finish(p, s);
	/* Samples of the time before tell nothing of what runs now. */
	p->fresh = 0;
	halo_decide__tick(p);
}

/*
 * The worker died, was late, or what it says makes no sense. Another try may go well where a machine
 * was short of something; where it does not, it is this configuration that is to blame, and the next
 * one gets its turn.
 */
static void blame(struct halo_program *p, const char *reason, bool again)
{
	struct halo_tuning *s = p->current;
	const char *config;

	if (!s && p->blame)
		s = halo_tuning__get(p, p->blame);
	if (!s) {
		settle(p, reason);
		return;
	}
	config = p->daemon->configs.item[s->next_config].name;
	if (!s->adopted) {
		s->state = HALO_TUNING_FAILED;
		snprintf(s->reason, sizeof(s->reason), "compiling with %s failed: %s", config,
			 reason);
	}
	if (again && ++s->crashes < MAX_CRASHES) {
		halo_program__note(p, "%s: compiling with %s: %s; it is tried once more",
				   s->root->name, config, reason);
		return;
	}
	halo_program__note(p, "%s: compiling with %s: %s", s->root->name, config, reason);
	s->broken++;
	p->current = s;
	advance(p, s);
}

static void on_none(struct halo_program *p, const struct halo_answer *answer)
{
	struct halo_tuning *s = NULL;

	if (!p->current) {
		/* A root that can't be had leaves the others to be tried. */
		if (answer->root && answer->root->slot)
			s = halo_tuning__get(p, answer->root);
		if (s && !s->handled)
			halo_tuning__fail(p, s, answer->reason);
		else
			settle(p, answer->reason);
		return;
	}
	if (p->job_counts) {
		on_counted(p, p->current, NULL, answer->reason);
		return;
	}
	halo_program__note(p, "%s: nothing to try with %s: %s", p->current->root->name,
			   p->daemon->configs.item[p->current->next_config].name, answer->reason);
	advance(p, p->current);
}

/* The program was built without probes, or they make no sense: counting does without. */
static void without_branches(struct halo_program *p, struct halo_tuning *s, const char *why)
{
	s->branches_tried = true;
	halo_program__note(p, "%s: recorded branches are of no use: %s", s->root->name, why);
	halo_decide__tick(p);
}

static void on_error(struct halo_program *p, const struct halo_answer *answer)
{
	struct halo_tuning *s = p->current;
	const struct halo_func *root = answer->root ? answer->root : p->blame;
	char text[256];

	if (!s && root)
		s = halo_tuning__get(p, root);
	if (!s) {
		settle(p, answer->error.what);
		return;
	}
	snprintf(text, sizeof(text), "compiling failed: %.150s%s%.80s", answer->error.what,
		 answer->error.cause[0] ? ": " : "", answer->error.cause);
	if (p->job_counts && s == p->current) {
		on_counted(p, s, NULL, text);
		return;
	}
	if (p->job_branches && s == p->current) {
		without_branches(p, s, text);
		return;
	}
	/* With another configuration it may go well: but only one that was not the first. */
	if (s == p->current && s->next_config + 1 < p->daemon->configs.count) {
		halo_program__note(p, "%s: %s", s->root->name, text);
		advance(p, s);
		return;
	}
	halo_tuning__fail(p, s, text);
}

static void on_counting_code(struct halo_program *p, struct halo_tuning *s,
			     const struct halo_answer *answer, const struct halo_job_end *end)
{
	struct halo_variant *v;
	struct halo_err err = {0};

	if (!s || s->root != answer->root || !answer->counted.counters)
		blame(p, "the worker was asked for code that counts, and made other code", true);
	else if (halo_tuning__install(p, s, answer, "counts", end->dir_fd, &v, &err))
		on_counted(p, s, NULL, err.what);
	else
		start_counting(p, s, v, &answer->counted);
}

static void on_code(struct halo_program *p, const struct halo_answer *answer,
		    const struct halo_job_end *end)
{
	struct halo_tuning *s = p->current;
	struct halo_err err = {0};
	const char *config;

	if (p->job_counts) {
		on_counting_code(p, s, answer, end);
		return;
	}
	if (s && s->root != answer->root) {
		blame(p, "the worker compiled another section than asked for", true);
		return;
	}
	if (!s)
		s = halo_tuning__get(p, answer->root);
	if (!s || s->handled) {
		settle(p, "the worker chose a section that was tried before");
		return;
	}
	p->current = s;
	config = p->daemon->configs.item[s->next_config].name;
	if (halo_tuning__has_hash(p, s, answer->hash)) {
		halo_program__note(p, "%s: %s gives the same code as before", s->root->name,
				   config);
		advance(p, s);
		return;
	}
	if (halo_tuning__install(p, s, answer, config, end->dir_fd, &s->trial, &err)) {
		halo_tuning__fail(p, s, err.what);
		return;
	}
	s->next_config++;
	halo_program__note(p, "%s: compiled %s in %.2f s, %llu bytes%s", s->root->name,
			   s->trial->name, end->seconds, (unsigned long long)s->trial->code_size,
			   p->job_branches ? ", by recorded branches" : "");
	start_audit(p, s);
}

static void on_answer(struct halo_program *p, struct halo_answer *answer,
		      const struct halo_job_end *end)
{
	if (answer->considered && !p->current) {
		json_object_put(p->considered);
		p->considered = take_ptr(answer->considered);
	}
	switch (answer->status) {
	case HALO_ANSWER_OK:
		on_code(p, answer, end);
		break;
	case HALO_ANSWER_NONE:
		on_none(p, answer);
		break;
	case HALO_ANSWER_ERROR:
		on_error(p, answer);
		break;
	}
}

static void on_job_end(void *ctx, const struct halo_job_end *end)
{
	struct halo_program *p = ctx;
	struct halo_answer answer = {0};
	struct halo_err err = {0};

	p->job = NULL;
	if (end->failure[0] && p->job_counts && p->current)
		on_counted(p, p->current, NULL, end->failure);
	else if (end->failure[0] && p->job_branches && p->current)
		without_branches(p, p->current, end->failure);
	else if (end->failure[0])
		blame(p, end->failure, !end->late);
	else if (halo_answer__parse(end->answer, end->answer_len, p->prepared, p->job_place,
				    p->job_room, &answer, &err))
		blame(p, err.what, true);
	else
		on_answer(p, &answer, end);
	halo_answer__free(&answer);
}

void halo_decide__cancel(struct halo_program *p)
{
	if (p->job) {
		halo_job__cancel(p->job);
		p->job = NULL;
	}
	halo_tuning__cancel_audit(p);
	p->current = NULL;
}
