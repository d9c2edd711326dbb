// SPDX-License-Identifier: BSD-2-Clause
#include <sha2.h>

#include "prepared_internal.h"
#include "util.h"

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

static void add_section(SHA2_CTX *ctx, const struct halo_section *s, const char *name)
{
	add(ctx, (struct piece){.kind = 'N', .size = strlen(name)}, name);
	if (s)
		add(ctx, (struct piece){.kind = 'S', .a = s->type, .size = s->size}, s->data);
}

int halo_prepared__hash(const struct halo_prepared *p, uint8_t hash[32], struct halo_err *err)
{
	static const char *const tables[] = {
		HALO_SEC_UNIT, HALO_SEC_BC,  HALO_SEC_FUNC,
		HALO_SEC_VAR,  HALO_SEC_STR, HALO_SEC_STUB,
	};
	const struct halo_section *symtab = halo_section__of_type(p, SHT_SYMTAB);
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
	for (i = 0; i < ARRAY_SIZE(tables); i++)
		add_section(&ctx, halo_section__find(p, tables[i]), tables[i]);
	if (symtab) {
		add_section(&ctx, symtab, "symtab");
		add_section(&ctx, halo_section__link(p, symtab), "strtab");
	}
	SHA256Final(hash, &ctx);
	return 0;
}
