// SPDX-License-Identifier: BSD-2-Clause
/* A CPU that was offline for a moment is sampled again, with and without a look in between. */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/util.h"

#define EXE_ID 11
#define CPU    1
#define ONLINE "/sys/devices/system/cpu/cpu1/online"

static struct fixture f;
static struct exe exe;

static int set_online(const char *value)
{
	__cleanup_fd int fd = open(ONLINE, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, value, 1) == 1 ? 0 : -errno;
}

/* A program that can run on that CPU alone gives samples. */
static bool is_sampled(void)
{
	cpu_set_t set;
	pid_t pid;
	bool good;

	CPU_ZERO(&set);
	CPU_SET(CPU, &set);
	pid = start(exe.path, "spin", NULL);
	if (sched_setaffinity(pid, sizeof(set), &set))
		die("can't bind to CPU %d: %m", CPU);
	if (!fixture__wait(&f, HALO_EVENT_EXEC, pid, 0))
		die("the program was not seen");
	good = fixture__wait_samples(&f, 50);
	stop(pid);
	return good;
}

static void test_look_between(void)
{
	unsigned int online, sampled;

	if (set_online("0")) {
		skip("a CPU that is offline is not sampled", "it can't be taken offline");
		return;
	}
	halo_kernel__check_cpus(f.k);
	sampled = halo_kernel__sampled_cpus(f.k, &online);
	if (set_online("1"))
		die("CPU %d does not come back: %m", CPU);
	check(sampled == online, "a CPU that is offline is not sampled, the others are");
	halo_kernel__check_cpus(f.k);
	check(halo_kernel__sampled_cpus(f.k, &online) == sampled + 1 && online == sampled + 1,
	      "one that comes back is");
	check(is_sampled(), "and gives samples");
	check(halo_kernel__tier(f.k) != HALO_TIER_NONE && halo_kernel__tier_reason(f.k)[0],
	      "the tier and its reason are still told");
}

static void test_no_look_between(void)
{
	if (set_online("0")) {
		skip("a CPU that was away between two looks", "it can't be taken offline");
		return;
	}
	if (set_online("1"))
		die("CPU %d does not come back: %m", CPU);
	halo_kernel__check_cpus(f.k);
	check(is_sampled(), "a CPU that was away between two looks gives samples");
}

int main(int argc, char **argv)
{
	struct halo_err err = {0};
	char path[256];

	if (argc != 3)
		die("usage: hotplug_test BUSY DIR");
	snprintf(path, sizeof(path), "%s/enrolled", argv[2]);
	exe__copy(&exe, argv[1], path);
	fixture__open(&f, false);
	if (halo_kernel__enroll(f.k, EXE_ID, &exe.p, exe.path, &err))
		die("%s", err.what);
	test_look_between();
	test_no_look_between();
	fixture__close(&f);
	exe__free(&exe);
	return tap_done();
}
