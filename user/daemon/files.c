// SPDX-License-Identifier: BSD-2-Clause
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "../lib/util.h"
#include "files.h"
#include "identity.h"
#include "unwinds.h"

#define LOG_TAG "files"
#include "../lib/log.h"

#define VDSO_NAME   "[vdso]"
#define IDLE_SWEEPS 2

int halo_files__number(struct halo_daemon *d, uint32_t *exe_id)
{
	struct halo_known *known;

	for (uint32_t i = 0; i < d->n_known; i++) {
		if (!d->known[i].is_free)
			continue;
		d->known[i] = (struct halo_known){0};
		*exe_id = i + 1;
		return 0;
	}
	if (d->n_known >= HALO_MAX_EXES - 1) {
		d->files_refused++;
		return -ENOSPC;
	}
	known = reallocarray(d->known, d->n_known + 1, sizeof(*known));
	if (!known)
		return -ENOMEM;
	d->known = known;
	memset(&known[d->n_known], 0, sizeof(*known));
	*exe_id = ++d->n_known;
	return 0;
}

static bool same_file(const struct halo_file *file, const struct stat *st)
{
	return file->ino == st->st_ino && file->size == st->st_size &&
	       file->ctime.tv_sec == st->st_ctim.tv_sec &&
	       file->ctime.tv_nsec == st->st_ctim.tv_nsec;
}

/* @dev as in maps: on some filesystems stat(2) tells another one. */
static struct halo_file *find(const struct halo_daemon *d, dev_t dev, const struct stat *st)
{
	for (size_t i = 0; i < d->n_files; i++)
		if (d->files[i]->dev == dev && same_file(d->files[i], st))
			return d->files[i];
	return NULL;
}

uint32_t halo_files__find(const struct halo_daemon *d, int fd)
{
	const struct halo_file *file;
	struct stat st;

	if (fstat(fd, &st))
		return 0;
	file = find(d, st.st_dev, &st);
	return file ? file->exe_id : 0;
}

void halo_files__forget(struct halo_daemon *d, const struct halo_buildid *id)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->n_files; i++) {
		struct halo_file *file = d->files[i];

		if (file->build_id.len == id->len && !memcmp(file->build_id.id, id->id, id->len))
			free(file);
		else
			d->files[kept++] = file;
	}
	d->n_files = kept;
}

/* Files that have that number. */
static void drop(struct halo_daemon *d, uint32_t exe_id)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->n_files; i++) {
		if (d->files[i]->exe_id == exe_id)
			free(d->files[i]);
		else
			d->files[kept++] = d->files[i];
	}
	d->n_files = kept;
}

static void mark_programs(const struct halo_daemon *d, bool used[HALO_MAX_EXES])
{
	const struct halo_program *p;

	TAILQ_FOREACH(p, &d->programs, link)
		used[p->exe_id] = true;
	TAILQ_FOREACH(p, &d->retired, link)
		used[p->exe_id] = true;
	for (size_t i = 0; i < d->n_files; i++)
		if (!d->files[i]->ino)
			used[d->files[i]->exe_id] = true; /* the vdso */
}

/* Why a binary was denied is remembered, and so is its number. */
static void sweep_number(struct halo_daemon *d, uint32_t exe_id, bool used)
{
	struct halo_known *known = &d->known[exe_id - 1];

	known->idle = used ? 0 : known->idle + 1;
	if (known->is_free || known->denied[0] || known->idle < IDLE_SWEEPS)
		return;
	halo_unwinds__forget(d, exe_id);
	halo_kernel__del_exe(d->kernel, exe_id);
	drop(d, exe_id);
	*known = (struct halo_known){.is_free = true};
	d->files_freed++;
}

void halo_files__sweep(struct halo_daemon *d)
{
	__cleanup_free bool *used = NULL;
	uint64_t now = halo_loop__now();

	/* A recording names files by their numbers when it ends. */
	if (now - d->swept_ns < d->sweep_ns || !TAILQ_EMPTY(&d->recordings))
		return;
	d->swept_ns = now;
	used = calloc(HALO_MAX_EXES, sizeof(*used));
	if (!used)
		return;
	halo_kernel__mapped(d->kernel, used);
	mark_programs(d, used);
	for (uint32_t exe_id = 1; exe_id <= d->n_known; exe_id++)
		sweep_number(d, exe_id, used[exe_id]);
}

unsigned int halo_files__numbers(const struct halo_daemon *d)
{
	unsigned int n = d->n_known;

	for (uint32_t i = 0; i < d->n_known; i++)
		n -= d->known[i].is_free;
	return n;
}

void halo_files__free(struct halo_daemon *d)
{
	for (size_t i = 0; i < d->n_files; i++)
		free(d->files[i]);
	free(d->files);
	d->files = NULL;
	d->n_files = 0;
}

static struct halo_file *append(struct halo_daemon *d)
{
	struct halo_file **files;

	files = reallocarray(d->files, d->n_files + 1, sizeof(*files));
	if (!files)
		return NULL;
	d->files = files;
	files[d->n_files] = calloc(1, sizeof(**files));
	return files[d->n_files] ? files[d->n_files++] : NULL;
}

/* The type of the filesystem that is device @dev, as the process has it mounted. */
static bool filesystem(int proc, dev_t dev, char *type, size_t size)
{
	int fd = openat(proc, "mountinfo", O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	__cleanup_free char *line = NULL;
	unsigned int major, minor;
	bool found = false;
	const char *rest;
	size_t room = 0;

	if (!file) {
		halo__close_fd(&fd);
		return false;
	}
	/* "36 35 98:0 /root /mount options … - type source options" */
	while (!found && getline(&line, &room, file) > 0) {
		rest = strstr(line, " - ");
		if (!rest || sscanf(line, "%*d %*d %u:%u", &major, &minor) != 2 ||
		    makedev(major, minor) != dev)
			continue;
		rest += strlen(" - ");
		snprintf(type, size, "%.*s", (int)strcspn(rest, " "), rest);
		found = true;
	}
	fclose(file);
	return found;
}

/*
 * Whoever serves a filesystem in user space could let the daemon wait for ever. A filesystem that the
 * process has not mounted is one of the kernel's own: a memfd, for instance.
 */
static bool is_trusted(int proc, dev_t dev)
{
	char type[32];

	return filesystem(proc, dev, type, sizeof(type)) && strncmp(type, "fuse", 4);
}

static bool is_elf(int fd)
{
	char magic[SELFMAG];

	return pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	       !memcmp(magic, ELFMAG, sizeof(magic));
}

/* Of an enrolled program, or a new one; 0: none is left. */
static uint32_t number_of(struct halo_daemon *d, int fd, const struct halo_buildid *id)
{
	const struct halo_program *p = id->len ? halo_identity__program(d, fd) : NULL;
	uint32_t exe_id = 0;

	if (p)
		return p->exe_id;
	if (halo_files__number(d, &exe_id))
		log_debug("no number for another file: its frames have no place");
	return exe_id;
}

static int reopen(int path_fd)
{
	char link[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
	return open(link, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

static const struct halo_file *add(struct halo_daemon *d, int path_fd, const struct halo_map *m,
				   const struct stat *st)
{
	__cleanup_fd int fd = reopen(path_fd);
	struct halo_buildid id = {0};
	char path[HALO_PATH_MAX];
	struct halo_file *file;
	uint32_t exe_id;

	if (fd < 0 || !is_elf(fd))
		return NULL;
	halo_buildid__read(fd, &id, NULL);
	exe_id = number_of(d, fd, &id);
	file = exe_id ? append(d) : NULL;
	if (!file)
		return NULL;
	snprintf(path, sizeof(path), "%s", m->path);
	halo__clean_text(path);
	*file = (struct halo_file){
		.exe_id = exe_id,
		.dev = m->dev,
		.ino = st->st_ino,
		.ctime = st->st_ctim,
		.size = st->st_size,
		.build_id = id,
	};
	memcpy(file->path, path, sizeof(path));
	if (d->known[exe_id - 1].enrolled)
		return file;
	halo_kernel__set_exe(d->kernel, exe_id, &id, path);
	halo_unwinds__add(d, exe_id, fd);
	return file;
}

/* O_PATH. -1: none, or it is not to be read. */
static int open_map(int proc, const struct halo_map *m, dev_t *trusted, struct stat *st)
{
	__cleanup_fd int fd = -1;
	char name[64];

	if (!m->ino || m->path[0] != '/')
		return -1;
	if (*trusted != m->dev && !is_trusted(proc, m->dev))
		return -1;
	*trusted = m->dev;
	/* The mapped file itself, whatever has its name by now. */
	snprintf(name, sizeof(name), "map_files/%llx-%llx", (unsigned long long)m->start,
		 (unsigned long long)m->end);
	fd = openat(proc, name, O_PATH | O_CLOEXEC);
	return fd >= 0 && !fstat(fd, st) && S_ISREG(st->st_mode) ? take_fd(fd) : -1;
}

int halo_files__open_map(int proc, const struct halo_map *m, dev_t *trusted)
{
	__cleanup_fd int fd = -1;
	struct stat st;

	fd = open_map(proc, m, trusted, &st);
	return fd < 0 ? -1 : reopen(fd);
}

/* Of a file whose table found no room, once others have gone. */
static void retry_table(struct halo_daemon *d, uint32_t exe_id, int path_fd)
{
	struct halo_known *known = &d->known[exe_id - 1];
	__cleanup_fd int fd = -1;

	if (!known->no_room || known->freed == d->files_freed)
		return;
	fd = reopen(path_fd);
	if (fd < 0)
		return;
	known->no_room = false;
	halo_unwinds__add(d, exe_id, fd);
}

const struct halo_file *halo_files__of_map(struct halo_daemon *d, int proc,
					   const struct halo_map *m, dev_t *trusted)
{
	const struct halo_file *file;
	__cleanup_fd int fd = -1;
	struct stat st;

	fd = open_map(proc, m, trusted, &st);
	if (fd < 0)
		return NULL;
	file = find(d, m->dev, &st);
	if (!file)
		return add(d, fd, m, &st);
	retry_table(d, file->exe_id, fd);
	return file;
}

/* All 64-bit processes have the daemon's own. */
static const void *find_vdso(size_t *size)
{
	uint64_t at = getauxval(AT_SYSINFO_EHDR);
	__cleanup_fd int self = halo_proc__open(getpid(), NULL);
	const struct halo_map *m;
	struct halo_maps maps;

	*size = 0;
	if (!at || self < 0 || halo_maps__read(self, &maps, NULL))
		return NULL;
	m = halo_maps__at(&maps, at);
	if (m)
		*size = m->end - at;
	halo_maps__free(&maps);
	return *size ? (const void *)at : NULL;
}

static void read_vdso_build_id(const void *image, size_t size, struct halo_buildid *id)
{
	__cleanup_fd int fd = memfd_create("halo-vdso", MFD_CLOEXEC);

	if (fd >= 0 && write(fd, image, size) == (ssize_t)size)
		halo_buildid__read(fd, id, NULL);
}

const struct halo_file *halo_files__vdso(struct halo_daemon *d)
{
	struct halo_file *file;
	const void *image;
	uint32_t exe_id;
	size_t size;

	for (size_t i = 0; i < d->n_files; i++)
		if (!d->files[i]->ino)
			return d->files[i];
	image = find_vdso(&size);
	if (!image || halo_files__number(d, &exe_id))
		return NULL;
	file = append(d);
	if (!file)
		return NULL;
	file->exe_id = exe_id;
	snprintf(file->path, sizeof(file->path), VDSO_NAME);
	read_vdso_build_id(image, size, &file->build_id);
	halo_kernel__set_exe(d->kernel, exe_id, &file->build_id, VDSO_NAME);
	halo_unwinds__add_image(d, exe_id, image, size);
	return file;
}
