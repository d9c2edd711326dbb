// SPDX-License-Identifier: BSD-2-Clause
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "../lib/util.h"
#include "decide.h"
#include "handover.h"
#include "identity.h"
#include "mappings.h"
#include "process.h"
#include "program.h"
#include "tuning.h"

#define LOG_TAG "program"
#include "../lib/log.h"

void halo_program__note(struct halo_program *p, const char *fmt, ...)
{
	const char *name = strrchr(p->path, '/');
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_info("%s (%.12s): %s", name ? name + 1 : p->path, p->build_id, text);
	halo_journal__add(&p->journal, text);
	p->unsaved = true;
}

void halo_program__deny(struct halo_program *p, const char *reason)
{
	struct halo_known *known = &p->daemon->known[p->exe_id - 1];

	snprintf(p->denied, sizeof(p->denied), "%s", reason);
	snprintf(known->denied, sizeof(known->denied), "%s", reason);
	halo_decide__cancel(p);
	halo_tuning__fail_all(p, reason);
	log_error("%s: %s: every variant was rolled back, and none will be tried again", p->path,
		  reason);
	halo_program__note(p, "rolled back for good: %s", reason);
}

static bool any_adopted(const struct halo_program *p)
{
	for (unsigned int i = 0; i < p->n_tunings; i++)
		if (p->tunings[i].adopted)
			return true;
	return false;
}

const char *halo_program__state(const struct halo_program *p)
{
	if (p->watched)
		return "watched";
	if (p->denied[0])
		return "failed";
	if (p->job)
		return "compiling";
	if (p->trial)
		return "auditing";
	if (TAILQ_EMPTY(&p->processes))
		return "waiting";
	if (any_adopted(p))
		return "optimized";
	return p->settled ? "nothing to gain" : "sampling";
}

static bool is_fatal(uint32_t code)
{
	switch (code & 0x7f) {
	case SIGSEGV:
	case SIGBUS:
	case SIGILL:
	case SIGFPE:
	case SIGTRAP:
		return true;
	}
	return false;
}

/*
 * A process died of a fault. Whether a variant is to blame can't be told from where it died: wrong
 * data kills later and elsewhere. So any variant that ran is taken to be. What kill(2) sends is no fault.
 */
static void judge_death(struct halo_program *p, const struct halo_process *proc,
			const struct halo_event *event)
{
	const struct halo_group *group = proc->group;
	char reason[200];
	bool in_arena;

	if (!is_fatal(event->code) || !event->rip_addr || !group || p->denied[0])
		return;
	in_arena = event->rip_addr >= group->arena_start && event->rip_addr < group->arena_end;
	if (!in_arena && !halo_tuning__any_active(p, group))
		return;
	snprintf(reason, sizeof(reason), "process %u died of %s %s", event->tgid,
		 strsignal(event->code & 0x7f),
		 in_arena ? "inside a variant" : "while a variant was in use");
	halo_program__deny(p, reason);
}

static struct halo_program *by_exe_id(struct halo_daemon *d, uint32_t exe_id)
{
	struct halo_program *p;

	TAILQ_FOREACH(p, &d->programs, link)
		if (p->exe_id == exe_id)
			return p;
	return NULL;
}

/* Of each binary that it has. */
static void on_exit_event(struct halo_daemon *d, const struct halo_event *event)
{
	struct halo_process *proc;
	struct halo_program *p;

	TAILQ_FOREACH(p, &d->programs, link) {
		proc = halo_process__find(p, event->tgid);
		if (!proc)
			continue;
		judge_death(p, proc, event);
		halo_process__remove(proc);
	}
}

/* Which slots of its other binaries the child shares is for its mappings to tell. */
static void on_fork_event(struct halo_daemon *d, const struct halo_event *event)
{
	struct halo_program *p;

	TAILQ_FOREACH(p, &d->programs, link) {
		if (p->exe_id == event->exe_id)
			halo_process__fork(p, event->tgid, event->family, event->start_ns);
		else if (p->prepared->is_library && (halo_process__find(p, event->parent) ||
						     halo_identity__is_process_of(p, event->tgid)))
			halo_process__fork(p, event->tgid, 0, event->start_ns);
	}
}

static void remember(struct halo_daemon *d, int fd, pid_t pid)
{
	struct halo_seen *seen = &d->seen[d->next_seen % HALO_SEEN_MAX];
	char link[32];
	ssize_t n;

	if (halo_buildid__read(fd, &seen->id, NULL))
		return;
	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	n = readlink(link, seen->path, sizeof(seen->path) - 1);
	if (n <= 0)
		return;
	seen->path[n] = '\0';
	d->next_seen++;
}

/* env, nice and the like execute another file at once. Devices are left out, see kernel.h. */
static bool is_asked_about(int fd, const struct halo_inode_key *key)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_ino == key->ino &&
	       st.st_ctim.tv_sec * HALO_SEC + st.st_ctim.tv_nsec == key->ctime_ns;
}

/* An executable that the kernel side has not seen before: maybe a copy of an enrolled one. */
static void on_look(struct halo_daemon *d, const struct halo_event *event)
{
	__cleanup_fd int fd = halo_identity__open_exe(event->tgid);
	struct halo_program *p;

	if (fd < 0) {
		halo_kernel__forget_key(d->kernel, &event->inode);
		return;
	}
	p = halo_identity__program(d, fd);
	if (is_asked_about(fd, &event->inode))
		halo_kernel__know_key(d->kernel, &event->inode, p ? p->exe_id : 0);
	else
		halo_kernel__forget_key(d->kernel, &event->inode);
	if (p)
		halo_process__exec(p, event->tgid, event->start_ns);
	else
		remember(d, fd, event->tgid);
}

void halo_program__on_event(struct halo_daemon *d, const struct halo_event *event)
{
	struct halo_program *p = by_exe_id(d, event->exe_id);

	if (event->kind == HALO_EVENT_LOOK)
		on_look(d, event);
	else if (event->kind == HALO_EVENT_EXEC && p)
		halo_process__exec(p, event->tgid, event->start_ns);
	else if (event->kind == HALO_EVENT_FORK)
		on_fork_event(d, event);
	else if (event->kind == HALO_EVENT_EXIT)
		on_exit_event(d, event);
	else if (event->kind == HALO_EVENT_MAPS && p)
		halo_mappings__read(p, event);
}

/* Its arena stays in the store, and what is known of the binary in the daemon. */
void halo_program__forget(struct halo_program *p)
{
	if (!TAILQ_EMPTY(&p->groups))
		return;
	halo_process__remove_all(p);
	TAILQ_REMOVE(&p->daemon->retired, p, link);
	halo_program__free(p);
}

void halo_program__unenroll(struct halo_program *p)
{
	struct halo_daemon *d = p->daemon;

	halo_decide__cancel(p);
	halo_tuning__reset_all(p);
	halo_process__retire(p);
	halo_kernel__unenroll(d->kernel, p->exe_id, &p->prepared->buildid);
	halo_program__note(p, "no longer enrolled");
	halo_handover__remove(p);
	TAILQ_REMOVE(&d->programs, p, link);
	TAILQ_INSERT_TAIL(&d->retired, p, link);
	halo_program__forget(p);
}
