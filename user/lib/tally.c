// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>

#include "tally.h"
#include "util.h"

#define FIRST_SLOTS 1024 /* a power of two */

/* Keys and counts in the order in which they came; slots hold 1 + their index. */
struct halo_tally {
	size_t key_size, max, used, room;
	char *keys;
	uint64_t (*counts)[2];
	uint32_t *slots;
	size_t n_slots; /* at most half of them are used */
	uint64_t dropped;
};

struct halo_tally *halo_tally__new(size_t key_size, size_t max)
{
	struct halo_tally *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->key_size = key_size;
	t->max = max;
	t->n_slots = FIRST_SLOTS;
	t->slots = calloc(t->n_slots, sizeof(*t->slots));
	if (t->slots)
		return t;
	free(t);
	return NULL;
}

void halo_tally__free(struct halo_tally *t)
{
	if (!t)
		return;
	free(t->keys);
	free(t->counts);
	free(t->slots);
	free(t);
}

/* FNV-1a by words: keys are a few words long. */
static uint64_t hash(const char *key, size_t size)
{
	uint64_t h = 0xcbf29ce484222325ULL, word;

	for (size_t i = 0; i < size; i += sizeof(word)) {
		word = 0;
		memcpy(&word, key + i, size - i < sizeof(word) ? size - i : sizeof(word));
		h = (h ^ word) * 0x100000001b3ULL;
		h ^= h >> 29;
	}
	return h;
}

static uint32_t *find(const struct halo_tally *t, const char *key)
{
	size_t i = hash(key, t->key_size) & (t->n_slots - 1);

	while (t->slots[i] && memcmp(t->keys + (t->slots[i] - 1) * t->key_size, key, t->key_size))
		i = (i + 1) & (t->n_slots - 1);
	return &t->slots[i];
}

static bool grow(struct halo_tally *t)
{
	size_t room = t->room ? 2 * t->room : FIRST_SLOTS / 2;
	char *keys = reallocarray(t->keys, room, t->key_size);
	uint64_t(*counts)[2];
	uint32_t *slots;

	if (keys)
		t->keys = keys;
	counts = reallocarray(t->counts, room, sizeof(*counts));
	if (counts)
		t->counts = counts;
	slots = calloc(2 * room, sizeof(*slots));
	if (!keys || !counts || !slots) {
		free(slots);
		return false;
	}
	free(t->slots);
	t->slots = slots;
	t->n_slots = 2 * room;
	t->room = room;
	for (size_t i = 0; i < t->used; i++)
		*find(t, t->keys + i * t->key_size) = i + 1;
	return true;
}

int halo_tally__add(struct halo_tally *t, const void *key, uint64_t count, uint64_t second)
{
	uint32_t *slot = find(t, key);

	if (!*slot) {
		if (t->used >= t->max || (t->used == t->room && !grow(t))) {
			t->dropped += count;
			return -ENOSPC;
		}
		slot = find(t, key);
		memcpy(t->keys + t->used * t->key_size, key, t->key_size);
		memset(t->counts[t->used], 0, sizeof(t->counts[0]));
		*slot = ++t->used;
	}
	t->counts[*slot - 1][0] += count;
	t->counts[*slot - 1][1] += second;
	return 0;
}

size_t halo_tally__find(const struct halo_tally *t, const void *key)
{
	return *find(t, key) - 1;
}

size_t halo_tally__size(const struct halo_tally *t)
{
	return t->used;
}

uint64_t halo_tally__dropped(const struct halo_tally *t)
{
	return t->dropped;
}

const void *halo_tally__at(const struct halo_tally *t, size_t i, uint64_t *count, uint64_t *second)
{
	*count = t->counts[i][0];
	*second = t->counts[i][1];
	return t->keys + i * t->key_size;
}
