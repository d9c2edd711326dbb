// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "../lib/util.h"
#include "privileges.h"
#include "worker.h"

#define MEMORY_LIMIT (4ULL << 30)
#define CPU_LIMIT_S  120
#define FILE_LIMIT   (256ULL << 20)
#define FD_LIMIT     64
#define NICE	     10
#define SAFE_FD	     100 /* above the descriptors that the worker gets */

static const char failpoint[] = "HALO_FAILPOINT";

static void fail(const char *what)
{
	dprintf(STDERR_FILENO, "worker: %s: %s\n", what, strerror(errno));
	_exit(126);
}

/* Two steps, since the descriptors may lie in each other's places. */
static void place_fds(const struct halo_worker *w, int *opt_fd)
{
	int high[ARRAY_SIZE(w->fds)];

	for (size_t i = 0; i < ARRAY_SIZE(w->fds); i++) {
		high[i] = fcntl(w->fds[i], F_DUPFD_CLOEXEC, SAFE_FD);
		if (high[i] < 0)
			_exit(126);
	}
	*opt_fd = fcntl(w->opt_fd, F_DUPFD_CLOEXEC, SAFE_FD);
	if (*opt_fd < 0)
		_exit(126);
	for (size_t i = 0; i < ARRAY_SIZE(w->fds); i++)
		if (dup2(high[i], i) < 0)
			_exit(126);
	if (close_range(ARRAY_SIZE(w->fds), ~0U, CLOSE_RANGE_CLOEXEC))
		fail("closing descriptors");
}

static void reset_signals(void)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void set_limit(int which, rlim_t value)
{
	struct rlimit limit = {.rlim_cur = value, .rlim_max = value};

	if (setrlimit(which, &limit))
		fail("setting limits");
}

static void leave_network(void)
{
	if (halo_privileges__raise_admin() || unshare(CLONE_NEWNET | CLONE_NEWIPC))
		fail("leaving the network");
}

static void become_user(const struct halo_worker *w)
{
	if (setgroups(0, NULL) || setresgid(w->gid, w->gid, w->gid) ||
	    setresuid(w->uid, w->uid, w->uid))
		fail("becoming the worker's user");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		fail("giving up new privileges");
	/* After the change of user, which would clear it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != w->parent)
		_exit(126);
}

void halo_worker__exec(const struct halo_worker *w)
{
	char *argv[] = {(char *)"halo-opt", NULL};
	char *env[] = {(char *)"PATH=/usr/bin:/bin", (char *)"LC_ALL=C", NULL, NULL};
	const char *point = getenv(failpoint);
	struct sched_param param = {0};
	char point_env[128];
	int opt_fd;

	place_fds(w, &opt_fd);
	reset_signals();
	/* A group of its own, so that a linker that it starts can be ended along with it. */
	setpgid(0, 0);
	set_limit(RLIMIT_CPU, CPU_LIMIT_S);
	set_limit(RLIMIT_AS, MEMORY_LIMIT);
	set_limit(RLIMIT_FSIZE, FILE_LIMIT);
	set_limit(RLIMIT_NOFILE, FD_LIMIT);
	set_limit(RLIMIT_CORE, 0);
	/*
	 * Not SCHED_IDLE: with three busy threads on two CPUs it compiled nothing in 13 s; this takes
	 * 0.25 s.
	 */
	if (!w->urgent &&
	    (sched_setscheduler(0, SCHED_BATCH, &param) || setpriority(PRIO_PROCESS, 0, NICE)))
		fail("lowering its priority");
	leave_network();
	become_user(w);
	if (point) {
		snprintf(point_env, sizeof(point_env), "%s=%s", failpoint, point);
		env[2] = point_env;
	}
	fexecve(opt_fd, argv, env);
	fail("starting halo-opt");
	_exit(126);
}
