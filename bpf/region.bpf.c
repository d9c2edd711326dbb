// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
#include "region.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

__noinline __u32 halo_find_region(__u64 space, __u64 addr)
{
	__u32 first = space, low = 0, high = space >> 32, middle, at;
	struct halo_region *region;

	for (int i = 0; i < REGION_STEPS && low < high; i++) {
		middle = low + (high - low) / 2;
		at = first + middle;
		region = bpf_map_lookup_elem(&halo_region, &at);
		if (!region)
			return 0;
		if (addr < region->start_addr)
			high = middle;
		else if (addr >= region->end_addr)
			low = middle + 1;
		else
			return at + 1;
	}
	return 0;
}
