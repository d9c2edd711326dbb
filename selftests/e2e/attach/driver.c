/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A daemon for the tests of attaching: it attaches one process of target.c, sends its work() to
 * other code and back, and says what happened. Exit status 0: all as asked for.
 *
 *   driver inject EXECUTABLE PID            attach the running process
 *   driver try EXECUTABLE PID               the same, and leave it at that
 *   driver serve EXECUTABLE SOCKET HOW      answer the first process that connects: see hows[]
 *   driver images EXECUTABLE PID LIST       attach the running process and switch it to images: LIST
 *                                           has lines "SLOT ENTRY PLACE FOLDER" with link-time
 *                                           addresses, image.elf is in the folder
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

#include "daemon/attach.h"
#include "daemon/image.h"
#include "lib/util.h"

#define ENTRIES	   1000
#define DEADLINE_S 20

enum arm {
	ARM_VARIANT,
	ARM_OWN,
	LAST, /* not counted */
};

struct driver {
	struct halo_prepared *prepared;
	const struct halo_func *work;
	struct halo_store *store;
	struct halo_arena *arena;
	struct halo_family *family;
	struct halo_layout layout;
	char dir[64];
	struct halo_err err;
};

static struct driver driver;

static void clean_up(void)
{
	halo_family__free(driver.family);
	halo_arena__close(driver.arena);
	halo_store__close(driver.store, false);
}

static void __attribute__((noreturn)) fail(const char *what)
{
	fprintf(stderr, "driver: %s", what);
	if (driver.err.code)
		fprintf(stderr, ": %s", driver.err.what);
	fputc('\n', stderr);
	exit(1);
}

static void open_program(const char *path)
{
	__cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t hash[32];

	if (halo_prepared__open(fd, &driver.prepared, &driver.err) ||
	    halo_prepared__hash(driver.prepared, hash, &driver.err))
		fail(path);
	strcpy(driver.dir, "/tmp/halo-attach-XXXXXX");
	if (!mkdtemp(driver.dir) || halo_store__open(driver.dir, &driver.store, &driver.err) ||
	    halo_arena__open(driver.store, hash, &driver.arena, &driver.err))
		fail("store");
	/* It lives on as long as it is open, and so is gone however this process ends. */
	umount2(driver.dir, MNT_DETACH);
	rmdir(driver.dir);
}

static void find_work(void)
{
	driver.work = halo_prepared__func(driver.prepared, -1, "work");
	if (!driver.work || !driver.work->slot)
		fail("work() has no slot");
}

static void open_family(pid_t pid)
{
	if (halo_layout__read(pid, driver.prepared, &driver.layout, &driver.err) ||
	    halo_family__create(driver.store, 1, driver.prepared, &driver.layout, &driver.family,
				&driver.err))
		fail("family");
}

/* Two counting entries, and the variants: one behind the first entry, one for the end. */
static int64_t publish(pid_t pid)
{
	static const uint8_t triple[] = {0x48, 0x8d, 0x04, 0x7f, 0xc3};		  /* return 3 * x */
	static const uint8_t last[] = {0x48, 0x8d, 0x04, 0xbd, 0, 0, 0, 0, 0xc3}; /* 4 * x */
	uint8_t code[4 * HALO_COUNT_ENTRY_SIZE] = {0};
	const struct halo_prepared *p = driver.prepared;
	uint64_t off = halo_arena__next(driver.arena);
	int64_t at = halo_prepared__arena(p) + (int64_t)off, rseq = halo_rseq__offset(pid);
	int64_t target[] = {at + 3 * HALO_COUNT_ENTRY_SIZE,
			    (int64_t)driver.work->addr + HALO_ENTRY_SIZE};
	int arm;

	for (arm = ARM_VARIANT; arm <= ARM_OWN; arm++)
		if (halo_count_entry__emit(code + arm * HALO_COUNT_ENTRY_SIZE,
					   at + arm * HALO_COUNT_ENTRY_SIZE, target[arm],
					   p->stub.slots_begin, arm, rseq) < 0)
			fail("counting entry");
	memcpy(code + LAST * HALO_COUNT_ENTRY_SIZE, last, sizeof(last));
	memcpy(code + 3 * HALO_COUNT_ENTRY_SIZE, triple, sizeof(triple));
	if (halo_arena__write(driver.arena, off, code, sizeof(code), 0, &driver.err))
		fail("arena");
	printf("rseq %s\n", rseq ? "yes" : "no");
	return at;
}

static void wait_entries(enum arm arm, pid_t pid)
{
	struct timespec pause = {0, 1000000};
	time_t deadline = time(NULL) + DEADLINE_S;

	while (halo_family__entries(driver.family, arm) < ENTRIES) {
		if (kill(pid, 0) || time(NULL) > deadline)
			fail("the program does not enter what it was sent to");
		nanosleep(&pause, NULL);
	}
}

static void go(int64_t code, int which)
{
	halo_family__set_slot(driver.family, driver.work->slot,
			      code + which * HALO_COUNT_ENTRY_SIZE);
}

static void switch_around(pid_t pid)
{
	int64_t code = publish(pid);
	int i;

	go(code, ARM_VARIANT);
	wait_entries(ARM_VARIANT, pid);
	go(code, ARM_OWN);
	wait_entries(ARM_OWN, pid);
	for (i = 0; i < 10000; i++)
		go(code, i % 2 ? ARM_VARIANT : ARM_OWN);
	halo_family__reset_slot(driver.family, driver.work);
	go(code, LAST);
	puts("switched");
}

/* Entries of /proc/PID/@what, a folder. */
static unsigned int count(pid_t pid, const char *what)
{
	unsigned int n = 0;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, what);
	dir = opendir(path);
	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

static void publish_image(const char *folder, uint64_t slot, int64_t entry, int64_t place)
{
	uint64_t off = (uint64_t)(place - halo_prepared__arena(driver.prepared));
	__cleanup_fd int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct halo_image image;

	if (halo_image__read(dir, "image.elf", geteuid(), place, HALO_ARENA_SIZE - off, entry,
			     &image, &driver.err) ||
	    halo_arena__write(driver.arena, off, image.code, image.size, image.frames, &driver.err))
		fail(folder);
	halo_image__free(&image);
	halo_family__set_slot(driver.family, slot, entry);
}

static int images(pid_t pid, const char *list)
{
	FILE *f = fopen(list, "r");
	int64_t entry, place;
	unsigned int us, n = 0;
	char folder[4096];
	uint64_t slot;

	open_family(pid);
	if (!f || halo_inject__attach(pid, driver.prepared, &driver.layout, driver.family,
				      driver.arena, &us, &driver.err))
		fail("attach");
	for (; fscanf(f, "%lu %ld %ld %4095s", &slot, &entry, &place, folder) == 4; n++)
		publish_image(folder, slot, entry, place);
	fclose(f);
	printf("switched %u\n", n);
	return 0;
}

static int inject(pid_t pid, bool once)
{
	unsigned int stopped_us, fds = count(pid, "fd"), threads = count(pid, "task");

	open_family(pid);
	if (halo_inject__attach(pid, driver.prepared, &driver.layout, driver.family, driver.arena,
				&stopped_us, &driver.err)) {
		printf("refused: %s\n", driver.err.what);
		return 2;
	}
	printf("attached, stopped for %u us\n", stopped_us);
	fflush(stdout);
	if (once)
		return 0;
	if (count(pid, "fd") != fds || count(pid, "task") != threads)
		fail("a descriptor or a thread is left in the program");
	switch_around(pid);
	return 0;
}

struct answer {
	struct halo_offer offer;
	size_t len;
	int fds[HALO_MAP_COUNT + 1];
	size_t n_fds;
};

static void offer_as_is(struct answer *a)
{
	(void)a;
}

static void offer_garbage(struct answer *a)
{
	memset(&a->offer, 0xa5, sizeof(a->offer));
}

static void offer_short(struct answer *a)
{
	a->len = sizeof(uint64_t);
}

static void offer_no_fds(struct answer *a)
{
	a->n_fds = 0;
}

static void offer_two_fds(struct answer *a)
{
	a->n_fds = 2;
}

static void offer_four_fds(struct answer *a)
{
	a->fds[a->n_fds++] = a->fds[0];
}

static void offer_other_slots(struct answer *a)
{
	a->offer.map[HALO_MAP_SLOTS].addr += HALO_PAGE;
}

static void offer_writable_code(struct answer *a)
{
	a->offer.map[HALO_MAP_ARENA].prot |= PROT_WRITE;
}

static void offer_over_text(struct answer *a)
{
	a->offer.map[HALO_MAP_ARENA].addr = driver.layout.text_start;
}

/* The right size, but slots that lead nowhere. */
static void offer_empty_slots(struct answer *a)
{
	a->fds[HALO_MAP_SLOTS] = memfd_create("empty", MFD_CLOEXEC);
	if (ftruncate(a->fds[HALO_MAP_SLOTS], (off_t)a->offer.map[HALO_MAP_SLOTS].len))
		fail("memfd");
}

/* A file of no length: every access to a mapping of it is a SIGBUS. */
static void offer_short_files(struct answer *a)
{
	int i;

	for (i = 0; i < HALO_MAP_COUNT; i++)
		a->fds[i] = memfd_create("short", MFD_CLOEXEC);
}

static void offer_pipes(struct answer *a)
{
	if (pipe2(a->fds, O_CLOEXEC))
		fail("pipe");
}

static const struct {
	const char *name;
	void (*spoil)(struct answer *a); /* NULL: never answer */
	bool hello;			 /* wait for its message first */
} hows[] = {
	{"right", offer_as_is, true},
	{"die-at-once", NULL, false},
	{"die-after-hello", NULL, true},
	{"silence", NULL, true},
	{"die-after-offer", offer_as_is, true},
	{"garbage", offer_garbage, true},
	{"short", offer_short, true},
	{"no-descriptors", offer_no_fds, true},
	{"two-descriptors", offer_two_fds, true},
	{"four-descriptors", offer_four_fds, true},
	{"other-slots", offer_other_slots, true},
	{"writable-code", offer_writable_code, true},
	{"over-text", offer_over_text, true},
	{"empty-slots", offer_empty_slots, true},
	{"short-files", offer_short_files, true},
	{"pipes", offer_pipes, true},
};

static void send_answer(int client, struct answer *a)
{
	union {
		struct cmsghdr header;
		char buf[CMSG_SPACE(sizeof(a->fds))];
	} control = {.header = {CMSG_LEN(a->n_fds * sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
	struct iovec iov = {&a->offer, a->len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (a->n_fds) {
		memcpy(CMSG_DATA(&control.header), a->fds, a->n_fds * sizeof(int));
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_LEN(a->n_fds * sizeof(int));
	}
	if (sendmsg(client, &msg, MSG_NOSIGNAL) != (ssize_t)a->len)
		fail("sendmsg");
}

static int accept_one(const char *path, pid_t *pid)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	__cleanup_fd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct ucred cred;
	socklen_t len = sizeof(cred);
	int client;

	strncpy(addr.sun_path, path, sizeof(addr.sun_path) - 1);
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) || listen(fd, 1))
		fail(path);
	puts("listening");
	fflush(stdout);
	client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	if (client < 0 || getsockopt(client, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		fail("accept");
	*pid = cred.pid;
	return client;
}

static int serve(const char *path, const char *how)
{
	struct answer answer = {.len = sizeof(answer.offer), .n_fds = HALO_MAP_COUNT};
	struct halo_hello hello;
	struct halo_done done;
	__cleanup_fd int client = -1;
	pid_t pid;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(hows) && strcmp(hows[i].name, how); i++)
		;
	if (i == ARRAY_SIZE(hows))
		fail(how);
	client = accept_one(path, &pid);
	if (hows[i].hello && (recv(client, &hello, sizeof(hello), 0) != sizeof(hello) ||
			      hello.magic != HALO_ATTACH_MAGIC))
		fail("hello");
	if (!hows[i].spoil) {
		/* Silent until the other end has had enough. */
		if (strcmp(how, "silence") == 0)
			recv(client, &done, sizeof(done), 0);
		return 0;
	}
	open_family(pid);
	if (halo_family__offer(driver.family, driver.arena, &answer.offer, answer.fds, &driver.err))
		fail("offer");
	hows[i].spoil(&answer);
	send_answer(client, &answer);
	if (strcmp(how, "die-after-offer") == 0)
		return 0;
	if (recv(client, &done, sizeof(done), 0) != sizeof(done)) {
		puts("no answer");
		return 0;
	}
	printf("done %d %d %d\n", (int)done.error[0], (int)done.error[1], (int)done.error[2]);
	fflush(stdout);
	if (!done.error[0] && !done.error[1] && !done.error[2])
		switch_around(pid);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	atexit(clean_up);
	open_program(argv[2]);
	if (strcmp(argv[1], "images") == 0)
		return argc == 5 ? images(atoi(argv[3]), argv[4]) : 2;
	find_work();
	if (strcmp(argv[1], "inject") == 0 || strcmp(argv[1], "try") == 0)
		return inject(atoi(argv[3]), strcmp(argv[1], "try") == 0);
	return argc == 5 ? serve(argv[3], argv[4]) : 2;
}
