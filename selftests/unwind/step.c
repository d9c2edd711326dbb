// SPDX-License-Identifier: BSD-2-Clause
/*
 * Steps a program through every instruction and compares the unwinder's context at each with the true
 * one, which calls, returns and signals tell. Usage: step PROGRAM [ARGUMENT…]. Prints one line, and the
 * first contexts that differ; exit status 1 when any does.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host.h"

#define MAX_DEPTH     512
#define MAX_REGIONS   256
#define MAX_STEPS     20000000
#define MAX_SHOWN     5
#define SYS_SIGRETURN 15
#define LONGJMP_SIZE  256

/* What a call or a signal left on the stack. */
struct entry {
	uint64_t slot; /* where the return address is */
	uint64_t ip;   /* the return address; the interrupted instruction of a signal */
	bool signal;
};

struct region {
	uint64_t start, end, off;
	uint32_t table;
};

static pid_t pid;
static struct entry stack[MAX_DEPTH];
static unsigned int depth;
static struct region regions[MAX_REGIONS];
static unsigned int n_regions;
static struct {
	char path[256];
	uint32_t table;
} files[HOST_TABLES];
static unsigned int n_files;
static struct {
	uint64_t steps, checked, exact, given_up, fp_caller, signals, calls;
} total;
static unsigned int shown;
static uint64_t longjmp_at; /* address of the program's pointer to longjmp() */

static void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	if (pid > 0)
		kill(pid, SIGKILL);
	exit(2);
}

static long read_memory(void *dst, uint32_t size, uint64_t addr)
{
	struct iovec local = {dst, size}, remote = {(void *)addr, size};

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)size ? 0 : -EFAULT;
}

static uint64_t read_word(uint64_t addr)
{
	uint64_t value = 0;

	read_memory(&value, sizeof(value), addr);
	return value;
}

static uint32_t table_of(const char *path, uint64_t start, uint64_t end)
{
	struct stat st;
	void *data;
	int fd;

	for (unsigned int i = 0; i < n_files; i++)
		if (!strcmp(files[i].path, path))
			return files[i].table;
	if (n_files == HOST_TABLES - 1)
		return 0;
	snprintf(files[n_files].path, sizeof(files[0].path), "%s", path);
	files[n_files].table = n_files + 1;
	if (!strcmp(path, "[vdso]")) {
		data = malloc(end - start);
		if (read_memory(data, end - start, start))
			die("can't read the vdso");
		host__compile(n_files + 1, data, end - start);
		free(data);
		return files[n_files++].table;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		die("can't open %s", path);
	data = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED || !host__compile(n_files + 1, data, st.st_size))
		files[n_files].table = 0;
	munmap(data, st.st_size);
	close(fd);
	return files[n_files++].table;
}

static void read_regions(void)
{
	char name[64], line[512], perms[5], path[256];
	struct region *r;
	FILE *maps;

	n_regions = 0;
	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	maps = fopen(name, "re");
	while (maps && fgets(line, sizeof(line), maps) && n_regions < MAX_REGIONS) {
		r = &regions[n_regions];
		path[0] = '\0';
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %255s", &r->start,
			   &r->end, perms, &r->off, path) < 4 ||
		    perms[2] != 'x')
			continue;
		if (path[0] != '/')
			r->off = 0;
		r->table = path[0] == '/' || !strcmp(path, "[vdso]")
				   ? table_of(path, r->start, r->end)
				   : 0;
		n_regions++;
	}
	if (maps)
		fclose(maps);
}

static const struct region *find_region(uint64_t addr)
{
	for (unsigned int i = 0; i < n_regions; i++)
		if (addr >= regions[i].start && addr < regions[i].end)
			return &regions[i];
	return NULL;
}

/* The context by the unwinder: instruction pointers, leaf first. */
static unsigned int unwind(const struct user_regs_struct *regs, uint64_t *ips, unsigned int max,
			   uint32_t *end, bool *by_fp)
{
	struct halo_walk w = {
		.ip = regs->rip,
		.sp = regs->rsp,
		.bp = regs->rbp,
		.bx = regs->rbx,
		.reg = {regs->rax, regs->rdx, regs->rcx, 0, regs->rsi, regs->rdi, 0, 0, regs->r8,
			regs->r9, regs->r10, regs->r11, regs->r12, regs->r13, regs->r14, regs->r15},
		.whole = 1,
	};
	const struct region *region;
	unsigned int n = 0;

	*end = 0;
	while (n < max && !*end) {
		region = find_region(w.ip - w.back);
		if (!region) {
			*end = HALO_END_UNMAPPED;
			break;
		}
		ips[n++] = w.ip;
		*end = unwind__step(&w, region->table, w.ip - w.back - region->start + region->off);
	}
	*by_fp = w.by_fp;
	return n;
}

static unsigned int unwind_by_fp(const struct user_regs_struct *regs, uint64_t *ips,
				 unsigned int max)
{
	uint64_t fp = regs->rbp, low = regs->rsp, pair[2];
	unsigned int n = 1;

	ips[0] = regs->rip;
	while (n < max) {
		if (fp < low || fp - low > MAX_FRAME_SIZE || fp & 7 ||
		    read_memory(pair, sizeof(pair), fp) || !find_region(pair[1] - 1))
			break;
		ips[n++] = pair[1];
		low = fp + sizeof(pair);
		fp = pair[0];
	}
	return n;
}

static unsigned int truth(uint64_t ip, uint64_t *ips)
{
	unsigned int n = 0;

	ips[n++] = ip;
	for (unsigned int i = depth; i-- > 0;)
		ips[n++] = stack[i].ip;
	return n;
}

static void show(const char *what, const uint64_t *ips, unsigned int n)
{
	const struct region *r;

	printf("#   %s:", what);
	for (unsigned int i = 0; i < n && i < 12; i++) {
		r = find_region(ips[i]);
		if (r && r->table)
			printf(" %s+%#" PRIx64,
			       strrchr(files[r->table - 1].path, '/')
				       ? strrchr(files[r->table - 1].path, '/') + 1
				       : files[r->table - 1].path,
			       ips[i] - r->start + r->off);
		else
			printf(" %#" PRIx64, ips[i]);
	}
	printf(n > 12 ? " …\n" : "\n");
}

/*
 * Was @ip called by the C library's longjmp(), which the program names in longjmp_at? Or does it
 * follow such an instruction, in the middle of the jump?
 */
static bool in_longjmp(uint64_t ip, uint64_t ret)
{
	static uint64_t last;
	uint64_t at = read_word(longjmp_at);

	if ((ret <= at || ret - at >= LONGJMP_SIZE) && (ip <= last || ip - last > 16))
		return false;
	last = ip;
	return true;
}

static void check(const struct user_regs_struct *regs)
{
	uint64_t expected[MAX_DEPTH + 1], actual[MAX_DEPTH + 1];
	unsigned int n = truth(regs->rip, expected), m;
	uint32_t end;
	bool by_fp;

	total.checked++;
	m = unwind_by_fp(regs, actual, MAX_DEPTH + 1);
	/* The innermost caller alone: the C library has no frame pointers to go on with. */
	total.fp_caller += n > 1 && m > 1 && actual[1] == expected[1];
	m = unwind(regs, actual, MAX_DEPTH + 1, &end, &by_fp);
	if (m == n && end == HALO_END_ROOT && !by_fp &&
	    !memcmp(expected, actual, n * sizeof(actual[0]))) {
		total.exact++;
		return;
	}
	/*
	 * glibc describes the code of longjmp() as if the jump were done already, by a frame that is not
	 * above: it is no caller, and the unwinder says so.
	 */
	if (m == 1 && end == HALO_END_STACK && in_longjmp(expected[0], expected[1])) {
		total.given_up++;
		return;
	}
	if (shown++ >= MAX_SHOWN)
		return;
	printf("# differs at %#llx, end %u%s:\n", regs->rip, end,
	       by_fp ? ", by frame pointer" : "");
	show("true", expected, n);
	show("unwound", actual, m);
}

enum insn {
	OTHER,
	CALL,
	RET,
	POP,
	SIGRETURN,
	MAPPING
};

static enum insn decode(const struct user_regs_struct *regs)
{
	uint8_t code[16] = {0};
	unsigned int i = 0;

	if (read_memory(code, sizeof(code), regs->rip))
		read_memory(code, 2, regs->rip);
	while (i < 8 && (code[i] == 0x66 || code[i] == 0x67 || code[i] == 0xf2 || code[i] == 0xf3 ||
			 code[i] == 0x2e || code[i] == 0x3e || code[i] == 0x36))
		i++;
	if ((code[i] & 0xf0) == 0x40)
		i++;
	if (code[i] == 0xe8 || (code[i] == 0xff && (code[i + 1] >> 3 & 7) == 2))
		return CALL;
	if (code[i] == 0xc3 || code[i] == 0xc2)
		return RET;
	if ((code[i] & 0xf8) == 0x58)
		return POP;
	if (code[i] != 0x0f || code[i + 1] != 0x05)
		return OTHER;
	if (regs->rax == SYS_SIGRETURN)
		return SIGRETURN;
	return regs->rax >= 9 && regs->rax <= 11 ? MAPPING : OTHER;
}

static void push(uint64_t slot, uint64_t ip, bool signal)
{
	if (depth == MAX_DEPTH)
		die("too deep");
	stack[depth++] = (struct entry){.slot = slot, .ip = ip, .signal = signal};
}

/* A handler that runs above what was interrupted has a stack of its own. */
static bool on_other_stack(uint64_t sp)
{
	for (unsigned int i = depth; i-- > 1;)
		if (stack[i - 1].signal)
			return sp > stack[i].slot && stack[i].slot > stack[0].slot;
	return false;
}

/* What the instruction at @before did to the stack. */
static void follow(enum insn insn, const struct user_regs_struct *before,
		   const struct user_regs_struct *after)
{
	if (insn == CALL && after->rsp == before->rsp - 8) {
		total.calls++;
		push(after->rsp, read_word(after->rsp), false);
	} else if (insn == RET) {
		if (depth && stack[depth - 1].slot == before->rsp)
			depth--;
	} else if (insn == SIGRETURN) {
		while (depth && !stack[depth - 1].signal)
			depth--;
		if (depth)
			depth--;
	} else if (insn == MAPPING) {
		read_regions();
	}
	/* longjmp(). A return address that was popped, as vfork() does, is still one. */
	while (insn != POP && depth && !stack[depth - 1].signal &&
	       after->rsp > stack[depth - 1].slot && !on_other_stack(after->rsp))
		depth--;
}

static void get_regs(struct user_regs_struct *regs)
{
	if (ptrace(PTRACE_GETREGS, pid, NULL, regs))
		die("can't read registers: %m");
}

/* One instruction; what signal is to be delivered with it. False: the program ended. */
static bool step(int *sig, int *status)
{
	if (ptrace(PTRACE_SINGLESTEP, pid, NULL, *sig))
		die("can't step: %m");
	*sig = 0;
	if (waitpid(pid, status, 0) != pid)
		die("waitpid: %m");
	if (!WIFSTOPPED(*status))
		return false;
	if (WSTOPSIG(*status) != SIGTRAP)
		*sig = WSTOPSIG(*status);
	return true;
}

static uint64_t address_of(const char *program, const char *name)
{
	char command[512];
	uint64_t addr = 0;
	FILE *p;

	snprintf(command, sizeof(command), "nm '%s' | awk '$3 == \"%s\" { print $1 }'", program,
		 name);
	p = popen(command, "re");
	if (!p || fscanf(p, "%" SCNx64, &addr) != 1)
		die("%s has no symbol %s", program, name);
	pclose(p);
	return addr;
}

static uint64_t bias_of(const char *program)
{
	char real[4096];

	if (!realpath(program, real))
		die("%s: %m", program);
	for (unsigned int i = 0; i < n_regions; i++)
		if (regions[i].table && !strcmp(files[regions[i].table - 1].path, real))
			return regions[i].start - regions[i].off;
	die("%s is not mapped", program);
	return 0;
}

static int run(const char *program, bool pie)
{
	struct user_regs_struct before, after;
	uint64_t begin = address_of(program, "run_cases");
	bool checking = false, done = false;
	unsigned int base = 0;
	int sig = 0, status, delivered;
	enum insn insn;

	read_regions();
	longjmp_at = address_of(program, "longjmp_function");
	if (pie) {
		begin += bias_of(program);
		longjmp_at += bias_of(program);
	}
	get_regs(&before);
	while (total.steps++ < MAX_STEPS) {
		insn = decode(&before);
		delivered = sig;
		if (!step(&sig, &status))
			break;
		get_regs(&after);
		if (delivered && after.rip != before.rip) {
			/* In the handler's first instruction; the signal came before the step. */
			push(0, before.rip, true);
			push(after.rsp, read_word(after.rsp), false);
			total.signals++;
		} else if (!sig || after.rip != before.rip) {
			follow(insn, &before, &after);
		}
		if (after.rip == begin && !checking && !done) {
			checking = true;
			base = depth;
		}
		if (checking && depth < base) {
			checking = false;
			done = true;
			/* The rest is of no interest. */
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			status = 0;
			break;
		}
		if (checking)
			check(&after);
		before = after;
	}
	pid = 0;
	if (!done)
		die("%s ended early: status %#x", program, status);
	printf("%s: %" PRIu64 " instructions, %" PRIu64 " calls, %" PRIu64 " signals: %" PRIu64
	       " exact, %" PRIu64 " in longjmp, %" PRIu64
	       " wrong; the caller by frame pointer %" PRIu64 " (%.1f %%)\n",
	       program, total.checked, total.calls, total.signals, total.exact, total.given_up,
	       total.checked - total.exact - total.given_up, total.fp_caller,
	       100.0 * total.fp_caller / total.checked);
	return total.exact + total.given_up == total.checked ? 0 : 1;
}

static bool is_pie(const char *program)
{
	Elf64_Ehdr eh;
	FILE *f = fopen(program, "re");

	if (!f || fread(&eh, sizeof(eh), 1, f) != 1)
		die("can't read %s", program);
	fclose(f);
	return eh.e_type == ET_DYN;
}

int main(int argc, char **argv)
{
	int status;

	if (argc < 2)
		die("usage: step PROGRAM [ARGUMENT…]");
	setvbuf(stdout, NULL, _IOLBF, 0);
	host__read = read_memory;
	pid = fork();
	if (!pid) {
		personality(ADDR_NO_RANDOMIZE);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execv(argv[1], argv + 1);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		die("can't start %s", argv[1]);
	return run(argv[1], is_pie(argv[1]));
}
