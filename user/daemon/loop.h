/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_LOOP_H
#define HALO_LOOP_H

/*
 * The daemon's event loop: one thread, descriptors by epoll, timers by one timerfd that is set to
 * the earliest of them. Callbacks run one at a time and may add or remove anything, themselves
 * included.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct halo_loop;
struct halo_io;

typedef void (*halo_io_fn)(void *ctx, uint32_t events);
typedef void (*halo_timer_fn)(void *ctx);

/* Embedded in its owner, zeroed at first. The owner cancels it before it goes away. */
struct halo_timer {
	TAILQ_ENTRY(halo_timer) link;
	uint64_t at_ns;
	halo_timer_fn fn;
	void *ctx;
	bool armed;
};

int halo_loop__new(struct halo_loop **out);
void halo_loop__free(struct halo_loop *loop);
/* Serve until halo_loop__stop(). 0 or -errno. */
int halo_loop__run(struct halo_loop *loop);
void halo_loop__stop(struct halo_loop *loop);

/* @events as in epoll_ctl(2). The descriptor stays the caller's, who unwatches before closing. */
int halo_loop__watch(struct halo_loop *loop, int fd, uint32_t events, halo_io_fn fn, void *ctx,
		     struct halo_io **out);
int halo_loop__rewatch(struct halo_loop *loop, struct halo_io *io, uint32_t events);
/* NULL is allowed. */
void halo_loop__unwatch(struct halo_loop *loop, struct halo_io *io);

/* CLOCK_MONOTONIC, ns. */
uint64_t halo_loop__now(void);
/* Call fn(ctx) once at @at_ns; an armed timer is moved. */
void halo_loop__arm(struct halo_loop *loop, struct halo_timer *timer, uint64_t at_ns,
		    halo_timer_fn fn, void *ctx);
void halo_loop__cancel(struct halo_loop *loop, struct halo_timer *timer);

#define HALO_MS	 1000000ULL
#define HALO_SEC 1000000000ULL

#endif
