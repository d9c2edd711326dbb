// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "prepared_internal.h"
#include "util.h"

/* User addresses end here, so sums of two of them don't overflow. */
#define ADDR_MAX (1ULL << 47)

int halo_prepared__corrupt(struct halo_err *err, const char *fmt, ...)
{
	char what[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	halo_err__set(err, -EBADMSG, "bad file: %s", what);
	halo_err__cause(err, "the file is damaged, or a tool rewrote it after halo-cc");
	halo_err__remedy(err, "build the program again with halo-cc");
	return -EBADMSG;
}

static int read_file(struct halo_prepared *p, struct halo_err *err)
{
	size_t done = 0;
	struct stat st;
	uint8_t *map;
	ssize_t n;

	if (fstat(p->fd, &st))
		return halo_err__set(err, -errno, "stat: %s", strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(Elf64_Ehdr))
		return halo_err__set(err, -ENOEXEC, "not an ELF file");
	if ((uint64_t)st.st_size > HALO_FILE_MAX)
		return halo_err__set(err, -EFBIG, "the file is larger than %llu MiB",
				     HALO_FILE_MAX >> 20);

	map = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return halo_err__set(err, -errno, "no memory for the file: %s", strerror(errno));
	p->map = map;
	p->map_size = st.st_size;

	while (done < p->map_size) {
		n = pread(p->fd, map + done, p->map_size - done, done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return halo_err__set(err, -errno, "read: %s", strerror(errno));
		if (n == 0)
			return halo_err__set(err, -EAGAIN, "the file shrinks while it is read");
		done += n;
	}
	if (mprotect(map, p->map_size, PROT_READ))
		return halo_err__set(err, -errno, "mprotect: %s", strerror(errno));
	return 0;
}

static int add_segment(struct halo_prepared *p, const GElf_Phdr *ph, struct halo_err *err)
{
	const struct halo_segment *last = p->n_segments ? &p->segments[p->n_segments - 1] : NULL;

	if (ph->p_offset > p->map_size || ph->p_filesz > p->map_size - ph->p_offset)
		return halo_prepared__corrupt(err, "a segment lies outside of the file");
	if (ph->p_filesz > ph->p_memsz || ph->p_vaddr > ADDR_MAX ||
	    ph->p_memsz > ADDR_MAX - ph->p_vaddr)
		return halo_prepared__corrupt(err, "a segment has impossible bounds");
	if (last && ph->p_vaddr < last->vaddr + last->memsz)
		return halo_prepared__corrupt(err, "segments overlap");

	p->segments[p->n_segments++] = (struct halo_segment){
		.vaddr = ph->p_vaddr,
		.off = ph->p_offset,
		.filesz = ph->p_filesz,
		.memsz = ph->p_memsz,
		.flags = ph->p_flags,
	};
	return 0;
}

struct dynamic {
	bool interp, needed, pie;
};

static int read_dynamic(struct halo_prepared *p, const GElf_Phdr *ph, struct dynamic *dyn,
			struct halo_err *err)
{
	Elf64_Dyn d;
	size_t i;

	if (ph->p_offset > p->map_size || ph->p_filesz > p->map_size - ph->p_offset)
		return halo_prepared__corrupt(err, "the dynamic section lies outside of the file");
	for (i = 0; i < ph->p_filesz / sizeof(d); i++) {
		memcpy(&d, p->map + ph->p_offset + i * sizeof(d), sizeof(d));
		switch (d.d_tag) {
		case DT_NULL:
			return 0;
		case DT_NEEDED:
			dyn->needed = true;
			break;
		case DT_BIND_NOW:
			p->bind_now = true;
			break;
		case DT_FLAGS:
			p->bind_now |= d.d_un.d_val & DF_BIND_NOW;
			break;
		case DT_FLAGS_1:
			p->bind_now |= d.d_un.d_val & DF_1_NOW;
			dyn->pie |= !!(d.d_un.d_val & DF_1_PIE);
			break;
		}
	}
	return 0;
}

static int read_segments(struct halo_prepared *p, Elf *elf, struct halo_err *err)
{
	struct dynamic dyn = {};
	GElf_Phdr ph;
	size_t i, n;
	int ret = 0;

	if (elf_getphdrnum(elf, &n) || !n)
		return halo_err__set(err, -ENOEXEC, "no program headers: not an executable");
	p->segments = calloc(n, sizeof(*p->segments));
	if (!p->segments)
		return halo_err__set(err, -ENOMEM, "out of memory");

	for (i = 0; i < n && !ret; i++) {
		if (!gelf_getphdr(elf, i, &ph))
			return halo_prepared__corrupt(err, "program header %zu can't be read", i);
		if (ph.p_type == PT_LOAD) {
			ret = add_segment(p, &ph, err);
		} else if (ph.p_type == PT_DYNAMIC) {
			ret = read_dynamic(p, &ph, &dyn, err);
		} else if (ph.p_type == PT_INTERP) {
			dyn.interp = true;
		} else if (ph.p_type == PT_TLS) {
			if (ph.p_memsz > ADDR_MAX || (ph.p_align & (ph.p_align - 1)))
				return halo_prepared__corrupt(err, "impossible thread-local size");
			p->tls_size = ph.p_memsz;
			p->tls_align = ph.p_align;
		}
	}
	p->is_static = !dyn.interp && !dyn.needed;
	p->is_library = p->pic && !dyn.interp && !dyn.pie;
	return ret;
}

static int read_sections(struct halo_prepared *p, Elf *elf, struct halo_err *err)
{
	struct halo_section *s, names = {};
	size_t i, n, shstrndx;
	GElf_Shdr sh;

	if (elf_getshdrnum(elf, &n) || elf_getshdrstrndx(elf, &shstrndx))
		return halo_prepared__corrupt(err, "section headers can't be read");
	p->sections = calloc(n + 1, sizeof(*p->sections));
	if (!p->sections)
		return halo_err__set(err, -ENOMEM, "out of memory");

	for (i = 0; i < n; i++) {
		Elf_Scn *scn = elf_getscn(elf, i);

		if (!scn || !gelf_getshdr(scn, &sh))
			return halo_prepared__corrupt(err, "section %zu can't be read", i);
		s = &p->sections[p->n_sections++];
		s->type = sh.sh_type;
		s->link = sh.sh_link;
		s->flags = sh.sh_flags;
		if (sh.sh_type == SHT_NOBITS || sh.sh_type == SHT_NULL)
			continue;
		if (sh.sh_offset > p->map_size || sh.sh_size > p->map_size - sh.sh_offset)
			return halo_prepared__corrupt(err, "section %zu lies outside of the file",
						      i);
		s->data = p->map + sh.sh_offset;
		s->size = sh.sh_size;
	}

	if (shstrndx < n)
		names = p->sections[shstrndx];
	for (i = 0; i < n; i++) {
		gelf_getshdr(elf_getscn(elf, i), &sh);
		p->sections[i].name = halo_section__string(&names, sh.sh_name);
		if (!p->sections[i].name)
			p->sections[i].name = "";
	}
	return 0;
}

static bool overlaps(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size)
{
	return a < b + b_size && b < a + a_size;
}

static bool is_unread(const struct halo_prepared *p, const struct halo_section *debug)
{
	const struct halo_section *s;
	size_t i;

	for (s = p->sections; s < p->sections + p->n_sections; s++)
		if (s->data && strncmp(s->name, ".debug_", 7) != 0 &&
		    overlaps(s->data, s->size, debug->data, debug->size))
			return false;
	for (i = 0; i < p->n_segments; i++)
		if (overlaps(p->map + p->segments[i].off, p->segments[i].filesz, debug->data,
			     debug->size))
			return false;
	return true;
}

/* Debug information can be most of a file: give its memory back. */
static void forget_debug(struct halo_prepared *p)
{
	const struct halo_section *s;
	uintptr_t begin, end;

	if (p->n_sections > 1024)
		return;
	for (s = p->sections; s < p->sections + p->n_sections; s++) {
		if (!s->data || strncmp(s->name, ".debug_", 7) != 0 || !is_unread(p, s))
			continue;
		begin = ALIGN_UP((uintptr_t)s->data, HALO_PAGE);
		end = ((uintptr_t)s->data + s->size) & ~(HALO_PAGE - 1);
		if (begin < end)
			madvise((void *)begin, end - begin, MADV_DONTNEED);
	}
}

static int check_header(struct halo_prepared *p, Elf *elf, struct halo_err *err)
{
	GElf_Ehdr eh;

	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &eh) ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_ident[EI_DATA] != ELFDATA2LSB ||
	    eh.e_machine != EM_X86_64)
		return halo_err__set(err, -ENOEXEC, "not an x86-64 ELF file");
	if (eh.e_type != ET_EXEC && eh.e_type != ET_DYN)
		return halo_err__set(err, -ENOEXEC, "neither an executable nor a shared library");
	p->pic = eh.e_type == ET_DYN;
	return 0;
}

static int parse(struct halo_prepared *p, struct halo_err *err)
{
	Elf *elf;
	int ret;

	elf_version(EV_CURRENT);
	elf = elf_memory((char *)p->map, p->map_size);
	ret = check_header(p, elf, err);
	if (!ret)
		ret = read_segments(p, elf, err);
	if (!ret)
		ret = read_sections(p, elf, err);
	if (!ret)
		halo_buildid__from_elf(elf, &p->buildid);
	elf_end(elf);

	if (!ret)
		ret = halo_prepared__read_stub(p, err);
	if (!ret)
		ret = halo_prepared__read_tables(p, err);
	if (!ret)
		ret = halo_prepared__check_slots(p, err);
	if (!ret)
		ret = halo_prepared__read_symbols(p, err);
	if (!ret)
		ret = halo_prepared__index(p, err);
	return ret;
}

int halo_prepared__open(int fd, struct halo_prepared **out, struct halo_err *err)
{
	struct halo_prepared *p = calloc(1, sizeof(*p));
	int ret;

	if (!p)
		return halo_err__set(err, -ENOMEM, "out of memory");
	p->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (p->fd < 0) {
		ret = halo_err__set(err, -errno, "duplicate descriptor: %s", strerror(errno));
		goto cleanup;
	}
	ret = read_file(p, err);
	if (!ret)
		ret = parse(p, err);
	if (!ret) {
		forget_debug(p);
		*out = take_ptr(p);
	}
cleanup:
	halo_prepared__free(p);
	return ret;
}

void halo_prepared__free(struct halo_prepared *p)
{
	if (!p)
		return;
	if (p->map)
		munmap((void *)p->map, p->map_size);
	zclose(&p->fd);
	free(p->segments);
	free(p->sections);
	free(p->units);
	free(p->funcs);
	free(p->vars);
	free(p->symbols);
	free(p->funcs_by_name);
	free(p->vars_by_name);
	free(p);
}
