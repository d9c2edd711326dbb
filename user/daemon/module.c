// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>
#include <sys/mman.h>

#include "../lib/util.h"
#include "files.h"
#include "identity.h"
#include "maps.h"
#include "module.h"
#include "privileges.h"

static int read_maps(pid_t pid, struct halo_maps *maps)
{
	int proc = halo_proc__open(pid, NULL);

	if (proc >= 0 && halo_maps__read(proc, maps, NULL))
		zclose(&proc);
	return proc;
}

int halo_module__open_at(pid_t pid, uint64_t addr)
{
	struct halo_maps maps = {0};
	__cleanup_fd int proc = read_maps(pid, &maps);
	const struct halo_map *m;
	dev_t trusted = 0;
	int fd = -1;

	if (proc < 0)
		return -1;
	m = halo_maps__at(&maps, addr);
	halo_privileges__raise_admin();
	if (m)
		fd = halo_files__open_map(proc, m, &trusted);
	halo_privileges__lower_admin();
	halo_maps__free(&maps);
	return fd;
}

static bool is_code(const struct halo_map *m)
{
	return m->ino && (m->prot & PROT_EXEC) && !m->shared && m->path[0] == '/';
}

static const char *base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Cheap, and true of nearly no other file. */
static bool may_be(const struct halo_program *p, const struct halo_map *m)
{
	return is_code(m) &&
	       ((m->ino == p->ino && m->dev == p->dev) || !strcmp(base(m->path), base(p->path)));
}

int halo_module__open(const struct halo_program *p, pid_t pid)
{
	struct halo_maps maps = {0};
	__cleanup_fd int proc = read_maps(pid, &maps);
	dev_t trusted = 0;
	int fd = -1;

	if (proc < 0)
		return -1;
	halo_privileges__raise_admin();
	for (size_t i = 0; i < maps.n && fd < 0; i++) {
		if (!may_be(p, &maps.v[i]))
			continue;
		fd = halo_files__open_map(proc, &maps.v[i], &trusted);
		if (fd >= 0 && !halo_identity__is_file_of(p, fd))
			zclose(&fd);
	}
	halo_privileges__lower_admin();
	halo_maps__free(&maps);
	if (fd < 0)
		errno = ENOENT;
	return fd;
}

static int find_in(const struct halo_maps *maps, int proc, const struct halo_buildid *id,
		   char **path)
{
	struct halo_buildid found;
	dev_t trusted = 0;

	for (size_t i = 0; i < maps->n; i++) {
		__cleanup_fd int fd = -1;

		if (is_code(&maps->v[i]))
			fd = halo_files__open_map(proc, &maps->v[i], &trusted);

		if (fd < 0 || halo_buildid__read(fd, &found, NULL) || found.len != id->len ||
		    memcmp(found.id, id->id, id->len))
			continue;
		*path = strdup(maps->v[i].path);
		return *path ? take_fd(fd) : -1;
	}
	return -1;
}

struct search {
	const struct halo_buildid *id;
	char **path;
	int fd;
};

static bool visit(void *ctx, pid_t pid)
{
	struct search *s = ctx;
	struct halo_maps maps = {0};
	__cleanup_fd int proc = read_maps(pid, &maps);

	if (proc >= 0)
		s->fd = find_in(&maps, proc, s->id, s->path);
	halo_maps__free(&maps);
	return s->fd < 0;
}

int halo_module__by_build_id(const struct halo_buildid *id, char **path)
{
	struct search s = {.id = id, .path = path, .fd = -1};

	halo_privileges__raise_admin();
	halo_identity__each_pid(visit, &s);
	halo_privileges__lower_admin();
	return s.fd;
}
