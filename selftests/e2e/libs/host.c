// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program that opens libraries and does what it is told, one command a line, each answered by a
 * line:
 *
 *   open N PATH     opens a library as number N
 *   work N COUNT    lets it work, and says what came out
 *   busy N          works in a thread until the next command, and says no more than that it does
 *   close N
 *   fork            goes on in a child; the parent waits for it and ends as it does
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

#define WORDS	  4096
#define LIBRARIES 8

static struct library {
	void *handle;
	typeof(work) *work;
	typeof(work_total) *total;
} libraries[LIBRARIES];

static unsigned int words[WORDS];
static pthread_t thread;
static bool busy;

static void *keep_busy(void *arg)
{
	const struct library *l = arg;
	unsigned int own[WORDS] = {0};

	while (__atomic_load_n(&busy, __ATOMIC_RELAXED))
		l->work(own, WORDS);
	return NULL;
}

static void end_busy(void)
{
	if (!__atomic_exchange_n(&busy, false, __ATOMIC_RELAXED))
		return;
	pthread_join(thread, NULL);
}

static void run(const struct library *l, unsigned long count)
{
	unsigned long sum = 0;

	for (size_t i = 0; i < WORDS; i++)
		words[i] = (unsigned int)i * 2654435761u;
	for (unsigned long i = 0; i < count; i++) {
		words[i % WORDS] += i;
		sum = sum * 31 + l->work(words, WORDS);
	}
	printf("%lu %lu\n", sum, l->total());
}

static void open_library(struct library *l, const char *path)
{
	l->handle = dlopen(path, RTLD_NOW);
	if (!l->handle) {
		printf("%s\n", dlerror());
		return;
	}
	l->work = (typeof(work) *)dlsym(l->handle, "work");
	l->total = (typeof(work_total) *)dlsym(l->handle, "work_total");
	puts("opened");
}

static void go_on_in_child(void)
{
	pid_t pid = fork();
	int status = 1;

	if (pid == 0) {
		printf("%d\n", getpid());
		return;
	}
	waitpid(pid, &status, 0);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static void obey(char *line)
{
	char *command = strtok(line, " \n"), *n = strtok(NULL, " \n"), *arg = strtok(NULL, " \n");
	struct library *l = &libraries[n ? atoi(n) % LIBRARIES : 0];

	if (!strcmp(command, "open")) {
		open_library(l, arg);
	} else if (!strcmp(command, "work")) {
		run(l, strtoul(arg, NULL, 10));
	} else if (!strcmp(command, "busy")) {
		busy = true;
		pthread_create(&thread, NULL, keep_busy, l);
		puts("busy");
	} else if (!strcmp(command, "close")) {
		printf("closed %d\n", dlclose(l->handle));
	} else if (!strcmp(command, "fork")) {
		go_on_in_child();
	}
	fflush(stdout);
}

int main(void)
{
	char line[512];

	while (fgets(line, sizeof(line), stdin)) {
		end_busy();
		obey(line);
	}
	/* A thread that is still busy stays so until the process is gone. */
	return 0;
}
