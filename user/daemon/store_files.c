/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "../lib/util.h"
#include "maps.h"
#include "store.h"

/* The files of the store as such: what is there, who has them mapped. */

#define NEW_SUFFIX ".new"

int halo_store__write(struct halo_store *store, const char *name, const char *text,
		      struct halo_err *err)
{
	int root = halo_store__root(store);
	size_t len = strlen(text), done = 0;
	__cleanup_fd int fd = -1;
	char new[NAME_MAX + 1];
	ssize_t n;

	snprintf(new, sizeof(new), "%s" NEW_SUFFIX, name);
	fd = openat(root, new, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return halo_err__set(err, -errno, "cannot open %s: %m", new);
	for (; done < len; done += n) {
		n = write(fd, text + done, len - done);
		if (n < 0)
			return halo_err__set(err, -errno, "cannot write %s: %m", new);
	}
	if (renameat(root, new, root, name))
		return halo_err__set(err, -errno, "cannot rename %s: %m", new);
	return 0;
}

char *halo_store__read(struct halo_store *store, const char *name, size_t max)
{
	__cleanup_fd int fd = openat(halo_store__root(store), name,
				     O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	__cleanup_free char *text = NULL;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || (uint64_t)st.st_size > max)
		return NULL;
	text = malloc(st.st_size + 1);
	if (!text || read(fd, text, st.st_size) != st.st_size)
		return NULL;
	text[st.st_size] = '\0';
	return take_ptr(text);
}

void halo_store__each(struct halo_store *store, void (*fn)(void *ctx, const char *name), void *ctx)
{
	int fd = openat(halo_store__root(store), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;

	while (dir && (de = readdir(dir)))
		if (de->d_name[0] != '.')
			fn(ctx, de->d_name);
	if (dir)
		closedir(dir);
}

struct find {
	struct halo_store *store;
	const struct halo_map *map;
	char *name;
	size_t size;
	bool found;
};

static void find_one(void *ctx, const char *name)
{
	struct find *f = ctx;
	struct stat st;

	if (fstatat(halo_store__root(f->store), name, &st, AT_SYMLINK_NOFOLLOW) ||
	    st.st_ino != f->map->ino || st.st_dev != f->map->dev)
		return;
	snprintf(f->name, f->size, "%s", name);
	f->found = true;
}

bool halo_store__find(struct halo_store *store, const struct halo_map *map, char *name, size_t size)
{
	struct find f = {store, map, name, size, false};

	halo_store__each(store, find_one, &f);
	return f.found;
}

struct inodes {
	dev_t dev;
	uint64_t *v;
	size_t n, room;
	bool failed;
};

static void add_inode(struct inodes *used, uint64_t ino)
{
	uint64_t *v = used->v;

	if (used->n == used->room) {
		v = reallocarray(v, 2 * used->room + 64, sizeof(*v));
		if (!v) {
			used->failed = true;
			return;
		}
		used->v = v;
		used->room = 2 * used->room + 64;
	}
	used->v[used->n++] = ino;
}

static void add_process(struct inodes *used, pid_t pid)
{
	__cleanup_fd int proc = halo_proc__open(pid, NULL);
	struct halo_maps maps;

	if (proc < 0 || halo_maps__read(proc, &maps, NULL))
		return;
	for (size_t i = 0; i < maps.n; i++)
		if (maps.v[i].ino && maps.v[i].dev == used->dev)
			add_inode(used, maps.v[i].ino);
	halo_maps__free(&maps);
}

static void add_all(struct inodes *used)
{
	DIR *dir = opendir("/proc");
	struct dirent *de;

	used->failed = !dir;
	while (dir && (de = readdir(dir)))
		if (isdigit((unsigned char)de->d_name[0]))
			add_process(used, atoi(de->d_name));
	if (dir)
		closedir(dir);
}

struct sweep {
	struct halo_store *store;
	struct inodes used;
};

static bool has_record(struct halo_store *store, const char *arena)
{
	char name[NAME_MAX + 1];

	snprintf(name, sizeof(name), "program-%s", arena + strlen("arena-"));
	return faccessat(halo_store__root(store), name, F_OK, 0) == 0;
}

static void sweep_one(void *ctx, const char *name)
{
	struct sweep *s = ctx;
	size_t len = strlen(name);
	struct stat st;

	if (fstatat(halo_store__root(s->store), name, &st, AT_SYMLINK_NOFOLLOW))
		return;
	for (size_t i = 0; i < s->used.n; i++)
		if (s->used.v[i] == st.st_ino)
			return;
	if (strncmp(name, "slots-", 6) == 0 ||
	    (strncmp(name, "arena-", 6) == 0 && !has_record(s->store, name)) ||
	    (len > strlen(NEW_SUFFIX) && !strcmp(name + len - strlen(NEW_SUFFIX), NEW_SUFFIX)))
		halo_store__unlink(s->store, name);
}

void halo_store__sweep(struct halo_store *store)
{
	struct sweep s = {.store = store};
	struct stat st;

	if (fstat(halo_store__root(store), &st))
		return;
	s.used.dev = st.st_dev;
	add_all(&s.used);
	if (!s.used.failed)
		halo_store__each(store, sweep_one, &s);
	free(s.used.v);
}
