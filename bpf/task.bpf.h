/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
#ifndef HALO_TASK_BPF_H
#define HALO_TASK_BPF_H

/*
 * What the programs ask of a task, whatever the kernel's names for it are. Pointers are followed by
 * BPF_CORE_READ alone: the verifier then need not know what they point to, so that kernels without BTF
 * do, and it refuses none that it takes for what may be NULL or an error, which it does with more of
 * them from version to version.
 */
#include "halo_bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define NSEC_PER_SEC 1000000000ULL

/* Since 6.13 the highest bit tells that the time was asked for. */
#define HALO_CTIME_NSEC_MASK 0x7fffffff

static __always_inline __u64 inode__ctime_ns(struct inode *inode)
{
	struct inode___v6_6 *v6_6 = (void *)inode;
	struct inode___v5 *v5 = (void *)inode;

	if (bpf_core_field_exists(inode->i_ctime_sec))
		return BPF_CORE_READ(inode, i_ctime_sec) * NSEC_PER_SEC +
		       (BPF_CORE_READ(inode, i_ctime_nsec) & HALO_CTIME_NSEC_MASK);
	if (bpf_core_field_exists(v6_6->__i_ctime))
		return BPF_CORE_READ(v6_6, __i_ctime.tv_sec) * NSEC_PER_SEC +
		       BPF_CORE_READ(v6_6, __i_ctime.tv_nsec);
	return BPF_CORE_READ(v5, i_ctime.tv_sec) * NSEC_PER_SEC +
	       BPF_CORE_READ(v5, i_ctime.tv_nsec);
}

/* False: a kernel thread, or a task that has let go of its memory. */
static __always_inline bool task__exe_key(struct task_struct *task, struct halo_inode_key *key)
{
	struct inode *inode = BPF_CORE_READ(task, mm, exe_file, f_inode);

	if (!inode)
		return false;
	key->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	key->ino = BPF_CORE_READ(inode, i_ino);
	key->ctime_ns = inode__ctime_ns(inode);
	return true;
}

/* The daemon's PID namespace; 0: the initial one. Maps hold thread groups by its numbers. */
extern const volatile __u32 halo_pidns;

#define MAX_PID_NS_LEVEL 32

/* The id of @task's thread group; 0: it has none that the daemon could see. */
static __always_inline __u32 task__tgid(struct task_struct *task)
{
	struct upid *number;
	struct pid *pid;
	__u32 level;

	if (!halo_pidns)
		return BPF_CORE_READ(task, tgid);
	pid = BPF_CORE_READ(task, signal, pids[PIDTYPE_TGID]);
	level = BPF_CORE_READ(pid, level);
	number = (void *)pid + bpf_core_field_offset(pid->numbers);
	for (__u32 i = 0; i < MAX_PID_NS_LEVEL && i <= level; i++) {
		if (BPF_CORE_READ(number, ns, ns.inum) == halo_pidns)
			return BPF_CORE_READ(number, nr);
		number = (void *)number + bpf_core_type_size(struct upid);
	}
	return 0;
}

/* When the process began, in ns since boot. */
static __always_inline __u64 task__start_ns(struct task_struct *task)
{
	return BPF_CORE_READ(task, group_leader, start_boottime);
}

/* Whether @proc is about this task and not about one that had its pid before. */
static __always_inline bool task__is(struct task_struct *task, const struct halo_proc *proc)
{
	return task__start_ns(task) / HALO_START_STEP == proc->start_ns / HALO_START_STEP;
}

static __always_inline struct task_struct *task__current(void)
{
	return (void *)bpf_get_current_task();
}

/* Whether the kernel has bpf_task_pt_regs(), since 5.15. Set by the daemon. */
extern const volatile bool halo_has_regs;

#define THREAD_SIZE (4 * 4096) /* of a kernel without KASAN */
#define USER_RING   3

/*
 * The registers that the program had when it entered the kernel. Without the helper they are looked for
 * where x86-64 keeps them, at the upper end of the kernel's stack; all 0 if there are none.
 */
static __always_inline void task__user_regs(struct pt_regs *regs)
{
	void *stack;

	if (halo_has_regs) {
		*regs = *(struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
		return;
	}
	stack = BPF_CORE_READ(task__current(), stack);
	bpf_probe_read_kernel(regs, sizeof(*regs), stack + THREAD_SIZE - sizeof(*regs));
	if ((regs->cs & USER_RING) != USER_RING)
		__builtin_memset(regs, 0, sizeof(*regs));
}

#endif
