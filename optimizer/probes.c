// SPDX-License-Identifier: BSD-2-Clause
/*
 * The section of probes as LLVM 19 writes it (llvm/MC/MCPseudoProbe.h). Of a symbol's code it has no
 * address but a hash of the name; addresses inside are differences.
 */
#include <elf.h>
#include <errno.h>
#include <md5.h>
#include <stdlib.h>
#include <string.h>

#include "../tools/prepare/probes.h"
#include "../user/lib/util.h"
#include "probes.h"

#define SENTINEL      2 /* attribute: it stands for where the symbol begins */
#define DISCRIMINATOR 4 /* attribute: one follows */
#define IS_DELTA      0x80
#define DEPTH_MAX     64
#define PROBES_MAX    (1U << 24)

struct symbol {
	uint64_t hash, addr;
};

struct reader {
	const uint8_t *at, *end;
	bool failed;
	struct symbol *symbols; /* by hash, then address; each once */
	size_t n_symbols;
	/* By the first symbol of a hash: runs of records that there are, and that were read so far. */
	size_t *runs, *seen;
	bool counting; /* the first time through */
	uint64_t hash; /* of the current run */
	bool in_run;
	uint64_t addr;
	bool known; /* addr is */
	struct probes *out;
	size_t room;
};

/* The sentinel's: the first half of the name's MD5. */
static uint64_t hash_name(const char *name)
{
	uint8_t digest[MD5_DIGEST_LENGTH];
	uint64_t hash;
	MD5_CTX ctx;

	MD5Init(&ctx);
	MD5Update(&ctx, (const uint8_t *)name, strlen(name));
	MD5Final(digest, &ctx);
	memcpy(&hash, digest, sizeof(hash));
	return hash;
}

static int by_hash(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return (x->addr > y->addr) - (x->addr < y->addr);
}

/* Rows have the names of a program that was stripped; symbols have those of parts that passes made. */
static int read_symbols(struct reader *r, const struct halo_prepared *p)
{
	size_t n = 0, kept = 0;

	r->symbols = calloc(p->n_funcs + p->n_symbols + 1, sizeof(*r->symbols));
	r->runs = calloc(p->n_funcs + p->n_symbols + 1, sizeof(*r->runs));
	r->seen = calloc(p->n_funcs + p->n_symbols + 1, sizeof(*r->seen));
	if (!r->symbols || !r->runs || !r->seen)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_funcs; i++)
		r->symbols[n++] = (struct symbol){hash_name(p->funcs[i].name), p->funcs[i].addr};
	for (size_t i = 0; i < p->n_symbols; i++)
		if (!p->symbols[i].undefined && p->symbols[i].type == STT_FUNC)
			r->symbols[n++] = (struct symbol){hash_name(p->symbols[i].name),
							  p->symbols[i].addr};
	qsort(r->symbols, n, sizeof(*r->symbols), by_hash);
	for (size_t i = 0; i < n; i++)
		if (!kept || by_hash(&r->symbols[i], &r->symbols[kept - 1]))
			r->symbols[kept++] = r->symbols[i];
	r->n_symbols = kept;
	return 0;
}

static uint64_t take_u64(struct reader *r)
{
	uint64_t value = 0;

	if (r->end - r->at < (ptrdiff_t)sizeof(value)) {
		r->failed = true;
		return 0;
	}
	memcpy(&value, r->at, sizeof(value));
	r->at += sizeof(value);
	return value;
}

static uint8_t take_byte(struct reader *r)
{
	if (r->at == r->end) {
		r->failed = true;
		return 0;
	}
	return *r->at++;
}

/* LEB128; its sign is that of the last byte's bit 6. */
static uint64_t take_leb(struct reader *r, bool is_signed)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = take_byte(r);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && shift < 64 && (byte & 0x40))
		value |= UINT64_MAX << shift;
	return value;
}

static size_t first_of(const struct reader *r, uint64_t hash)
{
	size_t low = 0, high = r->n_symbols;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->symbols[middle].hash < hash)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static size_t symbols_of(const struct reader *r, size_t first)
{
	size_t n = 1;

	while (first + n < r->n_symbols && r->symbols[first + n].hash == r->symbols[first].hash)
		n++;
	return n;
}

/*
 * A symbol has a run of records, one for itself and one for each function inlined into it. Runs are in
 * the order of what they speak of, so local functions of one name are told by turns: where each
 * has a run, else nobody knows whose one is.
 */
static void begin_record(struct reader *r, uint64_t hash)
{
	bool is_next = !r->in_run || r->hash != hash;
	size_t first = first_of(r, hash);

	r->in_run = true;
	r->hash = hash;
	r->known = first < r->n_symbols && r->symbols[first].hash == hash;
	if (!r->known)
		return;
	if (r->counting) {
		r->runs[first] += is_next;
		return;
	}
	r->seen[first] += is_next;
	r->known = r->runs[first] == symbols_of(r, first);
	if (r->known)
		r->addr = r->symbols[first + r->seen[first] - 1].addr;
}

static int keep(struct reader *r, uint64_t function, uint64_t number)
{
	struct probes *out = r->out;
	struct probe *more;

	if (r->counting)
		return 0;
	if (!r->known) {
		out->unknown++;
		return 0;
	}
	if (out->n == r->room) {
		r->room = r->room ? 2 * r->room : 1024;
		more = r->room <= PROBES_MAX ? reallocarray(out->v, r->room, sizeof(*out->v))
					     : NULL;
		if (!more)
			return -ENOMEM;
		out->v = more;
	}
	out->v[out->n++] = (struct probe){r->addr, function, number};
	return 0;
}

static int read_probe(struct reader *r, uint64_t function)
{
	uint64_t number = take_leb(r, false);
	uint8_t kind = take_byte(r), attributes = kind >> 4 & 7;

	if (attributes & SENTINEL) {
		begin_record(r, take_u64(r));
		return 0;
	}
	if (kind & IS_DELTA) {
		r->addr += take_leb(r, true);
	} else {
		r->addr = take_u64(r);
		r->known = true;
	}
	if (attributes & DISCRIMINATOR)
		take_leb(r, false);
	return r->failed ? 0 : keep(r, function, number);
}

static int read_body(struct reader *r, unsigned int depth)
{
	uint64_t function = take_u64(r), probes = take_leb(r, false), inlined = take_leb(r, false);
	int ret = 0;

	if (depth > DEPTH_MAX)
		r->failed = true;
	for (uint64_t i = 0; i < probes && !r->failed && !ret; i++)
		ret = read_probe(r, function);
	for (uint64_t i = 0; i < inlined && !r->failed && !ret; i++) {
		take_leb(r, false);
		ret = read_body(r, depth + 1);
	}
	return ret;
}

static int by_address(const void *a, const void *b)
{
	const struct probe *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

static int read_all(struct reader *r, const struct halo_section *s)
{
	int ret = 0;

	r->at = s->data;
	r->end = s->data + s->size;
	r->in_run = false;
	while (!ret && !r->failed && r->at < r->end)
		ret = read_body(r, 0);
	return ret;
}

int probes__read(const struct halo_prepared *p, struct probes *out, struct halo_err *err)
{
	const struct halo_section *s = NULL;
	struct reader r = {.out = out};
	int ret;

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < p->n_sections; i++)
		if (p->sections[i].data && !strcmp(p->sections[i].name, HALO_PROBE_SECTION))
			s = &p->sections[i];
	if (!s)
		return halo_err__set(err, -ENODATA, "the program has no probes");
	ret = read_symbols(&r, p);
	r.counting = true;
	if (!ret)
		ret = read_all(&r, s);
	r.counting = false;
	if (!ret)
		ret = read_all(&r, s);
	free(r.symbols);
	free(r.runs);
	free(r.seen);
	if (ret)
		halo_err__set(err, ret, "out of memory");
	else if (r.failed)
		ret = halo_err__set(err, -EBADMSG, "the program's probes make no sense");
	if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), by_address);
	return ret;
}

void probes__free(struct probes *probes)
{
	free(probes->v);
	memset(probes, 0, sizeof(*probes));
}
