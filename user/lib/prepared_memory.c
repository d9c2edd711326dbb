// SPDX-License-Identifier: BSD-2-Clause
#include "prepared_internal.h"

const struct halo_section *halo_section__find(const struct halo_prepared *p, const char *name)
{
	size_t i;

	for (i = 0; i < p->n_sections; i++)
		if (p->sections[i].data && strcmp(p->sections[i].name, name) == 0)
			return &p->sections[i];
	return NULL;
}

const struct halo_section *halo_section__of_type(const struct halo_prepared *p, uint32_t type)
{
	size_t i;

	for (i = 0; i < p->n_sections; i++)
		if (p->sections[i].data && p->sections[i].type == type)
			return &p->sections[i];
	return NULL;
}

const struct halo_section *halo_section__link(const struct halo_prepared *p,
					      const struct halo_section *s)
{
	return s->link < p->n_sections && p->sections[s->link].data ? &p->sections[s->link] : NULL;
}

/* Strings may share their ends, so their sum may be above the file's size, but not by much. */
#define STRINGS_PER_BYTE 4

const char *halo_prepared__string(struct halo_prepared *p, const struct halo_section *s,
				  uint64_t off)
{
	const uint8_t *end;

	if (!s || off >= s->size)
		return NULL;
	end = memchr(s->data + off, '\0', s->size - off);
	if (!end)
		return NULL;
	p->string_bytes += end - (s->data + off);
	if (p->string_bytes / STRINGS_PER_BYTE > p->map_size)
		return NULL;
	return (const char *)s->data + off;
}

/* Bounds were checked when the segments were read, so their sums don't overflow. */
static bool holds(uint64_t begin, uint64_t len, uint64_t addr, uint64_t size)
{
	return addr >= begin && size <= len && addr - begin <= len - size;
}

bool halo_prepared__in_memory(const struct halo_prepared *p, uint64_t vaddr, uint64_t size,
			      uint32_t flags)
{
	const struct halo_segment *s;

	for (s = p->segments; s < p->segments + p->n_segments; s++)
		if ((s->flags & flags) == flags && holds(s->vaddr, s->memsz, vaddr, size))
			return true;
	return false;
}

const uint8_t *halo_prepared__bytes(const struct halo_prepared *p, uint64_t vaddr, uint64_t size,
				    uint32_t flags)
{
	const struct halo_segment *s;

	for (s = p->segments; s < p->segments + p->n_segments; s++)
		if ((s->flags & flags) == flags && holds(s->vaddr, s->filesz, vaddr, size))
			return p->map + s->off + (vaddr - s->vaddr);
	return NULL;
}

bool halo_prepared__off_to_vaddr(const struct halo_prepared *p, uint64_t off, uint64_t *vaddr)
{
	const struct halo_segment *s;

	for (s = p->segments; s < p->segments + p->n_segments; s++) {
		if (holds(s->off, s->filesz, off, 1)) {
			*vaddr = s->vaddr + (off - s->off);
			return true;
		}
	}
	return false;
}

bool halo_prepared__vaddr_to_off(const struct halo_prepared *p, uint64_t vaddr, uint64_t *off)
{
	const struct halo_segment *s;

	for (s = p->segments; s < p->segments + p->n_segments; s++) {
		if (holds(s->vaddr, s->filesz, vaddr, 1)) {
			*off = s->off + (vaddr - s->vaddr);
			return true;
		}
	}
	return false;
}
