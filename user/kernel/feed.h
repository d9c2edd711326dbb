/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_KERNEL_FEED_H
#define HALO_KERNEL_FEED_H

/* The test program halo_branch_feed, for those who have nothing but its descriptor. */
#include <stdint.h>

#include <halo_bpf.h>

/* Where a daemon that was started with HALO_BRANCH_FEED=1 pins it. */
#define HALO_FEED_PIN "/sys/fs/bpf/halo/halo_feed_prog"

/* Count @n stacks of halo_feed from @first on. 0 or -errno; -ESRCH: a process is not in halo_proc. */
int halo_feed__run(int prog, uint32_t first, uint32_t n, uint32_t filter);

#endif
