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
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

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
