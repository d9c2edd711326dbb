// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <sys/stat.h>

#include "cc_check.h"
#include "prepared.h"
#include "util.h"

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

	/* The linker was asked for its version, and linked nothing. */
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return halo_err__set(err, -errno, "can't open %s", path);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return 0;
	ret = halo_prepared__open(fd, &p, err);
	if (ret == -EBADMSG) {
		halo_err__wrap(err, ret, "%s", path);
		halo_err__cause(err, "the linker moved, reordered or dropped sections of ours");
		halo_err__remedy(err, "link without a linker script and without options that place "
				      "sections");
	}
	if (ret)
		return ret;
	ret = check_parts(p, path, err);
	halo_prepared__free(p);
	return ret;
}
