// SPDX-License-Identifier: BSD-2-Clause
/* How this machine is set up, as far as it decides what a kernel that can do all of it lets us do. */
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include "internal.h"

#define LOCKDOWN "/sys/kernel/security/lockdown"
#define PARANOID "/proc/sys/kernel/perf_event_paranoid"
#define STATUS	 "/proc/self/status"

/* The first line of a file that begins with @prefix, without it; false: there is none. */
static bool read_line(const char *path, const char *prefix, char *buf, size_t size)
{
	FILE *f = fopen(path, "re");
	bool found = false;
	char line[1024];

	while (f && !found && fgets(line, sizeof(line), f)) {
		found = !strncmp(line, prefix, strlen(prefix));
		line[strcspn(line, "\n")] = '\0';
	}
	if (f)
		fclose(f);
	if (found)
		snprintf(buf, size, "%s",
			 line + strlen(prefix) + strspn(line + strlen(prefix), " \t"));
	return found;
}

static bool has_cap(cap_value_t cap)
{
	cap_flag_value_t value = CAP_CLEAR;
	cap_t caps = cap_get_proc();

	if (caps && cap_get_flag(caps, cap, CAP_EFFECTIVE, &value))
		value = CAP_CLEAR;
	cap_free(caps);
	return value == CAP_SET;
}

static int probe_version(char *detail, size_t size)
{
	char upstream[64] = "", base[96] = "";
	struct utsname uts;

	if (uname(&uts))
		return 0;
	halo_denylist__version(upstream, sizeof(upstream));
	if (upstream[0] && strncmp(upstream, uts.release, strlen(upstream)))
		snprintf(base, sizeof(base), ", based on %s", upstream);
	snprintf(detail, size, "%s %s%s", uts.release, uts.machine, base);
	return 1;
}

static int probe_nmi_reads(char *detail, size_t size)
{
	return !halo_denylist__blocks(detail, size);
}

/* "none [integrity] confidentiality" */
static int probe_lockdown(char *detail, size_t size)
{
	char line[128];

	if (!read_line(LOCKDOWN, "", line, sizeof(line))) {
		snprintf(detail, size, "the kernel has none");
		return 1;
	}
	snprintf(detail, size, "%s", line);
	return !strstr(line, "[confidentiality]");
}

static int probe_paranoid(char *detail, size_t size)
{
	char line[64] = "?";

	read_line(PARANOID, "", line, sizeof(line));
	if (has_cap(CAP_PERFMON) || has_cap(CAP_SYS_ADMIN)) {
		snprintf(detail, size, "%s, which does not bind who has CAP_PERFMON", line);
		return 1;
	}
	snprintf(detail, size, "%s, and CAP_PERFMON is missing", line);
	return atoi(line) < 0;
}

static int probe_memlock(char *detail, size_t size)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit))
		return 0;
	/* As libbpf tells it: a helper that came with the accounting to memory cgroups, in 5.11. */
	if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_SOCKET_FILTER, BPF_FUNC_ktime_get_coarse_ns,
				    NULL) == 1) {
		snprintf(detail, size, "does not bind: maps count as memory of the cgroup");
		return 1;
	}
	if (limit.rlim_cur == RLIM_INFINITY)
		snprintf(detail, size, "unlimited");
	else
		snprintf(detail, size, "%llu KiB%s", (unsigned long long)limit.rlim_cur / 1024,
			 has_cap(CAP_SYS_RESOURCE) ? "; halo-bpf start raises it" : "");
	return limit.rlim_cur == RLIM_INFINITY || has_cap(CAP_SYS_RESOURCE);
}

/* "cpu_core: the last 32 branches; cpu_atom: no branches" */
static int probe_pmus(char *detail, size_t size)
{
	int cpus = libbpf_num_possible_cpus();
	struct halo_pmus pmus;
	size_t n = 0, used = 0;

	if (cpus > 0 && !halo_pmus__read("", cpus, &pmus)) {
		n = pmus.n;
		for (size_t i = 0; i < n && used < size; i++) {
			const struct halo_pmu *pmu = &pmus.pmu[i];

			used += snprintf(detail + used, size - used, "%s%s: ", i ? "; " : "",
					 pmu->name);
			if (used < size && pmu->branches)
				used += snprintf(detail + used, size - used,
						 "records the last %u branches", pmu->branches);
			else if (used < size)
				used += snprintf(detail + used, size - used, "records no branches");
		}
		halo_pmus__free(&pmus);
	}
	if (!n)
		snprintf(detail, size, "the CPU shows no performance counters");
	return n > 0;
}

static int probe_seccomp(char *detail, size_t size)
{
	char mode[16] = "0";

	read_line(STATUS, "Seccomp:", mode, sizeof(mode));
	snprintf(detail, size, "%s",
		 mode[0] == '0' ? "no filter"
				: "a filter is in force; what it forbids is missing below");
	return mode[0] == '0';
}

static int probe_bpffs(char *detail, size_t size)
{
	if (halo_mounts__has_bpffs()) {
		snprintf(detail, size, "/sys/fs/bpf");
		return 1;
	}
	snprintf(detail, size, "not mounted on /sys/fs/bpf; halo-bpf start mounts it");
	return 0;
}

static int probe_tracefs(char *detail, size_t size)
{
	if (halo_mounts__has_tracefs()) {
		snprintf(detail, size, "/sys/kernel/tracing");
		return 1;
	}
	snprintf(detail, size, "not mounted on /sys/kernel/tracing; halo-bpf start mounts it");
	return 0;
}

static int probe_rate(char *detail, size_t size)
{
	unsigned int max = halo_perf__max_rate();

	if (max == UINT32_MAX)
		snprintf(detail, size, "no limit");
	else
		snprintf(detail, size, "at most %u Hz", max);
	return max >= HALO_DEFAULT_RATE;
}

const struct halo_feature halo_environment[] = {
	{.name = "kernel", .without = "its version is not known", .probe = probe_version},
	{.name = "safe user reads in NMI",
	 .since = "6.4",
	 .commit = "d319f344561d",
	 .without = "hardware events are not used, cpu-clock is",
	 .remedy = "update the kernel; where its distribution has fixed it: halo-bpf start "
		   "--allow-unsafe-kernel",
	 .probe = probe_nmi_reads},
	{.name = "lockdown",
	 .without = "BPF programs may not read kernel memory, so they do not load",
	 .remedy = "boot with lockdown=integrity or without",
	 .probe = probe_lockdown},
	{.name = "perf_event_paranoid",
	 .without = "no sampling",
	 .remedy = "run as root with CAP_PERFMON",
	 .probe = probe_paranoid},
	{.name = "sample rate",
	 .without = "fewer samples than asked for",
	 .remedy = "sysctl kernel.perf_event_max_sample_rate=100000",
	 .probe = probe_rate},
	{.name = "locked memory",
	 .without = "before Linux 5.11, maps may not fit",
	 .remedy = "ulimit -l unlimited, or LimitMEMLOCK=infinity in a service unit",
	 .probe = probe_memlock},
	{.name = "performance counters",
	 .without = "samples come from a timer, and there are no branch records",
	 .remedy = "in a virtual machine, let the host pass the performance counters on",
	 .probe = probe_pmus},
	{.name = "seccomp",
	 .without = "system calls may be forbidden",
	 .remedy = "run outside of the container, or allow it bpf, perf_event_open, ptrace and "
		   "mount",
	 .probe = probe_seccomp},
	{.name = "bpffs",
	 .since = "4.4",
	 .commit = "b2197755b263",
	 .without = "maps can't be looked at with bpftool by path",
	 .remedy = "mount -t bpf bpf /sys/fs/bpf",
	 .probe = probe_bpffs},
	{.name = "tracefs",
	 .since = "4.1",
	 .commit = "4282d60689d4",
	 .without = "nothing: tracepoints are found through BTF",
	 .remedy = "mount -t tracefs tracefs /sys/kernel/tracing",
	 .probe = probe_tracefs},
};

const size_t halo_environment_count = ARRAY_SIZE(halo_environment);
