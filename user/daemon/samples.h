/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_SAMPLES_H
#define HALO_SAMPLES_H

#include "core.h"

/* Take what the kernel side counted since the last call into the programs' profiles. */
/* Take the branches of drains, from now on. */
void halo_samples__open(struct halo_daemon *d);
void halo_samples__drain(struct halo_daemon *d);

#endif
