// SPDX-License-Identifier: BSD-2-Clause
/* The instructions of call frame information, and what rules become of their results. */
#include <dwarf.h>
#include <limits.h>

#include "cfi_internal.h"
#include "reader.h"

#define MAX_REMEMBERED 16
#define SIGNAL_RSP \
	160 /* of the interrupted rsp in a signal frame, from the handler's caller's rsp */

enum where {
	SAME = 0,
	UNDEFINED,
	AT_CFA,
	IN_REG,
	EXPRESSION,
	OTHER,
};

struct saved {
	enum where where;
	int64_t off;	  /* AT_CFA: from there; IN_REG: the register */
	size_t expr, end; /* EXPRESSION: where it is in the section */
};

enum column {
	RA,
	BP,
	BX,
	N_COLUMNS,
};

/* As far as it matters for finding callers. */
struct state {
	uint64_t cfa_reg;
	int64_t cfa_off;
	size_t cfa_expr, cfa_end; /* 0, 0: register and offset */
	struct saved saved[N_COLUMNS];
};

struct run {
	const struct halo_cfi_section *s;
	struct cie cie;
	struct state now, initial;
	struct state remembered[MAX_REMEMBERED];
	unsigned int n_remembered;
	uint64_t pc;
	const struct halo_fde *fde;
	halo_row_fn fn;
	void *ctx;
};

static struct saved *column(struct run *run, uint64_t reg)
{
	switch (reg) {
	case HALO_REG_RA:
		return &run->now.saved[RA];
	case HALO_REG_RBP:
		return &run->now.saved[BP];
	case HALO_REG_RBX:
		return &run->now.saved[BX];
	}
	return NULL;
}

static void set(struct run *run, uint64_t reg, enum where where, int64_t off)
{
	struct saved *saved = column(run, reg);

	if (saved)
		*saved = (struct saved){.where = where, .off = off};
}

static void restore(struct run *run, uint64_t reg)
{
	struct saved *saved = column(run, reg);

	if (saved)
		*saved = run->initial.saved[saved - run->now.saved];
}

static bool fits(int64_t value)
{
	return value >= SHRT_MIN && value <= SHRT_MAX;
}

/* "*(reg + off)" or "*(reg + off) + added"; or without @deref "reg + off". */
static bool match(const struct run *run, size_t at, size_t end, bool deref, uint64_t *reg,
		  int64_t *off, int64_t *added)
{
	struct reader r = {.data = run->s->data, .at = at, .end = end};
	uint8_t op = reader__u8(&r);

	if (op < DW_OP_breg0 || op > DW_OP_breg15)
		return false;
	*reg = op - DW_OP_breg0;
	*off = reader__sleb(&r);
	*added = 0;
	if (deref && reader__u8(&r) != DW_OP_deref)
		return false;
	if (deref && r.at < r.end) {
		if (reader__u8(&r) != DW_OP_plus_uconst)
			return false;
		*added = reader__uleb(&r);
	}
	return !r.failed && r.at == r.end;
}

/* rsp + 8 + ((rip & 15) >= N ? 8 : 0): what linkers describe procedure linkage tables by. */
static bool match_plt(const struct run *run, size_t at, size_t end, int64_t *threshold)
{
	static const uint8_t head[] = {DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and};
	static const uint8_t tail[] = {DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus};
	const uint8_t *expr = run->s->data + at;

	if (end - at != sizeof(head) + 1 + sizeof(tail) || memcmp(expr, head, sizeof(head)) ||
	    memcmp(expr + sizeof(head) + 1, tail, sizeof(tail)))
		return false;
	*threshold = expr[sizeof(head)] - DW_OP_lit0;
	return *threshold == 10 || *threshold == 11;
}

static bool convert_cfa(const struct run *run, struct halo_rule *rule)
{
	const struct state *now = &run->now;
	int64_t off, added;
	uint64_t reg;

	if (!now->cfa_end) {
		rule->kind = HALO_RULE_CFA;
		rule->reg = now->cfa_reg;
		rule->offset = now->cfa_off;
		return now->cfa_reg < HALO_REG_RA && now->cfa_off >= INT_MIN &&
		       now->cfa_off <= INT_MAX;
	}
	if (match_plt(run, now->cfa_expr, now->cfa_end, &off)) {
		rule->kind = HALO_RULE_PLT;
		rule->reg = HALO_REG_RSP;
		rule->offset = off;
		return true;
	}
	if (!match(run, now->cfa_expr, now->cfa_end, true, &reg, &off, &added))
		return false;
	rule->kind = HALO_RULE_DEREF;
	rule->reg = reg;
	rule->offset = off;
	rule->added = added;
	if (run->cie.signal) {
		*rule = (struct halo_rule){.kind = HALO_RULE_SIGNAL};
		return reg == HALO_REG_RSP && off == SIGNAL_RSP && !added;
	}
	return off >= INT_MIN && off <= INT_MAX && added >= 0 && fits(added);
}

/* A register that callees save. Where its value can't be had, only frames that need it are lost. */
static enum halo_saved convert_saved(const struct run *run, const struct saved *saved, __s16 *at)
{
	int64_t off = saved->off, added;
	uint64_t reg;

	if (saved->where == SAME)
		return HALO_SAVED_SAME;
	if (saved->where == EXPRESSION &&
	    (!match(run, saved->expr, saved->end, false, &reg, &off, &added) ||
	     reg != HALO_REG_RBP))
		return HALO_SAVED_UNKNOWN;
	if (saved->where != EXPRESSION && saved->where != AT_CFA)
		return HALO_SAVED_UNKNOWN;
	if (!fits(off))
		return HALO_SAVED_UNKNOWN;
	*at = off;
	return saved->where == AT_CFA ? HALO_SAVED_CFA : HALO_SAVED_RBP;
}

static bool convert_ra(const struct run *run, struct halo_rule *rule)
{
	const struct saved *ra = &run->now.saved[RA];

	if (ra->where == IN_REG && ra->off >= 0 && ra->off < HALO_REG_RA)
		rule->ra = HALO_SAVED_REG;
	else if (ra->where == AT_CFA && fits(ra->off))
		rule->ra = HALO_SAVED_CFA;
	else
		return false;
	rule->ra_off = ra->off;
	return true;
}

static void convert(const struct run *run, struct halo_rule *rule)
{
	*rule = (struct halo_rule){0};
	if (run->now.saved[RA].where == UNDEFINED) {
		rule->kind = HALO_RULE_ROOT;
		return;
	}
	if (!convert_cfa(run, rule)) {
		*rule = (struct halo_rule){0};
		return;
	}
	if (rule->kind == HALO_RULE_SIGNAL)
		return;
	if (!convert_ra(run, rule)) {
		*rule = (struct halo_rule){0};
		return;
	}
	rule->saved = convert_saved(run, &run->now.saved[BP], &rule->bp_off);
	rule->saved |= convert_saved(run, &run->now.saved[BX], &rule->bx_off) << 4;
}

/* What holds from run->pc on is known now. */
static int emit(struct run *run)
{
	struct halo_rule rule;

	convert(run, &rule);
	return run->fn(run->ctx, run->pc, &rule);
}

/* Skip a block of bytes; false when it is cut short. */
static bool block(struct reader *r, size_t *at, size_t *end)
{
	uint64_t len = reader__uleb(r);

	if (!reader__has(r, len))
		return false;
	*at = r->at;
	r->at += len;
	*end = r->at;
	return true;
}

static bool set_expression(struct run *run, struct reader *r, enum where where)
{
	uint64_t reg = reader__uleb(r);
	struct saved saved = {.where = where};

	if (!block(r, &saved.expr, &saved.end))
		return false;
	if (column(run, reg))
		*column(run, reg) = saved;
	return true;
}

/* Move on by @delta. 1: past the function's end, which ends the run. */
static int advance(struct run *run, uint64_t delta)
{
	uint64_t step;
	int ret;

	if (__builtin_mul_overflow(delta, run->cie.code_align, &step))
		return 1;
	if (!run->fde || !step)
		return 0;
	ret = emit(run);
	if (ret)
		return ret;
	if (step >= run->fde->end - run->pc)
		return 1;
	run->pc += step;
	return 0;
}

static void set_cfa(struct run *run, uint64_t reg, int64_t off)
{
	run->now.cfa_reg = reg;
	run->now.cfa_off = off;
	run->now.cfa_expr = run->now.cfa_end = 0;
}

static int64_t factored(const struct run *run, int64_t value)
{
	int64_t product;

	return __builtin_mul_overflow(value, run->cie.data_align, &product) ? LLONG_MAX : product;
}

/* Instructions about the frame's end. False: another one. */
static bool run_cfa(struct run *run, struct reader *r, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case DW_CFA_def_cfa:
		reg = reader__uleb(r);
		set_cfa(run, reg, reader__uleb(r));
		return true;
	case DW_CFA_def_cfa_sf:
		reg = reader__uleb(r);
		set_cfa(run, reg, factored(run, reader__sleb(r)));
		return true;
	case DW_CFA_def_cfa_register:
		set_cfa(run, reader__uleb(r), run->now.cfa_off);
		return true;
	case DW_CFA_def_cfa_offset:
		set_cfa(run, run->now.cfa_reg, reader__uleb(r));
		return true;
	case DW_CFA_def_cfa_offset_sf:
		set_cfa(run, run->now.cfa_reg, factored(run, reader__sleb(r)));
		return true;
	case DW_CFA_def_cfa_expression:
		block(r, &run->now.cfa_expr, &run->now.cfa_end);
		return true;
	}
	return false;
}

/* Instructions about registers. False: another one. */
static bool run_register(struct run *run, struct reader *r, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case DW_CFA_offset_extended:
		reg = reader__uleb(r);
		set(run, reg, AT_CFA, factored(run, reader__uleb(r)));
		return true;
	case DW_CFA_offset_extended_sf:
		reg = reader__uleb(r);
		set(run, reg, AT_CFA, factored(run, reader__sleb(r)));
		return true;
	case DW_CFA_GNU_negative_offset_extended:
		reg = reader__uleb(r);
		set(run, reg, AT_CFA, factored(run, -(int64_t)reader__uleb(r)));
		return true;
	case DW_CFA_restore_extended:
		restore(run, reader__uleb(r));
		return true;
	case DW_CFA_undefined:
		set(run, reader__uleb(r), UNDEFINED, 0);
		return true;
	case DW_CFA_same_value:
		set(run, reader__uleb(r), SAME, 0);
		return true;
	case DW_CFA_register:
		reg = reader__uleb(r);
		set(run, reg, IN_REG, reader__uleb(r));
		return true;
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		reg = reader__uleb(r);
		reader__uleb(r);
		set(run, reg, OTHER, 0);
		return true;
	case DW_CFA_expression:
		return set_expression(run, r, EXPRESSION);
	case DW_CFA_val_expression:
		return set_expression(run, r, OTHER);
	}
	return false;
}

static int run_advance(struct run *run, struct reader *r, uint8_t op)
{
	uint64_t to;

	switch (op) {
	case DW_CFA_advance_loc1:
		return advance(run, reader__fixed(r, 1));
	case DW_CFA_advance_loc2:
		return advance(run, reader__fixed(r, 2));
	case DW_CFA_advance_loc4:
		return advance(run, reader__fixed(r, 4));
	case DW_CFA_set_loc:
		/* No assembler writes it for x86-64: absolute, as .debug_frame would have it. */
		to = reader__fixed(r, 8);
		if (run->fde && to >= run->pc && run->cie.code_align == 1)
			return advance(run, to - run->pc);
	}
	r->failed = true;
	return 0;
}

static int run_other(struct run *run, struct reader *r, uint8_t op)
{
	switch (op) {
	case DW_CFA_nop:
		return 0;
	case DW_CFA_GNU_args_size:
		reader__uleb(r);
		return 0;
	case DW_CFA_remember_state:
		if (run->n_remembered == MAX_REMEMBERED)
			break;
		run->remembered[run->n_remembered++] = run->now;
		return 0;
	case DW_CFA_restore_state:
		if (!run->n_remembered)
			break;
		run->now = run->remembered[--run->n_remembered];
		return 0;
	case DW_CFA_set_loc:
	case DW_CFA_advance_loc1:
	case DW_CFA_advance_loc2:
	case DW_CFA_advance_loc4:
		return run_advance(run, r, op);
	}
	r->failed = true;
	return 0;
}

static int step(struct run *run, struct reader *r)
{
	uint8_t op = reader__u8(r), low = op & 0x3f;

	switch (op & 0xc0) {
	case DW_CFA_advance_loc:
		return advance(run, low);
	case DW_CFA_offset:
		set(run, low, AT_CFA, factored(run, reader__uleb(r)));
		return 0;
	case DW_CFA_restore:
		restore(run, low);
		return 0;
	}
	if (run_cfa(run, r, op) || run_register(run, r, op))
		return 0;
	return run_other(run, r, op);
}

/* 0: all was run; 1: the rest is past the function's end; -1: not understood; else fn's result. */
static int run_program(struct run *run, size_t at, size_t end, int *fn_result)
{
	struct reader r = {.data = run->s->data, .at = at, .end = end};
	int ret;

	while (r.at < r.end && !r.failed) {
		ret = step(run, &r);
		if (r.failed)
			break;
		if (ret) {
			*fn_result = ret == 1 ? 0 : ret;
			return 1;
		}
	}
	return r.failed ? -1 : 0;
}

int halo_cfi__run(const struct halo_cfi_section *s, const struct halo_fde *fde, halo_row_fn fn,
		  void *ctx)
{
	const struct halo_rule none = {.kind = HALO_RULE_NONE};
	struct run run = {.s = s, .pc = fde->begin, .fn = fn, .ctx = ctx};
	int ret, result = 0;

	if (!halo_cfi__read_cie(s, fde->cie, &run.cie))
		return fn(ctx, fde->begin, &none);
	run.now.cfa_reg = HALO_REG_RA; /* none */
	ret = run_program(&run, run.cie.program, run.cie.program_end, &result);
	if (ret)
		return fn(ctx, fde->begin, &none);
	run.initial = run.now;
	run.fde = fde;
	ret = run_program(&run, fde->program, fde->program_end, &result);
	if (ret < 0)
		return fn(ctx, run.pc, &none);
	return ret ? result : emit(&run);
}
