// SPDX-License-Identifier: BSD-2-Clause
/* An interpreter of a small stack machine; its program counts the steps of Collatz sequences. */
#include <stddef.h>

#include "kernel.h"

enum op {
	OP_PUSH, /* operand */
	OP_LOAD, /* variable */
	OP_STORE,
	OP_ADD,
	OP_SUB,
	OP_MUL,
	OP_HALVE,
	OP_ODD,
	OP_LESS,
	OP_JUMP, /* target */
	OP_JUMP_IF_ZERO,
	OP_HALT,
};

enum variable {
	VAR_N,
	VAR_LIMIT,
	VAR_X,
	VAR_STEPS,
	VARIABLES
};

struct instruction {
	uint8_t op;
	int32_t operand;
};

/* for (; n < limit; n++) for (x = n; x >= 2; steps++) x = x odd ? 3 * x + 1 : x / 2; */
static const struct instruction collatz[] = {
	/* 0 */ {OP_LOAD, VAR_N},
	{OP_LOAD, VAR_LIMIT},
	{OP_LESS, 0},
	{OP_JUMP_IF_ZERO, 32},
	/* 4 */ {OP_LOAD, VAR_N},
	{OP_STORE, VAR_X},
	/* 6 */ {OP_PUSH, 1},
	{OP_LOAD, VAR_X},
	{OP_LESS, 0},
	{OP_JUMP_IF_ZERO, 27},
	/* 10 */ {OP_LOAD, VAR_X},
	{OP_ODD, 0},
	{OP_JUMP_IF_ZERO, 19},
	/* 13 */ {OP_LOAD, VAR_X},
	{OP_PUSH, 3},
	{OP_MUL, 0},
	{OP_PUSH, 1},
	/* 17 */ {OP_ADD, 0},
	{OP_JUMP, 21},
	/* 19 */ {OP_LOAD, VAR_X},
	{OP_HALVE, 0},
	/* 21 */ {OP_STORE, VAR_X},
	{OP_LOAD, VAR_STEPS},
	{OP_PUSH, 1},
	{OP_ADD, 0},
	/* 25 */ {OP_STORE, VAR_STEPS},
	{OP_JUMP, 6},
	/* 27 */ {OP_LOAD, VAR_N},
	{OP_PUSH, 1},
	{OP_ADD, 0},
	{OP_STORE, VAR_N},
	/* 31 */ {OP_JUMP, 0},
	/* 32 */ {OP_HALT, 0},
};

void interpret(const struct instruction *code, int64_t *variables)
{
	int64_t stack[16];
	size_t top = 0; /* values on the stack */
	size_t pc = 0;

	for (;;) {
		const struct instruction *ins = &code[pc++];

		switch (ins->op) {
		case OP_PUSH:
			stack[top++] = ins->operand;
			break;
		case OP_LOAD:
			stack[top++] = variables[ins->operand];
			break;
		case OP_STORE:
			variables[ins->operand] = stack[--top];
			break;
		case OP_ADD:
			top--;
			stack[top - 1] += stack[top];
			break;
		case OP_SUB:
			top--;
			stack[top - 1] -= stack[top];
			break;
		case OP_MUL:
			top--;
			stack[top - 1] *= stack[top];
			break;
		case OP_HALVE:
			stack[top - 1] >>= 1;
			break;
		case OP_ODD:
			stack[top - 1] &= 1;
			break;
		case OP_LESS:
			top--;
			stack[top - 1] = stack[top - 1] < stack[top];
			break;
		case OP_JUMP:
			pc = (size_t)ins->operand;
			break;
		case OP_JUMP_IF_ZERO:
			if (!stack[--top])
				pc = (size_t)ins->operand;
			break;
		case OP_HALT:
			return;
		}
	}
}

double kernel__round(uint64_t round)
{
	int64_t variables[VARIABLES] = {0};

	variables[VAR_N] = 1 + (int64_t)(round % 1000) * 100;
	variables[VAR_LIMIT] = variables[VAR_N] + 400;
	interpret(collatz, variables);
	return (double)variables[VAR_STEPS];
}
