/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_WORKER_H
#define HALO_WORKER_H

#include <stdbool.h>
#include <sys/types.h>

/* What a worker process is made of. The descriptors become 0 to 4 in this order. */
struct halo_worker {
	int opt_fd; /* the executable to run */
	int fds[5]; /* request, answer, log, executable, folder */
	uid_t uid;
	gid_t gid;
	pid_t parent; /* the worker dies with it */
	bool urgent;  /* at the caller's priority, not below everything that matters */
};

/* In a child process: become the worker. Never returns. */
void halo_worker__exec(const struct halo_worker *w) __attribute__((noreturn));

#endif
