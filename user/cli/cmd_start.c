// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include <halo/attach.h>

#include "../daemon/daemon.h"
#include "../lib/log.h"
#include "../daemon/job.h"
#include "client.h"
#include "json.h"
#include "paths.h"

#define LOG_PATH      HALO_RUN_DIR "/log"
#define START_TIMEOUT 60 /* seconds until the daemon must serve */

struct start_args {
	bool foreground;
	bool allow_unsafe_kernel;
	const char *btf;
	unsigned int rate_hz;
	unsigned int job_limit;
	const char *knobs_dir; /* NULL: the one that belongs to the executable */
};

#define OPT_ALLOW_UNSAFE_KERNEL 256

static int set(int key, const char *value, void *input)
{
	struct start_args *args = input;
	unsigned long n;
	char *end;

	if (key == 'F') {
		args->foreground = true;
		return 0;
	}
	if (key == OPT_ALLOW_UNSAFE_KERNEL) {
		args->allow_unsafe_kernel = true;
		return 0;
	}
	if (key == 'k') {
		args->knobs_dir = value;
		return 0;
	}
	if (key == 'b') {
		args->btf = value;
		return 0;
	}
	n = strtoul(value, &end, 10);
	if (value[0] < '0' || value[0] > '9' || *end || n < 1 ||
	    n > (key == 'r' ? 10000 : HALO_JOB_LIMIT_MAX))
		return -EINVAL;
	*(key == 'r' ? &args->rate_hz : &args->job_limit) = n;
	return 0;
}

static int open_log(struct halo_err *err)
{
	int fd;

	/* Programs of all users connect to the socket in there. */
	if (mkdir(HALO_RUN_DIR, 0755) && errno != EEXIST)
		return halo_err__set(err, -errno, "make %s: %s", HALO_RUN_DIR, strerror(errno));
	fd = open(LOG_PATH, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return halo_err__set(err, -errno, "open %s: %s", LOG_PATH, strerror(errno));
	return fd;
}

/* In the child: what is left of the terminal and of the caller's files goes. */
static int detach(int log_fd, int ready_fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || setsid() < 0 || chdir("/") || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(log_fd, STDOUT_FILENO) < 0 || dup2(log_fd, STDERR_FILENO) < 0)
		return -errno;
	ready_fd = fcntl(ready_fd, F_DUPFD_CLOEXEC, 64);
	if (ready_fd < 0 || close_range(3, ready_fd - 1, 0) || close_range(ready_fd + 1, ~0U, 0))
		return -errno;
	umask(022);
	return ready_fd;
}

static void run_detached(struct halo_daemon_opts *opts, int log_fd, int ready_fd)
{
	struct halo_err err = {};
	int ret = detach(log_fd, ready_fd);

	if (ret < 0)
		exit(CLI_FAILED);
	opts->ready_fd = ret;
	ret = halo_daemon__run(opts, &err);
	if (ret)
		halo_err__print(&err);
	exit(ret ? CLI_FAILED : CLI_OK);
}

/* Read up to the end of the stream. Number of bytes, or -errno. */
static ssize_t read_all(int fd, char *buf, size_t size)
{
	struct timespec now;
	size_t used = 0;
	time_t deadline;
	ssize_t n;

	clock_gettime(CLOCK_MONOTONIC, &now);
	deadline = now.tv_sec + START_TIMEOUT;
	while (used < size) {
		struct pollfd pfd = {.fd = fd, .events = POLLIN};

		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec >= deadline)
			return -ETIMEDOUT;
		if (poll(&pfd, 1, (deadline - now.tv_sec) * 1000) < 1)
			continue;
		n = read(fd, buf + used, size - used);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			break;
		used += n > 0 ? n : 0;
	}
	return used;
}

static int wait_ready(int fd, pid_t child, struct halo_err *err)
{
	char buf[4096];
	ssize_t n = read_all(fd, buf, sizeof(buf) - 1);
	json_object *obj = NULL;
	int ret = 0;

	if (n > 0) {
		buf[n] = '\0';
		obj = json_tokener_parse(buf);
	}
	if (halo_err__from_json(err, obj)) {
		ret = err->code;
	} else if (!json_object_is_type(obj, json_type_object)) {
		ret = n < 0 ? n : -ECHILD;
		halo_err__set(err, ret,
			      n == -ETIMEDOUT ? "the daemon is not ready after a minute"
					      : "the daemon ended before it was ready");
		halo_err__remedy(err, "see %s", LOG_PATH);
	}
	if (ret) {
		kill(child, SIGTERM);
		waitpid(child, NULL, ret == -ETIMEDOUT ? WNOHANG : 0);
	}
	json_object_put(obj);
	return ret;
}

static int start_detached(struct halo_daemon_opts *opts, pid_t *child, struct halo_err *err)
{
	__cleanup_fd int log_fd = open_log(err), read_fd = -1, write_fd = -1;
	int fds[2];

	if (log_fd < 0)
		return log_fd;
	if (pipe2(fds, O_CLOEXEC))
		return halo_err__set(err, -errno, "pipe: %s", strerror(errno));
	read_fd = fds[0];
	write_fd = fds[1];
	fflush(NULL);
	*child = fork();
	if (*child < 0)
		return halo_err__set(err, -errno, "fork: %s", strerror(errno));
	if (*child == 0)
		run_detached(opts, log_fd, write_fd);
	zclose(&write_fd);
	return wait_ready(read_fd, *child, err);
}

/* CLI_OK when there is none and one may be started. */
static enum cli_exit check_none(struct halo_err *err)
{
	enum cli_exit ret;
	json_object *pong;

	if (geteuid() != 0) {
		halo_err__set(err, -EPERM, "the daemon needs root");
		halo_err__cause(err,
				"it loads BPF programs and attaches to processes of all users");
		halo_err__remedy(err, "sudo halo-bpf start");
		return CLI_PRIVILEGE;
	}
	ret = client__call("ping", NULL, &pong, err);
	if (ret == CLI_NO_DAEMON)
		return CLI_OK;
	if (ret == CLI_OK) {
		halo_err__set(err, -EALREADY, "halo-bpf runs already, as process %ld",
			      js__int(pong, "pid"));
		halo_err__remedy(err, "sudo halo-bpf stop, if it is to start anew");
		json_object_put(pong);
	}
	return CLI_FAILED;
}

static void report(const struct cli *cli, pid_t pid)
{
	json_object *obj;

	if (!cli->json) {
		printf("halo-bpf runs as process %d; its log is %s\n", pid, LOG_PATH);
		return;
	}
	obj = json_object_new_object();
	json_object_object_add(obj, "pid", json_object_new_int(pid));
	json_object_object_add(obj, "log", json_object_new_string(LOG_PATH));
	cli__print_json(cli, obj);
	json_object_put(obj);
}

const struct argp_option cmd_start_options[] = {
	{"foreground", 'F', NULL, 0, "stay in the foreground, log to standard error", 0},
	{"rate", 'r', "HZ", 0,
	 "samples per CPU and second, 1 to 10000; the prime below is taken (default 199)", 0},
	{"job-limit", 'l', "SECONDS", 0,
	 "end a compilation that takes longer, 1 to 3600 (default 60)", 0},
	{"knobs", 'k', "DIR", 0,
	 "folder with configs.json and knobs.json, the configurations to try", 0},
	{"allow-unsafe-kernel", OPT_ALLOW_UNSAFE_KERNEL, NULL, 0,
	 "use hardware counters on kernels that are known to freeze by it", 0},
	{"btf", 'b', "FILE", 0, "BTF of this kernel, where /sys/kernel/btf has none", 0},
	{},
};

enum cli_exit cmd_start(struct cli *cli, const struct cmd *cmd, int argc, char **argv)
{
	struct start_args start = {};
	struct cli_args args = {.set = set, .input = &start};
	struct halo_daemon_opts opts = {.ready_fd = -1};
	__cleanup_free char *opt_path = NULL, *knobs_dir = NULL;
	struct halo_err err = {};
	enum cli_exit ret;
	pid_t pid = 0;

	cli__parse(cli, cmd, argc, argv, &args);
	ret = check_none(&err);
	if (ret)
		return cli__fail(cli, ret, &err);

	opts.rate_hz = start.rate_hz;
	opts.job_limit = start.job_limit;
	opts.allow_unsafe_kernel = start.allow_unsafe_kernel;
	opts.btf = start.btf;
	opts.opt_path = opt_path = paths__find_opt();
	knobs_dir = start.knobs_dir ? realpath(start.knobs_dir, NULL) : paths__find_knobs();
	if (start.knobs_dir && !knobs_dir) {
		halo_err__set(&err, -errno, "reading %s: %s", start.knobs_dir, strerror(errno));
		halo_err__remedy(&err, "give the folder of configurations with --knobs");
		return cli__fail(cli, CLI_FAILED, &err);
	}
	opts.knobs_dir = knobs_dir;
	if (start.foreground) {
		halo_log__detect_journal();
		if (halo_daemon__run(&opts, &err))
			return cli__fail(cli, CLI_FAILED, &err);
		return CLI_OK;
	}
	if (start_detached(&opts, &pid, &err))
		return cli__fail(cli, CLI_FAILED, &err);
	report(cli, pid);
	return CLI_OK;
}
