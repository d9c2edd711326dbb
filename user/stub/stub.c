/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The stub: linked into every prepared program, it runs once, before main(), and asks the daemon
 * for the three mappings of halo/attach.h; or later, when a daemon diverts a thread to it (begin.S).
 * It then leaves no descriptor, thread or signal behind.
 *
 * It may run before, or without, a working libc: raw system calls only, no errno, no thread-locals,
 * nothing that the compiler would turn into a call. Compile it -ffreestanding, without stack
 * protector and instrumentation, and with -fcf-protection so that it takes IBT from no program.
 *
 * Whatever the daemon says or does, the program must be none the worse: everything that it offers
 * is checked before the one step that matters, the move of the new slot pages over the old ones,
 * and that step comes last.
 */
#include "sys.h"

#include <halo/attach.h>
#include <halo/prepared.h>

#define PAGE	   4096UL
#define DATA_WORDS (HALO_DATA_PAGES * PAGE / sizeof(uint64_t))

extern const uint64_t __halo_slots_begin[] __attribute__((visibility("hidden")));
extern struct halo_scratch __halo_scratch __attribute__((visibility("hidden")));
extern const uint64_t __halo_slots_end[] __attribute__((visibility("hidden")));

static inline unsigned long slots_len(void)
{
	return (unsigned long)__halo_slots_end - (unsigned long)__halo_slots_begin;
}

/* Is @text "@prefix…"? Returns what follows the prefix, or NULL. */
static const char *after(const char *text, const char *prefix)
{
	for (; *prefix; text++, prefix++)
		if (*text != *prefix)
			return NULL;
	return text;
}

struct settings {
	bool disabled;
	const char *socket;
};

static void read_variable(struct settings *set, const char *variable)
{
	const char *value;

	value = after(variable, "HALO_DISABLE=1");
	if (value && !*value)
		set->disabled = true;
	value = after(variable, "HALO_SOCKET=");
	if (value)
		set->socket = value;
}

/*
 * From the environment as the kernel put it on the stack, auxiliary vector behind it. A program
 * that runs with more rights than its caller's does not listen to its caller.
 */
static void read_stack(struct settings *set, char **envp)
{
	struct settings found = *set;
	const unsigned long *auxv;

	for (; *envp; envp++)
		read_variable(&found, *envp);
	for (auxv = (const unsigned long *)(envp + 1); auxv[0] != AT_NULL; auxv += 2)
		if (auxv[0] == AT_SECURE && auxv[1])
			return;
	*set = found;
}

/* Bytes of the environment, or of anything else, that are looked at where /proc must tell. */
#define TEXT_MAX 16384

/* Read a whole file; its length, or -1. */
static long read_file(const char *path, char buf[static TEXT_MAX])
{
	long fd = sys_open(path, O_RDONLY | O_CLOEXEC), len = 0, n;

	if (fd < 0)
		return -1;
	do {
		n = sys_read(fd, buf + len, TEXT_MAX - len);
		if (n > 0)
			len += n;
	} while (n == -EINTR || (n > 0 && len < TEXT_MAX));
	sys_close(fd);
	return n == 0 ? len : -1;
}

/* The same for C libraries that pass nothing to constructors. What can't be read means "no". */
static void read_proc(struct settings *set, char buf[static TEXT_MAX])
{
	const unsigned long *auxv = (const unsigned long *)buf;
	long len, i;

	len = read_file("/proc/self/auxv", buf);
	for (i = 0; i < len / 16; i++)
		if (auxv[2 * i] == AT_SECURE && auxv[2 * i + 1])
			return;
	if (len >= 0)
		len = read_file("/proc/self/environ", buf);
	for (i = 0; i < len; i++)
		if (i == 0 || buf[i - 1] == '\0')
			read_variable(set, buf + i);
	if (len < 0)
		set->disabled = true;
}

/*
 * A seccomp filter may kill for a socket(2) that the program itself would never have called. The
 * calls that tell whether there is one are those that the dynamic linker has just made.
 */
static bool has_seccomp(char buf[static TEXT_MAX])
{
	long len = read_file("/proc/self/status", buf), i;
	const char *mode;

	for (i = 0; i < len - 11; i++) {
		mode = after(buf + i, "\nSeccomp:\t");
		if (mode)
			return *mode != '0';
	}
	return len < 0;
}

static long connect_to(const char *path)
{
	struct sockaddr_un addr = {.sun_family = SYS_AF_UNIX};
	long fd, ret;
	size_t i;

	for (i = 0; path[i]; i++) {
		if (i == sizeof(addr.sun_path) - 1)
			return -ENAMETOOLONG;
		addr.sun_path[i] = path[i];
	}
	/* Nonblocking, since connect(2) waits for a listener that has too many to answer. */
	fd = sys_call3(__NR_socket, SYS_AF_UNIX,
		       SYS_SOCK_SEQPACKET | SYS_SOCK_CLOEXEC | SYS_SOCK_NONBLOCK, 0);
	if (fd < 0)
		return fd;
	ret = sys_call3(__NR_connect, fd, (long)&addr, sizeof(addr));
	if (ret) {
		sys_close(fd);
		return ret;
	}
	return fd;
}

static long send_message(long fd, const void *msg, size_t len)
{
	return sys_call6(__NR_sendto, fd, (long)msg, (long)len, SYS_MSG_NOSIGNAL | SYS_MSG_DONTWAIT,
			 0, 0);
}

/* The kernel counts @left down, so that signals don't prolong the wait. */
static bool wait_for_answer(long fd)
{
	struct __kernel_timespec left = {0, HALO_ATTACH_TIMEOUT * 1000000LL};
	struct pollfd poll = {.fd = (int)fd, .events = POLLIN};
	long ret;

	do
		ret = sys_call6(__NR_ppoll, (long)&poll, 1, (long)&left, 0, 8, 0);
	while (ret == -EINTR);
	return ret == 1;
}

struct fd_message {
	size_t len; /* header included */
	int level, type;
	int fd[HALO_MAP_COUNT];
};

/* Room for three descriptors and not one more, so that the kernel drops what is too many. */
#define FD_MESSAGE_LEN(n) (offsetof(struct fd_message, fd) + (n) * sizeof(int))

static void close_all(const int fd[HALO_MAP_COUNT], unsigned long n)
{
	while (n > 0)
		sys_close(fd[--n]);
}

/* True with three descriptors in @fd, else false with none. */
static bool receive_offer(long socket, struct halo_offer *offer, int fd[HALO_MAP_COUNT])
{
	struct sys_iovec iov = {offer, sizeof(*offer)};
	struct fd_message control;
	struct sys_msghdr msg = {
		.iov = &iov,
		.iovlen = 1,
		.control = &control,
		.controllen = FD_MESSAGE_LEN(HALO_MAP_COUNT),
	};
	unsigned long n = 0, i;
	long len;

	len = sys_call3(__NR_recvmsg, socket, (long)&msg, SYS_MSG_CMSG_CLOEXEC | SYS_MSG_DONTWAIT);
	if (len < 0)
		return false;
	if (msg.controllen >= FD_MESSAGE_LEN(1) && control.level == SYS_SOL_SOCKET &&
	    control.type == SYS_SCM_RIGHTS && control.len <= FD_MESSAGE_LEN(HALO_MAP_COUNT))
		n = (control.len - FD_MESSAGE_LEN(0)) / sizeof(int);
	if (n != HALO_MAP_COUNT || len != sizeof(*offer) ||
	    (msg.flags & (SYS_MSG_TRUNC | SYS_MSG_CTRUNC))) {
		close_all(control.fd, n);
		return false;
	}
	for (i = 0; i < n; i++)
		fd[i] = control.fd[i];
	return true;
}

static bool offer_valid(const struct halo_offer *offer)
{
	const struct halo_mapping *map = offer->map;

	return offer->magic == HALO_ATTACH_MAGIC && offer->version == HALO_FORMAT_VERSION &&
	       map[HALO_MAP_SLOTS].addr == (unsigned long)__halo_slots_begin &&
	       map[HALO_MAP_SLOTS].len == slots_len() && map[HALO_MAP_SLOTS].prot == PROT_READ &&
	       map[HALO_MAP_SLOTS].flags == MAP_SHARED &&
	       map[HALO_MAP_ARENA].prot == (PROT_READ | PROT_EXEC) &&
	       map[HALO_MAP_ARENA].flags == (MAP_PRIVATE | MAP_FIXED_NOREPLACE) &&
	       map[HALO_MAP_COUNTERS].prot == (PROT_READ | PROT_WRITE) &&
	       map[HALO_MAP_COUNTERS].flags == (MAP_SHARED | MAP_FIXED_NOREPLACE);
}

/* At @addr, or anywhere if that is 0. The file must fill the mapping: past its end is SIGBUS. */
static long map_file(uint64_t addr, const struct halo_mapping *map, int fd)
{
	long size = sys_call3(__NR_lseek, fd, 0, SYS_SEEK_END), ret;

	if (size < 0)
		return size;
	if (map->len == 0 || (uint64_t)size < map->len)
		return -EINVAL;
	ret = sys_mmap(addr, map->len, (long)map->prot, (long)map->flags, fd);
	if (!sys_failed(ret) && addr && (uint64_t)ret != addr) {
		sys_munmap((uint64_t)ret, map->len); /* a kernel that takes NOREPLACE for a hint */
		return -EEXIST;
	}
	return ret;
}

/* The move is one step to all threads. It can't fail halfway, as mapping in place could. */
static long replace_slots(const struct halo_mapping *map, int fd)
{
	long temporary = map_file(0, map, fd), ret = 0;
	const uint64_t *new = (const uint64_t *)temporary;
	unsigned long i;

	if (sys_failed(temporary))
		return temporary;
	for (i = DATA_WORDS; i < slots_len() / sizeof(uint64_t); i++)
		if (new[i] != __halo_slots_begin[i])
			ret = -EILSEQ;
	if (ret == 0)
		ret = sys_call6(__NR_mremap, temporary, (long)map->len, (long)map->len,
				MREMAP_MAYMOVE | MREMAP_FIXED, (long)map->addr, 0);
	if ((uint64_t)ret == map->addr)
		return 0;
	sys_munmap((uint64_t)temporary, map->len);
	return ret;
}

/* The slots last: once they are in place the daemon may send the program into the arena. */
static bool map_all(const struct halo_offer *offer, const int fd[HALO_MAP_COUNT],
		    struct halo_done *done)
{
	const struct halo_mapping *map = offer->map;
	int64_t *error = done->error;
	unsigned int i;
	long ret;

	for (i = HALO_MAP_ARENA; i < HALO_MAP_COUNT; i++) {
		ret = map_file(map[i].addr, &map[i], fd[i]);
		error[i] = sys_failed(ret) ? ret : 0;
	}
	error[HALO_MAP_SLOTS] = error[HALO_MAP_ARENA] || error[HALO_MAP_COUNTERS]
					? -ECANCELED
					: replace_slots(&map[HALO_MAP_SLOTS], fd[HALO_MAP_SLOTS]);
	if (error[HALO_MAP_SLOTS] == 0)
		return true;
	for (i = HALO_MAP_ARENA; i < HALO_MAP_COUNT; i++)
		if (error[i] == 0)
			sys_munmap(map[i].addr, map[i].len);
	return false;
}

/* The offer is there already. Not inlined, for the sake of the other caller's small stack. */
static __attribute__((noinline)) bool take_offer(long socket)
{
	struct halo_done done = {.magic = HALO_ATTACH_MAGIC};
	struct halo_offer offer;
	int fd[HALO_MAP_COUNT];
	bool attached = false;

	if (!receive_offer(socket, &offer, fd))
		return false;
	if (offer_valid(&offer))
		attached = map_all(&offer, fd, &done);
	else
		done.error[HALO_MAP_SLOTS] = -EPROTO;
	close_all(fd, HALO_MAP_COUNT);
	send_message(socket, &done, sizeof(done));
	return attached;
}

static bool converse(long socket)
{
	const struct halo_hello hello = {HALO_ATTACH_MAGIC, HALO_FORMAT_VERSION,
					 (uint64_t)__halo_slots_begin};

	return send_message(socket, &hello, sizeof(hello)) == sizeof(hello) &&
	       wait_for_answer(socket) && take_offer(socket);
}

static bool attach(int argc, char **argv, char **envp)
{
	struct settings set = {.socket = HALO_ATTACH_SOCKET};
	char buf[TEXT_MAX] __attribute__((aligned(8)));
	bool attached;
	long socket;

	/* Three registers that agree so are no leftovers: the C library does pass arguments. */
	if (argc >= 0 && argv && envp == argv + argc + 1)
		read_stack(&set, envp);
	else
		read_proc(&set, buf);
	if (set.disabled || sys_access(set.socket) || has_seccomp(buf))
		return false;
	socket = connect_to(set.socket);
	if (socket < 0)
		return false;
	attached = converse(socket);
	sys_close(socket);
	return attached;
}

/* Slots that no daemon owns are code pointers at known places: nobody is to write them. */
__attribute__((constructor(101))) static void halo_stub(int argc, char **argv, char **envp)
{
	if (!attach(argc, argv, envp))
		sys_mprotect(__halo_slots_begin, slots_len(), PROT_READ);
}

/*
 * The diverted thread, on the stack in the scratch memory, signals blocked. @error: of socketpair(2).
 * A daemon that is gone has sent no offer, and all ends here.
 */
__attribute__((visibility("hidden"))) void __halo_attach_running(long error);

void __halo_attach_running(long error)
{
	int i;

	if (error)
		return;
	take_offer(__halo_scratch.pair[0]);
	for (i = 1; i >= 0; i--)
		sys_close(__halo_scratch.pair[i]);
}
