// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "../user/lib/util.h"
#include "files.h"

int files__write(int dir, const char *name, const void *data, size_t len, struct halo_err *err)
{
	__cleanup_fd int fd = -1;
	size_t done = 0;
	ssize_t n;

	fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return halo_err__set(err, -errno, "can't write %s: %s", name, strerror(errno));
	while (done < len) {
		n = write(fd, (const char *)data + done, len - done);
		if (n < 0 && errno != EINTR)
			return halo_err__set(err, -errno, "can't write %s: %s", name,
					     strerror(errno));
		done += n > 0 ? n : 0;
	}
	return 0;
}
