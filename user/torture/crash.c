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

static void describe(const struct torture *t, int64_t vaddr, char *buf, size_t size)
{
	const struct halo_func *func = halo_prepared__func_at(t->prepared, vaddr);

	if (func)
		snprintf(buf, size, "%s, original, +%#llx", func->name,
			 (unsigned long long)(vaddr - (int64_t)func->addr));
	for (unsigned int i = 0; i < t->n_versions; i++) {
		const struct torture_version *v = &t->versions[i];

		if (vaddr < v->place || vaddr >= v->place + (int64_t)v->size)
			continue;
		snprintf(buf, size, "variant %s of %s, +%#llx in the image", v->config,
			 v->func->name, (unsigned long long)(vaddr - v->place));
		for (size_t j = 0; j < v->n_codes; j++)
			if (vaddr >= v->codes[j].vaddr && v->codes[j].name &&
			    (uint64_t)(vaddr - v->codes[j].vaddr) < v->codes[j].size)
				snprintf(buf, size, "%s, in variant %s of %s, +%#llx",
					 v->codes[j].name, v->config, v->func->name,
					 (unsigned long long)(vaddr - v->codes[j].vaddr));
	}
}

/* Threads and forked children have other numbers than those known, but the same places. */
static bool look_up(struct torture *t, pid_t pid, uint64_t ip)
{
	char *buf = t->report->crash;
	size_t size = sizeof(t->report->crash);

	for (unsigned int i = t->n_processes; i-- > 0;) {
		const struct torture_process *proc = &t->processes[i];

		if (proc->pid != pid && t->n_processes > 1)
			continue;
		describe(t, (int64_t)(ip - halo_family__bias(proc->family)), buf, size);
		if (!buf[0] && proc->pid == pid)
			snprintf(buf, size, "outside of its functions, at %#llx",
				 (unsigned long long)ip);
		return buf[0];
	}
	return false;
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
