/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../lib/util.h"
#include "inject.h"
#include "maps.h"

#define ENVIRON_MAX (256 << 10)

static int read_maps(pid_t pid, struct halo_maps *maps, struct halo_err *err)
{
	__cleanup_fd int proc = halo_proc__open(pid, err);

	return proc < 0 ? proc : halo_maps__read(proc, maps, err);
}

/*
 * As the program was started with it; a program may have written over it since, and its pages may keep
 * whoever reads them waiting.
 */
int halo_inject__check_allowed(const struct halo_injection *inj, struct halo_err *err)
{
	__cleanup_free char *env = malloc(ENVIRON_MAX + 1);
	__cleanup_fd int fd = -1;
	size_t got = 0, at;
	char path[32];
	ssize_t n;

	if (!env)
		return halo_err__set(err, -ENOMEM, "out of memory");
	snprintf(path, sizeof(path), "/proc/%d/environ", inj->tracee.pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return halo_err__set(err, -errno, "cannot read its environment: %m");
	while (got < ENVIRON_MAX && (n = read(fd, env + got, ENVIRON_MAX - got)) > 0)
		got += n;
	env[got] = '\0';
	for (at = 0; at < got; at += strlen(env + at) + 1)
		if (strcmp(env + at, "HALO_DISABLE=1") == 0)
			return halo_err__set(err, -ECANCELED,
					     "HALO_DISABLE=1 is in its environment");
	return 0;
}

static int check_private(pid_t pid, uint64_t slots, struct halo_err *err)
{
	const struct halo_map *m;
	struct halo_maps maps;
	bool ok, shared;
	int ret;

	ret = read_maps(pid, &maps, err);
	if (ret)
		return ret;
	m = halo_maps__at(&maps, slots);
	ok = m && (m->prot & PROT_READ);
	shared = m && m->shared;
	halo_maps__free(&maps);
	if (!ok)
		return halo_err__set(err, -EFAULT, "its slots are not mapped");
	if (shared)
		return halo_err__set(err, -EALREADY, "it is attached already");
	return 0;
}

static int check_slots(const struct halo_tracee *t, uint64_t slots, const struct halo_family *f,
		       struct halo_err *err)
{
	const size_t data = HALO_DATA_PAGES * HALO_PAGE;
	__cleanup_free char *current = NULL;
	const char *wanted;
	uint64_t len;
	int ret;

	wanted = (const char *)halo_family__slots(f, &len);
	current = malloc(len);
	if (!current)
		return halo_err__set(err, -ENOMEM, "out of memory");
	ret = halo_tracee__read(t, slots, current, len);
	if (ret)
		return halo_err__set(err, ret, "cannot read its slots: %s", strerror(-ret));
	if (memcmp(current + data, wanted + data, len - data) != 0) {
		halo_err__set(err, -EILSEQ, "its slots do not hold what its tables say");
		halo_err__cause(err, "the program has written them, or a tool rewrote its file");
		return -EILSEQ;
	}
	return 0;
}

static int check_stub(const struct halo_injection *inj, struct halo_err *err)
{
	const struct halo_tracee *t = &inj->tracee;
	uint8_t code[HALO_ATTACH_CODE_SIZE];
	struct halo_scratch s;
	char path[64];
	int ret;

	ret = halo_tracee__read(t, t->code, code, sizeof(code));
	if (ret == 0)
		ret = halo_tracee__read(t, t->scratch, &s, sizeof(s));
	if (ret)
		return halo_err__set(err, ret, "cannot read its stub: %s", strerror(-ret));
	if (memcmp(code, inj->code, sizeof(code)) != 0)
		return halo_err__set(err, -EBADMSG, "its stub is not where its tables say");
	/* Left by an attempt that was broken off; a child has it from its parent. */
	snprintf(path, sizeof(path), "/proc/%d/task/%d", t->pid, (pid_t)s.busy);
	if (s.busy && access(path, F_OK) == 0)
		return halo_err__set(err, -EBUSY, "another attempt is still going on in it");
	return 0;
}

int halo_inject__check_before(const struct halo_injection *inj, const struct halo_family *f,
			      struct halo_err *err)
{
	uint64_t slots = inj->offer.map[HALO_MAP_SLOTS].addr;
	int ret;

	ret = check_private(inj->tracee.pid, slots, err);
	if (ret == 0)
		ret = check_slots(&inj->tracee, slots, f, err);
	return ret ? ret : check_stub(inj, err);
}

static bool mapped_as_offered(const struct halo_maps *maps, const struct halo_mapping *wanted,
			      int fd)
{
	const struct halo_map *m = halo_maps__at(maps, wanted->addr);
	struct stat st;

	return m && fstat(fd, &st) == 0 && m->ino == st.st_ino && m->start == wanted->addr &&
	       m->end - m->start == wanted->len && m->off == 0 && m->prot == (int)wanted->prot &&
	       m->shared == !!(wanted->flags & MAP_SHARED);
}

int halo_inject__check_after(const struct halo_injection *inj, struct halo_err *err)
{
	struct halo_maps maps;
	bool ok = true;
	size_t i;
	int ret;

	ret = read_maps(inj->tracee.pid, &maps, err);
	if (ret)
		return ret;
	for (i = 0; i < HALO_MAP_COUNT; i++)
		ok = ok && mapped_as_offered(&maps, &inj->offer.map[i], inj->fds[i]);
	halo_maps__free(&maps);
	return ok ? 0 : halo_err__set(err, -EPROTO, "its mappings are not as they should be");
}
