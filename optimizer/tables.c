// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tables.h"

#define OMITTED	      0xff
#define FORM	      0x0f /* of an encoding; the rest says what it is relative to */
#define INDIRECT_HERE 0x9b /* 4 bytes, from here to a word with the address */
#define DIRECT_HERE   0x1b
#define ACTIONS_MAX   256 /* of one call site */

/* Reads a section; past its end everything is 0, and bad. */
struct cursor {
	const uint8_t *data;
	size_t size, at;
	uint64_t vaddr; /* of data */
	bool bad;
};

struct finder {
	const struct halo_prepared *p;
	struct cursor frames, tables;
	struct tables_words *out;
	bool no_memory;
};

/* What a frame description says only once for many. */
struct common {
	bool augmented;
	uint8_t pointer, table; /* encodings of code addresses and exception tables */
};

static uint64_t read_bytes(struct cursor *c, size_t n)
{
	uint64_t value = 0;

	if (c->bad || c->at > c->size || n > c->size - c->at) {
		c->bad = true;
		return 0;
	}
	memcpy(&value, c->data + c->at, n);
	c->at += n;
	return value;
}

static uint64_t read_leb(struct cursor *c, bool is_signed)
{
	unsigned int shift = 0;
	uint64_t value = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)read_bytes(c, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && (byte & 0x40) && shift < 64)
		value |= ~0ULL << shift;
	return value;
}

static uint64_t skip(struct cursor *c, uint8_t encoding)
{
	static const uint8_t size[FORM + 1] = {
		[0x0] = 8, [0x2] = 2, [0x3] = 4, [0x4] = 8, [0xa] = 2, [0xb] = 4, [0xc] = 8};

	if (encoding == OMITTED)
		return 0;
	if ((encoding & FORM) == 1 || (encoding & FORM) == 9)
		return read_leb(c, (encoding & FORM) == 9);
	if (!size[encoding & FORM])
		c->bad = true;
	return read_bytes(c, size[encoding & FORM]);
}

/* 4 bytes that say how far it is from them; 0: they are 0. */
static uint64_t read_here(struct cursor *c)
{
	uint64_t here = c->vaddr + c->at;
	int32_t distance = (int32_t)read_bytes(c, 4);

	return distance ? here + (int64_t)distance : 0;
}

static void add_word(struct finder *f, uint64_t at)
{
	uint64_t *list;

	if (!at || (f->out->n && f->out->list[f->out->n - 1] == at))
		return;
	list = reallocarray(f->out->list, f->out->n + 1, sizeof(*list));
	if (!list) {
		f->no_memory = true;
		return;
	}
	f->out->list = list;
	list[f->out->n++] = at;
}

static void add_type(struct finder *f, uint64_t base, uint64_t index)
{
	struct cursor c = f->tables;

	if (index > c.size / 4 || base - 4 * index - c.vaddr >= c.size)
		return;
	c.at = base - 4 * index - c.vaddr;
	add_word(f, read_here(&c));
}

/* A chain of filters, each a type's index and the distance to the next one. */
static void read_actions(struct finder *f, uint64_t at, uint64_t base)
{
	struct cursor c = f->tables;
	int64_t filter, next;
	unsigned int i;
	size_t here;

	c.at = at;
	for (i = 0; i < ACTIONS_MAX && !c.bad; i++) {
		filter = (int64_t)read_leb(&c, true);
		here = c.at;
		next = (int64_t)read_leb(&c, true);
		if (filter > 0 && !c.bad)
			add_type(f, base, (uint64_t)filter);
		if (!next)
			break;
		c.at = here + (size_t)next;
	}
}

static void read_table(struct finder *f, uint64_t vaddr)
{
	struct cursor c = f->tables;
	uint64_t base, action;
	uint8_t types, sites;
	size_t end;
	int i;

	if (vaddr - c.vaddr >= c.size)
		return;
	c.at = vaddr - c.vaddr;
	skip(&c, (uint8_t)read_bytes(&c, 1));
	types = (uint8_t)read_bytes(&c, 1);
	if (types != INDIRECT_HERE)
		return;
	base = read_leb(&c, false);
	base += c.vaddr + c.at;
	sites = (uint8_t)read_bytes(&c, 1);
	end = read_leb(&c, false);
	if (c.bad || end > c.size - c.at)
		return;
	end += c.at;
	while (c.at < end && !c.bad) {
		for (i = 0; i < 3; i++)
			skip(&c, sites);
		action = read_leb(&c, false);
		if (action && !c.bad)
			read_actions(f, end + action - 1, base);
	}
}

/* A letter of the augmentation each. False: an unknown one. */
static bool read_augmentation(struct finder *f, struct cursor *c, const char *letter,
			      struct common *out)
{
	uint8_t encoding;

	switch (*letter) {
	case 'P':
		encoding = (uint8_t)read_bytes(c, 1);
		if (encoding == INDIRECT_HERE)
			add_word(f, read_here(c));
		else
			skip(c, encoding);
		return true;
	case 'L':
		out->table = (uint8_t)read_bytes(c, 1);
		return true;
	case 'R':
		out->pointer = (uint8_t)read_bytes(c, 1);
		return true;
	case 'S':
		return true;
	default:
		return false;
	}
}

/* @c is behind the identifier. False: not one of the usual kind. */
static bool read_common(struct finder *f, struct cursor c, struct common *out)
{
	uint8_t version = (uint8_t)read_bytes(&c, 1);
	const char *letter = (const char *)c.data + c.at;
	const char *end = c.bad ? NULL : memchr(letter, '\0', c.size - c.at);

	*out = (struct common){.table = OMITTED};
	if (!end || (version != 1 && version != 3))
		return false;
	c.at += (size_t)(end - letter) + 1;
	read_leb(&c, false);
	read_leb(&c, true);
	version == 1 ? read_bytes(&c, 1) : read_leb(&c, false);
	out->augmented = *letter == 'z';
	if (!out->augmented)
		return false;
	read_leb(&c, false);
	while (++letter < end)
		if (!read_augmentation(f, &c, letter, out))
			return false;
	return !c.bad;
}

/* @c is behind the distance to its common part. */
static void read_frame(struct finder *f, struct cursor c, uint64_t distance)
{
	struct cursor common_at = f->frames;
	struct common common;

	if (distance > c.at - 4)
		return;
	common_at.at = c.at - 4 - distance;
	read_bytes(&common_at, 8);
	if (!read_common(f, common_at, &common) || common.table != DIRECT_HERE)
		return;
	skip(&c, common.pointer);
	skip(&c, common.pointer & FORM);
	read_leb(&c, false);
	read_table(f, read_here(&c));
}

static bool open_section(const struct halo_prepared *p, const char *name, struct cursor *out)
{
	size_t i;

	for (i = 0; i < p->n_sections; i++)
		if (p->sections[i].data && strcmp(p->sections[i].name, name) == 0) {
			out->data = p->sections[i].data;
			out->size = p->sections[i].size;
			return halo_prepared__off_to_vaddr(p, (uint64_t)(out->data - p->map),
							   &out->vaddr);
		}
	return false;
}

int tables__find_words(const struct halo_prepared *p, struct tables_words *out)
{
	struct finder f = {.p = p, .out = out};
	struct cursor *c = &f.frames;
	uint64_t len, distance;
	struct common common;
	size_t next;

	if (!open_section(p, ".eh_frame", c) || !open_section(p, ".gcc_except_table", &f.tables))
		return 0;
	while (!c->bad && c->at < c->size && !f.no_memory) {
		len = read_bytes(c, 4);
		if (len < 4 || len > c->size - c->at)
			break;
		next = c->at + len;
		distance = read_bytes(c, 4);
		if (distance)
			read_frame(&f, *c, distance);
		else
			read_common(&f, *c, &common);
		c->at = next;
	}
	return f.no_memory ? -ENOMEM : 0;
}
