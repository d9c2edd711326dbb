/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_PROGRAM_H
#define HALO_PROGRAM_H

/* Enrolled binaries: how they come, what they go through, how they go. */
#include "core.h"

/* What a person names a program by: exactly one is set. */
struct halo_target {
	const char *path;
	pid_t pid;
	const char *build_id;
};

/*
 * Enroll the program and attach its running processes. Enrolling one again is no error: its
 * processes are looked for anew. @fp: "exact", "contract" or "reassoc".
 */
int halo_program__enroll(struct halo_daemon *d, const struct halo_target *target, const char *fp,
			 struct halo_program **out, struct halo_err *err);
/*
 * One that is not enrolled, for a recording: sampled, never attached nor changed. Any file with a
 * build-id will do. It goes by halo_program__unenroll().
 */
int halo_program__watch(struct halo_daemon *d, const struct halo_target *target,
			struct halo_program **out, struct halo_err *err);
/* An enrolled program, or one that is watched. -ENOENT with the remedy. */
int halo_program__find(struct halo_daemon *d, const struct halo_target *target,
		       struct halo_program **out, struct halo_err *err);
/* Its processes go back to their original code and are left alone. @p may be gone afterwards. */
void halo_program__unenroll(struct halo_program *p);
/* Free one that is not enrolled any more, unless processes have its files mapped. */
void halo_program__forget(struct halo_program *p);

/* Free memory and files of one that is in no list and has no process, job or audit. NULL: nothing. */
void halo_program__free(struct halo_program *p);

/* The kernel side tells of a process. */
void halo_program__on_event(struct halo_daemon *d, const struct halo_event *event);

/* Add to the program's journal, and log. */
void halo_program__note(struct halo_program *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* No variant of the program runs any more, for as long as the daemon lives. */
void halo_program__deny(struct halo_program *p, const char *reason);

/* One of the states in docs/formats/control.md. */
const char *halo_program__state(const struct halo_program *p);

#endif
