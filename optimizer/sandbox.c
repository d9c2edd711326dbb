// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "../user/lib/util.h"
#include "sandbox.h"
#include "sandbox_internal.h"

#define MEMORY_MAX    (4ULL << 30) /* bytes of address space */
#define CPU_MAX	      300	   /* seconds */
#define FILES_MAX     64
#define FILE_SIZE_MAX (256ULL << 20)

/*
 * What LLVM, the linker, the C library and its loader use, on this and other architectures and
 * versions. All else fails with EPERM: the network, other processes, namespaces, users, the kernel's
 * administration; leaving the process group, by which the daemon ends a worker with all that it
 * started; and folders in the job's, which the daemon could not remove.
 */
static const char *const allowed[] = {
	/* files, as far as Landlock lets it */
	"access",
	"chdir",
	"chmod",
	"close",
	"close_range",
	"copy_file_range",
	"creat",
	"dup",
	"dup2",
	"dup3",
	"faccessat",
	"faccessat2",
	"fadvise64",
	"fallocate",
	"fchdir",
	"fchmod",
	"fchmodat",
	"fcntl",
	"fdatasync",
	"flock",
	"fstat",
	"fstatfs",
	"fsync",
	"ftruncate",
	"getcwd",
	"getdents",
	"getdents64",
	"ioctl",
	"lseek",
	"lstat",
	"newfstatat",
	"open",
	"openat",
	"openat2",
	"pipe",
	"pipe2",
	"poll",
	"ppoll",
	"pread64",
	"preadv",
	"preadv2",
	"pselect6",
	"pwrite64",
	"pwritev",
	"pwritev2",
	"read",
	"readlink",
	"readlinkat",
	"readv",
	"rename",
	"renameat",
	"renameat2",
	"select",
	"sendfile",
	"stat",
	"statfs",
	"statx",
	"truncate",
	"umask",
	"unlink",
	"unlinkat",
	"utimensat",
	"write",
	"writev",
	/* memory */
	"brk",
	"madvise",
	"mincore",
	"mmap",
	"mprotect",
	"mremap",
	"msync",
	"munmap",
	/* threads, and the linker */
	"arch_prctl",
	"execve",
	"exit",
	"exit_group",
	"fork",
	"futex",
	"futex_waitv",
	"get_robust_list",
	"membarrier",
	"pause",
	"prctl",
	"restart_syscall",
	"rseq",
	"rt_sigaction",
	"rt_sigpending",
	"rt_sigprocmask",
	"rt_sigreturn",
	"rt_sigsuspend",
	"rt_sigtimedwait",
	"sched_getaffinity",
	"sched_getparam",
	"sched_getscheduler",
	"sched_yield",
	"set_robust_list",
	"set_tid_address",
	"sigaltstack",
	"tgkill",
	"vfork",
	"wait4",
	"waitid",
	/* what it is and where */
	"clock_getres",
	"clock_gettime",
	"clock_nanosleep",
	"getcpu",
	"getegid",
	"geteuid",
	"getgid",
	"getgroups",
	"getpgid",
	"getpgrp",
	"getpid",
	"getppid",
	"getpriority",
	"getrandom",
	"getresgid",
	"getresuid",
	"getrlimit",
	"getrusage",
	"gettid",
	"gettimeofday",
	"getuid",
	"nanosleep",
	"prlimit64",
	"setrlimit",
	"sysinfo",
	"time",
	"times",
	"uname",
};

static int limit(int resource, uint64_t max)
{
	struct rlimit old, new;

	if (getrlimit(resource, &old))
		return -errno;
	new.rlim_cur = new.rlim_max = old.rlim_max < max ? old.rlim_max : max;
	return setrlimit(resource, &new) ? -errno : 0;
}

static int set_limits(void)
{
	return limit(RLIMIT_AS, MEMORY_MAX) ?: limit(RLIMIT_CPU, CPU_MAX) ?:
	       limit(RLIMIT_NOFILE, FILES_MAX) ?: limit(RLIMIT_FSIZE, FILE_SIZE_MAX) ?:
	       limit(RLIMIT_CORE, 0);
}

static int allow(scmp_filter_ctx ctx, const char *name)
{
	int call = seccomp_syscall_resolve_name(name);

	/* One that this machine does not have needs no rule. */
	if (call == __NR_SCMP_ERROR || call < 0)
		return 0;
	return seccomp_rule_add(ctx, SCMP_ACT_ALLOW, call, 0);
}

/* clone3()'s flags are in memory, where no filter sees them; C libraries fall back to clone(). */
static int allow_threads(scmp_filter_ctx ctx)
{
	const uint64_t namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
				    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

	return seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0)
		       ?: seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
					   SCMP_A0(SCMP_CMP_MASKED_EQ, namespaces, 0));
}

static int set_filter(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	size_t i;
	int ret = 0;

	if (!ctx)
		return -ENOMEM;
	for (i = 0; !ret && i < ARRAY_SIZE(allowed); i++)
		ret = allow(ctx, allowed[i]);
	if (!ret)
		ret = allow_threads(ctx);
	if (!ret)
		ret = seccomp_load(ctx);
	seccomp_release(ctx);
	return ret;
}

int sandbox__enter(int dir_fd, struct halo_err *err)
{
	int ret;

	ret = set_limits();
	if (ret)
		return halo_err__set(err, ret, "can't limit the worker: %s", strerror(-ret));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return halo_err__set(err, -errno, "can't give up new privileges: %s",
				     strerror(errno));
	ret = landlock__enter(dir_fd);
	if (ret)
		return halo_err__set(err, ret, "can't give up files: %s", strerror(-ret));
	ret = set_filter();
	if (ret)
		return halo_err__set(err, ret, "can't filter system calls: %s", strerror(-ret));
	return 0;
}
