// SPDX-License-Identifier: BSD-2-Clause
/* What the programs in the kernel know of binaries and of their processes. */
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define LOG_TAG "kernel"
#include "../lib/log.h"
#include "internal.h"

#define KERNEL_MINOR_BITS 20 /* of super_block.s_dev; what stat(2) tells is packed otherwise */

#define UPDATE(map, key, val, flags) \
	bpf_map__update_elem(map, key, sizeof(*(key)), val, sizeof(*(val)), flags)
#define LOOKUP(map, key, val) bpf_map__lookup_elem(map, key, sizeof(*(key)), val, sizeof(*(val)), 0)
#define DELETE(map, key)      bpf_map__delete_elem(map, key, sizeof(*(key)), 0)

static void copy_buildid(struct halo_build_id *dst, const struct halo_buildid *src)
{
	memset(dst, 0, sizeof(*dst));
	dst->len = src->len <= sizeof(dst->id) ? src->len : sizeof(dst->id);
	memcpy(dst->id, src->id, dst->len);
}

/* As the kernel sets mm->start_code: the executable segment with the lowest address. */
static const struct halo_segment *text_segment(const struct halo_prepared *p)
{
	const struct halo_segment *text = NULL;

	for (size_t i = 0; i < p->n_segments; i++) {
		if (!(p->segments[i].flags & PF_X))
			continue;
		if (!text || p->segments[i].vaddr < text->vaddr)
			text = &p->segments[i];
	}
	return text;
}

/* Visit all keys of a map of @size-byte keys; fn may delete the one it is given. */
static void for_each_key(struct bpf_map *map, size_t size,
			 void (*fn)(struct bpf_map *map, const void *key, uint32_t arg),
			 uint32_t arg)
{
	char key[64], next[64];
	bool more;

	if (size > sizeof(key))
		return;
	more = !bpf_map__get_next_key(map, NULL, key, size);
	for (unsigned int i = 0; more && i < 2 * bpf_map__max_entries(map); i++) {
		more = !bpf_map__get_next_key(map, key, next, size);
		fn(map, key, arg);
		memcpy(key, next, size);
	}
}

static void forget_inode(struct bpf_map *map, const void *key, uint32_t exe_id)
{
	const struct halo_inode_key *inode = key;
	uint32_t val;

	if (!LOOKUP(map, inode, &val) && val == exe_id)
		DELETE(map, inode);
}

static void forget_proc(struct bpf_map *map, const void *key, uint32_t exe_id)
{
	const uint32_t *tgid = key;
	struct halo_proc proc;

	if (!LOOKUP(map, tgid, &proc) && proc.exe_id == exe_id)
		DELETE(map, tgid);
}

int halo_kernel__enroll(struct halo_kernel *k, uint32_t exe_id, const struct halo_prepared *p,
			const char *path, struct halo_err *err)
{
	const struct halo_segment *text = text_segment(p);
	struct halo_enrollment enrollment = {.exe_id = exe_id};
	struct halo_exe_info info = {0};
	int ret;

	if (!exe_id || !p->buildid.len)
		return halo_err__set(err, -EINVAL, "Can't enroll %s: no build-id", path);
	if (!text)
		return halo_err__set(err, -ENOEXEC, "Can't enroll %s: no code in it", path);
	copy_buildid(&info.build_id, &p->buildid);
	info.text_vaddr = text->vaddr;
	info.text_off = text->off;
	info.text_size = text->filesz;
	snprintf(info.path, sizeof(info.path), "%s", path);

	ret = UPDATE(k->skel->maps.halo_exe, &exe_id, &info, BPF_ANY);
	if (!ret)
		ret = UPDATE(k->skel->maps.halo_enrolled, &info.build_id, &enrollment, BPF_ANY);
	if (ret) {
		DELETE(k->skel->maps.halo_exe, &exe_id);
		halo_err__set(err, ret, "Can't enroll %s: %s", path, strerror(-ret));
		if (ret == -E2BIG)
			halo_err__cause(err, "%u binaries are enrolled", HALO_MAX_EXES);
		return ret;
	}
	/* Copies of the file elsewhere were looked at and found unknown: look again. */
	for_each_key(k->skel->maps.halo_inode, sizeof(struct halo_inode_key), forget_inode, 0);
	if (p->fd >= 0)
		halo_kernel__know_inode(k, p->fd, exe_id);
	return 0;
}

int halo_kernel__set_exe(struct halo_kernel *k, uint32_t exe_id, const struct halo_buildid *id,
			 const char *path)
{
	struct halo_exe_info info = {0};

	copy_buildid(&info.build_id, id);
	snprintf(info.path, sizeof(info.path), "%s", path);
	return UPDATE(k->skel->maps.halo_exe, &exe_id, &info, BPF_ANY);
}

void halo_kernel__del_exe(struct halo_kernel *k, uint32_t exe_id)
{
	DELETE(k->skel->maps.halo_exe, &exe_id);
	halo_kernel__del_table(k, exe_id, false);
	halo_kernel__del_table(k, exe_id, true);
}

int halo_kernel__get_exe(struct halo_kernel *k, uint32_t exe_id, struct halo_exe_info *info)
{
	return LOOKUP(k->skel->maps.halo_exe, &exe_id, info);
}

int halo_kernel__unenroll(struct halo_kernel *k, uint32_t exe_id, const struct halo_buildid *id)
{
	struct halo_build_id key;

	copy_buildid(&key, id);
	DELETE(k->skel->maps.halo_enrolled, &key);
	for_each_key(k->skel->maps.halo_inode, sizeof(struct halo_inode_key), forget_inode, exe_id);
	for_each_key(k->skel->maps.halo_proc, sizeof(uint32_t), forget_proc, exe_id);
	return DELETE(k->skel->maps.halo_exe, &exe_id);
}

int halo_kernel__know_inode(struct halo_kernel *k, int fd, uint32_t exe_id)
{
	struct halo_inode_key key = {0};
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	key.dev = (uint64_t)major(st.st_dev) << KERNEL_MINOR_BITS | minor(st.st_dev);
	key.ino = st.st_ino;
	key.ctime_ns = st.st_ctim.tv_sec * 1000000000ULL + st.st_ctim.tv_nsec;
	return halo_kernel__know_key(k, &key, exe_id);
}

int halo_kernel__know_key(struct halo_kernel *k, const struct halo_inode_key *key, uint32_t exe_id)
{
	return UPDATE(k->skel->maps.halo_inode, key, &exe_id, BPF_ANY);
}

int halo_kernel__forget_key(struct halo_kernel *k, const struct halo_inode_key *key)
{
	return DELETE(k->skel->maps.halo_inode, key);
}

int halo_kernel__set_proc(struct halo_kernel *k, uint32_t tgid, const struct halo_proc *proc)
{
	return UPDATE(k->skel->maps.halo_proc, &tgid, proc, BPF_ANY);
}

int halo_kernel__get_proc(struct halo_kernel *k, uint32_t tgid, struct halo_proc *proc)
{
	return LOOKUP(k->skel->maps.halo_proc, &tgid, proc);
}

int halo_kernel__del_proc(struct halo_kernel *k, uint32_t tgid)
{
	return DELETE(k->skel->maps.halo_proc, &tgid);
}
