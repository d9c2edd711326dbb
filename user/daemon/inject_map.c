/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "../lib/util.h"
#include "inject.h"

/* How the program's scratch memory is used. The addresses in it are the program's. */
struct scratch {
	int pair[2];
	struct msghdr msg;
	struct iovec iov;
	char byte[8];
	union {
		struct cmsghdr header;
		char buf[CMSG_SPACE(HALO_MAP_COUNT * sizeof(int))];
	} control;
};
_Static_assert(sizeof(struct scratch) <= HALO_SCRATCH_SIZE, "fits");

#define FDS_LEN CMSG_LEN(HALO_MAP_COUNT * sizeof(int)) /* and room for not one more */

/* What has been opened and mapped in the program and is to be undone. */
struct remote {
	struct halo_injection *inj;
	int pair[2];
	int fds[HALO_MAP_COUNT];
	uint64_t mapped[HALO_MAP_COUNT]; /* 0: not mapped */
};

static uint64_t field(const struct remote *r, size_t offset)
{
	return r->inj->scratch + offset;
}

#define FIELD(r, member) field(r, offsetof(struct scratch, member))

/* A system call in the program; its result, or -errno. */
#define CALL(r, nr, ...) call(r, nr, (const uint64_t[6]){__VA_ARGS__})

static int64_t call(struct remote *r, long nr, const uint64_t args[6])
{
	int64_t result;
	int ret = halo_tracee__syscall(&r->inj->tracee, nr, args, &result);

	return ret ? ret : result;
}

static bool failed(int64_t result)
{
	return result < 0 && result >= -4095;
}

static int fail(struct halo_err *err, int64_t code, const char *what)
{
	return halo_err__set(err, (int)code, "%s: %s", what, strerror((int)-code));
}

/* The program's descriptor @fd as one of ours, provided that the thread sees the same one. */
static int fetch(struct remote *r, int fd, struct halo_err *err)
{
	const struct halo_tracee *t = &r->inj->tracee;
	__cleanup_fd int ours = (int)syscall(SYS_pidfd_getfd, r->inj->pidfd, fd, 0);
	char path[64], link[64], expected[64];
	struct stat st;
	ssize_t n;

	if (ours < 0 || fstat(ours, &st))
		return halo_err__set(err, -errno, "cannot take a descriptor from it: %m");
	snprintf(path, sizeof(path), "/proc/%d/task/%d/fd/%d", t->pid, t->tid, fd);
	snprintf(expected, sizeof(expected), "socket:[%lu]", (unsigned long)st.st_ino);
	n = readlink(path, link, sizeof(link) - 1);
	if (n < 0)
		return halo_err__set(err, -errno, "cannot examine its descriptors: %m");
	link[n] = '\0';
	if (strcmp(link, expected) != 0)
		return halo_err__set(err, -EBADF, "its threads don't share their descriptors");
	return take_fd(ours);
}

static int send_fds(int socket, const int fds[HALO_MAP_COUNT], struct halo_err *err)
{
	struct scratch s = {0};
	struct iovec iov = {s.byte, 1};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &s.control,
		.msg_controllen = FDS_LEN,
	};

	s.control.header = (struct cmsghdr){FDS_LEN, SOL_SOCKET, SCM_RIGHTS};
	memcpy(CMSG_DATA(&s.control.header), fds, HALO_MAP_COUNT * sizeof(int));
	if (sendmsg(socket, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) != 1)
		return halo_err__set(err, -errno, "cannot send the descriptors: %m");
	return 0;
}

static int make_pair(struct remote *r, struct halo_err *err)
{
	int64_t ret = CALL(r, SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
			   FIELD(r, pair));
	__cleanup_fd int ours = -1;

	if (ret)
		return fail(err, ret, "cannot make a socket in it");
	ret = halo_tracee__read(&r->inj->tracee, FIELD(r, pair), r->pair, sizeof(r->pair));
	if (ret)
		return fail(err, ret, "cannot read its memory");
	ours = fetch(r, r->pair[1], err);
	if (ours < 0)
		return ours;
	return send_fds(ours, r->inj->fds, err);
}

static int receive_fds(struct remote *r, struct halo_err *err)
{
	struct halo_tracee *t = &r->inj->tracee;
	struct scratch s = {
		.msg =
			{
				.msg_iov = (struct iovec *)FIELD(r, iov),
				.msg_iovlen = 1,
				.msg_control = (void *)FIELD(r, control),
				.msg_controllen = FDS_LEN,
			},
		.iov = {(void *)FIELD(r, byte), 1},
	};
	size_t n = 0;
	int64_t ret;

	ret = halo_tracee__write(t, r->inj->scratch, &s, sizeof(s));
	if (ret)
		return fail(err, ret, "cannot write its memory");
	ret = CALL(r, SYS_recvmsg, (uint64_t)r->pair[0], FIELD(r, msg),
		   MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (ret < 0)
		return fail(err, ret, "it cannot receive the descriptors");
	ret = halo_tracee__read(t, r->inj->scratch, &s, sizeof(s));
	if (ret)
		return fail(err, ret, "cannot read its memory");
	if (s.msg.msg_controllen >= CMSG_LEN(0) && s.control.header.cmsg_len >= CMSG_LEN(0) &&
	    s.control.header.cmsg_len <= FDS_LEN)
		n = (s.control.header.cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(r->fds, CMSG_DATA(&s.control.header), n * sizeof(int));
	if (n != HALO_MAP_COUNT || (s.msg.msg_flags & MSG_CTRUNC))
		return fail(err, -EMFILE, "it cannot receive the descriptors");
	return 0;
}

static int map_at(struct remote *r, enum halo_mapping_index i, uint64_t addr, struct halo_err *err)
{
	static const char *const name[] = {"slots", "arena", "counters"};
	const struct halo_mapping *m = &r->inj->offer.map[i];
	int64_t ret = CALL(r, SYS_mmap, addr, m->len, m->prot, m->flags, (uint64_t)r->fds[i], 0);

	if (failed(ret))
		return halo_err__set(err, (int)ret, "it cannot map the %s at %#llx: %s", name[i],
				     (unsigned long long)m->addr, strerror((int)-ret));
	r->mapped[i] = (uint64_t)ret;
	if (addr && r->mapped[i] != addr)
		return halo_err__set(err, -EEXIST, "something is mapped where its %s belong",
				     name[i]);
	return 0;
}

/* Elsewhere first: a mapping in place that failed could leave the program without its slots. */
static int map_all(struct remote *r, struct halo_err *err)
{
	const struct halo_mapping *map = r->inj->offer.map;
	int64_t moved;
	int ret;

	ret = map_at(r, HALO_MAP_ARENA, map[HALO_MAP_ARENA].addr, err);
	if (ret == 0)
		ret = map_at(r, HALO_MAP_COUNTERS, map[HALO_MAP_COUNTERS].addr, err);
	if (ret == 0)
		ret = map_at(r, HALO_MAP_SLOTS, 0, err);
	if (ret)
		return ret;
	moved = CALL(r, SYS_mremap, r->mapped[HALO_MAP_SLOTS], map[HALO_MAP_SLOTS].len,
		     map[HALO_MAP_SLOTS].len, MREMAP_MAYMOVE | MREMAP_FIXED,
		     map[HALO_MAP_SLOTS].addr);
	if ((uint64_t)moved != map[HALO_MAP_SLOTS].addr)
		return fail(err, moved, "it cannot move the new slots in place");
	return 0;
}

static void unmap_all(struct remote *r)
{
	size_t i;

	for (i = 0; i < HALO_MAP_COUNT; i++)
		if (r->mapped[i])
			CALL(r, SYS_munmap, r->mapped[i], r->inj->offer.map[i].len);
}

static void close_all(struct remote *r, const int *fds, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (fds[i] >= 0)
			CALL(r, SYS_close, (uint64_t)fds[i]);
}

int halo_inject__map(struct halo_injection *inj, struct halo_err *err)
{
	struct remote r = {.inj = inj, .pair = {-1, -1}, .fds = {-1, -1, -1}};
	int ret = make_pair(&r, err);

	if (ret == 0)
		ret = receive_fds(&r, err);
	if (ret == 0)
		ret = map_all(&r, err);
	if (ret)
		unmap_all(&r);
	close_all(&r, r.pair, ARRAY_SIZE(r.pair));
	close_all(&r, r.fds, ARRAY_SIZE(r.fds));
	return ret;
}
