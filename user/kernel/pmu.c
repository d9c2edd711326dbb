// SPDX-License-Identifier: BSD-2-Clause
/*
 * The performance monitoring units of the CPUs' cores, and how they record branches, from sysfs and
 * /proc/cpuinfo. What is found here chooses the row of the event table; whether the row works is found
 * by opening the event.
 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

#define DEVICES "/sys/bus/event_source/devices"

/* One line of a file without its end; -1: there is no such file. */
static int read_line(const char *dir, const char *name, char *buf, size_t size)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "re");
	if (!f)
		return -1;
	if (!fgets(buf, size, f))
		buf[0] = '\0';
	fclose(f);
	buf[strcspn(buf, "\n")] = '\0';
	return 0;
}

/* x86: "cpu", on hybrid CPUs "cpu_core" and "cpu_atom"; ARM: "armv8_…", "armv9_…". */
static bool is_core(const char *name)
{
	return !strcmp(name, "cpu") || !strncmp(name, "cpu_", 4) || !strncmp(name, "armv", 4);
}

static int read_pmu(const char *devices, const char *name, struct halo_pmu *pmu, int n_cpus)
{
	char dir[PATH_MAX], path[PATH_MAX + sizeof("/cpus")], text[64];

	memset(pmu, 0, sizeof(*pmu));
	if (snprintf(dir, sizeof(dir), "%s/%s", devices, name) >= (int)sizeof(dir) ||
	    read_line(dir, "type", text, sizeof(text)))
		return -ENOENT;
	snprintf(pmu->name, sizeof(pmu->name), "%.31s", name);
	pmu->type = strtoul(text, NULL, 10);
	if (!read_line(dir, "caps/branches", text, sizeof(text)))
		pmu->branches = strtoul(text, NULL, 10);
	pmu->has_brs = !read_line(dir, "events/branch-brs", text, sizeof(text));
	pmu->cpus = calloc(n_cpus, sizeof(*pmu->cpus));
	if (!pmu->cpus)
		return -ENOMEM;
	snprintf(path, sizeof(path), "%s/cpus", dir);
	if (halo_cpus__read(path, pmu->cpus, n_cpus))
		memset(pmu->cpus, true, n_cpus);
	return 0;
}

/* The words of the first "flags" line; they tell branch units apart that sysfs does not. */
static char *read_flags(const char *root)
{
	char path[PATH_MAX], *line = NULL;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/cpuinfo", root);
	f = fopen(path, "re");
	if (!f)
		return NULL;
	while (getline(&line, &size, f) > 0) {
		if (strncmp(line, "flags", 5))
			continue;
		fclose(f);
		line[strcspn(line, "\n")] = ' ';
		return line;
	}
	fclose(f);
	free(line);
	return NULL;
}

static bool has_flag(const char *flags, const char *flag)
{
	const char *at = flags ? strstr(flags, flag) : NULL;

	return at && at[-1] == ' ' && at[strlen(flag)] == ' ';
}

static enum halo_branch_unit unit_of(const struct halo_pmu *pmu, const char *flags)
{
	if (!strncmp(pmu->name, "armv", 4))
		return pmu->branches ? HALO_BRANCHES_BRBE : HALO_BRANCHES_NONE;
	if (has_flag(flags, "amd_lbr_v2"))
		return HALO_BRANCHES_AMD_V2;
	if (pmu->has_brs)
		return HALO_BRANCHES_AMD_BRS;
	if (has_flag(flags, "arch_lbr"))
		return HALO_BRANCHES_INTEL_ARCH;
	return pmu->branches ? HALO_BRANCHES_INTEL : HALO_BRANCHES_NONE;
}

int halo_pmus__read(const char *root, int n_cpus, struct halo_pmus *out)
{
	__cleanup_free char *flags = NULL;
	struct dirent *entry;
	char path[PATH_MAX];
	int err = 0;
	DIR *dir;

	memset(out, 0, sizeof(*out));
	snprintf(path, sizeof(path), "%s" DEVICES, root);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	flags = read_flags(root);
	while (!err && (entry = readdir(dir)) && out->n < ARRAY_SIZE(out->pmu)) {
		if (!is_core(entry->d_name))
			continue;
		err = read_pmu(path, entry->d_name, &out->pmu[out->n], n_cpus);
		if (err == -ENOENT) {
			err = 0;
			continue;
		}
		out->pmu[out->n].unit = unit_of(&out->pmu[out->n], flags);
		out->n += !err;
	}
	closedir(dir);
	/* PERF_TYPE_HARDWARE alone means the first of several units: each event names its own. */
	for (size_t i = 0; i < out->n; i++)
		out->pmu[i].is_one_of_many = !strncmp(out->pmu[i].name, "cpu_", 4);
	if (err)
		halo_pmus__free(out);
	return err;
}

void halo_pmus__free(struct halo_pmus *pmus)
{
	for (size_t i = 0; i < pmus->n; i++)
		free(pmus->pmu[i].cpus);
	pmus->n = 0;
}

const struct halo_pmu *halo_pmus__of(const struct halo_pmus *pmus, int cpu)
{
	for (size_t i = 0; i < pmus->n; i++)
		if (pmus->pmu[i].cpus[cpu])
			return &pmus->pmu[i];
	return NULL;
}
