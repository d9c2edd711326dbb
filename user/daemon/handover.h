/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_HANDOVER_H
#define HALO_HANDOVER_H

/*
 * What a daemon that is killed leaves to the next one, in the store beside arenas and slots: which
 * programs are enrolled, which images their arenas hold, what their sections run. One file per
 * program; those of programs that are no longer enrolled are removed.
 */
#include "core.h"

/* Write the program's record if it has changed. Called often. */
void halo_handover__save(struct halo_program *p);
void halo_handover__remove(const struct halo_program *p);

/* Right after the arena was opened: what an earlier daemon had in it and knew of the program. */
void halo_handover__load(struct halo_program *p);

/* Once, when the daemon starts: enroll again what was enrolled, remove files that nobody uses. */
void halo_handover__restore(struct halo_daemon *d);

#endif
