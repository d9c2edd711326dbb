/* SPDX-License-Identifier: BSD-2-Clause */
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "../lib/util.h"
#include "maps.h"

#define AUXV_MAX 128 /* entries; the kernel has about 25 */

int halo_proc__open(pid_t pid, struct halo_err *err)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return halo_err__set(err, -ESRCH, "process %d does not exist", pid);
	if (fd < 0)
		return halo_err__set(err, -errno, "cannot open %s: %m", path);
	return fd;
}

static bool parse_line(char *line, struct halo_map *m)
{
	unsigned int major, minor;
	char perm[5];
	int path = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &m->start,
		   &m->end, perm, &m->off, &major, &minor, &m->ino, &path) != 7 ||
	    m->end <= m->start || strlen(perm) != 4)
		return false;
	m->dev = makedev(major, minor);
	m->prot = (perm[0] == 'r' ? PROT_READ : 0) | (perm[1] == 'w' ? PROT_WRITE : 0) |
		  (perm[2] == 'x' ? PROT_EXEC : 0);
	m->shared = perm[3] == 's';
	m->path = strdup(path ? line + path : "");
	return m->path != NULL;
}

static int append(struct halo_maps *maps, char *line)
{
	struct halo_map *v;

	if ((maps->n & (maps->n - 1)) == 0) {
		v = realloc(maps->v, (maps->n ? 2 * maps->n : 1) * sizeof(*v));
		if (!v)
			return -ENOMEM;
		maps->v = v;
	}
	if (!parse_line(line, &maps->v[maps->n]))
		return -EBADMSG;
	maps->n++;
	return 0;
}

int halo_maps__read(int proc, struct halo_maps *out, struct halo_err *err)
{
	int fd = openat(proc, "maps", O_RDONLY | O_CLOEXEC);
	__cleanup_free char *line = NULL;
	size_t room = 0;
	int ret = 0;
	FILE *file;

	*out = (struct halo_maps){0};
	file = fd < 0 ? NULL : fdopen(fd, "r");
	if (!file) {
		ret = halo_err__set(err, -errno, "cannot open the maps of the process: %m");
		halo__close_fd(&fd);
		return ret;
	}
	while (ret == 0 && getline(&line, &room, file) > 0)
		ret = append(out, line);
	if (ret == 0 && (ferror(file) || out->n == 0))
		ret = -ESRCH; /* the file is empty once the process has ended */
	fclose(file);
	if (ret == 0)
		return 0;
	halo_maps__free(out);
	return halo_err__set(err, ret, "cannot read the maps of the process: %s", strerror(-ret));
}

void halo_maps__free(struct halo_maps *maps)
{
	size_t i;

	for (i = 0; i < maps->n; i++)
		free(maps->v[i].path);
	free(maps->v);
	*maps = (struct halo_maps){0};
}

const struct halo_map *halo_maps__at(const struct halo_maps *maps, uint64_t addr)
{
	size_t i;

	for (i = 0; i < maps->n; i++)
		if (addr >= maps->v[i].start && addr < maps->v[i].end)
			return &maps->v[i];
	return NULL;
}

int halo_proc__auxv(int proc, uint64_t type, uint64_t *value, struct halo_err *err)
{
	__cleanup_fd int fd = openat(proc, "auxv", O_RDONLY | O_CLOEXEC);
	Elf64_auxv_t auxv[AUXV_MAX];
	ssize_t n = fd < 0 ? -1 : read(fd, auxv, sizeof(auxv));
	size_t i;

	if (n < 0)
		return halo_err__set(err, -errno, "cannot read the auxiliary vector: %m");
	for (i = 0; i < n / sizeof(auxv[0]) && auxv[i].a_type != AT_NULL; i++)
		if (auxv[i].a_type == type) {
			*value = auxv[i].a_un.a_val;
			return 0;
		}
	return halo_err__set(err, -ENOENT, "the auxiliary vector has no entry %" PRIu64, type);
}
