// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "cc_check.h"
#include "prepared.h"
#include "util.h"

static int check_bounds(const struct halo_prepared *p, const char *path, struct halo_err *err)
{
	uint64_t begin = p->stub.slots_begin, end = p->stub.slots_end;

	if (begin % HALO_PAGE == 0 && end % HALO_PAGE == 0 && begin < end)
		return 0;
	halo_err__set(err, -EBADMSG, "%s: slots at 0x%" PRIx64 " to 0x%" PRIx64 " fill no pages",
		      path, begin, end);
	halo_err__cause(err, "the linker moved the first or the last object of %s", HALO_SEC_SLOTS);
	halo_err__remedy(err, "link without options that reorder sections");
	return -EBADMSG;
}

static int check_slots(const struct halo_prepared *p, const char *path, struct halo_err *err)
{
	uint64_t first = p->stub.slots_begin + HALO_DATA_PAGES * HALO_PAGE;

	for (size_t i = 0; i < p->n_funcs; i++) {
		const struct halo_func *f = &p->funcs[i];

		if (!f->slot || (f->slot >= first && f->slot < p->stub.slots_end))
			continue;
		halo_err__set(err, -EBADMSG, "%s: the slot of %s is outside of the slots' pages",
			      path, f->name);
		halo_err__cause(err,
				"the linker reordered %s (--shuffle-sections, a linker script)",
				HALO_SEC_SLOTS);
		halo_err__remedy(err, "link without options that reorder sections");
		return -EBADMSG;
	}
	return 0;
}

static int check_parts(const struct halo_prepared *p, const char *path, struct halo_err *err)
{
	if (!p->has_stub) {
		halo_err__set(err, -EBADMSG, "%s: no %s section", path, HALO_SEC_STUB);
		halo_err__cause(err, "the linker dropped it");
		halo_err__remedy(err, "link without a linker script that discards it");
		return -EBADMSG;
	}
	if (!p->buildid.len) {
		halo_err__set(err, -EBADMSG, "%s: no build-id", path);
		halo_err__cause(err, "the linker was told not to write one");
		halo_err__remedy(err, "remove --build-id=none from the link options");
		return -EBADMSG;
	}
	return 0;
}

int cc_check__executable(const char *path, struct halo_err *err)
{
	struct halo_prepared *p = NULL;
	__cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	int ret;

	if (fd < 0)
		return halo_err__set(err, -errno, "can't open %s", path);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return 0;
	ret = halo_prepared__open(fd, &p, err);
	if (ret)
		return ret;
	ret = check_parts(p, path, err);
	if (!ret)
		ret = check_bounds(p, path, err);
	if (!ret)
		ret = check_slots(p, path, err);
	halo_prepared__free(p);
	return ret;
}
