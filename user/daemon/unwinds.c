// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../lib/util.h"
#include "../unwind/table.h"
#include "store.h"
#include "unwinds.h"

#define LOG_TAG "unwind"
#include "../lib/log.h"

#define FILE_MAX    (4ULL << 30)
#define MEMORY_MAX  (8ULL << 30) /* of address space, the file's mapping included */
#define CPU_MAX_S   30
#define NICE	    10
#define QUEUE_MAX   512 /* open files that wait; more have no table */
#define ROWS_MAX    (64U << 20)
#define RESULT_NAME "halo-unwind"

/* What a compiling process leaves, the arrays behind it in this order. */
struct result {
	uint32_t done;
	uint32_t first_page, nr_pages;
	uint32_t nr_rules, nr_shapes, nr_rows;
};

struct waiting {
	TAILQ_ENTRY(waiting) link;
	uint32_t exe_id;
	int fd;
};

struct halo_unwinds {
	TAILQ_HEAD(, waiting) queue;
	size_t n;
	/* The one being compiled; pid 0: none. */
	pid_t pid;
	uint32_t exe_id; /* 0: nobody wants it any more */
	int pid_fd, result_fd;
	struct halo_io *io;
};

static void start_next(struct halo_daemon *d);

int halo_unwinds__open(struct halo_daemon *d)
{
	struct halo_unwinds *u = calloc(1, sizeof(*u));

	if (!u)
		return -ENOMEM;
	TAILQ_INIT(&u->queue);
	u->pid_fd = u->result_fd = -1;
	d->unwinds = u;
	return 0;
}

static void end_job(struct halo_daemon *d)
{
	struct halo_unwinds *u = d->unwinds;

	halo_loop__unwatch(d->loop, u->io);
	u->io = NULL;
	zclose(&u->pid_fd);
	zclose(&u->result_fd);
	u->pid = 0;
}

void halo_unwinds__close(struct halo_daemon *d)
{
	struct halo_unwinds *u = d->unwinds;
	struct waiting *w;

	if (!u)
		return;
	if (u->pid) {
		kill(u->pid, SIGKILL);
		waitpid(u->pid, NULL, 0);
		end_job(d);
	}
	while ((w = TAILQ_FIRST(&u->queue))) {
		TAILQ_REMOVE(&u->queue, w, link);
		close(w->fd);
		free(w);
	}
	free(u);
	d->unwinds = NULL;
}

/* The compiling process's side. */

static bool drop_privileges(const struct halo_workers *workers)
{
	const struct rlimit memory = {MEMORY_MAX, MEMORY_MAX}, cpu = {CPU_MAX_S, CPU_MAX_S};
	const struct rlimit none = {0, 0};
	cap_t caps = cap_init();
	bool ok;

	/* Not idle priority: on a busy machine it would have to wait for ever. */
	setpriority(PRIO_PROCESS, 0, NICE);
	ok = !setrlimit(RLIMIT_AS, &memory) && !setrlimit(RLIMIT_CPU, &cpu) &&
	     !setrlimit(RLIMIT_CORE, &none) && !setgroups(0, NULL) &&
	     !setresgid(workers->gid, workers->gid, workers->gid) &&
	     !setresuid(workers->uid, workers->uid, workers->uid) && caps && !cap_set_proc(caps) &&
	     !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	cap_free(caps);
	return ok;
}

static bool write_all(int fd, const void *data, size_t size)
{
	const char *at = data;
	ssize_t n;

	while (size) {
		n = write(fd, at, size);
		if (n <= 0)
			return false;
		at += n;
		size -= n;
	}
	return true;
}

static bool write_result(int fd, const struct halo_unwind_table *t)
{
	const struct result result = {
		.done = 1,
		.first_page = t->first_page,
		.nr_pages = t->nr_pages,
		.nr_rules = t->nr_rules,
		.nr_shapes = t->nr_shapes,
		.nr_rows = t->nr_rows,
	};

	return write_all(fd, &result, sizeof(result)) &&
	       write_all(fd, t->pages, t->nr_pages * sizeof(*t->pages)) &&
	       write_all(fd, t->rules, t->nr_rules * sizeof(*t->rules)) &&
	       write_all(fd, t->shapes, t->nr_shapes * sizeof(*t->shapes)) &&
	       write_all(fd, t->rows, t->nr_rows * sizeof(*t->rows));
}

/* Exit status: 0 with a result; 1: the file describes no frames; 2: something failed. */
static int compile(int fd, int result_fd)
{
	struct halo_unwind_table t;
	struct halo_err err = {0};
	struct stat st;
	void *data;
	int ret;

	if (fstat(fd, &st) || st.st_size <= 0 || (uint64_t)st.st_size > FILE_MAX)
		return 2;
	data = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return 2;
	ret = halo_unwind__compile(data, st.st_size, &t, &err);
	if (ret)
		return ret == -ENODATA ? 1 : 2;
	return write_result(result_fd, &t) ? 0 : 2;
}

static void __attribute__((noreturn)) run_child(struct halo_daemon *d, int fd, int result_fd)
{
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&none);
	/* At 0 and 1; nothing else stays open. */
	if (dup2(result_fd, 1) != 1 || dup2(fd, 0) != 0 || close_range(2, ~0U, 0) ||
	    !drop_privileges(&d->workers))
		_exit(2);
	sigprocmask(SIG_SETMASK, &none, NULL);
	_exit(compile(0, 1));
}

/* The daemon's side. Nothing in the result is believed. */

static bool pages_valid(const struct halo_unwind_table *t)
{
	for (uint32_t i = 0; i < t->nr_pages; i++)
		if (t->pages[i].nr > HALO_BUCKET_WORDS || t->pages[i].rows > t->nr_rows ||
		    t->pages[i].nr > t->nr_rows - t->pages[i].rows)
			return false;
	return true;
}

/* A table whose arrays lie in @data. */
static bool read_result(const void *data, size_t size, struct halo_unwind_table *t)
{
	const struct result *r = data;
	uint64_t pages, rules, shapes, rows;
	const char *at = (const char *)(r + 1);

	if (size < sizeof(*r) || !r->done || r->nr_pages >= HALO_BUCKET_WORDS / 2 - 4 ||
	    !r->nr_rules || r->nr_rules > HALO_MAX_RULES || r->nr_shapes > HALO_MAX_SHAPES ||
	    r->nr_rows > ROWS_MAX)
		return false;
	*t = (struct halo_unwind_table){
		.first_page = r->first_page,
		.nr_pages = r->nr_pages,
		.nr_rules = r->nr_rules,
		.nr_shapes = r->nr_shapes,
		.nr_rows = r->nr_rows,
	};
	pages = r->nr_pages * sizeof(*t->pages);
	rules = r->nr_rules * sizeof(*t->rules);
	shapes = r->nr_shapes * sizeof(*t->shapes);
	rows = r->nr_rows * sizeof(*t->rows);
	if (size != sizeof(*r) + pages + rules + shapes + rows)
		return false;
	t->pages = (void *)(uintptr_t)at;
	t->rules = (void *)(uintptr_t)(at + pages);
	t->shapes = (void *)(uintptr_t)(at + pages + rules);
	t->rows = (void *)(uintptr_t)(at + pages + rules + shapes);
	return pages_valid(t);
}

/* Its process is gone, but a copy is taken all the same: the file could have been handed on. */
static void load(struct halo_daemon *d, uint32_t exe_id, int fd)
{
	__cleanup_free void *data = NULL;
	struct halo_unwind_table t;
	struct stat st;
	int ret = -EBADMSG;

	if (fstat(fd, &st) || st.st_size <= 0 || (uint64_t)st.st_size > (1ULL << 30))
		return;
	data = malloc(st.st_size);
	if (data && pread(fd, data, st.st_size, 0) == st.st_size &&
	    read_result(data, st.st_size, &t))
		ret = halo_kernel__set_table(d->kernel, exe_id, false, &t);
	if (ret)
		log_debug("file %u has no unwind table: %s", exe_id, strerror(-ret));
	if (ret == -ENOSPC) {
		d->known[exe_id - 1].no_room = true;
		d->known[exe_id - 1].freed = d->files_freed;
	}
}

static void on_end(void *ctx, uint32_t events)
{
	struct halo_daemon *d = ctx;
	struct halo_unwinds *u = d->unwinds;
	int status;

	(void)events;
	if (waitpid(u->pid, &status, WNOHANG) != u->pid)
		return;
	if (!u->exe_id)
		log_debug("an unwind table was not needed any more");
	else if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		load(d, u->exe_id, u->result_fd);
	else
		log_debug("file %u has no unwind table: status %#x", u->exe_id, status);
	end_job(d);
	start_next(d);
}

static int start(struct halo_daemon *d, const struct waiting *w)
{
	struct halo_unwinds *u = d->unwinds;
	pid_t pid;

	u->result_fd = memfd_create(RESULT_NAME, MFD_CLOEXEC);
	if (u->result_fd < 0)
		return -errno;
	pid = fork();
	if (!pid)
		run_child(d, w->fd, u->result_fd);
	if (pid < 0)
		return -errno;
	u->pid = pid;
	u->exe_id = w->exe_id;
	u->pid_fd = syscall(SYS_pidfd_open, pid, 0);
	if (u->pid_fd >= 0 && !halo_loop__watch(d->loop, u->pid_fd, EPOLLIN, on_end, d, &u->io))
		return 0;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return -EAGAIN;
}

static void start_next(struct halo_daemon *d)
{
	struct halo_unwinds *u = d->unwinds;
	struct waiting *w;
	int ret;

	while (!u->pid && (w = TAILQ_FIRST(&u->queue))) {
		TAILQ_REMOVE(&u->queue, w, link);
		u->n--;
		ret = start(d, w);
		if (ret) {
			log_debug("file %u has no unwind table: %s", w->exe_id, strerror(-ret));
			end_job(d);
		}
		close(w->fd);
		free(w);
	}
}

void halo_unwinds__add(struct halo_daemon *d, uint32_t exe_id, int fd)
{
	struct halo_unwinds *u = d->unwinds;
	struct waiting *w;

	if (u->n >= QUEUE_MAX)
		return;
	w = calloc(1, sizeof(*w));
	if (!w)
		return;
	w->exe_id = exe_id;
	w->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (w->fd < 0) {
		free(w);
		return;
	}
	TAILQ_INSERT_TAIL(&u->queue, w, link);
	u->n++;
	start_next(d);
}

void halo_unwinds__forget(struct halo_daemon *d, uint32_t exe_id)
{
	struct halo_unwinds *u = d->unwinds;
	struct waiting *w, *next;

	if (u->exe_id == exe_id)
		u->exe_id = 0;
	for (w = TAILQ_FIRST(&u->queue); w; w = next) {
		next = TAILQ_NEXT(w, link);
		if (w->exe_id != exe_id)
			continue;
		TAILQ_REMOVE(&u->queue, w, link);
		u->n--;
		close(w->fd);
		free(w);
	}
}

void halo_unwinds__add_image(struct halo_daemon *d, uint32_t exe_id, const void *data, size_t size)
{
	struct halo_unwind_table t;
	struct halo_err err = {0};

	if (halo_unwind__compile(data, size, &t, &err)) {
		log_debug("file %u has no unwind table: %s", exe_id, err.what);
		return;
	}
	halo_kernel__set_table(d->kernel, exe_id, false, &t);
	halo_unwind__free(&t);
}

void halo_unwinds__arena(const struct halo_program *p)
{
	struct halo_unwind_table t;
	struct halo_err err = {0};
	int ret = halo_arena__unwind(p->arena, &t, &err);

	if (!ret) {
		ret = halo_kernel__set_table(p->daemon->kernel, p->exe_id, true, &t);
		halo_unwind__free(&t);
	}
	if (ret && ret != -ENODATA)
		log_debug("%s: its images have no unwind table: %s", p->path, strerror(-ret));
}
