// SPDX-License-Identifier: BSD-2-Clause
#include <endian.h>

#include "prepared_internal.h"
#include "prepared_object.h"
#include "util.h"

struct object {
	Elf *elf;
	size_t shstrndx;
	struct halo_prepared *p;
	struct halo_err *err;
};

/* One section of rows, with its relocations. */
struct rows {
	Elf_Data *data, *relocs, *symbols;
	size_t n, row_size, n_relocs;
	size_t last; /* relocation that was found: they come in the rows' order */
};

static const char *section_name(const struct object *o, Elf_Scn *scn)
{
	GElf_Shdr sh;
	const char *name;

	if (!gelf_getshdr(scn, &sh))
		return "";
	name = elf_strptr(o->elf, o->shstrndx, sh.sh_name);
	return name ? name : "";
}

static int find_relocs(const struct object *o, Elf_Scn *scn, struct rows *rows)
{
	size_t index = elf_ndxscn(scn);
	Elf_Scn *s = NULL;
	GElf_Shdr sh;

	while ((s = elf_nextscn(o->elf, s))) {
		if (!gelf_getshdr(s, &sh) || sh.sh_type != SHT_RELA || sh.sh_info != index)
			continue;
		rows->relocs = elf_getdata(s, NULL);
		rows->symbols = elf_getdata(elf_getscn(o->elf, sh.sh_link), NULL);
		if (!rows->relocs || !rows->symbols || rows->symbols->d_type != ELF_T_SYM)
			return halo_prepared__corrupt(o->err, "relocations can't be read");
		rows->n_relocs = sh.sh_size / sizeof(Elf64_Rela);
		return 0;
	}
	return 0;
}

static int read_rows(const struct object *o, Elf_Scn *scn, size_t row_size, struct rows *rows)
{
	memset(rows, 0, sizeof(*rows));
	rows->row_size = row_size;
	rows->data = elf_rawdata(scn, NULL);
	if (!rows->data || !rows->data->d_buf || rows->data->d_size % row_size)
		return halo_prepared__corrupt(o->err, "%s holds not whole rows",
					      section_name(o, scn));
	rows->n = rows->data->d_size / row_size;
	return find_relocs(o, scn, rows);
}

static bool find_reloc(struct rows *rows, uint64_t off, GElf_Rela *rel)
{
	size_t k;

	for (k = 0; k < rows->n_relocs; k++) {
		size_t index = (rows->last + k) % rows->n_relocs;

		if (!gelf_getrela(rows->relocs, (int)index, rel) || rel->r_offset != off)
			continue;
		rows->last = index;
		return true;
	}
	return false;
}

/* What the word at @off of row @i points to, in section @name; NULL: nothing there. */
static const uint8_t *target(const struct object *o, struct rows *rows, size_t i, size_t off,
			     const char *name, size_t *left)
{
	Elf_Data *data;
	GElf_Rela rel;
	GElf_Sym sym;
	Elf_Scn *scn;
	uint64_t at;

	if (!find_reloc(rows, i * rows->row_size + off, &rel) ||
	    !gelf_getsym(rows->symbols, (int)GELF_R_SYM(rel.r_info), &sym))
		return NULL;
	scn = elf_getscn(o->elf, sym.st_shndx);
	if (!scn || strcmp(section_name(o, scn), name) != 0)
		return NULL;
	data = elf_rawdata(scn, NULL);
	at = sym.st_value + (uint64_t)rel.r_addend;
	if (!data || !data->d_buf || at >= data->d_size)
		return NULL;
	*left = data->d_size - at;
	return (const uint8_t *)data->d_buf + at;
}

static const char *name_of(const struct object *o, struct rows *rows, size_t i, size_t off)
{
	const uint8_t *text;
	size_t left;

	text = target(o, rows, i, off, HALO_SEC_STR, &left);
	if (text && memchr(text, '\0', left))
		return (const char *)text;
	halo_prepared__corrupt(o->err, "a name lies outside of %s", HALO_SEC_STR);
	return NULL;
}

static void *grow(void *list, size_t n, size_t more, size_t size, struct halo_err *err)
{
	void *bigger = reallocarray(list, n + more + 1, size);

	if (!bigger)
		halo_err__set(err, -ENOMEM, "out of memory");
	return bigger;
}

static int read_unit(const struct object *o, struct rows *rows, size_t i)
{
	struct halo_unit *u = &o->p->units[o->p->n_units];
	struct halo_unit_row row;
	size_t left;

	memcpy(&row, (const uint8_t *)rows->data->d_buf + i * sizeof(row), sizeof(row));
	if (row.magic != HALO_UNIT_MAGIC)
		return halo_prepared__corrupt(o->err, "a unit's row has a wrong magic number");
	if (row.version != HALO_FORMAT_VERSION)
		return halo_prepared__corrupt(o->err, "format version %u, known is %d", row.version,
					      HALO_FORMAT_VERSION);
	*u = (struct halo_unit){
		.id = row.id,
		.bc_size = row.bc_size,
		.raw_size = row.raw_size,
		.flags = row.flags,
		.llvm = row.llvm,
	};
	u->name = name_of(o, rows, i, offsetof(struct halo_unit_row, name));
	if (!u->name)
		return -EBADMSG;
	u->bc = target(o, rows, i, offsetof(struct halo_unit_row, bc), HALO_SEC_BC, &left);
	if (!u->bc || !row.bc_size || row.bc_size > left)
		return halo_prepared__corrupt(o->err, "bitcode of %s lies outside of %s", u->name,
					      HALO_SEC_BC);
	o->p->n_units++;
	return 0;
}

static int unit_of(const struct object *o, uint64_t id, uint32_t *unit)
{
	size_t i;

	for (i = 0; i < o->p->n_units; i++) {
		if (o->p->units[i].id != id)
			continue;
		*unit = (uint32_t)i;
		return 0;
	}
	return halo_prepared__corrupt(o->err, "a row is of an unknown unit");
}

static int read_func(const struct object *o, struct rows *rows, size_t i)
{
	struct halo_func *f = &o->p->funcs[o->p->n_funcs];
	struct halo_func_row row;
	int ret;

	memcpy(&row, (const uint8_t *)rows->data->d_buf + i * sizeof(row), sizeof(row));
	*f = (struct halo_func){
		.slot = row.reason == HALO_REDIRECTABLE,
		.flags = row.flags,
		.reason = row.reason,
	};
	f->name = name_of(o, rows, i, offsetof(struct halo_func_row, name));
	ret = f->name ? unit_of(o, row.unit, &f->unit) : -EBADMSG;
	o->p->n_funcs += !ret;
	return ret;
}

static int read_var(const struct object *o, struct rows *rows, size_t i)
{
	struct halo_var *v = &o->p->vars[o->p->n_vars];
	struct halo_var_row row;
	int ret;

	memcpy(&row, (const uint8_t *)rows->data->d_buf + i * sizeof(row), sizeof(row));
	*v = (struct halo_var){.size = row.size, .flags = row.flags};
	v->name = name_of(o, rows, i, offsetof(struct halo_var_row, name));
	ret = v->name ? unit_of(o, row.unit, &v->unit) : -EBADMSG;
	o->p->n_vars += !ret;
	return ret;
}

struct table {
	const char *section;
	size_t row_size, list, item_size; /* list: offset of the array in struct halo_prepared */
	size_t count;
	int (*read)(const struct object *o, struct rows *rows, size_t i);
};

#define TABLE(section_, row_, list_, reader)                                        \
	{                                                                           \
		.section = section_, .row_size = sizeof(struct row_),               \
		.list = offsetof(struct halo_prepared, list_),                      \
		.item_size = sizeof(*((struct halo_prepared *)0)->list_),           \
		.count = offsetof(struct halo_prepared, n_##list_), .read = reader, \
	}

/* Units come first: the others' rows name them. */
static const struct table tables[] = {
	TABLE(HALO_SEC_UNIT, halo_unit_row, units, read_unit),
	TABLE(HALO_SEC_FUNC, halo_func_row, funcs, read_func),
	TABLE(HALO_SEC_VAR, halo_var_row, vars, read_var),
};

static int read_section(const struct object *o, Elf_Scn *scn, const struct table *t)
{
	void **list = (void **)((char *)o->p + t->list), *bigger;
	size_t i, *count = (size_t *)((char *)o->p + t->count);
	struct rows rows;
	int ret = read_rows(o, scn, t->row_size, &rows);

	if (ret)
		return ret;
	bigger = grow(*list, *count, rows.n, t->item_size, o->err);
	if (!bigger)
		return -ENOMEM;
	*list = bigger;
	for (i = 0; i < rows.n && !ret; i++)
		ret = t->read(o, &rows, i);
	return ret;
}

static int read_table(const struct object *o, const struct table *t)
{
	Elf_Scn *scn = NULL;
	int ret = 0;

	while (!ret && (scn = elf_nextscn(o->elf, scn)))
		if (strcmp(section_name(o, scn), t->section) == 0)
			ret = read_section(o, scn, t);
	return ret;
}

static int check_header(const struct object *o)
{
	GElf_Ehdr eh;

	if (!o->elf || elf_kind(o->elf) != ELF_K_ELF || !gelf_getehdr(o->elf, &eh) ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_ident[EI_DATA] != ELFDATA2LSB ||
	    eh.e_machine != EM_X86_64 || eh.e_type != ET_REL)
		return halo_err__set(o->err, -ENOEXEC, "not an x86-64 object");
	return 0;
}

static int read_object(struct object *o)
{
	size_t i;
	int ret = check_header(o);

	if (ret)
		return ret;
	if (elf_getshdrstrndx(o->elf, &o->shstrndx))
		return halo_prepared__corrupt(o->err, "section headers can't be read");
	for (i = 0; i < ARRAY_SIZE(tables) && !ret; i++)
		ret = read_table(o, &tables[i]);
	if (ret || o->p->n_units)
		return ret;
	halo_err__set(o->err, -ENODATA, "the object carries no bitcode");
	halo_err__cause(o->err, "it was compiled without halo-cc, or is one that halo-cc compiles "
				"plainly (HALO_VERBOSE=1 makes it say why)");
	return -ENODATA;
}

int halo_prepared__open_object(const uint8_t *image, size_t size, struct halo_prepared **out,
			       struct halo_err *err)
{
	struct object o = {.err = err, .p = calloc(1, sizeof(*o.p))};
	int ret;

	if (!o.p)
		return halo_err__set(err, -ENOMEM, "out of memory");
	o.p->fd = -1;
	elf_version(EV_CURRENT);
	o.elf = elf_memory((char *)image, size);
	ret = read_object(&o);
	/* Raw data of sections is @image's own. */
	elf_end(o.elf);
	if (!ret)
		*out = take_ptr(o.p);
	halo_prepared__free(o.p);
	return ret;
}
