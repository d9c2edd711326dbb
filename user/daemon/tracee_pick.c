/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "../lib/util.h"
#include "tracee.h"

/* What /proc/PID/task/TID/status says of a thread. */
struct thread {
	char state;
	pid_t tracer, parent;
	int seccomp;
	uint64_t pending, shared_pending, blocked, caught; /* signal sets */
};

/* How much a thread would mind; the lower the better. */
enum rank {
	RANK_USER_MODE,
	RANK_RESTARTED,	 /* the kernel begins its system call again */
	RANK_REPEATABLE, /* we do */
	RANK_UNFIT,
};

static int read_thread_file(pid_t pid, pid_t tid, const char *name, char *buf, size_t room)
{
	char path[64];
	__cleanup_fd int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, buf, room - 1);
	if (n <= 0)
		return n < 0 ? -errno : -ESRCH;
	buf[n] = '\0';
	return 0;
}

static bool scan_field(const char *text, const char *fmt, void *value)
{
	const char *line = text;
	size_t key = strcspn(fmt, " ");

	while (line) {
		if (strncmp(line, fmt, key) == 0)
			return sscanf(line, fmt, value) == 1;
		line = strchr(line, '\n');
		if (line)
			line++;
	}
	return false;
}

static int read_thread(pid_t pid, pid_t tid, struct thread *t)
{
	char text[8192];
	int ret = read_thread_file(pid, tid, "status", text, sizeof(text));

	if (ret)
		return ret;
	if (!scan_field(text, "State: %c", &t->state) ||
	    !scan_field(text, "TracerPid: %d", &t->tracer) ||
	    !scan_field(text, "PPid: %d", &t->parent) ||
	    !scan_field(text, "SigPnd: %" SCNx64, &t->pending) ||
	    !scan_field(text, "ShdPnd: %" SCNx64, &t->shared_pending) ||
	    !scan_field(text, "SigBlk: %" SCNx64, &t->blocked) ||
	    !scan_field(text, "SigCgt: %" SCNx64, &t->caught))
		return -EBADMSG;
	t->seccomp = 0; /* absent from kernels without it */
	scan_field(text, "Seccomp: %d", &t->seccomp);
	return 0;
}

bool halo_tracee__signalled(const struct halo_tracee *t)
{
	struct thread thread;

	return read_thread(t->pid, t->tid, &thread) ||
	       ((thread.pending | thread.shared_pending) & ~thread.blocked & thread.caught);
}

/*
 * Calls that return EINTR whenever a thread is woken, and that have then done nothing. (Others that
 * can return it are begun again by the kernel.)
 */
bool halo_tracee__repeatable(long nr)
{
	static const long calls[] = {
		SYS_epoll_wait,
		SYS_epoll_pwait,
		SYS_epoll_pwait2,
		SYS_semop,
		SYS_semtimedop,
		SYS_io_getevents,
		SYS_io_pgetevents,
		SYS_io_uring_enter,
		SYS_rt_sigtimedwait,
		SYS_read,
		SYS_readv,
		SYS_write,
		SYS_writev,
		SYS_recvfrom,
		SYS_recvmsg,
		SYS_recvmmsg,
		SYS_sendto,
		SYS_sendmsg,
		SYS_accept,
		SYS_accept4,
		SYS_poll,
		SYS_ppoll,
		SYS_select,
		SYS_pselect6,
		SYS_futex,
		SYS_msgrcv,
		SYS_msgsnd,
		SYS_mq_timedreceive,
		SYS_mq_timedsend,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i] == nr)
			return true;
	return false;
}

/* The call may be over by the time that the thread stops, but most sleep for long. */
static enum rank rank_of(pid_t pid, pid_t tid, const struct thread *t)
{
	static const long unfit[] = {SYS_connect, SYS_close, SYS_vfork, SYS_execve, SYS_exit};
	char text[256];
	size_t i;
	long nr;

	if (t->state != 'R' && t->state != 'S')
		return RANK_UNFIT;
	if (t->state == 'R' || read_thread_file(pid, tid, "syscall", text, sizeof(text)) ||
	    sscanf(text, "%ld", &nr) != 1 || nr < 0)
		return RANK_USER_MODE;
	for (i = 0; i < ARRAY_SIZE(unfit); i++)
		if (nr == unfit[i])
			return RANK_UNFIT;
	return halo_tracee__repeatable(nr) ? RANK_REPEATABLE : RANK_RESTARTED;
}

static int refuse(struct halo_err *err, int code, const char *what)
{
	return halo_err__set(err, code, "%s", what);
}

/* Between vfork and exec a child runs in its parent's memory. */
static bool in_vfork(pid_t pid, pid_t parent)
{
	return parent > 0 && syscall(SYS_kcmp, pid, parent, KCMP_VM, 0, 0) == 0;
}

static int check_process(pid_t pid, struct halo_err *err)
{
	struct thread leader;
	int ret = read_thread(pid, pid, &leader);

	if (ret)
		return halo_err__set(err, ret, "cannot read the state of process %d", pid);
	if (leader.tracer)
		return halo_err__set(err, -EPERM, "another tracer has it (process %d)",
				     leader.tracer);
	if (leader.seccomp)
		return refuse(err, -EACCES, "it runs under a seccomp filter");
	if (leader.state == 'T' || leader.state == 't')
		return refuse(err, -EBUSY, "it is stopped");
	if (leader.state == 'Z' || leader.state == 'X')
		return refuse(err, -ESRCH, "it, or its first thread, has ended");
	if (in_vfork(pid, leader.parent))
		return refuse(err, -EBUSY, "it is between vfork and exec");
	return 0;
}

int halo_tracee__pick(struct halo_tracee *t, struct halo_err *err)
{
	enum rank rank, best = RANK_UNFIT;
	struct thread thread;
	struct dirent *entry;
	char path[32];
	pid_t tid;
	DIR *dir;
	int ret = check_process(t->pid, err);

	if (ret)
		return ret;
	snprintf(path, sizeof(path), "/proc/%d/task", t->pid);
	dir = opendir(path);
	if (!dir)
		return halo_err__set(err, -errno, "cannot list its threads: %m");
	while (best != RANK_USER_MODE && (entry = readdir(dir))) {
		tid = atoi(entry->d_name);
		if (tid <= 0 || read_thread(t->pid, tid, &thread) || thread.tracer ||
		    thread.seccomp)
			continue;
		rank = rank_of(t->pid, tid, &thread);
		if (rank < best) {
			best = rank;
			t->tid = tid;
		}
	}
	closedir(dir);
	if (best == RANK_UNFIT)
		return refuse(err, -EBUSY,
			      "none of its threads can be stopped now (vfork, disk wait, connect)");
	return 0;
}
