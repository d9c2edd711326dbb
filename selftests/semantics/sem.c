// SPDX-License-Identifier: BSD-2-Clause
/*
 * sem [CASE…]: runs the cases that are linked with it, and prints what the first round of each
 * printed, and any later round that was different. Compiled plainly, so it is never switched itself.
 *
 * SEM_ROUNDS=N	  so many rounds of each case at least
 * SEM_PROBES=FILE  go on until the code around each SEM_HERE() of the case has run both as the
 *		  program's and as a variant's, and write "TAG program variant" into this file in the end
 * SEM_MOST=N	  but no more rounds than that
 */
#include <link.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sem.h"

#define TAGS_MAX   1024
#define RANGES_MAX 512
#define OUTPUT_MAX (1 << 16) /* bytes of one round */
#define PAUSE_US   1000
#define DIFFER_MAX 3 /* rounds that are printed for being different */

struct tag {
	const char *name;
	const struct sem_case *owner;
	unsigned long count[2]; /* in the program, in a variant */
};

static struct sem_case *cases;
static const struct sem_case *current;
static struct tag *tags; /* shared with forked children; NULL: nobody wants to know */
static pid_t parent;
static struct {
	uintptr_t begin, end;
} ranges[RANGES_MAX];
static unsigned int n_ranges;
static char output[OUTPUT_MAX], first[OUTPUT_MAX];
static size_t output_len, first_len;

int sem_few = 5;

void sem_register(struct sem_case *c)
{
	struct sem_case **at = &cases;

	while (*at && strcmp((*at)->name, c->name) < 0)
		at = &(*at)->next;
	c->next = *at;
	*at = c;
}

void sem_print(const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(output + output_len, sizeof(output) - output_len, fmt, ap);
	va_end(ap);
	if (n < 0 || n >= (int)(sizeof(output) - output_len))
		abort();
	output_len += n;
}

static int add_range(struct dl_phdr_info *info, size_t size, void *ctx)
{
	int i;

	(void)size, (void)ctx;
	for (i = 0; i < info->dlpi_phnum && n_ranges < RANGES_MAX; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
			continue;
		ranges[n_ranges].begin = info->dlpi_addr + ph->p_vaddr;
		ranges[n_ranges].end = ranges[n_ranges].begin + ph->p_memsz;
		n_ranges++;
	}
	return 0;
}

int sem_is_variant(const void *addr, int anew)
{
	unsigned int i;

	if (anew) {
		n_ranges = 0;
		dl_iterate_phdr(add_range, NULL);
	}
	for (i = 0; i < n_ranges; i++)
		if ((uintptr_t)addr - ranges[i].begin < ranges[i].end - ranges[i].begin)
			return 0;
	return 1;
}

/* By name, since a variant has literals of its own. */
static struct tag *find_tag(const char *name)
{
	unsigned int i;

	for (i = 0; i < TAGS_MAX; i++) {
		const char *none = NULL, *is = __atomic_load_n(&tags[i].name, __ATOMIC_ACQUIRE);

		if (!is && __atomic_compare_exchange_n(&tags[i].name, &none, name, false,
						       __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			tags[i].owner = current;
			return &tags[i];
		}
		is = is ? is : none;
		if (is == name || !strcmp(is, name))
			return &tags[i];
	}
	abort();
}

void sem_here(const char *tag)
{
	int variant = sem_is_variant(__builtin_return_address(0), 0);

	if (tags)
		__atomic_fetch_add(&find_tag(tag)->count[variant], 1, __ATOMIC_RELAXED);
}

long sem_call(long (*fn)(void *), void *arg)
{
	long got = fn(arg);

	__asm__ volatile("" ::: "memory");
	return got;
}

/* Have all tags of the case that must be been in both? */
static bool is_complete(const struct sem_case *c)
{
	unsigned int i;

	for (i = 0; i < TAGS_MAX && tags[i].name; i++)
		if (tags[i].owner == c && tags[i].name[0] != '?' &&
		    (!tags[i].count[0] || !tags[i].count[1]))
			return false;
	return true;
}

static void write_tags(const char *path)
{
	FILE *f = fopen(path, "w");
	unsigned int i;

	if (!f)
		abort();
	for (i = 0; i < TAGS_MAX && tags[i].name; i++)
		fprintf(f, "%s %lu %lu\n", tags[i].name, tags[i].count[0], tags[i].count[1]);
	fclose(f);
}

static bool is_chosen(const struct sem_case *c, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (!strcmp(argv[i], c->name))
			return true;
	return argc < 2;
}

static long env_number(const char *name, long otherwise)
{
	const char *text = getenv(name);

	return text ? atol(text) : otherwise;
}

/* Returns whether the round printed what the first one did, which is kept in @first. */
static bool run_round(const struct sem_case *c, long round)
{
	output_len = 0;
	sem_print("%s\n", c->name);
	c->round();
	if (getpid() != parent)
		abort();
	if (!round) {
		memcpy(first, output, output_len);
		first_len = output_len;
	} else if (output_len == first_len && !memcmp(output, first, first_len)) {
		return true;
	} else {
		printf("round %ld differs\n", round);
	}
	fwrite(output, 1, output_len, stdout);
	fflush(stdout);
	return !round;
}

/* Returns whether all rounds printed the same. */
static bool run_case(const struct sem_case *c)
{
	long rounds = env_number("SEM_ROUNDS", 3), most = env_number("SEM_MOST", 1000), i;
	int differ = 0;

	current = c;
	for (i = 0; i < rounds || (tags && i < most && !is_complete(c)); i++) {
		differ += !run_round(c, i);
		if (differ == DIFFER_MAX)
			break;
		/* Rounds may be shorter than it takes to be switched. */
		if (tags && i >= rounds)
			usleep(PAUSE_US);
	}
	return !differ;
}

int main(int argc, char **argv)
{
	const char *probes = getenv("SEM_PROBES");
	const struct sem_case *c;
	bool same = true;

	parent = getpid();
	sem_is_variant(NULL, 1);
	if (probes) {
		tags = mmap(NULL, TAGS_MAX * sizeof(*tags), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (tags == MAP_FAILED)
			abort();
	}
	for (c = cases; c; c = c->next)
		if (is_chosen(c, argc, argv))
			same &= run_case(c);
	output_len = 0;
	for (c = cases; c; c = c->next)
		if (is_chosen(c, argc, argv) && c->last)
			c->last();
	fwrite(output, 1, output_len, stdout);
	if (probes)
		write_tags(probes);
	return !same;
}
