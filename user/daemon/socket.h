/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_SOCKET_H
#define HALO_SOCKET_H

#include <sys/types.h>

#include "../lib/err.h"

/*
 * A listening SOCK_SEQPACKET socket at @path with @mode. Whatever lies there is replaced: only the
 * one daemon that holds the lock gets here. Returns the descriptor or -errno.
 */
int halo_socket__listen(const char *path, mode_t mode, struct halo_err *err);

/* Accept without blocking; who is at the other end. -1 and errno. */
int halo_socket__accept(int fd, pid_t *pid, uid_t *uid);

#endif
