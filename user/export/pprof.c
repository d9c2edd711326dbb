// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile.proto of pprof (github.com/google/pprof), gzipped. Its few messages hold numbers and
 * strings alone, which are written here as they are: a tag, and a varint or a length with bytes.
 */
#include <string.h>
#include <zlib.h>

#include "../lib/tally.h"
#include "../lib/util.h"
#include "profile.h"

#define MAX_ENTRIES (1U << 24)

enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
};

struct buf {
	uint8_t *data;
	size_t len, room;
	bool failed;
};

struct writer {
	const struct profile *p;
	struct buf out;
	struct halo_tally *locations; /* struct location_key → index */
	struct halo_tally *functions; /* index of the name */
	char **strings;
	size_t n_strings;
	bool failed;
};

/* One place in a stack. */
struct location_key {
	struct profile_frame frame;
	uint64_t caller;
};

static void put(struct buf *b, const void *data, size_t len)
{
	if (b->len + len > b->room) {
		size_t room = (b->len + len) * 2 + 64;
		uint8_t *more = realloc(b->data, room);

		if (!more) {
			b->failed = true;
			return;
		}
		b->data = more;
		b->room = room;
	}
	memcpy(b->data + b->len, data, len);
	b->len += len;
}

static void put_varint(struct buf *b, uint64_t value)
{
	uint8_t byte;

	do {
		byte = value & 0x7f;
		value >>= 7;
		if (value)
			byte |= 0x80;
		put(b, &byte, 1);
	} while (value);
}

static void put_int(struct buf *b, unsigned int field, uint64_t value)
{
	put_varint(b, field << 3);
	put_varint(b, value);
}

static void put_bytes(struct buf *b, unsigned int field, const void *data, size_t len)
{
	put_varint(b, field << 3 | 2);
	put_varint(b, len);
	put(b, data, len);
}

static void put_message(struct buf *b, unsigned int field, struct buf *message)
{
	put_bytes(b, field, message->data, message->len);
	b->failed |= message->failed;
	free(message->data);
	memset(message, 0, sizeof(*message));
}

/* Index in the string table, whose entry 0 is "". */
static uint64_t string(struct writer *w, const char *text)
{
	char **more;

	for (size_t i = w->n_strings; i-- > 0;)
		if (!strcmp(w->strings[i], text))
			return i;
	more = reallocarray(w->strings, w->n_strings + 1, sizeof(*more));
	if (!more) {
		w->failed = true;
		return 0;
	}
	w->strings = more;
	w->strings[w->n_strings] = strdup(text);
	if (!w->strings[w->n_strings]) {
		w->failed = true;
		return 0;
	}
	return w->n_strings++;
}

/* 1 + the place of @key among those of @t; *isnew: it was not there before. */
static uint64_t index_of(struct writer *w, struct halo_tally *t, const void *key, bool *isnew)
{
	size_t before = halo_tally__size(t);
	uint64_t id;

	if (halo_tally__add(t, key, 0, 0)) {
		w->failed = true;
		return 0;
	}
	id = halo_tally__find(t, key) + 1;
	*isnew = halo_tally__size(t) != before;
	return id;
}

static uint64_t function(struct writer *w, const char *name, const char *raw, const char *file)
{
	const uint64_t key[3] = {string(w, name), string(w, raw), string(w, file)};
	struct buf message = {0};
	bool isnew = false;
	uint64_t id = index_of(w, w->functions, key, &isnew);

	if (!isnew)
		return id;
	put_int(&message, 1, id);
	put_int(&message, 2, key[0]);
	put_int(&message, 3, key[1]);
	put_int(&message, 4, key[2]);
	put_message(&w->out, PROFILE_FUNCTION, &message);
	return id;
}

static void put_line(struct buf *location, uint64_t function_id, unsigned int number)
{
	struct buf line = {0};

	put_int(&line, 1, function_id);
	put_int(&line, 2, number);
	put_message(location, 4, &line);
}

/* A line for each function that was inlined there, innermost first. */
static void put_inlined(struct writer *w, struct buf *location, struct halo_symbols *symbols,
			uint64_t vaddr, const char *name)
{
	struct halo_inline inl[HALO_INLINE_MAX];
	size_t n = halo_symbols__inlined(symbols, vaddr, inl);
	const char *file = n && inl[0].file ? inl[0].file : "";

	for (size_t i = 0; i + 1 < n; i++) {
		char *text = halo_symbols__demangle(inl[i].function ?: "?");

		if (text)
			put_line(location, function(w, text, inl[i].function ?: "?", file),
				 inl[i].line);
		free(text);
	}
	put_line(location, function(w, name, name, file), n ? inl[n - 1].line : 0);
}

static uint64_t location(struct writer *w, const struct profile_frame *frame, bool caller)
{
	const struct location_key key = {*frame, caller};
	const struct profile_object *object;
	struct buf message = {0};
	bool isnew = false;
	uint64_t vaddr, id = index_of(w, w->locations, &key, &isnew);
	char *name;

	if (!isnew)
		return id;
	name = profile__name(w->p, frame, caller, &vaddr, &object);
	if (!name) {
		w->failed = true;
		return id;
	}
	put_int(&message, 1, id);
	if (object && frame->object && !(frame->object & HALO_EXE_ARENA))
		put_int(&message, 2, object - w->p->objects + 1);
	put_int(&message, 3, vaddr ?: frame->off);
	if (vaddr)
		put_inlined(w, &message, object->symbols, vaddr - caller, name);
	else
		put_line(&message, function(w, name, name, ""), 0);
	put_message(&w->out, PROFILE_LOCATION, &message);
	free(name);
	return id;
}

static void put_sample(struct writer *w, const struct profile_context *c)
{
	struct buf message = {0}, ids = {0}, values = {0};

	for (unsigned int i = 0; i < c->nr; i++)
		put_varint(&ids, location(w, &c->frame[i], i > 0));
	put_message(&message, 1, &ids);
	put_varint(&values, c->count);
	put_message(&message, 2, &values);
	put_message(&w->out, PROFILE_SAMPLE, &message);
}

/* The whole file, so that addresses are taken as they are: link-time ones. */
static void put_mappings(struct writer *w)
{
	for (size_t i = 0; i < w->p->n_objects; i++) {
		const struct profile_object *o = &w->p->objects[i];
		struct buf message = {0};

		put_int(&message, 1, i + 1);
		put_int(&message, 3, INT64_MAX);
		put_int(&message, 5, string(w, o->path));
		put_int(&message, 6, string(w, o->build_id));
		put_int(&message, 7, o->symbols != NULL);
		put_message(&w->out, PROFILE_MAPPING, &message);
	}
}

static void put_type(struct writer *w, enum profile_field field, const char *type, const char *unit)
{
	struct buf message = {0};

	put_int(&message, 1, string(w, type));
	put_int(&message, 2, string(w, unit));
	put_message(&w->out, field, &message);
}

static int64_t header_int(const struct profile *p, const char *key)
{
	json_object *val;

	return json_object_object_get_ex(p->header, key, &val) ? json_object_get_int64(val) : 0;
}

static int compress_to(const struct buf *b, FILE *out)
{
	size_t room = compressBound(b->len) + 32;
	__cleanup_free uint8_t *data = malloc(room);
	z_stream z = {.next_in = b->data, .avail_in = b->len, .next_out = data, .avail_out = room};

	/* 15 + 16: the largest window, in gzip's wrapping. */
	if (!data || deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
				  Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	deflate(&z, Z_FINISH);
	deflateEnd(&z);
	return fwrite(data, 1, z.total_out, out) == z.total_out ? 0 : -EIO;
}

static void write_all(struct writer *w)
{
	int64_t rate = header_int(w->p, "rate_hz");

	string(w, "");
	put_type(w, PROFILE_SAMPLE_TYPE, "samples", "count");
	put_mappings(w);
	for (size_t i = 0; i < w->p->n_contexts; i++)
		put_sample(w, &w->p->contexts[i]);
	put_int(&w->out, PROFILE_DURATION_NANOS, header_int(w->p, "duration_ns"));
	put_type(w, PROFILE_PERIOD_TYPE, "cpu", "nanoseconds");
	put_int(&w->out, PROFILE_PERIOD, rate ? 1000000000 / rate : 0);
	for (size_t i = 0; i < w->n_strings; i++)
		put_bytes(&w->out, PROFILE_STRING_TABLE, w->strings[i], strlen(w->strings[i]));
}

int profile__write_pprof(const struct profile *p, FILE *out, struct halo_err *err)
{
	struct writer w = {
		.p = p,
		.locations = halo_tally__new(sizeof(struct location_key), MAX_ENTRIES),
		.functions = halo_tally__new(3 * sizeof(uint64_t), MAX_ENTRIES),
	};
	int ret = -ENOMEM;

	if (w.locations && w.functions) {
		write_all(&w);
		ret = w.failed || w.out.failed ? -ENOMEM : compress_to(&w.out, out);
	}
	halo_tally__free(w.locations);
	halo_tally__free(w.functions);
	for (size_t i = 0; i < w.n_strings; i++)
		free(w.strings[i]);
	free(w.strings);
	free(w.out.data);
	return ret ? halo_err__set(err, ret, "writing the profile: %s", strerror(-ret)) : 0;
}
