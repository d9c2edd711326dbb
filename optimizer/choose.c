// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../user/lib/util.h"
#include "choose.h"

#define ROOT_SHARE     0.05  /* below it a section can't matter */
#define REPORT_SHARE   0.005 /* below it a function is not worth a line */
#define CLIMB_MAX      8
#define CANDIDATES_MAX 16
#define CONSIDERED_MAX 128

struct chooser {
	struct units *units;
	const struct profile *profile;
	const struct request *req;
	struct choice *choice;
	bool *visited; /* by index in p->funcs */
};

static void note(struct chooser *c, const char *function, int64_t unit, double share,
		 const char *verdict, const char *fmt, ...) __attribute__((format(printf, 6, 7)));

static void note(struct chooser *c, const char *function, int64_t unit, double share,
		 const char *verdict, const char *fmt, ...)
{
	struct considered *out;
	va_list ap;

	if (c->choice->n_considered == CONSIDERED_MAX)
		return;
	out = &c->choice->considered[c->choice->n_considered++];
	out->function = function;
	out->unit = unit;
	out->share = share;
	out->verdict = verdict;
	va_start(ap, fmt);
	vsnprintf(out->reason, sizeof(out->reason), fmt, ap);
	va_end(ap);
}

static void note_func(struct chooser *c, const struct halo_func *fn, const char *verdict,
		      const char *reason)
{
	note(c, fn->name, fn->unit, profile__share(c->profile, fn), verdict, "%s", reason);
}

static const char ends_threads[] =
	"it can end threads by unwinding their stacks (pthread_cancel or pthread_exit)";

const char *choose__refuse_program(const struct halo_prepared *p)
{
	static const char *const forced[] = {"pthread_cancel", "pthread_exit"};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(forced); i++)
		if (halo_prepared__symbol(p, forced[i]) && !p->is_static && p->no_unwind)
			return ends_threads;
	return NULL;
}

static const struct request_name *skipped(const struct request *req, const struct halo_func *fn)
{
	size_t i;

	for (i = 0; i < req->n_skip; i++)
		if (req->skip[i].unit == fn->unit && strcmp(req->skip[i].function, fn->name) == 0)
			return &req->skip[i];
	return NULL;
}

/* 0: it is the root now. -EAGAIN: climb. -ENOENT: give it and its callers up. */
static int try_root(struct chooser *c, const struct halo_func *fn)
{
	const struct request_name *skip = skipped(c->req, fn);
	struct section_root root = {.func = fn};
	int ret;

	c->visited[fn - c->profile->p->funcs] = true;
	if (skip) {
		note_func(c, fn, "skipped", skip->reason);
		return -EAGAIN;
	}
	if (!fn->slot || fn->reason != HALO_REDIRECTABLE) {
		note_func(c, fn, "not redirectable", halo_reason__text(fn->reason));
		return -EAGAIN;
	}
	ret = section__build(c->units, c->profile, c->req, &root, 1, &c->choice->section);
	if (ret == -ENOTSUP) {
		note_func(c, fn, "not eligible", root.why);
		return -ENOENT;
	}
	if (ret)
		return ret;
	/* Its own calls enter shipped code by the slot and are counted there, but not in an image. */
	if (c->choice->section.recursive) {
		section__free(&c->choice->section);
		note_func(c, fn, "not eligible",
			  "recursive: entries of two versions can't be compared");
		return -EAGAIN;
	}
	c->choice->root = fn;
	return 0;
}

static bool holds(const struct section *section, const struct halo_func *fn)
{
	size_t i;

	for (i = 0; i < section->n_members; i++)
		if (section->members[i].row == fn)
			return true;
	return false;
}

/* Find a root for the samples of @hot. */
static int climb(struct chooser *c, const struct halo_func *hot)
{
	const struct halo_func *fn = hot;
	int depth, ret = -ENOENT;

	for (depth = 0; fn && depth < CLIMB_MAX; depth++) {
		ret = try_root(c, fn);
		if (ret != -EAGAIN)
			break;
		fn = choose__caller(c->units, c->profile, fn, c->visited);
	}
	if (ret)
		return ret == -EAGAIN ? -ENOENT : ret;
	if (!holds(&c->choice->section, hot)) {
		note_func(c, fn, "not eligible",
			  "its section can't hold the hot function below it");
		section__free(&c->choice->section);
		c->choice->root = NULL;
		return -ENOENT;
	}
	note_func(c, fn, "root",
		  fn == hot ? "hottest redirectable function"
			    : "nearest redirectable caller of the hottest function");
	return 0;
}

struct candidate {
	const struct halo_func *fn;
	uint64_t count;
};

static int hotter(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return (x->fn->addr > y->fn->addr) - (x->fn->addr < y->fn->addr);
}

static void note_others(struct chooser *c)
{
	const struct profile *profile = c->profile;
	size_t i;
	double share;

	for (i = 0; i < profile->n_other; i++) {
		share = profile->total ? (double)profile->other[i].count / profile->total : 0;
		if (share >= REPORT_SHARE)
			note(c, profile->other[i].name, -1, share, "no bitcode",
			     "no bitcode: libc, assembly, or a file built without halo-cc");
	}
}

static bool was_noted(const struct choice *choice, const struct halo_func *fn)
{
	size_t i;

	for (i = 0; i < choice->n_considered; i++)
		if (choice->considered[i].function == fn->name &&
		    choice->considered[i].unit == fn->unit)
			return true;
	return false;
}

static void note_rest(struct chooser *c, const struct candidate *list, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		const struct halo_func *fn = list[i].fn;

		if (profile__share(c->profile, fn) < REPORT_SHARE)
			break;
		if (was_noted(c->choice, fn))
			continue;
		if (c->choice->root && holds(&c->choice->section, fn))
			note_func(c, fn, "included", "reached from the root");
		else if (profile__share(c->profile, fn) < ROOT_SHARE)
			note_func(c, fn, "cold", "too few samples");
		else
			note_func(c, fn, "later", "another function is hotter");
	}
}

static int choose_hottest(struct chooser *c)
{
	const struct halo_prepared *p = c->profile->p;
	__cleanup_free struct candidate *list = calloc(p->n_funcs + 1, sizeof(*list));
	size_t i, n = 0;
	int ret = -ENOENT;

	if (!list)
		return -ENOMEM;
	for (i = 0; i < p->n_funcs; i++)
		if (c->profile->count[i])
			list[n++] = (struct candidate){&p->funcs[i], c->profile->count[i]};
	qsort(list, n, sizeof(*list), hotter);
	for (i = 0; i < n && i < CANDIDATES_MAX && ret == -ENOENT; i++) {
		if (profile__share(c->profile, list[i].fn) < ROOT_SHARE)
			break;
		if (!c->visited[list[i].fn - p->funcs])
			ret = climb(c, list[i].fn);
	}
	note_others(c);
	note_rest(c, list, n);
	if (ret == -ENOENT)
		snprintf(c->choice->reason, sizeof(c->choice->reason),
			 n ? "no function with 5 %% of the samples can be replaced"
			   : "no samples in functions with bitcode");
	return ret == -ENOENT ? 0 : ret;
}

/* The program's function of that name, if it can be a root. */
static const struct halo_func *find_named(struct chooser *c, const struct request_name *name)
{
	const struct halo_func *fn;

	fn = name->unit < c->profile->p->n_units
		     ? halo_prepared__func(c->profile->p, (int)name->unit, name->function)
		     : NULL;
	if (!fn) {
		snprintf(c->choice->reason, sizeof(c->choice->reason),
			 "the program has no function %s in that unit", name->function);
		return NULL;
	}
	if (fn->slot && fn->reason == HALO_REDIRECTABLE)
		return fn;
	note_func(c, fn, "not redirectable", halo_reason__text(fn->reason));
	return NULL;
}

static void note_roots(struct chooser *c, const struct section_root *roots, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (roots[i].why[0]) {
			note_func(c, roots[i].func, "not eligible", roots[i].why);
			continue;
		}
		note_func(c, roots[i].func, "root", "asked for");
		c->choice->root = c->choice->root ?: roots[i].func;
	}
}

static int choose_named(struct chooser *c)
{
	__cleanup_free struct section_root *roots = calloc(c->req->n_roots, sizeof(*roots));
	size_t i, n = 0;
	int ret;

	if (!roots)
		return -ENOMEM;
	for (i = 0; i < c->req->n_roots; i++) {
		roots[n].func = find_named(c, &c->req->roots[i]);
		n += !!roots[n].func;
	}
	ret = n ? section__build(c->units, c->profile, c->req, roots, n, &c->choice->section)
		: -ENOTSUP;
	if (ret && ret != -ENOTSUP)
		return ret;
	note_roots(c, roots, n);
	if (!c->choice->root && !c->choice->reason[0])
		snprintf(c->choice->reason, sizeof(c->choice->reason), "%s can't be replaced",
			 c->req->roots[0].function);
	return 0;
}

int choose__section(struct units *units, const struct profile *profile, const struct request *req,
		    struct choice *out, struct halo_err *err)
{
	struct chooser c = {.units = units, .profile = profile, .req = req, .choice = out};
	const char *why = choose__refuse_program(units->p);
	int ret;

	memset(out, 0, sizeof(*out));
	out->considered = calloc(CONSIDERED_MAX, sizeof(*out->considered));
	c.visited = calloc(units->p->n_funcs + 1, sizeof(*c.visited));
	if (!out->considered || !c.visited)
		ret = -ENOMEM;
	else if (why)
		ret = 0;
	else
		ret = req->n_roots ? choose_named(&c) : choose_hottest(&c);
	if (why)
		snprintf(out->reason, sizeof(out->reason), "the program can't be optimized: %s%s%s",
			 why, why == ends_threads ? ", and " : "",
			 why == ends_threads ? units->p->no_unwind : "");
	free(c.visited);
	return ret ? halo_err__set(err, ret, "out of memory") : 0;
}

void choice__free(struct choice *choice)
{
	section__free(&choice->section);
	free(choice->considered);
	memset(choice, 0, sizeof(*choice));
}
