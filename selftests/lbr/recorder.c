// SPDX-License-Identifier: BSD-2-Clause
/*
 * A branch recorder for machines whose CPUs have none: single-steps a program by ptrace, keeps its last
 * 32 taken branches, and every PERIOD branches hands them to the running daemon's tables, by the same
 * program in the kernel that recorded stacks go through. The daemon has to be started with
 * HALO_BRANCH_FEED=1, and to know the program.
 *
 *   recorder [-b] [-p PERIOD] PROGRAM [ARGUMENT…]
 *
 * -b: from the program's first int3 on. With a period of 31, one less than a stack is deep, each range
 * between two branches is handed over once. Prints how many branches it saw, and stacks it handed over.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <bpf/bpf.h>

#include "kernel/feed.h"
#include "kernel/kernel.h"
#include "lib/util.h"

#define DEPTH	   32
#define MAX_LENGTH 15 /* bytes of an instruction */
#define WAIT_TURNS 1000
#define WAIT_US	   10000

static struct {
	struct halo_branch ring[DEPTH];
	uint64_t seen, stacks;
	int feed_map, feed_prog, proc_map;
	pid_t pid;
} rec;

static void fail(const char *what)
{
	fprintf(stderr, "recorder: %s: %s\n", what, strerror(errno));
	if (rec.pid)
		kill(rec.pid, SIGKILL);
	exit(1);
}

static void read_code(uint64_t addr, uint8_t code[MAX_LENGTH])
{
	struct iovec local = {code, MAX_LENGTH}, remote = {(void *)addr, MAX_LENGTH};

	memset(code, 0, MAX_LENGTH);
	if (process_vm_readv(rec.pid, &local, 1, &remote, 1, 0) > 0)
		return;
	/* At the end of a mapping. */
	for (local.iov_len = MAX_LENGTH; local.iov_len; local.iov_len--) {
		remote.iov_len = local.iov_len;
		if (process_vm_readv(rec.pid, &local, 1, &remote, 1, 0) > 0)
			return;
	}
}

/* What branches, by its opcode; 0: nothing that does. */
static unsigned int decode(uint64_t addr)
{
	uint8_t code[MAX_LENGTH];
	unsigned int i = 0, reg;

	read_code(addr, code);
	while (i < MAX_LENGTH - 2 &&
	       (code[i] == 0x66 || code[i] == 0xf2 || code[i] == 0xf3 || code[i] == 0x2e ||
		code[i] == 0x3e || (code[i] & 0xf0) == 0x40))
		i++;
	reg = code[i + 1] >> 3 & 7;
	switch (code[i]) {
	case 0xe8:
		return HALO_BRANCH_CALL;
	case 0xc3:
	case 0xc2:
		return HALO_BRANCH_RET;
	case 0xeb:
	case 0xe9:
		return 2; /* PERF_BR_UNCOND */
	case 0xff:
		return reg == 2 ? HALO_BRANCH_IND_CALL : reg == 4 ? 3 /* PERF_BR_IND */ : 0;
	case 0x0f:
		return (code[i + 1] & 0xf0) == 0x80 ? 1 /* PERF_BR_COND */ : 0;
	default:
		return (code[i] & 0xf0) == 0x70 || (code[i] >= 0xe0 && code[i] <= 0xe3) ? 1 : 0;
	}
}

/* Reading a program's memory takes as long as a step: each instruction is read once. */
static unsigned int type_at(uint64_t addr)
{
	static struct {
		uint64_t addr;
		unsigned int type;
	} known[1 << 16];
	uint64_t i = (addr * 0x9e3779b97f4a7c15ULL) >> 48;

	if (known[i].addr != addr) {
		known[i].type = decode(addr);
		known[i].addr = addr;
	}
	return known[i].type;
}

static void hand_over(const struct user_regs_struct *regs)
{
	struct halo_feed stack = {.tgid = rec.pid, .nr = DEPTH, .ip_addr = regs->rip};
	const uint32_t zero = 0;
	int err;

	for (unsigned int i = 0; i < DEPTH; i++)
		stack.branch[i] = rec.ring[(rec.seen - 1 - i) % DEPTH];
	if (bpf_map_update_elem(rec.feed_map, &zero, &stack, BPF_ANY))
		fail("writing to halo_feed");
	err = halo_feed__run(rec.feed_prog, 0, 1, HALO_FILTER_ON | HALO_FILTER_TWICE);
	if (err) {
		errno = -err;
		fail("feeding a stack");
	}
	rec.stacks++;
}

/* A taken branch leads elsewhere than to where the instruction ends; rep steps stay. */
static bool is_taken(uint64_t from, uint64_t to, unsigned int *type)
{
	uint64_t ahead = to - from;

	if (from == to)
		return false;
	*type = type_at(from);
	/* Straight on, or a branch to the next instruction: none to speak of. */
	return *type && (*type != 1 || ahead > 6 || ahead < 2);
}

static bool step(struct user_regs_struct *regs)
{
	int status, sig = 0;

	for (;;) {
		if (ptrace(PTRACE_SINGLESTEP, rec.pid, NULL, sig) ||
		    waitpid(rec.pid, &status, 0) != rec.pid)
			fail("stepping");
		if (WIFEXITED(status) || WIFSIGNALED(status))
			return false;
		if (WSTOPSIG(status) == SIGTRAP)
			break;
		sig = WSTOPSIG(status);
	}
	if (ptrace(PTRACE_GETREGS, rec.pid, NULL, regs))
		fail("reading registers");
	return true;
}

/* To the first int3, which the program has for us. */
static void run_to_begin(void)
{
	int status;

	if (ptrace(PTRACE_CONT, rec.pid, NULL, NULL) || waitpid(rec.pid, &status, 0) != rec.pid ||
	    !WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
		fail("running to the first int3");
}

static void record(uint64_t period)
{
	struct user_regs_struct regs;
	uint64_t from, next = DEPTH > period ? DEPTH : period;
	unsigned int type;

	if (ptrace(PTRACE_GETREGS, rec.pid, NULL, &regs))
		fail("reading registers");
	for (from = regs.rip; step(&regs); from = regs.rip) {
		if (!is_taken(from, regs.rip, &type))
			continue;
		rec.ring[rec.seen++ % DEPTH] = (struct halo_branch){
			from, regs.rip, (uint64_t)type << HALO_BRANCH_TYPE_SHIFT};
		if (rec.seen < next)
			continue;
		hand_over(&regs);
		next += period;
	}
}

static int open_pin(const char *path)
{
	int fd = bpf_obj_get(path);

	if (fd < 0) {
		errno = -fd;
		fail(path);
	}
	return fd;
}

/* Its entry comes when the kernel sees the exec. */
static void wait_until_known(void)
{
	struct halo_proc proc;
	uint32_t tgid = rec.pid;

	for (int i = 0; i < WAIT_TURNS; i++) {
		if (!bpf_map_lookup_elem(rec.proc_map, &tgid, &proc))
			return;
		usleep(WAIT_US);
	}
	fail("the daemon does not know the program");
}

static pid_t start(char **argv)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		fail("fork");
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execv(argv[0], argv);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		fail("starting the program");
	return pid;
}

int main(int argc, char **argv)
{
	uint64_t period = DEPTH - 1;
	bool at_begin = true;
	int opt;

	while ((opt = getopt(argc, argv, "+bp:")) != -1) {
		if (opt == 'p')
			period = strtoull(optarg, NULL, 0);
		else if (opt == 'b')
			at_begin = false;
		else
			return 2;
	}
	if (optind == argc || !period)
		return 2;
	rec.feed_map = open_pin(HALO_PIN_DIR "/halo_feed");
	rec.proc_map = open_pin(HALO_PIN_DIR "/halo_proc");
	rec.feed_prog = open_pin(HALO_FEED_PIN);
	rec.pid = start(argv + optind);
	wait_until_known();
	if (!at_begin)
		run_to_begin();
	record(period);
	fprintf(stderr, "branches %" PRIu64 " stacks %" PRIu64 "\n", rec.seen, rec.stacks);
	return 0;
}
