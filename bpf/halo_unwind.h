/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
#ifndef HALO_UNWIND_H
#define HALO_UNWIND_H

/*
 * Unwind tables, as the daemon compiles them from .eh_frame and the unwinder reads them. All is made of
 * 32-bit words in buckets of halo_words. A position is the number of a word; nothing that is read at
 * once lies in two buckets. See docs/formats/unwind.md.
 */
#ifdef __bpf__
#include "vmlinux.h"
#else
#include <linux/types.h>
#endif

#define HALO_BUCKET_BITS  16
#define HALO_BUCKET_WORDS (1U << HALO_BUCKET_BITS)

struct halo_bucket {
	__u32 word[HALO_BUCKET_WORDS];
};

#define HALO_UNWIND_PAGE_BITS 16 /* of a file offset: rows hold that much of it */

/*
 * A row: what holds from its address on, until the next row. Sorted; a page begins with one. Either
 * a rule, or a shape: what holds from the row on and, byte by byte, shortly after it, as in the many
 * prologues that push the same registers.
 */
#define HALO_ROW(addr, rule) ((__u32)(rule) << 16 | ((addr)&0xffff))
#define HALO_ROW_ADDR(row)   ((row)&0xffff)
#define HALO_ROW_RULE(row)   ((row) >> 16)
#define HALO_ROW_SHAPE \
	0x8000 /* in the place of the rule: the shape's number is in the other bits */

/* Rows whose addresses are distances from the row that names the shape; the first is 0. */
#define HALO_SHAPE_ROWS 8
#define HALO_SHAPE_NONE 0xffff /* distance of what is not used, at the end */

/* One per 64 KiB of the file, from the table's first page on. */
struct halo_unwind_page {
	__u32 rows; /* position */
	__u32 nr;   /* 0: no code that has rows */
};

/* Before the pages of a table, in the same bucket. */
struct halo_unwind_head {
	__u32 first_page; /* of the file */
	__u32 nr_pages;
	__u32 rules; /* position */
	__u32 nr_rules;
	__u32 shapes; /* position */
	__u32 nr_shapes;
};

/* halo_table: HALO_TABLE() (__u32) → struct halo_table */
struct halo_table {
	__u32 at;    /* position of the head; 0: there is no table */
	__u32 words; /* that it takes */
};

/* Of a file, or of the images in the arena of a binary. */
#define HALO_TABLE(exe_id, is_arena) ((exe_id) << 1 | !!(is_arena))

enum halo_rule_kind {
	HALO_RULE_NONE = 0,   /* no way to tell the caller: no description, or one not understood */
	HALO_RULE_CFA = 1,    /* the frame ends at register + offset */
	HALO_RULE_DEREF = 2,  /* at *(register + offset) + added: realigned stacks */
	HALO_RULE_PLT = 3,    /* at rsp + 8, 8 more from byte "offset" of the 16-byte entry on */
	HALO_RULE_SIGNAL = 4, /* all registers are in a signal frame at rsp */
	HALO_RULE_ROOT = 5,   /* nobody called this */
};

/* Where the caller's value of a register is. */
enum halo_saved {
	HALO_SAVED_SAME = 0,	/* it was not touched */
	HALO_SAVED_CFA = 1,	/* in memory at the frame's end + offset */
	HALO_SAVED_RBP = 2,	/* in memory at rbp + offset */
	HALO_SAVED_REG = 3,	/* the return address alone: in the register with number "offset" */
	HALO_SAVED_UNKNOWN = 4, /* not to be had */
};

/* Registers by DWARF's numbers. */
#define HALO_REG_RBX 3
#define HALO_REG_RBP 6
#define HALO_REG_RSP 7
#define HALO_REG_RA  16

struct halo_rule {
	__u8 kind; /* enum halo_rule_kind */
	__u8 reg;
	__u8 ra;    /* enum halo_saved */
	__u8 saved; /* enum halo_saved of rbp in the low 4 bits, of rbx above */
	__s32 offset;
	__s16 added;
	__s16 ra_off, bp_off, bx_off;
};

/* Of one table. */
#define HALO_MAX_RULES	(HALO_BUCKET_WORDS / HALO_RULE_WORDS)
#define HALO_MAX_SHAPES (HALO_BUCKET_WORDS / HALO_SHAPE_ROWS)

#define HALO_RULE_WORDS (sizeof(struct halo_rule) / sizeof(__u32))

_Static_assert(sizeof(struct halo_rule) == 16, "no padding");

#endif
