// SPDX-License-Identifier: BSD-2-Clause
/* Sets of CPUs, as sysfs writes them. */
#include <ctype.h>
#include <string.h>

#include "internal.h"

#define CPU_ONLINE "/sys/devices/system/cpu/online"

int halo_cpus__parse(const char *text, bool *mask, int n)
{
	unsigned long first, last;
	char *end;

	memset(mask, 0, n * sizeof(*mask));
	while (*text && *text != '\n') {
		if (!isdigit((unsigned char)*text))
			return -EINVAL;
		first = last = strtoul(text, &end, 10);
		if (*end == '-') {
			if (!isdigit((unsigned char)end[1]))
				return -EINVAL;
			last = strtoul(end + 1, &end, 10);
		}
		if (last < first || (*end && *end != ',' && *end != '\n'))
			return -EINVAL;
		for (unsigned long cpu = first; cpu <= last && cpu < (unsigned long)n; cpu++)
			mask[cpu] = true;
		text = *end == ',' ? end + 1 : end;
	}
	return 0;
}

int halo_cpus__read(const char *path, bool *mask, int n)
{
	__cleanup_free char *text = NULL;
	size_t size = 0;
	FILE *f = fopen(path, "re");
	int err = 0;

	if (!f)
		return -errno;
	errno = 0;
	/* An empty set is an empty line. */
	if (getline(&text, &size, f) < 0)
		err = errno ? -errno : -ENODATA;
	fclose(f);
	return err ?: halo_cpus__parse(text, mask, n);
}

int halo_cpus__online(bool *mask, int n)
{
	return halo_cpus__read(CPU_ONLINE, mask, n);
}
