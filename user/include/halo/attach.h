/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_ATTACH_H
#define HALO_ATTACH_H

/*
 * What the stub and the daemon say to each other, once in a process's life, over a SOCK_SEQPACKET
 * unix socket. Freestanding: the stub includes it without a libc.
 *
 *   stub → daemon   struct halo_hello
 *   daemon → stub   struct halo_offer, with one descriptor per mapping (SCM_RIGHTS); or the daemon
 *                   closes: not enrolled
 *   stub → daemon   struct halo_done
 *
 * The daemon takes nothing that it acts on from the program: which program it is, where it is
 * loaded and what its tables say come from the kernel and from the executable file.
 */
#include <stdint.h>

#define HALO_RUN_DIR	    "/run/halo-bpf"
#define HALO_ATTACH_SOCKET  HALO_RUN_DIR "/attach.sock"
#define HALO_CONTROL_SOCKET HALO_RUN_DIR "/control.sock"

#define HALO_ATTACH_MAGIC   0x4841544348313030ULL
#define HALO_ATTACH_TIMEOUT 200 /* milliseconds the stub waits for an answer */

struct halo_hello {
	uint64_t magic;
	uint64_t version; /* HALO_FORMAT_VERSION */
	uint64_t slots;	  /* where its slots are: which of the process's modules speaks */
};

enum halo_mapping_index {
	HALO_MAP_SLOTS,	   /* shared, read-only, replaces the program's slot pages in place */
	HALO_MAP_ARENA,	   /* private, read-execute */
	HALO_MAP_COUNTERS, /* shared, read-write */
	HALO_MAP_COUNT
};

struct halo_mapping {
	uint64_t addr;
	uint64_t len;
	uint64_t prot;
	uint64_t flags;
};

struct halo_offer {
	uint64_t magic;
	uint64_t version;
	struct halo_mapping map[HALO_MAP_COUNT];
};

struct halo_done {
	uint64_t magic;
	int64_t error[HALO_MAP_COUNT]; /* 0 or -errno of each mapping */
};

#endif
