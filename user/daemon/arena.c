/* SPDX-License-Identifier: BSD-2-Clause */
#define LOG_TAG "arena"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../lib/log.h"
#include "../lib/util.h"
#include "arena_elf.h"
#include "store.h"

#define ARENA_MAGIC   0x414e4552414f4c48ULL
#define ARENA_VERSION 3ULL

/*
 * In the first page of the file, behind what makes it an ELF file. It is written after what it tells of,
 * so whatever a daemon had not yet published when it died lies past @next, and no slot points there.
 */
struct arena_header {
	uint64_t magic;
	uint64_t version;
	uint64_t next; /* bytes in use, page-aligned */
	uint8_t hash[32];
	int64_t place; /* link-time address; 0: not chosen yet, or given by the kind of binary */
	struct arena_names names;
};

struct halo_arena {
	struct halo_store *store;
	int fd;
	dev_t dev;
	ino_t ino;
	char name[6 + 2 * 32 + 1];
	struct arena_header header;
	/* Of the file, which programs map too but can't write. */
	struct halo_index *index;
	struct halo_origins *origins;
};

static void format_name(struct halo_arena *arena, const uint8_t hash[32])
{
	int len = sprintf(arena->name, "arena-");
	int i;

	for (i = 0; i < 32; i++)
		len += sprintf(arena->name + len, "%02x", hash[i]);
}

static int write_header(struct halo_arena *arena, struct halo_err *err)
{
	int ret = arena_elf__write(arena->fd, &arena->header, sizeof(arena->header),
				   HALO_ARENA_HEADER);

	if (!ret)
		ret = arena_elf__publish(arena->fd, &arena->header.names, arena->header.next);
	if (ret)
		return halo_err__set(err, ret, "cannot write %s: %s", arena->name, strerror(-ret));
	return 0;
}

static int start_new(struct halo_arena *arena, const uint8_t hash[32], struct halo_err *err)
{
	if (ftruncate(arena->fd, HALO_ARENA_SIZE))
		return halo_err__set(err, -errno, "cannot size %s: %m", arena->name);
	arena->header = (struct arena_header){
		.magic = ARENA_MAGIC,
		.version = ARENA_VERSION,
		.next = HALO_ARENA_FIRST,
	};
	memcpy(arena->header.hash, hash, 32);
	arena_elf__begin(&arena->header.names);
	return write_header(arena, err);
}

static bool header_valid(const struct arena_header *h, const uint8_t hash[32])
{
	return h->magic == ARENA_MAGIC && h->version == ARENA_VERSION &&
	       h->next >= HALO_ARENA_FIRST && h->next <= HALO_ARENA_SIZE &&
	       h->next % HALO_PAGE == 0 && memcmp(h->hash, hash, 32) == 0 &&
	       arena_elf__valid(&h->names);
}

/* A file of no size or without magic was never finished, so nothing of it is in use. */
static int load(struct halo_arena *arena, const uint8_t hash[32], struct halo_err *err)
{
	struct stat st;

	if (fstat(arena->fd, &st))
		return halo_err__set(err, -errno, "cannot examine %s: %m", arena->name);
	arena->dev = st.st_dev;
	arena->ino = st.st_ino;
	if (st.st_size == 0)
		return start_new(arena, hash, err);
	if ((uint64_t)st.st_size != HALO_ARENA_SIZE ||
	    pread(arena->fd, &arena->header, sizeof(arena->header), HALO_ARENA_HEADER) !=
		    sizeof(arena->header))
		return halo_err__set(err, -EBADMSG, "%s has the wrong size", arena->name);
	if (arena->header.magic == 0)
		return start_new(arena, hash, err);
	if (!header_valid(&arena->header, hash))
		return halo_err__set(err, -EBADMSG, "%s has an invalid header", arena->name);
	return 0;
}

static bool index_valid(const struct halo_index *index, uint64_t next)
{
	uint64_t i, at = HALO_ARENA_FIRST;

	if (index->count > HALO_INDEX_MAX)
		return false;
	for (i = 0; i < index->count; at = index->entry[i++].begin + 1)
		if (index->entry[i].begin < at || index->entry[i].begin >= next ||
		    index->entry[i].frames >= next)
			return false;
	return true;
}

static int map_index(struct halo_arena *arena, struct halo_err *err)
{
	const size_t size = HALO_INDEX_SIZE + HALO_ORIGINS_SIZE;
	void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, arena->fd,
			 HALO_INDEX_OFFSET);

	if (map == MAP_FAILED)
		return halo_err__set(err, -errno, "cannot map the index of %s: %m", arena->name);
	arena->index = map;
	arena->origins = (void *)((char *)map + HALO_INDEX_SIZE);
	if (!index_valid(arena->index, arena->header.next) ||
	    arena->origins->count > HALO_ORIGINS_MAX)
		return halo_err__set(err, -EBADMSG, "%s has an invalid index", arena->name);
	return 0;
}

/* A store beyond the file system's size would be a SIGBUS, so the pages are made first. */
static int reserve_entry(struct halo_arena *arena, uint64_t i, struct halo_err *err)
{
	uint64_t at = HALO_INDEX_OFFSET + offsetof(struct halo_index, entry[i]);
	int ret;

	if (i == HALO_INDEX_MAX)
		return halo_err__set(err, -ENOSPC, "the index of %s is full", arena->name);
	ret = posix_fallocate(arena->fd, (off_t)at, sizeof(arena->index->entry[i]));
	if (!ret)
		ret = posix_fallocate(arena->fd, HALO_INDEX_OFFSET, sizeof(uint64_t));
	return ret ? halo_err__set(err, -ret, "cannot extend the index of %s: %s", arena->name,
				   strerror(ret))
		   : 0;
}

int halo_arena__open(struct halo_store *store, const uint8_t hash[32], struct halo_arena **out,
		     struct halo_err *err)
{
	struct halo_arena *arena = calloc(1, sizeof(*arena));
	int ret;

	if (!arena)
		return halo_err__set(err, -ENOMEM, "out of memory");
	arena->store = store;
	format_name(arena, hash);
	ret = halo_store__open_file(store, arena->name, O_CREAT, err);
	arena->fd = ret;
	if (ret >= 0)
		ret = load(arena, hash, err);
	if (ret >= 0)
		ret = map_index(arena, err);
	if (ret < 0) {
		if (ret == -EBADMSG)
			halo_err__remedy(err,
					 "stop the daemon, unmount its store and start it again");
		halo_arena__close(arena);
		return ret;
	}
	*out = arena;
	return 0;
}

void halo_arena__close(struct halo_arena *arena)
{
	if (!arena)
		return;
	if (arena->index)
		munmap(arena->index, HALO_INDEX_SIZE + HALO_ORIGINS_SIZE);
	zclose(&arena->fd);
	free(arena);
}

int halo_arena__place(struct halo_arena *arena, int64_t *place, struct halo_err *err)
{
	if (arena->header.place) {
		*place = arena->header.place;
		return 0;
	}
	arena->header.place = *place;
	return write_header(arena, err);
}

void halo_arena__let_read(struct halo_arena *arena, mode_t mode)
{
	if (fchmod(arena->fd, mode & S_IROTH ? 0644 : 0600))
		log_warn("%s: %s", arena->name, strerror(errno));
}

uint64_t halo_arena__next(const struct halo_arena *arena)
{
	return arena->header.next;
}

static int append(struct halo_arena *arena, uint64_t off, const void *code, size_t len,
		  uint64_t frames)
{
	int ret;

	ret = arena_elf__write(arena->fd, code, len, off);
	if (!ret && frames)
		ret = arena_elf__add_frames(arena->fd, &arena->header.names, off, code, len,
					    frames);
	if (ret)
		return ret;
	arena->header.next = ALIGN_UP(off + len, HALO_PAGE);
	arena->header.names.edition++;
	return 0;
}

int halo_arena__write(struct halo_arena *arena, uint64_t off, const void *code, size_t len,
		      uint64_t frames, struct halo_err *err)
{
	struct halo_index *index = arena->index;
	uint64_t i = index->count;
	int ret;

	if (off < arena->header.next)
		return halo_err__set(err, -EINVAL, "arena offset %#llx is published already",
				     (unsigned long long)off);
	if (off > HALO_ARENA_SIZE || len > HALO_ARENA_SIZE - off) {
		ret = halo_err__set(err, -ENOSPC, "the arena has no room for %zu bytes", len);
		halo_err__cause(err, "this binary's arena of %llu MiB is used up",
				HALO_ARENA_SIZE >> 20);
		return ret;
	}
	ret = reserve_entry(arena, i, err);
	if (ret)
		return ret;
	ret = append(arena, off, code, len, frames);
	if (ret)
		return halo_err__set(err, ret, "cannot write %s: %s", arena->name, strerror(-ret));
	ret = write_header(arena, err);
	if (ret)
		return ret;
	index->entry[i].begin = (uint32_t)off;
	index->entry[i].frames = frames ? (uint32_t)(off + frames) : 0;
	__atomic_store_n(&index->count, i + 1, __ATOMIC_RELEASE);
	return 0;
}

static int by_offset(const void *a, const void *b)
{
	const struct halo_arena_name *x = a, *y = b;

	return (x->off > y->off) - (x->off < y->off);
}

/* A store beyond the file system's size would be a SIGBUS. */
static int add_origin(struct halo_arena *arena, uint64_t begin, int64_t function)
{
	struct halo_origins *o = arena->origins;
	const uint64_t i = o->count;
	int ret;

	if (i && o->entry[i - 1].begin == begin) {
		o->entry[i - 1].function = (int32_t)function;
		return 0;
	}
	if (i == HALO_ORIGINS_MAX || (i && o->entry[i - 1].begin > begin))
		return 0;
	ret = posix_fallocate(arena->fd,
			      HALO_ORIGINS_OFFSET + offsetof(struct halo_origins, entry[i]),
			      sizeof(o->entry[i]));
	if (!ret && !i)
		ret = posix_fallocate(arena->fd, HALO_ORIGINS_OFFSET, sizeof(o->count));
	if (ret)
		return -ret;
	o->entry[i].begin = (uint32_t)begin;
	o->entry[i].function = (int32_t)function;
	__atomic_store_n(&o->count, i + 1, __ATOMIC_RELEASE);
	return 0;
}

static bool is_inside(const struct halo_arena *arena, const struct halo_arena_name *name)
{
	return name->off >= HALO_ARENA_FIRST && name->off < arena->header.next &&
	       name->size <= arena->header.next - name->off &&
	       name->function == (int32_t)name->function;
}

int halo_arena__name(struct halo_arena *arena, struct halo_arena_name *list, size_t n,
		     struct halo_err *err)
{
	size_t inside = 0;
	int ret = 0;

	for (size_t i = 0; i < n; i++)
		if (is_inside(arena, &list[i]))
			list[inside++] = list[i];
	n = inside;
	qsort(list, n, sizeof(*list), by_offset);
	for (size_t i = 0; i < n && !ret; i++) {
		ret = add_origin(arena, list[i].off, list[i].function);
		if (!ret)
			ret = add_origin(arena, list[i].off + list[i].size, 0);
	}
	if (!ret)
		ret = arena_elf__add_symbols(arena->fd, &arena->header.names, list, n);
	if (ret)
		return halo_err__set(err, ret, "cannot name code in %s: %s", arena->name,
				     strerror(-ret));
	arena->header.names.edition++;
	return write_header(arena, err);
}

bool halo_arena__is_mapped(const struct halo_arena *arena, dev_t dev, ino_t ino)
{
	return arena->dev == dev && arena->ino == ino;
}

int halo_arena__unwind(const struct halo_arena *arena, struct halo_unwind_table *out,
		       struct halo_err *err)
{
	__cleanup_free uint64_t *hdr = calloc(HALO_INDEX_MAX, sizeof(*hdr));
	size_t size = arena->header.next, n = 0;
	void *data;
	int ret;

	if (!hdr)
		return halo_err__set(err, -ENOMEM, "out of memory");
	for (uint64_t i = 0; i < arena->index->count && i < HALO_INDEX_MAX; i++)
		if (arena->index->entry[i].frames)
			hdr[n++] = arena->index->entry[i].frames;
	if (!n)
		return -ENODATA;
	data = mmap(NULL, size, PROT_READ, MAP_SHARED, arena->fd, 0);
	if (data == MAP_FAILED)
		return halo_err__set(err, -errno, "cannot map %s: %m", arena->name);
	ret = halo_unwind__compile_images(data, size, hdr, n, out, err);
	munmap(data, size);
	return ret;
}

int halo_arena__open_readonly(struct halo_arena *arena, struct halo_err *err)
{
	return halo_store__open_readonly(arena->store, arena->name, err);
}
