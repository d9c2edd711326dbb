// SPDX-License-Identifier: BSD-2-Clause
/*
 * Landlock, from Linux 5.13 on: what a worker may open by path. Descriptors that it was given stay as
 * they are.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "../user/lib/util.h"
#include "sandbox_internal.h"

#define READ_FILE LANDLOCK_ACCESS_FS_READ_FILE
#define READ	  (READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define EXECUTE	  (READ | LANDLOCK_ACCESS_FS_EXECUTE)
#define WRITE                                                                 \
	(READ | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG | \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE)
/* All rights of the first version; newer kernels know more, which later versions name. */
#define ALL_1	 ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)
#define REFER	 (1ULL << 13) /* version 2: names in other folders */
#define TRUNCATE (1ULL << 14) /* version 3 */

/* Of a file that is no folder, the kernel takes only these. */
#define OF_FILE (LANDLOCK_ACCESS_FS_EXECUTE | READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | TRUNCATE)

/* The linker and the libraries of both, wherever distributions have put them. */
static const struct {
	const char *path;
	uint64_t access;
} shared[] = {
	{"/usr", EXECUTE},
	{"/lib", EXECUTE},
	{"/lib64", EXECUTE},
	{"/bin", EXECUTE},
	{"/etc/ld.so.cache", READ_FILE},
	{"/etc/ld.so.preload", READ_FILE},
	{"/dev/null", READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | TRUNCATE},
};

static int allow(int rules, int fd, uint64_t access)
{
	struct landlock_path_beneath_attr attr = {.allowed_access = access, .parent_fd = fd};

	return syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &attr, 0) ? -errno
											   : 0;
}

/* What is not there needs no rule. */
static int allow_path(int rules, const char *path, uint64_t access)
{
	__cleanup_fd int fd = open(path, O_PATH | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return 0;
	if (fstat(fd, &st))
		return -errno;
	return allow(rules, fd, S_ISDIR(st.st_mode) ? access : access & OF_FILE);
}

int landlock__enter(int dir_fd)
{
	struct landlock_ruleset_attr attr = {.handled_access_fs = ALL_1};
	__cleanup_fd int rules = -1;
	int ret = 0;
	long abi;

	abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	if (abi < 1)
		return errno == ENOSYS || errno == EOPNOTSUPP ? 0 : -errno;
	attr.handled_access_fs |= (abi >= 2 ? REFER : 0) | (abi >= 3 ? TRUNCATE : 0);
	rules = syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr.handled_access_fs), 0);
	if (rules < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(shared) && !ret; i++)
		ret = allow_path(rules, shared[i].path, shared[i].access & attr.handled_access_fs);
	if (!ret && dir_fd >= 0)
		ret = allow(rules, dir_fd, (WRITE | TRUNCATE) & attr.handled_access_fs);
	if (!ret && syscall(SYS_landlock_restrict_self, rules, 0))
		ret = -errno;
	return ret;
}
