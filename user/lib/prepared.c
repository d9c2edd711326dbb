// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "prepared_internal.h"
#include "util.h"

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

static int parse(struct halo_prepared *p, struct halo_err *err)
{
	int ret = halo_prepared__read_elf(p, err);

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
	if (!ret)
		halo_prepared__check_unwind(p);
	return ret;
}

static int open_with(int fd, int (*read)(struct halo_prepared *p, struct halo_err *err),
		     struct halo_prepared **out, struct halo_err *err)
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
		ret = read(p, err);
	if (!ret) {
		forget_debug(p);
		*out = take_ptr(p);
	}
cleanup:
	halo_prepared__free(p);
	return ret;
}

int halo_prepared__open(int fd, struct halo_prepared **out, struct halo_err *err)
{
	return open_with(fd, parse, out, err);
}

int halo_prepared__open_any(int fd, struct halo_prepared **out, struct halo_err *err)
{
	return open_with(fd, halo_prepared__read_elf, out, err);
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
