// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

#include <systemd/sd-daemon.h>

#include "../lib/util.h"
#include "attach_server.h"
#include "control.h"
#include "decide.h"
#include "files.h"
#include "handover.h"
#include "job.h"
#include "privileges.h"
#include "process.h"
#include "program.h"
#include "record.h"
#include "samples.h"
#include "unwinds.h"
#include "worker_path.h"

#define LOG_TAG "daemon"
#include "../lib/log.h"

#define LOCK_LOOKS   20
#define LOCK_LOOK_US 50000

#define SWEEP_MS     10000
#define SWEEP_MS_MIN 1000

#define LOCK_FILE    HALO_RUN_DIR "/lock"
#define STORE_DIR    HALO_RUN_DIR "/shm"
#define JOBS_DIR     HALO_RUN_DIR "/jobs"

static void on_event(void *ctx, const struct halo_event *event)
{
	halo_program__on_event(ctx, event);
}

static void on_kernel_events(void *ctx, uint32_t events)
{
	struct halo_daemon *d = ctx;

	(void)events;
	halo_kernel__poll(d->kernel);
}

static void on_signal(void *ctx, uint32_t events)
{
	struct halo_daemon *d = ctx;
	struct signalfd_siginfo info;

	(void)events;
	if (read(d->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	log_info("stopping: %s", strsignal(info.ssi_signo));
	halo_loop__stop(d->loop);
}

/* Where the kernel side lost events, or had no room, processes came or went unseen. */
static void catch_up(struct halo_daemon *d)
{
	uint64_t stats[HALO_STAT_MAX];
	struct halo_program *p;

	if (halo_kernel__stats(d->kernel, stats) ||
	    (stats[HALO_STAT_EVENT_LOST] == d->events_lost &&
	     stats[HALO_STAT_PROC_FULL] == d->procs_lost))
		return;
	if (stats[HALO_STAT_PROC_FULL] != d->procs_lost)
		log_warn("more than %u enrolled processes run: %llu were not followed",
			 HALO_MAX_PROCS, (unsigned long long)stats[HALO_STAT_PROC_FULL]);
	d->events_lost = stats[HALO_STAT_EVENT_LOST];
	d->procs_lost = stats[HALO_STAT_PROC_FULL];
	TAILQ_FOREACH(p, &d->programs, link)
		halo_process__scan(p);
}

static void on_drain(void *ctx)
{
	struct halo_daemon *d = ctx;
	struct halo_program *p;

	halo_samples__drain(d);
	halo_kernel__check_cpus(d->kernel);
	catch_up(d);
	halo_files__sweep(d);
	TAILQ_FOREACH(p, &d->programs, link) {
		halo_process__let_go(p);
		halo_decide__tick(p);
		halo_handover__save(p);
	}
	halo_loop__arm(d->loop, &d->drain, halo_loop__now() + HALO_DRAIN_NS, on_drain, d);
}

/* A process that a killed daemon had just forked holds it for a moment more. */
static bool take_lock(int fd)
{
	int i;

	for (i = 0; i < LOCK_LOOKS; i++) {
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return true;
		usleep(LOCK_LOOK_US);
	}
	return false;
}

static int open_run_dir(int *lock_fd, struct halo_err *err)
{
	struct stat st;

	if (mkdir(HALO_RUN_DIR, 0755) && errno != EEXIST)
		return halo_err__set(err, -errno, "making " HALO_RUN_DIR ": %s", strerror(errno));
	if (lstat(HALO_RUN_DIR, &st) || !S_ISDIR(st.st_mode) || st.st_uid != 0)
		return halo_err__set(err, -EPERM, HALO_RUN_DIR " is not a directory of root's");
	if (chmod(HALO_RUN_DIR, 0755))
		return halo_err__set(err, -errno, HALO_RUN_DIR ": %s", strerror(errno));
	*lock_fd = open(LOCK_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (*lock_fd < 0)
		return halo_err__set(err, -errno, "opening " LOCK_FILE ": %s", strerror(errno));
	if (take_lock(*lock_fd))
		return 0;
	halo_err__set(err, -EALREADY, "the daemon is running already");
	halo_err__cause(err, "another process holds " LOCK_FILE);
	halo_err__remedy(err, "use it, or end it first: halo-bpf stop");
	return -EALREADY;
}

static int open_signals(struct halo_daemon *d, struct halo_err *err)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	d->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	if (d->signal_fd < 0 ||
	    halo_loop__watch(d->loop, d->signal_fd, EPOLLIN, on_signal, d, &d->signal_io))
		return halo_err__set(err, -errno, "watching signals: %s", strerror(errno));
	return 0;
}

/* HALO_SWEEP_MS is for tests. */
static unsigned long sweep_ms(void)
{
	const char *text = getenv("HALO_SWEEP_MS");
	unsigned long ms = text ? strtoul(text, NULL, 10) : SWEEP_MS;

	return ms < SWEEP_MS_MIN ? SWEEP_MS_MIN : ms;
}

static int open_kernel(struct halo_daemon *d, struct halo_err *err)
{
	struct halo_kernel_opts opts = {
		.rate_hz = d->opts->rate_hz,
		.allow_unsafe = d->opts->allow_unsafe_kernel,
		.btf = d->opts->btf,
		.feed = getenv("HALO_BRANCH_FEED"),
	};
	int ret;

	ret = halo_kernel__open(&opts, on_event, d, &d->kernel, err);
	if (ret)
		return ret;
	ret = halo_loop__watch(d->loop, halo_kernel__event_fd(d->kernel), EPOLLIN, on_kernel_events,
			       d, &d->event_io);
	if (ret)
		return halo_err__set(err, ret, "watching kernel events: %s", strerror(-ret));
	halo_samples__open(d);
	d->sweep_ns = sweep_ms() * 1000000ULL;
	log_info("sampling by %s: %s", halo_kernel__tier_name(d->kernel),
		 halo_kernel__tier_reason(d->kernel));
	return 0;
}

/* Each process that is attached for itself takes a descriptor or two; many systems begin with 1024. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		log_warn("can't raise the number of open files: %m");
}

static int daemon__start(struct halo_daemon *d, struct halo_err *err)
{
	int ret;

	d->started_ns = halo_loop__now();
	raise_file_limit();
	halo_privileges__worker(&d->workers.uid, &d->workers.gid);
	ret = halo_configs__read(d->opts->knobs_dir, &d->configs, err);
	if (!ret)
		ret = halo_worker__open(d->opts->opt_path, &d->workers.opt_fd, err);
	if (!ret)
		ret = halo_job__prepare_dir(JOBS_DIR, err);
	if (!ret)
		ret = halo_store__open(STORE_DIR, &d->store, err);
	if (!ret)
		ret = halo_loop__new(&d->loop)
			      ? halo_err__set(err, -errno, "epoll: %s", strerror(errno))
			      : 0;
	d->workers.loop = d->loop;
	if (!ret && halo_unwinds__open(d))
		ret = halo_err__set(err, -ENOMEM, "out of memory");
	if (!ret)
		ret = open_signals(d, err);
	if (!ret)
		ret = open_kernel(d, err);
	if (!ret)
		ret = halo_attach_server__open(d, &d->attach, err);
	if (!ret)
		ret = halo_control__open(d, &d->control, err);
	if (!ret)
		ret = halo_privileges__drop(err);
	return ret;
}

static void forget(struct halo_program *p)
{
	halo_process__remove_all(p);
	halo_program__free(p);
}

/*
 * Programs go back to their original code. The arena goes with the store, but threads that are still
 * inside an image have it mapped; no later daemon maps another one over it, since it leaves
 * processes alone that were attached before.
 */
static void daemon__stop(struct halo_daemon *d)
{
	struct halo_program *p;

	halo_attach_server__close(d->attach);
	halo_record__end_all(d);
	halo_control__close(d->control);
	while ((p = TAILQ_FIRST(&d->programs)))
		halo_program__unenroll(p);
	while ((p = TAILQ_FIRST(&d->retired))) {
		TAILQ_REMOVE(&d->retired, p, link);
		forget(p);
	}
	halo_unwinds__close(d);
	if (d->loop) {
		halo_loop__cancel(d->loop, &d->drain);
		halo_loop__unwatch(d->loop, d->event_io);
		halo_loop__unwatch(d->loop, d->signal_io);
	}
	if (d->kernel)
		halo_kernel__close(d->kernel);
	halo_privileges__raise_admin();
	halo_store__close(d->store, true);
	halo_privileges__lower_admin();
	halo_loop__free(d->loop);
	halo_configs__free(&d->configs);
	zclose(&d->signal_fd);
	zclose(&d->workers.opt_fd);
	halo_files__free(d);
	free(d->known);
}

static void tell_ready(const struct halo_daemon_opts *opts, const struct halo_err *err)
{
	json_object *obj = err ? halo_err__to_json(err) : json_object_new_object();
	int fd = opts->ready_fd;

	/* For a service manager, if there is one. */
	if (err)
		sd_notifyf(0, "STATUS=%s\nERRNO=%d", err->what, -err->code);
	else
		sd_notify(0, "READY=1");
	if (fd >= 0) {
		dprintf(fd, "%s\n", json_object_to_json_string_ext(obj, JSON_C_TO_STRING_PLAIN));
		close(fd);
	}
	json_object_put(obj);
}

int halo_daemon__run(const struct halo_daemon_opts *opts, struct halo_err *err)
{
	struct halo_daemon *d = calloc(1, sizeof(*d));
	struct halo_err local = {0};
	__cleanup_fd int lock_fd = -1;
	int ret;

	err = err ? err : &local;
	ret = d ? halo_privileges__check(err) : halo_err__set(err, -ENOMEM, "out of memory");
	if (!ret)
		ret = open_run_dir(&lock_fd, err);
	if (ret) {
		free(d);
		tell_ready(opts, err);
		return ret;
	}
	d->opts = opts;
	d->workers.dir = JOBS_DIR;
	d->workers.limit_ns = opts->job_limit * HALO_SEC;
	d->workers.opt_fd = d->signal_fd = -1;
	TAILQ_INIT(&d->programs);
	TAILQ_INIT(&d->retired);
	TAILQ_INIT(&d->recordings);
	ret = daemon__start(d, err);
	tell_ready(opts, ret ? err : NULL);
	if (!ret) {
		log_info("halo-bpf %s serves", HALO_VERSION);
		halo_handover__restore(d);
		halo_loop__arm(d->loop, &d->drain, 0, on_drain, d);
		ret = halo_loop__run(d->loop);
		sd_notify(0, "STOPPING=1");
		log_info("stopped");
	}
	daemon__stop(d);
	free(d);
	return ret;
}
