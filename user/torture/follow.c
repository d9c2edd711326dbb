// SPDX-License-Identifier: BSD-2-Clause
/* Processes of the program: their stubs come to our own socket, or one is attached from outside. */
#define LOG_TAG "torture"

#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "../daemon/offer.h"
#include "../daemon/socket.h"
#include "../lib/log.h"
#include "../lib/util.h"
#include "internal.h"

/* A stub that is being served. Test suites start many processes at once, so none is waited for. */
struct torture_peer {
	LIST_ENTRY(torture_peer) link;
	struct torture *t;
	int fd;
	struct halo_io *io;
	pid_t pid;
	struct halo_family *family; /* NULL: its hello is to come */
};

static bool receive(int fd, void *msg, size_t size)
{
	return recv(fd, msg, size, MSG_DONTWAIT | MSG_TRUNC) == (ssize_t)size;
}

static int new_family(struct torture *t, pid_t pid, struct halo_layout *layout,
		      struct halo_family **family, struct halo_err *err)
{
	int ret;

	ret = halo_layout__read(pid, t->prepared, layout, err);
	if (ret)
		return ret;
	return halo_family__create(t->store, ++t->n_families, t->prepared, layout, family, err);
}

static void add(struct torture *t, pid_t pid, struct halo_family *family)
{
	struct halo_err err = {0};

	if (!t->counting)
		torture__know_rseq(t, halo_rseq__offset(pid));
	/* Not to be freed: the process has it mapped, and goes on with its original code. */
	if (torture__add(t, pid, family, &err))
		log_warn("process %d: %s", pid, err.what);
	else
		torture__switch_new(t, family);
}

static int send_offer(struct torture_peer *peer, struct halo_err *err)
{
	int fds[HALO_MAP_COUNT] = {-1, -1, -1};
	struct halo_offer offer;
	int ret;

	ret = halo_family__offer(peer->family, peer->t->arena, &offer, fds, err);
	if (!ret && (ret = halo_offer__send(peer->fd, &offer, fds)))
		halo_err__set(err, ret, "sending the offer: %s", strerror(-ret));
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		zclose(&fds[i]);
	return ret;
}

static int take_hello(struct torture_peer *peer, struct halo_err *err)
{
	struct halo_layout layout;
	struct halo_hello hello;
	int ret;

	if (!receive(peer->fd, &hello, sizeof(hello)) || hello.magic != HALO_ATTACH_MAGIC ||
	    hello.version != HALO_FORMAT_VERSION)
		return halo_err__set(err, -EPROTO, "its stub's hello is not understood");
	ret = new_family(peer->t, peer->pid, &layout, &peer->family, err);
	return ret ? ret : send_offer(peer, err);
}

static int take_done(struct torture_peer *peer, struct halo_err *err)
{
	struct halo_done done;
	char buf[128];

	if (!receive(peer->fd, &done, sizeof(done)) || done.magic != HALO_ATTACH_MAGIC)
		return halo_err__set(err, -EPROTO, "its stub did not wait for the offer");
	if (halo_done__failure(&done, buf, sizeof(buf)))
		return halo_err__set(err, -ECANCELED, "%s", buf);
	add(peer->t, peer->pid, peer->family);
	peer->family = NULL;
	return 0;
}

static void peer__free(struct torture_peer *peer)
{
	LIST_REMOVE(peer, link);
	halo_loop__unwatch(peer->t->loop, peer->io);
	zclose(&peer->fd);
	halo_family__free(peer->family);
	free(peer);
}

static void on_message(void *ctx, uint32_t events)
{
	struct torture_peer *peer = ctx;
	bool greeted = peer->family;
	struct halo_err err = {0};
	int ret;

	(void)events;
	ret = greeted ? take_done(peer, &err) : take_hello(peer, &err);
	/* Another prepared program, which this one has started, is none of our business. */
	if (ret && ret != -ESTALE) {
		peer->t->report->missed++;
		snprintf(peer->t->report->refused, sizeof(peer->t->report->refused), "%.250s",
			 err.what);
	}
	if (ret || greeted)
		peer__free(peer);
}

static void on_connect(void *ctx, uint32_t events)
{
	struct torture *t = ctx;
	struct torture_peer *peer;
	pid_t pid;
	uid_t uid;
	int fd;

	(void)events;
	while ((fd = halo_socket__accept(t->socket_fd, &pid, &uid)) >= 0) {
		peer = calloc(1, sizeof(*peer));
		if (!peer) {
			close(fd);
			continue;
		}
		*peer = (struct torture_peer){.t = t, .fd = fd, .pid = pid};
		LIST_INSERT_HEAD(&t->peers, peer, link);
		if (halo_loop__watch(t->loop, fd, EPOLLIN, on_message, peer, &peer->io))
			peer__free(peer);
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

void torture__stop_listening(struct torture *t)
{
	while (!LIST_EMPTY(&t->peers))
		peer__free(LIST_FIRST(&t->peers));
	halo_loop__unwatch(t->loop, t->socket_io);
	zclose(&t->socket_fd);
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
