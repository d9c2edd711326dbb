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

struct conn {
	TAILQ_ENTRY(conn) link;
	struct halo_control *control;
	int fd;
	struct halo_io *io;
	struct halo_timer timer;
	char *answer; /* NULL: the request is not here yet */
	bool stop;    /* end the daemon once it is answered */
};

struct halo_control {
	struct halo_daemon *daemon;
	int fd;
	struct halo_io *io;
	char *buf; /* MESSAGE_MAX bytes, for the request being read */
	TAILQ_HEAD(, conn) conns;
	unsigned int n_conns;
};

static void conn__free(struct conn *c)
{
	struct halo_control *control = c->control;

	halo_loop__cancel(control->daemon->loop, &c->timer);
	halo_loop__unwatch(control->daemon->loop, c->io);
	zclose(&c->fd);
	TAILQ_REMOVE(&control->conns, c, link);
	control->n_conns--;
	if (c->stop)
		halo_loop__stop(control->daemon->loop);
	free(c->answer);
	free(c);
}

static json_object *answer_error(const struct halo_err *err)
{
	return halo_err__to_json(err);
}

static json_object *serve(struct conn *c, const char *text, size_t len)
{
	struct halo_request request;
	struct halo_err err = {0};
	json_object *answer = NULL;

	if (!halo_control__parse(text, len, &request, &err))
		answer = halo_command__run(c->control->daemon, &request, &c->stop, &err);
	halo_control__free_request(&request);
	return answer ? answer : answer_error(&err);
}

/* One message each way; the kernel takes an answer as a whole or not at all. */
static void send_answer(struct conn *c)
{
	struct halo_err err = {0};
	ssize_t n;

	n = send(c->fd, c->answer, strlen(c->answer), MSG_NOSIGNAL | MSG_DONTWAIT);
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

static void on_request(struct conn *c)
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
	c->answer = strdup(json_object_to_json_string_ext(answer, JSON_C_TO_STRING_PLAIN));
	json_object_put(answer);
	if (c->answer)
		send_answer(c);
	else
		conn__free(c);
}

static void on_conn(void *ctx, uint32_t events)
{
	struct conn *c = ctx;

	if (c->answer && (events & EPOLLOUT))
		send_answer(c);
	else if (c->answer)
		conn__free(c);
	else
		on_request(c);
}

static void on_timeout(void *ctx)
{
	conn__free(ctx);
}

static void add_conn(struct halo_control *control, int fd)
{
	struct halo_loop *loop = control->daemon->loop;
	struct conn *c = calloc(1, sizeof(*c));
	int size = MESSAGE_MAX;

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
	struct conn *c;

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
