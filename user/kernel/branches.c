// SPDX-License-Identifier: BSD-2-Clause
/* Branch stacks: the room that they need, and stacks that were recorded elsewhere. */
#include <string.h>

#include "feed.h"
#include "internal.h"

#define SKYLAKE_DEPTH 32

/* Does any CPU record branches? When the programs are loaded no sampler is there yet to tell. */
static bool has_records(void)
{
	int n_cpus = libbpf_num_possible_cpus(), fd = -1;
	struct halo_pmus pmus = {0};

	if (halo_pmus__read("", n_cpus, &pmus))
		return false;
	for (size_t i = 0; i < halo_perf_events_count && fd < 0; i++) {
		const struct halo_perf_event *event = &halo_perf_events[i];

		for (int cpu = 0; cpu < n_cpus && fd < 0; cpu++) {
			const struct halo_pmu *pmu = halo_pmus__of(&pmus, cpu);

			if (event->tier == HALO_TIER_BRANCHES && halo_perf__applies(event, pmu))
				fd = halo_perf__open(event, pmu, cpu, HALO_DEFAULT_RATE);
		}
	}
	halo_pmus__free(&pmus);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int halo_branches__prepare(struct halo_kernel *k)
{
	struct bpf_map *const tables[] = {
		k->skel->maps.halo_edge_a,
		k->skel->maps.halo_edge_b,
		k->skel->maps.halo_range_a,
		k->skel->maps.halo_range_b,
	};
	int err = bpf_program__set_autoload(k->skel->progs.halo_branch_feed, k->feed);

	err = err ?: bpf_program__set_autoload(k->skel->progs.halo_walk_self, k->feed);
	if (!err && !k->feed)
		err = bpf_map__set_max_entries(k->skel->maps.halo_feed, 1);
	if (err || k->feed || has_records())
		return err;
	/* Tables are allocated in advance: none that stays empty. */
	for (size_t i = 0; i < ARRAY_SIZE(tables) && !err; i++)
		err = bpf_map__set_max_entries(tables[i], 1);
	return err;
}

void halo_branches__on(struct halo_kernel *k, const struct halo_pmu *pmu)
{
	uint32_t filter = HALO_FILTER_ON | HALO_FILTER_WRONG_PATH | HALO_FILTER_TWICE;

	/* Recordings of 32 entries that are not architectural came with Skylake. */
	if (pmu && pmu->unit == HALO_BRANCHES_INTEL && pmu->branches == SKYLAKE_DEPTH)
		filter |= HALO_FILTER_SKYLAKE;
	k->skel->bss->halo_branch_filter |= filter;
}

bool halo_kernel__has_branches(const struct halo_kernel *k)
{
	return k->skel->bss->halo_branch_filter;
}

int halo_kernel__feed(struct halo_kernel *k, const struct halo_feed *stacks, uint32_t n,
		      uint32_t filter)
{
	int map = bpf_map__fd(k->skel->maps.halo_feed);
	int prog = bpf_program__fd(k->skel->progs.halo_branch_feed);

	if (n > HALO_MAX_FEED)
		return -E2BIG;
	for (uint32_t i = 0; i < n; i++)
		if (bpf_map_update_elem(map, &i, &stacks[i], BPF_ANY))
			return -errno;
	return halo_feed__run(prog, 0, n, filter);
}
