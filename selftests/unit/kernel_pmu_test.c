// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which event is asked for on which machine, from trees of sysfs and /proc/cpuinfo as the kernel's
 * drivers write them for each kind of branch unit.
 */
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "kernel/internal.h"

#define N_CPUS 24
#define D      "sys/bus/event_source/devices/"

struct file {
	const char *path, *text;
};

struct machine {
	const char *name;
	struct file files[12];
	/* What is to come of it, on the first CPU and on the last. */
	enum halo_branch_unit first, last;
	unsigned int depth;
	const char *event; /* the first of the table that applies, as far as it must match */
	uint32_t type;	   /* of that event's attr on the last CPU */
	uint64_t config;
};

#define HYBRID(type) ((uint64_t)(type) << PERF_PMU_TYPE_SHIFT)

static const struct machine machines[] = {
	{"Intel Skylake",
	 {{D "cpu/type", "4\n"},
	  {D "cpu/caps/branches", "32\n"},
	  {D "cpu/caps/pmu_name", "skylake\n"},
	  {D "cpu/events/cpu-cycles", "event=0x3c\n"},
	  {D "uncore_imc_0/type", "11\n"},
	  {D "software/type", "1\n"},
	  {"proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme de pse arch_perfmon pebs\n"}},
	 HALO_BRANCHES_INTEL,
	 HALO_BRANCHES_INTEL,
	 32,
	 "cycles with branch records (Intel LBR)",
	 PERF_TYPE_HARDWARE,
	 PERF_COUNT_HW_CPU_CYCLES},
	{"Intel Sapphire Rapids",
	 {{D "cpu/type", "4\n"},
	  {D "cpu/caps/branches", "32\n"},
	  {"proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu arch_lbr amx_bf16\n"}},
	 HALO_BRANCHES_INTEL_ARCH,
	 HALO_BRANCHES_INTEL_ARCH,
	 32,
	 "cycles with branch records (Intel Arch LBR)",
	 PERF_TYPE_HARDWARE,
	 PERF_COUNT_HW_CPU_CYCLES},
	{"Intel Alder Lake, hybrid",
	 {{D "cpu_core/type", "4\n"},
	  {D "cpu_core/cpus", "0-15\n"},
	  {D "cpu_core/caps/branches", "32\n"},
	  {D "cpu_atom/type", "10\n"},
	  {D "cpu_atom/cpus", "16-23\n"},
	  {D "cpu_atom/caps/branches", "32\n"},
	  {"proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme arch_lbr"}},
	 HALO_BRANCHES_INTEL_ARCH,
	 HALO_BRANCHES_INTEL_ARCH,
	 32,
	 "cycles with branch records (Intel Arch LBR)",
	 PERF_TYPE_HARDWARE,
	 HYBRID(10) | PERF_COUNT_HW_CPU_CYCLES},
	{"AMD Zen 4",
	 {{D "cpu/type", "4\n"},
	  {D "cpu/caps/branches", "16\n"},
	  {D "cpu/events/branch-instructions", "event=0xc2\n"},
	  {"proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu perfctr_core amd_lbr_v2 ibs\n"}},
	 HALO_BRANCHES_AMD_V2,
	 HALO_BRANCHES_AMD_V2,
	 16,
	 "cycles with branch records (AMD LBR v2)",
	 PERF_TYPE_HARDWARE,
	 PERF_COUNT_HW_CPU_CYCLES},
	{"AMD Zen 3",
	 {{D "cpu/type", "4\n"},
	  {D "cpu/caps/branches", "16\n"},
	  {D "cpu/events/branch-brs", "event=0xc4\n"},
	  {"proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu perfctr_core brs\n"}},
	 HALO_BRANCHES_AMD_BRS,
	 HALO_BRANCHES_AMD_BRS,
	 16,
	 "taken branches with branch records (AMD BRS)",
	 4,
	 0xc4},
	{"ARM v9.2, big cores alone with BRBE",
	 {{D "armv9_cortex_x4/type", "9\n"},
	  {D "armv9_cortex_x4/cpus", "20-23\n"},
	  {D "armv9_cortex_x4/caps/branches", "64\n"},
	  {D "armv9_cortex_a520/type", "8\n"},
	  {D "armv9_cortex_a520/cpus", "0-19\n"},
	  {"proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd\n"}},
	 HALO_BRANCHES_NONE,
	 HALO_BRANCHES_BRBE,
	 64,
	 "cycles with branch records (ARM BRBE)",
	 PERF_TYPE_HARDWARE,
	 PERF_COUNT_HW_CPU_CYCLES},
	{"an old CPU that records nothing",
	 {{D "cpu/type", "4\n"}, {"proc/cpuinfo", "flags\t\t: fpu vme\n"}},
	 HALO_BRANCHES_NONE,
	 HALO_BRANCHES_NONE,
	 0,
	 "cycles with branch records",
	 PERF_TYPE_HARDWARE,
	 PERF_COUNT_HW_CPU_CYCLES},
};

static void write_file(const char *root, const struct file *file)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", root, file->path);
	for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); *at++ = '/') {
		*at = '\0';
		mkdir(path, 0755);
	}
	f = fopen(path, "we");
	assert_non_null(f);
	assert_true(fputs(file->text, f) >= 0);
	fclose(f);
}

static const struct halo_perf_event *first_for(const struct halo_pmu *pmu)
{
	for (size_t i = 0; i < halo_perf_events_count; i++)
		if (halo_perf__applies(&halo_perf_events[i], pmu))
			return &halo_perf_events[i];
	return NULL;
}

static void check_machine(const struct machine *m, const char *root)
{
	const struct halo_perf_event *event;
	const struct halo_pmu *first, *last;
	struct perf_event_attr attr;
	struct halo_pmus pmus;

	for (const struct file *file = m->files; file->path; file++)
		write_file(root, file);
	assert_int_equal(halo_pmus__read(root, N_CPUS, &pmus), 0);
	first = halo_pmus__of(&pmus, 0);
	last = halo_pmus__of(&pmus, N_CPUS - 1);
	assert_non_null(first);
	assert_non_null(last);
	assert_int_equal(first->unit, m->first);
	assert_int_equal(last->unit, m->last);
	assert_int_equal(last->branches, m->depth);

	event = first_for(last);
	assert_string_equal(event->name, m->event);
	halo_perf__attr(event, last, 199, 0, &attr);
	assert_int_equal(attr.type, m->type);
	assert_int_equal(attr.config, m->config);
	assert_int_equal(attr.sample_type, PERF_SAMPLE_BRANCH_STACK);
	assert_true(attr.branch_sample_type & PERF_SAMPLE_BRANCH_USER);
	assert_false(attr.branch_sample_type & PERF_SAMPLE_BRANCH_KERNEL);
	if (m->last == HALO_BRANCHES_AMD_BRS) {
		/* Its driver refuses frequencies, and every filter but the privilege. */
		assert_int_equal(attr.freq, 0);
		assert_int_equal(attr.sample_period, halo_perf__prime(attr.sample_period));
		assert_true(attr.sample_period > m->depth);
		assert_int_equal(attr.branch_sample_type,
				 PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY);
	} else {
		assert_int_equal(attr.freq, 1);
		assert_int_equal(attr.sample_freq, 199);
	}
	halo_pmus__free(&pmus);
}

static void test_machines(void **state)
{
	char root[] = "/tmp/halo-pmu-XXXXXX", dir[64], command[128];

	(void)state;
	assert_non_null(mkdtemp(root));
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
		print_message("# %s\n", machines[i].name);
		snprintf(dir, sizeof(dir), "%s/%zu", root, i);
		assert_int_equal(mkdir(dir, 0755), 0);
		check_machine(&machines[i], dir);
	}
	snprintf(command, sizeof(command), "rm -r '%s'", root);
	assert_int_equal(system(command), 0);
}

/* A virtual machine has no such unit: the table's general rows are tried, down to the timer. */
static void test_no_pmu(void **state)
{
	struct perf_event_attr attr;
	struct halo_pmus pmus;
	size_t n = 0;

	(void)state;
	assert_int_equal(halo_pmus__read("/nonexistent", N_CPUS, &pmus), 0);
	assert_null(halo_pmus__of(&pmus, 0));
	for (size_t i = 0; i < halo_perf_events_count; i++)
		n += halo_perf__applies(&halo_perf_events[i], NULL);
	assert_int_equal(n, 4);
	halo_perf__attr(&halo_perf_events[halo_perf_events_count - 1], NULL, 199, 0, &attr);
	assert_int_equal(attr.type, PERF_TYPE_SOFTWARE);
	assert_int_equal(attr.sample_type, 0);
}

/* Best first, and each way has a last resort without branches. */
static void test_order(void **state)
{
	(void)state;
	for (size_t i = 1; i < halo_perf_events_count; i++)
		assert_true(halo_perf_events[i].tier >= halo_perf_events[i - 1].tier);
	for (size_t i = 0; i < halo_perf_events_count; i++)
		assert_int_equal(halo_perf_events[i].branch_types[0] != 0,
				 halo_perf_events[i].tier == HALO_TIER_BRANCHES);
}

static void test_primes(void **state)
{
	(void)state;
	assert_int_equal(halo_perf__prime(1), 1);
	assert_int_equal(halo_perf__prime(2), 2);
	assert_int_equal(halo_perf__prime(199), 199);
	assert_int_equal(halo_perf__prime(1000), 997);
	assert_int_equal(halo_perf__prime(4000), 3989);
	assert_int_equal(halo_perf__prime(10000), 9973);
}

static void assert_cpus(const char *text, int ret, const char *set)
{
	bool mask[N_CPUS];

	assert_int_equal(halo_cpus__parse(text, mask, N_CPUS), ret);
	for (int i = 0; !ret && i < N_CPUS; i++)
		assert_int_equal(mask[i], set[i] == '1');
}

static void test_cpu_lists(void **state)
{
	(void)state;
	assert_cpus("0-1\n", 0, "110000000000000000000000");
	assert_cpus("0,2,4-6,23\n", 0, "101011100000000000000001");
	assert_cpus("\n", 0, "000000000000000000000000");
	assert_cpus("0", 0, "100000000000000000000000");
	/* More CPUs than there can be: those are left out. */
	assert_cpus("22-4095,5000\n", 0, "000000000000000000000011");
	assert_cpus("a\n", -EINVAL, NULL);
	assert_cpus("3-\n", -EINVAL, NULL);
	assert_cpus("3-1\n", -EINVAL, NULL);
	assert_cpus("-1\n", -EINVAL, NULL);
	assert_cpus("1 2\n", -EINVAL, NULL);
}

static void test_hotplug_messages(void **state)
{
	(void)state;
	assert_int_equal(halo_hotplug__parse("offline@/devices/system/cpu/cpu1"), 1);
	assert_int_equal(halo_hotplug__parse("online@/devices/system/cpu/cpu130"), 130);
	assert_int_equal(halo_hotplug__parse("add@/devices/system/cpu/cpu1"), -1);
	assert_int_equal(halo_hotplug__parse("online@/devices/system/memory/memory3"), -1);
	assert_int_equal(halo_hotplug__parse("libudev"), -1);
	assert_int_equal(halo_hotplug__parse(""), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_machines),  cmocka_unit_test(test_no_pmu),
		cmocka_unit_test(test_order),	  cmocka_unit_test(test_primes),
		cmocka_unit_test(test_cpu_lists), cmocka_unit_test(test_hotplug_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
