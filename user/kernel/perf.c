// SPDX-License-Identifier: BSD-2-Clause
/* Sampling events of perf_event_open(2), and the CPUs that can have one. */
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>

#include "internal.h"

#define CPU_ONLINE "/sys/devices/system/cpu/online"

int halo_perf__open(enum halo_perf_kind kind, int cpu, unsigned int rate_hz)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.freq = 1,
		.sample_freq = rate_hz,
	};
	int fd;

	if (kind == HALO_PERF_CPU_CLOCK) {
		attr.type = PERF_TYPE_SOFTWARE;
		attr.config = PERF_COUNT_SW_CPU_CLOCK;
		attr.exclude_idle = 1;
	} else if (kind == HALO_PERF_BRANCHES) {
		attr.sample_type = PERF_SAMPLE_BRANCH_STACK;
		attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
	}
	fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

const char *halo_perf__strerror(int err)
{
	switch (-err) {
	case ENOENT:
		return "the CPU has no such counter (typical of virtual machines)";
	case EOPNOTSUPP:
		return "not supported by this CPU (typical of virtual machines)";
	case EACCES:
	case EPERM:
		return "not permitted (CAP_PERFMON is missing, or a container's seccomp filter "
		       "forbids it)";
	case EBUSY:
		return "the counter is taken by another program or by the NMI watchdog";
	case EMFILE:
		return "too many open files";
	case ENOSYS:
		return "the kernel was built without perf events";
	default:
		return strerror(-err);
	}
}

int halo_perf__online(bool **mask, int *n)
{
	char text[1024], *at = text, *end;
	long first, last, max = libbpf_num_possible_cpus();
	ssize_t len;
	FILE *f;

	if (max < 0)
		return max;
	f = fopen(CPU_ONLINE, "re");
	if (!f)
		return -errno;
	len = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[len] = '\0';
	*mask = calloc(max, sizeof(**mask));
	if (!*mask)
		return -ENOMEM;
	*n = max;
	/* "0-3,8,10-11" */
	while (*at && *at != '\n') {
		first = last = strtol(at, &end, 10);
		if (end != at && *end == '-') {
			at = end + 1;
			last = strtol(at, &end, 10);
		}
		if (end == at || first < 0 || last < first)
			break;
		for (long cpu = first; cpu <= last && cpu < max; cpu++)
			(*mask)[cpu] = true;
		at = *end == ',' ? end + 1 : end;
	}
	return 0;
}
