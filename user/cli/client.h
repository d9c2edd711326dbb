/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_CLI_CLIENT_H
#define HALO_CLI_CLIENT_H

/* One request to the daemon, see docs/formats/control.md. */
#include "cli.h"

#define CLIENT_MESSAGE_MAX (1UL << 20) /* bytes, each way */
#define CLIENT_TIMEOUT	   60	       /* seconds that an answer may take */

/*
 * Ask the daemon that serves @path. @args, which may be NULL, is released. *answer is the caller's,
 * NULL unless CLI_OK is returned. A refusal by the daemon is CLI_FAILED with the daemon's error.
 */
enum cli_exit client__call_at(const char *path, const char *cmd, json_object *args,
			      json_object **answer, struct halo_err *err);
/* The same at HALO_CONTROL_SOCKET. */
enum cli_exit client__call(const char *cmd, json_object *args, json_object **answer,
			   struct halo_err *err);
/* The same, and show the answer: as JSON where that was asked for, else by @print. */
enum cli_exit client__show(struct cli *cli, const char *cmd, json_object *args,
			   void (*print)(json_object *answer));
/*
 * Ask for a recording of @seconds; @args as above. *fd is a descriptor of it. Ctrl-C ends it before,
 * and what there is comes back.
 */
enum cli_exit client__record(json_object *args, unsigned int seconds, int *fd,
			     struct halo_err *err);
/* The daemon's process id as the kernel says, 0 when none is running. */
pid_t client__daemon_pid(void);

#endif
