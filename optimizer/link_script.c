// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdio.h>

#include "imports.h"
#include "link.h"

/* One segment, whose bytes are the file's from its first: it can be copied as it is. */
static const char layout[] =
	"PHDRS {\n"
	"  image PT_LOAD FILEHDR PHDRS FLAGS(5);\n"
	"%s"
	"  note PT_NOTE FLAGS(4);\n"
	"  frames PT_GNU_EH_FRAME FLAGS(4);\n"
	"  stack PT_GNU_STACK FLAGS(6);\n"
	"}\n"
	"SECTIONS {\n"
	"  . = %#lx + SIZEOF_HEADERS;\n"
	"  .note.gnu.build-id : { *(.note.gnu.build-id) } :image :note\n"
	"  .rodata : { *(.rodata .rodata.* .lrodata .lrodata.*) } :image\n"
	"  .eh_frame_hdr : { *(.eh_frame_hdr) } :image :frames\n"
	"  .eh_frame : { KEEP(*(.eh_frame)) } :image\n"
	"  .gcc_except_table : { *(.gcc_except_table .gcc_except_table.*) } :image\n"
	"  .text : ALIGN(64) { *(.text.hot .text.hot.*) *(.text .text.[!uhs]* .ltext .ltext.*)\n"
	"                       *(.text.*) } :image\n"
	"%s"
	"  .symtab : { *(.symtab) }\n"
	"  .shstrtab : { *(.shstrtab) }\n"
	"  .strtab : { *(.strtab) }\n"
	"  /DISCARD/ : { *(.comment .note.* .llvm_addrsig .llvm.call-graph-profile .data .data.*\n"
	"                  .debug* .halo.*) }\n"
	"}\n";

static const char layout_end[] = "ASSERT(SIZEOF(.text) > 0, \"no code\")\n";

static void assign(FILE *f, const char *name, const char *suffix, uint64_t addr)
{
	fprintf(f, "\"%s%s\" = %#lx;\n", name, suffix, (uint64_t)(addr + HALO_LINK_BIAS));
}

static bool has_tls(const struct link_job *job)
{
	size_t i;

	for (i = 0; i < job->relocs->n_undefined; i++)
		if (link__place(job, job->relocs->undefined[i]).where == WHERE_TLS)
			return true;
	return false;
}

int link__script_text(const struct link_job *job, char **text, size_t *len, struct halo_err *err)
{
	const struct relocs *r = job->relocs;
	struct place place;
	bool tls;
	FILE *f;
	size_t i;

	*text = NULL;
	f = open_memstream(text, len);
	if (!f)
		return halo_err__set(err, -ENOMEM, "out of memory");
	for (i = 0; i < r->n_undefined; i++) {
		place = link__place(job, r->undefined[i]);
		if (place.where == WHERE_PROGRAM)
			assign(f, r->undefined[i], "", place.addr);
		else if (place.where == WHERE_IMPORT &&
			 !symbols__find(job->symbols, r->undefined[i]))
			assign(f, r->undefined[i], IMPORTS_GOT_SUFFIX, place.addr);
	}
	/* The words of those that the module names, whether it reads or calls through them. */
	for (i = 0; i < job->symbols->n; i++)
		if (job->symbols->list[i].place.where == WHERE_IMPORT)
			assign(f, job->symbols->list[i].name, IMPORTS_GOT_SUFFIX,
			       job->symbols->list[i].place.addr);
	tls = has_tls(job);
	fprintf(f, layout, tls ? "  tls PT_TLS FLAGS(4);\n" : "",
		(uint64_t)(job->place + HALO_LINK_BIAS),
		tls ? "  .tbss : { *(.tbss .tbss.*) } :tls\n" : "");
	fputs(layout_end, f);
	if (fclose(f))
		return halo_err__set(err, -ENOMEM, "out of memory");
	return 0;
}
