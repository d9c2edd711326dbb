// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "../lib/tally.h"
#include "../lib/util.h"
#include "process.h"
#include "record.h"
#include "samples.h"

#define MAX_KEYS (1U << 20) /* of each kind */

struct halo_recording {
	TAILQ_ENTRY(halo_recording) link;
	struct halo_daemon *daemon;
	struct halo_program *program;
	struct halo_conn *conn;
	struct halo_timer timer;
	uint64_t since_ns;
	uint64_t figures[HALO_FIGURES_MAX]; /* when it began */
	struct halo_tally *contexts, *edges, *ranges;
	bool watched; /* the program is not enrolled: it goes when the recording ends */
};

static void read_figures(struct halo_daemon *d, uint64_t figures[HALO_FIGURES_MAX])
{
	memcpy(figures, d->figures, sizeof(d->figures));
	halo_kernel__stats(d->kernel, figures);
}

static void recording__free(struct halo_recording *r)
{
	struct halo_daemon *d = r->daemon;
	struct halo_recording *other;

	halo_loop__cancel(d->loop, &r->timer);
	TAILQ_REMOVE(&d->recordings, r, link);
	/* Of several that watch one program, the last lets go of it. */
	TAILQ_FOREACH(other, &d->recordings, link)
		if (other->program == r->program)
			r->watched = false;
	if (r->watched)
		halo_program__unenroll(r->program);
	halo_tally__free(r->contexts);
	halo_tally__free(r->edges);
	halo_tally__free(r->ranges);
	free(r);
}

static json_object *new_figures(const struct halo_recording *r)
{
	json_object *obj = json_object_new_object();
	uint64_t now[HALO_FIGURES_MAX];

	read_figures(r->daemon, now);
	for (size_t i = 0; i < HALO_FIGURES_MAX; i++)
		json_object_object_add(obj, halo_figures[i].key,
				       json_object_new_int64(now[i] - r->figures[i]));
	return obj;
}

static void print_line(FILE *f, json_object *obj)
{
	fprintf(f, "%s\n", json_object_to_json_string_ext(obj, JSON_C_TO_STRING_PLAIN));
	json_object_put(obj);
}

static void add_string(json_object *obj, const char *key, const char *text)
{
	json_object_object_add(obj, key, json_object_new_string(text));
}

static void add_int(json_object *obj, const char *key, int64_t value)
{
	json_object_object_add(obj, key, json_object_new_int64(value));
}

static void print_header(const struct halo_recording *r, FILE *f)
{
	const struct halo_program *p = r->program;
	json_object *obj = json_object_new_object();
	struct halo_process *proc = TAILQ_FIRST(&p->processes);

	add_int(obj, "recording", 1);
	add_string(obj, "path", p->path);
	add_string(obj, "build_id", p->build_id);
	add_int(obj, "exe_id", p->exe_id);
	add_int(obj, "pid", proc ? proc->pid : 0);
	add_string(obj, "tier", halo_kernel__tier_name(r->daemon->kernel));
	add_string(obj, "tier_reason", halo_kernel__tier_reason(r->daemon->kernel));
	add_int(obj, "rate_hz", halo_kernel__rate(r->daemon->kernel));
	add_int(obj, "duration_ns", halo_loop__now() - r->since_ns);
	add_int(obj, "dropped",
		halo_tally__dropped(r->contexts) + halo_tally__dropped(r->edges) +
			halo_tally__dropped(r->ranges));
	json_object_object_add(obj, "stats", new_figures(r));
	print_line(f, obj);
}

/* Every file that frames of the recording may name. */
static void print_objects(const struct halo_recording *r, FILE *f)
{
	char id[2 * HALO_BUILD_ID_MAX + 1];
	struct halo_exe_info info;
	struct halo_buildid build_id;

	for (uint32_t exe_id = 1; exe_id < HALO_MAX_EXES; exe_id++) {
		json_object *obj;

		if (halo_kernel__get_exe(r->daemon->kernel, exe_id, &info))
			continue;
		build_id = (struct halo_buildid){.len = info.build_id.len};
		memcpy(build_id.id, info.build_id.id, sizeof(info.build_id.id));
		halo_buildid__format(&build_id, id);
		obj = json_object_new_object();
		add_int(obj, "object", exe_id);
		add_string(obj, "path",
			   exe_id == r->program->exe_id ? r->program->path : info.path);
		add_string(obj, "build_id", id);
		print_line(f, obj);
	}
}

/* Where the functions of variants lie in the arena: no file says. */
static void print_variants(const struct halo_recording *r, FILE *f)
{
	const struct halo_program *p = r->program;
	int64_t base = halo_prepared__arena(p->prepared);

	for (unsigned int i = 0; i < p->n_variants; i++) {
		const struct halo_variant *v = &p->variants[i];

		for (size_t j = 0; j < v->n_funcs; j++) {
			const struct halo_variant_func *func = &v->funcs[j];
			json_object *obj = json_object_new_object();

			add_string(obj, "variant", v->name);
			add_string(obj, "function", func->func ? func->func->name : "?");
			add_int(obj, "off", func->vaddr - base);
			add_int(obj, "size", func->size);
			print_line(f, obj);
		}
	}
}

static void print_contexts(const struct halo_recording *r, FILE *f)
{
	uint64_t count, unused;

	for (size_t i = 0; i < halo_tally__size(r->contexts); i++) {
		const struct halo_ctx_key *key = halo_tally__at(r->contexts, i, &count, &unused);

		fprintf(f, "{\"count\":%lu,\"quality\":%u,\"cut\":%u,\"frames\":[", count,
			key->quality, key->end == HALO_END_DEPTH);
		for (unsigned int j = 0; j < key->nr && j < HALO_MAX_FRAMES; j++)
			fprintf(f, "%s%llu,%llu", j ? "," : "", key->frame[j] >> HALO_OFF_BITS,
				key->frame[j] & HALO_OFF_MASK);
		fprintf(f, "]}\n");
	}
}

static void print_branches(const struct halo_recording *r, FILE *f)
{
	uint64_t count, second;

	for (size_t i = 0; i < halo_tally__size(r->edges); i++) {
		const struct halo_edge_key *key = halo_tally__at(r->edges, i, &count, &second);

		fprintf(f, "{\"count\":%lu,\"mispredicts\":%lu,\"edge\":[%u,%llu,%u,%llu]}\n",
			count, second, key->from_exe, key->from_off, key->to_exe, key->to_off);
	}
	for (size_t i = 0; i < halo_tally__size(r->ranges); i++) {
		const struct halo_range_key *key = halo_tally__at(r->ranges, i, &count, &second);

		fprintf(f, "{\"count\":%lu,\"range\":[%u,%llu,%llu]}\n", count, key->exe_id,
			key->begin_off, key->end_off);
	}
}

/* A descriptor of the whole recording, or -errno. */
static int write_out(const struct halo_recording *r)
{
	__cleanup_fd int fd = memfd_create("halo-recording", MFD_CLOEXEC);
	int copy = fd < 0 ? -1 : dup(fd), bad;
	FILE *f = copy < 0 ? NULL : fdopen(copy, "w");

	if (!f) {
		halo__close_fd(&copy);
		return -errno;
	}
	print_header(r, f);
	print_objects(r, f);
	print_variants(r, f);
	print_contexts(r, f);
	print_branches(r, f);
	bad = ferror(f);
	return fclose(f) || bad ? -EIO : take_fd(fd);
}

static void finish(void *ctx)
{
	struct halo_recording *r = ctx;
	struct halo_conn *conn = r->conn;
	struct halo_err err = {0};
	json_object *answer = NULL;
	int fd;

	halo_samples__drain(r->daemon);
	fd = write_out(r);
	if (fd < 0) {
		halo_err__set(&err, fd, "writing the recording: %s", strerror(-fd));
		answer = halo_err__to_json(&err);
	} else {
		answer = json_object_new_object();
	}
	recording__free(r);
	halo_control__answer(conn, answer, fd);
}

static int allocate(struct halo_recording *r)
{
	r->contexts = halo_tally__new(sizeof(struct halo_ctx_key), MAX_KEYS);
	r->edges = halo_tally__new(sizeof(struct halo_edge_key), MAX_KEYS);
	r->ranges = halo_tally__new(sizeof(struct halo_range_key), MAX_KEYS);
	return r->contexts && r->edges && r->ranges ? 0 : -ENOMEM;
}

int halo_record__begin(struct halo_daemon *d, const struct halo_target *target,
		       unsigned int seconds, struct halo_conn *conn, struct halo_err *err)
{
	struct halo_recording *r = calloc(1, sizeof(*r));
	int ret;

	if (!r)
		return halo_err__set(err, -ENOMEM, "out of memory");
	r->daemon = d;
	r->conn = conn;
	TAILQ_INSERT_TAIL(&d->recordings, r, link);
	ret = halo_program__find(d, target, &r->program, NULL);
	if (ret) {
		ret = halo_program__watch(d, target, &r->program, err);
		r->watched = !ret;
	} else {
		r->watched = r->program->watched;
	}
	if (!ret && allocate(r))
		ret = halo_err__set(err, -ENOMEM, "out of memory");
	if (ret) {
		recording__free(r);
		return ret;
	}
	/* What was sampled before is not of it. */
	halo_samples__drain(d);
	halo_tally__free(r->contexts);
	halo_tally__free(r->edges);
	halo_tally__free(r->ranges);
	if (allocate(r)) {
		recording__free(r);
		return halo_err__set(err, -ENOMEM, "out of memory");
	}
	r->since_ns = halo_loop__now();
	read_figures(d, r->figures);
	halo_control__wait(conn, finish, r);
	halo_loop__arm(d->loop, &r->timer, r->since_ns + seconds * HALO_SEC, finish, r);
	return 0;
}

void halo_record__end_all(struct halo_daemon *d)
{
	struct halo_recording *r;

	while ((r = TAILQ_FIRST(&d->recordings)))
		recording__free(r);
}

void halo_record__context(struct halo_daemon *d, const struct halo_ctx_key *key, uint64_t count)
{
	struct halo_recording *r;

	TAILQ_FOREACH(r, &d->recordings, link)
		if (r->contexts && r->program->exe_id == key->exe_id)
			halo_tally__add(r->contexts, key, count, 0);
}

void halo_record__edge(struct halo_daemon *d, const struct halo_edge_key *key,
		       const struct halo_edge_val *val)
{
	struct halo_recording *r;

	TAILQ_FOREACH(r, &d->recordings, link)
		if (r->edges && ((key->from_exe & ~HALO_EXE_ARENA) == r->program->exe_id ||
				 (key->to_exe & ~HALO_EXE_ARENA) == r->program->exe_id))
			halo_tally__add(r->edges, key, val->count, val->mispredicts);
}

void halo_record__range(struct halo_daemon *d, const struct halo_range_key *key, uint64_t count)
{
	struct halo_recording *r;

	TAILQ_FOREACH(r, &d->recordings, link)
		if (r->ranges && (key->exe_id & ~HALO_EXE_ARENA) == r->program->exe_id)
			halo_tally__add(r->ranges, key, count, 0);
}
