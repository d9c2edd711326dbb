// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>

#include "../lib/util.h"
#include "loop.h"

#define BATCH 64

struct halo_io {
	TAILQ_ENTRY(halo_io) link;
	int fd;
	halo_io_fn fn;
	void *ctx;
	bool dead; /* unwatched; an event of it may still be in the batch being served */
};

TAILQ_HEAD(io_list, halo_io);
TAILQ_HEAD(timer_list, halo_timer);

#define TIMERS_NS (20 * HALO_MS)

struct halo_loop {
	int epoll_fd, timer_fd;
	bool stopping;
	uint64_t set_ns; /* what timer_fd is set to, 0: nothing */
	struct io_list ios, dead;
	struct timer_list timers; /* earliest first */
};

uint64_t halo_loop__now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * HALO_SEC + now.tv_nsec;
}

int halo_loop__new(struct halo_loop **out)
{
	struct epoll_event ev = {.events = EPOLLIN};
	struct halo_loop *loop = calloc(1, sizeof(*loop));
	int err;

	if (!loop)
		return -ENOMEM;
	TAILQ_INIT(&loop->ios);
	TAILQ_INIT(&loop->dead);
	TAILQ_INIT(&loop->timers);
	loop->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->timer_fd < 0 || loop->epoll_fd < 0 ||
	    epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, loop->timer_fd, &ev)) {
		err = -errno;
		halo_loop__free(loop);
		return err;
	}
	*out = loop;
	return 0;
}

static void free_list(struct io_list *list)
{
	struct halo_io *io;

	while ((io = TAILQ_FIRST(list))) {
		TAILQ_REMOVE(list, io, link);
		free(io);
	}
}

void halo_loop__free(struct halo_loop *loop)
{
	if (!loop)
		return;
	free_list(&loop->ios);
	free_list(&loop->dead);
	zclose(&loop->timer_fd);
	zclose(&loop->epoll_fd);
	free(loop);
}

void halo_loop__stop(struct halo_loop *loop)
{
	loop->stopping = true;
}

int halo_loop__watch(struct halo_loop *loop, int fd, uint32_t events, halo_io_fn fn, void *ctx,
		     struct halo_io **out)
{
	struct halo_io *io = calloc(1, sizeof(*io));
	struct epoll_event ev = {.events = events, .data.ptr = io};

	if (!io)
		return -ENOMEM;
	io->fd = fd;
	io->fn = fn;
	io->ctx = ctx;
	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &ev)) {
		free(io);
		return -errno;
	}
	TAILQ_INSERT_TAIL(&loop->ios, io, link);
	*out = io;
	return 0;
}

int halo_loop__rewatch(struct halo_loop *loop, struct halo_io *io, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = io};

	return epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, io->fd, &ev) ? -errno : 0;
}

void halo_loop__unwatch(struct halo_loop *loop, struct halo_io *io)
{
	if (!io || io->dead)
		return;
	epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, io->fd, NULL);
	io->dead = true;
	TAILQ_REMOVE(&loop->ios, io, link);
	TAILQ_INSERT_TAIL(&loop->dead, io, link);
}

void halo_loop__arm(struct halo_loop *loop, struct halo_timer *timer, uint64_t at_ns,
		    halo_timer_fn fn, void *ctx)
{
	uint64_t soonest = halo_loop__now() + 1;
	struct halo_timer *pos;

	halo_loop__cancel(loop, timer);
	/* Never a time that run_timers() takes for due in the round that arms it. */
	timer->at_ns = at_ns > soonest ? at_ns : soonest;
	timer->fn = fn;
	timer->ctx = ctx;
	timer->armed = true;
	TAILQ_FOREACH(pos, &loop->timers, link)
		if (pos->at_ns > timer->at_ns)
			break;
	if (pos)
		TAILQ_INSERT_BEFORE(pos, timer, link);
	else
		TAILQ_INSERT_TAIL(&loop->timers, timer, link);
}

void halo_loop__cancel(struct halo_loop *loop, struct halo_timer *timer)
{
	if (!timer->armed)
		return;
	TAILQ_REMOVE(&loop->timers, timer, link);
	timer->armed = false;
}

/* What is due, but not for long: descriptors have their turn between timers that take their time. */
static void run_timers(struct halo_loop *loop)
{
	uint64_t now = halo_loop__now();
	struct halo_timer *timer;

	while (!loop->stopping && (timer = TAILQ_FIRST(&loop->timers)) && timer->at_ns <= now &&
	       halo_loop__now() - now < TIMERS_NS) {
		halo_loop__cancel(loop, timer);
		timer->fn(timer->ctx);
	}
}

static int set_timer_fd(struct halo_loop *loop)
{
	struct halo_timer *first = TAILQ_FIRST(&loop->timers);
	uint64_t at = first ? first->at_ns : 0;
	struct itimerspec spec = {
		.it_value = {.tv_sec = at / HALO_SEC, .tv_nsec = at % HALO_SEC},
	};

	if (at == loop->set_ns)
		return 0;
	loop->set_ns = at;
	return timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL) ? -errno : 0;
}

static void serve(struct halo_loop *loop, const struct epoll_event *events, int n)
{
	uint64_t expirations;

	for (int i = 0; i < n && !loop->stopping; i++) {
		struct halo_io *io = events[i].data.ptr;

		if (!io) {
			if (read(loop->timer_fd, &expirations, sizeof(expirations)) > 0)
				loop->set_ns = 0;
			continue;
		}
		if (!io->dead)
			io->fn(io->ctx, events[i].events);
	}
}

int halo_loop__run(struct halo_loop *loop)
{
	struct epoll_event events[BATCH];
	int n, err;

	while (!loop->stopping) {
		err = set_timer_fd(loop);
		if (err)
			return err;
		n = epoll_wait(loop->epoll_fd, events, BATCH, -1);
		if (n < 0 && errno != EINTR)
			return -errno;
		serve(loop, events, n);
		run_timers(loop);
		free_list(&loop->dead);
	}
	return 0;
}
