// SPDX-License-Identifier: BSD-2-Clause
#include <poll.h>
#include <stdio.h>
#include <sys/pidfd.h>

#include "client.h"

#define STOP_TIMEOUT 15000 /* milliseconds */

/* Wait until the daemon's process is gone, so that a start right after it finds none. */
static int wait_for_end(int pidfd, struct halo_err *err)
{
	struct pollfd pfd = {.fd = pidfd, .events = POLLIN};

	if (pidfd < 0 || poll(&pfd, 1, STOP_TIMEOUT) > 0)
		return 0;
	halo_err__set(err, -ETIMEDOUT, "the daemon still runs %d seconds after it agreed to stop",
		      STOP_TIMEOUT / 1000);
	halo_err__remedy(err, "see /run/halo-bpf/log");
	return -ETIMEDOUT;
}

enum cli_exit cmd_stop(struct cli *cli, const struct cmd *cmd, int argc, char **argv)
{
	struct cli_args args = {};
	__cleanup_fd int pidfd = -1;
	json_object *answer;
	struct halo_err err;
	enum cli_exit ret;
	pid_t pid;

	cli__parse(cli, cmd, argc, argv, &args);
	pid = client__daemon_pid();
	if (pid > 0)
		pidfd = pidfd_open(pid, 0);
	ret = client__call("stop", NULL, &answer, &err);
	if (!ret && wait_for_end(pidfd, &err))
		ret = CLI_FAILED;
	if (ret) {
		json_object_put(answer);
		return cli__fail(cli, ret, &err);
	}
	if (cli->json)
		cli__print_json(cli, answer);
	else
		printf("halo-bpf has stopped\n");
	json_object_put(answer);
	return CLI_OK;
}
