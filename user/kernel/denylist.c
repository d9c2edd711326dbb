// SPDX-License-Identifier: BSD-2-Clause
/*
 * The one place where a kernel's version decides something. Reading user memory in a perf NMI could
 * fault on a page table in use and freeze the machine from 5.19 on; fixed in 6.4 (d319f344561d) and
 * in the stable series 6.1.36 (2e7ad879e1b0) and 6.3.10 (3acb3dd3145b). It can't be probed for without
 * a freeze. Timers that don't fire in an NMI are not affected.
 *
 * Distributions number their kernels otherwise: the table tells where each has the stable version that
 * its kernel is based on. Where one fixed its kernel under an older number still, the user says so with
 * halo-bpf start --allow-unsafe-kernel.
 */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "internal.h"

#define VERSION_SIGNATURE "/proc/version_signature" /* Ubuntu's */

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
			"6.3.10 and 6.4); halo-bpf start --allow-unsafe-kernel uses it all the "
			"same",
			release);
		return true;
	}
	return false;
}

/* The word behind @marker in @text; NULL: it is not there. */
static const char *behind(const char *text, const char *marker)
{
	const char *at = text ? strstr(text, marker) : NULL;

	return at ? at + strlen(marker) : NULL;
}

/* "#1 SMP PREEMPT_DYNAMIC Debian 6.1.192-3 (2026-…)"; the release is "6.1.0-57-amd64" throughout. */
static const char *debian(const char *version, const char *signature)
{
	(void)signature;
	return behind(version, "Debian ");
}

/* "Ubuntu 6.2.0-26.26~22.04.1-generic 6.2.13": the last word; the release is "6.2.0-26-generic". */
static const char *ubuntu(const char *version, const char *signature)
{
	const char *at = behind(signature, "Ubuntu ");

	(void)version;
	return behind(at, " ");
}

static const struct {
	const char *name;
	const char *(*upstream)(const char *version, const char *signature);
} distributions[] = {
	{"Debian", debian},
	{"Ubuntu", ubuntu},
};

const char *halo_denylist__upstream(const char *release, const char *version, const char *signature)
{
	const char *found;

	for (size_t i = 0; i < ARRAY_SIZE(distributions); i++) {
		found = distributions[i].upstream(version, signature);
		if (found)
			return found;
	}
	/* Fedora, Amazon, openSUSE, Arch and those who build their own keep the number in front. */
	return release;
}

static const char *upstream(char *buf, size_t size)
{
	char signature[256] = "";
	struct utsname uts;
	FILE *f;

	if (uname(&uts))
		return NULL;
	f = fopen(VERSION_SIGNATURE, "re");
	if (f && !fgets(signature, sizeof(signature), f))
		signature[0] = '\0';
	if (f)
		fclose(f);
	signature[strcspn(signature, "\n")] = '\0';
	snprintf(buf, size, "%s",
		 halo_denylist__upstream(uts.release, uts.version, f ? signature : NULL));
	return buf;
}

void halo_denylist__version(char *buf, size_t size)
{
	if (!upstream(buf, size))
		buf[0] = '\0';
	/* "6.1.192-3 (2026-…)" */
	buf[strcspn(buf, "- ")] = '\0';
}

bool halo_denylist__blocks(char *why, size_t size)
{
	char release[128];

	return upstream(release, sizeof(release)) &&
	       halo_denylist__nmi_reads_freeze(release, why, size);
}
