// SPDX-License-Identifier: BSD-2-Clause
/*
 * CPUs that go offline take their events with them, for good: what comes back is sampled only by a new
 * event. The list of CPUs that are online does not show a CPU that went and came between two looks, so
 * the kernel's device events are read as well.
 */
#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "internal.h"

#define KERNEL_GROUP 1
#define MESSAGE_MAX  8192

int halo_hotplug__open(void)
{
	struct sockaddr_nl addr = {.nl_family = AF_NETLINK, .nl_groups = KERNEL_GROUP};
	__cleanup_fd int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
				     NETLINK_KOBJECT_UEVENT);

	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)))
		return -errno;
	return take_fd(fd);
}

int halo_hotplug__parse(const char *message)
{
	int cpu;

	if (sscanf(message, "offline@/devices/system/cpu/cpu%d", &cpu) == 1 ||
	    sscanf(message, "online@/devices/system/cpu/cpu%d", &cpu) == 1)
		return cpu;
	return -1;
}

void halo_hotplug__read(struct halo_kernel *k)
{
	char text[MESSAGE_MAX];
	struct sockaddr_nl from;
	socklen_t len;
	ssize_t n;
	int cpu;

	if (k->hotplug_fd < 0)
		return;
	for (;;) {
		len = sizeof(from);
		n = recvfrom(k->hotplug_fd, text, sizeof(text) - 1, 0, (struct sockaddr *)&from,
			     &len);
		if (n < 0 && errno == ENOBUFS) {
			for (cpu = 0; cpu < k->n_cpus; cpu++)
				halo_tiers__drop(k, cpu);
			continue;
		}
		if (n < 0)
			return;
		/* Anyone may send to the group; the kernel alone has port 0. */
		if (from.nl_pid)
			continue;
		text[n] = '\0';
		cpu = halo_hotplug__parse(text);
		if (cpu >= 0 && cpu < k->n_cpus)
			halo_tiers__drop(k, cpu);
	}
}
