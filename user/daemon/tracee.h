/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_DAEMON_TRACEE_H
#define HALO_DAEMON_TRACEE_H

/*
 * One thread of a running program, stopped so that it makes system calls for the daemon.
 *
 * Only the injecting process uses this (see inject.c): when that process ends, the kernel detaches
 * whatever it still traces, in any state. Order of use: pick, stop, syscall…, release.
 */
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "../lib/err.h"

struct halo_tracee {
	pid_t pid, tid;
	uint64_t syscall_addr;	       /* of a syscall instruction in the program's text */
	struct user_regs_struct saved; /* as the thread had them when it stopped */
	uint64_t mask;		       /* its blocked signals */
	uint64_t stopped_at_ns;
	bool borrowed;	/* registers and mask are ours, not the thread's */
	bool owes_stop; /* a SIGSTOP came meanwhile; it is sent again after release */
};

/*
 * Choose the thread of t->pid that minds least: one that runs in user mode, else one whose system
 * call can be begun again. Fills t->tid. Refuses processes that must be left alone.
 */
int halo_tracee__pick(struct halo_tracee *t, struct halo_err *err);

/*
 * Stop the thread. -ETIMEDOUT: it did not stop in time and is still seized; the injecting process
 * has to end. -EAGAIN: it stands where it must not be diverted; try again. On any error but
 * -ETIMEDOUT it is left as it was.
 */
int halo_tracee__stop(struct halo_tracee *t, struct halo_err *err);

/*
 * Have the thread make a system call; *result is what the kernel returns. Returns 0, or -errno when
 * the thread can't be controlled any more (it has been killed).
 */
int halo_tracee__syscall(struct halo_tracee *t, long nr, const uint64_t args[6], int64_t *result);

/* Give the thread back as it was and let it go. */
void halo_tracee__release(struct halo_tracee *t);

int halo_tracee__read(const struct halo_tracee *t, uint64_t addr, void *buf, size_t len);
int halo_tracee__write(const struct halo_tracee *t, uint64_t addr, const void *buf, size_t len);

/* Can system call @nr, having returned EINTR for want of a reason, just be made once more? */
bool halo_tracee__repeatable(long nr);
/* A signal that the thread handles waits to be delivered. */
bool halo_tracee__signalled(const struct halo_tracee *t);

uint64_t halo_tracee__now(void); /* ns, CLOCK_MONOTONIC */

#endif
