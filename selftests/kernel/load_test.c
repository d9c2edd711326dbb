// SPDX-License-Identifier: BSD-2-Clause
/*
 * Each BPF program by itself: this kernel's verifier takes it, and how much work it is. Lines
 * "# verifier PROGRAM INSTRUCTIONS" are for selftests/vm/run.
 */
#include <stdio.h>
#include <string.h>

#include "../bpf/fixture.h"
#include "kernel/internal.h"
#include "lib/log.h"

#define LOG_SIZE (1 << 20)

/* With it, the kernel needs no more than the daemon asks it for. */
static const struct {
	const char *prog;
	bool (*has)(void);
	const char *lack;
} needs[] = {
	{"halo_exec", halo_features__has_exchange, "no atomic exchange: halo_exec_plain"},
	{"halo_exit", halo_features__has_exchange, "no atomic exchange: halo_exit_plain"},
	{"halo_switch", halo_features__has_exchange, "no atomic exchange: halo_swch_plain"},
	{"halo_cost_switch", halo_features__has_exchange, "no atomic exchange: halo_flush"},
	{"halo_branch_feed", halo_features__has_exchange, "no syscall programs: for tests alone"},
	{"halo_walk_self", halo_features__has_exchange, "no syscall programs: for tests alone"},
};

/* Whole stacks in one go, which the daemon never loads: some verifiers can't follow so much. */
static bool is_for_tests(const char *name)
{
	return !strcmp(name, "halo_branch_feed") || !strcmp(name, "halo_walk_self");
}

static const char *lacks(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(needs); i++)
		if (!strcmp(name, needs[i].prog) && !needs[i].has())
			return needs[i].lack;
	return NULL;
}

/* "processed 1234 insns (limit 1000000) …" */
static unsigned int processed(const char *log)
{
	const char *at = strstr(log, "processed ");
	unsigned int n = 0;

	return at && sscanf(at, "processed %u", &n) == 1 ? n : 0;
}

static void load_alone(const char *name, char *log)
{
	struct halo_bpf *skel = halo_bpf__open();
	struct bpf_program *prog, *it;
	unsigned int insns;
	int err;

	if (!skel)
		die("can't open the programs: %m");
	prog = bpf_object__find_program_by_name(skel->obj, name);
	bpf_object__for_each_program(it, skel->obj) bpf_program__set_autoload(it, it == prog);
	skel->rodata->halo_nr_cpus = libbpf_num_possible_cpus();
	skel->rodata->halo_has_regs = halo_features__has_regs();
	log[0] = '\0';
	bpf_program__set_log_buf(prog, log, LOG_SIZE);
	bpf_program__set_log_level(prog, 4); /* the summary alone */
	err = halo_bpf__load(skel);
	insns = processed(log);
	if (err == -E2BIG && is_for_tests(name)) {
		skip(name, "this verifier gives up on it; for tests alone");
		halo_bpf__destroy(skel);
		return;
	}
	check(!err && insns, "%s loads", name);
	if (err)
		printf("# %s: %.2000s\n", strerror(-err), log);
	else
		printf("# verifier %s %u\n", name, insns);
	halo_bpf__destroy(skel);
}

int main(void)
{
	struct halo_bpf *all = halo_bpf__open();
	char *log = malloc(LOG_SIZE);
	struct bpf_program *prog;
	const char *name, *lack;

	if (!all || !log)
		die("can't open the programs: %m");
	libbpf_set_print(NULL);
	bpf_object__for_each_program(prog, all->obj)
	{
		name = bpf_program__name(prog);
		lack = lacks(name);
		if (lack)
			skip(name, lack);
		else
			load_alone(name, log);
	}
	halo_bpf__destroy(all);
	free(log);
	return tap_done();
}
