// SPDX-License-Identifier: BSD-2-Clause
#include <sha2.h>

#include "prepared_internal.h"

/* Each piece is preceded by its kind and length, so that no two files give the same stream. */
struct piece {
	uint64_t kind, a, b, c, d, size;
};

static void add(SHA2_CTX *ctx, struct piece piece, const void *data)
{
	SHA256Update(ctx, (const uint8_t *)&piece, sizeof(piece));
	if (piece.size)
		SHA256Update(ctx, data, piece.size);
}

static bool is_identity(const struct halo_prepared *p, const struct halo_section *s)
{
	const struct halo_section *t;

	if (!s->data || (s->flags & SHF_ALLOC))
		return false;
	if (s->type == SHT_SYMTAB || strncmp(s->name, ".halo.", 6) == 0)
		return true;
	for (t = p->sections; t < p->sections + p->n_sections; t++)
		if (t->type == SHT_SYMTAB && (size_t)(s - p->sections) == t->link)
			return true;
	return false;
}

int halo_prepared__hash(const struct halo_prepared *p, uint8_t hash[32], struct halo_err *err)
{
	SHA2_CTX ctx;
	size_t i;

	(void)err;
	SHA256Init(&ctx);
	add(&ctx,
	    (struct piece){.kind = 'F',
			   .a = p->pic,
			   .b = p->tls_size,
			   .c = p->tls_align,
			   .d = p->n_segments},
	    NULL);
	for (i = 0; i < p->n_segments; i++) {
		const struct halo_segment *s = &p->segments[i];

		add(&ctx, (struct piece){'L', s->vaddr, s->off, s->memsz, s->flags, s->filesz},
		    p->map + s->off);
	}
	for (i = 0; i < p->n_sections; i++) {
		const struct halo_section *s = &p->sections[i];

		if (!is_identity(p, s))
			continue;
		add(&ctx, (struct piece){'N', .size = strlen(s->name)}, s->name);
		add(&ctx, (struct piece){'S', s->type, s->flags, .size = s->size}, s->data);
	}
	SHA256Final(hash, &ctx);
	return 0;
}
