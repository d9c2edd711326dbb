// SPDX-License-Identifier: BSD-2-Clause
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <halo/attach.h>

#include "../lib/util.h"
#include "attach.h"
#include "checks.h"
#include "privileges.h"

#define PARENT_DIR "/run"

static int check_privileges(char *detail, size_t size)
{
	struct halo_err err = {0};

	if (halo_privileges__check(&err)) {
		snprintf(detail, size, "%s", err.what);
		return 0;
	}
	snprintf(detail, size, "root, with all that is needed");
	return 1;
}

static int check_run_dir(char *detail, size_t size)
{
	struct stat st;

	snprintf(detail, size, "%s", HALO_RUN_DIR);
	if (!lstat(HALO_RUN_DIR, &st)) {
		if (S_ISDIR(st.st_mode) && st.st_uid == 0 && !access(HALO_RUN_DIR, W_OK))
			return 1;
		snprintf(detail, size, "%s is no folder of root's, or read-only", HALO_RUN_DIR);
		return 0;
	}
	if (!access(PARENT_DIR, W_OK))
		return 1;
	snprintf(detail, size, "%s can't be made: %s", HALO_RUN_DIR, strerror(errno));
	return 0;
}

/* A store of its own, beside the one that a running daemon has. */
static int check_store(char *detail, size_t size)
{
	char dir[] = PARENT_DIR "/halo-bpf-doctor.XXXXXX";
	struct halo_store *store;
	struct halo_err err = {0};
	int ret;

	if (!mkdtemp(dir)) {
		snprintf(detail, size, "no folder can be made in %s: %s", PARENT_DIR,
			 strerror(errno));
		return 0;
	}
	ret = halo_store__open(dir, &store, &err);
	if (ret)
		snprintf(detail, size, "%s", err.what);
	else
		halo_store__close(store, true);
	rmdir(dir);
	return !ret;
}

static int check_worker_user(char *detail, size_t size)
{
	const struct passwd *pw;
	uid_t uid;
	gid_t gid;

	halo_privileges__worker(&uid, &gid);
	pw = getpwuid(uid);
	if (pw)
		snprintf(detail, size, "%s", pw->pw_name);
	else
		snprintf(detail, size,
			 "there is no user halo-bpf; workers run as a number, such as %u", uid);
	return pw != NULL;
}

const struct halo_feature halo_daemon_checks[] = {
	{.name = "privileges",
	 .required = true,
	 .without = "nothing works; without root most rows below are wrong",
	 .remedy = "run it as root, on the host or with all capabilities",
	 .probe = check_privileges},
	{.name = "run folder",
	 .required = true,
	 .without = "no sockets, so nothing works",
	 .remedy = "make " PARENT_DIR " writable, and remove " HALO_RUN_DIR " if it is not root's",
	 .probe = check_run_dir},
	{.name = "store",
	 .since = "5.2",
	 .commit = "a07b20004793",
	 .required = true,
	 .without = "programs can't be given code",
	 .remedy = "run it outside of containers, or with CAP_SYS_ADMIN",
	 .probe = check_store},
	{.name = "worker user",
	 .without = "nothing: a number is used that is no user's",
	 .remedy = "useradd --system halo-bpf",
	 .probe = check_worker_user},
};

const size_t halo_daemon_checks_count = ARRAY_SIZE(halo_daemon_checks);
