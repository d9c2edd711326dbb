// SPDX-License-Identifier: BSD-2-Clause
#include <endian.h>

#include "prepared_internal.h"
#include "util.h"

/* The GOT words of a dynamic symbol table, by symbol index. */
struct got {
	uint64_t word, lazy_word;
};

static int read_relocs(const struct halo_prepared *p, const struct halo_section *s, struct got *got,
		       size_t n_got, struct halo_err *err)
{
	size_t i, n = s->size / sizeof(Elf64_Rela), sym;
	Elf64_Rela r;

	for (i = 0; i < n; i++) {
		memcpy(&r, s->data + i * sizeof(r), sizeof(r));
		sym = ELF64_R_SYM(r.r_info);
		if (ELF64_R_TYPE(r.r_info) != R_X86_64_GLOB_DAT &&
		    ELF64_R_TYPE(r.r_info) != R_X86_64_JUMP_SLOT)
			continue;
		if (sym >= n_got || r.r_offset % 8 ||
		    !halo_prepared__in_memory(p, r.r_offset, 8, PF_W))
			return halo_prepared__corrupt(err,
						      "a relocation of the GOT is out of bounds");
		if (ELF64_R_TYPE(r.r_info) == R_X86_64_GLOB_DAT || p->bind_now)
			got[sym].word = r.r_offset;
		else
			got[sym].lazy_word = r.r_offset;
	}
	return 0;
}

static int read_got(const struct halo_prepared *p, const struct halo_section *dynsym,
		    struct got *got, size_t n_got, struct halo_err *err)
{
	const struct halo_section *s;
	size_t total = 0;
	int ret;

	for (s = p->sections; s < p->sections + p->n_sections; s++) {
		if (s->type != SHT_RELA || !s->data || s->link != dynsym - p->sections)
			continue;
		total += s->size;
		if (total > p->map_size)
			return halo_prepared__corrupt(err, "relocations overlap");
		ret = read_relocs(p, s, got, n_got, err);
		if (ret)
			return ret;
	}
	return 0;
}

/* False for what is no symbol of a place in the program. */
static bool is_wanted(const struct halo_prepared *p, const Elf64_Sym *sym, bool dynamic,
		      bool has_dynsym)
{
	unsigned int type = ELF64_ST_TYPE(sym->st_info);

	if (type == STT_SECTION || type == STT_FILE)
		return false;
	/* A program with a dynamic table has all that it imports there, under plain names. */
	if (sym->st_shndx == SHN_UNDEF)
		return (dynamic || !has_dynsym);
	if (sym->st_shndx == SHN_ABS || sym->st_shndx == SHN_COMMON)
		return false;
	if (type == STT_TLS)
		return sym->st_size <= p->tls_size && sym->st_value <= p->tls_size - sym->st_size;
	/* The end of the last segment has a symbol too (_end). */
	return halo_prepared__in_memory(p, sym->st_value, 0, 0);
}

static bool is_preemptible(const struct halo_prepared *p, const Elf64_Sym *sym)
{
	return p->is_library && !p->symbolic && sym->st_shndx != SHN_UNDEF &&
	       ELF64_ST_BIND(sym->st_info) != STB_LOCAL &&
	       ELF64_ST_VISIBILITY(sym->st_other) == STV_DEFAULT;
}

static int add_symbols(struct halo_prepared *p, const struct halo_section *s, const struct got *got,
		       bool has_dynsym, struct halo_err *err)
{
	const struct halo_section *str = halo_section__link(p, s);
	size_t i, n = s->size / sizeof(Elf64_Sym);
	struct halo_symbol *out;
	Elf64_Sym sym;

	for (i = 1; i < n; i++) {
		memcpy(&sym, s->data + i * sizeof(sym), sizeof(sym));
		if (!is_wanted(p, &sym, s->type == SHT_DYNSYM, has_dynsym))
			continue;
		out = &p->symbols[p->n_symbols];
		*out = (struct halo_symbol){
			.name = halo_prepared__string(p, str, sym.st_name),
			/* Of a function of another module: its PLT entry, if it has an address. */
			.addr = sym.st_value,
			.size = sym.st_size,
			.type = ELF64_ST_TYPE(sym.st_info),
			.bind = ELF64_ST_BIND(sym.st_info),
			.undefined = sym.st_shndx == SHN_UNDEF && !sym.st_value,
		};
		if (!out->name)
			return halo_prepared__corrupt(err, "a symbol's name lies outside of its "
							   "table");
		if (!out->name[0])
			continue;
		if (got) {
			out->got = got[i].word ? got[i].word : got[i].lazy_word;
			out->got_is_lazy = !got[i].word && got[i].lazy_word;
			out->preemptible = is_preemptible(p, &sym);
		}
		p->n_symbols++;
	}
	return 0;
}

int halo_symbol__compare(const void *a, const void *b)
{
	const struct halo_symbol *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	if (order)
		return order;
	if (x->undefined != y->undefined)
		return x->undefined - y->undefined;
	if ((x->bind == STB_LOCAL) != (y->bind == STB_LOCAL))
		return x->bind == STB_LOCAL ? 1 : -1;
	return (x->addr > y->addr) - (x->addr < y->addr);
}

/* The same symbol in both tables becomes one, with the GOT word of the dynamic one. */
static void merge(struct halo_prepared *p)
{
	size_t i, n = 0;

	qsort(p->symbols, p->n_symbols, sizeof(*p->symbols), halo_symbol__compare);
	for (i = 0; i < p->n_symbols; i++) {
		struct halo_symbol *s = &p->symbols[i], *last = n ? &p->symbols[n - 1] : NULL;

		if (!last || halo_symbol__compare(last, s)) {
			p->symbols[n++] = *s;
			continue;
		}
		last->preemptible |= s->preemptible;
		if (s->got && (!last->got || (last->got_is_lazy && !s->got_is_lazy))) {
			last->got = s->got;
			last->got_is_lazy = s->got_is_lazy;
		}
	}
	p->n_symbols = n;
}

static int add_table(struct halo_prepared *p, const struct halo_section *s, bool has_dynsym,
		     struct halo_err *err)
{
	__cleanup_free struct got *got = NULL;
	size_t n = s->size / sizeof(Elf64_Sym);
	int ret;

	if (s->type == SHT_DYNSYM) {
		got = calloc(n + 1, sizeof(*got));
		if (!got)
			return halo_err__set(err, -ENOMEM, "out of memory");
		ret = read_got(p, s, got, n, err);
		if (ret)
			return ret;
	}
	return add_symbols(p, s, got, has_dynsym, err);
}

int halo_prepared__read_symbols(struct halo_prepared *p, struct halo_err *err)
{
	const struct halo_section *symtab = halo_section__of_type(p, SHT_SYMTAB);
	const struct halo_section *dynsym = halo_section__of_type(p, SHT_DYNSYM);
	size_t n = 0;
	int ret = 0;

	if (symtab)
		n += symtab->size / sizeof(Elf64_Sym);
	if (dynsym)
		n += dynsym->size / sizeof(Elf64_Sym);
	p->symbols = calloc(n + 1, sizeof(*p->symbols));
	if (!p->symbols)
		return halo_err__set(err, -ENOMEM, "out of memory");

	if (dynsym)
		ret = add_table(p, dynsym, true, err);
	if (!ret && symtab)
		ret = add_table(p, symtab, dynsym, err);
	merge(p);
	return ret;
}
