/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_JOURNAL_H
#define HALO_JOURNAL_H

/* What happened to a program, in plain words: the last HALO_JOURNAL_MAX entries, oldest first. */
#include <time.h>

#include <json-c/json.h>

#define HALO_JOURNAL_MAX 100

struct halo_journal {
	struct {
		struct timespec at; /* CLOCK_REALTIME */
		char text[256];
	} entry[HALO_JOURNAL_MAX];
	unsigned int next;  /* where the next one goes */
	unsigned int count; /* at most HALO_JOURNAL_MAX */
};

void halo_journal__add(struct halo_journal *j, const char *text);
/* [{"time": "2026-01-31T12:00:00.123Z", "text": …}]; the caller owns it. */
json_object *halo_journal__to_json(const struct halo_journal *j);

#endif
