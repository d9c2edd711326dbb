// SPDX-License-Identifier: BSD-2-Clause
/* Which event takes the samples: the best that this machine really opens. */
#include <stdio.h>
#include <string.h>

#define LOG_TAG "kernel"
#include "../lib/log.h"
#include "internal.h"

static const struct tier {
	const char *name;
	enum halo_perf_kind kind;
	bool in_nmi;
} tiers[] = {
	{"cycles", HALO_PERF_CYCLES, true},
	{"cpu-clock", HALO_PERF_CPU_CLOCK, false},
};

void halo_tiers__detach(struct halo_kernel *k)
{
	for (size_t i = 0; i < k->n_samplers; i++)
		bpf_link__destroy(k->samplers[i]);
	free(k->samplers);
	k->samplers = NULL;
	k->n_samplers = 0;
}

static int attach_cpu(struct halo_kernel *k, const struct tier *tier, int cpu)
{
	int fd = halo_perf__open(tier->kind, cpu, k->rate_hz);
	struct bpf_link *link;
	int err;

	if (fd < 0)
		return fd;
	link = bpf_program__attach_perf_event(k->skel->progs.halo_sample, fd);
	if (!link) {
		err = -errno;
		close(fd);
		return err;
	}
	k->samplers[k->n_samplers++] = link;
	return 0;
}

/* On all CPUs that are online. One that goes offline meanwhile is no failure. */
static int attach_tier(struct halo_kernel *k, const struct tier *tier)
{
	__cleanup_free bool *online = NULL;
	int n, err;

	err = halo_perf__online(&online, &n);
	if (err)
		return err;
	k->samplers = calloc(n, sizeof(*k->samplers));
	if (!k->samplers)
		return -ENOMEM;
	for (int cpu = 0; cpu < n; cpu++) {
		if (!online[cpu])
			continue;
		err = attach_cpu(k, tier, cpu);
		if (err && err != -ENODEV) {
			halo_tiers__detach(k);
			return err;
		}
	}
	return k->n_samplers ? 0 : -ENODEV;
}

static void add_reason(struct halo_kernel *k, const struct tier *tier, const char *why)
{
	size_t n = strlen(k->tier_reason);

	snprintf(k->tier_reason + n, sizeof(k->tier_reason) - n, "%s%s: %s", n ? "; " : "",
		 tier->name, why);
}

int halo_tiers__attach(struct halo_kernel *k, struct halo_err *err)
{
	char why[256];
	int ret = -ENOENT;

	for (size_t i = 0; i < ARRAY_SIZE(tiers); i++) {
		if (tiers[i].in_nmi && halo_denylist__blocks(why, sizeof(why))) {
			add_reason(k, &tiers[i], why);
			continue;
		}
		ret = attach_tier(k, &tiers[i]);
		if (!ret) {
			k->tier = tiers[i].name;
			log_info("sampling by %s at %u Hz on %zu CPUs", k->tier, k->rate_hz,
				 k->n_samplers);
			return 0;
		}
		add_reason(k, &tiers[i], halo_perf__strerror(ret));
	}
	halo_err__set(err, ret, "No event to sample with");
	halo_err__cause(err, "%.*s", (int)sizeof(err->cause) - 1, k->tier_reason);
	halo_err__remedy(err,
			 "run as root on a kernel with CONFIG_PERF_EVENTS; in a container, allow "
			 "perf_event_open");
	return ret;
}
