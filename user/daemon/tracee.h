/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_DAEMON_TRACEE_H
#define HALO_DAEMON_TRACEE_H

/*
 * One thread of a running program, diverted to the attach code of its stub (user/stub/begin.S).
 *
 * Only the injecting process uses this (see inject.c): when that process ends, the kernel detaches
 * whatever it still traces, in any state, and in every state the thread finds back by itself. Order
 * of use: pick, stop, divert, let_go, put_back; release instead of divert, if it comes to that.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include <halo/prepared.h>

#include "../lib/err.h"

/* To be woken takes longer than what is waited for, so it is looked for as long as this at first. */
#define HALO_SPIN_NS 200000

struct halo_tracee {
	pid_t pid, tid;
	uint64_t code;		       /* the stub's attach code, run-time address */
	uint64_t scratch;	       /* its struct halo_scratch, the same */
	struct user_regs_struct saved; /* as the thread had them when it stopped */
	uint64_t mask;		       /* its blocked signals */
	uint64_t stopped_at_ns;
	bool hurry;		 /* it, and who traces it, may be given priority */
	struct halo_sched sched; /* its own */
	bool in_call;		 /* it was in a system call, and waits at its end to be put back */
	bool seized;		 /* traced still */
	bool owes_stop;		 /* a SIGSTOP came meanwhile; it is sent again afterwards */
};

/*
 * Choose the thread of t->pid that minds least: one that runs in user mode, else one whose system
 * call can be begun again. Fills t->tid. Refuses processes that must be left alone.
 */
int halo_tracee__pick(struct halo_tracee *t, struct halo_err *err);

/* Before the stop, so that it is short: priority for this process and, when diverted, the thread. */
void halo_tracee__hurry(struct halo_tracee *t);

/*
 * Stop the thread. -ETIMEDOUT: it did not stop in time and is still seized; the injecting process
 * has to end. -EAGAIN: it stands where it must not be diverted; try again. On any error but
 * -ETIMEDOUT it is left as it was.
 */
int halo_tracee__stop(struct halo_tracee *t, struct halo_err *err);

/* Give the stopped thread back as it was and let it go. */
void halo_tracee__release(struct halo_tracee *t);

/*
 * Have the stopped thread make the socket pair, and stop it there; pair: the program's descriptors.
 * Whether that fails or not, let_go and put_back have to follow.
 */
int halo_tracee__divert(struct halo_tracee *t, int pair[2], struct halo_err *err);
/* On with the stub's code. The thread is traced no more if it was in user mode. */
void halo_tracee__let_go(struct halo_tracee *t);
/* While the thread is not stopped on purpose: send it on if something else has stopped it. */
void halo_tracee__tend(struct halo_tracee *t);
/* The stub's code is done: back to where the thread stood, and let go. */
void halo_tracee__put_back(struct halo_tracee *t);

int halo_tracee__read(const struct halo_tracee *t, uint64_t addr, void *buf, size_t len);
int halo_tracee__write(const struct halo_tracee *t, uint64_t addr, const void *buf, size_t len);

/* Can system call @nr, having returned EINTR for want of a reason, just be made once more? */
bool halo_tracee__repeatable(long nr);
/* A signal that the thread handles waits to be delivered. */
bool halo_tracee__signalled(const struct halo_tracee *t);

uint64_t halo_tracee__now(void); /* ns, CLOCK_MONOTONIC */

#endif
