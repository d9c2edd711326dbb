// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <string.h>

#include "../lib/util.h"
#include "image.h"
#include "names.h"
#include "tuning.h"
#include "unwinds.h"

const struct halo_variant *halo_variant__at(const struct halo_program *p, int64_t vaddr)
{
	for (unsigned int i = 0; i < p->n_variants; i++) {
		const struct halo_variant *v = &p->variants[i];

		if (vaddr >= v->place && (uint64_t)(vaddr - v->place) < v->size)
			return v;
	}
	return NULL;
}

const struct halo_func *halo_variant__func(const struct halo_variant *v, int64_t vaddr)
{
	for (size_t i = 0; i < v->n_funcs; i++) {
		const struct halo_variant_func *f = &v->funcs[i];

		if (vaddr >= f->vaddr && (uint64_t)(vaddr - f->vaddr) < f->size)
			return f->func ? f->func : v->root;
	}
	return v->root;
}

bool halo_tuning__has_hash(const struct halo_program *p, const struct halo_tuning *s,
			   const char *hash)
{
	for (unsigned int i = p->first_variant; i < p->n_variants; i++)
		if (p->variants[i].root == s->root && !strcmp(p->variants[i].hash, hash))
			return true;
	return false;
}

static int copy_funcs(struct halo_variant *v, const struct halo_answer *answer)
{
	v->funcs = calloc(answer->n_funcs, sizeof(*v->funcs));
	if (!v->funcs)
		return -ENOMEM;
	for (size_t i = 0; i < answer->n_funcs; i++)
		v->funcs[i] = (struct halo_variant_func){
			.func = answer->funcs[i].func,
			.vaddr = answer->funcs[i].vaddr,
			.size = answer->funcs[i].size,
		};
	v->n_funcs = answer->n_funcs;
	return 0;
}

static int publish(struct halo_program *p, struct halo_variant *v, const struct halo_answer *answer,
		   const struct halo_image *image, struct halo_err *err)
{
	uint64_t off = image->place - halo_prepared__arena(p->prepared);
	int ret;

	v->place = image->place;
	v->size = image->size;
	ret = halo_arena__write(p->arena, off, image->code, image->size, image->frames, err);
	if (ret)
		return ret;
	halo_names__image(p->arena, p->prepared, answer);
	halo_unwinds__arena(p);
	return 0;
}

int halo_tuning__install(struct halo_program *p, struct halo_tuning *s,
			 const struct halo_answer *answer, const char *config, int dir_fd,
			 struct halo_variant **out, struct halo_err *err)
{
	struct halo_variant *v = &p->variants[p->n_variants];
	struct halo_image image = {0};
	int ret;

	if (p->n_variants == HALO_MAX_VARIANTS)
		return halo_err__set(err, -ENOSPC, "the program had %d variants already",
				     HALO_MAX_VARIANTS);
	ret = halo_image__read(dir_fd, "image.elf", p->daemon->workers.uid, p->job_place,
			       p->job_room, answer->entry, &image, err);
	if (ret)
		return ret;
	memset(v, 0, sizeof(*v));
	v->root = s->root;
	v->entry = answer->entry;
	v->code_size = answer->code_size;
	memcpy(v->hash, answer->hash, sizeof(v->hash));
	snprintf(v->name, sizeof(v->name), "v%u-%s", p->n_variants + 1, config);
	ret = copy_funcs(v, answer);
	if (!ret)
		ret = publish(p, v, answer, &image, err);
	halo_image__free(&image);
	if (ret) {
		free(v->funcs);
		v->funcs = NULL;
		return ret;
	}
	p->n_variants++;
	*out = v;
	return 0;
}
