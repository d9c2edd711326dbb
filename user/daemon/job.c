// SPDX-License-Identifier: BSD-2-Clause
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../lib/util.h"
#include "answer.h"
#include "job.h"
#include "loop.h"
#include "worker.h"

#define LOG_TAG "job"
#include "../lib/log.h"

#define LOG_MAX 65536 /* bytes of a worker's log that are passed on */

struct halo_job {
	struct halo_workers *workers;
	uint64_t number;
	halo_job_fn fn;
	void *ctx;
	pid_t pid;
	int pid_fd, answer_fd, log_fd, dir_fd;
	struct halo_io *pid_io, *answer_io, *log_io;
	struct halo_timer wall;
	uint64_t started_ns;
	bool timed_out, too_long;
	char *answer;
	size_t answer_len, answer_size;
	char line[512]; /* of the log, not ended yet */
	size_t line_len, logged;
};

static void unlink_all(int dir_fd)
{
	int fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *de;

	if (!dir) {
		zclose(&fd);
		return;
	}
	rewinddir(dir);
	while ((de = readdir(dir)))
		if (unlinkat(dir_fd, de->d_name, 0) && errno == EISDIR)
			unlinkat(dir_fd, de->d_name, AT_REMOVEDIR);
	closedir(dir);
}

static void remove_dir(int parent_fd, const char *name)
{
	__cleanup_fd int fd = openat(parent_fd, name,
				     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	unlink_all(fd);
	if (unlinkat(parent_fd, name, AT_REMOVEDIR))
		log_warn("removing the job's folder %s: %s", name, strerror(errno));
}

int halo_job__prepare_dir(const char *path, struct halo_err *err)
{
	struct dirent *de;
	DIR *dir;

	/* The folders in it are the workers' group's; that nobody else gets there is up to this one. */
	if (mkdir(path, 0700) && errno != EEXIST)
		return halo_err__set(err, -errno, "making %s: %s", path, strerror(errno));
	dir = opendir(path);
	if (!dir)
		return halo_err__set(err, -errno, "opening %s: %s", path, strerror(errno));
	while ((de = readdir(dir)))
		if (de->d_name[0] != '.')
			remove_dir(dirfd(dir), de->d_name);
	closedir(dir);
	return 0;
}

static void job_path(const struct halo_job *job, char *buf, size_t size)
{
	snprintf(buf, size, "%s/%llu", job->workers->dir, (unsigned long long)job->number);
}

/* Root's, writable by the worker's group: root has to clean up without overriding permissions. */
static int make_dir(struct halo_job *job, struct halo_err *err)
{
	char path[PATH_MAX];

	job_path(job, path, sizeof(path));
	if (mkdir(path, 0770))
		return halo_err__set(err, -errno, "making %s: %s", path, strerror(errno));
	job->dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (job->dir_fd < 0 || fchown(job->dir_fd, 0, job->workers->gid) ||
	    fchmod(job->dir_fd, 0770))
		return halo_err__set(err, -errno, "preparing %s: %s", path, strerror(errno));
	return 0;
}

static int make_request(json_object *request, int *fd, struct halo_err *err)
{
	const char *text = json_object_to_json_string_ext(request, JSON_C_TO_STRING_PLAIN);
	size_t len = text ? strlen(text) : 0;

	*fd = memfd_create("halo-request", MFD_CLOEXEC);
	if (!text || *fd < 0 || write(*fd, text, len) != (ssize_t)len || lseek(*fd, 0, SEEK_SET))
		return halo_err__set(err, -EIO, "writing a worker's request: %s", strerror(errno));
	return 0;
}

static void job__free(struct halo_job *job)
{
	struct halo_loop *loop = job->workers->loop;

	halo_loop__cancel(loop, &job->wall);
	halo_loop__unwatch(loop, job->pid_io);
	halo_loop__unwatch(loop, job->answer_io);
	halo_loop__unwatch(loop, job->log_io);
	zclose(&job->pid_fd);
	zclose(&job->answer_fd);
	zclose(&job->log_fd);
	if (job->dir_fd >= 0) {
		char path[PATH_MAX];

		unlink_all(job->dir_fd);
		zclose(&job->dir_fd);
		job_path(job, path, sizeof(path));
		if (rmdir(path))
			log_warn("removing %s: %s", path, strerror(errno));
	}
	free(job->answer);
	free(job);
}

static void flush_line(struct halo_job *job)
{
	for (size_t i = 0; i < job->line_len; i++)
		if ((unsigned char)job->line[i] < ' ' || job->line[i] == 0x7f)
			job->line[i] = ' ';
	if (job->line_len && job->logged < LOG_MAX)
		log_info("%llu: %.*s", (unsigned long long)job->number, (int)job->line_len,
			 job->line);
	job->logged += job->line_len;
	job->line_len = 0;
}

static void read_log(struct halo_job *job)
{
	char buf[4096];
	ssize_t n;

	while ((n = read(job->log_fd, buf, sizeof(buf))) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (buf[i] != '\n')
				job->line[job->line_len++] = buf[i];
			if (buf[i] == '\n' || job->line_len == sizeof(job->line))
				flush_line(job);
		}
	}
	if (n == 0) {
		flush_line(job);
		halo_loop__unwatch(job->workers->loop, job->log_io);
		job->log_io = NULL;
	}
}

static void on_log(void *ctx, uint32_t events)
{
	(void)events;
	read_log(ctx);
}

/* Keep up to HALO_ANSWER_MAX; what comes after is read and forgotten. */
static void keep(struct halo_job *job, const char *buf, size_t n)
{
	if (job->answer_len + n > HALO_ANSWER_MAX) {
		job->too_long = true;
		return;
	}
	if (job->answer_len + n > job->answer_size) {
		size_t size = 2 * (job->answer_len + n);
		char *bigger = realloc(job->answer, size);

		if (!bigger) {
			job->too_long = true;
			return;
		}
		job->answer = bigger;
		job->answer_size = size;
	}
	memcpy(job->answer + job->answer_len, buf, n);
	job->answer_len += n;
}

static void read_answer(struct halo_job *job)
{
	char buf[65536];
	ssize_t n;

	while ((n = read(job->answer_fd, buf, sizeof(buf))) > 0)
		keep(job, buf, n);
	if (n == 0) {
		halo_loop__unwatch(job->workers->loop, job->answer_io);
		job->answer_io = NULL;
	}
}

static void on_answer(void *ctx, uint32_t events)
{
	(void)events;
	read_answer(ctx);
}

static void job__kill(struct halo_job *job)
{
	if (kill(-job->pid, SIGKILL))
		kill(job->pid, SIGKILL);
}

static void on_wall(void *ctx)
{
	struct halo_job *job = ctx;

	job->timed_out = true;
	job__kill(job);
}

static uint64_t limit_of(const struct halo_workers *workers)
{
	return workers->limit_ns ? workers->limit_ns : HALO_JOB_LIMIT;
}

static void describe(const struct halo_job *job, const siginfo_t *info, char *buf, size_t size)
{
	if (job->timed_out)
		snprintf(buf, size, "the worker took longer than %llu s and was ended",
			 (unsigned long long)(limit_of(job->workers) / HALO_SEC));
	else if (info->si_code != CLD_EXITED)
		snprintf(buf, size, "the worker died: %s", strsignal(info->si_status));
	else if (info->si_status)
		snprintf(buf, size, "the worker failed with status %d", info->si_status);
	else if (job->too_long)
		snprintf(buf, size, "the worker's answer is longer than %lu bytes",
			 HALO_ANSWER_MAX);
}

static void on_exit_of_worker(void *ctx, uint32_t events)
{
	struct halo_job *job = ctx;
	struct halo_job_end end = {.dir_fd = job->dir_fd};
	siginfo_t info = {0};

	(void)events;
	if (waitid(P_PIDFD, job->pid_fd, &info, WEXITED | WNOHANG | WNOWAIT) || !info.si_pid)
		return;
	/* What it started must not write to the folder any more. Before its number is free again. */
	kill(-job->pid, SIGKILL);
	waitid(P_PIDFD, job->pid_fd, &info, WEXITED);
	read_answer(job);
	read_log(job);
	describe(job, &info, end.failure, sizeof(end.failure));
	end.answer = job->answer;
	end.answer_len = job->answer_len;
	end.seconds = (halo_loop__now() - job->started_ns) / 1e9;
	end.late = job->timed_out;
	job->workers->late += job->timed_out;
	job->workers->died += end.failure[0] && !job->timed_out;
	job->workers->running--;
	job->fn(job->ctx, &end);
	job__free(job);
}

void halo_job__cancel(struct halo_job *job)
{
	siginfo_t info;

	job__kill(job);
	waitid(P_PIDFD, job->pid_fd, &info, WEXITED);
	job->workers->running--;
	job__free(job);
}

static int watch(struct halo_job *job, struct halo_err *err)
{
	struct halo_loop *loop = job->workers->loop;
	int ret;

	ret = halo_loop__watch(loop, job->pid_fd, EPOLLIN, on_exit_of_worker, job, &job->pid_io);
	if (!ret)
		ret = halo_loop__watch(loop, job->answer_fd, EPOLLIN, on_answer, job,
				       &job->answer_io);
	if (!ret)
		ret = halo_loop__watch(loop, job->log_fd, EPOLLIN, on_log, job, &job->log_io);
	if (ret)
		return halo_err__set(err, ret, "watching a worker: %s", strerror(-ret));
	job->started_ns = halo_loop__now();
	halo_loop__arm(loop, &job->wall, job->started_ns + limit_of(job->workers), on_wall, job);
	return 0;
}

static int spawn(struct halo_job *job, int request_fd, int exe_fd, struct halo_err *err)
{
	__cleanup_fd int answer_end = -1;
	__cleanup_fd int log_end = -1;
	struct halo_worker w = {
		.opt_fd = job->workers->opt_fd,
		.uid = job->workers->uid,
		.gid = job->workers->gid,
		.urgent = job->workers->urgent,
		.parent = getpid(),
	};
	int answer[2], log[2];

	if (pipe2(answer, O_CLOEXEC))
		return halo_err__set(err, -errno, "making a pipe: %s", strerror(errno));
	job->answer_fd = answer[0];
	answer_end = answer[1];
	if (pipe2(log, O_CLOEXEC))
		return halo_err__set(err, -errno, "making a pipe: %s", strerror(errno));
	job->log_fd = log[0];
	log_end = log[1];
	fcntl(job->answer_fd, F_SETFL, O_NONBLOCK);
	fcntl(job->log_fd, F_SETFL, O_NONBLOCK);
	memcpy(w.fds, (int[]){request_fd, answer_end, log_end, exe_fd, job->dir_fd}, sizeof(w.fds));
	job->pid = fork();
	if (job->pid < 0)
		return halo_err__set(err, -errno, "starting a worker: %s", strerror(errno));
	if (!job->pid)
		halo_worker__exec(&w);
	setpgid(job->pid, job->pid);
	job->pid_fd = syscall(SYS_pidfd_open, job->pid, 0);
	if (job->pid_fd >= 0)
		return 0;
	job__kill(job);
	waitpid(job->pid, NULL, 0);
	return halo_err__set(err, -errno, "watching a worker: %s", strerror(errno));
}

int halo_job__start(struct halo_workers *workers, json_object *request, int exe_fd, halo_job_fn fn,
		    void *ctx, struct halo_job **out, struct halo_err *err)
{
	struct halo_job *job = calloc(1, sizeof(*job));
	__cleanup_fd int request_fd = -1;
	int ret;

	if (!job)
		return halo_err__set(err, -ENOMEM, "out of memory");
	job->workers = workers;
	job->number = ++workers->started;
	job->fn = fn;
	job->ctx = ctx;
	job->pid_fd = job->answer_fd = job->log_fd = job->dir_fd = -1;
	ret = make_request(request, &request_fd, err);
	if (!ret)
		ret = make_dir(job, err);
	if (!ret)
		ret = spawn(job, request_fd, exe_fd, err);
	if (ret) {
		job__free(job);
		return ret;
	}
	workers->running++;
	ret = watch(job, err);
	if (ret) {
		halo_job__cancel(job);
		return ret;
	}
	*out = job;
	return 0;
}
