// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>

#include "journal.h"

void halo_journal__add(struct halo_journal *j, const char *text)
{
	clock_gettime(CLOCK_REALTIME, &j->entry[j->next].at);
	snprintf(j->entry[j->next].text, sizeof(j->entry[0].text), "%s", text);
	j->next = (j->next + 1) % HALO_JOURNAL_MAX;
	if (j->count < HALO_JOURNAL_MAX)
		j->count++;
}

json_object *halo_journal__to_json(const struct halo_journal *j)
{
	json_object *list = json_object_new_array();

	for (unsigned int i = 0; i < j->count; i++) {
		unsigned int at = (j->next + HALO_JOURNAL_MAX - j->count + i) % HALO_JOURNAL_MAX;
		json_object *entry = json_object_new_object();
		char day[32], time[48];
		struct tm tm;

		gmtime_r(&j->entry[at].at.tv_sec, &tm);
		strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
		snprintf(time, sizeof(time), "%s.%03ldZ", day, j->entry[at].at.tv_nsec / 1000000);
		json_object_object_add(entry, "time", json_object_new_string(time));
		json_object_object_add(entry, "text", json_object_new_string(j->entry[at].text));
		json_object_array_add(list, entry);
	}
	return list;
}
