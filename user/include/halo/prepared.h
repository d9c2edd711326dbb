/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_PREPARED_H
#define HALO_PREPARED_H

/*
 * What halo-cc leaves in a program: tables in non-allocated sections, which the linker relocates
 * and concatenates. They are written by tools/prepare/, read by user/lib/prepared.c.
 *
 *   .halo.unit  one struct halo_unit_row per translation unit
 *   .halo.bc    the units' bitcode as it was before any optimization, zstd frames
 *   .halo.func  one struct halo_func_row per defined function
 *   .halo.var   one struct halo_var_row per defined variable that keeps state or has an address
 *   .halo.str   NUL-terminated names (mergeable strings)
 *   .halo.stub  one struct halo_stub_row, from the begin object
 *   halo_slots  allocated, whole pages: HALO_DATA_PAGES of data words, then one slot per
 *               redirectable function
 *
 * A row of a COMDAT member is in that member's section group, so only the surviving copy has one. A
 * row whose function or variable was dropped by --gc-sections has address 0. All addresses are
 * link-time virtual addresses. All fields are little-endian. No padding.
 */
#ifndef __ASSEMBLER__
#include <assert.h>
#include <stdint.h>
#endif

#define HALO_FORMAT_VERSION 2
#define HALO_UNIT_MAGIC	    0x3154494e554f4c48ULL /* "HLOUNIT1" */
#define HALO_STUB_MAGIC	    0x3142555453304c48ULL

#define HALO_SEC_UNIT	    ".halo.unit"
#define HALO_SEC_BC	    ".halo.bc"
#define HALO_SEC_FUNC	    ".halo.func"
#define HALO_SEC_VAR	    ".halo.var"
#define HALO_SEC_STR	    ".halo.str"
#define HALO_SEC_STUB	    ".halo.stub"
#define HALO_SEC_SLOTS	    "halo_slots"

/*
 * A redirectable function begins with one indirect jump through its slot ("jmp *slot(%rip)", after
 * an endbr64 where the unit has IBT), padded to HALO_ENTRY_SIZE bytes; its own code follows. The
 * slot's initial value is function + HALO_ENTRY_SIZE.
 */
#define HALO_ENTRY_SIZE 16

/*
 * Behind this prefix a thread-local variable's name: a local function of the unit that returns its
 * address in the calling thread. Libraries have it for their own, all units for those of others.
 */
#define HALO_TLS_PREFIX "halo.tls."

/* Words of an image that depend on the process live in the first pages of halo_slots. */
#define HALO_DATA_PAGES 2

/* Their last word: where the process's arena begins, 0 until it has one. */
#define HALO_DATA_ARENA (HALO_DATA_PAGES * 4096 / 8 - 1)

/*
 * How a running program is attached: the daemon fills in the scratch memory, puts one stopped thread
 * at the stub's attach code with the arguments of socketpair(2) in its registers, and gives it the
 * offer through that socket pair. From there on the thread needs nobody: it maps what it was offered
 * and takes all of its own registers back from the scratch memory.
 */
#define HALO_SCRATCH_SIZE     1024 /* struct halo_scratch */
#define HALO_SCRATCH_RSP      120
#define HALO_SCRATCH_RIP      128
#define HALO_SCRATCH_FLAGS    136
#define HALO_SCRATCH_MASK     144
#define HALO_SCRATCH_WAIT     152
#define HALO_SCRATCH_BUSY     176
#define HALO_SCRATCH_SCHED    184
#define HALO_ATTACH_CODE_SIZE 304

#ifndef __ASSEMBLER__

/* The kernel's struct sched_attr, first version. */
struct halo_sched {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

struct halo_scratch {
	/* What the thread goes on with: r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi */
	uint64_t regs[15];
	uint64_t rsp, rip, flags;
	uint64_t mask;	  /* its blocked signals */
	uint64_t wait[2]; /* a struct timespec: for how long it waits, at the end, to be put back */
	int32_t pair[2];  /* the sockets */
	uint32_t busy;	  /* the thread, as the daemon numbers it; 0 once it needs none of this */
	uint32_t reserved;
	struct halo_sched
		sched; /* to go back to, since it is in more of a hurry meanwhile; size 0: not */
	uint64_t stack[99]; /* its stack meanwhile */
};
static_assert(sizeof(struct halo_scratch) == HALO_SCRATCH_SIZE, "as in assembly");
static_assert(__builtin_offsetof(struct halo_scratch, rsp) == HALO_SCRATCH_RSP, "the same");
static_assert(__builtin_offsetof(struct halo_scratch, rip) == HALO_SCRATCH_RIP, "the same");
static_assert(__builtin_offsetof(struct halo_scratch, flags) == HALO_SCRATCH_FLAGS, "the same");
static_assert(__builtin_offsetof(struct halo_scratch, mask) == HALO_SCRATCH_MASK, "the same");
static_assert(__builtin_offsetof(struct halo_scratch, wait) == HALO_SCRATCH_WAIT, "the same");
static_assert(__builtin_offsetof(struct halo_scratch, busy) == HALO_SCRATCH_BUSY, "the same");
static_assert(__builtin_offsetof(struct halo_scratch, sched) == HALO_SCRATCH_SCHED, "the same");

enum halo_unit_flag {
	HALO_UNIT_O0 = 1 << 0, /* compiled at -O0: libcalls must not be simplified */
};

struct halo_unit_row {
	uint64_t magic;	   /* HALO_UNIT_MAGIC */
	uint64_t id;	   /* hash of the unit's bitcode and source name */
	uint64_t bc;	   /* offset in .halo.bc */
	uint64_t bc_size;  /* bytes, compressed */
	uint64_t raw_size; /* bytes, uncompressed */
	uint32_t name;	   /* source file, offset in .halo.str */
	uint32_t flags;	   /* enum halo_unit_flag */
	uint16_t version;  /* HALO_FORMAT_VERSION */
	uint16_t llvm;	   /* major version of the bitcode's writer */
	uint32_t reserved;
};

/* Why a function has no slot; HALO_REDIRECTABLE when it has one. Append only. */
#define HALO_REASONS(X)                                                       \
	X(REDIRECTABLE, "redirectable")                                       \
	X(MAIN, "main is entered once")                                       \
	X(SMALL, "small, and has no loop")                                    \
	X(NAKED, "naked")                                                     \
	X(RETURNS_TWICE, "returns twice")                                     \
	X(NORETURN, "never returns")                                          \
	X(SECTION, "placed in a section of its own by the source")            \
	X(ABI_CHANGED, "the compiler changed its signature")                  \
	X(VARARG_LOCAL, "local and variadic")                                 \
	X(SANITIZED, "the build has instrumentation that depends on entries") \
	X(PROLOGUE, "has prologue data or patchable entries already")         \
	X(STARTUP, "runs only at start or exit")                              \
	X(REGISTERS, "its calling convention leaves no register to entries that count")

enum halo_reason {
#define HALO_REASON_ENUM(name, text) HALO_##name,
	HALO_REASONS(HALO_REASON_ENUM)
#undef HALO_REASON_ENUM
	HALO_REASON_MAX
};

enum halo_func_flag {
	HALO_FUNC_LOCAL = 1 << 0,	/* internal linkage, in the bitcode */
	HALO_FUNC_ABI_CHANGED = 1 << 1, /* can't be called as the bitcode declares it */
	HALO_FUNC_IBT = 1 << 2,		/* entry begins with endbr64 */
	HALO_FUNC_WEAK = 1 << 3,	/* calls may go to another copy: see the symbol table */
	HALO_FUNC_INLINED =
		1 << 4, /* all calls in its unit were inlined: its time is its callers' */
	HALO_FUNC_LOOP =
		1 << 5, /* a loop of the function whose name comes before HALO_LOOP_INFIX */
};

/* Bits 8 to 11 of a function's flags: what became of its loops, enum halo_loops. */
#define HALO_FUNC_LOOPS_SHIFT 8
#define HALO_FUNC_LOOPS_MASK  0xf

/* The name of an outlined loop: the function's, this, and a number from 1 on. */
#define HALO_LOOP_INFIX ".loop."

/*
 * What became of the loops of a function that is entered once, or interprets. Append only, 16 at most.
 */
#define HALO_LOOPS(X)                                                              \
	X(NONE, "")                                                                \
	X(OUTLINED, "its loops have slots")                                        \
	X(EXCEPTIONS, "its loop keeps its place: exceptions are caught around it") \
	X(RETURNS_TWICE, "its loop keeps its place: it calls setjmp or vfork")     \
	X(LABELS, "its loop keeps its place: it has computed gotos")               \
	X(STACK, "its loop keeps its place: it allocates on the stack")            \
	X(VARARGS, "its loop keeps its place: it reads variable arguments")        \
	X(ASSEMBLY, "its loop keeps its place: assembly jumps out of it")          \
	X(SMALL, "its loop keeps its place: it is too small")                      \
	X(FRAME, "its loop keeps its place: it asks for its frame")                \
	X(INSTRUMENTED, "its loop keeps its place: the build has instrumentation") \
	X(SHAPE, "its loop keeps its place: LLVM can't make a function of it")

enum halo_loops {
#define HALO_LOOPS_ENUM(name, text) HALO_LOOPS_##name,
	HALO_LOOPS(HALO_LOOPS_ENUM)
#undef HALO_LOOPS_ENUM
	HALO_LOOPS_MAX
};

struct halo_func_row {
	uint64_t addr; /* of the entry; 0: dropped by the linker */
	uint64_t slot; /* address of the slot; 0: none */
	uint64_t unit; /* halo_unit_row.id */
	uint32_t name; /* symbol name as in the bitcode, offset in .halo.str */
	uint16_t flags;
	uint16_t reason; /* enum halo_reason */
};

enum halo_var_flag {
	HALO_VAR_LOCAL = 1 << 0,
	HALO_VAR_TLS = 1 << 1,	 /* addr is the offset in the module's TLS block (DTPOFF) */
	HALO_VAR_CONST = 1 << 2, /* constant in the bitcode */
};

struct halo_var_row {
	uint64_t addr; /* 0: dropped by the linker (not for TLS) */
	uint64_t size;
	uint64_t unit;
	uint32_t name;
	uint32_t flags;
};

/* From user/stub/begin.S; all are addresses. */
struct halo_stub_row {
	uint64_t magic;	      /* HALO_STUB_MAGIC */
	uint64_t version;     /* HALO_FORMAT_VERSION */
	uint64_t slots_begin; /* page-aligned; data pages first */
	uint64_t slots_end;   /* page-aligned, exclusive */
	uint64_t scratch;     /* struct halo_scratch, writable, for an attaching daemon */
	uint64_t attach; /* HALO_ATTACH_CODE_SIZE bytes of code; a syscall instruction is first */
	uint64_t find_object; /* the stub's _dl_find_object(); 0: it has none */
	uint64_t reserved;
};

static_assert(sizeof(struct halo_unit_row) == 56, "packed by hand");
static_assert(sizeof(struct halo_func_row) == 32, "packed by hand");
static_assert(sizeof(struct halo_var_row) == 32, "packed by hand");
static_assert(sizeof(struct halo_stub_row) == 64, "packed by hand");

#endif /* __ASSEMBLER__ */

/*
 * Where a process's arena lies: at a fixed distance from the load bias (load address - link
 * address), so that one image fits all processes of a binary. Position-independent executables have
 * it 1 GiB below, clear of brk; fixed ones have nothing below. Their brk begins anywhere in the GiB
 * above the program, so it lies as high as code and data of theirs can be reached from.
 *
 * Libraries are mapped downwards, with what is mapped later below them, so theirs lie above. They lie
 * next to each other too, so each library has a place of its own among these.
 */
#define HALO_ARENA_PIC	      (-(1LL << 30))
#define HALO_ARENA_FIXED      0x78000000LL
#define HALO_ARENA_SIZE	      (64ULL << 20)

#define HALO_LIBRARY_PLACES   10
#define HALO_LIBRARY_ARENA(i) ((640LL << 20) + (i) * (128LL << 20))

/*
 * The arena's first page is the daemon's. Behind it is the unwind index, which only grows: entries by
 * ascending begin, each valid up to the next one's. An entry is written before it is counted.
 */
#define HALO_INDEX_OFFSET 4096ULL
#define HALO_INDEX_SIZE	  (32 * 4096ULL)
#define HALO_INDEX_MAX	  (HALO_INDEX_SIZE / 8 - 1) /* a write to the arena takes a page at least */

/*
 * Behind that, in the same way: for which function of the program code in the arena stands, so that
 * a program's own backtraces name it.
 */
#define HALO_ORIGINS_OFFSET (HALO_INDEX_OFFSET + HALO_INDEX_SIZE)
#define HALO_ORIGINS_SIZE   (128 * 4096ULL)
#define HALO_ORIGINS_MAX    (HALO_ORIGINS_SIZE / 8 - 1)

/*
 * The file is an ELF file: then come the sections with which debuggers and profilers name its code
 * (user/daemon/arena_elf.h). Images follow.
 */
#define HALO_NAMES_OFFSET (HALO_ORIGINS_OFFSET + HALO_ORIGINS_SIZE)
#define HALO_NAMES_SIZE	  (6ULL << 20)
#define HALO_ARENA_FIRST  (HALO_NAMES_OFFSET + HALO_NAMES_SIZE)

#ifndef __ASSEMBLER__
struct halo_index {
	uint64_t count;
	struct {
		uint32_t begin;	 /* offset in the arena */
		uint32_t frames; /* of its .eh_frame_hdr, offset in the arena; 0: it has none */
	} entry[HALO_INDEX_MAX];
};
static_assert(sizeof(struct halo_index) == HALO_INDEX_SIZE, "whole pages");

struct halo_origins {
	uint64_t count;
	struct {
		uint32_t begin;	  /* offset in the arena; valid up to the next one's */
		int32_t function; /* from the arena's begin to the program's function; 0: none */
	} entry[HALO_ORIGINS_MAX];
};
static_assert(sizeof(struct halo_origins) == HALO_ORIGINS_SIZE, "whole pages");
#endif

/* Directly behind the arena: counters, read-write in the program and in the daemon. */
#define HALO_COUNTERS_SIZE (1ULL << 20)
#define HALO_ARM_STRIDE	   64ULL  /* bytes per CPU: one cache line */
#define HALO_ARM_CPUS	   256ULL /* CPU numbers are taken modulo this */
#define HALO_ARM_SIZE	   (HALO_ARM_STRIDE * HALO_ARM_CPUS)
#define HALO_ARMS	   (HALO_COUNTERS_SIZE / HALO_ARM_SIZE - 1)

/* In the last part: how often a process has let go of its mappings, since it closed the library. */
#define HALO_COUNTERS_LEFT (HALO_ARMS * HALO_ARM_SIZE)

/* Images are linked this much higher than they run, since linkers take no negative addresses. */
#define HALO_LINK_BIAS (1LL << 32)

#endif
