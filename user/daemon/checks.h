/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_CHECKS_H
#define HALO_CHECKS_H

/* What the daemon needs to start besides the kernel's features, each tried as it does, for doctor. */
#include "../kernel/kernel.h"

extern const struct halo_feature halo_daemon_checks[];
extern const size_t halo_daemon_checks_count;

#endif
