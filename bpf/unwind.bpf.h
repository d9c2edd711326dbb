/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
#ifndef HALO_UNWIND_BPF_H
#define HALO_UNWIND_BPF_H

/*
 * From a frame to its caller's, by tables or, where there is none, by frame pointer. Compiled for the
 * kernel and, for tests, for the host: whoever includes it defines before
 *
 *   const struct halo_bucket *unwind__bucket(__u32 number)   NULL: there is none
 *   __u32 unwind__table(__u32 table)                         position of the head; 0: there is none
 *   long unwind__read(void *dst, __u32 size, __u64 addr)     of the process's memory; not 0: failed
 */
#include "halo_bpf.h"
#include "halo_unwind.h"

#define UNWIND_ROW_STEPS (HALO_BUCKET_BITS + 1)
#define MAX_FRAME_SIZE	 (1ULL << 20) /* by frame pointer */
#define USER_ADDR_MIN	 4096ULL
#define USER_ADDR_MAX	 (1ULL << 47)

/* In a signal frame, from rsp of the handler's caller on: struct sigcontext of the kernel. */
#define SIGNAL_R8  40
#define SIGNAL_RBP 120
#define SIGNAL_RBX 128
#define SIGNAL_RSP 160 /* and rip behind it */

/* In the place of the address where a register was saved. */
#define SAVED_NOT  0ULL /* the value is known */
#define SAVED_LOST 1ULL

/*
 * A frame. Registers that callees save are not read until something needs them: only where they are
 * is carried on.
 */
struct halo_walk {
	__u64 ip, sp, bp, bx;
	__u64 bp_at, bx_at;
	__u64 reg[16]; /* of the leaf, by DWARF's numbers */
	__u64 signal;  /* where the interrupted frame's registers are; 0: it is the leaf */
	__u32 back;    /* 1: ip is a return address, behind the call */
	__u32 whole;   /* all registers are known: the leaf, or a frame that a signal interrupted */
	__u32 by_fp;   /* some caller was found by frame pointer */
	__u32 reserved;
};

#define UNWIND_WORD(bucket, at) ((bucket)->word[(at) & (HALO_BUCKET_WORDS - 1)])

static __always_inline const struct halo_bucket *unwind__bucket_of(__u32 at)
{
	return unwind__bucket(at >> HALO_BUCKET_BITS);
}

/* The last of a page's @nr rows at or before @addr, less the row's own address; false: none. */
static __always_inline bool unwind__row(__u32 rows, __u32 nr, __u32 addr, __u32 *rule,
					__u32 *distance)
{
	const struct halo_bucket *bucket = unwind__bucket_of(rows);
	__u32 low = 0, high = nr, middle, row;

	if (!bucket)
		return false;
	for (int i = 0; i < UNWIND_ROW_STEPS && low < high; i++) {
		middle = low + (high - low) / 2;
		row = UNWIND_WORD(bucket, rows + middle);
		if (HALO_ROW_ADDR(row) <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return false;
	row = UNWIND_WORD(bucket, rows + low - 1);
	*rule = HALO_ROW_RULE(row);
	*distance = addr - HALO_ROW_ADDR(row);
	return true;
}

static __always_inline __u32 unwind__in_shape(__u32 shape, __u32 distance)
{
	const struct halo_bucket *bucket = unwind__bucket_of(shape);
	__u32 rule = 0, row, at;

	if (!bucket)
		return 0;
	for (int i = 0; i < HALO_SHAPE_ROWS; i++) {
		row = UNWIND_WORD(bucket, shape + i);
		at = HALO_ROW_ADDR(row);
		if (at <= distance && at != HALO_SHAPE_NONE)
			rule = HALO_ROW_RULE(row);
	}
	return rule;
}

/* What @table says of place @off in its file; false: nothing. */
static __always_inline bool unwind__rule(__u32 table, __u64 off, struct halo_rule *out)
{
	__u32 head = unwind__table(table), page, rows, nr, rule, distance, at, shapes, rules,
	      nr_rules;
	const struct halo_bucket *bucket;

	if (!head)
		return false;
	bucket = unwind__bucket_of(head);
	if (!bucket)
		return false;
	page = (__u32)(off >> HALO_UNWIND_PAGE_BITS) - UNWIND_WORD(bucket, head);
	if (page >= UNWIND_WORD(bucket, head + 1))
		return false;
	rules = UNWIND_WORD(bucket, head + 2);
	nr_rules = UNWIND_WORD(bucket, head + 3);
	shapes = UNWIND_WORD(bucket, head + 4);
	at = head + sizeof(struct halo_unwind_head) / 4 + 2 * page;
	rows = UNWIND_WORD(bucket, at);
	nr = UNWIND_WORD(bucket, at + 1);
	if (!unwind__row(rows, nr, off & 0xffff, &rule, &distance))
		return false;
	if (rule & HALO_ROW_SHAPE)
		rule = unwind__in_shape(shapes + (rule & ~HALO_ROW_SHAPE) * HALO_SHAPE_ROWS,
					distance);
	if (!rule || rule >= nr_rules)
		return false;
	at = rules + rule * HALO_RULE_WORDS;
	bucket = unwind__bucket_of(at);
	if (!bucket)
		return false;
	for (__u32 i = 0; i < HALO_RULE_WORDS; i++)
		((__u32 *)out)[i] = UNWIND_WORD(bucket, at + i);
	return true;
}

/* Have the value of a register that callees save. False: it is lost. */
static __always_inline bool unwind__fetch(__u64 *value, __u64 *at)
{
	if (*at == SAVED_NOT)
		return true;
	if (*at == SAVED_LOST || unwind__read(value, sizeof(*value), *at))
		return false;
	*at = SAVED_NOT;
	return true;
}

static __always_inline bool unwind__whole_reg(const struct halo_walk *w, __u32 reg, __u64 *value)
{
	__u64 at = w->signal;

	if (!w->whole)
		return false;
	if (!at) {
		*value = w->reg[reg & 15];
		return true;
	}
	/* r8 … r15, rdi, rsi, rbp, rbx, rdx, rax, rcx */
	if (reg >= 8)
		at += SIGNAL_R8 + 8 * (reg - 8);
	else if (reg == 5)
		at += 104;
	else if (reg == 4)
		at += 112;
	else if (reg == 1)
		at += 136;
	else if (reg == 0)
		at += 144;
	else
		at += 152;
	return !unwind__read(value, sizeof(*value), at);
}

static __always_inline bool unwind__reg(struct halo_walk *w, __u32 reg, __u64 *value)
{
	if (reg == HALO_REG_RSP) {
		*value = w->sp;
	} else if (reg == HALO_REG_RBP) {
		if (!unwind__fetch(&w->bp, &w->bp_at))
			return false;
		*value = w->bp;
	} else if (reg == HALO_REG_RBX) {
		if (!unwind__fetch(&w->bx, &w->bx_at))
			return false;
		*value = w->bx;
	} else {
		return unwind__whole_reg(w, reg, value);
	}
	return true;
}

/* To what a signal interrupted. */
static __always_inline __u32 unwind__signal(struct halo_walk *w)
{
	__u64 pair[2]; /* rsp, rip */

	if (unwind__read(pair, sizeof(pair), w->sp + SIGNAL_RSP))
		return HALO_END_READ;
	w->bp_at = w->sp + SIGNAL_RBP;
	w->bx_at = w->sp + SIGNAL_RBX;
	w->signal = w->sp;
	w->whole = 1;
	w->back = 0;
	w->sp = pair[0];
	w->ip = pair[1];
	return 0;
}

/* Where the caller's value of a register is, that was @at before. */
static __always_inline __u64 unwind__saved(__u32 saved, __u64 at, __u64 cfa, __s64 off, __u64 bp,
					   bool has_bp)
{
	if (saved == HALO_SAVED_SAME)
		return at;
	if (saved == HALO_SAVED_CFA)
		return cfa + off;
	if (saved == HALO_SAVED_RBP && has_bp)
		return bp + off;
	return SAVED_LOST;
}

static __always_inline __u32 unwind__frame_end(struct halo_walk *w, const struct halo_rule *rule,
					       __u64 *cfa)
{
	__u64 value;

	if (rule->kind == HALO_RULE_PLT) {
		*cfa = w->sp + ((w->ip & 15) >= (__u64)rule->offset ? 16 : 8);
		return 0;
	}
	if (!unwind__reg(w, rule->reg, &value))
		return HALO_END_REG;
	*cfa = value + rule->offset;
	if (rule->kind == HALO_RULE_DEREF) {
		if (unwind__read(&value, sizeof(value), *cfa))
			return HALO_END_READ;
		*cfa = value + rule->added;
	}
	return 0;
}

static __always_inline __u32 unwind__by_rule(struct halo_walk *w, const struct halo_rule *rule)
{
	__u32 saved_bp = rule->saved & 15, saved_bx = rule->saved >> 4, end;
	__u64 pair[2], cfa, ra, bp = 0, bp_at, bx_at;
	bool has_bp = false;

	if (rule->kind == HALO_RULE_ROOT)
		return HALO_END_ROOT;
	if (rule->kind == HALO_RULE_SIGNAL)
		return unwind__signal(w);
	end = unwind__frame_end(w, rule, &cfa);
	if (end)
		return end;
	/* A caller's frame is above; what is not would go in circles. */
	if (cfa <= w->sp)
		return HALO_END_STACK;
	if (saved_bp == HALO_SAVED_RBP || saved_bx == HALO_SAVED_RBP)
		has_bp = unwind__reg(w, HALO_REG_RBP, &bp);
	bp_at = unwind__saved(saved_bp, w->bp_at, cfa, rule->bp_off, bp, has_bp);
	bx_at = unwind__saved(saved_bx, w->bx_at, cfa, rule->bx_off, bp, has_bp);
	if (rule->ra == HALO_SAVED_REG) {
		if (!unwind__reg(w, rule->ra_off, &ra))
			return HALO_END_REG;
	} else if (saved_bp == HALO_SAVED_CFA && rule->bp_off == -16 && rule->ra_off == -8) {
		/* Both at once: most code with frame pointers. */
		if (unwind__read(pair, sizeof(pair), cfa - 16))
			return HALO_END_READ;
		w->bp = pair[0];
		bp_at = SAVED_NOT;
		ra = pair[1];
	} else if (unwind__read(&ra, sizeof(ra), cfa + rule->ra_off)) {
		return HALO_END_READ;
	}
	w->bp_at = bp_at;
	w->bx_at = bx_at;
	w->sp = cfa;
	w->ip = ra;
	w->signal = 0;
	w->whole = 0;
	w->back = 1;
	return 0;
}

/* Wrong in prologues and epilogues, and where code has no frame pointers. */
static __always_inline __u32 unwind__by_fp(struct halo_walk *w)
{
	__u64 pair[2]; /* the caller's frame pointer, the return address */

	if (!unwind__fetch(&w->bp, &w->bp_at))
		return HALO_END_NO_RULE;
	if (!w->bp)
		return HALO_END_ROOT;
	if (w->bp < w->sp || w->bp - w->sp > MAX_FRAME_SIZE || w->bp & 7)
		return HALO_END_NO_RULE;
	if (unwind__read(pair, sizeof(pair), w->bp))
		return HALO_END_READ;
	w->by_fp = 1;
	w->sp = w->bp + sizeof(pair);
	w->bp = pair[0];
	w->bx_at = SAVED_LOST;
	w->ip = pair[1];
	w->signal = 0;
	w->whole = 0;
	w->back = 1;
	return 0;
}

/*
 * From the frame, which lies at place @off of the file that has @table, to its caller's. 0, or the
 * enum halo_ctx_end that tells why there is none.
 */
static __always_inline __u32 unwind__step(struct halo_walk *w, __u32 table, __u64 off)
{
	struct halo_rule rule;
	__u32 end;

	if (unwind__rule(table, off, &rule))
		end = unwind__by_rule(w, &rule);
	else
		end = unwind__by_fp(w);
	if (end)
		return end;
	if (!w->ip)
		return HALO_END_ROOT;
	return w->ip < USER_ADDR_MIN || w->ip >= USER_ADDR_MAX ? HALO_END_UNMAPPED : 0;
}

#endif
