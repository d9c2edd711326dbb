/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../lib/util.h"
#include "store.h"

#define ARENA_MAGIC   0x414e4552414f4c48ULL
#define ARENA_VERSION 2ULL

/*
 * First page of the file. It is written after what it tells of, so whatever a daemon had not yet
 * published when it died lies past @next, and no slot points there.
 */
struct arena_header {
	uint64_t magic;
	uint64_t version;
	uint64_t next; /* bytes in use, page-aligned */
	uint8_t hash[32];
	int64_t place; /* link-time address; 0: not chosen yet, or given by the kind of binary */
};

struct halo_arena {
	struct halo_store *store;
	int fd;
	dev_t dev;
	ino_t ino;
	char name[6 + 2 * 32 + 1];
	struct arena_header header;
	struct halo_index *index; /* of the file, which programs map too but can't write */
};

static void format_name(struct halo_arena *arena, const uint8_t hash[32])
{
	int len = sprintf(arena->name, "arena-");
	int i;

	for (i = 0; i < 32; i++)
		len += sprintf(arena->name + len, "%02x", hash[i]);
}

static int write_all(int fd, const void *buf, size_t len, uint64_t off)
{
	const char *p = buf;

	while (len) {
		ssize_t n = pwrite(fd, p, len, off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		p += n;
		off += n;
		len -= n;
	}
	return 0;
}

static int write_header(struct halo_arena *arena, struct halo_err *err)
{
	int ret = write_all(arena->fd, &arena->header, sizeof(arena->header), 0);

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
	return write_header(arena, err);
}

static bool header_valid(const struct arena_header *h, const uint8_t hash[32])
{
	return h->magic == ARENA_MAGIC && h->version == ARENA_VERSION &&
	       h->next >= HALO_ARENA_FIRST && h->next <= HALO_ARENA_SIZE &&
	       h->next % HALO_PAGE == 0 && memcmp(h->hash, hash, 32) == 0;
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
	    pread(arena->fd, &arena->header, sizeof(arena->header), 0) != sizeof(arena->header))
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
	void *map = mmap(NULL, HALO_INDEX_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, arena->fd,
			 HALO_INDEX_OFFSET);

	if (map == MAP_FAILED)
		return halo_err__set(err, -errno, "cannot map the index of %s: %m", arena->name);
	arena->index = map;
	if (!index_valid(arena->index, arena->header.next))
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
		munmap(arena->index, HALO_INDEX_SIZE);
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

uint64_t halo_arena__next(const struct halo_arena *arena)
{
	return arena->header.next;
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
	ret = write_all(arena->fd, code, len, off);
	if (ret)
		return halo_err__set(err, ret, "cannot write %s: %s", arena->name, strerror(-ret));
	arena->header.next = ALIGN_UP(off + len, HALO_PAGE);
	ret = write_header(arena, err);
	if (ret)
		return ret;
	index->entry[i].begin = (uint32_t)off;
	index->entry[i].frames = frames ? (uint32_t)(off + frames) : 0;
	__atomic_store_n(&index->count, i + 1, __ATOMIC_RELEASE);
	return 0;
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
