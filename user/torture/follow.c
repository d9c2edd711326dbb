// SPDX-License-Identifier: BSD-2-Clause
/* Processes of the program: their stubs come to our own socket, or one is attached from outside. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "../daemon/offer.h"
#include "../daemon/socket.h"
#include "../lib/util.h"
#include "internal.h"

#define WAIT_MS 2000 /* for what a stub sends */

static bool receive(int fd, void *msg, size_t size)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

	return poll(&poll_fd, 1, WAIT_MS) == 1 &&
	       recv(fd, msg, size, MSG_DONTWAIT | MSG_TRUNC) == (ssize_t)size;
}

static int new_family(struct torture *t, pid_t pid, struct halo_layout *layout,
		      struct halo_family **family, struct halo_err *err)
{
	int ret;

	if (t->n_processes == TORTURE_FAMILIES)
		return halo_err__set(err, -ENOSPC, "%d processes were attached already",
				     TORTURE_FAMILIES);
	ret = halo_layout__read(pid, t->prepared, layout, err);
	if (ret)
		return ret;
	return halo_family__create(t->store, t->n_processes + 1, t->prepared, layout, family, err);
}

static void add(struct torture *t, pid_t pid, struct halo_family *family)
{
	bool first = !t->n_processes;

	t->processes[t->n_processes] = (struct torture_process){.pid = pid, .family = family};
	__atomic_store_n(&t->n_processes, t->n_processes + 1, __ATOMIC_RELEASE);
	if (!first)
		return;
	t->rseq_offset = halo_rseq__offset(pid);
	if (t->opts->hold)
		t->held = kill(pid, SIGSTOP) == 0;
	torture__compile_next(t);
}

static int offer_to(struct torture *t, int fd, struct halo_family *family, struct halo_err *err)
{
	int fds[HALO_MAP_COUNT] = {-1, -1, -1};
	struct halo_offer offer;
	struct halo_done done;
	char buf[128];
	int ret;

	ret = halo_family__offer(family, t->arena, &offer, fds, err);
	if (!ret && (ret = halo_offer__send(fd, &offer, fds)))
		halo_err__set(err, ret, "sending the offer: %s", strerror(-ret));
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		zclose(&fds[i]);
	if (ret)
		return ret;
	if (!receive(fd, &done, sizeof(done)) || done.magic != HALO_ATTACH_MAGIC)
		return halo_err__set(err, -EPROTO, "its stub did not answer the offer");
	if (halo_done__failure(&done, buf, sizeof(buf)))
		return halo_err__set(err, -ECANCELED, "%s", buf);
	return 0;
}

static int attach_peer(struct torture *t, int fd, pid_t pid, struct halo_err *err)
{
	struct halo_family *family;
	struct halo_layout layout;
	struct halo_hello hello;
	int ret;

	if (!receive(fd, &hello, sizeof(hello)) || hello.magic != HALO_ATTACH_MAGIC ||
	    hello.version != HALO_FORMAT_VERSION)
		return halo_err__set(err, -EPROTO, "its stub's hello is not understood");
	ret = new_family(t, pid, &layout, &family, err);
	if (ret)
		return ret;
	ret = offer_to(t, fd, family, err);
	if (ret)
		halo_family__free(family);
	else
		add(t, pid, family);
	return ret;
}

static void on_connect(void *ctx, uint32_t events)
{
	struct torture *t = ctx;
	struct halo_err err = {0};
	pid_t pid;
	uid_t uid;
	int fd, ret;

	(void)events;
	while ((fd = halo_socket__accept(t->socket_fd, &pid, &uid)) >= 0) {
		ret = attach_peer(t, fd, pid, &err);
		/* Another prepared program, which this one has started, is none of our business. */
		if (ret && ret != -ESTALE)
			snprintf(t->report->refused, sizeof(t->report->refused), "%.250s",
				 err.what);
		close(fd);
	}
}

int torture__listen(struct torture *t, struct halo_err *err)
{
	int ret;

	t->socket_fd = halo_socket__listen(t->socket, 0666, err);
	if (t->socket_fd < 0)
		return t->socket_fd;
	ret = halo_loop__watch(t->loop, t->socket_fd, EPOLLIN, on_connect, t, &t->socket_io);
	return ret ? halo_err__set(err, ret, "watching a socket: %s", strerror(-ret)) : 0;
}

int torture__attach_pid(struct torture *t, struct halo_err *err)
{
	struct halo_family *family;
	struct halo_layout layout;
	unsigned int stopped_us;
	int ret;

	ret = new_family(t, t->opts->pid, &layout, &family, err);
	if (ret)
		return ret;
	ret = halo_inject__attach(t->opts->pid, t->prepared, &layout, family, t->arena, &stopped_us,
				  err);
	if (!ret) {
		add(t, t->opts->pid, family);
		return 0;
	}
	halo_family__free(family);
	if (ret == -EALREADY) {
		halo_err__cause(err, "the daemon attached it, or a torture before this one");
		halo_err__remedy(err, "start the program anew; unenroll it first");
	}
	return ret;
}
