// SPDX-License-Identifier: BSD-2-Clause
/*
 * LLVM's sample profile, as text: counts by function and source line relative to it, through what was
 * inlined. The count of a line is the largest of its instructions' (Chen, Li, Moseley: AutoFDO, 2016).
 */
#include <string.h>

#include "../lib/util.h"
#include "profile.h"

#define LINE_MASK 0xffff

struct place {
	unsigned int line; /* from the function's own */
	unsigned int discriminator;
};

struct target {
	struct place place;
	char *name;
	uint64_t count;
};

struct body {
	struct place place;
	uint64_t count;
};

/* A function, or one that was inlined at a place of another. */
struct node {
	char *name;
	struct place place;
	uint64_t head;
	struct body *body;
	size_t n_body;
	struct target *targets;
	size_t n_targets;
	struct node *children;
	size_t n_children;
};

/* How often the instructions from here up to the next step ran. */
struct step {
	uint64_t addr;
	int64_t change;
	uint64_t count;
};

struct writer {
	const struct profile *p;
	struct halo_symbols *symbols;
	struct node root; /* its children are the functions */
	struct step *steps;
	size_t n_steps;
	bool failed;
};

/* LLVM packs a base discriminator with two more numbers, each with a prefix that tells its length. */
static unsigned int base_discriminator(unsigned int d)
{
	if (d & 1)
		return 0;
	d >>= 1;
	return d & 0x20 ? (d >> 1 & 0xfe0) | (d & 0x1f) : d & 0x1f;
}

static struct place place_of(const struct halo_inline *inl)
{
	return (struct place){(inl->line - inl->decl_line) & LINE_MASK,
			      base_discriminator(inl->discriminator)};
}

static bool same_place(const struct place *a, const struct place *b)
{
	return a->line == b->line && a->discriminator == b->discriminator;
}

static void *one_more(void *array, size_t n, size_t size)
{
	void *more = n & (n - 1) ? array : reallocarray(array, n ? 2 * n : 1, size);

	if (more)
		memset((char *)more + n * size, 0, size);
	return more;
}

static struct node *child(struct writer *w, struct node *parent, const struct place *place,
			  const char *name)
{
	struct node *more, *n;

	for (size_t i = 0; i < parent->n_children; i++)
		if (same_place(&parent->children[i].place, place) &&
		    !strcmp(parent->children[i].name, name))
			return &parent->children[i];
	more = one_more(parent->children, parent->n_children, sizeof(*more));
	if (!more) {
		w->failed = true;
		return NULL;
	}
	parent->children = more;
	n = &more[parent->n_children];
	n->name = strdup(name);
	n->place = *place;
	if (!n->name) {
		w->failed = true;
		return NULL;
	}
	parent->n_children++;
	return n;
}

/* The innermost function at @vaddr, made if it is new, and the place in it. NULL: not known. */
static struct node *node_at(struct writer *w, uint64_t vaddr, struct place *place)
{
	struct halo_inline inl[HALO_INLINE_MAX];
	size_t n = halo_symbols__inlined(w->symbols, vaddr, inl);
	struct node *node = &w->root;
	struct place at = {0};

	if (!n || !inl[0].line)
		return NULL;
	for (size_t i = n; i-- > 0 && node;) {
		if (!inl[i].function)
			return NULL;
		node = child(w, node, &at, inl[i].function);
		at = place_of(&inl[i]);
	}
	*place = at;
	return node;
}

static void add_body(struct writer *w, struct node *node, const struct place *place, uint64_t count)
{
	struct body *more;

	for (size_t i = 0; i < node->n_body; i++) {
		if (!same_place(&node->body[i].place, place))
			continue;
		if (node->body[i].count < count)
			node->body[i].count = count;
		return;
	}
	more = one_more(node->body, node->n_body, sizeof(*more));
	if (!more) {
		w->failed = true;
		return;
	}
	node->body = more;
	more[node->n_body++] = (struct body){*place, count};
}

static void add_target(struct writer *w, struct node *node, const struct place *place,
		       const char *name, uint64_t count)
{
	struct target *more;

	for (size_t i = 0; i < node->n_targets; i++)
		if (same_place(&node->targets[i].place, place) &&
		    !strcmp(node->targets[i].name, name)) {
			node->targets[i].count += count;
			return;
		}
	more = one_more(node->targets, node->n_targets, sizeof(*more));
	if (!more) {
		w->failed = true;
		return;
	}
	node->targets = more;
	more[node->n_targets] = (struct target){*place, strdup(name), count};
	if (more[node->n_targets].name)
		node->n_targets++;
	else
		w->failed = true;
}

static int step_order(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

static void add_step(struct writer *w, uint64_t begin, uint64_t last, uint64_t count)
{
	w->steps[w->n_steps++] = (struct step){.addr = begin, .change = count};
	w->steps[w->n_steps++] = (struct step){.addr = last + 1, .change = -(int64_t)count};
}

/* Without branches a sampled address is a range of one instruction. */
static int make_steps(struct writer *w)
{
	const struct profile *p = w->p;
	uint64_t sum = 0, vaddr;

	w->steps = calloc(2 * (p->n_ranges + p->n_contexts) + 1, sizeof(*w->steps));
	if (!w->steps)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_ranges; i++)
		add_step(w, p->ranges[i].begin, p->ranges[i].end, p->ranges[i].count);
	for (size_t i = 0; i < p->n_contexts && !p->n_ranges; i++)
		if (p->contexts[i].frame[0].object == p->program.exe_id &&
		    halo_symbols__vaddr(w->symbols, p->contexts[i].frame[0].off, &vaddr))
			add_step(w, vaddr, vaddr, p->contexts[i].count);
	qsort(w->steps, w->n_steps, sizeof(*w->steps), step_order);
	for (size_t i = 0; i < w->n_steps; i++) {
		sum += w->steps[i].change;
		w->steps[i].count = sum;
	}
	return 0;
}

/* The largest count in [begin, end). */
static uint64_t largest(const struct writer *w, uint64_t begin, uint64_t end)
{
	size_t low = 0, high = w->n_steps;
	uint64_t most = 0;

	/* The last step at or before begin. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (w->steps[middle].addr <= begin)
			low = middle + 1;
		else
			high = middle;
	}
	if (low)
		most = w->steps[low - 1].count;
	/* Of steps at one address, the last has its count. */
	for (size_t i = low; i < w->n_steps && w->steps[i].addr < end; i++)
		if ((i + 1 == w->n_steps || w->steps[i + 1].addr != w->steps[i].addr) &&
		    w->steps[i].count > most)
			most = w->steps[i].count;
	return most;
}

static void on_row(void *ctx, uint64_t begin, uint64_t end)
{
	struct writer *w = ctx;
	uint64_t count = largest(w, begin, end);
	struct place place;
	struct node *node = count ? node_at(w, begin, &place) : NULL;

	if (node)
		add_body(w, node, &place, count);
}

/* Branches to the beginning of a function are its calls. */
static void add_calls(struct writer *w)
{
	static const struct place top;

	for (size_t i = 0; i < w->p->n_edges; i++) {
		const struct profile_edge *e = &w->p->edges[i];
		struct halo_inline inl[HALO_INLINE_MAX];
		struct halo_symbol_at symbol;
		struct place place;
		struct node *node;
		size_t n;

		if (!e->to || !halo_symbols__at(w->symbols, e->to, &symbol) || symbol.addr != e->to)
			continue;
		n = halo_symbols__inlined(w->symbols, e->to, inl);
		if (!n || !inl[n - 1].function)
			continue;
		node = child(w, &w->root, &top, inl[n - 1].function);
		if (node)
			node->head += e->count;
		node = e->from ? node_at(w, e->from, &place) : NULL;
		if (node)
			add_target(w, node, &place, inl[n - 1].function, e->count);
	}
}

static uint64_t total(const struct node *n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n->n_body; i++)
		sum += n->body[i].count;
	for (size_t i = 0; i < n->n_children; i++)
		sum += total(&n->children[i]);
	return sum;
}

static int body_order(const void *a, const void *b)
{
	const struct body *x = a, *y = b;

	if (x->place.line != y->place.line)
		return x->place.line < y->place.line ? -1 : 1;
	return (x->place.discriminator > y->place.discriminator) -
	       (x->place.discriminator < y->place.discriminator);
}

static int node_order(const void *a, const void *b)
{
	uint64_t x = total(a), y = total(b);

	if (x != y)
		return x > y ? -1 : 1;
	return strcmp(((const struct node *)a)->name, ((const struct node *)b)->name);
}

static void print_place(FILE *out, const struct place *place, int depth)
{
	fprintf(out, "%*s%u", depth, "", place->line);
	if (place->discriminator)
		fprintf(out, ".%u", place->discriminator);
	fprintf(out, ": ");
}

static void print_inside(FILE *out, struct node *n, int depth)
{
	qsort(n->body, n->n_body, n->n_body ? sizeof(*n->body) : 1, body_order);
	for (size_t i = 0; i < n->n_body; i++) {
		print_place(out, &n->body[i].place, depth);
		fprintf(out, "%lu", n->body[i].count);
		for (size_t j = 0; j < n->n_targets; j++)
			if (same_place(&n->targets[j].place, &n->body[i].place))
				fprintf(out, " %s:%lu", n->targets[j].name, n->targets[j].count);
		fprintf(out, "\n");
	}
	for (size_t i = 0; i < n->n_children; i++) {
		struct node *c = &n->children[i];

		print_place(out, &c->place, depth);
		fprintf(out, "%s:%lu\n", c->name, total(c));
		print_inside(out, c, depth + 1);
	}
}

static void free_node(struct node *n)
{
	for (size_t i = 0; i < n->n_children; i++)
		free_node(&n->children[i]);
	for (size_t i = 0; i < n->n_targets; i++)
		free(n->targets[i].name);
	free(n->children);
	free(n->targets);
	free(n->body);
	free(n->name);
}

static int print_all(struct writer *w, FILE *out, struct halo_err *err)
{
	size_t printed = 0;

	if (w->root.n_children)
		qsort(w->root.children, w->root.n_children, sizeof(*w->root.children), node_order);
	for (size_t i = 0; i < w->root.n_children; i++) {
		struct node *n = &w->root.children[i];
		uint64_t sum = total(n);

		if (!sum)
			continue;
		fprintf(out, "%s:%lu:%lu\n", n->name, sum, n->head);
		print_inside(out, n, 1);
		printed++;
	}
	if (printed)
		return ferror(out) ? -EIO : 0;
	halo_err__set(err, -ENODATA, "no sample lies in a function with line numbers");
	halo_err__remedy(err,
			 "build the program with -gline-tables-only -fdebug-info-for-profiling, "
			 "or install its debug symbols; sample for longer");
	return -ENODATA;
}

int profile__write_llvm(const struct profile *p, FILE *out, struct halo_err *err)
{
	struct writer w = {.p = p, .symbols = p->program.symbols};
	int ret;

	if (!w.symbols) {
		halo_err__set(err, -ENODATA, "the program's file can't be read any more");
		return -ENODATA;
	}
	ret = make_steps(&w);
	if (!ret) {
		halo_symbols__rows(w.symbols, on_row, &w);
		add_calls(&w);
		ret = w.failed ? -ENOMEM : 0;
	}
	if (ret)
		halo_err__set(err, ret, "out of memory");
	else
		ret = print_all(&w, out, err);
	free_node(&w.root);
	free(w.steps);
	return ret;
}
