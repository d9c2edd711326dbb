// SPDX-License-Identifier: BSD-2-Clause
#include <limits.h>

#include "prepared_internal.h"
#include "util.h"

struct tables {
	const struct halo_section *unit, *bc, *func, *var, *str;
	struct unit_key *keys; /* sorted by id */
	size_t n_keys;
};

struct unit_key {
	uint64_t id;
	uint32_t index;
};

static int by_id(const void *a, const void *b)
{
	const struct unit_key *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

/* -1: no such unit. Of two with one id the first is taken. */
static int64_t unit_index(const struct tables *t, uint64_t id)
{
	size_t lo = 0, hi = t->n_keys, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (t->keys[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < t->n_keys && t->keys[lo].id == id ? (int64_t)t->keys[lo].index : -1;
}

/* Number of rows, -1 with an error if the section does not hold whole ones. */
static ssize_t count_rows(const struct halo_section *s, size_t row, struct halo_err *err)
{
	if (!s)
		return 0;
	if (s->size % row || s->size / row > INT_MAX) {
		halo_prepared__corrupt(err, "%s holds not whole rows, but %zu bytes", s->name,
				       s->size);
		return -1;
	}
	return s->size / row;
}

static int read_unit(struct halo_prepared *p, const struct tables *t,
		     const struct halo_unit_row *row, struct halo_unit *unit, struct halo_err *err)
{
	if (row->magic != HALO_UNIT_MAGIC)
		return halo_prepared__corrupt(err, "a unit's row has a wrong magic number");
	if (row->version != HALO_FORMAT_VERSION)
		return halo_prepared__corrupt(err, "format version %u, known is %d", row->version,
					      HALO_FORMAT_VERSION);
	unit->name = halo_prepared__string(p, t->str, row->name);
	if (!unit->name)
		return halo_prepared__corrupt(err, "a unit's name lies outside of %s",
					      HALO_SEC_STR);
	if (row->llvm == 0 || row->llvm > HALO_LLVM_MAJOR) {
		halo_err__set(err, -EBADMSG, "%s has bitcode of LLVM %u, known are up to %d",
			      unit->name, row->llvm, HALO_LLVM_MAJOR);
		halo_err__remedy(err, "build the program again with this machine's halo-cc");
		return -EBADMSG;
	}
	if (row->bc > t->bc->size || row->bc_size > t->bc->size - row->bc || row->bc_size == 0)
		return halo_prepared__corrupt(err, "bitcode of %s lies outside of %s", unit->name,
					      HALO_SEC_BC);
	if (row->raw_size == 0 || row->raw_size > HALO_BITCODE_MAX)
		return halo_prepared__corrupt(err, "bitcode of %s claims to have %llu bytes",
					      unit->name, (unsigned long long)row->raw_size);
	unit->id = row->id;
	unit->bc = t->bc->data + row->bc;
	unit->bc_size = row->bc_size;
	unit->raw_size = row->raw_size;
	unit->flags = row->flags;
	unit->llvm = row->llvm;
	return 0;
}

static int sort_units(struct halo_prepared *p, struct tables *t, struct halo_err *err)
{
	size_t i;

	t->keys = calloc(p->n_units + 1, sizeof(*t->keys));
	if (!t->keys)
		return halo_err__set(err, -ENOMEM, "out of memory");
	t->n_keys = p->n_units;
	for (i = 0; i < p->n_units; i++)
		t->keys[i] = (struct unit_key){p->units[i].id, i};
	qsort(t->keys, t->n_keys, sizeof(*t->keys), by_id);
	for (i = 1; i < t->n_keys; i++) {
		if (t->keys[i].id == t->keys[i - 1].id) {
			p->units[t->keys[i].index].ambiguous = true;
			p->units[t->keys[i - 1].index].ambiguous = true;
		}
	}
	return 0;
}

static int read_units(struct halo_prepared *p, struct tables *t, struct halo_err *err)
{
	ssize_t i, n = count_rows(t->unit, sizeof(struct halo_unit_row), err);
	struct halo_unit_row row;
	int ret;

	if (n < 0)
		return -EBADMSG;
	p->units = calloc(n + 1, sizeof(*p->units));
	if (!p->units)
		return halo_err__set(err, -ENOMEM, "out of memory");
	for (i = 0; i < n; i++) {
		memcpy(&row, t->unit->data + i * sizeof(row), sizeof(row));
		ret = read_unit(p, t, &row, &p->units[i], err);
		if (ret)
			return ret;
		p->n_units++;
	}
	return sort_units(p, t, err);
}

static int read_func(struct halo_prepared *p, const struct tables *t,
		     const struct halo_func_row *row, struct halo_func *f, struct halo_err *err)
{
	int64_t unit = unit_index(t, row->unit);

	f->name = halo_prepared__string(p, t->str, row->name);
	if (!f->name)
		return halo_prepared__corrupt(err, "a function's name lies outside of %s",
					      HALO_SEC_STR);
	if (unit < 0)
		return halo_prepared__corrupt(err, "function %s is of an unknown unit", f->name);
	if (!halo_prepared__bytes(p, row->addr, 1, PF_X))
		return halo_prepared__corrupt(err, "function %s is not at executable code",
					      f->name);
	if ((row->slot != 0) != (row->reason == HALO_REDIRECTABLE))
		return halo_prepared__corrupt(err, "function %s %s", f->name,
					      row->slot ? "has a slot that it should not have"
							: "has no slot and no reason for that");
	f->addr = row->addr;
	f->slot = row->slot;
	f->unit = unit;
	f->flags = row->flags;
	f->reason = row->reason;
	return 0;
}

static int by_addr(const void *a, const void *b)
{
	const struct halo_func *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	/* Identical functions that were folded: the one with a slot comes last. */
	return (x->slot > y->slot) - (x->slot < y->slot);
}

static int read_funcs(struct halo_prepared *p, const struct tables *t, struct halo_err *err)
{
	ssize_t i, n = count_rows(t->func, sizeof(struct halo_func_row), err);
	struct halo_func_row row;
	int ret;

	if (n < 0)
		return -EBADMSG;
	p->funcs = calloc(n + 1, sizeof(*p->funcs));
	if (!p->funcs)
		return halo_err__set(err, -ENOMEM, "out of memory");
	for (i = 0; i < n; i++) {
		memcpy(&row, t->func->data + i * sizeof(row), sizeof(row));
		if (!row.addr)
			continue;
		ret = read_func(p, t, &row, &p->funcs[p->n_funcs], err);
		if (ret)
			return ret;
		p->n_funcs++;
	}
	qsort(p->funcs, p->n_funcs, sizeof(*p->funcs), by_addr);
	return 0;
}

static bool var_fits(const struct halo_prepared *p, const struct halo_var_row *row)
{
	if (row->flags & HALO_VAR_TLS)
		return row->size <= p->tls_size && row->addr <= p->tls_size - row->size;
	return halo_prepared__in_memory(p, row->addr, row->size, 0);
}

static int read_var(struct halo_prepared *p, const struct tables *t, const struct halo_var_row *row,
		    struct halo_var *v, struct halo_err *err)
{
	int64_t unit = unit_index(t, row->unit);

	v->name = halo_prepared__string(p, t->str, row->name);
	if (!v->name)
		return halo_prepared__corrupt(err, "a variable's name lies outside of %s",
					      HALO_SEC_STR);
	if (unit < 0)
		return halo_prepared__corrupt(err, "variable %s is of an unknown unit", v->name);
	if (!var_fits(p, row))
		return halo_prepared__corrupt(err, "variable %s lies outside of the program",
					      v->name);
	v->addr = row->addr;
	v->size = row->size;
	v->unit = unit;
	v->flags = row->flags;
	return 0;
}

static int by_unit_and_name(const void *a, const void *b)
{
	const struct halo_var *x = a, *y = b;

	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int read_vars(struct halo_prepared *p, const struct tables *t, struct halo_err *err)
{
	ssize_t i, n = count_rows(t->var, sizeof(struct halo_var_row), err);
	struct halo_var_row row;
	int ret;

	if (n < 0)
		return -EBADMSG;
	p->vars = calloc(n + 1, sizeof(*p->vars));
	if (!p->vars)
		return halo_err__set(err, -ENOMEM, "out of memory");
	for (i = 0; i < n; i++) {
		memcpy(&row, t->var->data + i * sizeof(row), sizeof(row));
		/* A dropped thread-local has offset 0, as the first one that is left has. */
		if (!row.addr && (!(row.flags & HALO_VAR_TLS) || !var_fits(p, &row)))
			continue;
		ret = read_var(p, t, &row, &p->vars[p->n_vars], err);
		if (ret)
			return ret;
		p->n_vars++;
	}
	qsort(p->vars, p->n_vars, sizeof(*p->vars), by_unit_and_name);
	return 0;
}

/* The slots are loaded, so no tool removes them. */
static int refuse_bare(const struct halo_prepared *p, struct halo_err *err)
{
	halo_err__set(err, -ENODATA, "the program carries no bitcode");
	if (halo_section__find(p, HALO_SEC_SLOTS)) {
		halo_err__cause(err,
				"it was built with halo-cc, but its .halo.* sections were removed "
				"(llvm-strip without options does that)");
		halo_err__remedy(err, "strip it by strip, by llvm-strip --strip-debug, or with "
				      "--wildcard --keep-section='.halo.*'");
	} else {
		halo_err__cause(err, "it was built without halo-cc");
		halo_err__remedy(err, "build it with CC=halo-cc (CXX=halo-c++)");
	}
	return -ENODATA;
}

int halo_prepared__read_tables(struct halo_prepared *p, struct halo_err *err)
{
	struct tables t = {
		.unit = halo_section__find(p, HALO_SEC_UNIT),
		.bc = halo_section__find(p, HALO_SEC_BC),
		.func = halo_section__find(p, HALO_SEC_FUNC),
		.var = halo_section__find(p, HALO_SEC_VAR),
		.str = halo_section__find(p, HALO_SEC_STR),
	};
	int ret;

	if (!t.unit && !t.bc && !t.func)
		return refuse_bare(p, err);
	if (!t.unit || !t.bc || !t.str)
		return halo_prepared__corrupt(err, "some of the .halo.* sections are missing");

	ret = read_units(p, &t, err);
	if (!ret)
		ret = read_funcs(p, &t, err);
	if (!ret)
		ret = read_vars(p, &t, err);
	free(t.keys);
	return ret;
}
