// SPDX-License-Identifier: BSD-2-Clause
/*
 * The one place where a kernel's version decides something. Reading user memory in a perf NMI could
 * fault on a page table in use and freeze the machine from 5.19 on; fixed in 6.4 (d319f344561d) and
 * in the stable series 6.1.36 and 6.3.10. It can't be probed for without a freeze. Timers that don't
 * fire in an NMI are not affected.
 *
 * Distributions that fixed theirs under an older number set HALO_IGNORE_KERNEL_DENYLIST=1.
 */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "internal.h"

struct version {
	unsigned int major, minor, patch;
};

/* First and last version of each bad range; other patch levels of the series are good. */
static const struct {
	struct version first, last;
} nmi_reads_freeze[] = {
	{{5, 19, 0}, {5, 19, ~0U}}, {{6, 0, 0}, {6, 0, ~0U}}, {{6, 1, 0}, {6, 1, 35}},
	{{6, 2, 0}, {6, 2, ~0U}},   {{6, 3, 0}, {6, 3, 9}},
};

static bool at_least(const struct version *a, const struct version *b)
{
	if (a->major != b->major)
		return a->major > b->major;
	if (a->minor != b->minor)
		return a->minor > b->minor;
	return a->patch >= b->patch;
}

static bool parse(const char *release, struct version *v)
{
	memset(v, 0, sizeof(*v));
	return sscanf(release, "%u.%u.%u", &v->major, &v->minor, &v->patch) >= 2;
}

bool halo_denylist__nmi_reads_freeze(const char *release, char *why, size_t size)
{
	struct version v;

	if (!parse(release, &v))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(nmi_reads_freeze); i++) {
		if (!at_least(&v, &nmi_reads_freeze[i].first) ||
		    !at_least(&nmi_reads_freeze[i].last, &v))
			continue;
		snprintf(
			why, size,
			"kernel %s may freeze when user memory is read in an NMI (fixed in 6.1.36, "
			"6.3.10 and 6.4); " HALO_DENYLIST_OVERRIDE "=1 overrides",
			release);
		return true;
	}
	return false;
}

/*
 * Debian's release is "6.1.0-57-amd64", whatever the patch level; that is in uname's version field:
 * "#1 SMP … Debian 6.1.192-3 (2026-…)" → "6.1.192-3 (2026-…)". NULL: not Debian's.
 */
static const char *debian_release(const char *version)
{
	const char *at = strstr(version, "Debian ");

	return at ? at + strlen("Debian ") : NULL;
}

bool halo_denylist__blocks(char *why, size_t size)
{
	const char *override = getenv(HALO_DENYLIST_OVERRIDE);
	const char *release;
	struct utsname uts;

	if (override && !strcmp(override, "1"))
		return false;
	if (uname(&uts))
		return false;
	release = debian_release(uts.version);
	return halo_denylist__nmi_reads_freeze(release ? release : uts.release, why, size);
}
