/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compiled plainly. Once inner(), which calls it, is a variant's, it does what was asked for: "abort",
 * "trace" (a backtrace on standard output), "wait" for SIGTERM, or "spin" until then.
 */
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe.h"

extern const char __executable_start[], etext[];

static volatile sig_atomic_t ended;
static const char *what = "";

static void on_term(int sig)
{
	(void)sig;
	ended = 1;
}

void probe_begin(const char *to_do)
{
	what = to_do;
	signal(SIGTERM, on_term);
	printf("pid %d\n", getpid());
}

int probe_ended(void)
{
	return ended;
}

static void trace(void)
{
	void *frames[16];
	char **names;
	int i, n = backtrace(frames, 16);

	fflush(stdout);
	backtrace_symbols_fd(frames, n, STDOUT_FILENO);
	names = backtrace_symbols(frames, n);
	for (i = 0; names && i < n; i++)
		printf("%s\n", names[i]);
	free(names);
}

unsigned long probe(unsigned long h)
{
	const char *caller = __builtin_return_address(0);
	int i;

	if (caller >= __executable_start && caller < etext)
		return 1;
	if (!strcmp(what, "abort"))
		abort();
	if (!strcmp(what, "trace")) {
		trace();
		ended = 1;
	}
	if (!strcmp(what, "wait")) {
		puts("ready");
		while (!ended)
			pause();
	}
	if (!strcmp(what, "spin")) {
		static int told;

		if (!told++)
			puts("ready");
	}
	for (i = 0; i < 100; i++)
		h = h * 3 + 1;
	return h ? 1 : 2;
}
