/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_ATTACHING_H
#define HALO_ATTACHING_H

/*
 * Attaching a process from outside (inject.c). Most take milliseconds, for which the daemon waits; a
 * process may keep its helper waiting for seconds, and the daemon does its work meanwhile.
 */
#include "core.h"

/* Of a struct halo_process: attach it, unless it is, or is not to be. A timer's function. */
void halo_attaching__begin(void *proc);
/* Take no more interest in an attempt that goes on. */
void halo_attaching__cancel(struct halo_process *proc);
/* The same, but wait a moment for one that is about to succeed. */
void halo_attaching__settle(struct halo_process *proc);

#endif
