// SPDX-License-Identifier: BSD-2-Clause
/*
 * The pinned maps, with names for the numbers in them: program, function and source line. Nothing is
 * taken out of them: the daemon does that.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <bpf/bpf.h>

#include "../kernel/kernel.h"
#include "../symbols/symbols.h"
#include "cli.h"
#include "json.h"
#include "table.h"

#define TOP 40 /* rows for people; JSON has all */

/* A file that frames lie in. */
struct object {
	uint32_t exe_id;
	struct halo_exe_info info;
	struct halo_symbols *symbols; /* NULL: not looked for yet, or not to be had */
	bool looked;
};

struct objects {
	struct object *v;
	size_t n;
};

struct row {
	json_object *obj;
	uint64_t weight; /* rows with more come first */
};

struct rows {
	struct row *v;
	size_t n;
	struct objects objects;
};

typedef json_object *(*row_fn)(struct rows *rows, const void *key, const void *val,
			       uint64_t *weight);

static int open_map(const char *name, struct halo_err *err)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), HALO_PIN_DIR "/%s", name);
	fd = bpf_obj_get(path);
	if (fd >= 0)
		return fd;
	halo_err__set(err, fd, "opening %s: %s", path, strerror(-fd));
	if (fd == -ENOENT) {
		halo_err__cause(err, "the daemon pins the maps, and it is not running");
		halo_err__remedy(err, "sudo halo-bpf start");
	} else if (fd == -EPERM || fd == -EACCES) {
		halo_err__remedy(err, "run the command with sudo");
	}
	return fd;
}

static int each(const char *name, size_t key_size, size_t val_size,
		int (*fn)(void *ctx, const void *key, const void *val), void *ctx,
		struct halo_err *err)
{
	__cleanup_free char *key = calloc(1, key_size), *next = calloc(1, key_size);
	__cleanup_free char *val = calloc(1, val_size);
	__cleanup_fd int fd = open_map(name, err);
	int ret;

	if (fd < 0)
		return fd;
	if (!key || !next || !val)
		return halo_err__set(err, -ENOMEM, "out of memory");
	ret = bpf_map_get_next_key(fd, NULL, next);
	while (!ret) {
		memcpy(key, next, key_size);
		if (!bpf_map_lookup_elem(fd, key, val) && fn(ctx, key, val))
			return halo_err__set(err, -ENOMEM, "out of memory");
		ret = bpf_map_get_next_key(fd, key, next);
	}
	return 0;
}

static int add_object(void *ctx, const void *key, const void *val)
{
	struct objects *objects = ctx;
	struct object *more = reallocarray(objects->v, objects->n + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	objects->v = more;
	more[objects->n] = (struct object){.info = *(const struct halo_exe_info *)val};
	memcpy(&more[objects->n++].exe_id, key, sizeof(uint32_t));
	return 0;
}

static struct object *find_object(struct objects *objects, uint32_t exe_id)
{
	for (size_t i = 0; i < objects->n; i++)
		if (objects->v[i].exe_id == exe_id)
			return &objects->v[i];
	return NULL;
}

static void buildid_of(const struct halo_build_id *in, struct halo_buildid *out)
{
	out->len = in->len <= sizeof(out->id) ? in->len : sizeof(out->id);
	memcpy(out->id, in->id, sizeof(in->id));
}

static struct halo_symbols *symbols_of(struct object *o)
{
	struct halo_buildid id;
	int fd;

	if (o->looked)
		return o->symbols;
	o->looked = true;
	buildid_of(&o->info.build_id, &id);
	o->info.path[sizeof(o->info.path) - 1] = '\0';
	fd = halo_symbols__find(o->info.path, &id, 0, NULL);
	if (fd < 0)
		return NULL;
	halo_symbols__open(fd, o->info.path, &o->symbols, NULL);
	close(fd);
	return o->symbols;
}

static void add_string(json_object *obj, const char *key, const char *text)
{
	json_object_object_add(obj, key, json_object_new_string(text));
}

static void add_int(json_object *obj, const char *key, int64_t value)
{
	json_object_object_add(obj, key, json_object_new_int64(value));
}

static void add_symbol(json_object *obj, struct object *o, uint64_t off, unsigned int back)
{
	struct halo_symbols *s = symbols_of(o);
	struct halo_symbol_at symbol;
	unsigned int line;
	const char *file;
	uint64_t vaddr;
	char *name;

	if (!s || !halo_symbols__vaddr(s, off - back, &vaddr))
		return;
	add_int(obj, "vaddr", vaddr + back);
	if (halo_symbols__at(s, vaddr, &symbol)) {
		name = halo_symbols__demangle(symbol.raw);
		add_string(obj, "function", name ?: symbol.raw);
		free(name);
	}
	if (halo_symbols__line(s, vaddr, &file, &line)) {
		add_string(obj, "file", file);
		add_int(obj, "line", line);
	}
}

/* @exe: exe_id, HALO_EXE_ARENA may be set. @back is 1 for return addresses. */
static json_object *new_place(struct rows *rows, uint32_t exe, uint64_t off, unsigned int back)
{
	struct object *o = find_object(&rows->objects, exe & ~HALO_EXE_ARENA);
	json_object *obj = json_object_new_object();

	if (!exe)
		return obj;
	add_int(obj, "exe_id", exe & ~HALO_EXE_ARENA);
	add_int(obj, "off", off);
	if (exe & HALO_EXE_ARENA)
		json_object_object_add(obj, "variant", json_object_new_boolean(true));
	if (!o)
		return obj;
	add_string(obj, "program", o->info.path);
	if (!(exe & HALO_EXE_ARENA))
		add_symbol(obj, o, off, back);
	return obj;
}

static json_object *context_row(struct rows *rows, const void *key, const void *val,
				uint64_t *weight)
{
	const struct halo_ctx_key *k = key;
	json_object *obj = json_object_new_object(), *frames = json_object_new_array();

	*weight = ((const struct halo_ctx_val *)val)->count;
	add_int(obj, "count", *weight);
	add_int(obj, "quality", k->quality);
	json_object_object_add(obj, "cut", json_object_new_boolean(k->end == HALO_END_DEPTH));
	for (unsigned int i = 0; i < k->nr && i < HALO_MAX_FRAMES; i++)
		json_object_array_add(frames, new_place(rows, k->frame[i] >> HALO_OFF_BITS,
							k->frame[i] & HALO_OFF_MASK, i > 0));
	json_object_object_add(obj, "frames", frames);
	return obj;
}

static json_object *edge_row(struct rows *rows, const void *key, const void *val, uint64_t *weight)
{
	const struct halo_edge_key *k = key;
	const struct halo_edge_val *v = val;
	json_object *obj = json_object_new_object();

	*weight = v->count;
	add_int(obj, "count", v->count);
	add_int(obj, "mispredicts", v->mispredicts);
	json_object_object_add(obj, "from", new_place(rows, k->from_exe, k->from_off, 0));
	json_object_object_add(obj, "to", new_place(rows, k->to_exe, k->to_off, 0));
	return obj;
}

static json_object *range_row(struct rows *rows, const void *key, const void *val, uint64_t *weight)
{
	const struct halo_range_key *k = key;
	json_object *obj = json_object_new_object();

	*weight = ((const struct halo_range_val *)val)->count;
	add_int(obj, "count", *weight);
	json_object_object_add(obj, "begin", new_place(rows, k->exe_id, k->begin_off, 0));
	json_object_object_add(obj, "end", new_place(rows, k->exe_id, k->end_off, 0));
	return obj;
}

static json_object *proc_row(struct rows *rows, const void *key, const void *val, uint64_t *weight)
{
	const struct halo_proc *v = val;
	json_object *obj = json_object_new_object();
	struct object *o = find_object(&rows->objects, v->exe_id);
	uint32_t tgid;

	memcpy(&tgid, key, sizeof(tgid));
	*weight = 0;
	add_int(obj, "pid", tgid);
	add_int(obj, "exe_id", v->exe_id);
	add_string(obj, "program", o ? o->info.path : "");
	add_int(obj, "family", v->family);
	add_int(obj, "start_ns", v->start_ns);
	add_int(obj, "text_start_addr", v->text_start_addr);
	add_int(obj, "text_end_addr", v->text_end_addr);
	return obj;
}

static void add_buildid(json_object *obj, const struct halo_build_id *in)
{
	char text[2 * HALO_BUILD_ID_MAX + 1];
	struct halo_buildid id = {0};

	buildid_of(in, &id);
	halo_buildid__format(&id, text);
	add_string(obj, "build_id", text);
}

static json_object *enrolled_row(struct rows *rows, const void *key, const void *val,
				 uint64_t *weight)
{
	const struct halo_enrollment *v = val;
	json_object *obj = json_object_new_object();
	struct object *o = find_object(&rows->objects, v->exe_id);

	*weight = 0;
	add_buildid(obj, key);
	add_int(obj, "exe_id", v->exe_id);
	add_string(obj, "program", o ? o->info.path : "");
	return obj;
}

static json_object *exe_row(struct rows *rows, const void *key, const void *val, uint64_t *weight)
{
	const struct halo_exe_info *v = val;
	json_object *obj = json_object_new_object();
	uint32_t exe_id;

	(void)rows;
	memcpy(&exe_id, key, sizeof(exe_id));
	*weight = 0;
	add_int(obj, "exe_id", exe_id);
	add_string(obj, "program", v->path);
	add_buildid(obj, &v->build_id);
	return obj;
}

/* In the order of kinds[]. */
static const char *const map_names[] = {"contexts", "edges", "ranges", "processes",
					"enrolled", "files", NULL};
const struct cli_values cmd_map_values[] = {{0, map_names}, {}};

/* One of two generations is filling; the other is empty, or being drained. */
static const struct kind {
	const char *maps[2];
	size_t key_size, val_size;
	row_fn row;
	const char *text;
} kinds[] = {
	{{"halo_ctx_a", "halo_ctx_b"},
	 sizeof(struct halo_ctx_key),
	 sizeof(struct halo_ctx_val),
	 context_row,
	 "where samples were taken, and who called, since the last drain"},
	{{"halo_edge_a", "halo_edge_b"},
	 sizeof(struct halo_edge_key),
	 sizeof(struct halo_edge_val),
	 edge_row,
	 "branches taken, since the last drain"},
	{{"halo_range_a", "halo_range_b"},
	 sizeof(struct halo_range_key),
	 sizeof(struct halo_range_val),
	 range_row,
	 "code between taken branches, since the last drain"},
	{{"halo_proc"},
	 sizeof(uint32_t),
	 sizeof(struct halo_proc),
	 proc_row,
	 "processes of enrolled programs"},
	{{"halo_enrolled"},
	 sizeof(struct halo_build_id),
	 sizeof(struct halo_enrollment),
	 enrolled_row,
	 "enrolled programs by build-id"},
	{{"halo_exe"},
	 sizeof(uint32_t),
	 sizeof(struct halo_exe_info),
	 exe_row,
	 "files with code, by the number that stands for them"},
};
_Static_assert(ARRAY_SIZE(kinds) + 1 == ARRAY_SIZE(map_names), "a name for each");

struct reader {
	struct rows *rows;
	const struct kind *kind;
};

static int add_row(void *ctx, const void *key, const void *val)
{
	const struct reader *r = ctx;
	struct rows *rows = r->rows;
	struct row *more = reallocarray(rows->v, rows->n + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	rows->v = more;
	more[rows->n].weight = 0;
	more[rows->n].obj = r->kind->row(rows, key, val, &more[rows->n].weight);
	rows->n++;
	return 0;
}

static int heavier_first(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return (x->weight < y->weight) - (x->weight > y->weight);
}

static const struct kind *find_kind(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(map_names[i], name) || !strcmp(kinds[i].maps[0], name) ||
		    (kinds[i].maps[1] && !strcmp(kinds[i].maps[1], name)))
			return &kinds[i];
	return NULL;
}

static int read_rows(const struct kind *kind, struct rows *rows, struct halo_err *err)
{
	struct reader reader = {rows, kind};
	int ret = each("halo_exe", sizeof(uint32_t), sizeof(struct halo_exe_info), add_object,
		       &rows->objects, err);

	for (int i = 0; i < 2 && kind->maps[i] && !ret; i++)
		ret = each(kind->maps[i], kind->key_size, kind->val_size, add_row, &reader, err);
	if (rows->n)
		qsort(rows->v, rows->n, sizeof(*rows->v), heavier_first);
	return ret;
}

static void print_place(json_object *place)
{
	const char *program = js__str(place, "program"), *slash = strrchr(program, '/');

	if (!js__int(place, "exe_id")) {
		printf("outside");
		return;
	}
	if (js__str(place, "function")[0])
		print_clean(stdout, js__str(place, "function"));
	else
		printf("%#" PRIx64, js__int(place, "off"));
	printf(" (");
	if (js__str(place, "file")[0]) {
		const char *file = strrchr(js__str(place, "file"), '/');

		print_clean(stdout, file ? file + 1 : js__str(place, "file"));
		printf(":%" PRId64 ", ", js__int(place, "line"));
	}
	print_clean(stdout, slash ? slash + 1 : program);
	printf("%s)", js__int(place, "variant") ? ", variant" : "");
}

/* Numbers and words on one line, places on lines of their own. */
static void print_row(json_object *row)
{
	json_object_object_foreach(row, name, val)
	{
		if (json_object_is_type(val, json_type_object) ||
		    json_object_is_type(val, json_type_array))
			continue;
		printf("%s ", name);
		print_clean(stdout, json_object_get_string(val));
		printf("  ");
	}
	printf("\n");
	json_object_object_foreach(row, key, place)
	{
		if (json_object_is_type(place, json_type_object)) {
			printf("  %-6s ", key);
			print_place(place);
			printf("\n");
		}
		for (size_t i = 0;
		     json_object_is_type(place, json_type_array) && i < js__len(place); i++) {
			printf("  ");
			print_place(js__at(place, i));
			printf("\n");
		}
	}
}

static void print_rows(const struct cli *cli, const struct kind *kind, struct rows *rows)
{
	json_object *obj, *list;

	if (!cli->json) {
		for (size_t i = 0; i < rows->n && i < TOP; i++)
			print_row(rows->v[i].obj);
		if (rows->n > TOP)
			printf("and %zu more; -j shows all\n", rows->n - TOP);
		if (!rows->n)
			printf("nothing\n");
		return;
	}
	obj = json_object_new_object();
	list = json_object_new_array();
	for (size_t i = 0; i < rows->n; i++)
		json_object_array_add(list, json_object_get(rows->v[i].obj));
	json_object_object_add(obj, map_names[kind - kinds], list);
	cli__print_json(cli, obj);
	json_object_put(obj);
}

static void free_rows(struct rows *rows)
{
	for (size_t i = 0; i < rows->n; i++)
		json_object_put(rows->v[i].obj);
	for (size_t i = 0; i < rows->objects.n; i++)
		halo_symbols__free(rows->objects.v[i].symbols);
	free(rows->objects.v);
	free(rows->v);
}

static void print_kinds(const struct cli *cli)
{
	static const char *const headers[] = {"NAME", "MAPS", "WHAT", NULL};
	struct table *t;
	json_object *obj;

	if (cli->json) {
		obj = json_object_new_object();
		for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
			add_string(obj, map_names[i], kinds[i].text);
		cli__print_json(cli, obj);
		json_object_put(obj);
		return;
	}
	t = table__new(headers);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		table__cell(t, "%s", map_names[i]);
		table__cell(t, "%s%s%s", kinds[i].maps[0], kinds[i].maps[1] ? ", " : "",
			    kinds[i].maps[1] ?: "");
		table__cell(t, "%s", kinds[i].text);
	}
	table__print(t, stdout, 0);
	table__free(t);
}

enum cli_exit cmd_map(struct cli *cli, const struct cmd *cmd, int argc, char **argv)
{
	struct cli_args args = {.max = 1};
	const struct kind *kind;
	struct rows rows = {0};
	struct halo_err err = {0};
	char names[128];
	int ret;

	cli__parse(cli, cmd, argc, argv, &args);
	if (!args.count) {
		print_kinds(cli);
		return CLI_OK;
	}
	kind = find_kind(args.values[0]);
	if (!kind) {
		halo_err__set(&err, -ENOENT, "there is no map '%s'", args.values[0]);
		cli__join(map_names, names, sizeof(names));
		halo_err__remedy(&err, "one of: %s", names);
		return cli__fail(cli, CLI_USAGE, &err);
	}
	ret = read_rows(kind, &rows, &err);
	if (!ret)
		print_rows(cli, kind, &rows);
	free_rows(&rows);
	if (!ret)
		return CLI_OK;
	return cli__fail(cli,
			 ret == -ENOENT			   ? CLI_NO_DAEMON
			 : ret == -EPERM || ret == -EACCES ? CLI_PRIVILEGE
							   : CLI_FAILED,
			 &err);
}
