// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "../lib/util.h"
#include "socket.h"

#define BACKLOG 128

int halo_socket__listen(const char *path, mode_t mode, struct halo_err *err)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	__cleanup_fd int fd = -1;
	mode_t mask;
	int ret;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return halo_err__set(err, -errno, "making a socket: %s", strerror(errno));
	unlink(path);
	/* The mode is there from the first moment on. */
	mask = umask(0777 & ~mode);
	ret = bind(fd, (struct sockaddr *)&addr, sizeof(addr)) ? -errno : 0;
	umask(mask);
	if (!ret && listen(fd, BACKLOG))
		ret = -errno;
	if (ret)
		return halo_err__set(err, ret, "listening at %s: %s", path, strerror(-ret));
	return take_fd(fd);
}

int halo_socket__accept(int fd, pid_t *pid, uid_t *uid)
{
	__cleanup_fd int conn = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (conn < 0 || getsockopt(conn, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		return -1;
	*pid = cred.pid;
	*uid = cred.uid;
	return take_fd(conn);
}
