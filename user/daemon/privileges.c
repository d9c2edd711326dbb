// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/capability.h>
#include <unistd.h>

#include "../lib/util.h"
#include "privileges.h"

#define WORKER_USER "halo-bpf"
/*
 * Above what distributions, systemd and containers hand out; each daemon's own. Processes of one
 * user may write each other's memory, so it must not be one that others run as, as "nobody" is.
 */
#define WORKER_UID 2000000000U

static const struct {
	cap_value_t cap;
	bool required;
} kept[] = {
	{CAP_BPF, true},	     /* maps of enrolled binaries, the audit's switch program */
	{CAP_PERFMON, true},	     /* sampling on CPUs that come online */
	{CAP_SYS_PTRACE, true},	     /* /proc/PID/{exe,maps,environ} of others, attaching */
	{CAP_DAC_READ_SEARCH, true}, /* executables that only their owner may read */
	{CAP_SETUID, true},	     /* workers become their own user */
	{CAP_SETGID, true},	     /* the same, and no supplementary groups */
	{CAP_KILL, true},	     /* end a worker that hangs */
	{CAP_CHOWN, true},	     /* hand a job's folder to the worker's group */
	{CAP_SYS_NICE, false},	     /* priority for a thread while it is attached */
	{CAP_SYS_RESOURCE, false},   /* more locked memory for maps on kernels before 5.11 */
};

static const cap_value_t admin = CAP_SYS_ADMIN;

static bool permitted(cap_value_t cap)
{
	cap_flag_value_t value = CAP_CLEAR;
	cap_t caps = cap_get_proc();

	if (caps && cap_get_flag(caps, cap, CAP_PERMITTED, &value))
		value = CAP_CLEAR;
	cap_free(caps);
	return value == CAP_SET;
}

int halo_privileges__check(struct halo_err *err)
{
	int missing = -1;
	char *name;

	if (geteuid() != 0) {
		halo_err__set(err, -EPERM, "the daemon must be started by root");
		halo_err__cause(err,
				"user %u may not load BPF programs or look into other "
				"users' processes",
				geteuid());
		halo_err__remedy(err, "sudo halo-bpf start");
		return -EPERM;
	}
	for (size_t i = 0; i < ARRAY_SIZE(kept) && missing < 0; i++)
		if (kept[i].required && !permitted(kept[i].cap))
			missing = kept[i].cap;
	if (missing < 0 && !permitted(admin))
		missing = admin;
	if (missing < 0)
		return 0;
	name = cap_to_name(missing);
	halo_err__set(err, -EPERM, "root lacks %s here", name ? name : "a capability");
	cap_free(name);
	halo_err__cause(err, "a container or a service unit that takes capabilities away");
	halo_err__remedy(err, "start the daemon on the host, or with all of its capabilities");
	return -EPERM;
}

int halo_privileges__drop(struct halo_err *err)
{
	cap_t caps = cap_init();
	int ret = caps ? 0 : -1;

	for (size_t i = 0; i < ARRAY_SIZE(kept) && !ret; i++) {
		const cap_value_t *cap = &kept[i].cap;

		if (permitted(*cap))
			ret = cap_set_flag(caps, CAP_PERMITTED, 1, cap, CAP_SET) ||
			      cap_set_flag(caps, CAP_EFFECTIVE, 1, cap, CAP_SET);
	}
	if (ret || cap_set_flag(caps, CAP_PERMITTED, 1, &admin, CAP_SET) || cap_set_proc(caps))
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
	unsigned int id = WORKER_UID + (unsigned int)getpid();

	if (pw && pw->pw_uid) {
		*uid = pw->pw_uid;
		*gid = pw->pw_gid;
		return;
	}
	while (getpwuid(id) || getgrgid(id))
		id++;
	*uid = id;
	*gid = id;
}
