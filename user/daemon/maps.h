/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_DAEMON_MAPS_H
#define HALO_DAEMON_MAPS_H

/* The mappings of a process, as /proc/PID/maps shows them. */
#include <stdint.h>
#include <stddef.h>
#include <sys/types.h>

#include "../lib/err.h"

struct halo_map {
	uint64_t start, end;
	uint64_t off; /* in the file */
	uint64_t ino; /* 0: anonymous */
	dev_t dev;
	int prot; /* PROT_* */
	bool shared;
	char *path; /* as the kernel prints it; "" when there is none */
};

struct halo_maps {
	struct halo_map *v; /* by address */
	size_t n;
};

/* Read the maps file below @proc, a descriptor of /proc/PID. To be freed with halo_maps__free(). */
int halo_maps__read(int proc, struct halo_maps *out, struct halo_err *err);
void halo_maps__free(struct halo_maps *maps);

/* The mapping that holds @addr, or NULL. */
const struct halo_map *halo_maps__at(const struct halo_maps *maps, uint64_t addr);

/* A descriptor of /proc/PID, which names that process even after its number is used again. */
int halo_proc__open(pid_t pid, struct halo_err *err);

/* The value of entry @type of the process's auxiliary vector. */
int halo_proc__auxv(int proc, uint64_t type, uint64_t *value, struct halo_err *err);

#endif
