// SPDX-License-Identifier: BSD-2-Clause
/* The filesystems that maps are pinned on and tracepoints described in. */
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define LOG_TAG "kernel"
#include "../lib/log.h"
#include "internal.h"

#define BPFFS	"/sys/fs/bpf"
#define TRACEFS "/sys/kernel/tracing"

static bool is_mounted(const char *dir, __fsword_t magic)
{
	struct statfs st;

	return !statfs(dir, &st) && st.f_type == magic;
}

bool halo_mounts__has_bpffs(void)
{
	return is_mounted(BPFFS, BPF_FS_MAGIC);
}

bool halo_mounts__has_tracefs(void)
{
	return is_mounted(TRACEFS, TRACEFS_MAGIC);
}

static int do_mount(const char *type, const char *dir, struct halo_err *err)
{
	int ret;

	if (!mount(type, dir, type, MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700")) {
		log_info("mounted %s on %s", type, dir);
		return 0;
	}
	ret = -errno;
	halo_err__set(err, ret, "Can't mount %s on %s: %m", type, dir);
	halo_err__cause(err, "CAP_SYS_ADMIN is missing, or the kernel was built without it");
	halo_err__remedy(err, "mount -t %s %s %s", type, type, dir);
	return ret;
}

int halo_mounts__ensure_bpffs(struct halo_err *err)
{
	return halo_mounts__has_bpffs() ? 0 : do_mount("bpf", BPFFS, err);
}

int halo_mounts__ensure_tracefs(struct halo_err *err)
{
	return halo_mounts__has_tracefs() ? 0 : do_mount("tracefs", TRACEFS, err);
}
