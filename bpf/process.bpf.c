// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Keeps halo_proc: which thread groups run an enrolled binary, and where it lies. What a program
 * is follows from its file's inode; one not seen before is asked of the daemon, once.
 */
#include "cost.bpf.h"
#include "task.bpf.h"

#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define SIGNAL_GROUP_EXIT 0x04 /* signal_struct.flags: group_exit_code is what wait(2) tells */
#define EXIT_SIGNAL_MASK  0x7f

/* SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV */
#define FAULT_SIGNALS (1U << 4 | 1U << 5 | 1U << 7 | 1U << 8 | 1U << 11)

static __always_inline bool send(const struct halo_event *event)
{
	if (!bpf_ringbuf_output(&halo_events, (void *)event, sizeof(*event), 0))
		return true;
	HALO_COUNT(event_lost);
	return false;
}

/* The first of several last threads that gets here takes the entry out, and tells. */
static __always_inline void gone(struct task_struct *task, struct halo_event *event, bool exchange)
{
	__u32 tgid = task__tgid(task);
	struct halo_proc *proc = bpf_map_lookup_elem(&halo_proc, &tgid);

	if (!proc)
		return;
	bpf_map_delete_elem(&halo_fault, &tgid);
	event->kind = HALO_EVENT_EXIT;
	event->tgid = tgid;
	event->exe_id = proc->exe_id;
	event->start_ns = proc->start_ns;
	cost__leave(tgid, exchange);
	if (!bpf_map_delete_elem(&halo_proc, &tgid))
		send(event);
}

/* Ask the daemon what the file is. Its answer goes to halo_inode. */
static __always_inline void look(struct task_struct *task, const struct halo_inode_key *key)
{
	struct halo_event event = {.kind = HALO_EVENT_LOOK};
	const __u32 nothing = 0;

	event.tgid = task__tgid(task);
	if (!event.tgid)
		return;
	if (bpf_map_update_elem(&halo_inode, key, &nothing, BPF_NOEXIST))
		return;
	event.start_ns = task__start_ns(task);
	event.inode = *key;
	if (!send(&event))
		bpf_map_delete_elem(&halo_inode, key);
}

static __always_inline void follow(struct task_struct *task, __u32 exe_id,
				   const struct halo_inode_key *key)
{
	struct halo_event event = {.kind = HALO_EVENT_EXEC};
	struct halo_exe_info *exe = bpf_map_lookup_elem(&halo_exe, &exe_id);
	struct halo_proc proc = {};
	__u32 tgid = task__tgid(task);

	if (!exe || !tgid)
		return;
	proc.exe_id = exe_id;
	proc.start_ns = task__start_ns(task);
	proc.exec_ns = bpf_ktime_get_ns();
	proc.text_start_addr = BPF_CORE_READ(task, mm, start_code);
	proc.text_end_addr = proc.text_start_addr + exe->text_size;
	proc.text_off = exe->text_off;
	if (bpf_map_update_elem(&halo_proc, &tgid, &proc, BPF_ANY)) {
		HALO_COUNT(proc_full);
		return;
	}
	event.tgid = tgid;
	event.exe_id = exe_id;
	event.start_ns = proc.start_ns;
	event.inode = *key;
	send(&event);
}

static __always_inline int on_exec(struct task_struct *task, bool exchange)
{
	struct halo_event exit = {};
	struct halo_inode_key key;
	__u32 *exe_id;

	gone(task, &exit, exchange);
	if (!task__exe_key(task, &key))
		return 0;
	exe_id = bpf_map_lookup_elem(&halo_inode, &key);
	if (!exe_id)
		look(task, &key);
	else if (*exe_id)
		follow(task, *exe_id, &key);
	return 0;
}

SEC("raw_tp/sched_process_exec")
int BPF_PROG(halo_exec, struct task_struct *task)
{
	return on_exec(task, true);
}

SEC("raw_tp/sched_process_exec")
int BPF_PROG(halo_exec_plain, struct task_struct *task)
{
	return on_exec(task, false);
}

SEC("raw_tp/sched_process_fork")
int BPF_PROG(halo_fork, struct task_struct *parent, struct task_struct *child)
{
	struct halo_event event = {.kind = HALO_EVENT_FORK};
	__u32 from = task__tgid(parent), tgid = task__tgid(child);
	struct halo_proc *entry, proc;

	if (from == tgid)
		return 0;
	entry = bpf_map_lookup_elem(&halo_proc, &from);
	if (!entry || !task__is(parent, entry))
		return 0;
	proc = *entry;
	proc.start_ns = BPF_CORE_READ(child, start_boottime);
	if (bpf_map_update_elem(&halo_proc, &tgid, &proc, BPF_ANY)) {
		HALO_COUNT(proc_full);
		return 0;
	}
	event.tgid = tgid;
	event.parent = from;
	event.exe_id = proc.exe_id;
	event.family = proc.family;
	event.start_ns = proc.start_ns;
	send(&event);
	return 0;
}

static __always_inline __u64 refresh_doubling(const struct halo_proc *proc)
{
	return proc->asked < HALO_REFRESH_DOUBLING ? proc->asked : HALO_REFRESH_DOUBLING;
}

/* The place of @family, 0 meaning a free one; HALO_MAX_LIBRARIES: there is none. */
static __always_inline __u32 find_library(const struct halo_proc *proc, __u32 family)
{
	for (__u32 i = 0; i < HALO_MAX_LIBRARIES; i++)
		if (proc->library[i] == family)
			return i;
	return HALO_MAX_LIBRARIES;
}

static __always_inline int set_library(struct halo_proc *proc, __u32 family, bool enter)
{
	__u32 i = find_library(proc, family);

	if (enter != (i == HALO_MAX_LIBRARIES))
		return 0;
	if (enter)
		i = find_library(proc, 0);
	if (i >= HALO_MAX_LIBRARIES)
		return -28; /* ENOSPC */
	proc->library[i] = enter ? family : 0;
	return 0;
}

SEC("raw_tp")
int halo_proc_set(struct halo_proc_args *args)
{
	__u32 tgid = args->tgid;
	struct halo_proc *proc = bpf_map_lookup_elem(&halo_proc, &tgid);
	__u64 *space, ask_ns;

	if (!proc || proc->start_ns != args->start_ns || proc->exec_ns != args->exec_ns)
		return -3; /* ESRCH */
	if (args->what & HALO_PROC_FAMILY)
		proc->family = args->family;
	if (args->what & (HALO_PROC_ENTER | HALO_PROC_LEAVE))
		return set_library(proc, args->family, args->what & HALO_PROC_ENTER);
	if (args->what & HALO_PROC_SPACE) {
		/* Where and how many at once. */
		space = (__u64 *)&proc->space;
		if (*space != *(__u64 *)&args->space)
			proc->asked = 0;
		ask_ns = bpf_ktime_get_ns() + args->wait_ns;
		if (proc->ask_ns < ask_ns || !proc->asked)
			proc->ask_ns = ask_ns;
		*(volatile __u64 *)space = *(__u64 *)&args->space;
		proc->exec_pages = args->exec_pages;
		proc->refresh_ns = ask_ns + (HALO_REFRESH_NS << refresh_doubling(proc));
	}
	return 0;
}

/*
 * The thread that faults knows where; which thread of its process exits last is another matter. A
 * positive code: the CPU's doing, not kill(2)'s. Handlers that report a crash send the signal again.
 */
SEC("raw_tp/signal_deliver")
int BPF_PROG(halo_signal, int sig, struct kernel_siginfo *info, struct k_sigaction *action)
{
	__u32 tgid = task__tgid(task__current());
	struct halo_fault fault = {.signal = sig};
	struct pt_regs user;

	if (sig <= 0 || sig > 31 || !(FAULT_SIGNALS & 1U << sig))
		return 0;
	if (BPF_CORE_READ(info, si_code) <= 0)
		return 0;
	if (!bpf_map_lookup_elem(&halo_proc, &tgid))
		return 0;
	task__user_regs(&user);
	fault.rip_addr = user.ip;
	bpf_map_update_elem(&halo_fault, &tgid, &fault, BPF_ANY);
	return 0;
}

static __always_inline int on_exit(struct task_struct *task, bool exchange)
{
	struct signal_struct *signal = BPF_CORE_READ(task, signal);
	struct halo_event event = {};
	struct halo_fault *fault;
	__u32 tgid = task__tgid(task);

	if (BPF_CORE_READ(signal, live.counter))
		return 0;
	event.code = BPF_CORE_READ(task, group_leader, exit_code);
	if (BPF_CORE_READ(signal, flags) & SIGNAL_GROUP_EXIT)
		event.code = BPF_CORE_READ(signal, group_exit_code);
	fault = bpf_map_lookup_elem(&halo_fault, &tgid);
	if (fault && fault->signal == (event.code & EXIT_SIGNAL_MASK))
		event.rip_addr = fault->rip_addr;
	gone(task, &event, exchange);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int BPF_PROG(halo_exit, struct task_struct *task)
{
	return on_exit(task, true);
}

SEC("raw_tp/sched_process_exit")
int BPF_PROG(halo_exit_plain, struct task_struct *task)
{
	return on_exit(task, false);
}
