// SPDX-License-Identifier: BSD-2-Clause
/*
 * Variants of all functions, by one worker at a time, as the daemon makes them. Large programs get
 * several functions into one image: a job has to read all of a unit's bitcode, however little it takes.
 */
#include <stdio.h>
#include <string.h>

#include "../daemon/answer.h"
#include "../daemon/image.h"
#include "../daemon/names.h"
#include "../lib/util.h"
#include "internal.h"

#define BATCH_SHIFT  4	/* one function more per job for so many (2^n) in the program */
#define BATCH_MAX    32 /* functions per job */
#define HOT_MAX	     20 /* functions per job that are said to be hot: other sections by other seeds */
#define SPARE_ROOM   (4ULL << 20) /* for counting entries */
#define BATCH_STREAM 0x42434854	  /* apart from other random choices */

static void shuffle(struct torture *t)
{
	struct torture_random r = {t->opts->seed};

	for (unsigned int i = t->n_order; i > 1; i--) {
		unsigned int j = torture_random__below(&r, i);
		const struct halo_func *func = t->order[i - 1];

		t->order[i - 1] = t->order[j];
		t->order[j] = func;
	}
}

static void make_batches(struct torture *t)
{
	unsigned int size = 1 + (t->n_order >> BATCH_SHIFT);

	size = size < BATCH_MAX ? size : BATCH_MAX;
	for (unsigned int i = 0; i < t->n_order; i += size)
		t->batches[t->n_batches++] =
			(struct torture_batch){i, i + size < t->n_order ? i + size : t->n_order};
}

/* Function @i of the order. The others of its batch are compiled with it and left alone. */
static bool is_wanted(const struct torture *t, unsigned int i)
{
	if (t->opts->functions && i >= t->opts->functions)
		return false;
	for (unsigned int j = 0; j < t->opts->n_only; j++)
		if (!strcmp(t->opts->only[j], t->order[i]->name))
			return true;
	return !t->opts->n_only;
}

static int check_only(const struct torture *t, struct halo_err *err)
{
	for (unsigned int i = 0; i < t->opts->n_only; i++) {
		bool found = false;

		for (unsigned int j = 0; j < t->n_order && !found; j++)
			found = is_wanted(t, j) && !strcmp(t->order[j]->name, t->opts->only[i]);
		if (found)
			continue;
		halo_err__set(err, -ENOENT, "no function %s can be redirected", t->opts->only[i]);
		halo_err__cause(err, t->opts->functions
					     ? "it is none of those that --functions leaves"
					     : "another name, or a reason against it");
		halo_err__remedy(err, "\"halo-bpf inspect\" lists the functions");
		return -ENOENT;
	}
	return 0;
}

int torture__prepare_compiling(struct torture *t, struct halo_err *err)
{
	const struct halo_prepared *p = t->prepared;

	t->order = calloc(p->n_funcs + 1, sizeof(*t->order));
	t->versions = calloc(p->n_funcs + 1, sizeof(*t->versions));
	t->batches = calloc(p->n_funcs + 1, 2 * sizeof(*t->batches));
	t->report->rows = calloc(p->n_funcs + 1, sizeof(*t->report->rows));
	if (!t->order || !t->versions || !t->batches || !t->report->rows)
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
	make_batches(t);
	return check_only(t, err);
}

static json_object *new_samples(struct torture *t, struct torture_random *r)
{
	const struct halo_prepared *p = t->prepared;
	unsigned int n = torture_random__below(r, HOT_MAX + 1);
	json_object *samples = json_object_new_array();

	while (n--) {
		unsigned int i = torture_random__below(r, p->n_funcs);
		json_object *pair = json_object_new_array_ext(2);

		json_object_array_add(pair, json_object_new_int64(p->funcs[i].addr));
		json_object_array_add(pair, json_object_new_int64(1));
		json_object_array_add(samples, pair);
	}
	return samples;
}

static json_object *new_roots(const struct torture *t, const struct torture_batch *batch)
{
	json_object *roots = json_object_new_array();

	for (unsigned int i = batch->begin; i < batch->end; i++) {
		json_object *root = json_object_new_object();

		json_object_object_add(root, "function", json_object_new_string(t->order[i]->name));
		json_object_object_add(root, "unit", json_object_new_int64(t->order[i]->unit));
		json_object_array_add(roots, root);
	}
	return roots;
}

/* The same for the same batch, whatever else is compiled. */
static json_object *new_request(struct torture *t, const struct torture_batch *batch)
{
	struct torture_random r = {t->opts->seed ^ BATCH_STREAM ^ ((uint64_t)batch->begin << 32) ^
				   batch->end};
	json_object *obj = json_object_new_object();

	json_object_object_add(obj, "job", json_object_new_string("roots"));
	json_object_object_add(obj, "roots", new_roots(t, batch));
	json_object_object_add(obj, "samples", new_samples(t, &r));
	json_object_object_add(obj, "config",
			       torture__choose_config(t, &r, t->config, sizeof(t->config)));
	json_object_object_add(obj, "fp", json_object_new_string("exact"));
	json_object_object_add(obj, "place", json_object_new_int64(t->place));
	json_object_object_add(obj, "room", json_object_new_int64(t->room));
	return obj;
}

static struct torture_image *new_image(struct torture *t, const struct halo_answer *answer,
				       uint64_t size)
{
	struct torture_image *image = calloc(1, sizeof(*image));

	if (!image)
		return NULL;
	image->codes = calloc(answer->n_funcs + 1, sizeof(*image->codes));
	if (!image->codes) {
		free(image);
		return NULL;
	}
	image->place = t->place;
	image->size = size;
	snprintf(image->config, sizeof(image->config), "%s", t->config);
	for (size_t i = 0; i < answer->n_funcs; i++)
		image->codes[image->n_codes++] = (struct torture_code){
			.name = answer->funcs[i].func ? answer->funcs[i].func->name : NULL,
			.vaddr = answer->funcs[i].vaddr,
			.size = answer->funcs[i].size,
		};
	LIST_INSERT_HEAD(&t->images, image, link);
	return image;
}

static int write_image(struct torture *t, const struct halo_answer *answer, int dir_fd,
		       struct torture_image **out, struct halo_err *err)
{
	struct halo_image image = {0};
	int ret;

	ret = halo_image__read(dir_fd, "image.elf", t->workers.uid, t->place, t->room,
			       answer->entry, &image, err);
	if (ret)
		return ret;
	ret = halo_arena__write(t->arena, image.place - halo_prepared__arena(t->prepared),
				image.code, image.size, image.frames, err);
	if (!ret) {
		halo_names__image(t->arena, t->prepared, answer);
		*out = new_image(t, answer, image.size);
		ret = *out ? 0 : halo_err__set(err, -ENOMEM, "out of memory");
	}
	halo_image__free(&image);
	return ret;
}

static int add_version(struct torture *t, const struct halo_func *func,
		       const struct torture_image *image, const struct halo_answer_func *code,
		       struct halo_err *err)
{
	const int64_t original = (int64_t)(func->addr + HALO_ENTRY_SIZE);
	struct torture_version *v = &t->versions[t->n_versions];
	int ret = 0;

	if ((uint64_t)(code->vaddr - image->place) >= image->size)
		return halo_err__set(err, -EBADMSG, "its code is outside of the image");
	*v = (struct torture_version){
		.func = func,
		.image = image,
		.target = {original, code->vaddr, original, code->vaddr},
	};
	if (t->counting)
		ret = torture__write_entries(t, v, err);
	if (ret)
		return ret;
	__atomic_store_n(&t->n_versions, t->n_versions + 1, __ATOMIC_RELEASE);
	torture__tell(t, func, image->config, code->size);
	return 0;
}

static const struct halo_answer_func *entry_of(const struct halo_answer *answer,
					       const struct halo_func *func)
{
	for (size_t i = 0; i < answer->n_funcs; i++)
		if (answer->funcs[i].entry && answer->funcs[i].func == func)
			return &answer->funcs[i];
	return NULL;
}

/* The worker says what became of each root in its list; its summary has less to tell. */
static const char *reason_of(const struct halo_answer *answer, const struct halo_func *func)
{
	size_t n = answer->considered ? json_object_array_length(answer->considered) : 0;

	for (size_t i = 0; i < n; i++) {
		json_object *row = json_object_array_get_idx(answer->considered, i), *val;

		if (!json_object_object_get_ex(row, "function", &val) ||
		    strcmp(json_object_get_string(val), func->name) ||
		    !json_object_object_get_ex(row, "unit", &val) ||
		    json_object_get_int(val) != (int)func->unit ||
		    !json_object_object_get_ex(row, "verdict", &val) ||
		    !strcmp(json_object_get_string(val), "root") ||
		    !json_object_object_get_ex(row, "reason", &val))
			continue;
		return json_object_get_string(val);
	}
	return answer->reason[0] ? answer->reason : "no reason given";
}

static void refuse_batch(struct torture *t, const struct torture_batch *batch, bool failed,
			 const char *reason)
{
	for (unsigned int i = batch->begin; i < batch->end; i++)
		if (is_wanted(t, i))
			torture__refuse(t, t->order[i], failed, reason);
}

/* Each function of it alone, since one may have spoilt it for the others. */
static void split(struct torture *t, const struct torture_batch *batch)
{
	for (unsigned int i = batch->begin; i < batch->end; i++)
		t->batches[t->n_batches++] = (struct torture_batch){i, i + 1};
}

/* What a function of its own might have room for. */
static bool is_crowded(const struct torture_batch *batch, const char *reason)
{
	return batch->end - batch->begin > 1 && strstr(reason, "too large");
}

static void take_functions(struct torture *t, const struct torture_batch *batch,
			   const struct torture_image *image, const struct halo_answer *answer)
{
	for (unsigned int i = batch->begin; i < batch->end; i++) {
		const struct halo_answer_func *code = entry_of(answer, t->order[i]);
		const char *reason = code ? NULL : reason_of(answer, t->order[i]);
		struct halo_err err = {0};

		if (!is_wanted(t, i))
			continue;
		if (reason && is_crowded(batch, reason))
			t->batches[t->n_batches++] = (struct torture_batch){i, i + 1};
		else if (reason)
			torture__refuse(t, t->order[i], false, reason);
		else if (add_version(t, t->order[i], image, code, &err))
			torture__refuse(t, t->order[i], true, err.what);
	}
}

static void take_answer(struct torture *t, const struct torture_batch *batch,
			const struct halo_answer *answer, int dir_fd)
{
	const bool several = batch->end - batch->begin > 1;
	struct torture_image *image;
	struct halo_err err = {0};

	if (answer->status == HALO_ANSWER_OK) {
		if (write_image(t, answer, dir_fd, &image, &err))
			refuse_batch(t, batch, true, err.what);
		else
			take_functions(t, batch, image, answer);
	} else if (several && (answer->status == HALO_ANSWER_ERROR || answer->root)) {
		split(t, batch);
	} else if (answer->status == HALO_ANSWER_ERROR) {
		refuse_batch(t, batch, true, answer->error.what);
	} else {
		for (unsigned int i = batch->begin; i < batch->end; i++)
			if (is_wanted(t, i))
				torture__refuse(t, t->order[i], false,
						reason_of(answer, t->order[i]));
	}
}

static void on_job_end(void *ctx, const struct halo_job_end *end)
{
	struct torture *t = ctx;
	const struct torture_batch batch = t->batches[t->next++];
	struct halo_answer answer = {0};
	struct halo_err err = {0};
	const char *failure = end->failure[0] ? end->failure : NULL;

	t->job = NULL;
	if (!failure && halo_answer__parse(end->answer, end->answer_len, t->prepared, t->place,
					   t->room, &answer, &err))
		failure = err.what;
	if (!failure)
		take_answer(t, &batch, &answer, end->dir_fd);
	else if (batch.end - batch.begin > 1)
		split(t, &batch);
	else
		refuse_batch(t, &batch, true, failure);
	halo_answer__free(&answer);
	torture__start_switcher(t);
	torture__compile_next(t);
}

static bool holds_wanted(const struct torture *t, const struct torture_batch *batch)
{
	for (unsigned int i = batch->begin; i < batch->end; i++)
		if (is_wanted(t, i))
			return true;
	return false;
}

static bool start(struct torture *t, const struct torture_batch *batch)
{
	uint64_t used = halo_arena__next(t->arena);
	struct halo_err err = {0};
	json_object *request;
	int ret;

	if (!holds_wanted(t, batch))
		return false;
	if (used >= HALO_ARENA_SIZE - SPARE_ROOM) {
		refuse_batch(t, batch, false, "the arena is full");
		return false;
	}
	t->place = halo_prepared__arena(t->prepared) + (int64_t)used;
	t->room = HALO_ARENA_SIZE - SPARE_ROOM - used;
	request = new_request(t, batch);
	ret = halo_job__start(&t->workers, request, t->prepared->fd, on_job_end, t, &t->job, &err);
	json_object_put(request);
	if (ret)
		refuse_batch(t, batch, true, err.what);
	return !ret;
}

void torture__compile_next(struct torture *t)
{
	for (; t->next < t->n_batches; t->next++)
		if (start(t, &t->batches[t->next]))
			return;
	torture__all_compiled(t);
}

void torture__free_versions(struct torture *t)
{
	struct torture_image *image;

	while ((image = LIST_FIRST(&t->images))) {
		LIST_REMOVE(image, link);
		free(image->codes);
		free(image);
	}
	free(t->versions);
	free(t->batches);
	free(t->order);
}
