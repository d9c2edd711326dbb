// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../user/lib/util.h"
#include "imports.h"
#include "link.h"

struct runtime {
	const char *name, *body;
};

/* Only for programs that do not have them; the direction flag is clear at every call. */
static const struct runtime runtime[] = {
	{"memcpy", "movq %rdi,%rax; movq %rdx,%rcx; rep movsb; ret"},
	{"memmove", "movq %rdi,%rax; movq %rdx,%rcx; movq %rdi,%r8; subq %rsi,%r8\n"
		    "cmpq %rdx,%r8; jb 1f; rep movsb; ret\n"
		    "1: leaq -1(%rdi,%rdx),%rdi; leaq -1(%rsi,%rdx),%rsi\n"
		    "std; rep movsb; cld; ret"},
	{"memset", "movq %rdi,%r8; movl %esi,%eax; movq %rdx,%rcx; rep stosb; movq %r8,%rax; ret"},
	{"memcmp", "xorl %eax,%eax; movq %rdx,%rcx; cmpq %rcx,%rcx; repe cmpsb; je 1f\n"
		   "movzbl -1(%rdi),%eax; movzbl -1(%rsi),%ecx; subl %ecx,%eax\n"
		   "1: ret"},
	{"bcmp", "xorl %eax,%eax; movq %rdx,%rcx; cmpq %rcx,%rcx; repe cmpsb; setne %al; ret"},
};

static const struct runtime *find_runtime(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(runtime); i++)
		if (strcmp(runtime[i].name, name) == 0)
			return &runtime[i];
	return NULL;
}

/*
 * 128-bit arithmetic and the like, from the compiler's own library. Not the division of complex numbers,
 * which GCC's library rounds otherwise.
 */
static bool is_builtin(const char *name)
{
	static const char *const names[] = {
		"__divti3",	"__udivti3",	 "__modti3",	  "__umodti3",	   "__divmodti4",
		"__udivmodti4", "__multi3",	 "__mulodi4",	  "__muloti4",	   "__ashlti3",
		"__ashrti3",	"__lshrti3",	 "__floattisf",	  "__floattidf",   "__floattixf",
		"__floattitf",	"__floatuntisf", "__floatuntidf", "__floatuntixf", "__floatuntitf",
		"__fixsfti",	"__fixdfti",	 "__fixxfti",	  "__fixunssfti",  "__fixunsdfti",
		"__fixunsxfti", "__powisf2",	 "__powidf2",	  "__powixf2",	   "__popcountdi2",
		"__addtf3",	"__subtf3",	 "__multf3",	  "__divtf3",	   "__letf2",
		"__getf2",	"__unordtf2",	 "__fixtfdi",	  "__floatditf",   "__extenddftf2",
		"__trunctfdf2", "__extendhfsf2", "__truncsfhf2",  "__truncdfhf2",  "__muldc3",
		"__mulsc3",	"__mulxc3",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

bool link__has_runtime(const char *name)
{
	return find_runtime(name) || is_builtin(name);
}

struct place link__place(const struct link_job *job, const char *name)
{
	const struct symbol *s = symbols__find(job->symbols, name);

	return s ? s->place : resolve__external(job->p, name);
}

static void begin_function(FILE *f, const char *name)
{
	fprintf(f,
		".p2align 4\n.globl \"%s\"\n.hidden \"%s\"\n.type \"%s\",@function\n\"%s\":\n"
		".cfi_startproc\n",
		name, name, name, name);
}

static void end_function(FILE *f, const char *name)
{
	fprintf(f, "\n.cfi_endproc\n.size \"%s\",.-\"%s\"\n", name, name);
}

static int unresolved(const char *name, struct halo_err *err)
{
	halo_err__set(err, -ENOENT, "the optimized code needs %s, which the program does not have",
		      name);
	return -ENOENT;
}

static int write_symbol(FILE *f, const struct link_job *job, const char *name, struct halo_err *err)
{
	struct place place = link__place(job, name);
	const struct runtime *own = find_runtime(name);

	if (strpbrk(name, "\"\\\n"))
		return halo_err__set(err, -ENOTSUP, "a symbol has an odd name");
	if (place.where == WHERE_CONSTANT) {
		fprintf(f,
			".section .rodata,\"a\",@progbits\n.balign 8\n.globl \"%s\"\n"
			".hidden \"%s\"\n\"%s\": .quad %#lx\n.text\n",
			name, name, name, place.addr);
	} else if (place.where == WHERE_IMPORT) {
		begin_function(f, name);
		fprintf(f, "jmpq *\"%s" IMPORTS_GOT_SUFFIX "\"(%%rip)", name);
		end_function(f, name);
	} else if (place.where == WHERE_NEVER) {
		begin_function(f, name);
		fputs("ud2", f);
		end_function(f, name);
	} else if (place.where == WHERE_NOWHERE && own) {
		begin_function(f, name);
		fputs(own->body, f);
		end_function(f, name);
	} else if (place.where == WHERE_NOWHERE && !is_builtin(name)) {
		return unresolved(name, err);
	}
	return 0;
}

/* The compiler's library may check its stack; here there is nobody to report to. */
static void write_stack_check(FILE *f, const struct link_job *job)
{
	static const char name[] = "__stack_chk_fail";
	size_t i;

	for (i = 0; i < job->relocs->n_undefined; i++)
		if (strcmp(job->relocs->undefined[i], name) == 0)
			return;
	begin_function(f, name);
	fputs("ud2", f);
	end_function(f, name);
}

static bool needs_builtins(const struct link_job *job)
{
	size_t i;

	for (i = 0; i < job->relocs->n_undefined; i++)
		if (is_builtin(job->relocs->undefined[i]))
			return true;
	return false;
}

static void write_tls_symbol(FILE *f, const struct link_job *job, const char *name)
{
	struct place place = link__place(job, name);

	if (place.where == WHERE_TLS)
		fprintf(f,
			".globl \"%s\"\n.hidden \"%s\"\n.type \"%s\",@tls_object\n"
			".set \"%s\", halo.tls + %#lx\n",
			name, name, name, name, place.addr);
}

/* A block of the program's size and alignment: the same offsets from the thread pointer. */
static void write_tls(FILE *f, const struct link_job *job)
{
	const struct relocs *r = job->relocs;
	size_t i, n = 0;

	for (i = 0; i < r->n_undefined; i++)
		n += link__place(job, r->undefined[i]).where == WHERE_TLS;
	if (!n)
		return;
	fprintf(f, ".section .tbss,\"awT\",@nobits\n.balign %lu\nhalo.tls:\n.zero %lu\n",
		job->p->tls_align ? job->p->tls_align : 1, job->p->tls_size);
	for (i = 0; i < r->n_undefined; i++)
		write_tls_symbol(f, job, r->undefined[i]);
}

int link__runtime_text(const struct link_job *job, char **text, size_t *len, struct halo_err *err)
{
	const struct relocs *r = job->relocs;
	int ret = 0;
	FILE *f;
	size_t i;

	*text = NULL;
	f = open_memstream(text, len);
	if (!f)
		return halo_err__set(err, -ENOMEM, "out of memory");
	fputs(".text\n", f);
	for (i = 0; i < r->n_undefined && !ret; i++)
		ret = write_symbol(f, job, r->undefined[i], err);
	if (needs_builtins(job))
		write_stack_check(f, job);
	write_tls(f, job);
	if (fclose(f) && !ret)
		ret = halo_err__set(err, -ENOMEM, "out of memory");
	return ret;
}
