/* SPDX-License-Identifier: BSD-2-Clause */
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../lib/util.h"
#include "attach.h"
#include "maps.h"

#define NS_PER_S 1000000000ULL

/* What identifies the binary's file among the mappings. */
struct image_file {
	dev_t dev;
	uint64_t ino;
	char path[4096];
};

static int read_text(int proc, const char *name, char *buf, size_t room, struct halo_err *err)
{
	__cleanup_fd int fd = openat(proc, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, room - 1);

	if (n <= 0)
		return halo_err__set(err, n < 0 ? -errno : -ESRCH, "cannot read %s of the process",
				     name);
	buf[n] = '\0';
	return 0;
}

/* Field 22; the second one, the command's name, may hold blanks and parentheses. */
static int read_start(int proc, uint64_t *start_ns, struct halo_err *err)
{
	uint64_t ticks_per_s = (uint64_t)sysconf(_SC_CLK_TCK), ticks;
	char text[1024], *field;
	int i, ret;

	ret = read_text(proc, "stat", text, sizeof(text), err);
	if (ret)
		return ret;
	field = strrchr(text, ')');
	for (i = 2; field && i < 22; i++)
		field = strchr(field + 1, ' ');
	if (!field || sscanf(field, "%" SCNu64, &ticks) != 1)
		return halo_err__set(err, -EBADMSG, "the process's stat is not understood");
	*start_ns = ticks * (NS_PER_S / ticks_per_s);
	return 0;
}

/* The effective one: who the process acts as. */
static int read_uid(int proc, uid_t *uid, struct halo_err *err)
{
	char text[4096], *line;
	int ret = read_text(proc, "status", text, sizeof(text), err);

	if (ret)
		return ret;
	line = strstr(text, "\nUid:");
	if (!line || sscanf(line, "\nUid: %*u %u", uid) != 1)
		return halo_err__set(err, -EBADMSG, "the process's status is not understood");
	return 0;
}

static int read_exe(int proc, int fd, struct image_file *file, struct halo_err *err)
{
	struct stat st, prepared;
	ssize_t n;

	if (fstatat(proc, "exe", &st, 0) || fstat(fd, &prepared))
		return halo_err__set(err, -errno, "cannot examine the executable: %m");
	if (st.st_dev != prepared.st_dev || st.st_ino != prepared.st_ino) {
		halo_err__set(err, -ESTALE, "the process runs another file");
		halo_err__cause(err, "it has called exec, or runs under an explicit loader");
		return -ESTALE;
	}
	n = readlinkat(proc, "exe", file->path, sizeof(file->path) - 1);
	if (n < 0)
		return halo_err__set(err, -errno, "cannot read the executable's name: %m");
	file->path[n] = '\0';
	file->dev = st.st_dev;
	file->ino = st.st_ino;
	return 0;
}

/* Some file systems show another device in maps than stat does; there the path decides. */
static bool is_of(const struct halo_map *m, const struct image_file *file)
{
	return m->ino == file->ino && (m->dev == file->dev || strcmp(m->path, file->path) == 0);
}

/* The mapping of the first page of @seg, if it is as the kernel loaded it. */
static const struct halo_map *mapping_of(const struct halo_maps *maps,
					 const struct image_file *file,
					 const struct halo_segment *seg, uint64_t bias)
{
	uint64_t addr = bias + (seg->vaddr & ~(HALO_PAGE - 1));
	const struct halo_map *m = halo_maps__at(maps, addr);
	int prot = (seg->flags & PF_R ? PROT_READ : 0) | (seg->flags & PF_X ? PROT_EXEC : 0);

	if (m && is_of(m, file) && m->prot == prot && !m->shared &&
	    m->off + (addr - m->start) == (seg->off & ~(HALO_PAGE - 1)))
		return m;
	return NULL;
}

/*
 * Writable segments are left out: relro splits them, and attaching replaces the slot pages. @entry tells
 * which code is the text; 0: the first is.
 */
static int check_segments(const struct halo_maps *maps, const struct image_file *file,
			  const struct halo_prepared *p, uint64_t entry, struct halo_layout *out,
			  struct halo_err *err)
{
	const struct halo_map *m;
	size_t i;

	for (i = 0; i < p->n_segments; i++) {
		const struct halo_segment *seg = &p->segments[i];

		if (seg->filesz == 0 || (seg->flags & PF_W))
			continue;
		m = mapping_of(maps, file, seg, out->bias);
		if (!m)
			goto mismatch;
		if (!(seg->flags & PF_X) || out->text_end ||
		    (entry && (entry < seg->vaddr || entry - seg->vaddr >= seg->memsz)))
			continue;
		out->text_start = m->start;
		out->text_end = m->end;
		out->text_off = m->off;
	}
	if (out->text_end)
		return 0;
mismatch:
	halo_err__set(err, -ENOEXEC, "the process's text is not mapped as its executable says");
	halo_err__cause(err, "it has moved its text elsewhere, to huge pages for instance");
	return -ENOEXEC;
}

static int locate_executable(int proc, const struct halo_prepared *p, struct halo_layout *out,
			     struct halo_err *err)
{
	struct halo_maps maps;
	uint64_t loaded_entry;
	Elf64_Ehdr ehdr;
	struct image_file file;
	int ret;

	if (p->map_size < sizeof(ehdr))
		return halo_err__set(err, -EBADMSG, "the executable is cut short");
	memcpy(&ehdr, p->map, sizeof(ehdr));
	ret = read_exe(proc, p->fd, &file, err);
	if (ret == 0)
		ret = halo_proc__auxv(proc, AT_ENTRY, &loaded_entry, err);
	if (ret)
		return ret;
	out->bias = loaded_entry - ehdr.e_entry;
	if (out->bias % HALO_PAGE || (!p->pic && out->bias))
		return halo_err__set(err, -EBADMSG, "the process's load address makes no sense");
	ret = halo_maps__read(proc, &maps, err);
	if (ret)
		return ret;
	ret = check_segments(&maps, &file, p, ehdr.e_entry, out, err);
	halo_maps__free(&maps);
	return ret;
}

/* The file as /proc shows it here, which is as the maps of most processes do. */
static int read_file(int fd, struct image_file *file, struct halo_err *err)
{
	char link[32];
	struct stat st;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = fstat(fd, &st) ? -1 : readlink(link, file->path, sizeof(file->path) - 1);
	if (n < 0)
		return halo_err__set(err, -errno, "cannot examine the library: %m");
	file->path[n] = '\0';
	file->dev = st.st_dev;
	file->ino = st.st_ino;
	return 0;
}

static const struct halo_segment *first_segment(const struct halo_prepared *p)
{
	size_t i;

	for (i = 0; i < p->n_segments; i++)
		if (p->segments[i].filesz && !(p->segments[i].flags & PF_W))
			return &p->segments[i];
	return NULL;
}

/* Wherever its first segment is mapped, the others have to fit. */
static int find_library(const struct halo_maps *maps, const struct image_file *file,
			const struct halo_prepared *p, uint64_t slots, struct halo_layout *out,
			struct halo_err *err)
{
	const struct halo_segment *first = first_segment(p);
	struct halo_layout found;
	bool seen = false;
	size_t i;

	for (i = 0; first && i < maps->n; i++) {
		const struct halo_map *m = &maps->v[i];

		if (!is_of(m, file) || m->off != (first->off & ~(HALO_PAGE - 1)))
			continue;
		seen = true;
		found = *out;
		found.bias = m->start - (first->vaddr & ~(HALO_PAGE - 1));
		if (check_segments(maps, file, p, 0, &found, NULL) ||
		    (slots && found.bias + p->stub.slots_begin != slots))
			continue;
		*out = found;
		return 0;
	}
	if (!seen)
		return halo_err__set(err, -ESTALE, "the process does not have it mapped");
	return halo_err__set(err, -ENOEXEC, "the library is not mapped as its file says");
}

static int locate_library(int proc, const struct halo_prepared *p, uint64_t slots,
			  struct halo_layout *out, struct halo_err *err)
{
	struct image_file file;
	struct halo_maps maps;
	int ret;

	ret = read_file(p->fd, &file, err);
	if (!ret)
		ret = halo_maps__read(proc, &maps, err);
	if (ret)
		return ret;
	ret = find_library(&maps, &file, p, slots, out, err);
	halo_maps__free(&maps);
	return ret;
}

int halo_layout__read_at(pid_t pid, const struct halo_prepared *p, uint64_t slots,
			 struct halo_layout *out, struct halo_err *err)
{
	__cleanup_fd int proc = halo_proc__open(pid, err);
	int ret;

	if (proc < 0)
		return proc;
	*out = (struct halo_layout){0};
	ret = read_start(proc, &out->start_ns, err);
	if (ret == 0)
		ret = read_uid(proc, &out->uid, err);
	if (ret == 0)
		ret = p->is_library ? locate_library(proc, p, slots, out, err)
				    : locate_executable(proc, p, out, err);
	return ret ? halo_err__wrap(err, ret, "process %d", pid) : 0;
}

int halo_layout__read(pid_t pid, const struct halo_prepared *p, struct halo_layout *out,
		      struct halo_err *err)
{
	return halo_layout__read_at(pid, p, 0, out, err);
}
