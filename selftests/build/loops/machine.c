// SPDX-License-Identifier: BSD-2-Clause
/*
 * An interpreter that is entered once: it counts primes until it is told to end, or as far as its
 * argument says.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum op { PUSH, LOAD, STORE, ADD, SUB, MUL, MOD, LESS, JUMP, JUMP_IF_ZERO, ENDED, PRINT, HALT };
enum { I, K, FOUND, TOP, VARIABLES };

struct instruction {
	uint8_t op;
	int32_t operand;
};

static volatile sig_atomic_t ended;

static void on_end(int sig)
{
	(void)sig;
	ended = 1;
}

/* for (i = 2; i < top && !ended; i++, found++) for (k = 2; k * k <= i; k++) if (i % k == 0) found--, break */
static const struct instruction primes[] = {
	/* 0 */ {PUSH, 2}, {STORE, I},
	/* 2 */ {LOAD, I}, {LOAD, TOP}, {LESS, 0}, {JUMP_IF_ZERO, 36}, {ENDED, 0}, {JUMP_IF_ZERO, 9},
	{JUMP, 36},
	/* 9 */ {PUSH, 2}, {STORE, K},
	/* 11 */ {LOAD, I}, {LOAD, K}, {LOAD, K}, {MUL, 0}, {LESS, 0}, {JUMP_IF_ZERO, 18}, {JUMP, 27},
	/* 18 */ {LOAD, I}, {LOAD, K}, {MOD, 0}, {JUMP_IF_ZERO, 31},
	{LOAD, K}, {PUSH, 1}, {ADD, 0}, {STORE, K}, {JUMP, 11},
	/* 27 */ {LOAD, FOUND}, {PUSH, 1}, {ADD, 0}, {STORE, FOUND},
	/* 31 */ {LOAD, I}, {PUSH, 1}, {ADD, 0}, {STORE, I}, {JUMP, 2},
	/* 36 */ {LOAD, I}, {PRINT, 0}, {LOAD, FOUND}, {PRINT, 0}, {HALT, 0},
};

void interpret(const struct instruction *code, int64_t *variables)
{
	int64_t stack[16];
	size_t top = 0, pc = 0;

	for (;;) {
		const struct instruction *ins = &code[pc++];

		switch (ins->op) {
		case PUSH:
			stack[top++] = ins->operand;
			break;
		case LOAD:
			stack[top++] = variables[ins->operand];
			break;
		case STORE:
			variables[ins->operand] = stack[--top];
			break;
		case ADD:
			top--;
			stack[top - 1] += stack[top];
			break;
		case SUB:
			top--;
			stack[top - 1] -= stack[top];
			break;
		case MUL:
			top--;
			stack[top - 1] *= stack[top];
			break;
		case MOD:
			top--;
			stack[top - 1] %= stack[top];
			break;
		case LESS:
			top--;
			stack[top - 1] = stack[top - 1] < stack[top];
			break;
		case JUMP:
			pc = (size_t)ins->operand;
			break;
		case JUMP_IF_ZERO:
			if (!stack[--top])
				pc = (size_t)ins->operand;
			break;
		case ENDED:
			stack[top++] = ended;
			break;
		case PRINT:
			printf("%lld\n", (long long)stack[--top]);
			break;
		case HALT:
			return;
		}
	}
}

int main(int argc, char **argv)
{
	int64_t variables[VARIABLES] = {[TOP] = argc > 1 ? atoll(argv[1]) : INT64_MAX};

	signal(SIGTERM, on_end);
	interpret(primes, variables);
	return 0;
}
