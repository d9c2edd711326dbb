/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_DAEMON_H
#define HALO_DAEMON_H

#include <stdbool.h>

#include "../lib/err.h"

struct halo_daemon_opts {
	unsigned int rate_hz;	  /* samples per CPU and second; 0: the default */
	bool allow_unsafe_kernel; /* see halo_kernel_opts */
	const char *btf;	  /* the same */
	const char *opt_path;	/* the worker, halo-opt; NULL: beside this program, then in PATH */
	const char *knobs_dir;	/* holds configs.json; NULL: built-in configurations */
	unsigned int job_limit; /* seconds of wall time that a compilation gets; 0: the default */
	/*
	 * Gets one line of JSON once the control socket is served: {} or {"error": {…}}. Closed
	 * afterwards. -1: none.
	 */
	int ready_fd;
};

/*
 * Serve until a stop request, SIGTERM or SIGINT. Returns 0, or -errno when it could not start; the
 * error is both in @err and on ready_fd.
 */
int halo_daemon__run(const struct halo_daemon_opts *opts, struct halo_err *err);

#endif
