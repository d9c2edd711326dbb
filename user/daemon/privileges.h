/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_PRIVILEGES_H
#define HALO_PRIVILEGES_H

#include <sys/types.h>

#include "../lib/err.h"

/* -EPERM, with the remedy, unless started by root with the capabilities that are needed. */
int halo_privileges__check(struct halo_err *err);

/* Give up every capability that the daemon doesn't need once it serves. */
int halo_privileges__drop(struct halo_err *err);

/*
 * CAP_SYS_ADMIN stays permitted but not effective; these make it so for a few lines: a network
 * namespace for a worker, and mounts when the daemon starts and stops.
 */
int halo_privileges__raise_admin(void);
void halo_privileges__lower_admin(void);

/* Whom workers run as: "halo-bpf" where such a user exists, else a number that is no user's. */
void halo_privileges__worker(uid_t *uid, gid_t *gid);

#endif
