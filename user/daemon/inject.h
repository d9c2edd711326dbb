/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_DAEMON_INJECT_H
#define HALO_DAEMON_INJECT_H

/* The parts of attaching a running process; inject.c puts them together. */
#include "attach.h"
#include "tracee.h"

struct halo_injection {
	struct halo_tracee tracee;
	const uint8_t *code; /* HALO_ATTACH_CODE_SIZE bytes, as the file has them */
	struct halo_offer offer;
	int fds[HALO_MAP_COUNT]; /* ours */
	int pidfd;
};

/* With the thread stopped at its pair of sockets: hand it the offer. *socket: our end, or -errno. */
int halo_inject__offer(struct halo_injection *inj, const int pair[2], int *socket,
		       struct halo_err *err);
/* With the thread let go: wait for it to have closed all, and hear whether it has its mappings. */
int halo_inject__answer(struct halo_injection *inj, int socket, struct halo_err *err);

/* -ECANCELED: its environment says that it is to be left alone. */
int halo_inject__check_allowed(const struct halo_injection *inj, struct halo_err *err);
/* Before: the slots are the program's own, slots and stub are as in the file, nobody is at it. */
int halo_inject__check_before(const struct halo_injection *inj, const struct halo_family *f,
			      struct halo_err *err);
/* After: /proc/PID/maps shows the three mappings, of our files. */
int halo_inject__check_after(const struct halo_injection *inj, struct halo_err *err);

/* The daemon's view of the slot pages, data pages first; *len in bytes. */
const uint64_t *halo_family__slots(const struct halo_family *f, uint64_t *len);

#endif
