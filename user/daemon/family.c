/* SPDX-License-Identifier: BSD-2-Clause */
#define LOG_TAG "family"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../lib/log.h"
#include "../lib/util.h"
#include "inject.h"
#include "store.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

#define SLOTS_MAX (64ULL << 20)
#define DATA_SIZE (HALO_DATA_PAGES * HALO_PAGE)

struct halo_family {
	struct halo_store *store;
	char name[32]; /* of the slots file */
	dev_t dev;
	ino_t ino;
	uint64_t bias;
	int64_t arena;	/* link-time address */
	uint64_t begin; /* link-time address of the slot pages */
	uint64_t len;
	/* Whole slot pages, shared with the programs, who can't write them; a library's are twice as long. */
	uint64_t *slots;
	uint64_t file_len;
	int counters_fd;
	uint64_t *counters;	     /* programs write it: numbers for statistics, never trusted */
	uint64_t cleared[HALO_ARMS]; /* sum at the time of the last clear */
};

static bool slots_sane(const struct halo_prepared *p)
{
	uint64_t begin = p->stub.slots_begin, end = p->stub.slots_end;
	size_t i;

	if (!p->has_stub || begin % HALO_PAGE || end % HALO_PAGE || end <= begin ||
	    end - begin <= DATA_SIZE || end - begin > SLOTS_MAX)
		return false;
	for (i = 0; i < p->n_segments; i++) {
		const struct halo_segment *s = &p->segments[i];

		if ((s->flags & 2 /* PF_W */) && begin >= s->vaddr &&
		    begin - s->vaddr <= s->memsz && end - begin <= s->memsz - (begin - s->vaddr))
			return true;
	}
	return false;
}

static bool slot_valid(uint64_t begin, uint64_t len, uint64_t slot)
{
	return slot >= begin + DATA_SIZE && slot - begin <= len - sizeof(uint64_t) &&
	       slot % sizeof(uint64_t) == 0;
}

static uint64_t *slot_word(const struct halo_family *f, uint64_t slot)
{
	if (!slot_valid(f->begin, f->len, slot)) {
		log_error("no slot at %#llx", (unsigned long long)slot);
		return NULL;
	}
	return &f->slots[(slot - f->begin) / sizeof(uint64_t)];
}

/* From the tables alone: what a process's pages hold is its own word. */
static int fill_slots(struct halo_family *f, const struct halo_prepared *p, struct halo_err *err)
{
	size_t i;

	for (i = 0; i < p->n_funcs; i++) {
		const struct halo_func *func = &p->funcs[i];

		if (!func->slot)
			continue;
		if (!slot_valid(f->begin, f->len, func->slot))
			return halo_err__set(err, -EBADMSG, "%s: slot %#llx is out of bounds",
					     func->name, (unsigned long long)func->slot);
		halo_family__reset_slot(f, func);
	}
	return 0;
}

/* What a library goes back to when it is closed, by itself: see user/stub/library.c. */
static void fill_originals(struct halo_family *f)
{
	if (f->file_len > f->len)
		memcpy(f->slots + f->len / sizeof(uint64_t), f->slots, f->len);
}

static void fill_data(struct halo_family *f)
{
	uint64_t counters = f->bias + f->arena + HALO_ARENA_SIZE;
	unsigned int arm;

	for (arm = 0; arm < HALO_ARMS; arm++)
		halo_family__set_data(f, HALO_DATA_ARM0 + arm, counters + arm * HALO_ARM_SIZE);
	/* The program sees it together with its slots, and those come after the arena. */
	halo_family__set_data(f, HALO_DATA_ARENA, f->bias + f->arena);
}

static int map_slots_of(struct halo_family *f, int fd, struct halo_err *err)
{
	struct stat st;
	void *map;

	if (fstat(fd, &st))
		return halo_err__set(err, -errno, "cannot examine the slots file: %m");
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	map = mmap(NULL, f->file_len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (map == MAP_FAILED)
		return halo_err__set(err, -errno, "cannot map the slots file: %m");
	f->slots = map;
	return 0;
}

static int map_slots(struct halo_family *f, struct halo_err *err)
{
	__cleanup_fd int fd = halo_store__open_file(f->store, f->name, O_CREAT | O_EXCL, err);

	if (fd < 0)
		return fd;
	/* All of its pages, so that no later access, the program's neither, fails for want of room. */
	if (fallocate(fd, 0, 0, (off_t)f->file_len))
		return halo_err__set(err, -errno, "cannot size the slots file: %m");
	return map_slots_of(f, fd, err);
}

static int map_counters(struct halo_family *f, int fd, struct halo_err *err)
{
	void *map = mmap(NULL, HALO_COUNTERS_SIZE, PROT_READ, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		return halo_err__set(err, -errno, "cannot map the counters file: %m");
	f->counters = map;
	return 0;
}

/*
 * The counters' descriptor goes to programs writable, so it is no file of the store but a sealed
 * memfd: who holds it can't cut it short and so kill the daemon with SIGBUS.
 */
static int make_counters(struct halo_family *f, struct halo_err *err)
{
	const unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create("halo-counters", flags | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("halo-counters", flags);
	if (fd < 0)
		return halo_err__set(err, -errno, "cannot make the counters file: %m");
	f->counters_fd = fd;
	if (ftruncate(fd, HALO_COUNTERS_SIZE) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return halo_err__set(err, -errno, "cannot size the counters file: %m");
	return map_counters(f, fd, err);
}

static int new_family(struct halo_store *store, const char *name, const struct halo_prepared *p,
		      const struct halo_layout *layout, struct halo_family **out,
		      struct halo_err *err)
{
	struct halo_family *f;

	if (!slots_sane(p))
		return halo_err__set(err, -EBADMSG, "the slot pages are not in order");
	f = calloc(1, sizeof(*f));
	if (!f)
		return halo_err__set(err, -ENOMEM, "out of memory");
	f->store = store;
	f->counters_fd = -1;
	f->bias = layout->bias;
	f->arena = halo_prepared__arena(p);
	f->begin = p->stub.slots_begin;
	f->len = p->stub.slots_end - p->stub.slots_begin;
	f->file_len = p->is_library ? 2 * f->len : f->len;
	snprintf(f->name, sizeof(f->name), "%s", name);
	*out = f;
	return 0;
}

int halo_family__create(struct halo_store *store, uint32_t id, const struct halo_prepared *p,
			const struct halo_layout *layout, struct halo_family **out,
			struct halo_err *err)
{
	struct halo_family *f;
	char name[32];
	int ret;

	snprintf(name, sizeof(name), "slots-%u", id);
	ret = new_family(store, name, p, layout, &f, err);
	if (ret)
		return ret;
	/* A name left by an earlier daemon: its processes keep the file itself. */
	halo_store__unlink(store, f->name);
	ret = map_slots(f, err);
	if (ret == 0)
		ret = make_counters(f, err);
	if (ret == 0)
		ret = fill_slots(f, p, err);
	if (ret) {
		halo_family__free(f);
		return ret;
	}
	fill_originals(f);
	fill_data(f);
	*out = f;
	return 0;
}

/* The counters' file comes from the program: one that can be cut short would kill the daemon. */
static int check_counters(int fd, struct halo_err *err)
{
	const int wanted = F_SEAL_SHRINK | F_SEAL_GROW;
	struct stat st;

	if (fstat(fd, &st) || st.st_size != HALO_COUNTERS_SIZE ||
	    (fcntl(fd, F_GET_SEALS) & wanted) != wanted)
		return halo_err__set(err, -EBADMSG, "its counters are not what they were");
	return 0;
}

static int check_slots(const struct halo_family *f, int fd, struct halo_err *err)
{
	struct stat st;

	if (fstat(fd, &st) || (uint64_t)st.st_size != f->file_len)
		return halo_err__set(err, -EBADMSG, "its slots have another size");
	return 0;
}

int halo_family__adopt(struct halo_store *store, const char *name, int counters_fd,
		       const struct halo_prepared *p, const struct halo_layout *layout,
		       struct halo_family **out, struct halo_err *err)
{
	__cleanup_fd int fd = -1;
	struct halo_family *f;
	unsigned int arm;
	int ret;

	ret = check_counters(counters_fd, err);
	if (ret == 0)
		ret = new_family(store, name, p, layout, &f, err);
	if (ret)
		return ret;
	ret = fd = halo_store__open_file(store, name, 0, err);
	if (ret >= 0)
		ret = check_slots(f, fd, err);
	if (ret == 0)
		ret = map_slots_of(f, fd, err);
	if (ret == 0 && f->slots[HALO_DATA_ARENA] != f->bias + (uint64_t)f->arena)
		ret = halo_err__set(err, -EBADMSG, "its slots belong to another place");
	if (ret == 0)
		ret = map_counters(f, counters_fd, err);
	if (ret) {
		f->name[0] = '\0'; /* not ours to remove */
		halo_family__free(f);
		return ret;
	}
	for (arm = 0; arm < HALO_ARMS; arm++)
		halo_family__clear_entries(f, arm);
	*out = f;
	return 0;
}

void halo_family__free(struct halo_family *f)
{
	if (!f)
		return;
	if (f->slots)
		munmap(f->slots, f->file_len);
	if (f->counters)
		munmap(f->counters, HALO_COUNTERS_SIZE);
	zclose(&f->counters_fd);
	if (f->name[0])
		halo_store__unlink(f->store, f->name);
	free(f);
}

void halo_family__set_slot(struct halo_family *f, uint64_t slot, int64_t vaddr)
{
	uint64_t *word = slot_word(f, slot);

	if (word)
		__atomic_store_n(word, f->bias + (uint64_t)vaddr, __ATOMIC_RELEASE);
}

void halo_family__reset_slot(struct halo_family *f, const struct halo_func *func)
{
	halo_family__set_slot(f, func->slot, (int64_t)(func->addr + HALO_ENTRY_SIZE));
}

int64_t halo_family__get_slot(const struct halo_family *f, uint64_t slot)
{
	const uint64_t *word = slot_word(f, slot);

	return word ? (int64_t)(__atomic_load_n(word, __ATOMIC_RELAXED) - f->bias) : 0;
}

void halo_family__set_data(struct halo_family *f, unsigned int index, uint64_t value)
{
	if (index >= DATA_SIZE / sizeof(uint64_t)) {
		log_error("no data word %u", index);
		return;
	}
	__atomic_store_n(&f->slots[index], value, __ATOMIC_RELEASE);
}

uint64_t halo_family__bias(const struct halo_family *f)
{
	return f->bias;
}

const uint64_t *halo_family__slots(const struct halo_family *f, uint64_t *len)
{
	*len = f->len;
	return f->slots;
}

const uint64_t *halo_family__counts(const struct halo_family *f)
{
	return f->counters + HALO_COUNTS_OFFSET / sizeof(*f->counters);
}

static uint64_t sum_entries(const struct halo_family *f, unsigned int arm)
{
	const uint64_t *cell = &f->counters[arm * (HALO_ARM_SIZE / sizeof(uint64_t))];
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < HALO_ARM_CPUS; i++)
		sum += __atomic_load_n(&cell[i * (HALO_ARM_STRIDE / sizeof(uint64_t))],
				       __ATOMIC_RELAXED);
	return sum;
}

uint64_t halo_family__left(const struct halo_family *f)
{
	return __atomic_load_n(&f->counters[HALO_COUNTERS_LEFT / sizeof(uint64_t)],
			       __ATOMIC_ACQUIRE);
}

uint64_t halo_family__entries(const struct halo_family *f, unsigned int arm)
{
	return arm < HALO_ARMS ? sum_entries(f, arm) - f->cleared[arm] : 0;
}

/* Programs increment without a lock, so a store of zero could be undone; the sum is kept instead. */
void halo_family__clear_entries(struct halo_family *f, unsigned int arm)
{
	if (arm < HALO_ARMS)
		f->cleared[arm] = sum_entries(f, arm);
}

int halo_family__offer(struct halo_family *f, struct halo_arena *arena, struct halo_offer *offer,
		       int fds[HALO_MAP_COUNT], struct halo_err *err)
{
	__cleanup_fd int slots_fd = halo_store__open_readonly(f->store, f->name, err);
	__cleanup_fd int arena_fd = -1;
	int counters_fd;
	uint64_t place = f->bias + f->arena;

	if (slots_fd < 0)
		return slots_fd;
	arena_fd = halo_arena__open_readonly(arena, err);
	if (arena_fd < 0)
		return arena_fd;
	counters_fd = fcntl(f->counters_fd, F_DUPFD_CLOEXEC, 0);
	if (counters_fd < 0)
		return halo_err__set(err, -errno, "cannot duplicate the counters' descriptor: %m");
	*offer = (struct halo_offer){
		.magic = HALO_ATTACH_MAGIC,
		.version = HALO_FORMAT_VERSION,
		.map =
			{
				[HALO_MAP_SLOTS] = {f->bias + f->begin, f->len, PROT_READ,
						    MAP_SHARED},
				[HALO_MAP_ARENA] = {place, HALO_ARENA_SIZE, PROT_READ | PROT_EXEC,
						    MAP_PRIVATE | MAP_FIXED_NOREPLACE},
				[HALO_MAP_COUNTERS] = {place + HALO_ARENA_SIZE, HALO_COUNTERS_SIZE,
						       PROT_READ | PROT_WRITE,
						       MAP_SHARED | MAP_FIXED_NOREPLACE},
			},
	};
	fds[HALO_MAP_SLOTS] = take_fd(slots_fd);
	fds[HALO_MAP_ARENA] = take_fd(arena_fd);
	fds[HALO_MAP_COUNTERS] = counters_fd;
	return 0;
}

bool halo_family__is_file(const struct halo_family *f, dev_t dev, ino_t ino)
{
	return f->dev == dev && f->ino == ino;
}
