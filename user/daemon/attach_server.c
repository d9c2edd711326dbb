// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "../lib/util.h"
#include "attach_server.h"
#include "identity.h"
#include "module.h"
#include "offer.h"
#include "process.h"
#include "program.h"
#include "socket.h"

#define LOG_TAG "attach"
#include "../lib/log.h"

#define MAX_PEERS  256
#define TIMEOUT_NS (2 * HALO_SEC) /* for a peer's whole conversation */

struct peer {
	TAILQ_ENTRY(peer) link;
	struct halo_attach_server *server;
	int fd;
	struct halo_io *io;
	struct halo_timer timer;
	pid_t pid;
	/* Once the offer is out: */
	uint32_t exe_id; /* the program may be unenrolled meanwhile; 0: no offer made */
	struct halo_group *group;
	struct halo_layout layout;
};

struct halo_attach_server {
	struct halo_daemon *daemon;
	int fd;
	struct halo_io *io;
	TAILQ_HEAD(, peer) peers;
	unsigned int n_peers;
};

/* The program that the offer was made for, if it is still enrolled. */
static struct halo_program *program_of(const struct peer *peer)
{
	struct halo_program *p;

	TAILQ_FOREACH(p, &peer->server->daemon->programs, link)
		if (p->exe_id == peer->exe_id)
			return p;
	return NULL;
}

/* The same, if it is enrolled no more. */
static struct halo_program *retired_of(const struct peer *peer)
{
	struct halo_program *p;

	TAILQ_FOREACH(p, &peer->server->daemon->retired, link)
		if (p->exe_id == peer->exe_id)
			return p;
	return NULL;
}

static void peer__free(struct peer *peer)
{
	struct halo_attach_server *s = peer->server;
	struct halo_program *p = peer->exe_id ? program_of(peer) : NULL;
	struct halo_process *proc;

	if (p && peer->group) {
		proc = halo_process__find(p, peer->pid);
		if (proc)
			halo_process__announce(p, peer->pid, proc->group, &peer->layout);
		halo_group__free(p, peer->group);
	} else if (peer->group) {
		p = retired_of(peer);
		halo_group__free(p, peer->group);
		halo_program__forget(p);
	}
	halo_loop__cancel(s->daemon->loop, &peer->timer);
	halo_loop__unwatch(s->daemon->loop, peer->io);
	zclose(&peer->fd);
	TAILQ_REMOVE(&s->peers, peer, link);
	s->n_peers--;
	free(peer);
}

static int make_offer(struct peer *peer, struct halo_program *p, struct halo_err *err)
{
	int fds[HALO_MAP_COUNT] = {-1, -1, -1};
	struct halo_offer offer;
	int ret;

	ret = halo_group__new(p, &peer->layout, &peer->group, err);
	if (ret)
		return ret;
	peer->exe_id = p->exe_id;
	ret = halo_process__announce(p, peer->pid, peer->group, &peer->layout);
	if (ret)
		return halo_err__set(err, ret, "telling the kernel side: %s", strerror(-ret));
	ret = halo_family__offer(peer->group->family, p->arena, &offer, fds, err);
	if (!ret) {
		ret = halo_offer__send(peer->fd, &offer, fds);
		if (ret)
			halo_err__set(err, ret, "sending the offer: %s", strerror(-ret));
	}
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		zclose(&fds[i]);
	return ret;
}

/*
 * Which of the process's modules speaks, and where it lies. What the process says of that only tells
 * where to look.
 */
static struct halo_program *find_speaker(struct peer *peer, uint64_t slots, struct halo_err *err)
{
	struct halo_daemon *d = peer->server->daemon;
	__cleanup_fd int exe = halo_identity__open_exe(peer->pid), library = -1;
	struct halo_program *p = exe >= 0 ? halo_identity__program(d, exe) : NULL;

	if (p && !halo_identity__layout(p, peer->pid, &peer->layout, err) &&
	    peer->layout.bias + p->prepared->stub.slots_begin == slots)
		return p;
	library = halo_module__open_at(peer->pid, slots);
	p = library >= 0 ? halo_identity__program(d, library) : NULL;
	if (!p || !p->prepared->is_library ||
	    halo_identity__layout_at(p, peer->pid, slots, &peer->layout, err))
		return NULL;
	return p;
}

static bool on_hello(struct peer *peer, const void *msg, ssize_t len)
{
	struct halo_daemon *d = peer->server->daemon;
	struct halo_process *proc;
	struct halo_program *p;
	struct halo_hello hello;
	struct halo_err err = {0};

	if (len != sizeof(hello))
		return false;
	memcpy(&hello, msg, sizeof(hello));
	if (hello.magic != HALO_ATTACH_MAGIC || hello.version != HALO_FORMAT_VERSION)
		return false;
	/* Its exec comes before its hello, so let it be known first. */
	halo_kernel__poll(d->kernel);
	p = find_speaker(peer, hello.slots, &err);
	if (!p || p->watched)
		return false;
	proc = halo_process__find(p, peer->pid);
	/* Enrolled, and attached from outside, while it was connecting; or a second copy of a library. */
	if (proc && (proc->attaching || halo_process__is_attached(proc)))
		return false;
	if (!proc)
		halo_process__exec(p, peer->pid, 0);
	if (make_offer(peer, p, &err)) {
		log_warn("process %d: %s", peer->pid, err.what);
		return false;
	}
	return true;
}

static void on_done(struct peer *peer, const void *msg, ssize_t len)
{
	struct halo_program *p = program_of(peer);
	struct halo_group *group = peer->group;
	struct halo_process *proc;
	struct halo_done done;
	const char *reason;
	char buf[128];

	if (!p || len != sizeof(done))
		return;
	memcpy(&done, msg, sizeof(done));
	if (done.magic != HALO_ATTACH_MAGIC)
		return;
	reason = halo_done__failure(&done, buf, sizeof(buf));
	proc = halo_process__find(p, peer->pid);
	/* Attached from outside in the meantime, so that its stub must have failed. */
	if (proc && proc->group && proc->group != group)
		return;
	if (reason && proc)
		halo_process__refused(proc, reason);
	if (reason)
		return;
	peer->group = NULL;
	if (proc)
		halo_process__attached(proc, group, &peer->layout, "by its stub");
	else
		halo_group__orphaned(p, group);
}

static void on_peer(void *ctx, uint32_t events)
{
	struct peer *peer = ctx;
	char msg[sizeof(struct halo_done) + sizeof(struct halo_hello)];
	ssize_t n = recv(peer->fd, msg, sizeof(msg), MSG_DONTWAIT);

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0 && !peer->exe_id && on_hello(peer, msg, n))
		return;
	if (n > 0 && peer->exe_id)
		on_done(peer, msg, n);
	peer__free(peer);
}

static void on_timeout(void *ctx)
{
	peer__free(ctx);
}

static void add_peer(struct halo_attach_server *s, int fd, pid_t pid)
{
	struct peer *peer = calloc(1, sizeof(*peer));
	struct halo_loop *loop = s->daemon->loop;

	if (!peer || s->n_peers >= MAX_PEERS ||
	    halo_loop__watch(loop, fd, EPOLLIN, on_peer, peer, &peer->io)) {
		free(peer);
		close(fd);
		return;
	}
	peer->server = s;
	peer->fd = fd;
	peer->pid = pid;
	TAILQ_INSERT_TAIL(&s->peers, peer, link);
	s->n_peers++;
	halo_loop__arm(loop, &peer->timer, halo_loop__now() + TIMEOUT_NS, on_timeout, peer);
}

static void on_connect(void *ctx, uint32_t events)
{
	struct halo_attach_server *s = ctx;
	pid_t pid;
	uid_t uid;
	int fd;

	(void)events;
	while ((fd = halo_socket__accept(s->fd, &pid, &uid)) >= 0)
		add_peer(s, fd, pid);
}

int halo_attach_server__open(struct halo_daemon *d, struct halo_attach_server **out,
			     struct halo_err *err)
{
	struct halo_attach_server *s = calloc(1, sizeof(*s));
	int ret;

	if (!s)
		return halo_err__set(err, -ENOMEM, "out of memory");
	s->daemon = d;
	TAILQ_INIT(&s->peers);
	/* The one socket for all users: programs of any of them may be enrolled. */
	s->fd = halo_socket__listen(HALO_ATTACH_SOCKET, 0666, err);
	if (s->fd < 0) {
		ret = s->fd;
		free(s);
		return ret;
	}
	ret = halo_loop__watch(d->loop, s->fd, EPOLLIN, on_connect, s, &s->io);
	if (ret) {
		halo_attach_server__close(s);
		return halo_err__set(err, ret, "watching the attach socket: %s", strerror(-ret));
	}
	*out = s;
	return 0;
}

void halo_attach_server__close(struct halo_attach_server *s)
{
	struct peer *peer;

	if (!s)
		return;
	while ((peer = TAILQ_FIRST(&s->peers)))
		peer__free(peer);
	halo_loop__unwatch(s->daemon->loop, s->io);
	zclose(&s->fd);
	unlink(HALO_ATTACH_SOCKET);
	free(s);
}
