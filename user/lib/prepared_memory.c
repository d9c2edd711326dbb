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

const char *halo_section__string(const struct halo_section *s, uint64_t off)
{
	if (!s || off >= s->size || !memchr(s->data + off, '\0', s->size - off))
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
