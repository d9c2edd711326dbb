// SPDX-License-Identifier: BSD-2-Clause
#include <math.h>

#include <string.h>

#include "taken.h"
#include "counting.h"
#include "request.h"

static void add_sample(void *ctx, uint64_t vaddr, double own, double variant)
{
	long count = lround(own + variant);
	json_object *pair;

	if (count < 1)
		return;
	pair = json_object_new_array_ext(2);
	json_object_array_add(pair, json_object_new_int64(vaddr));
	json_object_array_add(pair, json_object_new_int64(count));
	json_object_array_add(ctx, pair);
}

static json_object *new_function(const struct halo_func *f)
{
	json_object *obj = json_object_new_object();

	json_object_object_add(obj, "function", json_object_new_string(f->name));
	json_object_object_add(obj, "unit", json_object_new_int64(f->unit));
	return obj;
}

static const char *skip_reason(const struct halo_tuning *s)
{
	if (s->adopted)
		return "optimized already";
	return s->reason[0] ? s->reason : "tried already";
}

static json_object *new_skip(const struct halo_program *p)
{
	json_object *list = json_object_new_array();

	for (unsigned int i = 0; i < p->n_tunings; i++) {
		const struct halo_tuning *s = &p->tunings[i];
		json_object *row;

		if (!s->handled)
			continue;
		row = new_function(s->root);
		json_object_object_add(row, "reason", json_object_new_string(skip_reason(s)));
		json_object_array_add(list, row);
	}
	return list;
}

bool halo_request__wants_profile(json_object *config)
{
	json_object *val;

	return json_object_object_get_ex(config, "profile", &val) &&
	       !strcmp(json_object_get_string(val), "counts");
}

static const char *job_name(const struct halo_tuning *s, const struct halo_group *count)
{
	if (!s)
		return "optimize";
	return count ? "count" : "root";
}

json_object *halo_request__new(const struct halo_program *p, const struct halo_tuning *s,
			       json_object *config, const struct halo_group *count, bool branches)
{
	json_object *obj = json_object_new_object();
	json_object *samples = json_object_new_array();

	json_object_object_add(obj, "job", json_object_new_string(job_name(s, count)));
	if (s)
		json_object_object_add(obj, "root", new_function(s->root));
	if (s && count)
		json_object_object_add(obj, "counters", halo_counting__request(p, count));
	else if (s && s->profile && halo_request__wants_profile(config))
		json_object_object_add(obj, "profile", json_object_get(s->profile));
	else if (branches)
		json_object_object_add(obj, "branches", halo_taken__request(p));
	halo_profile__each(p->profile, add_sample, samples);
	json_object_object_add(obj, "samples", samples);
	json_object_object_add(obj, "skip", new_skip(p));
	json_object_object_add(obj, "config", json_object_get(config));
	json_object_object_add(obj, "fp", json_object_new_string(p->fp));
	json_object_object_add(obj, "place", json_object_new_int64(p->job_place));
	json_object_object_add(obj, "room", json_object_new_int64(p->job_room));
	return obj;
}
