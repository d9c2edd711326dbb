// SPDX-License-Identifier: BSD-2-Clause
/* Pinned maps: where, for whom, and what bpftool makes of them. In a mount namespace of its own. */
#include "fixture.h"

#include <json-c/json.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXE_ID 3

static struct fixture f;
static struct exe exe;

static void own_mounts(void)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		die("no mount namespace: %m");
	while (!umount2("/sys/fs/bpf", MNT_DETACH))
		;
}

/* The entries of a map by bpftool; NULL: it failed. */
static json_object *dump(const char *map)
{
	char command[256], text[65536];
	size_t n;
	FILE *p;

	snprintf(command, sizeof(command),
		 "bpftool -j map dump pinned " HALO_PIN_DIR "/%s 2>/dev/null", map);
	p = popen(command, "re");
	n = p ? fread(text, 1, sizeof(text) - 1, p) : 0;
	text[n] = '\0';
	if (!p || pclose(p))
		return NULL;
	return json_tokener_parse(text);
}

/* Does the first entry's formatted @part ("key", "value" or "values") hold that member? */
static bool has_member(const char *map, const char *part, const char *member)
{
	json_object *all = dump(map), *at = all ? json_object_array_get_idx(all, 0) : NULL;
	bool found;

	found = at && json_object_object_get_ex(at, "formatted", &at) &&
		json_object_object_get_ex(at, part, &at);
	if (found && json_object_is_type(at, json_type_array))
		found = (at = json_object_array_get_idx(at, 0)) &&
			json_object_object_get_ex(at, "value", &at);
	found = found && json_object_object_get_ex(at, member, &at);
	json_object_put(all);
	return found;
}

static void test_dumps(void)
{
	static const struct {
		const char *map, *part, *member;
	} rows[] = {
		{"halo_enrolled", "key", "id"},
		{"halo_enrolled", "value", "exe_id"},
		{"halo_exe", "value", "path"},
		{"halo_inode", "key", "ino"},
		{"halo_proc", "value", "text_start_addr"},
		{"halo_ctx_a", "key", "frame"},
		{"halo_ctx_a", "value", "count"},
		{"halo_stats", "values", "samples"},
		{"halo_cost", "value", "ns"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(has_member(rows[i].map, rows[i].part, rows[i].member),
		      "bpftool map dump pinned %s names the %s's member %s", rows[i].map,
		      rows[i].part, rows[i].member);
}

int main(int argc, char **argv)
{
	struct halo_err err = {0};
	char path[256];
	struct stat st;
	pid_t pid;

	if (argc != 3)
		die("usage: pin_test BUSY DIR");
	own_mounts();
	snprintf(path, sizeof(path), "%s/enrolled", argv[2]);
	exe__copy(&exe, argv[1], path);
	fixture__open(&f, true);
	check(!stat(HALO_PIN_DIR, &st) && (st.st_mode & 07777) == 0700,
	      "bpffs is mounted where it was missing, and the folder is root's alone");

	if (halo_kernel__enroll(f.k, EXE_ID, &exe.p, exe.path, &err))
		die("%s", err.what);
	pid = start(exe.path, "spin", NULL);
	fixture__wait_samples(&f, 5);
	if (halo_kernel__cost_begin(f.k, 1, 0))
		die("cost_begin failed");
	test_dumps();
	stop(pid);
	fixture__close(&f);
	check(access(HALO_PIN_DIR, F_OK), "nothing is left when it ends");

	if (mkdir(HALO_PIN_DIR, 0700))
		die("mkdir: %m");
	fixture__open(&f, true);
	fixture__open(&f, true);
	check(!access(HALO_PIN_DIR "/halo_proc", F_OK), "what a killed daemon left is replaced");
	fixture__close(&f);
	exe__free(&exe);
	return tap_done();
}
