// SPDX-License-Identifier: BSD-2-Clause
/*
 * "NAME[PID]: segfault at ADDRESS ip ADDRESS …", "traps: NAME[PID] general protection fault ip:…":
 * the kernel's log tells of processes that die of a fault. Where nobody may read it, or the kernel
 * was told to keep quiet (debug.exception-trace), nothing is known.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "../lib/util.h"
#include "internal.h"

void torture__open_kernel_log(struct torture *t)
{
	t->kmsg_fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (t->kmsg_fd >= 0)
		lseek(t->kmsg_fd, 0, SEEK_END);
}

static bool parse(const char *line, pid_t *pid, uint64_t *ip)
{
	const char *open = strchr(line, '['), *at = strstr(line, " ip");
	char *end;

	if (!open || !at)
		return false;
	*pid = strtol(open + 1, &end, 10);
	if (*end != ']')
		return false;
	*ip = strtoull(at + 4, &end, 16);
	return end != at + 4;
}

static void describe_image(const struct torture_image *image, int64_t vaddr, char *buf, size_t size)
{
	snprintf(buf, size, "variant %s, +%#llx in the image", image->config,
		 (unsigned long long)(vaddr - image->place));
	for (size_t i = 0; i < image->n_codes; i++) {
		const struct torture_code *code = &image->codes[i];

		if (code->name && vaddr >= code->vaddr &&
		    (uint64_t)(vaddr - code->vaddr) < code->size)
			snprintf(buf, size, "%s, in variant %s, +%#llx", code->name, image->config,
				 (unsigned long long)(vaddr - code->vaddr));
	}
}

static void describe(const struct torture *t, int64_t vaddr, char *buf, size_t size)
{
	const struct halo_func *func = halo_prepared__func_at(t->prepared, vaddr);
	const struct torture_image *image;

	if (func)
		snprintf(buf, size, "%s, original, +%#llx", func->name,
			 (unsigned long long)(vaddr - (int64_t)func->addr));
	LIST_FOREACH(image, &t->images, link)
	if (vaddr >= image->place && vaddr < image->place + (int64_t)image->size)
		describe_image(image, vaddr, buf, size);
}

/* Threads, forked children and other namespaces have other numbers, but the same places. */
static bool look_up(struct torture *t, pid_t pid, uint64_t ip)
{
	char *buf = t->report->crash;
	size_t size = sizeof(t->report->crash);

	for (int any = 0; any <= 1; any++)
		for (unsigned int i = t->report->processes; i-- > 0 && !buf[0];)
			if (any || t->places[i].pid == pid)
				describe(t, (int64_t)(ip - t->places[i].bias), buf, size);
	return buf[0];
}

void torture__find_crash(struct torture *t)
{
	char record[8192];
	uint64_t ip;
	ssize_t n;
	pid_t pid;

	if (t->kmsg_fd < 0)
		return;
	/* EPIPE: records were overwritten meanwhile. */
	while ((n = read(t->kmsg_fd, record, sizeof(record) - 1)) > 0 ||
	       (n < 0 && errno == EPIPE)) {
		record[n > 0 ? n : 0] = '\0';
		if (parse(record, &pid, &ip) && look_up(t, pid, ip))
			return;
	}
}
