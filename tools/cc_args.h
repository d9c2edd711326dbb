/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_CC_ARGS_H
#define HALO_CC_ARGS_H

/* What a compiler command line asks for, as far as halo-cc must know. */
#include <stdbool.h>
#include <stddef.h>

enum cc_lto {
	CC_LTO_NONE,
	CC_LTO_FULL,
	CC_LTO_THIN,
};

struct cc_args {
	bool has_input;	  /* something to compile or link; else it is a query */
	bool links;	  /* the linker runs */
	bool relocatable; /* but makes an object */
	bool shared;	  /* or a library */
	bool dry_run;	  /* prints commands only */
	bool has_build_id;
	bool lld, gold; /* is the linker */
	bool gc_sections;
	bool lto_o0; /* at link time */
	enum cc_lto lto;
	const char *assembly; /* an input that is, or NULL */
	bool probe;	      /* a configure script tries the compiler out */
	bool own_unwinding;   /* static, or another C library than this machine's */
	const char *output;
	const char *unprepared; /* why units are compiled plainly, or NULL */
	const char *unstubbed;	/* why the link gets nothing of ours, or NULL */
	const char *unentered;	/* why code made at link time gets no entries, or NULL */
};

/* @argv[0] is skipped. Strings stay those of @argv. */
void cc_args__scan(struct cc_args *args, int argc, char **argv);

/*
 * Replace each @file by the arguments in it. Returns a NULL-terminated array, for the life of the
 * process, or NULL without memory. A file that can't be read stays as it is, as in clang.
 */
char **cc_args__expand(int argc, char **argv, int *out_argc);

#endif
