// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "program.h"

#define LINE_INTERVAL 1.0 /* seconds between rate lines */

static volatile sig_atomic_t ended;

static void on_end(int sig)
{
	(void)sig;
	ended = 1;
}

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void usage(const char *name)
{
	fprintf(stderr, "usage: %s --rounds N | --seconds S | --endless\n", name);
	exit(2);
}

static void parse(struct program *run, int argc, char **argv)
{
	static const struct option options[] = {{"rounds", required_argument, NULL, 'r'},
						{"seconds", required_argument, NULL, 's'},
						{"endless", no_argument, NULL, 'e'},
						{NULL, 0, NULL, 0}};
	bool endless = false;
	char *end = NULL;
	int opt;

	while ((opt = getopt_long(argc, argv, "r:s:e", options, NULL)) != -1) {
		errno = 0;
		switch (opt) {
		case 'r':
			run->rounds = strtoull(optarg, &end, 10);
			break;
		case 's':
			run->seconds = strtod(optarg, &end);
			break;
		case 'e':
			endless = true;
			break;
		default:
			usage(run->name);
		}
		if (errno || (end && *end))
			usage(run->name);
	}
	if (optind != argc || (run->rounds > 0) + (run->seconds > 0) + endless != 1)
		usage(run->name);
}

void program__begin(struct program *run, int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_end, .sa_flags = SA_RESTART};
	const char *slash = strrchr(argv[0], '/');

	memset(run, 0, sizeof(*run));
	run->name = slash ? slash + 1 : argv[0];
	run->checksum = 0xcbf29ce484222325ULL;
	parse(run, argc, argv);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	run->begin = now(CLOCK_MONOTONIC);
	run->line_time = run->begin;
	run->line_cpu = now(CLOCK_PROCESS_CPUTIME_ID);
}

static void print_rate(struct program *run, double time)
{
	double cpu = now(CLOCK_PROCESS_CPUTIME_ID);
	uint64_t rounds = run->round - run->line_round;

	if (cpu > run->line_cpu)
		fprintf(stderr, "rate %.6g rounds/s-cpu total %" PRIu64 " cpu %.6f\n",
			(double)rounds / (cpu - run->line_cpu), run->round, cpu);
	run->line_time = time;
	run->line_cpu = cpu;
	run->line_round = run->round;
}

bool program__next(struct program *run)
{
	double time;

	if (run->started)
		run->round++;
	run->started = true;
	if (run->rounds)
		return run->round < run->rounds && !ended;
	time = now(CLOCK_MONOTONIC);
	if (time - run->line_time >= LINE_INTERVAL)
		print_rate(run, time);
	return !ended && (run->seconds <= 0 || time - run->begin < run->seconds);
}

void program__add(struct program *run, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	for (int shift = 0; shift < 64; shift += 8) {
		run->checksum ^= bits >> shift & 0xff;
		run->checksum *= 0x100000001b3ULL;
	}
	run->last = value;
}

int program__end(struct program *run)
{
	printf("rounds %" PRIu64 "\n", run->round);
	printf("last %a\n", run->last);
	printf("checksum %016" PRIx64 "\n", run->checksum);
	return fflush(stdout) ? 1 : 0;
}
