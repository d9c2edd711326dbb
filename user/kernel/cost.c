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

/* The iterator notes what runs where at this moment; reading it through runs it. */
static int adopt_running(struct halo_kernel *k)
{
	struct bpf_link *link = bpf_program__attach_iter(k->skel->progs.halo_adopt, NULL);
	char buf[64];
	ssize_t n;
	int fd, err;

	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0) {
		bpf_link__destroy(link);
		return fd;
	}
	while ((n = read(fd, buf, sizeof(buf))) > 0 || (n < 0 && errno == EAGAIN))
		;
	err = n < 0 ? -errno : 0;
	close(fd);
	bpf_link__destroy(link);
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
	int err = clear_slices(k);

	if (err)
		return err;
	k->switch_link = bpf_program__attach(k->skel->progs.halo_switch);
	if (!k->switch_link)
		return -errno;
	err = adopt_running(k);
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
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = args, .ctx_size_in = sizeof(*args));
	int err = bpf_prog_test_run_opts(bpf_program__fd(k->skel->progs.halo_cost_switch), &run);

	return err ? err : (int)run.retval;
}

int halo_kernel__cost_switch(struct halo_kernel *k, uint32_t family, uint32_t arm,
			     uint64_t ns[HALO_MAX_ARMS])
{
	struct halo_cost_args args = {.family = family, .arm = arm};
	const struct timespec pause = {0, RETRY_NS};
	uint64_t deadline = now_ns() + SWITCH_NS;
	int err;

	if (arm >= HALO_MAX_ARMS)
		return -EINVAL;
	/* A CPU is about to account: in less than a microsecond, or when its hypervisor lets it. */
	while ((err = try_switch(k, &args)) == -EAGAIN && now_ns() < deadline)
		nanosleep(&pause, NULL);
	if (!err)
		memcpy(ns, args.ns, sizeof(args.ns));
	return err;
}

void halo_kernel__cost_end(struct halo_kernel *k, uint32_t family)
{
	if (bpf_map__delete_elem(k->skel->maps.halo_cost, &family, sizeof(family), 0))
		return;
	if (!--k->audits)
		detach(k);
}
