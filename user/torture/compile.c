// SPDX-License-Identifier: BSD-2-Clause
/* One variant for each function, by one worker at a time, as the daemon does it. */
#include <stdio.h>
#include <string.h>

#include "../daemon/answer.h"
#include "../daemon/image.h"
#include "../lib/util.h"
#include "internal.h"

#define HOT_MAX	    20 /* functions per job that are said to be hot: other sections by other seeds */
#define SPARE_ROOM  65536ULL /* for counting entries */
#define COUNT_TIMES 2	     /* of the targets, so many lead through a counting entry */
#define PAD	    0xcc

static void shuffle(struct torture *t)
{
	for (unsigned int i = t->n_order; i > 1; i--) {
		unsigned int j = torture_random__below(&t->random, i);
		const struct halo_func *func = t->order[i - 1];

		t->order[i - 1] = t->order[j];
		t->order[j] = func;
	}
}

int torture__prepare_compiling(struct torture *t, struct halo_err *err)
{
	const struct halo_prepared *p = t->prepared;

	t->random.state = t->opts->seed;
	t->order = calloc(p->n_funcs + 1, sizeof(*t->order));
	t->versions = calloc(p->n_funcs + 1, sizeof(*t->versions));
	t->report->refusals = calloc(p->n_funcs + 1, sizeof(*t->report->refusals));
	if (!t->order || !t->versions || !t->report->refusals)
		return halo_err__set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < p->n_funcs; i++)
		if (p->funcs[i].slot)
			t->order[t->n_order++] = &p->funcs[i];
	t->report->functions = p->n_funcs;
	t->report->redirectable = t->n_order;
	if (!t->n_order) {
		halo_err__set(err, -ENODATA, "none of its functions can be redirected");
		halo_err__remedy(err, "\"halo-bpf inspect\" tells why");
		return -ENODATA;
	}
	shuffle(t);
	if (t->opts->functions && t->n_order > t->opts->functions)
		t->n_order = t->opts->functions;
	return 0;
}

static json_object *new_samples(struct torture *t)
{
	const struct halo_prepared *p = t->prepared;
	unsigned int n = torture_random__below(&t->random, HOT_MAX + 1);
	json_object *samples = json_object_new_array();

	while (n--) {
		unsigned int i = torture_random__below(&t->random, p->n_funcs);
		json_object *pair = json_object_new_array_ext(2);

		json_object_array_add(pair, json_object_new_int64(p->funcs[i].addr));
		json_object_array_add(pair, json_object_new_int64(1));
		json_object_array_add(samples, pair);
	}
	return samples;
}

static json_object *new_request(struct torture *t, const struct halo_func *func)
{
	unsigned int config = torture_random__below(&t->random, t->configs.count);
	json_object *obj = json_object_new_object();
	json_object *root = json_object_new_object();

	t->config = t->configs.item[config].name;
	json_object_object_add(root, "function", json_object_new_string(func->name));
	json_object_object_add(root, "unit", json_object_new_int64(func->unit));
	json_object_object_add(obj, "job", json_object_new_string("root"));
	json_object_object_add(obj, "root", root);
	json_object_object_add(obj, "samples", new_samples(t));
	json_object_object_add(obj, "config", json_object_get(t->configs.item[config].json));
	json_object_object_add(obj, "fp", json_object_new_string("exact"));
	json_object_object_add(obj, "place", json_object_new_int64(t->place));
	json_object_object_add(obj, "room", json_object_new_int64(t->room));
	return obj;
}

/* Behind the image: the entries through which an audit would send both versions. */
static int write_entries(struct torture *t, struct torture_version *v, struct halo_err *err)
{
	uint64_t off = halo_arena__next(t->arena);
	const uint32_t size = COUNT_TIMES * HALO_COUNT_ENTRY_SIZE;
	uint8_t code[COUNT_TIMES * HALO_COUNT_ENTRY_SIZE + HALO_FRAMES_SIZE];

	memset(code, PAD, sizeof(code));
	for (unsigned int arm = 0; arm < COUNT_TIMES; arm++) {
		uint64_t at = arm * HALO_COUNT_ENTRY_SIZE;
		int64_t addr = halo_prepared__arena(t->prepared) + (int64_t)(off + at);
		int n = halo_count_entry__emit(code + at, addr, v->target[arm],
					       t->prepared->stub.slots_begin, arm, t->rseq_offset);

		if (n < 0)
			return halo_err__set(err, n, "the counting entry can't reach its target");
		v->target[COUNT_TIMES + arm] = addr;
	}
	halo_frames__leaf(code + size, size);
	return halo_arena__write(t->arena, off, code, sizeof(code), size, err);
}

static int keep_codes(struct torture_version *v, const struct halo_answer *answer)
{
	v->codes = calloc(answer->n_funcs + 1, sizeof(*v->codes));
	if (!v->codes)
		return -ENOMEM;
	for (size_t i = 0; i < answer->n_funcs; i++)
		v->codes[v->n_codes++] = (struct torture_code){
			.name = answer->funcs[i].func ? answer->funcs[i].func->name : NULL,
			.vaddr = answer->funcs[i].vaddr,
			.size = answer->funcs[i].size,
		};
	return 0;
}

static int install(struct torture *t, const struct halo_func *func,
		   const struct halo_answer *answer, int dir_fd, struct halo_err *err)
{
	struct torture_version *v = &t->versions[t->n_versions];
	struct halo_image image = {0};
	int ret;

	ret = halo_image__read(dir_fd, "image.elf", t->workers.uid, t->place, t->room,
			       answer->entry, &image, err);
	if (ret)
		return ret;
	*v = (struct torture_version){
		.func = func,
		.target = {(int64_t)(func->addr + HALO_ENTRY_SIZE), answer->entry},
		.place = image.place,
		.size = image.size,
		.config = t->config,
	};
	ret = halo_arena__write(t->arena, image.place - halo_prepared__arena(t->prepared),
				image.code, image.size, image.frames, err);
	halo_image__free(&image);
	if (!ret)
		ret = write_entries(t, v, err);
	if (!ret && keep_codes(v, answer))
		ret = halo_err__set(err, -ENOMEM, "out of memory");
	if (ret)
		return ret;
	__atomic_store_n(&t->n_versions, t->n_versions + 1, __ATOMIC_RELEASE);
	t->report->compiled++;
	return 0;
}

/* The worker says what became of the root in its list; its summary has less to tell. */
static const char *reason_of(const struct halo_answer *answer, const char *function)
{
	size_t n = answer->considered ? json_object_array_length(answer->considered) : 0;

	for (size_t i = 0; i < n; i++) {
		json_object *row = json_object_array_get_idx(answer->considered, i), *val;

		if (!json_object_object_get_ex(row, "function", &val) ||
		    strcmp(json_object_get_string(val), function) ||
		    !json_object_object_get_ex(row, "verdict", &val) ||
		    !strcmp(json_object_get_string(val), "root") ||
		    !json_object_object_get_ex(row, "reason", &val))
			continue;
		return json_object_get_string(val);
	}
	return answer->reason;
}

static void take(struct torture *t, const struct halo_func *func, const struct halo_answer *answer,
		 int dir_fd)
{
	struct halo_err err = {0};

	switch (answer->status) {
	case HALO_ANSWER_OK:
		if (answer->root != func)
			torture__refuse(t, func, true, "the worker compiled another function");
		else if (install(t, func, answer, dir_fd, &err))
			torture__refuse(t, func, true, err.what);
		break;
	case HALO_ANSWER_NONE:
		torture__refuse(t, func, false, reason_of(answer, func->name));
		break;
	case HALO_ANSWER_ERROR:
		torture__refuse(t, func, true, answer->error.what);
		break;
	}
}

static void on_job_end(void *ctx, const struct halo_job_end *end)
{
	struct torture *t = ctx;
	const struct halo_func *func = t->order[t->next++];
	struct halo_answer answer = {0};
	struct halo_err err = {0};

	t->job = NULL;
	t->report->tried++;
	if (end->failure[0])
		torture__refuse(t, func, true, end->failure);
	else if (halo_answer__parse(end->answer, end->answer_len, t->prepared, t->place, t->room,
				    &answer, &err))
		torture__refuse(t, func, true, err.what);
	else
		take(t, func, &answer, end->dir_fd);
	halo_answer__free(&answer);
	torture__compile_next(t);
}

static bool start(struct torture *t, const struct halo_func *func)
{
	uint64_t used = halo_arena__next(t->arena);
	struct halo_err err = {0};
	json_object *request;
	int ret;

	if (used >= HALO_ARENA_SIZE - SPARE_ROOM) {
		torture__refuse(t, func, false, "the arena is full");
		return false;
	}
	t->place = halo_prepared__arena(t->prepared) + (int64_t)used;
	t->room = HALO_ARENA_SIZE - SPARE_ROOM - used;
	request = new_request(t, func);
	ret = halo_job__start(&t->workers, request, t->prepared->fd, on_job_end, t, &t->job, &err);
	json_object_put(request);
	if (ret)
		torture__refuse(t, func, true, err.what);
	return !ret;
}

void torture__compile_next(struct torture *t)
{
	if (t->n_versions && !t->held)
		torture__begin_switching(t);
	for (; t->next < t->n_order; t->next++)
		if (start(t, t->order[t->next]))
			return;
	torture__begin_switching(t);
}

void torture__free_versions(struct torture *t)
{
	for (unsigned int i = 0; i < t->n_versions; i++)
		free(t->versions[i].codes);
	free(t->versions);
	free(t->order);
}
