// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <string.h>

#include "../lib/util.h"
#include "attaching.h"
#include "identity.h"
#include "process.h"
#include "program.h"
#include "tuning.h"

#define LOG_TAG "process"
#include "../lib/log.h"

/* How long a constructor has before the process is attached from outside. */
#define GRACE_NS (1 * HALO_SEC)
/* How long a search for processes attaches them as it finds them, and how far apart the others are. */
#define SCAN_NS (500 * HALO_MS)
#define TURN_NS (2 * HALO_MS)

struct halo_process *halo_process__find(const struct halo_program *p, pid_t pid)
{
	struct halo_process *proc;

	TAILQ_FOREACH(proc, &p->processes, link)
		if (proc->pid == pid)
			return proc;
	return NULL;
}

static struct halo_process *add(struct halo_program *p, pid_t pid, uint64_t start_ns)
{
	struct halo_process *proc = calloc(1, sizeof(*proc));

	if (!proc)
		return NULL;
	proc->program = p;
	proc->pid = pid;
	proc->start_ns = start_ns;
	/* Watched ones are never attached. */
	proc->final = p->watched;
	TAILQ_INSERT_TAIL(&p->processes, proc, link);
	return proc;
}

int halo_group__new(struct halo_program *p, const struct halo_layout *layout,
		    struct halo_group **out, struct halo_err *err)
{
	struct halo_group *group = calloc(1, sizeof(*group));
	int ret;

	if (!group)
		return halo_err__set(err, -ENOMEM, "out of memory");
	group->id = ++p->daemon->next_family;
	group->pending = true;
	ret = halo_family__create(p->daemon->store, group->id, p->prepared, layout, &group->family,
				  err);
	if (ret) {
		free(group);
		return ret;
	}
	group->arena_start = layout->bias + halo_prepared__arena(p->prepared);
	group->arena_end = group->arena_start + HALO_ARENA_SIZE;
	TAILQ_INSERT_TAIL(&p->groups, group, link);
	*out = group;
	return 0;
}

void halo_group__free(struct halo_program *p, struct halo_group *group)
{
	struct halo_process *proc;

	halo_tuning__group_gone(p, group);
	/* Children that were forked while the attempt to attach lasted. */
	TAILQ_FOREACH(proc, &p->processes, link)
		if (proc->group == group)
			proc->group = NULL;
	TAILQ_REMOVE(&p->groups, group, link);
	halo_family__free(group->family);
	free(group);
}

void halo_group__orphaned(struct halo_program *p, struct halo_group *group)
{
	group->pending = false;
	if (group->procs)
		halo_tuning__apply(p, group);
	else
		halo_group__free(p, group);
}

/* The kernel side gives children what their parent has, so it must not keep what is gone. */
static void withdraw(const struct halo_process *proc)
{
	struct halo_kernel *kernel = proc->program->daemon->kernel;
	struct halo_proc entry;

	if (!proc->program->prepared->is_library ||
	    halo_kernel__get_proc(kernel, proc->pid, &entry))
		return;
	if (entry.exe_id == proc->program->exe_id)
		halo_kernel__set_family(kernel, proc->pid, &entry, 0);
	else
		halo_kernel__set_library(kernel, proc->pid, &entry, proc->group->id, false);
}

static void leave_group(struct halo_process *proc)
{
	struct halo_group *group = proc->group;

	if (group)
		withdraw(proc);
	proc->group = NULL;
	if (group && !--group->procs && !group->pending)
		halo_group__free(proc->program, group);
}

void halo_process__remove(struct halo_process *proc)
{
	halo_loop__cancel(proc->program->daemon->loop, &proc->timer);
	halo_attaching__cancel(proc);
	leave_group(proc);
	TAILQ_REMOVE(&proc->program->processes, proc, link);
	free(proc);
}

/* The kernel side may know the process by another binary, or has to from now on. */
void halo_process__forget(const struct halo_process *proc)
{
	struct halo_daemon *d = proc->program->daemon;
	struct halo_layout layout;
	struct halo_process *other;
	struct halo_program *p;
	struct halo_proc entry;

	if (halo_kernel__get_proc(d->kernel, proc->pid, &entry) ||
	    entry.exe_id != proc->program->exe_id)
		return;
	halo_kernel__del_proc(d->kernel, proc->pid);
	TAILQ_FOREACH(p, &d->programs, link) {
		other = p == proc->program ? NULL : halo_process__find(p, proc->pid);
		if (other && !halo_identity__layout(p, proc->pid, &layout, NULL))
			halo_process__announce(p, proc->pid, other->group, &layout);
	}
}

void halo_process__remove_all(struct halo_program *p)
{
	struct halo_process *proc;

	while ((proc = TAILQ_FIRST(&p->processes))) {
		halo_process__forget(proc);
		halo_process__remove(proc);
	}
}

void halo_process__refused(struct halo_process *proc, const char *reason)
{
	proc->final = true;
	snprintf(proc->reason, sizeof(proc->reason), "%s", reason);
	halo_program__note(proc->program, "process %d is not attached: %s", proc->pid, reason);
}

/* Of the process, and not of one that had its number. */
static bool is_about(const struct halo_proc *entry, const struct halo_layout *layout)
{
	return entry->start_ns / HALO_START_STEP == layout->start_ns / HALO_START_STEP;
}

/* Beside the executable's. An attempt that came to nothing may have left another group there. */
static int announce_library(struct halo_program *p, pid_t pid, const struct halo_proc *entry,
			    const struct halo_group *group)
{
	const struct halo_group *other;
	int ret;

	TAILQ_FOREACH(other, &p->groups, link) {
		ret = halo_kernel__set_library(p->daemon->kernel, pid, entry, other->id,
					       other == group);
		if (ret && other == group)
			return ret;
	}
	return 0;
}

/* What the library's entry says of slots goes on being true beside the executable's. */
static void keep_libraries(struct halo_proc *entry, const struct halo_proc *old)
{
	memcpy(entry->library, old->library, sizeof(entry->library));
	for (size_t i = 0; i < HALO_MAX_LIBRARIES && old->family; i++) {
		if (entry->library[i])
			continue;
		entry->library[i] = old->family;
		break;
	}
}

/* The kernel side has the exact start time if it saw the exec; a scan knows it in 10 ms steps. */
int halo_process__announce(struct halo_program *p, pid_t pid, struct halo_group *group,
			   const struct halo_layout *layout)
{
	struct halo_kernel *kernel = p->daemon->kernel;
	uint32_t family = group ? group->id : 0;
	struct halo_proc entry, old;
	bool known = !halo_kernel__get_proc(kernel, pid, &old);
	int ret;

	if (known && old.exe_id == p->exe_id)
		return halo_kernel__set_family(kernel, pid, &old, family);
	known = known && is_about(&old, layout);
	if (known && p->prepared->is_library)
		return announce_library(p, pid, &old, group);
	entry = (struct halo_proc){
		.exe_id = p->exe_id,
		.family = family,
		.start_ns = known ? old.start_ns : layout->start_ns,
		.text_start_addr = layout->text_start,
		.text_end_addr = layout->text_end,
		.text_off = layout->text_off,
	};
	if (known)
		keep_libraries(&entry, &old);
	ret = halo_kernel__set_proc(kernel, pid, &entry);
	/* The kernel side takes it out when the process ends. If that was before, nobody does. */
	if (!ret && halo_identity__is_over(pid, layout->start_ns)) {
		halo_kernel__del_proc(kernel, pid);
		return -ESRCH;
	}
	return ret;
}

int halo_process__attached(struct halo_process *proc, struct halo_group *group,
			   const struct halo_layout *layout, const char *how)
{
	int ret;

	halo_loop__cancel(proc->program->daemon->loop, &proc->timer);
	leave_group(proc);
	proc->group = group;
	proc->start_ns = layout->start_ns;
	proc->reason[0] = '\0';
	group->procs++;
	group->pending = false;
	ret = halo_process__announce(proc->program, proc->pid, group, layout);
	/* One that has ended by now is soon forgotten. */
	if (ret && ret != -ESRCH)
		halo_program__note(proc->program, "process %d: the kernel side can't follow it: %s",
				   proc->pid, strerror(-ret));
	halo_tuning__apply(proc->program, group);
	halo_program__note(proc->program, "process %d attached %s", proc->pid, how);
	return 0;
}

void halo_process__join(struct halo_process *proc)
{
	struct halo_program *p = proc->program;
	struct halo_layout layout;
	struct halo_group *group;
	dev_t dev;
	ino_t ino;

	if (TAILQ_EMPTY(&p->groups) || halo_identity__layout(p, proc->pid, &layout, NULL) ||
	    !halo_identity__slots(p, proc->pid, &layout, &dev, &ino))
		return;
	TAILQ_FOREACH(group, &p->groups, link) {
		if (!halo_family__is_file(group->family, dev, ino))
			continue;
		proc->group = group;
		halo_process__announce(p, proc->pid, group, &layout);
		return;
	}
}

void halo_process__exec(struct halo_program *p, pid_t pid, uint64_t start_ns)
{
	struct halo_process *proc = halo_process__find(p, pid);

	/* A new image: whatever the process was attached to is unmapped. */
	if (proc)
		halo_process__remove(proc);
	proc = add(p, pid, start_ns);
	if (!proc)
		return;
	snprintf(proc->reason, sizeof(proc->reason), "just started");
	halo_loop__arm(p->daemon->loop, &proc->timer, halo_loop__now() + GRACE_NS,
		       halo_attaching__begin, proc);
}

static struct halo_group *group_by_id(const struct halo_program *p, uint32_t id)
{
	struct halo_group *group;

	TAILQ_FOREACH(group, &p->groups, link)
		if (group->id == id)
			return group;
	return NULL;
}

void halo_process__fork(struct halo_program *p, pid_t pid, uint32_t family, uint64_t start_ns)
{
	struct halo_process *proc = halo_process__find(p, pid);

	if (proc)
		halo_process__remove(proc);
	proc = add(p, pid, start_ns);
	if (!proc)
		return;
	/* A child that is gone by now counts too: it may have passed the group on to its own. */
	proc->group = group_by_id(p, family);
	if (!proc->group)
		halo_process__join(proc);
	if (proc->group) {
		proc->group->procs++;
		return;
	}
	snprintf(proc->reason, sizeof(proc->reason), "forked before its parent was attached");
	halo_loop__arm(p->daemon->loop, &proc->timer, halo_loop__now() + GRACE_NS,
		       halo_attaching__begin, proc);
}

bool halo_process__is_attached(struct halo_process *proc)
{
	struct halo_layout layout;
	dev_t dev;
	ino_t ino;

	if (!proc->group)
		return false;
	layout.bias = halo_family__bias(proc->group->family);
	if (halo_identity__slots(proc->program, proc->pid, &layout, &dev, &ino) &&
	    halo_family__is_file(proc->group->family, dev, ino))
		return true;
	leave_group(proc);
	return false;
}

static void look_at_group(struct halo_program *p, const struct halo_group *group)
{
	struct halo_process *proc = TAILQ_FIRST(&p->processes), *next;

	for (; proc; proc = next) {
		next = TAILQ_NEXT(proc, link);
		if (proc->group != group || halo_process__is_attached(proc))
			continue;
		halo_program__note(p, "process %d has closed it", proc->pid);
		halo_process__forget(proc);
		halo_process__remove(proc);
	}
}

void halo_process__let_go(struct halo_program *p)
{
	struct halo_group *group = TAILQ_FIRST(&p->groups), *next;
	uint64_t left;

	for (; group; group = next) {
		next = TAILQ_NEXT(group, link);
		left = halo_family__left(group->family);
		if (left == group->left)
			continue;
		group->left = left;
		look_at_group(p, group);
	}
}

/* The same process as before, not one that got its number. */
static bool is_alive(const struct halo_program *p, const struct halo_process *proc)
{
	uint64_t start_ns = halo_identity__start_ns(proc->pid);

	if (proc->start_ns && start_ns / HALO_START_STEP != proc->start_ns / HALO_START_STEP)
		return false;
	return start_ns && halo_identity__is_process_of(p, proc->pid);
}

static void remove_dead(struct halo_program *p)
{
	struct halo_process *proc = TAILQ_FIRST(&p->processes), *next;

	for (; proc; proc = next) {
		next = TAILQ_NEXT(proc, link);
		if (is_alive(p, proc))
			continue;
		halo_process__forget(proc);
		halo_process__remove(proc);
	}
}

struct scan {
	struct halo_program *program;
	uint64_t until_ns; /* whom it finds later has to wait */
	uint64_t turn_ns;  /* of the next one that waits */
};

/* A thousand processes would keep the daemon from all else: most are sampled at once, attached in turn. */
static void wait_turn(struct scan *scan, struct halo_process *proc)
{
	struct halo_program *p = scan->program;
	struct halo_layout layout;

	if (!halo_identity__layout(p, proc->pid, &layout, NULL))
		halo_process__announce(p, proc->pid, NULL, &layout);
	snprintf(proc->reason, sizeof(proc->reason), "waiting for its turn");
	scan->turn_ns += TURN_NS;
	halo_loop__arm(p->daemon->loop, &proc->timer, scan->turn_ns, halo_attaching__begin, proc);
}

static void found(void *ctx, pid_t pid)
{
	struct scan *scan = ctx;
	struct halo_process *proc;
	struct halo_layout layout;

	if (halo_process__find(scan->program, pid))
		return;
	proc = add(scan->program, pid, 0);
	if (!proc)
		return;
	if (halo_loop__now() >= scan->until_ns) {
		wait_turn(scan, proc);
		return;
	}
	halo_attaching__begin(proc);
	if (scan->program->watched && !halo_identity__layout(scan->program, pid, &layout, NULL))
		halo_process__announce(scan->program, pid, NULL, &layout);
}

static void find_all(struct halo_program *p)
{
	uint64_t until_ns = halo_loop__now() + SCAN_NS;
	struct scan scan = {.program = p, .until_ns = until_ns, .turn_ns = until_ns};

	halo_identity__each_process(p, found, &scan);
}

void halo_process__retire(struct halo_program *p)
{
	struct halo_process *proc = TAILQ_FIRST(&p->processes), *next;

	for (; proc; proc = next) {
		next = TAILQ_NEXT(proc, link);
		halo_attaching__settle(proc);
		halo_process__forget(proc);
		halo_loop__cancel(p->daemon->loop, &proc->timer);
		if (!proc->group)
			halo_process__remove(proc);
	}
}

void halo_process__revive(struct halo_program *p)
{
	struct halo_process *proc;
	struct halo_layout layout;

	/* Children first: a group goes with the last process that is known to be in it. */
	find_all(p);
	remove_dead(p);
	TAILQ_FOREACH(proc, &p->processes, link)
		if (!proc->left_alone && !halo_identity__layout(p, proc->pid, &layout, NULL))
			halo_process__announce(p, proc->pid, proc->group, &layout);
}

void halo_process__scan(struct halo_program *p)
{
	remove_dead(p);
	find_all(p);
}

pid_t halo_group__pid(const struct halo_program *p, const struct halo_group *group)
{
	struct halo_process *proc;

	TAILQ_FOREACH(proc, &p->processes, link)
		if (proc->group == group)
			return proc->pid;
	return 0;
}

struct halo_group *halo_process__busiest(struct halo_program *p)
{
	struct halo_group *group, *best = NULL;
	uint64_t most = 0;

	TAILQ_FOREACH(group, &p->groups, link) {
		struct halo_process *proc;
		uint64_t ticks = 0, used;

		if (!group->procs)
			continue;
		TAILQ_FOREACH(proc, &p->processes, link)
			if (proc->group == group)
				ticks += halo_identity__cpu_ticks(proc->pid);
		used = ticks > group->cpu_ticks ? ticks - group->cpu_ticks : 0;
		group->cpu_ticks = ticks;
		if (!best || used > most) {
			best = group;
			most = used;
		}
	}
	return best;
}
