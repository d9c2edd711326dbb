// SPDX-License-Identifier: BSD-2-Clause
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../lib/util.h"
#include "identity.h"
#include "inject.h"
#include "maps.h"
#include "module.h"

#define PF_EXITING 0x4 /* the kernel's, in the flags of /proc/PID/stat */
/* Debug information makes files of the same contents larger; what is larger still is not read. */
#define LARGER_MAX  16
#define CHECKED_MAX 256 /* files compared by contents in one walk through /proc */

int halo_identity__copy(const struct halo_program *p)
{
	__cleanup_fd int copy = memfd_create("halo-exe", MFD_CLOEXEC);
	size_t done = 0;
	ssize_t n;

	if (copy < 0)
		return -1;
	while (done < p->prepared->map_size) {
		n = write(copy, p->prepared->map + done, p->prepared->map_size - done);
		if (n < 0)
			return -1;
		done += n;
	}
	return take_fd(copy);
}

int halo_identity__open_exe(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

static bool same_contents(const struct halo_program *p, int fd)
{
	struct halo_prepared *other;
	struct halo_buildid id;
	uint8_t hash[32];
	struct stat st;
	bool same;

	/* Cheap, and true of nearly every file that is another. */
	if (halo_buildid__read(fd, &id, NULL) || id.len != p->prepared->buildid.len ||
	    memcmp(id.id, p->prepared->buildid.id, id.len))
		return false;
	/* Anyone can forge a build-id. */
	if (fstat(fd, &st) || (uint64_t)st.st_size / LARGER_MAX > p->prepared->map_size)
		return false;
	if (halo_prepared__open(fd, &other, NULL))
		return false;
	same = !halo_prepared__hash(other, hash, NULL) && !memcmp(hash, p->hash, sizeof(hash));
	halo_prepared__free(other);
	return same;
}

static bool same_inode(const struct halo_program *p, const struct stat *st)
{
	return st->st_dev == p->dev && st->st_ino == p->ino &&
	       st->st_ctim.tv_sec == p->ctime.tv_sec && st->st_ctim.tv_nsec == p->ctime.tv_nsec;
}

bool halo_identity__is_file_of(const struct halo_program *p, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	return same_inode(p, &st) || same_contents(p, fd);
}

bool halo_identity__is_process_of(const struct halo_program *p, pid_t pid)
{
	__cleanup_fd int fd = -1;

	if (p->prepared->is_library) {
		fd = halo_module__open(p, pid);
		return fd >= 0;
	}
	fd = halo_identity__open_exe(pid);
	return fd >= 0 && halo_identity__is_file_of(p, fd);
}

int halo_identity__layout_at(const struct halo_program *p, pid_t pid, uint64_t slots,
			     struct halo_layout *out, struct halo_err *err)
{
	bool library = p->prepared->is_library;
	__cleanup_fd int fd = library ? halo_module__open(p, pid) : halo_identity__open_exe(pid);
	struct halo_prepared same = *p->prepared;

	if (fd < 0 && library && errno == ENOENT)
		return halo_err__set(err, -ESTALE, "it has not loaded it");
	if (fd < 0)
		return halo_err__set(err, -errno, "looking into it: %s", strerror(errno));
	if (!library && !halo_identity__is_file_of(p, fd))
		return halo_err__set(err, -ESTALE, "it runs another program");
	same.fd = fd;
	return halo_layout__read_at(pid, &same, slots, out, err);
}

int halo_identity__layout(const struct halo_program *p, pid_t pid, struct halo_layout *out,
			  struct halo_err *err)
{
	return halo_identity__layout_at(p, pid, 0, out, err);
}

struct halo_program *halo_identity__program(struct halo_daemon *d, int fd)
{
	struct halo_program *p;
	struct stat st;

	if (fstat(fd, &st))
		return NULL;
	TAILQ_FOREACH(p, &d->programs, link)
		if (same_inode(p, &st))
			return p;
	TAILQ_FOREACH(p, &d->programs, link)
		if (same_contents(p, fd))
			return p;
	return NULL;
}

bool halo_identity__slots(const struct halo_program *p, pid_t pid, const struct halo_layout *layout,
			  dev_t *dev, ino_t *ino)
{
	uint64_t slots = layout->bias + p->prepared->stub.slots_begin;
	__cleanup_fd int proc = halo_proc__open(pid, NULL);
	const struct halo_map *map = NULL;
	struct halo_maps maps = {0};
	bool shared;

	if (proc >= 0 && !halo_maps__read(proc, &maps, NULL))
		map = halo_maps__at(&maps, slots);
	shared = map && map->shared && map->off == slots - map->start;
	if (shared) {
		*dev = map->dev;
		*ino = map->ino;
	}
	halo_maps__free(&maps);
	return shared;
}

void halo_identity__each_pid(bool (*fn)(void *ctx, pid_t pid), void *ctx)
{
	DIR *dir = opendir("/proc");
	struct dirent *de;

	if (!dir)
		return;
	while ((de = readdir(dir)))
		if (isdigit((unsigned char)de->d_name[0]) && !fn(ctx, atoi(de->d_name)))
			break;
	closedir(dir);
}

struct walk {
	const struct halo_program *program;
	void (*fn)(void *ctx, pid_t pid);
	void *ctx;
	/* Files already compared: many processes run the same shell. */
	struct {
		dev_t dev;
		ino_t ino;
		bool match;
	} checked[CHECKED_MAX];
	size_t n_checked;
};

static bool check_file(struct walk *w, pid_t pid)
{
	__cleanup_fd int fd = halo_identity__open_exe(pid);
	struct stat st;
	bool match;

	if (fd < 0 || fstat(fd, &st))
		return false;
	for (size_t i = 0; i < w->n_checked; i++)
		if (w->checked[i].dev == st.st_dev && w->checked[i].ino == st.st_ino)
			return w->checked[i].match;
	match = halo_identity__is_file_of(w->program, fd);
	if (w->n_checked < CHECKED_MAX) {
		w->checked[w->n_checked].dev = st.st_dev;
		w->checked[w->n_checked].ino = st.st_ino;
		w->checked[w->n_checked++].match = match;
	}
	return match;
}

static bool visit(void *ctx, pid_t pid)
{
	struct walk *w = ctx;

	if (w->program->prepared->is_library ? halo_identity__is_process_of(w->program, pid)
					     : check_file(w, pid))
		w->fn(w->ctx, pid);
	return true;
}

void halo_identity__each_process(const struct halo_program *p, void (*fn)(void *ctx, pid_t pid),
				 void *ctx)
{
	struct walk w = {.program = p, .fn = fn, .ctx = ctx};

	halo_identity__each_pid(visit, &w);
}

struct id_search {
	const struct halo_buildid *id;
	pid_t pid;
};

static bool match_id(void *ctx, pid_t pid)
{
	__cleanup_fd int fd = halo_identity__open_exe(pid);
	struct id_search *s = ctx;
	struct halo_buildid id;

	if (fd < 0 || halo_buildid__read(fd, &id, NULL) || id.len != s->id->len ||
	    memcmp(id.id, s->id->id, id.len))
		return true;
	s->pid = pid;
	return false;
}

pid_t halo_identity__pid_by_build_id(const struct halo_buildid *id)
{
	struct id_search s = {.id = id};

	halo_identity__each_pid(match_id, &s);
	return s.pid;
}

/* Up to @size - 1 bytes of /proc/PID/@name, NUL-terminated; their number or -1. */
static ssize_t read_proc(pid_t pid, const char *name, char *buf, size_t size)
{
	__cleanup_fd int fd = -1;
	size_t got = 0;
	char path[48];
	ssize_t n = 0;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	while (got < size - 1 && (n = read(fd, buf + got, size - 1 - got)) > 0)
		got += n;
	buf[got] = '\0';
	return n < 0 ? -1 : (ssize_t)got;
}

/* The fields of /proc/PID/stat from the third on, in @buf. The name before may hold anything. */
static const char *read_stat(pid_t pid, char *buf, size_t size)
{
	const char *end;

	if (read_proc(pid, "stat", buf, size) <= 0)
		return NULL;
	end = strrchr(buf, ')');
	return end ? end + 1 : NULL;
}

uint64_t halo_identity__cpu_ticks(pid_t pid)
{
	unsigned long user, sys;
	char buf[1024];
	const char *stat = read_stat(pid, buf, sizeof(buf));

	if (!stat ||
	    sscanf(stat, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &sys) != 2)
		return 0;
	return user + sys;
}

uint64_t halo_identity__start_ns(pid_t pid)
{
	unsigned long long ticks;
	char buf[1024];
	const char *stat = read_stat(pid, buf, sizeof(buf));

	if (!stat || sscanf(stat,
			    " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d"
			    " %*d %*d %*d %llu",
			    &ticks) != 1)
		return 0;
	return ticks * (HALO_SEC / sysconf(_SC_CLK_TCK));
}

static bool is_exiting(pid_t pid, const char *tid)
{
	char name[64], buf[1024];
	unsigned int flags;
	const char *stat;

	snprintf(name, sizeof(name), "task/%.16s/stat", tid);
	if (read_proc(pid, name, buf, sizeof(buf)) <= 0)
		return true;
	stat = strrchr(buf, ')');
	return !stat || sscanf(stat + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) != 1 ||
	       flags & PF_EXITING;
}

bool halo_identity__is_over(pid_t pid, uint64_t start_ns)
{
	struct dirent *entry;
	bool over = true;
	char path[32];
	DIR *dir;

	if (halo_identity__start_ns(pid) / HALO_START_STEP != start_ns / HALO_START_STEP)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && over && (entry = readdir(dir)))
		over = !isdigit((unsigned char)entry->d_name[0]) || is_exiting(pid, entry->d_name);
	if (dir)
		closedir(dir);
	return over;
}
