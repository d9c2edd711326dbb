// SPDX-License-Identifier: BSD-2-Clause
#include "prepared_internal.h"
#include "util.h"

const char *halo_reason__text(enum halo_reason reason)
{
	static const char *const texts[] = {
#define REASON_TEXT(name, text) [HALO_##name] = text,
		HALO_REASONS(REASON_TEXT)
#undef REASON_TEXT
	};

	return (unsigned int)reason < ARRAY_SIZE(texts) ? texts[reason]
							: "for a reason that this version does "
							  "not know";
}

const char *halo_loops__text(const struct halo_func *fn)
{
	static const char *const texts[] = {
#define LOOPS_TEXT(name, text) [HALO_LOOPS_##name] = text,
		HALO_LOOPS(LOOPS_TEXT)
#undef LOOPS_TEXT
	};
	unsigned int loops = fn->flags >> HALO_FUNC_LOOPS_SHIFT & HALO_FUNC_LOOPS_MASK;

	return loops < ARRAY_SIZE(texts) ? texts[loops] : "";
}

/* Index of the first symbol of that name, n_symbols if there is none. */
static size_t find_symbol(const struct halo_prepared *p, const char *name)
{
	size_t lo = 0, hi = p->n_symbols, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (strcmp(p->symbols[mid].name, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < p->n_symbols && strcmp(p->symbols[lo].name, name) == 0 ? lo : p->n_symbols;
}

const struct halo_symbol *halo_prepared__symbol(const struct halo_prepared *p, const char *name)
{
	size_t i = find_symbol(p, name);

	return i < p->n_symbols ? &p->symbols[i] : NULL;
}

static uint64_t symbol_size(const struct halo_prepared *p, const struct halo_func *f)
{
	static const uint8_t binds[] = {STB_GLOBAL, STB_LOCAL};
	struct halo_symbol key = {.name = f->name, .addr = f->addr}, *s;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(binds); i++) {
		key.bind = binds[i];
		s = bsearch(&key, p->symbols, p->n_symbols, sizeof(key), halo_symbol__compare);
		if (s && s->type == STT_FUNC)
			return s->size;
	}
	return 0;
}

static void set_sizes(struct halo_prepared *p)
{
	const struct halo_segment *s;
	uint64_t end = 0, size;
	size_t i;

	for (i = p->n_funcs; i-- > 0;) {
		struct halo_func *f = &p->funcs[i];

		/* Up to the next function, or the end of the segment's file contents. */
		for (s = p->segments; s < p->segments + p->n_segments; s++)
			if (f->addr >= s->vaddr && f->addr - s->vaddr < s->filesz &&
			    (end <= f->addr || end > s->vaddr + s->filesz))
				end = s->vaddr + s->filesz;
		size = symbol_size(p, f);
		f->size = size && size < end - f->addr ? size : end - f->addr;
		if (i > 0 && p->funcs[i - 1].addr != f->addr)
			end = f->addr;
	}
}

static int compare_funcs(const void *a, const void *b, void *ctx)
{
	const struct halo_func *funcs = ctx;
	const struct halo_func *x = &funcs[*(const uint32_t *)a];
	const struct halo_func *y = &funcs[*(const uint32_t *)b];
	int order = strcmp(x->name, y->name);

	return order ? order : (x->unit > y->unit) - (x->unit < y->unit);
}

static int compare_vars(const void *a, const void *b, void *ctx)
{
	const struct halo_var *vars = ctx;
	const struct halo_var *x = &vars[*(const uint32_t *)a];
	const struct halo_var *y = &vars[*(const uint32_t *)b];
	int order = strcmp(x->name, y->name);

	return order ? order : (x->unit > y->unit) - (x->unit < y->unit);
}

static uint32_t *sorted_indices(size_t n, int (*compare)(const void *, const void *, void *),
				void *ctx)
{
	uint32_t *index = calloc(n + 1, sizeof(*index));
	size_t i;

	if (!index)
		return NULL;
	for (i = 0; i < n; i++)
		index[i] = i;
	qsort_r(index, n, sizeof(*index), compare, ctx);
	return index;
}

int halo_prepared__index(struct halo_prepared *p, struct halo_err *err)
{
	set_sizes(p);
	p->funcs_by_name = sorted_indices(p->n_funcs, compare_funcs, p->funcs);
	p->vars_by_name = sorted_indices(p->n_vars, compare_vars, p->vars);
	if (!p->funcs_by_name || !p->vars_by_name)
		return halo_err__set(err, -ENOMEM, "out of memory");
	return 0;
}

const struct halo_func *halo_prepared__func_at(const struct halo_prepared *p, uint64_t vaddr)
{
	size_t lo = 0, hi = p->n_funcs, mid;
	const struct halo_func *f;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (p->funcs[mid].addr <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return NULL;
	f = &p->funcs[lo - 1];
	return vaddr - f->addr < f->size ? f : NULL;
}

const struct halo_func *halo_prepared__func(const struct halo_prepared *p, int unit,
					    const char *name)
{
	size_t lo = 0, hi = p->n_funcs, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (strcmp(p->funcs[p->funcs_by_name[mid]].name, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < p->n_funcs; lo++) {
		const struct halo_func *f = &p->funcs[p->funcs_by_name[lo]];

		if (strcmp(f->name, name) != 0)
			break;
		if (unit < 0 ? !(f->flags & HALO_FUNC_LOCAL) : f->unit == (uint32_t)unit)
			return f;
	}
	return NULL;
}

const struct halo_var *halo_prepared__var(const struct halo_prepared *p, int unit, const char *name)
{
	size_t lo = 0, hi = p->n_vars, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (strcmp(p->vars[p->vars_by_name[mid]].name, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < p->n_vars; lo++) {
		const struct halo_var *v = &p->vars[p->vars_by_name[lo]];

		if (strcmp(v->name, name) != 0)
			break;
		if (unit < 0 ? !(v->flags & HALO_VAR_LOCAL) : v->unit == (uint32_t)unit)
			return v;
	}
	return NULL;
}
