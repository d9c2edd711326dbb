// SPDX-License-Identifier: BSD-2-Clause
/* build/selftests/fuzz/prepared_fuzz CORPUS…: the readers of prepared programs and objects, by libFuzzer. */
#include <sys/mman.h>
#include <unistd.h>

#include "prepared_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("prepared_fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	walk_prepared(fd);
	close(fd);
	walk_object(data, size);
	return 0;
}
