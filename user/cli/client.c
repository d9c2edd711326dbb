// SPDX-License-Identifier: BSD-2-Clause
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <halo/attach.h>

#include "client.h"

static enum cli_exit connect_error(int error, const char *path, struct halo_err *err)
{
	switch (error) {
	case ENOENT:
	case ECONNREFUSED:
		halo_err__set(err, -error, "halo-bpf is not running");
		halo_err__cause(err, "nobody serves %s", path);
		halo_err__remedy(err, "sudo halo-bpf start");
		return CLI_NO_DAEMON;
	case EACCES:
	case EPERM:
		halo_err__set(err, -error, "not allowed to talk to the daemon");
		halo_err__cause(err, "it answers root only");
		halo_err__remedy(err, "run the command with sudo");
		return CLI_PRIVILEGE;
	}
	halo_err__set(err, -error, "connect to %s: %s", path, strerror(error));
	return CLI_FAILED;
}

static enum cli_exit connect_to(const char *path, int *out, struct halo_err *err)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct timeval timeout = {.tv_sec = CLIENT_TIMEOUT};
	__cleanup_fd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return connect_error(errno, path, err);
	if (strlen(path) >= sizeof(addr.sun_path))
		return connect_error(ENAMETOOLONG, path, err);
	strcpy(addr.sun_path, path);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		return connect_error(errno, path, err);
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)))
		return connect_error(errno, path, err);
	*out = take_fd(fd);
	return CLI_OK;
}

static int receive(int fd, char *buf, struct halo_err *err)
{
	ssize_t n = recv(fd, buf, CLIENT_MESSAGE_MAX, MSG_TRUNC);

	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
		halo_err__set(err, -ETIMEDOUT, "the daemon does not answer");
		halo_err__cause(err, "waited %d seconds", CLIENT_TIMEOUT);
		halo_err__remedy(err, "see " HALO_RUN_DIR "/log");
		return -ETIMEDOUT;
	}
	if (n < 0)
		return halo_err__set(err, -errno, "receive from the daemon: %s", strerror(errno));
	if (n == 0) {
		halo_err__set(err, -ECONNRESET, "the daemon closed the connection");
		halo_err__remedy(err, "see " HALO_RUN_DIR "/log");
		return -ECONNRESET;
	}
	if ((size_t)n > CLIENT_MESSAGE_MAX)
		return halo_err__set(err, -EMSGSIZE, "the daemon's answer is too long");
	buf[n] = '\0';
	return 0;
}

static enum cli_exit exchange(int fd, json_object *request, json_object **answer,
			      struct halo_err *err)
{
	const char *text = json_object_to_json_string_ext(request, JSON_C_TO_STRING_PLAIN);
	__cleanup_free char *buf = malloc(CLIENT_MESSAGE_MAX + 1);
	json_object *obj;

	if (!buf) {
		halo_err__set(err, -ENOMEM, "out of memory");
		return CLI_FAILED;
	}
	if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0) {
		halo_err__set(err, -errno, "send to the daemon: %s", strerror(errno));
		return CLI_FAILED;
	}
	if (receive(fd, buf, err))
		return CLI_FAILED;
	obj = json_tokener_parse(buf);
	if (!json_object_is_type(obj, json_type_object)) {
		halo_err__set(err, -EPROTO, "the daemon's answer is not a JSON object");
		json_object_put(obj);
		return CLI_FAILED;
	}
	if (halo_err__from_json(err, obj)) {
		json_object_put(obj);
		return CLI_FAILED;
	}
	*answer = obj;
	return CLI_OK;
}

enum cli_exit client__call_at(const char *path, const char *cmd, json_object *args,
			      json_object **answer, struct halo_err *err)
{
	json_object *request = json_object_new_object();
	__cleanup_fd int fd = -1;
	enum cli_exit ret;

	*answer = NULL;
	json_object_object_add(request, "cmd", json_object_new_string(cmd));
	if (args)
		json_object_object_add(request, "args", args);
	ret = connect_to(path, &fd, err);
	if (!ret)
		ret = exchange(fd, request, answer, err);
	json_object_put(request);
	return ret;
}

enum cli_exit client__call(const char *cmd, json_object *args, json_object **answer,
			   struct halo_err *err)
{
	return client__call_at(HALO_CONTROL_SOCKET, cmd, args, answer, err);
}

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
	(void)sig;
	interrupted = 1;
}

/* Closing our end tells the daemon that this is enough. */
static ssize_t receive_interruptibly(int sock, struct msghdr *msg)
{
	ssize_t n;

	do {
		n = recvmsg(sock, msg, MSG_CMSG_CLOEXEC);
		if (n < 0 && errno == EINTR && interrupted)
			shutdown(sock, SHUT_WR);
	} while (n < 0 && errno == EINTR);
	return n;
}

static int take_descriptor(struct msghdr *msg)
{
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg);
	int fd;

	if (!cmsg || cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
		return -1;
	memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
	return fd;
}

static enum cli_exit receive_recording(int sock, int *fd, struct halo_err *err)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	char text[4096];
	struct iovec iov = {text, sizeof(text) - 1};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.buf,
		.msg_controllen = sizeof(control.buf),
	};
	ssize_t n = receive_interruptibly(sock, &msg);
	json_object *obj;

	if (n <= 0) {
		halo_err__set(err, n ? -errno : -ECONNRESET, "the daemon sent no recording");
		halo_err__remedy(err, "see " HALO_RUN_DIR "/log");
		return CLI_FAILED;
	}
	*fd = take_descriptor(&msg);
	text[n] = '\0';
	obj = json_tokener_parse(text);
	if (!halo_err__from_json(err, obj) && *fd < 0)
		halo_err__set(err, -EPROTO, "the daemon's answer has no recording");
	json_object_put(obj);
	return *fd < 0 ? CLI_FAILED : CLI_OK;
}

enum cli_exit client__record(json_object *args, unsigned int seconds, int *fd, struct halo_err *err)
{
	struct timeval timeout = {.tv_sec = seconds + CLIENT_TIMEOUT};
	struct sigaction action = {.sa_handler = on_interrupt};
	json_object *request = json_object_new_object();
	__cleanup_fd int sock = -1;
	const char *text;
	enum cli_exit ret;

	json_object_object_add(request, "cmd", json_object_new_string("profile"));
	json_object_object_add(request, "args", args);
	text = json_object_to_json_string_ext(request, JSON_C_TO_STRING_PLAIN);
	ret = connect_to(HALO_CONTROL_SOCKET, &sock, err);
	if (!ret && (setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) ||
		     send(sock, text, strlen(text), MSG_NOSIGNAL) < 0)) {
		halo_err__set(err, -errno, "send to the daemon: %s", strerror(errno));
		ret = CLI_FAILED;
	}
	json_object_put(request);
	if (ret)
		return ret;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	return receive_recording(sock, fd, err);
}

pid_t client__daemon_pid(void)
{
	__cleanup_fd int fd = -1;
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (connect_to(HALO_CONTROL_SOCKET, &fd, NULL) ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		return 0;
	return cred.pid;
}

enum cli_exit client__show(struct cli *cli, const char *cmd, json_object *args,
			   void (*print)(json_object *answer))
{
	json_object *answer;
	struct halo_err err;
	enum cli_exit ret = client__call(cmd, args, &answer, &err);

	if (ret)
		return cli__fail(cli, ret, &err);
	if (cli->json)
		cli__print_json(cli, answer);
	else
		print(answer);
	json_object_put(answer);
	return CLI_OK;
}
