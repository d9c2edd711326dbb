// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../user/lib/log.h"
#include "../user/lib/util.h"
#include "answer.h"
#include "compile.h"
#include "job.h"
#include "sandbox.h"

#define LOG_TAG "opt"

/* Given by the daemon, see docs/formats/job.md. */
enum {
	FD_EXE = 3,
	FD_DIR = 4
};

static void failpoint(void)
{
	const char *name = getenv("HALO_FAILPOINT");

	if (name && strcmp(name, "opt-crash") == 0)
		abort();
}

static json_object *serve(void)
{
	struct halo_err err = {0};
	struct request req = {0};
	json_object *answer;
	int ret;

	ret = sandbox__enter(&err);
	if (!ret)
		ret = request__read(STDIN_FILENO, &req, &err);
	failpoint();
	if (!ret && fchdir(FD_DIR))
		ret = halo_err__set(&err, -errno, "can't enter the job's folder: %s",
				    strerror(errno));
	if (ret) {
		answer = answer__error(&err);
	} else {
		compile__init();
		answer = job__run(&req, FD_EXE, FD_DIR);
	}
	request__free(&req);
	return answer;
}

int main(void)
{
	json_object *answer = serve();
	int ret;

	ret = answer__write(answer, STDOUT_FILENO);
	json_object_put(answer);
	if (ret)
		log_error("can't write the answer: %s", strerror(-ret));
	return ret ? EXIT_FAILURE : EXIT_SUCCESS;
}
