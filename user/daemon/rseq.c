/* SPDX-License-Identifier: BSD-2-Clause */
#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "../lib/util.h"
#include "aside.h"
#include "attach.h"
#include "maps.h"

/* Thread-local blocks are far smaller. */
#define RSEQ_DISTANCE_MAX (1LL << 24)
#define WAIT_MS		  100 /* that a process may hold the daemon */

/* Where an ELF file defines the two variables of the rseq ABI of glibc; link-time, 0: not there. */
struct rseq_symbols {
	uint64_t offset; /* ptrdiff_t __rseq_offset */
	uint64_t size;	 /* unsigned int __rseq_size, 0 when registration failed */
};

static void scan_table(Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr, struct rseq_symbols *out)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	GElf_Sym sym;
	const char *name;
	int i;

	for (i = 0; data && gelf_getsym(data, i, &sym); i++) {
		if (sym.st_shndx == SHN_UNDEF || GELF_ST_TYPE(sym.st_info) != STT_OBJECT)
			continue;
		name = elf_strptr(elf, shdr->sh_link, sym.st_name);
		if (name && strcmp(name, "__rseq_offset") == 0)
			out->offset = sym.st_value;
		else if (name && strcmp(name, "__rseq_size") == 0)
			out->size = sym.st_value;
	}
}

static bool find_symbols(Elf *elf, struct rseq_symbols *out)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	*out = (struct rseq_symbols){0};
	while ((scn = elf_nextscn(elf, scn)) != NULL)
		if (gelf_getshdr(scn, &shdr) &&
		    (shdr.sh_type == SHT_DYNSYM || shdr.sh_type == SHT_SYMTAB))
			scan_table(elf, scn, &shdr, out);
	return out->offset && out->size;
}

/* Link-time address of the page that file offset 0 is loaded at. */
static bool first_vaddr(Elf *elf, uint64_t *vaddr)
{
	GElf_Phdr phdr;
	size_t n, i;

	if (elf_getphdrnum(elf, &n))
		return false;
	for (i = 0; i < n; i++)
		if (gelf_getphdr(elf, i, &phdr) && phdr.p_type == PT_LOAD &&
		    phdr.p_offset < HALO_PAGE) {
			*vaddr = phdr.p_vaddr - phdr.p_offset;
			return true;
		}
	return false;
}

static int64_t read_offset(int mem, const struct rseq_symbols *sym, uint64_t bias)
{
	int64_t offset;
	uint32_t size;

	if (pread(mem, &offset, sizeof(offset), bias + sym->offset) != sizeof(offset) ||
	    pread(mem, &size, sizeof(size), bias + sym->size) != sizeof(size) || size == 0 ||
	    offset % 8 || offset > RSEQ_DISTANCE_MAX || offset < -RSEQ_DISTANCE_MAX)
		return 0;
	return offset;
}

/*
 * Open the file behind @m, seen from the process's own root. The process may have put anything
 * under that name since, so nothing but a regular file is opened for real.
 */
static int open_mapped(int proc, const struct halo_map *m)
{
	__cleanup_fd int fd = -1;
	char path[4096 + 8];
	struct stat st;

	snprintf(path, sizeof(path), "root%s", m->path);
	fd = openat(proc, path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_ino != m->ino)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int64_t offset_from(int proc, int mem, const struct halo_map *m)
{
	__cleanup_fd int fd = open_mapped(proc, m);
	struct rseq_symbols sym;
	int64_t offset = 0;
	uint64_t vaddr;
	Elf *elf;

	if (fd < 0)
		return 0;
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && gelf_getclass(elf) == ELFCLASS64 && first_vaddr(elf, &vaddr) &&
	    find_symbols(elf, &sym))
		offset = read_offset(mem, &sym, m->start - vaddr);
	elf_end(elf);
	return offset;
}

/* glibc defines the variables in its loader; a static executable has them itself. */
static bool may_define(const struct halo_map *m, uint64_t exe_ino)
{
	const char *base = strrchr(m->path, '/');

	return base && m->off == 0 &&
	       (m->ino == exe_ino || strncmp(base, "/ld-", 4) == 0 ||
		strncmp(base, "/libc.so", 8) == 0 || strncmp(base, "/libc-", 6) == 0);
}

struct search {
	pid_t pid;
	int64_t offset;
};

static int search(void *ctx)
{
	struct search *s = ctx;
	__cleanup_fd int proc = halo_proc__open(s->pid, NULL);
	__cleanup_fd int mem = -1;
	struct halo_maps maps;
	struct stat exe;
	size_t i;

	if (proc < 0 || elf_version(EV_CURRENT) == EV_NONE || fstatat(proc, "exe", &exe, 0))
		return 0;
	mem = openat(proc, "mem", O_RDONLY | O_CLOEXEC);
	if (mem < 0 || halo_maps__read(proc, &maps, NULL))
		return 0;
	for (i = 0; i < maps.n && !s->offset; i++)
		if (may_define(&maps.v[i], exe.st_ino))
			s->offset = offset_from(proc, mem, &maps.v[i]);
	halo_maps__free(&maps);
	return 0;
}

int64_t halo_rseq__offset(pid_t pid)
{
	struct search s = {.pid = pid};

	halo_aside__run(search, &s, sizeof(s), NULL, 0, WAIT_MS, NULL);
	return s.offset;
}
