/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_DAEMON_INJECT_H
#define HALO_DAEMON_INJECT_H

/* The parts of attaching a running process; inject.c puts them together. */
#include "attach.h"
#include "tracee.h"

struct halo_injection {
	struct halo_tracee tracee;
	uint64_t scratch; /* HALO_SCRATCH_SIZE bytes of the program's, run-time address */
	struct halo_offer offer;
	int fds[HALO_MAP_COUNT]; /* ours */
	int pidfd;
};

/*
 * With the thread stopped: hand it the descriptors, have it make the mappings and close them. On
 * failure whatever was opened or mapped in the program is gone again.
 */
int halo_inject__map(struct halo_injection *inj, struct halo_err *err);

/* Before: the slots are the program's own and hold what the family's file holds. */
int halo_inject__check_before(pid_t pid, const struct halo_family *f,
			      const struct halo_offer *offer, struct halo_err *err);
/* After: /proc/PID/maps shows the three mappings, of our files. */
int halo_inject__check_after(const struct halo_injection *inj, struct halo_err *err);

/* The daemon's view of the slot pages, data pages first; *len in bytes. */
const uint64_t *halo_family__slots(const struct halo_family *f, uint64_t *len);

#endif
