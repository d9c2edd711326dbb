// SPDX-License-Identifier: BSD-2-Clause
/* Exact on-CPU time of families under audit. */
#include <string.h>
#include <time.h>

#define LOG_TAG "kernel"
#include "../lib/log.h"
#include "internal.h"

#define SWITCH_NS 100000000ULL /* that the CPUs have to account what they gave to a family */
#define RETRY_NS  5000

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* Slices of an earlier attachment would count as if they had gone on all the time. */
static int clear_slices(struct halo_kernel *k)
{
	const struct halo_slice none = {0};
	int cpus = libbpf_num_possible_cpus(), err;

	for (int cpu = 0; cpu < cpus && cpu < HALO_MAX_CPUS; cpu++) {
		err = bpf_map__update_elem(k->skel->maps.halo_slice, &cpu, sizeof(cpu), &none,
					   sizeof(none), BPF_ANY);
		if (err)
			return err;
	}
	return 0;
}

static int run(const struct bpf_program *prog, struct halo_cost_args *args)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(*args));
	int err = bpf_prog_test_run_opts(bpf_program__fd(prog), &opts);

	return err ?: (int)opts.retval;
}

/* On each CPU that is online, with its interrupts off. */
static int run_everywhere(const struct bpf_program *prog, struct halo_cost_args *args)
{
	int cpus = libbpf_num_possible_cpus(), err = 0;

	for (int cpu = 0; cpu < cpus && cpu < HALO_MAX_CPUS && !err; cpu++) {
		LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(*args),
			    .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = cpu);

		err = bpf_prog_test_run_opts(bpf_program__fd(prog), &opts);
		/* Offline. */
		if (err == -ENXIO)
			err = 0;
		else if (!err)
			err = (int)opts.retval;
	}
	return err;
}

static void detach(struct halo_kernel *k)
{
	bpf_link__destroy(k->switch_link);
	k->switch_link = NULL;
	clear_slices(k);
}

static int attach(struct halo_kernel *k)
{
	const struct bpf_program *prog = k->skel->progs.halo_switch;
	struct halo_cost_args none = {0};
	int err = clear_slices(k);

	if (err)
		return err;
	if (k->no_exchange)
		prog = k->skel->progs.halo_swch_plain;
	k->switch_link = bpf_program__attach(prog);
	if (!k->switch_link)
		return -errno;
	err = run_everywhere(k->skel->progs.halo_adopt, &none);
	if (err)
		detach(k);
	return err;
}

int halo_kernel__cost_begin(struct halo_kernel *k, uint32_t family, uint32_t arm)
{
	struct halo_cost cost = {.arm = arm};
	int err;

	if (!family || arm >= HALO_MAX_ARMS)
		return -EINVAL;
	err = k->audits ? 0 : attach(k);
	if (err)
		return err;
	cost.since_ns = now_ns();
	err = bpf_map__update_elem(k->skel->maps.halo_cost, &family, sizeof(family), &cost,
				   sizeof(cost), BPF_NOEXIST);
	if (!err)
		k->audits++;
	else if (!k->audits)
		detach(k);
	return err;
}

static int try_switch(struct halo_kernel *k, struct halo_cost_args *args)
{
	int err;

	if (!k->no_exchange)
		return run(k->skel->progs.halo_cost_switch, args);
	args->now_ns = now_ns();
	err = run_everywhere(k->skel->progs.halo_flush, args);
	return err ? err : run(k->skel->progs.halo_arm, args);
}

int halo_kernel__cost_switch(struct halo_kernel *k, uint32_t family, uint32_t arm,
			     uint64_t ns[HALO_MAX_ARMS])
{
	struct halo_cost_args args = {.family = family, .arm = arm};
	const struct timespec pause = {0, RETRY_NS};
	uint64_t deadline = now_ns() + SWITCH_NS;
	struct halo_cost cost;
	int err;

	if (arm >= HALO_MAX_ARMS)
		return -EINVAL;
	/* A CPU is about to account: in less than a microsecond, or when its hypervisor lets it. */
	while ((err = try_switch(k, &args)) == -EAGAIN && now_ns() < deadline)
		nanosleep(&pause, NULL);
	if (!err)
		err = bpf_map__lookup_elem(k->skel->maps.halo_cost, &family, sizeof(family), &cost,
					   sizeof(cost), 0);
	if (!err)
		memcpy(ns, cost.switched_ns, sizeof(cost.switched_ns));
	return err;
}

void halo_kernel__cost_end(struct halo_kernel *k, uint32_t family)
{
	if (bpf_map__delete_elem(k->skel->maps.halo_cost, &family, sizeof(family), 0))
		return;
	if (!--k->audits)
		detach(k);
}
