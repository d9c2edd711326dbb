/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_DAEMON_ATTACH_H
#define HALO_DAEMON_ATTACH_H

/*
 * Memory that the daemon shares with programs, and how a program comes to map it.
 *
 *   store    the daemon's own tmpfs (mounted exec) and a read-only clone of it, DIR.mapped
 *   arena    one file per binary: code images, read-execute in every process of it
 *   family   one slots file and one counters file for a process and its forked children
 */
#include <stdint.h>
#include <sys/types.h>

#include <halo/attach.h>

#include "../lib/err.h"
#include "../lib/prepared.h"

struct halo_store;
struct halo_arena;
struct halo_family;

/* Mount (or find) the tmpfs at @dir, an absolute path, in which only root can look around. */
int halo_store__open(const char *dir, struct halo_store **out, struct halo_err *err);
/* Unmounts when @unmount; else leaves all for a later daemon. */
void halo_store__close(struct halo_store *store, bool unmount);

/* The arena of the binary with content hash @hash; its file is made if need be. */
int halo_arena__open(struct halo_store *store, const uint8_t hash[32], struct halo_arena **out,
		     struct halo_err *err);
void halo_arena__close(struct halo_arena *arena);
/* Who may read the program (@mode of its file) may read names of what was made of it. */
void halo_arena__let_read(struct halo_arena *arena, mode_t mode);
/*
 * The place of a library's arena, for good: *place is what it shall be, and then what it is, since
 * images of an earlier daemon may be there.
 */
int halo_arena__place(struct halo_arena *arena, int64_t *place, struct halo_err *err);
/*
 * Bytes in use; the next image goes at halo_arena__next(), page-aligned. HALO_ARENA_FIRST at least:
 * the file begins with a header, by which a later daemon adopts it, the unwind index, and what names the
 * code (arena_elf.h). One open arena per binary at a time.
 */
uint64_t halo_arena__next(const struct halo_arena *arena);
/*
 * Copy @len bytes to offset @off (at or past next) and publish them to all processes. -ENOSPC: the
 * arena is full. Never overwrites what is published. @frames: where in @code an .eh_frame_hdr is,
 * through which exceptions pass the code; 0: it has none.
 */
int halo_arena__write(struct halo_arena *arena, uint64_t off, const void *code, size_t len,
		      uint64_t frames, struct halo_err *err);

/*
 * Code in the arena as debuggers, profilers and the program's own backtraces name it, once
 * halo_arena__write() has put it there. Names that there is no room for are left out. @list is put in
 * order.
 */
struct halo_arena_name {
	uint64_t off, size; /* in the arena */
	const char *name;
	int64_t function; /* from the arena's begin to the program's function; 0: it has none */
};
int halo_arena__name(struct halo_arena *arena, struct halo_arena_name *list, size_t n,
		     struct halo_err *err);

/* What the kernel says of a process: where a binary lies in it. */
struct halo_layout {
	uint64_t bias;				 /* load address - link-time address */
	uint64_t text_start, text_end, text_off; /* executable mapping of the binary */
	uint64_t start_ns; /* start time since boot, as in /proc/PID/stat, in ns (10 ms steps) */
	uid_t uid;
};
/*
 * Read /proc/PID/maps, stat and status and check them against @p, whose descriptor is of the very file
 * that the process has mapped. -ESTALE: it has not.
 */
int halo_layout__read(pid_t pid, const struct halo_prepared *p, struct halo_layout *out,
		      struct halo_err *err);
/* The same of the library that has its slots at @slots, should it be loaded more than once. */
int halo_layout__read_at(pid_t pid, const struct halo_prepared *p, uint64_t slots,
			 struct halo_layout *out, struct halo_err *err);

/* Make the files of a new family for a process that lies at @layout. @id is never reused. */
int halo_family__create(struct halo_store *store, uint32_t id, const struct halo_prepared *p,
			const struct halo_layout *layout, struct halo_family **out,
			struct halo_err *err);
/* Frees the daemon's side; processes that have the files mapped keep them. */
void halo_family__free(struct halo_family *f);

/* One aligned 8-byte store: the function whose slot is at link-time address @slot goes to @vaddr. */
void halo_family__set_slot(struct halo_family *f, uint64_t slot, int64_t vaddr);
/* Back to the function's own code. */
void halo_family__reset_slot(struct halo_family *f, const struct halo_func *func);
int64_t halo_family__get_slot(const struct halo_family *f, uint64_t slot);
/* Set word @index of the data pages to @value, an absolute run-time value. */
void halo_family__set_data(struct halo_family *f, unsigned int index, uint64_t value);
uint64_t halo_family__bias(const struct halo_family *f);
/* Whether that is its slots file, as a process that maps it shows it in /proc/PID/maps. */
bool halo_family__is_file(const struct halo_family *f, dev_t dev, ino_t ino);

/*
 * How often, by its own word, a process of the family has closed the library and let go of its
 * mappings: a hint to look again.
 */
uint64_t halo_family__left(const struct halo_family *f);

/*
 * Behind the counters of the arms: those of code that counts what it does, HALO_COUNTS_SIZE bytes.
 * The program writes there as it likes.
 */
#define HALO_COUNTS_OFFSET  (8 * HALO_ARM_SIZE)
#define HALO_COUNTS_SIZE    (HALO_COUNTERS_LEFT - HALO_COUNTS_OFFSET)
#define HALO_COUNTS_SITE    128 /* bytes for the values of one place in the code */
#define HALO_COUNTERS_FIRST 2	/* counters of the root's entries and returns come first */
const uint64_t *halo_family__counts(const struct halo_family *f);

/* Sum over CPUs of the entries counted for @arm (0 … HALO_ARMS - 1) since it was last cleared. */
uint64_t halo_family__entries(const struct halo_family *f, unsigned int arm);
void halo_family__clear_entries(struct halo_family *f, unsigned int arm);

/*
 * Counting entry: code that counts one entry for @arm on the CPU it runs on and jumps to
 * @target (link-time address). Writes at most HALO_COUNT_ENTRY_SIZE bytes for link-time address
 * @at into @buf and returns their number. The data words that it reads (counter base of the arm)
 * are word HALO_DATA_ARM0 + arm of the data pages, which halo_family__create() has filled in.
 * @rseq_offset: of struct rseq from the thread pointer, 0 if the program has none (then counts are
 * kept by stack pointer, with a lock prefix). Clobbers r11 and flags only. -ERANGE: too far apart.
 */
#define HALO_COUNT_ENTRY_SIZE 64
#define HALO_DATA_ARM0	      0 /* words 0 … HALO_ARMS - 1 of the data pages */
int halo_count_entry__emit(uint8_t *buf, int64_t at, int64_t target, uint64_t slots_begin,
			   unsigned int arm, int64_t rseq_offset);
/*
 * Frame descriptions of @size bytes of code directly before @buf that leave the stack alone, such as
 * counting entries. HALO_FRAMES_SIZE bytes, beginning with their .eh_frame_hdr.
 */
#define HALO_FRAMES_SIZE 68
void halo_frames__leaf(void *buf, uint32_t size);
/* __rseq_offset of the process's C library, 0 when it has none or can't be read. */
int64_t halo_rseq__offset(pid_t pid);

/*
 * Fill in the offer for a process, and its descriptors (owned by the caller). The program takes it
 * only while every slot still leads to its own code, so set none before it has answered.
 */
int halo_family__offer(struct halo_family *f, struct halo_arena *arena, struct halo_offer *offer,
		       int fds[HALO_MAP_COUNT], struct halo_err *err);

/*
 * Attach a running process by ptrace of one thread, from a helper process: begin, and have the outcome
 * when halo_inject__fd() is readable. The reason for a refusal (another tracer, seccomp, vfork, a
 * namespace…) is in @err; -ETIME: the helper is not done yet and left behind, which should be after
 * HALO_INJECT_MS only. @stopped_us: how long the thread was stopped.
 */
#define HALO_INJECT_MS 5000

struct halo_attempt;

int halo_inject__start(pid_t pid, const struct halo_prepared *p, const struct halo_layout *layout,
		       struct halo_family *f, struct halo_arena *arena, struct halo_attempt **out,
		       struct halo_err *err);
int halo_inject__fd(const struct halo_attempt *a);
/* Whether it is done within @ms milliseconds. */
bool halo_inject__wait(const struct halo_attempt *a, unsigned int ms);
/* The outcome; @a is gone. */
int halo_inject__finish(struct halo_attempt *a, unsigned int *stopped_us, struct halo_err *err);

/* All of it, waiting in between. */
int halo_inject__attach(pid_t pid, const struct halo_prepared *p, const struct halo_layout *layout,
			struct halo_family *f, struct halo_arena *arena, unsigned int *stopped_us,
			struct halo_err *err);

#endif
