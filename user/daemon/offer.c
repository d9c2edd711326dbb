// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "../lib/util.h"
#include "offer.h"

int halo_offer__send(int fd, const struct halo_offer *offer, const int fds[HALO_MAP_COUNT])
{
	union {
		char buf[CMSG_SPACE(HALO_MAP_COUNT * sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct iovec iov = {.iov_base = (void *)offer, .iov_len = sizeof(*offer)};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.buf,
		.msg_controllen = sizeof(control.buf),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(HALO_MAP_COUNT * sizeof(int));
	memcpy(CMSG_DATA(cmsg), fds, HALO_MAP_COUNT * sizeof(int));
	return sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

const char *halo_done__failure(const struct halo_done *done, char *buf, size_t size)
{
	static const char *const name[] = {"slots", "arena", "counters"};

	for (size_t i = 0; i < HALO_MAP_COUNT; i++) {
		/* What was not tried after another had failed is no reason. */
		if (!done->error[i] || done->error[i] == -ECANCELED)
			continue;
		snprintf(buf, size, "its stub could not map the %s: %s", name[i],
			 strerror(done->error[i] < 0 && done->error[i] > -4096
					  ? -(int)done->error[i]
					  : EPROTO));
		return buf;
	}
	return NULL;
}
