// SPDX-License-Identifier: BSD-2-Clause
/* The events that samples can be taken by, best first, and how each is to be opened. */
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>

#include "internal.h"

#define MAX_RATE_PATH "/proc/sys/kernel/perf_event_max_sample_rate"

/*
 * Where the period is fixed: how many taken branches a busy CPU is thought to make in a second. The
 * true rate differs by program, which is why all other events are asked for by frequency.
 */
#define TAKEN_BRANCHES_PER_S 500000000ULL
#define MIN_PERIOD	     1009 /* BRS refuses what is not above its depth */

/* AMD's "retired taken branches", the only event that BRS works with. */
#define AMD_BRS_EVENT 0xc4

/*
 * What the recording is asked for. Flags stay on, since they tell mispredictions. The type of each
 * branch costs nothing on CPUs that filter by privilege (the kernel decodes each branch in any case) or
 * that tell it themselves, but BRS and old kernels refuse it.
 */
#define USER_BRANCHES (PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY)
#define WITH_TYPES    (USER_BRANCHES | PERF_SAMPLE_BRANCH_TYPE_SAVE)

#define CYCLES	      PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES
#define BRANCHES      PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS

const struct halo_perf_event halo_perf_events[] = {
	{HALO_TIER_BRANCHES,
	 "cycles with branch records (Intel Arch LBR)",
	 HALO_BRANCHES_INTEL_ARCH,
	 CYCLES,
	 false,
	 {WITH_TYPES, USER_BRANCHES}},
	/* Skylake and later tell the newest entry twice at times. */
	{HALO_TIER_BRANCHES,
	 "cycles with branch records (Intel LBR)",
	 HALO_BRANCHES_INTEL,
	 CYCLES,
	 false,
	 {WITH_TYPES, USER_BRANCHES}},
	/* Entries that were speculated and never retired are marked, not left out. */
	{HALO_TIER_BRANCHES,
	 "cycles with branch records (AMD LBR v2)",
	 HALO_BRANCHES_AMD_V2,
	 CYCLES,
	 false,
	 {WITH_TYPES, USER_BRANCHES}},
	/* Takes no frequency, no filter but by privilege, and no other event. */
	{HALO_TIER_BRANCHES,
	 "taken branches with branch records (AMD BRS)",
	 HALO_BRANCHES_AMD_BRS,
	 PERF_TYPE_RAW,
	 AMD_BRS_EVENT,
	 true,
	 {USER_BRANCHES}},
	{HALO_TIER_BRANCHES,
	 "cycles with branch records (ARM BRBE)",
	 HALO_BRANCHES_BRBE,
	 CYCLES,
	 false,
	 {WITH_TYPES, USER_BRANCHES}},
	/* What recorded branches in ways that are not known here. */
	{HALO_TIER_BRANCHES,
	 "cycles with branch records",
	 HALO_BRANCHES_NONE,
	 CYCLES,
	 false,
	 {WITH_TYPES, USER_BRANCHES}},
	{HALO_TIER_BRANCHES,
	 "branches with branch records",
	 HALO_BRANCHES_ANY,
	 BRANCHES,
	 false,
	 {USER_BRANCHES}},
	{HALO_TIER_CYCLES, "cycles", HALO_BRANCHES_ANY, CYCLES, false, {0}},
	{HALO_TIER_CPU_CLOCK,
	 "cpu-clock",
	 HALO_BRANCHES_ANY,
	 PERF_TYPE_SOFTWARE,
	 PERF_COUNT_SW_CPU_CLOCK,
	 false,
	 {0}},
};

const size_t halo_perf_events_count = ARRAY_SIZE(halo_perf_events);

static bool is_prime(uint64_t n)
{
	for (uint64_t i = 2; i * i <= n; i++)
		if (n % i == 0)
			return false;
	return n > 1;
}

uint64_t halo_perf__prime(uint64_t n)
{
	while (n > 2 && !is_prime(n))
		n--;
	return n;
}

unsigned int halo_perf__max_rate(void)
{
	unsigned int rate = 0;
	FILE *f = fopen(MAX_RATE_PATH, "re");

	if (!f)
		return UINT32_MAX;
	if (fscanf(f, "%u", &rate) != 1)
		rate = UINT32_MAX;
	fclose(f);
	return rate;
}

bool halo_perf__applies(const struct halo_perf_event *event, const struct halo_pmu *pmu)
{
	enum halo_branch_unit unit = pmu ? pmu->unit : HALO_BRANCHES_NONE;

	return event->unit == HALO_BRANCHES_ANY || event->unit == unit;
}

void halo_perf__attr(const struct halo_perf_event *event, const struct halo_pmu *pmu,
		     unsigned int rate_hz, unsigned int attempt, struct perf_event_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	attr->type = event->type;
	attr->config = event->config;
	if (event->type == PERF_TYPE_HARDWARE && pmu && pmu->is_one_of_many)
		attr->config |= (uint64_t)pmu->type << PERF_PMU_TYPE_SHIFT;
	if (event->type == PERF_TYPE_RAW && pmu)
		attr->type = pmu->type;
	if (event->type == PERF_TYPE_SOFTWARE)
		attr->exclude_idle = 1;
	if (event->fixed_period) {
		attr->sample_period = halo_perf__prime(TAKEN_BRANCHES_PER_S / rate_hz);
		if (attr->sample_period < MIN_PERIOD)
			attr->sample_period = MIN_PERIOD;
	} else {
		attr->freq = 1;
		attr->sample_freq = rate_hz;
	}
	attr->branch_sample_type = event->branch_types[attempt];
	if (attr->branch_sample_type)
		attr->sample_type = PERF_SAMPLE_BRANCH_STACK;
}

int halo_perf__open(const struct halo_perf_event *event, const struct halo_pmu *pmu, int cpu,
		    unsigned int rate_hz)
{
	struct perf_event_attr attr;
	int fd = -EINVAL;

	for (unsigned int i = 0; i < ARRAY_SIZE(event->branch_types); i++) {
		if (i && !event->branch_types[i])
			break;
		halo_perf__attr(event, pmu, rate_hz, i, &attr);
		fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
		if (fd >= 0)
			return fd;
		fd = -errno;
		/* Refused for what was asked for: ask for less. */
		if (fd != -EOPNOTSUPP && fd != -EINVAL)
			break;
	}
	return fd;
}

const char *halo_perf__strerror(int err)
{
	switch (-err) {
	case ENOENT:
		return "the CPU has no such counter (typical of virtual machines)";
	case EOPNOTSUPP:
		return "not supported by this CPU (typical of virtual machines)";
	case EINVAL:
		return "refused by this CPU's driver";
	case EACCES:
	case EPERM:
		return "not permitted (CAP_PERFMON is missing, or a container's seccomp filter "
		       "forbids it)";
	case EBUSY:
		return "the counter is taken by another program or by the NMI watchdog";
	case ENODEV:
		return "the CPU is offline";
	case EMFILE:
		return "too many open files";
	case ENOSYS:
		return "the kernel was built without perf events";
	default:
		return strerror(-err);
	}
}
