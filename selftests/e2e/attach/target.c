/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A prepared program to attach to. It first does what its argument names, then calls work() until
 * it has seen a variant of it, its own code again, and the last variant. Exit status 0: every result was right, and
 * no system call failed. It says "ready" before it waits for anything.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <grp.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sys/single_threaded.h>
#include <sys/uio.h>

extern char __halo_slots_begin[] __attribute__((visibility("hidden")));

#define OWN	  14
#define VARIANT	  21
#define LAST	  28

#define OPAQUE(x) __asm__ volatile("" : "+r"(x))
#define OPAQUE4(x)         \
	do {               \
		OPAQUE(x); \
		OPAQUE(x); \
		OPAQUE(x); \
		OPAQUE(x); \
	} while (0)

/* Twice x, by a loop that the compiler keeps, and big enough for halo-cc to make redirectable. */
__attribute__((noinline)) long work(long x)
{
	long sum = 0, i;

	for (i = 0; i < x; i++) {
		sum += 2;
		OPAQUE4(sum);
		OPAQUE4(i);
		OPAQUE4(sum);
		OPAQUE4(i);
		OPAQUE4(sum);
		OPAQUE4(i);
	}
	return sum;
}

static void fail(const char *what)
{
	fprintf(stderr, "target: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void ready(void)
{
	puts("ready");
	fflush(stdout);
}

/* Until work() gives @wanted. Any result that no version of it gives is a failure. */
static void until(long wanted)
{
	volatile long x = 7;
	long result;

	while ((result = work(x)) != wanted)
		if (result != OWN && result != VARIANT && result != LAST) {
			errno = 0;
			fail("wrong result");
		}
}

static void *all(void *arg)
{
	until(VARIANT);
	until(OWN);
	until(LAST);
	return arg;
}

/* One of many may sleep through any version but the last. */
static void *some(void *arg)
{
	until(LAST);
	return arg;
}

static void threads(void)
{
	pthread_t thread[20];
	size_t i;

	for (i = 0; i < 20; i++)
		if (pthread_create(&thread[i], NULL, some, NULL))
			fail("pthread_create");
	ready();
	for (i = 0; i < 20; i++)
		pthread_join(thread[i], NULL);
}

/* So many that the one to be stopped has to be chosen among those that sleep, too. */
static void *now_and_then(void *arg)
{
	volatile long x = 7;

	while (work(x) != LAST)
		usleep(1000);
	return arg;
}

static void hundred_threads(void)
{
	pthread_t thread[100];
	size_t i;

	for (i = 0; i < 100; i++)
		if (pthread_create(&thread[i], NULL, now_and_then, NULL))
			fail("pthread_create");
	ready();
	for (i = 0; i < 100; i++)
		pthread_join(thread[i], NULL);
	exit(0);
}

/* Children are forked once the parent is attached, and see what it sees. */
static void children(void)
{
	int status, i;

	ready();
	until(VARIANT);
	for (i = 0; i < 3; i++)
		if (fork() == 0) {
			until(LAST);
			_exit(0);
		}
	for (i = 0; i < 3; i++)
		if (wait(&status) < 0 || status)
			fail("a child");
	exit(0);
}

static void sleep_in_nanosleep(void)
{
	struct timespec ts = {1, 0};

	ready();
	if (nanosleep(&ts, NULL))
		fail("nanosleep");
}

static void sleep_in_epoll(void)
{
	struct epoll_event event;
	int fd = epoll_create1(0);

	ready();
	if (epoll_wait(fd, &event, 1, 1000))
		fail("epoll_wait");
}

static void sleep_in_read(void)
{
	char c;

	ready();
	if (read(0, &c, 1) != 1)
		fail("read");
}

static void sleep_in_semtimedop(void)
{
	int id = semget(IPC_PRIVATE, 1, 0600);
	struct sembuf op = {0, -1, 0};
	struct timespec ts = {1, 0};
	int ret, code;

	ready();
	ret = semtimedop(id, &op, 1, &ts);
	code = errno;
	semctl(id, 0, IPC_RMID);
	errno = code;
	if (ret == 0 || code != EAGAIN)
		fail("semtimedop");
}

static void sleep_in_sigtimedwait(void)
{
	struct timespec ts = {1, 0};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	ready();
	if (sigtimedwait(&set, NULL, &ts) >= 0 || errno != EAGAIN)
		fail("sigtimedwait");
}

static void sleep_in_poll(void)
{
	ready();
	if (poll(NULL, 0, 1000))
		fail("poll");
}

static void sleep_in_futex(void)
{
	struct timespec ts = {1, 0};
	uint32_t word = 0;

	ready();
	if (!syscall(SYS_futex, &word, FUTEX_WAIT, 0, &ts, NULL, 0) || errno != ETIMEDOUT)
		fail("futex");
}

static void sleep_in_wait(void)
{
	int status;

	if (fork() == 0) {
		sleep(1);
		_exit(7);
	}
	ready();
	if (wait(&status) < 0 || WEXITSTATUS(status) != 7)
		fail("wait");
}

static void sleep_in_recv(void)
{
	struct timeval limit = {1, 0};
	int pair[2];
	char c;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) ||
	    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)))
		fail("socketpair");
	ready();
	if (recv(pair[0], &c, 1, 0) >= 0 || errno != EAGAIN)
		fail("recv");
}

static volatile sig_atomic_t alarms;

static void on_alarm(int sig)
{
	(void)sig;
	alarms++;
}

/* A handler without SA_RESTART, many times in any attach. Not one signal may change the result. */
static void signals(void)
{
	struct itimerval timer = {{0, 100}, {0, 100}};
	struct sigaction act = {.sa_handler = on_alarm};

	sigaction(SIGALRM, &act, NULL);
	signal(SIGTRAP, SIG_IGN);
	setitimer(ITIMER_REAL, &timer, NULL);
	ready();
	all(NULL);
	if (!alarms || signal(SIGTRAP, SIG_DFL) != SIG_IGN)
		fail("signals");
	exit(0);
}

static void on_small_stack(int sig)
{
	(void)sig;
	ready();
	all(NULL);
}

/* All of it happens in a handler, on a stack that has no room to spare. */
static void in_handler(void)
{
	struct sigaction act = {.sa_handler = on_small_stack, .sa_flags = SA_ONSTACK};
	stack_t stack = {.ss_size = (size_t)sysconf(_SC_MINSIGSTKSZ) + 4096};
	char *mem = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	stack.ss_sp = mem + 65536 - (stack.ss_size + 4095) / 4096 * 4096;
	if (mprotect(stack.ss_sp, stack.ss_size, PROT_READ | PROT_WRITE) ||
	    sigaltstack(&stack, NULL) || sigaction(SIGUSR2, &act, NULL) || raise(SIGUSR2))
		fail("in_handler");
	exit(0);
}

/* One signal must end the wait, by EINTR, though an attach has interrupted it before. */
static void sleep_until_signal(void)
{
	struct sigaction act = {.sa_handler = on_alarm};
	struct epoll_event event;
	int fd = epoll_create1(0);

	sigaction(SIGUSR1, &act, NULL);
	ready();
	if (epoll_wait(fd, &event, 1, -1) != -1 || errno != EINTR)
		fail("epoll_wait");
}

/* For half a second: no register and no flag of the processor changes on its own. */
static void keep_registers(void)
{
	struct timespec now, end;
	long failed;

	ready();
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_nsec += 500000000;
	end.tv_sec += end.tv_nsec / 1000000000;
	end.tv_nsec %= 1000000000;
	do {
		__asm__ volatile(
			"std\n"
			"	mov $1, %%r8d; mov $2, %%r9d; mov $3, %%r10d; mov $4, %%r11d\n"
			"	mov $5, %%r12d; mov $6, %%r13d; mov $7, %%r14d; mov $8, %%r15d\n"
			"	mov $9, %%ebx; mov $10, %%edx; mov $11, %%esi; mov $12, %%edi\n"
			"	movq %%rbx, %%xmm15\n"
			"	mov $100000, %%ecx\n"
			"1:	mov $0x7fffffff, %%eax\n"
			"	add $1, %%eax\n"
			"	jno 2f; jns 2f; jc 2f; jz 2f; jnp 2f\n"
			"	mov $-1, %%eax\n"
			"	add $1, %%eax\n"
			"	jo 2f; js 2f; jnc 2f; jnz 2f; jnp 2f\n"
			"	lea -1(%%rcx), %%rcx\n"
			"	jrcxz 3f\n"
			"	jmp 1b\n"
			"2:	mov $-1, %%ecx\n"
			"3:	xor %%r8, %%r9; xor %%r9, %%r10; xor %%r10, %%r11\n"
			"	xor %%r11, %%r12; xor %%r12, %%r13; xor %%r13, %%r14\n"
			"	xor %%r14, %%r15; xor %%r15, %%rbx; xor %%rbx, %%rdx\n"
			"	xor %%rdx, %%rsi; xor %%rsi, %%rdi\n"
			"	movq %%xmm15, %%rax\n"
			"	cld\n"
			"	xor $9, %%rax\n"
			"	xor $12, %%rdi\n" /* 1 ^ … ^ 12 */
			"	or %%rdi, %%rax\n"
			"	or %%rcx, %%rax\n"
			: "=a"(failed)
			:
			: "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",
			  "r14", "r15", "xmm15", "cc", "memory");
		if (failed) {
			errno = 0;
			fail("registers");
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < end.tv_sec ||
		 (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
	exit(0);
}

/* Soon over, and nothing else. */
static void sleep_soon(void)
{
	struct timespec ts = {0, 700000000};

	ready();
	if (nanosleep(&ts, NULL))
		fail("nanosleep");
	exit(0);
}

static void under_seccomp(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog prog = {1, &allow};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		fail("seccomp");
	ready();
	pause();
}

static void in_vfork(void)
{
	struct timespec ts = {30, 0};

	ready();
	if (vfork() == 0) {
		nanosleep(&ts, NULL);
		_exit(0);
	}
}

/* What the kernel, the C library and others see of a process. */
static void describe(char text[static 4096])
{
	static const char *const keys[] = {"Threads", "SigPnd", "SigBlk",  "SigIgn", "SigCgt",
					   "Cap",     "NoNew",	"Seccomp", "Uid",    "TracerPid"};
	FILE *f = fopen("/proc/self/status", "r");
	struct sched_param param;
	char line[256];
	size_t len = 0, i;
	int fd;

	while (f && fgets(line, sizeof(line), f))
		for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
			if (strncmp(line, keys[i], strlen(keys[i])) == 0)
				len += (size_t)sprintf(text + len, "%s", line);
	if (f)
		fclose(f);
	for (fd = 0; fd < 100; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			len += (size_t)sprintf(text + len, "fd %d\n", fd);
	sched_getparam(0, &param);
	sprintf(text + len, "single threaded %d\npolicy %d %d, nice %d\n", __libc_single_threaded,
		sched_getscheduler(0), param.sched_priority, getpriority(PRIO_PROCESS, 0));
}

#ifdef RSEQ_SIG
/*
 * Half of the time in a restartable sequence, which must not be diverted: the kernel would have it begin
 * again, and that would be lost. The last of the data words tells that the process is attached.
 */
static void in_sequence(void)
{
	struct rseq *rseq = (void *)((char *)__builtin_thread_pointer() + __rseq_offset);
	volatile uint64_t *word = (void *)(__halo_slots_begin + 2 * 4096 - 8);
	uint32_t diverted = 0;
	volatile int i;

	ready();
	while (!*word && !diverted) {
		__asm__ volatile(".pushsection __rseq_cs, \"aw\"\n"
				 ".balign 32\n"
				 "9:	.long 0, 0\n"
				 "	.quad 1f, 2f - 1f, 4f\n"
				 ".popsection\n"
				 "	leaq 9b(%%rip), %%rax\n"
				 "	movq %%rax, %[cs]\n"
				 "1:	movq %[word], %%rdx\n"
				 "	movl $20000, %%ecx\n"
				 "3:	decl %%ecx\n"
				 "	jnz 3b\n"
				 "	cmpq %[word], %%rdx\n"
				 "	je 2f\n"
				 "	movl $1, %[diverted]\n"
				 "2:	jmp 5f\n"
				 "	.byte 0x0f, 0xb9, 0x3d\n"
				 "	.long %c[sig]\n"
				 "4:\n"
				 "5:\n"
				 : [cs] "=m"(rseq->rseq_cs), [diverted] "+m"(diverted)
				 : [word] "m"(*word), [sig] "i"(RSEQ_SIG)
				 : "rax", "rcx", "rdx", "cc", "memory");
		for (i = 0; i < 20000; i++)
			;
	}
	errno = 0;
	if (diverted)
		fail("diverted inside a restartable sequence");
	all(NULL);
	exit(0);
}
#endif

/* That an attach changes nothing of it, nor what a program may do to itself. */
static void unchanged(void)
{
	char before[4096], after[4096];
	int fd = open("/proc/self/ns/mnt", O_RDONLY);

	describe(before);
	ready();
	until(VARIANT);
	describe(after);
	if (strcmp(before, after) != 0) {
		printf("before:\n%safter:\n%s", before, after);
		exit(1);
	}
	/* What only processes of one thread may do. */
	if (fd < 0 || setns(fd, CLONE_NEWNS) || unshare(CLONE_NEWNS | CLONE_FS | CLONE_FILES) ||
	    unshare(CLONE_NEWUSER))
		fail("namespaces");
	if (prctl(PR_SET_DUMPABLE, 0) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_NAME, "other"))
		fail("prctl");
	until(OWN);
	until(LAST);
	exit(0);
}

/* What an attached program may do that leaves it less than it had; its code is switched on. */
static void attached_and(void (*restrict_itself)(void))
{
	ready();
	until(VARIANT);
	restrict_itself();
	until(OWN);
	until(LAST);
	syscall(SYS_exit, 0);
}

static void drop_rights(void)
{
	if (setgroups(0, NULL) || setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
		fail("setuid");
}

static void change_root(void)
{
	if (chroot("/proc/self/fdinfo") || chdir("/"))
		fail("chroot");
}

static void be_strict(void)
{
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		fail("strict");
}

/* All but the end kills. */
static void filter_all(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog prog = {sizeof(code) / sizeof(code[0]), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		fail("seccomp");
}

static void close_everything(void)
{
	syscall(SYS_close_range, 0, ~0U, 0);
}

static void limit_memory(void)
{
	struct rlimit limit = {1 << 20, 1 << 20};

	if (setrlimit(RLIMIT_AS, &limit))
		fail("setrlimit");
}

static void lock_memory(void)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		fail("mlockall");
}

static int in_clone(void *arg)
{
	(void)arg;
	until(VARIANT);
	return 3;
}

static void expect_exit(pid_t pid, int code)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, __WALL) != pid || !WIFEXITED(status) ||
	    WEXITSTATUS(status) != code)
		fail("a child");
}

/* Every way to make a process: those that execute begin afresh, the others run what we run. */
static void make_children(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	char *const fresh[] = {"/proc/self/exe", "fresh", NULL};
	char *const nothing[] = {NULL};
	pid_t pid;

	ready();
	until(VARIANT);
	if (posix_spawn(&pid, fresh[0], NULL, NULL, fresh, nothing))
		fail("posix_spawn");
	expect_exit(pid, 0);
	pid = vfork();
	if (pid == 0) {
		execve(fresh[0], fresh, nothing);
		_exit(1);
	}
	expect_exit(pid, 0);
	pid = fork();
	if (pid == 0)
		_exit(in_clone(NULL));
	expect_exit(pid, 3);
	expect_exit(clone(in_clone, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL), 3);
	expect_exit(clone(in_clone, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL),
		    3);
	until(OWN);
	until(LAST);
	exit(0);
}

static void fresh(void)
{
	volatile long x = 7;
	int i;

	for (i = 0; i < 1000; i++)
		if (work(x) != OWN)
			exit(1);
	exit(0);
}

/* Executes itself over and over; the last one ends as it began. */
static void executing(void)
{
	const char *left = getenv("LEFT");
	char next[16];
	int n = left ? atoi(left) : 100;

	if (n == 100)
		ready();
	if (n == 0)
		exit(0);
	snprintf(next, sizeof(next), "%d", n - 1);
	setenv("LEFT", next, 1);
	execl("/proc/self/exe", "target", "executing", NULL);
	fail("exec");
}

/* Threads come and go, and so does all of it, soon. */
static void *short_life(void *arg)
{
	volatile long x = 7;

	work(x);
	return arg;
}

static void ending(void)
{
	pthread_t thread;
	int i;

	ready();
	for (i = 0; i < 200; i++) {
		if (pthread_create(&thread, NULL, short_life, NULL))
			fail("pthread_create");
		pthread_join(thread, NULL);
	}
	exit(0);
}

#define ATTACHED_AND(what)           \
	static void and_##what(void) \
	{                            \
		attached_and(what);  \
	}

ATTACHED_AND(drop_rights)
ATTACHED_AND(change_root)
ATTACHED_AND(be_strict)
ATTACHED_AND(filter_all)
ATTACHED_AND(close_everything)
ATTACHED_AND(limit_memory)
ATTACHED_AND(lock_memory)

/* The mapping that holds @addr: its range, as map_files names it. */
static bool find_mapping(const void *addr, unsigned long *start, unsigned long *end)
{
	FILE *f = fopen("/proc/self/maps", "r");
	bool found = false;
	char line[512];

	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%lx-%lx", start, end) == 2 && (unsigned long)addr >= *start &&
			(unsigned long)addr < *end;
	if (f)
		fclose(f);
	return found;
}

static bool writes_through_mem(void *addr)
{
	char byte = *(volatile char *)addr;
	int fd = open("/proc/self/mem", O_RDWR);
	bool written = fd >= 0 && pwrite(fd, &byte, 1, (off_t)(unsigned long)addr) == 1;

	if (fd >= 0)
		close(fd);
	return written;
}

static bool opens_map_file(unsigned long start, unsigned long end)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx", start, end);
	fd = open(path, O_RDWR);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* A second view of the same pages, which might be given other rights. */
static bool writes_through_copy(void *addr)
{
	void *copy = mremap(addr, 0, 4096, MREMAP_MAYMOVE);
	bool writable;

	if (copy == MAP_FAILED)
		return false;
	writable = mprotect(copy, 4096, PROT_READ | PROT_WRITE) == 0;
	munmap(copy, 4096);
	return writable;
}

/* A debugger may write what the program itself may not, but not here. */
static bool child_writes(void *addr)
{
	pid_t parent = getpid(), child;
	struct iovec local = {&parent, 4}, remote = {addr, 4};
	int status = 0;

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	child = fork();
	if (child == 0) {
		if (process_vm_writev(parent, &local, 1, &remote, 1, 0) > 0)
			_exit(1);
		if (ptrace(PTRACE_ATTACH, parent, 0, 0) || waitpid(parent, &status, __WALL) < 0)
			_exit(0);
		status = ptrace(PTRACE_POKEDATA, parent, addr, *(long *)addr) == 0;
		ptrace(PTRACE_DETACH, parent, 0, 0);
		_exit(status);
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return status != 0;
}

static void say_if(bool happened, const char *what)
{
	if (happened)
		printf("writable: %s\n", what);
}

/* What no program may change, once it is attached. */
static void protected_slots(void)
{
	void *slots = __halo_slots_begin, *arena;
	unsigned long start, end;

	ready();
	until(VARIANT);
	say_if(mprotect(slots, 4096, PROT_READ | PROT_WRITE) == 0, "slots, by mprotect");
	say_if(writes_through_mem(slots), "slots, by /proc/self/mem");
	say_if(writes_through_copy(slots), "slots, by a second view");
	say_if(child_writes(slots), "slots, by a child that traces it");
	say_if(find_mapping(slots, &start, &end) && opens_map_file(start, end),
	       "slots, by /proc/self/map_files");
	/* The last of the data words is where the arena begins. */
	arena = *(void **)(__halo_slots_begin + 2 * 4096 - 8);
	say_if(find_mapping(arena, &start, &end) && opens_map_file(start, end),
	       "arena, by /proc/self/map_files");
	puts("protected");
	until(LAST);
	exit(0);
}

/* As the stub asks for its mappings; then all is tried with the descriptors. */
static void grab(void)
{
	static const char *const name[] = {"slots", "arena", "counters"};
	const uint64_t hello[] = {0x4841544348313030ULL, 2,
				  (uint64_t)(unsigned long)__halo_slots_begin};
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	union {
		struct cmsghdr header;
		char buf[CMSG_SPACE(3 * sizeof(int))];
	} control;
	char offer[1024], path[64];
	struct iovec iov = {offer, sizeof(offer)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0), fds[3], i;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", getenv("GRAB_FROM"));
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    send(fd, hello, sizeof(hello), 0) != sizeof(hello) || recvmsg(fd, &msg, 0) <= 0)
		fail("grab");
	memcpy(fds, CMSG_DATA(&control.header), sizeof(fds));
	for (i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[i]);
		say_if(open(path, O_RDWR) >= 0 || open(path, O_WRONLY | O_TRUNC) >= 0, name[i]);
		say_if(truncate(path, 0) == 0 || ftruncate(fds[i], 0) == 0, name[i]);
		say_if(fchmod(fds[i], 0777) == 0 || fchown(fds[i], 0, 0) == 0, name[i]);
		say_if(write(fds[i], "", 1) == 1, name[i]);
		say_if(openat(fds[i], "..", O_RDONLY) >= 0, "store");
		say_if(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fds[i], 0) !=
			       MAP_FAILED,
		       name[i]);
	}
	say_if(ftruncate(fds[2], 0) == 0, "size of counters");
	puts("grabbed");
	exit(0);
}

static const struct {
	const char *name;
	void (*run)(void);
} modes[] = {
	{"busy", ready},
	{"threads", threads},
	{"fork", children},
	{"nanosleep", sleep_in_nanosleep},
	{"epoll", sleep_in_epoll},
	{"read", sleep_in_read},
	{"semtimedop", sleep_in_semtimedop},
	{"sigtimedwait", sleep_in_sigtimedwait},
	{"signals", signals},
	{"signal", sleep_until_signal},
	{"registers", keep_registers},
	{"soon", sleep_soon},
	{"seccomp", under_seccomp},
	{"vfork", in_vfork},
	{"protected", protected_slots},
	{"hundred", hundred_threads},
	{"poll", sleep_in_poll},
	{"futex", sleep_in_futex},
	{"wait", sleep_in_wait},
	{"recv", sleep_in_recv},
	{"handler", in_handler},
#ifdef RSEQ_SIG
	{"sequence", in_sequence},
#endif
	{"unchanged", unchanged},
	{"children", make_children},
	{"fresh", fresh},
	{"executing", executing},
	{"ending", ending},
	{"setuid", and_drop_rights},
	{"chroot", and_change_root},
	{"strict", and_be_strict},
	{"filter", and_filter_all},
	{"closefrom", and_close_everything},
	{"rlimit", and_limit_memory},
	{"mlockall", and_lock_memory},
	{"grab", grab},
};

int main(int argc, char **argv)
{
	size_t i;

	/* A plain run: the program's own work, once. */
	if (argc == 1)
		return printf("%ld\n", work(7)) < 0;
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(argv[1], modes[i].name) == 0) {
			modes[i].run();
			if (modes[i].run != threads)
				all(NULL);
			return 0;
		}
	return 2;
}
