/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

/* The kernel's types as far as the BPF programs need them. See README.md. */

typedef signed char __s8;
typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;

typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

typedef _Bool bool;
enum {
	false = 0,
	true = 1,
};

#define NULL ((void *)0)

/* The system call interface: numbers that never change. */

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_RINGBUF = 27,
};

enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_EXIST = 2,
};

enum {
	BPF_F_MMAPABLE = 1 << 10,
};

/* As the context of perf_event programs has it: fixed, so accesses are not relocated. */
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx;
	unsigned long r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax;
	unsigned long ip;
	unsigned long cs; /* the selector in the low 16 bits; FRED keeps more above */
	unsigned long flags;
	unsigned long sp;
	unsigned long ss;
};

typedef struct pt_regs bpf_user_pt_regs_t;

struct bpf_perf_event_data {
	bpf_user_pt_regs_t regs;
	__u64 sample_period;
	__u64 addr;
};

struct bpf_raw_tracepoint_args {
	__u64 args[0];
};

/* The kernel's own: members are found by name when a program is loaded. */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef int pid_t;
typedef long long time64_t;

typedef struct {
	int counter;
} atomic_t;

struct super_block {
	u32 s_dev;
};

struct timespec64 {
	time64_t tv_sec;
	long tv_nsec;
};

struct inode {
	unsigned long i_ino;
	struct super_block *i_sb;
	time64_t i_ctime_sec; /* since 6.11 */
	u32 i_ctime_nsec;
};

struct inode___v6_6 {
	struct timespec64 __i_ctime;
};

struct inode___v5 {
	struct timespec64 i_ctime;
};

struct file {
	struct inode *f_inode;
};

struct mm_struct {
	unsigned long start_code;
	unsigned long end_code;
	unsigned long exec_vm; /* pages */
	struct file *exe_file;
};

enum pid_type {
	PIDTYPE_TGID = 1, /* since 4.19 */
};

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1]; /* level + 1 of them */
};

struct signal_struct {
	atomic_t live;
	struct pid *pids[4]; /* by enum pid_type */
	int group_exit_code;
	unsigned int flags;
};

struct task_struct {
	void *stack;
	struct mm_struct *mm;
	int exit_code;
	pid_t pid;
	pid_t tgid;
	struct task_struct *group_leader;
	u64 start_boottime;
	struct signal_struct *signal;
};

struct k_sigaction;

struct kernel_siginfo {
	int si_code;
};

#pragma clang attribute pop

#endif
