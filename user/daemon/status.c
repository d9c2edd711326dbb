// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "../lib/util.h"
#include "commands.h"
#include "files.h"
#include "process.h"
#include "tuning.h"

static void add_string(json_object *obj, const char *key, const char *text)
{
	json_object_object_add(obj, key, json_object_new_string(text));
}

static void add_int(json_object *obj, const char *key, int64_t value)
{
	json_object_object_add(obj, key, json_object_new_int64(value));
}

/* Three digits behind the point: more would be noise, and unreadable. */
static json_object *new_jobs(const struct halo_workers *workers)
{
	json_object *obj = json_object_new_object();

	add_int(obj, "started", workers->started);
	add_int(obj, "died", workers->died);
	add_int(obj, "late", workers->late);
	return obj;
}

static void add_double(json_object *obj, const char *key, double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.4g", value);
	json_object_object_add(obj, key, json_object_new_double_s(value, text));
}

static json_object *new_section(const struct halo_tuning *s)
{
	json_object *obj = json_object_new_object();

	add_string(obj, "root", s->root->name);
	add_string(obj, "version", s->adopted ? s->adopted->name : "original");
	add_string(obj, "state", halo_tuning__state_text(s->state));
	add_double(obj, "speedup", s->speedup);
	add_double(obj, "low", s->low);
	add_double(obj, "high", s->high);
	add_int(obj, "pairs", s->pairs);
	add_int(obj, "trials", s->trials);
	add_string(obj, "reason", s->reason);
	add_int(obj, "functions", s->adopted ? (int64_t)s->adopted->n_funcs : 0);
	add_int(obj, "code_size", s->adopted ? (int64_t)s->adopted->code_size : 0);
	return obj;
}

json_object *halo_status__sections(const struct halo_program *p)
{
	json_object *list = json_object_new_array();

	for (unsigned int i = 0; i < p->n_tunings; i++)
		json_object_array_add(list, new_section(&p->tunings[i]));
	return list;
}

static json_object *new_pids(const struct halo_program *p)
{
	json_object *list = json_object_new_array();
	struct halo_process *proc;

	TAILQ_FOREACH(proc, &p->processes, link) {
		json_object *obj = json_object_new_object();

		add_int(obj, "pid", proc->pid);
		json_object_object_add(obj, "attached",
				       json_object_new_boolean(proc->group != NULL));
		add_string(obj, "reason", proc->reason);
		json_object_array_add(list, obj);
	}
	return list;
}

json_object *halo_status__program(const struct halo_program *p)
{
	json_object *obj = json_object_new_object();
	json_object *samples = json_object_new_object();
	char hash[65];

	for (size_t i = 0; i < sizeof(p->hash); i++)
		snprintf(hash + 2 * i, 3, "%02x", p->hash[i]);
	add_int(samples, halo_kernel__tier_name(p->daemon->kernel), p->samples);
	add_string(obj, "build_id", p->build_id);
	add_string(obj, "path", p->path);
	add_int(obj, "exe_id", p->exe_id);
	add_string(obj, "hash", hash);
	add_string(obj, "fp", p->fp);
	add_string(obj, "state", halo_program__state(p));
	add_string(obj, "reason", p->denied[0] ? p->denied : p->settled ? p->settled_reason : "");
	json_object_object_add(obj, "pids", new_pids(p));
	json_object_object_add(obj, "samples", samples);
	json_object_object_add(obj, "sections", halo_status__sections(p));
	return obj;
}

static json_object *new_stats(struct halo_daemon *d)
{
	json_object *obj = json_object_new_object();
	uint64_t figures[HALO_FIGURES_MAX];

	memcpy(figures, d->figures, sizeof(figures));
	halo_kernel__stats(d->kernel, figures);
	for (size_t i = 0; i < ARRAY_SIZE(figures); i++)
		add_int(obj, halo_figures[i].key, figures[i]);
	return obj;
}

/* A table of fixed size: how full it is, and how often something found no room. */
static json_object *new_room(uint64_t used, uint64_t size, uint64_t refused)
{
	json_object *obj = json_object_new_object();

	add_int(obj, "used", used);
	add_int(obj, "size", size);
	add_int(obj, "refused", refused);
	return obj;
}

static json_object *new_rooms(struct halo_daemon *d)
{
	json_object *obj = json_object_new_object();
	struct halo_tables_info tables;
	struct halo_spaces_info spaces;

	halo_kernel__tables(d->kernel, &tables);
	halo_kernel__spaces(d->kernel, &spaces);
	json_object_object_add(
		obj, "files",
		new_room(halo_files__numbers(d), HALO_MAX_EXES - 1, d->files_refused));
	json_object_object_add(obj, "frame_bytes",
			       new_room(tables.used, tables.size, tables.refused));
	json_object_object_add(obj, "mappings",
			       new_room(spaces.regions, HALO_MAX_REGIONS, spaces.refused));
	return obj;
}

static double seconds(struct timeval tv)
{
	return tv.tv_sec + tv.tv_usec / 1e6;
}

static json_object *new_daemon(struct halo_daemon *d)
{
	json_object *obj = json_object_new_object();
	double uptime = (halo_loop__now() - d->started_ns) / 1e9, cpu;
	struct rusage self, workers;
	unsigned int online = 0;

	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &workers);
	cpu = seconds(self.ru_utime) + seconds(self.ru_stime);
	add_int(obj, "pid", getpid());
	add_string(obj, "version", HALO_VERSION);
	add_double(obj, "uptime_s", uptime);
	add_string(obj, "tier", halo_kernel__tier_name(d->kernel));
	add_string(obj, "tier_reason", halo_kernel__tier_reason(d->kernel));
	add_int(obj, "rate_hz", halo_kernel__rate(d->kernel));
	add_int(obj, "cpus", halo_kernel__sampled_cpus(d->kernel, &online));
	add_int(obj, "cpus_online", online);
	add_double(obj, "cpu_s", cpu);
	add_double(obj, "cpu_share", uptime > 0 ? cpu / uptime : 0);
	add_double(obj, "workers_cpu_s", seconds(workers.ru_utime) + seconds(workers.ru_stime));
	json_object_object_add(obj, "jobs", new_jobs(&d->workers));
	json_object_object_add(obj, "stats", new_stats(d));
	json_object_object_add(obj, "room", new_rooms(d));
	return obj;
}

json_object *halo_status__all(struct halo_daemon *d)
{
	json_object *obj = json_object_new_object();
	json_object *list = json_object_new_array();
	struct halo_program *p;

	TAILQ_FOREACH(p, &d->programs, link)
		json_object_array_add(list, halo_status__program(p));
	json_object_object_add(obj, "daemon", new_daemon(d));
	json_object_object_add(obj, "programs", list);
	return obj;
}

json_object *halo_status__list(struct halo_daemon *d)
{
	json_object *obj = json_object_new_object();
	json_object *list = json_object_new_array();
	struct halo_process *proc;
	struct halo_program *p;

	TAILQ_FOREACH(p, &d->programs, link) {
		json_object *item = json_object_new_object();
		json_object *pids = json_object_new_array();

		TAILQ_FOREACH(proc, &p->processes, link)
			json_object_array_add(pids, json_object_new_int(proc->pid));
		add_string(item, "build_id", p->build_id);
		add_string(item, "path", p->path);
		add_string(item, "state", halo_program__state(p));
		json_object_object_add(item, "pids", pids);
		json_object_array_add(list, item);
	}
	json_object_object_add(obj, "programs", list);
	return obj;
}
