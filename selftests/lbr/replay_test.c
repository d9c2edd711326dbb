// SPDX-License-Identifier: BSD-2-Clause
/*
 * Branch stacks that real CPUs recorded, as `perf script` prints them, through the program in the kernel
 * into its tables: what is drained is what an independent aggregation of them says, to the last count.
 *
 *   replay_test PERFSCRIPT BINARY REFERENCE START SIZE RECORDING [skylake]
 *
 * BINARY was mapped at START, from offset 0. REFERENCE has lines "F begin end count" and "B from to
 * count" with file offsets, "ext" for outside. RECORDING is written for halo-bpf profile --from.
 * skylake: with all filters; REFERENCE is that without, and what was dropped is printed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../bpf/fixture.h"
#include "lib/tally.h"
#include "lib/util.h"

#define TGID   4100001 /* above pid_max: no process */
#define EXE_ID 5
#define MAX    100000

static struct fixture f;
static struct halo_tally *edges, *ranges;
static struct halo_feed stacks[HALO_MAX_FEED];
static uint32_t pending, filter = HALO_FILTER_ON;
static uint64_t fed_stacks, fed_branches;

static void on_edge(void *ctx, const struct halo_edge_key *key, const struct halo_edge_val *val)
{
	(void)ctx;
	halo_tally__add(edges, key, val->count, val->mispredicts);
}

static void on_range(void *ctx, const struct halo_range_key *key, uint64_t count)
{
	(void)ctx;
	halo_tally__add(ranges, key, count, 0);
}

static void on_context(void *ctx, const struct halo_ctx_key *key, uint64_t count)
{
	(void)ctx;
	(void)key;
	(void)count;
}

static void drain(void)
{
	int err = halo_kernel__drain(f.k, on_context, NULL);

	if (err)
		die("drain: %s", strerror(-err));
}

static void flush(void)
{
	int err = halo_kernel__feed(f.k, stacks, pending, filter);

	if (err)
		die("feed: %s", strerror(-err));
	pending = 0;
	/* In the middle of it all, so that generations change. */
	drain();
}

/* "comm pid ip 0xfrom/0xto/P/-/-/0 …", newest first. False: a sample without a stack. */
static bool parse(char *line, struct halo_feed *stack)
{
	char *save = NULL, *word = strtok_r(line, " \t\n", &save), mispredicted;

	*stack = (struct halo_feed){.tgid = TGID};
	for (; word; word = strtok_r(NULL, " \t\n", &save)) {
		struct halo_branch *b = &stack->branch[stack->nr];

		if (sscanf(word, "0x%llx/0x%llx/%c", &b->from_addr, &b->to_addr, &mispredicted) !=
		    3)
			continue;
		b->flags = mispredicted == 'M';
		if (++stack->nr == HALO_MAX_BRANCHES)
			break;
	}
	return stack->nr;
}

static void feed_file(const char *path)
{
	__cleanup_free char *line = NULL;
	char command[512];
	size_t room = 0;
	FILE *in;

	snprintf(command, sizeof(command), "gzip -dc '%s'", path);
	in = popen(command, "r");
	if (!in)
		die("can't read %s: %m", path);
	while (getline(&line, &room, in) > 0) {
		if (strstr(line, "PERF_RECORD_") || !parse(line, &stacks[pending]))
			continue;
		fed_stacks++;
		fed_branches += stacks[pending].nr;
		if (++pending == HALO_MAX_FEED)
			flush();
	}
	pclose(in);
	flush();
	drain();
}

static uint64_t look_up(struct halo_tally *t, const void *key)
{
	uint64_t count = 0, second;
	size_t before = halo_tally__size(t);

	/* Adding nothing finds it. */
	halo_tally__add(t, key, 0, 0);
	halo_tally__at(t, halo_tally__find(t, key), &count, &second);
	if (halo_tally__size(t) != before)
		printf("# not drained\n");
	return count;
}

static bool matches_edge(const char *from, const char *to, uint64_t count)
{
	struct halo_edge_key key = {0};

	if (strcmp(from, "ext")) {
		key.from_exe = EXE_ID;
		key.from_off = strtoull(from, NULL, 16);
	}
	if (strcmp(to, "ext")) {
		key.to_exe = EXE_ID;
		key.to_off = strtoull(to, NULL, 16);
	}
	return look_up(edges, &key) == count;
}

static bool matches_range(const char *begin, const char *end, uint64_t count)
{
	const struct halo_range_key key = {
		.exe_id = EXE_ID,
		.begin_off = strtoull(begin, NULL, 16),
		.end_off = strtoull(end, NULL, 16),
	};

	return look_up(ranges, &key) == count;
}

static uint64_t sum(struct halo_tally *t)
{
	uint64_t all = 0, count, second;

	for (size_t i = 0; i < halo_tally__size(t); i++) {
		halo_tally__at(t, i, &count, &second);
		all += count;
	}
	return all;
}

static void compare(const char *path)
{
	size_t n_edges = 0, n_ranges = 0, wrong = 0;
	uint64_t count, edge_sum = 0, range_sum = 0;
	char kind, a[32], b[32];
	FILE *ref = fopen(path, "re");

	if (!ref)
		die("can't read %s: %m", path);
	while (fscanf(ref, " %c %31s %31s %" SCNu64, &kind, a, b, &count) == 4) {
		bool good = kind == 'F' ? matches_range(a, b, count) : matches_edge(a, b, count);

		if (kind == 'F') {
			n_ranges++;
			range_sum += count;
		} else {
			n_edges++;
			edge_sum += count;
		}
		if (!good)
			printf("# %c %s %s %" PRIu64 "\n", kind, a, b, count);
		wrong += !good;
	}
	fclose(ref);
	check(!wrong && n_ranges == halo_tally__size(ranges) && range_sum == sum(ranges),
	      "all of %zu ranges have the reference's count (%" PRIu64 " in all)", n_ranges,
	      range_sum);
	check(!wrong && n_edges == halo_tally__size(edges) && edge_sum == sum(edges),
	      "all of %zu edges have the reference's count (%" PRIu64 " in all)", n_edges,
	      edge_sum);
}

static uint64_t stat_of(enum halo_stat which)
{
	return fixture__stat(&f, which);
}

static void check_account(void)
{
	check(stat_of(HALO_STAT_STACKS) == fed_stacks &&
		      stat_of(HALO_STAT_BRANCHES) == fed_branches,
	      "%" PRIu64 " stacks with %" PRIu64 " branches were seen", fed_stacks, fed_branches);
	check(sum(edges) + stat_of(HALO_STAT_TWICE) + stat_of(HALO_STAT_WRONG_PATH) +
			      stat_of(HALO_STAT_ELSEWHERE) + stat_of(HALO_STAT_EDGE_FULL) +
			      stat_of(HALO_STAT_EDGE_BUSY) ==
		      fed_branches,
	      "each branch is in the table, or in the counter of a reason");
	printf("# twice %lu, elsewhere %lu, impossible ranges %lu\n", stat_of(HALO_STAT_TWICE),
	       stat_of(HALO_STAT_ELSEWHERE), stat_of(HALO_STAT_RANGE_BAD));
}

static void write_recording(const char *path, const char *binary)
{
	char id[2 * HALO_BUILD_ID_MAX + 1];
	struct halo_buildid build_id;
	FILE *out = fopen(path, "we"), *in = fopen(binary, "re");
	uint64_t count, second;

	if (!out || !in || halo_buildid__read(fileno(in), &build_id, NULL))
		build_id.len = 0;
	halo_buildid__format(&build_id, id);
	fprintf(out,
		"{\"recording\":1,\"exe_id\":%d,\"path\":\"%s\",\"tier\":\"branches\"}\n"
		"{\"object\":%d,\"path\":\"%s\",\"build_id\":\"%s\"}\n",
		EXE_ID, binary, EXE_ID, binary, id);
	for (size_t i = 0; i < halo_tally__size(edges); i++) {
		const struct halo_edge_key *k = halo_tally__at(edges, i, &count, &second);

		fprintf(out,
			"{\"count\":%" PRIu64 ",\"mispredicts\":%" PRIu64
			",\"edge\":[%u,%llu,%u,%llu]}\n",
			count, second, k->from_exe, k->from_off, k->to_exe, k->to_off);
	}
	for (size_t i = 0; i < halo_tally__size(ranges); i++) {
		const struct halo_range_key *k = halo_tally__at(ranges, i, &count, &second);

		fprintf(out, "{\"count\":%" PRIu64 ",\"range\":[%u,%llu,%llu]}\n", count, k->exe_id,
			k->begin_off, k->end_off);
	}
	fclose(in);
	fclose(out);
}

int main(int argc, char **argv)
{
	struct halo_proc proc = {.exe_id = EXE_ID};

	if (argc < 7)
		die("usage: replay_test PERFSCRIPT BINARY REFERENCE START SIZE RECORDING "
		    "[skylake]");
	if (argc > 7)
		filter |= HALO_FILTER_TWICE | HALO_FILTER_SKYLAKE | HALO_FILTER_WRONG_PATH;
	proc.text_start_addr = strtoull(argv[4], NULL, 16);
	proc.text_end_addr = proc.text_start_addr + strtoull(argv[5], NULL, 16);
	edges = halo_tally__new(sizeof(struct halo_edge_key), MAX);
	ranges = halo_tally__new(sizeof(struct halo_range_key), MAX);
	fixture__open_feed(&f);
	halo_kernel__on_branches(f.k, on_edge, on_range, NULL);
	if (halo_kernel__set_proc(f.k, TGID, &proc))
		die("can't add a process");
	feed_file(argv[1]);
	check_account();
	write_recording(argv[6], argv[2]);
	if (argc == 7)
		compare(argv[3]);
	fixture__close(&f);
	return tap_done();
}
