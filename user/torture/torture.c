// SPDX-License-Identifier: BSD-2-Clause
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../daemon/privileges.h"
#include "../daemon/worker_path.h"
#include "../lib/util.h"
#include "internal.h"

#define PARENT_DIR "/run"
#define NEW_STREAM 0x4e57 /* apart from other random choices */

static struct torture_row *add_row(struct torture *t, const struct halo_func *func)
{
	struct torture_row *row = &t->report->rows[t->report->n_rows++];

	row->function = strdup(func->name);
	row->unit = func->unit;
	return row;
}

void torture__refuse(struct torture *t, const struct halo_func *func, bool failed,
		     const char *reason)
{
	struct torture_row *row = add_row(t, func);

	row->reason = strdup(reason);
	row->failed = failed;
}

void torture__tell(struct torture *t, const struct halo_func *func, const char *config,
		   uint64_t size)
{
	struct torture_row *row = add_row(t, func);

	row->config = strdup(config);
	row->code_size = size;
	t->report->compiled++;
}

/* From now on the program runs undisturbed. */
static void set_back(struct torture *t)
{
	halo_loop__cancel(t->loop, &t->deadline);
	torture__stop_switcher(t);
	if (t->job)
		halo_job__cancel(t->job);
	t->job = NULL;
	t->next = t->n_batches;
}

static void on_deadline(void *ctx)
{
	struct torture *t = ctx;

	set_back(t);
	if (!t->child)
		halo_loop__stop(t->loop);
}

void torture__begin_deadline(struct torture *t)
{
	if (t->opts->seconds)
		halo_loop__arm(t->loop, &t->deadline,
			       halo_loop__now() + t->opts->seconds * HALO_SEC, on_deadline, t);
}

static int watch_end(struct torture *t, pid_t pid, struct halo_err *err);

static int start_child(struct torture *t, struct halo_err *err)
{
	int ret = torture__start_child(t, err);

	return ret ? ret : watch_end(t, t->child, err);
}

void torture__all_compiled(struct torture *t)
{
	if (t->opts->pid && !t->n_versions)
		halo_loop__stop(t->loop);
	if (t->opts->hold && !t->child && start_child(t, &t->failure))
		halo_loop__stop(t->loop);
}

static void on_end(void *ctx, uint32_t events)
{
	struct torture *t = ctx;

	(void)events;
	t->report->ended = true;
	halo_loop__stop(t->loop);
}

/* The program is ended as if torture were not between; one that goes on is left to itself. */
static void on_signal(void *ctx, uint32_t events)
{
	struct torture *t = ctx;
	struct signalfd_siginfo info;

	(void)events;
	if (read(t->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	set_back(t);
	if (t->child)
		kill(t->child, info.ssi_signo);
	else
		halo_loop__stop(t->loop);
	if (!t->child && !t->opts->pid)
		halo_err__set(&t->failure, -EINTR, "interrupted before the program was started");
}

static int watch_signals(struct torture *t, struct halo_err *err)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGHUP);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	t->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	if (t->signal_fd < 0 ||
	    halo_loop__watch(t->loop, t->signal_fd, EPOLLIN, on_signal, t, &t->signal_io))
		return halo_err__set(err, -errno, "watching signals: %s", strerror(errno));
	return 0;
}

static int watch_end(struct torture *t, pid_t pid, struct halo_err *err)
{
	t->pid_fd = syscall(SYS_pidfd_open, pid, 0);
	if (t->pid_fd < 0 || halo_loop__watch(t->loop, t->pid_fd, EPOLLIN, on_end, t, &t->pid_io))
		return halo_err__set(err, -errno, "watching process %d: %s", pid, strerror(errno));
	return 0;
}

static int make_dir(struct torture *t, struct halo_err *err)
{
	snprintf(t->dir, sizeof(t->dir), PARENT_DIR "/halo-bpf-torture-XXXXXX");
	if (!mkdtemp(t->dir)) {
		t->dir[0] = '\0';
		return halo_err__set(err, -errno, "making a folder in " PARENT_DIR ": %s",
				     strerror(errno));
	}
	/* Programs of other users have to reach the socket. */
	chmod(t->dir, 0711);
	snprintf(t->jobs_dir, sizeof(t->jobs_dir), "%s/jobs", t->dir);
	snprintf(t->store_dir, sizeof(t->store_dir), "%s/shm", t->dir);
	snprintf(t->socket, sizeof(t->socket), "%s/attach.sock", t->dir);
	t->workers.dir = t->jobs_dir;
	return halo_job__prepare_dir(t->jobs_dir, err);
}

static int open_tools(struct torture *t, struct halo_err *err)
{
	uint8_t hash[32];
	int ret;

	halo_privileges__worker(&t->workers.uid, &t->workers.gid);
	ret = halo_configs__read(t->opts->knobs_dir, &t->configs, err);
	if (!ret)
		ret = halo_worker__open(t->opts->opt_path, &t->workers.opt_fd, err);
	if (!ret)
		ret = make_dir(t, err);
	if (!ret)
		ret = halo_store__open(t->store_dir, &t->store, err);
	if (!ret)
		ret = halo_prepared__hash(t->prepared, hash, err);
	if (!ret)
		ret = halo_arena__open(t->store, hash, &t->arena, err);
	if (!ret && halo_loop__new(&t->loop))
		ret = halo_err__set(err, -errno, "epoll: %s", strerror(errno));
	t->workers.loop = t->loop;
	t->workers.urgent = true;
	return ret;
}

static int begin(struct torture *t, struct halo_err *err)
{
	int ret;

	torture__open_kernel_log(t);
	ret = torture__open_program(t, err);
	if (!ret)
		ret = torture__prepare_compiling(t, err);
	if (!ret)
		ret = open_tools(t, err);
	if (!ret)
		ret = watch_signals(t, err);
	if (ret)
		return ret;
	if (t->opts->pid) {
		ret = watch_end(t, t->opts->pid, err);
		if (!ret)
			ret = torture__attach_pid(t, err);
	} else {
		ret = torture__listen(t, err);
		if (!ret && !t->opts->hold)
			ret = start_child(t, err);
	}
	if (!ret)
		torture__compile_next(t);
	return ret;
}

static void end_child(struct torture *t)
{
	if (t->child)
		while (waitpid(t->child, &t->report->status, 0) < 0 && errno == EINTR)
			;
	torture__find_crash(t);
}

static void release(struct torture *t)
{
	if (t->loop) {
		torture__stop_listening(t);
		torture__forget_all(t);
		halo_loop__unwatch(t->loop, t->pid_io);
		halo_loop__unwatch(t->loop, t->signal_io);
	}
	torture__free_versions(t);
	halo_arena__close(t->arena);
	halo_store__close(t->store, true);
	halo_loop__free(t->loop);
	halo_configs__free(&t->configs);
	if (t->prepared)
		halo_prepared__free(t->prepared);
	zclose(&t->workers.opt_fd);
	zclose(&t->pid_fd);
	zclose(&t->signal_fd);
	zclose(&t->kmsg_fd);
	if (!t->dir[0])
		return;
	unlink(t->socket);
	rmdir(t->store_dir);
	rmdir(t->jobs_dir);
	rmdir(t->dir);
}

int torture__run(const struct torture_opts *opts, struct torture_report *report,
		 struct halo_err *err)
{
	struct torture *t = calloc(1, sizeof(*t));
	int ret;

	memset(report, 0, sizeof(*report));
	if (!t)
		return halo_err__set(err, -ENOMEM, "out of memory");
	t->opts = opts;
	t->report = report;
	t->random.state = opts->seed ^ NEW_STREAM;
	TAILQ_INIT(&t->processes);
	pthread_mutex_init(&t->lock, NULL);
	t->workers.opt_fd = t->socket_fd = t->pid_fd = t->signal_fd = t->kmsg_fd = -1;
	ret = begin(t, err);
	if (!ret) {
		ret = halo_loop__run(t->loop);
		if (ret)
			halo_err__set(err, ret, "waiting for events: %s", strerror(-ret));
		else if (t->failure.code)
			*err = t->failure;
		ret = err->code;
		set_back(t);
	}
	end_child(t);
	report->switches = t->switches;
	release(t);
	free(t);
	return ret;
}
