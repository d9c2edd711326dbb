// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "../user/lib/util.h"
#include "sandbox.h"

#define MEMORY_MAX    (4ULL << 30) /* bytes of address space */
#define CPU_MAX	      300	   /* seconds */
#define FILES_MAX     64
#define FILE_SIZE_MAX (256ULL << 20)

static const char *const denied[] = {
	/* the network and other processes */
	"socket",
	"socketpair",
	"connect",
	"accept",
	"accept4",
	"bind",
	"listen",
	"sendto",
	"sendmsg",
	"sendmmsg",
	"recvfrom",
	"recvmsg",
	"recvmmsg",
	"ptrace",
	"process_vm_readv",
	"process_vm_writev",
	"process_madvise",
	"pidfd_open",
	"pidfd_getfd",
	"pidfd_send_signal",
	"kcmp",
	"msgget",
	"semget",
	"shmget",
	"mq_open",
	"setpriority",
	"sched_setaffinity",
	/* leaving the process group, by which the daemon ends a worker with all that it started */
	"setsid",
	"setpgid",
	/* folders in the job's, which the daemon could not remove */
	"mkdir",
	"mkdirat",
	/* the kernel */
	"bpf",
	"perf_event_open",
	"userfaultfd",
	"io_uring_setup",
	"io_uring_enter",
	"io_uring_register",
	"add_key",
	"request_key",
	"keyctl",
	"init_module",
	"finit_module",
	"delete_module",
	"kexec_load",
	"kexec_file_load",
	"reboot",
	"syslog",
	"acct",
	"swapon",
	"swapoff",
	"quotactl",
	"quotactl_fd",
	"settimeofday",
	"clock_settime",
	"clock_adjtime",
	"adjtimex",
	"iopl",
	"ioperm",
	"personality",
	"modify_ldt",
	"sethostname",
	"setdomainname",
	"vhangup",
	"lookup_dcookie",
	"fanotify_init",
	"nfsservctl",
	/* file systems and namespaces */
	"mount",
	"umount2",
	"move_mount",
	"open_tree",
	"fsopen",
	"fsconfig",
	"fsmount",
	"fspick",
	"mount_setattr",
	"pivot_root",
	"chroot",
	"setns",
	"unshare",
	"open_by_handle_at",
	"name_to_handle_at",
	"mknod",
	"mknodat",
	"chown",
	"fchown",
	"lchown",
	"fchownat",
	/* other users */
	"setuid",
	"setgid",
	"setreuid",
	"setregid",
	"setresuid",
	"setresgid",
	"setgroups",
	"setfsuid",
	"setfsgid",
	"capset",
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

static int deny(scmp_filter_ctx ctx, const char *name)
{
	int call = seccomp_syscall_resolve_name(name);

	/* One that this machine does not have needs no rule. */
	if (call == __NR_SCMP_ERROR || call < 0)
		return 0;
	return seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), call, 0);
}

/* clone3()'s flags are in memory, where no filter sees them; C libraries fall back to clone(). */
static int deny_namespaces(scmp_filter_ctx ctx)
{
	static const uint64_t flags[] = {CLONE_NEWNS,	CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
					 CLONE_NEWUSER, CLONE_NEWPID,	 CLONE_NEWNET};
	size_t i;
	int ret;

	ret = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	for (i = 0; !ret && i < ARRAY_SIZE(flags); i++)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
				       SCMP_A0(SCMP_CMP_MASKED_EQ, flags[i], flags[i]));
	return ret;
}

static int set_filter(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	size_t i;
	int ret = 0;

	if (!ctx)
		return -ENOMEM;
	for (i = 0; !ret && i < ARRAY_SIZE(denied); i++)
		ret = deny(ctx, denied[i]);
	if (!ret)
		ret = deny_namespaces(ctx);
	if (!ret)
		ret = seccomp_load(ctx);
	seccomp_release(ctx);
	return ret;
}

int sandbox__enter(struct halo_err *err)
{
	int ret;

	ret = set_limits();
	if (ret)
		return halo_err__set(err, ret, "can't limit the worker: %s", strerror(-ret));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return halo_err__set(err, -errno, "can't give up new privileges: %s",
				     strerror(errno));
	ret = set_filter();
	if (ret)
		return halo_err__set(err, ret, "can't filter system calls: %s", strerror(-ret));
	return 0;
}
