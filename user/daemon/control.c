// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "../lib/util.h"
#include "commands.h"
#include "control.h"
#include "socket.h"

#define LOG_TAG "control"
#include "../lib/log.h"

#define MAX_CONNS   64
#define MESSAGE_MAX (1UL << 20)
#define TIMEOUT_NS  (5 * HALO_SEC) /* for a peer's request, and for taking the answer */

struct halo_conn {
	TAILQ_ENTRY(halo_conn) link;
	struct halo_control *control;
	int fd;
	struct halo_io *io;
	struct halo_timer timer;
	char *answer;		   /* NULL: not known yet */
	int answer_fd;		   /* goes with the answer; -1: none */
	void (*hangup)(void *ctx); /* NULL: the request is not here yet */
	void *hangup_ctx;
	bool stop; /* end the daemon once it is answered */
};

struct halo_control {
	struct halo_daemon *daemon;
	int fd;
	struct halo_io *io;
	char *buf; /* MESSAGE_MAX bytes, for the request being read */
	TAILQ_HEAD(, halo_conn) conns;
	unsigned int n_conns;
};

static void conn__free(struct halo_conn *c)
{
	struct halo_control *control = c->control;

	halo_loop__cancel(control->daemon->loop, &c->timer);
	halo_loop__unwatch(control->daemon->loop, c->io);
	zclose(&c->fd);
	zclose(&c->answer_fd);
	TAILQ_REMOVE(&control->conns, c, link);
	control->n_conns--;
	if (c->stop)
		halo_loop__stop(control->daemon->loop);
	free(c->answer);
	free(c);
}

static void on_timeout(void *ctx)
{
	conn__free(ctx);
}

static json_object *answer_error(const struct halo_err *err)
{
	return halo_err__to_json(err);
}

static json_object *serve(struct halo_conn *c, const char *text, size_t len)
{
	struct halo_request request;
	struct halo_err err = {0};
	json_object *answer = NULL;

	request.conn = c;
	if (!halo_control__parse(text, len, &request, &err))
		answer = halo_command__run(c->control->daemon, &request, &c->stop, &err);
	halo_control__free_request(&request);
	if (!answer && c->hangup)
		return NULL;
	return answer ? answer : answer_error(&err);
}

static ssize_t send_with_fd(int sock, char *text, int fd)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct iovec iov = {text, strlen(text)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *cmsg;

	if (fd >= 0) {
		msg.msg_control = control.buf;
		msg.msg_controllen = sizeof(control.buf);
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	}
	return sendmsg(sock, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* One message each way; the kernel takes an answer as a whole or not at all. */
static void send_answer(struct halo_conn *c)
{
	struct halo_err err = {0};
	ssize_t n;

	n = send_with_fd(c->fd, c->answer, c->answer_fd);
	if (n < 0 && errno == EAGAIN) {
		halo_loop__rewatch(c->control->daemon->loop, c->io, EPOLLOUT);
		return;
	}
	if (n < 0 && errno == EMSGSIZE) {
		json_object *obj;

		halo_err__set(&err, -EMSGSIZE, "the answer of %zu bytes is too long to be sent",
			      strlen(c->answer));
		halo_err__remedy(&err, "raise net.core.wmem_max, or unenroll programs");
		obj = answer_error(&err);
		n = send(c->fd, json_object_to_json_string(obj),
			 strlen(json_object_to_json_string(obj)), MSG_NOSIGNAL | MSG_DONTWAIT);
		json_object_put(obj);
	}
	conn__free(c);
}

static void on_request(struct halo_conn *c)
{
	char *buf = c->control->buf;
	json_object *answer;
	struct halo_err err = {0};
	ssize_t n = recv(c->fd, buf, MESSAGE_MAX, MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		conn__free(c);
		return;
	}
	if ((size_t)n > MESSAGE_MAX) {
		halo_err__set(&err, -EMSGSIZE, "the request is longer than %lu bytes", MESSAGE_MAX);
		answer = answer_error(&err);
	} else {
		answer = serve(c, buf, n);
	}
	if (answer)
		halo_control__answer(c, answer, -1);
}

void halo_control__wait(struct halo_conn *c, void (*hangup)(void *ctx), void *ctx)
{
	halo_loop__cancel(c->control->daemon->loop, &c->timer);
	c->hangup = hangup;
	c->hangup_ctx = ctx;
}

void halo_control__answer(struct halo_conn *c, json_object *answer, int fd)
{
	struct halo_loop *loop = c->control->daemon->loop;

	c->answer = strdup(json_object_to_json_string_ext(answer, JSON_C_TO_STRING_PLAIN));
	c->answer_fd = fd;
	json_object_put(answer);
	halo_loop__arm(loop, &c->timer, halo_loop__now() + TIMEOUT_NS, on_timeout, c);
	if (c->answer)
		send_answer(c);
	else
		conn__free(c);
}

static void on_conn(void *ctx, uint32_t events)
{
	struct halo_conn *c = ctx;

	if (c->answer && (events & EPOLLOUT))
		send_answer(c);
	else if (c->answer)
		conn__free(c);
	else if (c->hangup)
		c->hangup(c->hangup_ctx);
	else
		on_request(c);
}

static void add_conn(struct halo_control *control, int fd)
{
	struct halo_loop *loop = control->daemon->loop;
	struct halo_conn *c = calloc(1, sizeof(*c));
	int size = MESSAGE_MAX;

	if (c)
		c->answer_fd = -1;
	if (!c || control->n_conns >= MAX_CONNS ||
	    halo_loop__watch(loop, fd, EPOLLIN, on_conn, c, &c->io)) {
		free(c);
		close(fd);
		return;
	}
	/* As large as the system allows: an answer is one message. */
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	c->control = control;
	c->fd = fd;
	TAILQ_INSERT_TAIL(&control->conns, c, link);
	control->n_conns++;
	halo_loop__arm(loop, &c->timer, halo_loop__now() + TIMEOUT_NS, on_timeout, c);
}

static void on_connect(void *ctx, uint32_t events)
{
	struct halo_control *control = ctx;
	pid_t pid;
	uid_t uid;
	int fd;

	(void)events;
	while ((fd = halo_socket__accept(control->fd, &pid, &uid)) >= 0) {
		if (uid == 0) {
			add_conn(control, fd);
			continue;
		}
		log_warn("user %u (process %d) was turned away", uid, pid);
		close(fd);
	}
}

int halo_control__open(struct halo_daemon *d, struct halo_control **out, struct halo_err *err)
{
	struct halo_control *c = calloc(1, sizeof(*c));
	int ret;

	if (!c)
		return halo_err__set(err, -ENOMEM, "out of memory");
	c->daemon = d;
	TAILQ_INIT(&c->conns);
	c->fd = -1;
	c->buf = malloc(MESSAGE_MAX);
	if (!c->buf) {
		ret = halo_err__set(err, -ENOMEM, "out of memory");
		goto fail;
	}
	ret = halo_socket__listen(HALO_CONTROL_SOCKET, 0600, err);
	if (ret < 0)
		goto fail;
	c->fd = ret;
	ret = halo_loop__watch(d->loop, c->fd, EPOLLIN, on_connect, c, &c->io);
	if (ret) {
		halo_err__set(err, ret, "watching the control socket: %s", strerror(-ret));
		goto fail;
	}
	*out = c;
	return 0;
fail:
	zclose(&c->fd);
	free(c->buf);
	free(c);
	return ret;
}

void halo_control__close(struct halo_control *control)
{
	struct halo_conn *c;

	if (!control)
		return;
	while ((c = TAILQ_FIRST(&control->conns)))
		conn__free(c);
	halo_loop__unwatch(control->daemon->loop, control->io);
	zclose(&control->fd);
	unlink(HALO_CONTROL_SOCKET);
	free(control->buf);
	free(control);
}
