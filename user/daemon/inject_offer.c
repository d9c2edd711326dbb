/* SPDX-License-Identifier: BSD-2-Clause */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "../lib/util.h"
#include "inject.h"
#include "offer.h"

#define ANSWER_MS 1000 /* that the thread has for its mappings */
#define TEND_MS	  10

/* The program's descriptor @fd as one of ours, provided that the thread sees the same one. */
static int fetch(const struct halo_injection *inj, int fd, struct halo_err *err)
{
	const struct halo_tracee *t = &inj->tracee;
	__cleanup_fd int ours = (int)syscall(SYS_pidfd_getfd, inj->pidfd, fd, 0);
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

int halo_inject__offer(struct halo_injection *inj, const int pair[2], int *socket,
		       struct halo_err *err)
{
	int ret;

	*socket = fetch(inj, pair[1], err);
	if (*socket < 0)
		return *socket;
	ret = halo_offer__send(*socket, &inj->offer, inj->fds);
	if (ret)
		return halo_err__set(err, ret, "cannot send the descriptors: %s", strerror(-ret));
	return 0;
}

/* A message of up to @len bytes; 0: the other end is closed; -ETIMEDOUT. */
static ssize_t receive(struct halo_tracee *t, int socket, void *buf, size_t len)
{
	uint64_t begin = halo_tracee__now(), deadline = begin + ANSWER_MS * 1000000ULL;
	struct pollfd poll_in = {.fd = socket, .events = POLLIN};
	ssize_t n;

	while (halo_tracee__now() < deadline) {
		n = recv(socket, buf, len, MSG_DONTWAIT);
		if (n >= 0 || errno != EAGAIN)
			return n < 0 ? -errno : n;
		if (halo_tracee__now() - begin < HALO_SPIN_NS)
			continue;
		poll(&poll_in, 1, TEND_MS);
		halo_tracee__tend(t);
	}
	return -ETIMEDOUT;
}

int halo_inject__answer(struct halo_injection *inj, int socket, struct halo_err *err)
{
	struct halo_done done = {0};
	ssize_t n = receive(&inj->tracee, socket, &done, sizeof(done));
	const char *reason;
	char buf[128], byte;

	/* All is closed in it when the socket is. */
	if (n > 0)
		receive(&inj->tracee, socket, &byte, sizeof(byte));
	if (n == -ETIMEDOUT)
		return halo_err__set(err, -ETIME, "it has not made its mappings within a second");
	if (n < 0)
		return halo_err__set(err, (int)n, "cannot hear of it: %s", strerror((int)-n));
	if (n != sizeof(done) || done.magic != HALO_ATTACH_MAGIC)
		return halo_err__set(err, -EMFILE, "it cannot receive the descriptors");
	reason = halo_done__failure(&done, buf, sizeof(buf));
	return reason ? halo_err__set(err, -EPROTO, "%s", reason) : 0;
}
