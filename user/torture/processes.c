// SPDX-License-Identifier: BSD-2-Clause
/*
 * The processes that are switched. One that forks shares its slots with its children, who may outlive
 * it; what is kept for them goes when nobody has these slots mapped any more.
 */
#define LOG_TAG "torture"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "../daemon/inject.h"
#include "../daemon/maps.h"
#include "../lib/log.h"
#include "../lib/util.h"
#include "internal.h"

#define LOOK_AFTER_NS (100 * HALO_MS) /* for children of processes that have ended */
#define LOOK_AGAIN_NS HALO_SEC

static void count_entries(struct torture *t, const struct torture_process *proc)
{
	for (unsigned int arm = 0; arm < ARRAY_SIZE(t->report->entered); arm++)
		t->report->entered[arm] += halo_family__entries(proc->family, arm);
}

/* The lock is not needed any more, or held. */
static void forget(struct torture *t, struct torture_process *proc)
{
	TAILQ_REMOVE(&t->processes, proc, link);
	count_entries(t, proc);
	halo_loop__unwatch(t->loop, proc->io);
	zclose(&proc->pid_fd);
	halo_family__free(proc->family);
	free(proc);
}

/* Which processes' slots does one of our own mappings, or of another process, show? */
static struct torture_process *slots_in(struct torture *t, const struct halo_map *map,
					const struct halo_maps *ours)
{
	struct torture_process *proc;
	const struct halo_map *slots;
	uint64_t len;

	TAILQ_FOREACH(proc, &t->processes, link) {
		slots = halo_maps__at(ours, (uint64_t)halo_family__slots(proc->family, &len));
		if (slots && map->dev == slots->dev && map->ino == slots->ino)
			return proc;
	}
	return NULL;
}

static bool runs_program(const struct torture *t, int proc)
{
	struct stat st;

	return !fstatat(proc, "exe", &st, 0) && st.st_ino == t->exe_ino && st.st_dev == t->exe_dev;
}

static void mark(struct torture *t, pid_t pid, const struct halo_maps *ours)
{
	__cleanup_fd int proc_fd = halo_proc__open(pid, NULL);
	struct torture_process *proc;
	struct halo_maps maps;

	if (proc_fd < 0 || !runs_program(t, proc_fd) || halo_maps__read(proc_fd, &maps, NULL))
		return;
	for (size_t i = 0; i < maps.n; i++) {
		proc = maps.v[i].shared ? slots_in(t, &maps.v[i], ours) : NULL;
		if (proc)
			proc->used = true;
	}
	halo_maps__free(&maps);
}

static void mark_all(struct torture *t)
{
	__cleanup_fd int self = halo_proc__open(getpid(), NULL);
	DIR *dir = opendir("/proc");
	struct halo_maps ours = {0};
	struct dirent *de;

	if (dir && self >= 0 && !halo_maps__read(self, &ours, NULL))
		while ((de = readdir(dir)))
			if (isdigit((unsigned char)de->d_name[0]))
				mark(t, atoi(de->d_name), &ours);
	halo_maps__free(&ours);
	if (dir)
		closedir(dir);
}

static void on_look(void *ctx)
{
	struct torture *t = ctx;
	struct torture_process *proc, *next;
	bool again = false;

	TAILQ_FOREACH(proc, &t->processes, link)
		proc->used = !proc->ended;
	mark_all(t);
	pthread_mutex_lock(&t->lock);
	for (proc = TAILQ_FIRST(&t->processes); proc; proc = next) {
		next = TAILQ_NEXT(proc, link);
		if (!proc->used)
			forget(t, proc);
		else
			again |= proc->ended;
	}
	pthread_mutex_unlock(&t->lock);
	if (again)
		halo_loop__arm(t->loop, &t->look, halo_loop__now() + LOOK_AGAIN_NS, on_look, t);
}

static void on_end(void *ctx, uint32_t events)
{
	struct torture_process *proc = ctx;
	struct torture *t = proc->t;

	(void)events;
	proc->ended = true;
	halo_loop__unwatch(t->loop, proc->io);
	proc->io = NULL;
	if (!t->look.armed)
		halo_loop__arm(t->loop, &t->look, halo_loop__now() + LOOK_AFTER_NS, on_look, t);
}

/* Where it lay, for a crash that shows only after it has gone. */
static int remember(struct torture *t, pid_t pid, uint64_t bias)
{
	unsigned int n = t->report->processes;

	if ((n & (n - 1)) == 0) {
		struct torture_place *v = reallocarray(t->places, n ? 2 * n : 1, sizeof(*v));

		if (!v)
			return -ENOMEM;
		t->places = v;
	}
	t->places[n] = (struct torture_place){.pid = pid, .bias = bias};
	t->report->processes++;
	return 0;
}

int torture__add(struct torture *t, pid_t pid, struct halo_family *family, struct halo_err *err)
{
	struct torture_process *proc = calloc(1, sizeof(*proc));
	int ret;

	if (!proc || remember(t, pid, halo_family__bias(family))) {
		free(proc);
		return halo_err__set(err, -ENOMEM, "out of memory");
	}
	proc->t = t;
	proc->pid = pid;
	proc->family = family;
	proc->pid_fd = syscall(SYS_pidfd_open, pid, 0);
	if (proc->pid_fd >= 0) {
		ret = halo_loop__watch(t->loop, proc->pid_fd, EPOLLIN, on_end, proc, &proc->io);
		if (ret)
			log_warn("watching process %d: %s", pid, strerror(-ret));
	}
	if (!proc->io)
		on_end(proc, 0);
	pthread_mutex_lock(&t->lock);
	TAILQ_INSERT_HEAD(&t->processes, proc, link);
	pthread_mutex_unlock(&t->lock);
	return 0;
}

void torture__forget_all(struct torture *t)
{
	struct torture_process *proc;

	halo_loop__cancel(t->loop, &t->look);
	while ((proc = TAILQ_FIRST(&t->processes)))
		forget(t, proc);
	free(t->places);
}
