/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_PROCESS_H
#define HALO_PROCESS_H

/*
 * The processes of an enrolled binary, and the groups of them that share slots. One process may have
 * several enrolled binaries, its executable and libraries, and is then known to each. It is
 * attached by its stub's constructor (attach_server.c), or from outside when it runs already or its
 * constructor did not come.
 */
#include "core.h"

struct halo_process *halo_process__find(const struct halo_program *p, pid_t pid);

/* A process began to execute the binary; its constructor has a second to come. */
void halo_process__exec(struct halo_program *p, pid_t pid, uint64_t start_ns);
/* A forked child: in its parent's group, @family, if that was attached when it forked; else 0. */
void halo_process__fork(struct halo_program *p, pid_t pid, uint32_t family, uint64_t start_ns);
/*
 * Whether it still has its group's files mapped. One that has closed the library since leaves the
 * group.
 */
bool halo_process__is_attached(struct halo_process *proc);
/* Forget processes of the library that have closed it. */
void halo_process__let_go(struct halo_program *p);
/* Forget the process; its group goes with its last one. */
void halo_process__remove(struct halo_process *proc);
void halo_process__remove_all(struct halo_program *p);
/* Follow no process any more, but keep the groups of those that are alive. */
void halo_process__retire(struct halo_program *p);
/* The program is enrolled again: follow those of its processes that are still there. */
void halo_process__revive(struct halo_program *p);

/* Find running processes of the binary and attach them; forget those that are gone. */
void halo_process__scan(struct halo_program *p);

/*
 * A group for a process that is about to be attached: it becomes halo_process__attached()'s, or is
 * given up by halo_group__free().
 */
int halo_group__new(struct halo_program *p, const struct halo_layout *layout,
		    struct halo_group **out, struct halo_err *err);
void halo_group__free(struct halo_program *p, struct halo_group *group);

/* The process has the group's files mapped: tell the kernel side, let it run what is adopted. */
int halo_process__attached(struct halo_process *proc, struct halo_group *group,
			   const struct halo_layout *layout, const char *how);
/*
 * Before the process can fork again: the kernel side gives its children the group, so that none that
 * is forked right afterwards is missed.
 */
int halo_process__announce(struct halo_program *p, pid_t pid, struct halo_group *group,
			   const struct halo_layout *layout);
/*
 * One that was forked while its parent was being attached from outside, or while the program was not
 * enrolled: its mappings tell whether it shares slots, and whose.
 */
void halo_process__join(struct halo_process *proc);
/* The kernel side has the process no more as one of this binary. */
void halo_process__forget(const struct halo_process *proc);
/* It will not be attached: keep the reason for status. */
void halo_process__refused(struct halo_process *proc, const char *reason);

/* Of the groups, the one that used most CPU time since the last call; NULL: no group. */
struct halo_group *halo_process__busiest(struct halo_program *p);
/* The process that a group was made for is gone, but children of it may be there. */
void halo_group__orphaned(struct halo_program *p, struct halo_group *group);
/* A live process of the group, 0: none. */
pid_t halo_group__pid(const struct halo_program *p, const struct halo_group *group);

#endif
