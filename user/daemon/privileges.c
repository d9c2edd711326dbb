// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <sys/capability.h>
#include <unistd.h>

#include "../lib/util.h"
#include "privileges.h"

#define WORKER_USER "halo-bpf"
#define NOBODY	    65534

static const cap_value_t kept[] = {
	CAP_BPF,	     /* maps of enrolled binaries, the audit's switch program */
	CAP_PERFMON,	     /* sampling on CPUs that come online, reading kernel structures */
	CAP_SYS_PTRACE,	     /* /proc/PID/{exe,maps,environ} of others, attaching */
	CAP_SYS_RESOURCE,    /* limits of workers, map memory */
	CAP_DAC_READ_SEARCH, /* executables that only their owner may read */
	CAP_SETUID,	     /* workers become their own user */
	CAP_SETGID,	     /* the same, and no supplementary groups */
	CAP_KILL,	     /* end a worker that hangs */
	CAP_CHOWN,	     /* hand a job's folder to the worker's group */
	CAP_SYS_NICE,	     /* a worker that starves is let run */
};

static const cap_value_t admin = CAP_SYS_ADMIN;

int halo_privileges__check(struct halo_err *err)
{
	cap_flag_value_t value;
	cap_t caps;
	int missing = -1;

	if (geteuid() != 0) {
		halo_err__set(err, -EPERM, "the daemon must be started by root");
		halo_err__cause(err,
				"user %u may not load BPF programs or look into other "
				"users' processes",
				geteuid());
		halo_err__remedy(err, "sudo halo-bpf start");
		return -EPERM;
	}
	caps = cap_get_proc();
	if (!caps)
		return halo_err__set(err, -errno, "reading the daemon's capabilities: %s",
				     strerror(errno));
	for (size_t i = 0; i < ARRAY_SIZE(kept) && missing < 0; i++)
		if (cap_get_flag(caps, kept[i], CAP_PERMITTED, &value) || value != CAP_SET)
			missing = kept[i];
	if (missing < 0 && (cap_get_flag(caps, admin, CAP_PERMITTED, &value) || value != CAP_SET))
		missing = admin;
	cap_free(caps);
	if (missing < 0)
		return 0;
	halo_err__set(err, -EPERM, "root lacks capability %d here", missing);
	halo_err__cause(err, "a container or a service unit that takes capabilities away");
	halo_err__remedy(err, "start the daemon on the host, or with all of its capabilities");
	return -EPERM;
}

int halo_privileges__drop(struct halo_err *err)
{
	cap_t caps = cap_init();
	int ret = 0;

	if (!caps || cap_set_flag(caps, CAP_PERMITTED, ARRAY_SIZE(kept), kept, CAP_SET) ||
	    cap_set_flag(caps, CAP_EFFECTIVE, ARRAY_SIZE(kept), kept, CAP_SET) ||
	    cap_set_flag(caps, CAP_PERMITTED, 1, &admin, CAP_SET) || cap_set_proc(caps))
		ret = halo_err__set(err, -errno, "dropping capabilities: %s", strerror(errno));
	cap_free(caps);
	return ret;
}

static int set_admin(cap_flag_value_t value)
{
	cap_t caps = cap_get_proc();
	int ret = 0;

	if (!caps || cap_set_flag(caps, CAP_EFFECTIVE, 1, &admin, value) || cap_set_proc(caps))
		ret = -errno;
	cap_free(caps);
	return ret;
}

int halo_privileges__raise_admin(void)
{
	return set_admin(CAP_SET);
}

void halo_privileges__lower_admin(void)
{
	set_admin(CAP_CLEAR);
}

void halo_privileges__worker(uid_t *uid, gid_t *gid)
{
	const struct passwd *pw = getpwnam(WORKER_USER);

	*uid = pw && pw->pw_uid ? pw->pw_uid : NOBODY;
	*gid = pw && pw->pw_uid ? pw->pw_gid : NOBODY;
}
