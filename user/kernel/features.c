// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the kernel and the machine can do, each found by trying it. Version and commit are for people;
 * nothing is decided by them.
 */
#include <bpf/btf.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

#define MOV64_IMM(dst, value) \
	((struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (dst), .imm = (value)})
#define STORE_IMM(dst, off_, value)                           \
	((struct bpf_insn){.code = BPF_ST | BPF_MEM | BPF_DW, \
			   .dst_reg = (dst),                  \
			   .off = (off_),                     \
			   .imm = (value)})
#define ATOMIC_XCHG(dst, src, off_)                               \
	((struct bpf_insn){.code = BPF_STX | BPF_ATOMIC | BPF_DW, \
			   .dst_reg = (dst),                      \
			   .src_reg = (src),                      \
			   .off = (off_),                         \
			   .imm = BPF_XCHG})
#define CALL(helper) ((struct bpf_insn){.code = BPF_JMP | BPF_CALL, .imm = (helper)})
#define MOV64_REG(dst, src) \
	((struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = (dst), .src_reg = (src)})
#define EXIT() ((struct bpf_insn){.code = BPF_JMP | BPF_EXIT})

/* 1, or 0 with the reason in words. */
static int verdict(int err, char *detail, size_t size)
{
	if (err >= 0)
		return 1;
	snprintf(detail, size, "%s", strerror(-err));
	return 0;
}

/* For libbpf's own probes: 1 there, 0 not, else an error. */
static int libbpf_verdict(int ret, char *detail, size_t size)
{
	if (ret == 1)
		return 1;
	snprintf(detail, size, "%s", ret ? strerror(-ret) : "not known to this kernel");
	return 0;
}

static const char *btf_path; /* NULL: the kernel's own */

void halo_features__set_btf(const char *path)
{
	btf_path = path;
}

static int probe_btf(char *detail, size_t size)
{
	struct btf *btf = btf_path ? btf__parse(btf_path, NULL) : btf__load_vmlinux_btf();
	int err = btf ? 0 : -errno;

	btf__free(btf);
	if (!err && btf_path)
		snprintf(detail, size, "%s", btf_path);
	return verdict(err, detail, size);
}

static int probe_perf_event(char *detail, size_t size)
{
	return libbpf_verdict(libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_PERF_EVENT, NULL), detail,
			      size);
}

static int probe_ringbuf(char *detail, size_t size)
{
	return libbpf_verdict(libbpf_probe_bpf_map_type(BPF_MAP_TYPE_RINGBUF, NULL), detail, size);
}

static int probe_branch_records(char *detail, size_t size)
{
	return libbpf_verdict(libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT,
						      BPF_FUNC_read_branch_records, NULL),
			      detail, size);
}

static int load_perf_event(const struct bpf_insn *insns, size_t n)
{
	int fd = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "halo_probe", "GPL", insns, n, NULL);

	return fd < 0 ? -errno : fd;
}

static int probe_atomics(char *detail, size_t size)
{
	const struct bpf_insn insns[] = {
		STORE_IMM(BPF_REG_10, -8, 0),
		MOV64_IMM(BPF_REG_0, 1),
		ATOMIC_XCHG(BPF_REG_10, BPF_REG_0, -8),
		EXIT(),
	};
	__cleanup_fd int fd = load_perf_event(insns, ARRAY_SIZE(insns));

	return verdict(fd, detail, size);
}

static int probe_task_regs(char *detail, size_t size)
{
	const struct bpf_insn insns[] = {
		CALL(BPF_FUNC_get_current_task_btf),
		MOV64_REG(BPF_REG_1, BPF_REG_0),
		CALL(BPF_FUNC_task_pt_regs),
		MOV64_IMM(BPF_REG_0, 0),
		EXIT(),
	};
	__cleanup_fd int fd = load_perf_event(insns, ARRAY_SIZE(insns));

	return verdict(fd, detail, size);
}

bool halo_features__has_exchange(void)
{
	char detail[256];

	return probe_atomics(detail, sizeof(detail)) == 1;
}

bool halo_features__has_regs(void)
{
	char detail[256];

	return probe_task_regs(detail, sizeof(detail)) == 1;
}

static int probe_perf_link(char *detail, size_t size)
{
	const struct bpf_insn insns[] = {MOV64_IMM(BPF_REG_0, 0), EXIT()};
	__cleanup_fd int prog = load_perf_event(insns, ARRAY_SIZE(insns));
	__cleanup_fd int event = halo_perf__open(&halo_perf_events[halo_perf_events_count - 1],
						 NULL, 0, HALO_DEFAULT_RATE);
	__cleanup_fd int link = -1;

	if (prog < 0)
		return verdict(prog, detail, size);
	if (event < 0)
		return verdict(event, detail, size);
	link = bpf_link_create(prog, event, BPF_PERF_EVENT, NULL);
	return verdict(link < 0 ? -errno : 0, detail, size);
}

/* Loaded, and run: what the daemon does with those that it runs itself. */
static int probe_raw_tp(char *detail, size_t size)
{
	const struct bpf_insn insns[] = {MOV64_IMM(BPF_REG_0, 0), EXIT()};
	__cleanup_fd int fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "halo_probe", "GPL",
					    insns, ARRAY_SIZE(insns), NULL);
	LIBBPF_OPTS(bpf_test_run_opts, run);

	if (fd < 0)
		return verdict(-errno, detail, size);
	return verdict(bpf_prog_test_run_opts(fd, &run), detail, size);
}

static int probe_batch(char *detail, size_t size)
{
	__cleanup_fd int fd = bpf_map_create(BPF_MAP_TYPE_HASH, "halo_probe", 4, 4, 1, NULL);
	uint32_t cursor, key, val, n = 1;
	int err;

	if (fd < 0)
		return verdict(fd, detail, size);
	err = bpf_map_lookup_and_delete_batch(fd, NULL, &cursor, &key, &val, &n, NULL);
	return verdict(err == -ENOENT ? 0 : err, detail, size);
}

/* The first event of the tier that opens, by name; else why the last one does not. */
static int probe_tier(enum halo_tier tier, char *detail, size_t size)
{
	int cpus = libbpf_num_possible_cpus(), fd = -ENOENT, ret = 0;
	const struct halo_pmu *pmu;
	struct halo_pmus pmus;

	if (cpus < 1 || halo_pmus__read("", cpus, &pmus))
		return verdict(-ENODEV, detail, size);
	pmu = halo_pmus__of(&pmus, 0);
	for (size_t i = 0; !ret && i < halo_perf_events_count; i++) {
		const struct halo_perf_event *event = &halo_perf_events[i];

		if (event->tier != tier || !halo_perf__applies(event, pmu))
			continue;
		fd = halo_perf__open(event, pmu, 0, HALO_DEFAULT_RATE);
		if (fd < 0)
			continue;
		close(fd);
		ret = 1;
		snprintf(detail, size, "%s", event->name);
		if (tier == HALO_TIER_BRANCHES && pmu && pmu->branches)
			snprintf(detail, size, "%s, the last %u", event->name, pmu->branches);
	}
	if (!ret)
		snprintf(detail, size, "perf_event_open: %s: %s", strerrorname_np(-fd),
			 halo_perf__strerror(fd));
	halo_pmus__free(&pmus);
	return ret;
}

static int probe_cycles(char *detail, size_t size)
{
	return probe_tier(HALO_TIER_CYCLES, detail, size);
}

static int probe_cpu_clock(char *detail, size_t size)
{
	return probe_tier(HALO_TIER_CPU_CLOCK, detail, size);
}

static int probe_branches(char *detail, size_t size)
{
	return probe_tier(HALO_TIER_BRANCHES, detail, size);
}

/* All of it at once, for a moment: what the rows above may have missed shows here. */
static int probe_load(char *detail, size_t size)
{
	const struct halo_kernel_opts opts = {.no_pin = true, .btf = btf_path};
	struct halo_err err = {0};
	struct halo_kernel *k;

	if (halo_kernel__open(&opts, NULL, NULL, &k, &err)) {
		snprintf(detail, size, "%s: %.200s", err.what, err.cause);
		return 0;
	}
	snprintf(detail, size, "loaded and attached; samples by %s on %u CPUs",
		 halo_kernel__tier_name(k), halo_kernel__sampled_cpus(k, NULL));
	halo_kernel__close(k);
	return 1;
}

#define UPDATE_KERNEL "use a newer kernel"
#define VIRTUAL_PMU   "in a virtual machine, let the host pass the performance counters on"

const struct halo_feature halo_features[] = {
	{"BTF", "5.4", "341dfcf8d78e", true,
	 "nothing works: the programs find the kernel's structs by it",
	 "use a kernel with CONFIG_DEBUG_INFO_BTF, or give its BTF: --btf FILE", probe_btf},
	{"perf_event programs", "4.9", "0515e5999a46", true, "no sampling",
	 "use a kernel with CONFIG_BPF_EVENTS and CONFIG_PERF_EVENTS", probe_perf_event},
	{"raw_tracepoint programs", "5.10", "1b4d60ec162f", true,
	 "exec, fork and exit are not seen, and no version has a cost", UPDATE_KERNEL,
	 probe_raw_tp},
	{"ring buffer", "5.8", "457f44363a88", true, "the daemon hears of no process",
	 UPDATE_KERNEL, probe_ringbuf},
	{"atomic exchange", "5.12", "5ffa25502b5a", false,
	 "audits have each CPU do its part, which takes longer the more there are", UPDATE_KERNEL,
	 probe_atomics},
	{"bpf_task_pt_regs", "5.15", "dd6e10fbd9fb", false,
	 "a sample inside the kernel has the program's address only where the kernel was built "
	 "without KASAN",
	 UPDATE_KERNEL, probe_task_regs},
	{"perf_event bpf_link", "5.15", "b89fbfbb854c", false, "nothing: attached by ioctl instead",
	 UPDATE_KERNEL, probe_perf_link},
	{"batch operations", "5.6", "057996380a42", false,
	 "draining contexts takes more system calls", UPDATE_KERNEL, probe_batch},
	{"cpu-clock event", "2.6.31", "", true, "no sampling",
	 "use a kernel with CONFIG_PERF_EVENTS; in a container, allow perf_event_open",
	 probe_cpu_clock},
	{"cycles event", "2.6.31", "", false,
	 "samples come from a timer, which does not fire where the kernel has switched off "
	 "interrupts",
	 VIRTUAL_PMU, probe_cycles},
	{"branch records (LBR)", "3.4", "bce38cd53e5d", false, "no branch edges from hardware",
	 VIRTUAL_PMU, probe_branches},
	{"bpf_read_branch_records", "5.7", "fff7b64355ea", false, "no branch edges from hardware",
	 UPDATE_KERNEL, probe_branch_records},
	{"BPF programs", "", "", true, "nothing works",
	 "see the rows above; with -v the log has the verifier's reasons", probe_load},
};

const size_t halo_features_count = ARRAY_SIZE(halo_features);
