// SPDX-License-Identifier: BSD-2-Clause
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

#include "internal.h"

#define BATCH	 64	/* switches between two pauses */
#define PAUSE_NS 20000	/* so that the program, which reads what is written here, gets on */
#define SWEEP	 64	/* of so many batches one sends all functions the same way */
#define RECENT	 8	/* processes that are switched; earlier ones have mostly ended */
#define STREAM	 0x5357 /* apart from what is chosen for compiling */

static void set(struct torture *t, const struct torture_version *v, unsigned int target)
{
	unsigned int n = __atomic_load_n(&t->n_processes, __ATOMIC_ACQUIRE);

	for (unsigned int i = n > RECENT ? n - RECENT : 0; i < n; i++)
		halo_family__set_slot(t->processes[i].family, v->func->slot, v->target[target]);
}

static unsigned int switch_all(struct torture *t, unsigned int n, unsigned int target)
{
	for (unsigned int i = 0; i < n; i++)
		set(t, &t->versions[i], target);
	return n;
}

static unsigned int switch_some(struct torture *t, struct torture_random *r, unsigned int n)
{
	for (unsigned int i = 0; i < BATCH; i++) {
		const struct torture_version *v = &t->versions[torture_random__below(r, n)];

		set(t, v, torture_random__below(r, TORTURE_TARGETS));
	}
	return BATCH;
}

static void *run(void *arg)
{
	const struct timespec pause = {0, PAUSE_NS};
	struct torture *t = arg;
	struct torture_random r = {t->opts->seed ^ STREAM};

	prctl(PR_SET_TIMERSLACK, 1);
	while (!__atomic_load_n(&t->stop, __ATOMIC_ACQUIRE)) {
		unsigned int n = __atomic_load_n(&t->n_versions, __ATOMIC_ACQUIRE);

		if (torture_random__below(&r, SWEEP))
			t->switches += switch_some(t, &r, n);
		else
			t->switches += switch_all(t, n, torture_random__below(&r, TORTURE_TARGETS));
		nanosleep(&pause, NULL);
	}
	return NULL;
}

int torture__start_switcher(struct torture *t)
{
	sigset_t all, old;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&t->switcher, NULL, run, t);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	t->switching = ret == 0;
	return -ret;
}

void torture__stop_switcher(struct torture *t)
{
	if (!t->switching)
		return;
	__atomic_store_n(&t->stop, true, __ATOMIC_RELEASE);
	pthread_join(t->switcher, NULL);
	t->switching = false;
	for (unsigned int i = 0; i < t->n_processes; i++)
		for (unsigned int j = 0; j < t->n_versions; j++)
			halo_family__reset_slot(t->processes[i].family, t->versions[j].func);
}
