/* SPDX-License-Identifier: BSD-2-Clause */
#define LOG_TAG "store"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#include "../lib/log.h"
#include "../lib/util.h"
#include "store.h"

/*
 * Programs map files of the store, so they hold descriptors for a moment, and any uid 0 may open
 * /proc/self/fd/N again for writing, in a container too. Opened through a mount that is itself
 * read-only, that fails. That mount has a path, so that perf, gdb and whoever reads a core dump find
 * what /proc/PID/maps speaks of.
 */
struct halo_store {
	char *dir;
	char *mapped; /* where the read-only clone is mounted */
	int root;     /* the mount's root directory, read-write; holds the lock */
	int readonly; /* the root directory of the clone */
};

enum store_state {
	STORE_ABSENT,  /* nothing mounted at the directory yet */
	STORE_MOUNTED, /* a tmpfs */
};

static int open_dir(const char *dir, struct halo_err *err)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return halo_err__set(err, -errno, "cannot open %s: %m", dir);
	return fd;
}

static int mount_state(int fd, const char *dir, struct halo_err *err)
{
	struct statfs fs;
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &st) || fstatfs(fd, &fs))
		return halo_err__set(err, -errno, "cannot examine %s: %m", dir);
	if (!(st.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT)) {
		halo_err__set(err, -EOPNOTSUPP, "cannot tell whether %s is a mount point", dir);
		halo_err__cause(err, "the kernel is older than 5.8");
		return -EOPNOTSUPP;
	}
	if (!(st.stx_attributes & STATX_ATTR_MOUNT_ROOT))
		return STORE_ABSENT;
	if (fs.f_type != TMPFS_MAGIC) {
		halo_err__set(err, -EEXIST, "%s is a mount point of another file system", dir);
		halo_err__remedy(err, "unmount it: umount %s", dir);
		return -EEXIST;
	}
	return STORE_MOUNTED;
}

static int mount_tmpfs(const char *dir, struct halo_err *err)
{
	int ret;

	if (mount("halo-bpf", dir, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0711") == 0)
		return 0;
	ret = halo_err__set(err, -errno, "cannot mount a tmpfs at %s: %m", dir);
	if (ret == -EPERM)
		halo_err__remedy(err, "start the daemon as root, outside containers");
	return ret;
}

static int check_mount(int fd, const char *dir, struct halo_err *err)
{
	struct statvfs fs;
	struct stat st;

	if (fstat(fd, &st) || fstatvfs(fd, &fs))
		return halo_err__set(err, -errno, "cannot examine %s: %m", dir);
	if (st.st_uid != 0 || (st.st_mode & 07777) != 0711)
		halo_err__set(err, -EPERM, "%s is not a directory of root's with mode 0711", dir);
	else if (fs.f_flag & (ST_NOEXEC | ST_RDONLY))
		halo_err__set(err, -EPERM, "the tmpfs at %s is mounted noexec or read-only", dir);
	else
		return 0;
	halo_err__remedy(err, "unmount it and start again: umount %s", dir);
	return -EPERM;
}

/*
 * The same for kernels before 5.12, which can't change a mount that is detached: it has a path for as
 * long as it takes. Opened before that ends, its root keeps it.
 */
static int bind_readonly(const char *dir, struct halo_err *err)
{
	char path[PATH_MAX];
	int fd = -1, code = 0;

	if (snprintf(path, sizeof(path), "%s.readonly", dir) >= (int)sizeof(path))
		return halo_err__set(err, -ENAMETOOLONG, "%s is too long a path", dir);
	if (mkdir(path, 0700) && errno != EEXIST)
		return halo_err__set(err, -errno, "cannot make the directory %s: %m", path);
	if (mount(dir, path, NULL, MS_BIND, NULL)) {
		code = -errno;
	} else {
		if (!mount(NULL, path, NULL,
			   MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL))
			fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		code = fd < 0 ? -errno : 0;
		umount2(path, MNT_DETACH);
	}
	rmdir(path);
	if (code)
		return halo_err__set(err, code, "cannot make a read-only mount at %s: %s", path,
				     strerror(-code));
	return fd;
}

static int clone_readonly(int root, const char *dir, struct halo_err *err)
{
	struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
	};
	__cleanup_fd int fd = open_tree(root, "",
					OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	int code;

	if (fd >= 0 && mount_setattr(fd, "", AT_EMPTY_PATH, &attr, sizeof(attr)) == 0)
		return take_fd(fd);
	if (errno == ENOSYS)
		return bind_readonly(dir, err);
	code = halo_err__set(err, -errno, "cannot make a detached read-only mount: %m");
	if (code == -EPERM)
		halo_err__remedy(err, "start the daemon as root, outside containers");
	return code;
}

/* An earlier daemon's clone: what programs have mapped has its path. */
static int find_clone(const struct halo_store *store)
{
	__cleanup_fd int fd = open(store->mapped, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat own, st;
	struct statvfs fs;

	if (fd < 0 || fstat(store->root, &own) || fstat(fd, &st) || fstatvfs(fd, &fs) ||
	    st.st_dev != own.st_dev || st.st_ino != own.st_ino || !(fs.f_flag & ST_RDONLY))
		return -1;
	return take_fd(fd);
}

/* Without a path all but names works, so that is no failure. */
static void give_path(const struct halo_store *store)
{
	while (umount2(store->mapped, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
		;
	if ((mkdir(store->mapped, 0711) && errno != EEXIST) ||
	    move_mount(store->readonly, "", AT_FDCWD, store->mapped, MOVE_MOUNT_F_EMPTY_PATH))
		log_warn("debuggers and profilers will not find names: mounting %s: %s",
			 store->mapped, strerror(errno));
}

static int open_clone(struct halo_store *store, struct halo_err *err)
{
	int ret = find_clone(store);

	if (ret < 0) {
		ret = clone_readonly(store->root, store->dir, err);
		if (ret < 0)
			return ret;
		store->readonly = ret;
		give_path(store);
	}
	store->readonly = ret;
	return 0;
}

/* Returns a descriptor of the mounted tmpfs' root directory. */
static int open_mount(const char *dir, struct halo_err *err)
{
	__cleanup_fd int fd = -1;
	int ret;

	if (mkdir(dir, 0700) && errno != EEXIST)
		return halo_err__set(err, -errno, "cannot make the directory %s: %m", dir);
	fd = open_dir(dir, err);
	if (fd < 0)
		return fd;
	ret = mount_state(fd, dir, err);
	if (ret == STORE_ABSENT) {
		ret = mount_tmpfs(dir, err);
		if (ret)
			return ret;
		zclose(&fd);
		fd = open_dir(dir, err);
		if (fd < 0)
			return fd;
	}
	if (ret < 0)
		return ret;
	ret = check_mount(fd, dir, err);
	if (ret)
		return ret;
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		ret = halo_err__set(err, -EBUSY, "the store at %s is in use", dir);
		halo_err__cause(err, "another halo-bpf daemon runs");
		return ret;
	}
	return take_fd(fd);
}

int halo_store__open(const char *dir, struct halo_store **out, struct halo_err *err)
{
	struct halo_store *store;
	int ret;

	if (dir[0] != '/')
		return halo_err__set(err, -EINVAL, "%s is not an absolute path", dir);
	store = calloc(1, sizeof(*store));
	if (!store)
		return halo_err__set(err, -ENOMEM, "out of memory");
	store->root = -1;
	store->readonly = -1;
	store->dir = strdup(dir);
	if (!store->dir || asprintf(&store->mapped, "%s.mapped", dir) < 0) {
		ret = halo_err__set(err, -ENOMEM, "out of memory");
		goto cleanup;
	}
	ret = open_mount(dir, err);
	if (ret < 0)
		goto cleanup;
	store->root = ret;
	ret = open_clone(store, err);
	if (ret < 0)
		goto cleanup;
	*out = store;
	return 0;
cleanup:
	halo_store__close(store, false);
	return ret;
}

void halo_store__close(struct halo_store *store, bool unmount)
{
	if (!store)
		return;
	zclose(&store->readonly);
	zclose(&store->root);
	if (unmount) {
		umount2(store->mapped, MNT_DETACH);
		rmdir(store->mapped);
		umount2(store->dir, MNT_DETACH);
	}
	free(store->mapped);
	free(store->dir);
	free(store);
}

int halo_store__root(const struct halo_store *store)
{
	return store->root;
}

int halo_store__open_file(struct halo_store *store, const char *name, int flags,
			  struct halo_err *err)
{
	int fd = openat(store->root, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);

	if (fd < 0)
		return halo_err__set(err, -errno, "cannot open %s/%s: %m", store->dir, name);
	return fd;
}

int halo_store__open_readonly(struct halo_store *store, const char *name, struct halo_err *err)
{
	int fd = openat(store->readonly, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return halo_err__set(err, -errno, "cannot open %s/%s read-only: %m", store->dir,
				     name);
	return fd;
}

void halo_store__unlink(struct halo_store *store, const char *name)
{
	unlinkat(store->root, name, 0);
}
