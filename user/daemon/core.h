/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_CORE_H
#define HALO_CORE_H

/* What the parts of the daemon share. One daemon, one thread: nothing here is locked. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "../kernel/kernel.h"
#include "../lib/err.h"
#include "../lib/figures.h"
#include "../lib/prepared.h"
#include "../lib/version.h"
#include "attach.h"
#include "config.h"
#include "daemon.h"
#include "job.h"
#include "journal.h"
#include "loop.h"
#include "profile.h"

#define HALO_DRAIN_NS	  (500 * HALO_MS)
#define HALO_MAX_SECTIONS 16  /* per program */
#define HALO_MAX_VARIANTS 64  /* per program: images in its arena */
#define HALO_SEEN_MAX	  256 /* executables whose build-id is remembered */

struct halo_trial;
struct halo_recording;
struct halo_counting;
struct halo_taken;
struct halo_file;
struct halo_unwinds;
struct halo_control;
struct halo_attach_server;

enum halo_tuning_state {
	HALO_TUNING_COMPILING,
	HALO_TUNING_AUDITING,
	HALO_TUNING_ADOPTED,
	HALO_TUNING_ROLLED_BACK,
	HALO_TUNING_FAILED,
};

/* Where a function's code lies in an image. */
struct halo_variant_func {
	const struct halo_func *func; /* the source function; NULL: not in the program any more */
	int64_t vaddr;
	uint64_t size;
};

/* One image in the arena. Permanent: threads may be inside for as long as they like. */
struct halo_variant {
	char name[48]; /* "v1-host" */
	char config[32];
	char hash[65];	    /* of the object: the same code is never audited twice */
	int64_t place;	    /* link-time address */
	uint64_t size;	    /* bytes, counting entries included */
	int64_t entry;	    /* link-time address */
	int64_t counted[2]; /* counting entries by enum halo_audit_arm, 0: not yet */
	uint64_t code_size;
	const struct halo_func *root;
	struct halo_variant_func *funcs;
	size_t n_funcs;
};

/* A root function, what was tried on it, and what it runs now. */
struct halo_tuning {
	const struct halo_func *root;
	enum halo_tuning_state state;
	char reason[256];
	struct halo_variant *adopted; /* NULL: the original */
	struct halo_variant *trial;   /* installed, its audit running or to be run */
	/* Against the original; several adoptions in a row multiply. */
	double speedup, low, high;
	unsigned int pairs;	    /* of the audit that the verdict comes from */
	unsigned int trials;	    /* audits ended by a verdict */
	unsigned int next_config;   /* index of the configuration to be tried next */
	unsigned int crashes;	    /* workers that died on it with this configuration */
	unsigned int broken;	    /* configurations that no worker could compile it with */
	unsigned int interruptions; /* audits cut short by the end of the process */
	bool handled;		    /* nothing more to try */
	double ns_per_entry;	    /* of what it ran before, in the last audit; 0: not known */
	/* What code that counts has found, for the worker; NULL: nothing yet, or, once it was tried, ever. */
	json_object *profile;
	bool count_tried;
	bool branches_tried; /* without success: what can't be had of branches is counted */
};

/* Processes that share one slots file: one and its forked children. */
struct halo_group {
	TAILQ_ENTRY(halo_group) link;
	uint32_t id;
	struct halo_family *family;
	unsigned int procs;
	bool pending; /* its first process is still being attached: kept though no process is in it */
	uint64_t arena_start, arena_end; /* run-time addresses */
	uint64_t cpu_ticks;		 /* at the last look, see halo_process__busiest() */
	uint64_t left;			 /* halo_family__left() at the last look */
};

struct halo_process {
	TAILQ_ENTRY(halo_process) link;
	struct halo_program *program;
	pid_t pid;
	uint64_t start_ns;
	struct halo_group *group;	  /* NULL: not attached */
	unsigned int attempts;		  /* from outside */
	struct halo_attaching *attaching; /* the one that goes on, see attaching.h */
	bool final;			  /* refused for good: no more attempts */
	bool left_alone;		  /* as its environment wants: not sampled either */
	char reason[256];		  /* why it is not attached */
	struct halo_timer timer;	  /* attaches it unless its constructor did */
};

/* One enrolled binary. */
struct halo_program {
	TAILQ_ENTRY(halo_program) link;
	struct halo_daemon *daemon;
	uint32_t exe_id;
	char *path;
	char build_id[2 * HALO_BUILD_ID_MAX + 1];
	uint8_t hash[32];
	dev_t dev;
	ino_t ino;
	struct timespec ctime; /* a file that is written anew is another */
	const char *fp;
	struct halo_prepared *prepared;
	struct halo_arena *arena;
	TAILQ_HEAD(, halo_group) groups;
	TAILQ_HEAD(, halo_process) processes;

	struct halo_profile *profile;
	struct halo_taken *taken; /* NULL: none were recorded */
	bool watched;		  /* for a recording alone: sampled, and left as it is */
	uint64_t samples;	  /* ever */
	uint64_t fresh;		  /* since the last decision */

	struct halo_tuning tunings[HALO_MAX_SECTIONS];
	unsigned int n_tunings;
	struct halo_variant variants[HALO_MAX_VARIANTS];
	unsigned int n_variants;
	unsigned int first_variant; /* of this enrollment: earlier ones are of no interest */

	struct halo_job *job; /* NULL: no worker */
	int64_t job_place;    /* where its image is to go */
	uint64_t job_room;
	const struct halo_func *blame;	/* what a worker that dies is taken to have died on */
	struct halo_tuning *current;	/* the section being worked on */
	struct halo_trial *trial;	/* NULL: no audit */
	struct halo_counting *counting; /* NULL: nothing is being counted */
	uint32_t counts_used;	 /* bytes of the counters that images count in: each has its own */
	bool job_counts;	 /* the worker makes code that counts */
	bool job_branches;	 /* it was given recorded branches */
	json_object *considered; /* of the last choice of a section; may be NULL */

	/* After "nothing to gain": look again when a function outside of this list gets hot. */
	bool settled;
	uint64_t settled_ns;
	uint64_t *settled_hot;
	size_t n_settled_hot;
	char settled_reason[256];

	char denied[256]; /* non-empty: no variant runs any more, and why */
	struct halo_journal journal;
	bool unsaved; /* something has happened since the last halo_handover__save() */
};

/* What the daemon remembers of whatever has an exe_id. */
struct halo_known {
	uint8_t hash[32]; /* zero: a file that was never enrolled */
	bool enrolled;	  /* once at least */
	char denied[256];
	uint8_t idle;	/* sweeps in a row that found it neither enrolled nor mapped */
	bool is_free;	/* stands for nothing: to be given out again */
	bool no_room;	/* it has no unwind table, since there was no room */
	uint64_t freed; /* halo_daemon.files_freed when that was found */
};

struct halo_seen {
	struct halo_buildid id;
	char path[256];
};

struct halo_daemon {
	const struct halo_daemon_opts *opts;
	struct halo_loop *loop;
	struct halo_kernel *kernel;
	struct halo_store *store;
	struct halo_configs configs;
	TAILQ_HEAD(, halo_program) programs;
	/*
	 * Unenrolled, but processes have their files mapped, which can't be done twice: their groups
	 * wait here for the program to be enrolled again.
	 */
	TAILQ_HEAD(, halo_program) retired;
	TAILQ_HEAD(, halo_recording) recordings;
	struct halo_workers workers;
	uint32_t next_family;
	unsigned int n_slow; /* processes that take their time to be attached */

	struct halo_known *known; /* by exe_id - 1 */
	uint32_t n_known;
	struct halo_file **files; /* see files.h */
	size_t n_files;
	uint64_t files_freed, files_refused; /* ever */
	uint64_t swept_ns, sweep_ns;
	struct halo_unwinds *unwinds;
	struct halo_seen seen[HALO_SEEN_MAX];
	unsigned int next_seen;

	struct halo_control *control;
	struct halo_attach_server *attach;
	struct halo_io *event_io, *signal_io;
	int signal_fd;
	struct halo_timer drain;
	uint64_t started_ns, drained_ns;
	uint64_t events_lost, procs_lost;
	uint64_t figures[HALO_FIGURES_MAX]; /* those by enum halo_check */
};

#endif
