// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a branch stack of 32 entries takes in the kernel, by the program that is fed recorded ones, and
 * what a walk through 32 frames takes, by the program that walks the stack of its caller: the best of
 * many rounds, to which other tasks and interrupts only add. Prints "KIND NS" per kind of stack.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../bpf/fixture.h"
#include "kernel/feed.h"
#include "kernel/internal.h"

#define TGID	     4100002 /* above pid_max: no process */
#define EXE_ID	     9
#define BASE	     0x400000UL
#define LIBRARY	     0x7f0000000000UL /* and further ones, each LIBRARY_SIZE behind the one before */
#define SIZE	     0x100000UL
#define LIBRARY_SIZE (16 * SIZE)
#define LIBRARIES    16
#define DEPTH	     32
#define ROUNDS	     300

enum kind {
	NOTHING,
	LOOP,
	TEXT,
	LIBRARIES_TOO
};

static struct fixture f;
static struct halo_feed stacks[HALO_MAX_FEED];

static void add_process(void)
{
	struct halo_proc proc = {
		.exe_id = EXE_ID,
		.text_start_addr = BASE,
		.text_end_addr = BASE + SIZE,
	};
	struct halo_region regions[LIBRARIES];

	for (int i = 0; i < LIBRARIES; i++)
		regions[i] = (struct halo_region){
			.start_addr = LIBRARY + i * LIBRARY_SIZE,
			.end_addr = LIBRARY + i * LIBRARY_SIZE + SIZE,
			.exe_id = EXE_ID + 1 + i,
			.kind = HALO_REGION_LIBRARY,
		};
	if (halo_kernel__set_proc(f.k, TGID, &proc) ||
	    halo_kernel__set_regions(f.k, TGID, &proc, 0, 0, regions, LIBRARIES))
		die("can't add a process");
}

/* Of 97 basic blocks, where the @n-th begins. */
static uint64_t block(enum kind kind, unsigned int n)
{
	if (kind == LOOP)
		n %= 4;
	n %= 97;
	if (kind == LIBRARIES_TOO && n % 3 == 0)
		return LIBRARY + n % LIBRARIES * LIBRARY_SIZE + n * 96;
	return BASE + n * 96;
}

static void fill(enum kind kind)
{
	for (unsigned int i = 0; i < HALO_MAX_FEED; i++) {
		struct halo_feed *stack = &stacks[i];

		*stack = (struct halo_feed){.tgid = TGID, .nr = kind == NOTHING ? 0 : DEPTH};
		for (unsigned int j = 0; j < stack->nr; j++)
			stack->branch[j] = (struct halo_branch){block(kind, i + 5 * (j + 1)) + 40,
								block(kind, i + 5 * j), j % 8 == 0};
	}
	for (uint32_t i = 0; i < HALO_MAX_FEED; i++)
		if (bpf_map_update_elem(bpf_map__fd(f.k->skel->maps.halo_feed), &i, &stacks[i],
					BPF_ANY))
			die("can't write to halo_feed: %m");
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* Per stack; other tasks and interrupts only add to a round. */
static double best(enum kind kind)
{
	int prog = bpf_program__fd(f.k->skel->progs.halo_branch_feed);
	uint64_t least = ~0ULL, began;

	fill(kind);
	for (int i = 0; i < ROUNDS; i++) {
		began = now_ns();
		if (halo_feed__run(prog, 0, HALO_MAX_FEED, HALO_FILTER_ON | HALO_FILTER_TWICE))
			die("feeding failed");
		began = now_ns() - began;
		if (began < least)
			least = began;
	}
	return (double)least / HALO_MAX_FEED;
}

/* Of this process: its own text and its libraries, with their tables. */
static void add_self(void)
{
	static struct halo_region regions[HALO_MAX_MAPPED];
	struct halo_proc proc = {.exe_id = EXE_ID + LIBRARIES + 1};
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512], prot[8], path[256];
	unsigned long start, end, off;
	struct halo_kernel *k = f.k;
	uint32_t exe_id = proc.exe_id;
	struct halo_unwind_table table;
	struct halo_err err = {0};
	struct stat st;
	size_t n = 0;
	void *data;
	int fd;

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %255s", &start, &end, prot, &off, path) !=
			    5 ||
		    prot[2] != 'x' || path[0] != '/')
			continue;
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &st))
			die("can't read %s: %m", path);
		data = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		close(fd);
		if (data == MAP_FAILED || halo_unwind__compile(data, st.st_size, &table, &err) ||
		    halo_kernel__set_table(k, exe_id, false, &table))
			die("no table of %s: %s", path, err.what);
		halo_unwind__free(&table);
		munmap(data, st.st_size);
		regions[n++] = (struct halo_region){start, end, off, exe_id++, HALO_REGION_LIBRARY};
	}
	fclose(maps);
	if (halo_kernel__set_proc(k, getpid(), &proc) ||
	    halo_kernel__set_regions(k, getpid(), &proc, 0, 0, regions, n))
		die("can't add this process");
}

static unsigned int frames, end;

static void on_context(void *ctx, const struct halo_ctx_key *key, uint64_t count)
{
	unsigned long *most = ctx;

	if (key->exe_id != EXE_ID + LIBRARIES + 1 || count < *most)
		return;
	*most = count;
	frames = key->nr;
	end = key->end;
}

/* Of a stack that is @depth calls deeper than here. */
static __attribute__((noinline)) double walk(unsigned int depth)
{
	struct halo_walk_args args = {.nr = HALO_MAX_FEED};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &args, .ctx_size_in = sizeof(args));
	int prog = bpf_program__fd(f.k->skel->progs.halo_walk_self);
	uint64_t least = ~0ULL, began;
	volatile double deeper;

	if (depth) {
		deeper = walk(depth - 1);
		return deeper;
	}
	for (int i = 0; i < ROUNDS; i++) {
		began = now_ns();
		if (bpf_prog_test_run_opts(prog, &opts) || args.done != HALO_MAX_FEED)
			continue;
		began = now_ns() - began;
		if (began < least)
			least = began;
	}
	return (double)least / HALO_MAX_FEED;
}

/* Find out how many frames there are here, and walk a stack of as many as wanted. */
static void walk_frames(unsigned int wanted)
{
	unsigned long most = 0;
	unsigned int here;
	double ns;

	walk(0);
	halo_kernel__drain(f.k, on_context, &most);
	here = frames;
	if (here > wanted)
		die("%u frames before the first call", here);
	ns = walk(wanted - here);
	most = 0;
	halo_kernel__drain(f.k, on_context, &most);
	printf("frames_%u %.0f\n", frames, ns);
	if (frames != wanted || end != HALO_END_ROOT)
		printf("# %u frames, end %u\n", frames, end);
}

int main(void)
{
	double nothing;

	fixture__open_feed(&f);
	add_process();
	nothing = best(NOTHING);
	printf("loop %.0f\n", best(LOOP) - nothing);
	printf("program %.0f\n", best(TEXT) - nothing);
	printf("libraries %.0f\n", best(LIBRARIES_TOO) - nothing);
	add_self();
	walk_frames(16);
	walk_frames(32);
	walk_frames(48);
	fixture__close(&f);
	return 0;
}
