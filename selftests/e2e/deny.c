// SPDX-License-Identifier: BSD-2-Clause
/* deny SYSCALL COMMAND…: run the command where that system call fails with EPERM, as in a container. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include <seccomp.h>

int main(int argc, char **argv)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int nr;

	if (argc < 3 || !ctx)
		return 2;
	nr = seccomp_syscall_resolve_name(argv[1]);
	if (nr < 0 || seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), nr, 0) || seccomp_load(ctx)) {
		fprintf(stderr, "deny: no system call %s\n", argv[1]);
		return 2;
	}
	execvp(argv[2], argv + 2);
	return 127;
}
