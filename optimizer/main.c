// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../user/lib/log.h"
#include "../user/lib/util.h"
#include "answer.h"
#include "compile.h"
#include "job.h"
#include "sandbox.h"

#define LOG_TAG "opt"
#define GIB_MAX 64

/* Given by the daemon, see docs/formats/job.md. */
enum {
	FD_EXE = 3,
	FD_DIR = 4
};

/* As much as the daemon lets it have, and no more than a machine may. */
static void eat_memory(void)
{
	for (int i = 0; i < GIB_MAX; i++)
		if (mmap(NULL, 1UL << 30, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED)
			abort();
}

/* "NAME", or "NAME:CONFIG" to fail with one configuration only. */
static void failpoint(const struct request *req)
{
	const char *name = getenv("HALO_FAILPOINT"), *config;
	size_t len;

	if (!name)
		return;
	len = strcspn(name, ":");
	config = name[len] ? name + len + 1 : NULL;
	if (config && (!req->config.name || strcmp(config, req->config.name) != 0))
		return;
	if (strncmp(name, "opt-crash", len) == 0)
		abort();
	if (strncmp(name, "opt-memory", len) == 0)
		eat_memory();
	while (strncmp(name, "opt-hang", len) == 0)
		pause();
}

static json_object *serve(void)
{
	struct halo_err err = {0};
	struct request req = {0};
	json_object *answer;
	int ret;

	ret = sandbox__enter(FD_DIR, &err);
	if (!ret)
		ret = request__read(STDIN_FILENO, &req, &err);
	failpoint(&req);
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
