// SPDX-License-Identifier: BSD-2-Clause
#include "prepared_internal.h"

#define GLIBC_INTERPRETER "/lib64/ld-linux-x86-64.so.2"

static bool has_glibc(const struct halo_prepared *p)
{
	const struct halo_section *s = halo_section__find(p, ".interp");

	return s && s->size == sizeof(GLIBC_INTERPRETER) &&
	       memcmp(s->data, GLIBC_INTERPRETER, sizeof(GLIBC_INTERPRETER)) == 0;
}

/* Does the dynamic linker bind the unwinder's _dl_find_object() to the stub's? */
static bool is_exported(const struct halo_prepared *p)
{
	const struct halo_section *table = halo_section__of_type(p, SHT_DYNSYM), *str;
	static const char name[] = "_dl_find_object";
	Elf64_Sym sym;
	size_t i;

	str = table ? halo_section__link(p, table) : NULL;
	for (i = 1; str && i < table->size / sizeof(sym); i++) {
		memcpy(&sym, table->data + i * sizeof(sym), sizeof(sym));
		if (sym.st_shndx != SHN_UNDEF && sym.st_value == p->stub.find_object &&
		    ELF64_ST_VISIBILITY(sym.st_other) == STV_DEFAULT && sym.st_name < str->size &&
		    str->size - sym.st_name >= sizeof(name) &&
		    memcmp(str->data + sym.st_name, name, sizeof(name)) == 0)
			return true;
	}
	return false;
}

/* Does the program itself need a library whose name begins so? */
static bool needs(const struct halo_prepared *p, const char *prefix)
{
	const struct halo_section *s = halo_section__find(p, ".dynamic"), *names;
	size_t i, len = strlen(prefix);
	Elf64_Dyn dyn;

	names = s ? halo_section__link(p, s) : NULL;
	for (i = 0; names && i < s->size / sizeof(dyn); i++) {
		memcpy(&dyn, s->data + i * sizeof(dyn), sizeof(dyn));
		if (dyn.d_tag == DT_NEEDED && dyn.d_un.d_val < names->size &&
		    names->size - dyn.d_un.d_val > len &&
		    memcmp(names->data + dyn.d_un.d_val, prefix, len) == 0)
			return true;
	}
	return false;
}

/* Others than GCC's, those of LLVM and nongnu.org, ask nobody where frame descriptions are. */
static const char *check_unwinder(const struct halo_prepared *p)
{
	if (needs(p, "libunwind") || needs(p, "libc++") || halo_prepared__symbol(p, "__unw_step") ||
	    halo_prepared__symbol(p, "unw_step"))
		return "its unwinder is not GCC's";
	if (!halo_section__find(p, ".gcc_except_table") || needs(p, "libgcc_s.so") ||
	    needs(p, "libstdc++.so") || halo_prepared__symbol(p, "_Unwind_Find_FDE"))
		return NULL;
	return "it does not tell which unwinder it has";
}

void halo_prepared__check_unwind(struct halo_prepared *p)
{
	if (!p->has_stub)
		p->no_unwind = "it has no stub";
	else if (p->is_library)
		p->no_unwind = "it is a shared library";
	else if (p->is_static)
		p->no_unwind = "it is linked statically";
	else if (!p->stub.find_object)
		p->no_unwind = "it was linked with another C library, or by an older halo-cc";
	else if (!has_glibc(p))
		p->no_unwind = "its C library is not glibc";
	else if (!is_exported(p))
		p->no_unwind = "its link does not export the stub's _dl_find_object";
	else
		p->no_unwind = check_unwinder(p);
}
