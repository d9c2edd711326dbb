// SPDX-License-Identifier: BSD-2-Clause
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

#include "internal.h"

#define BATCH	 64	/* switches between two pauses */
#define PAUSE_NS 20000	/* so that the program, which reads what is written here, gets on */
#define SWEEP	 64	/* of so many batches one sends all functions the same way */
#define STREAM	 0x5357 /* apart from what is chosen for compiling */

/* With the lock held. */
static void set(struct torture *t, const struct torture_version *v, unsigned int target)
{
	struct torture_process *proc;

	TAILQ_FOREACH(proc, &t->processes, link)
		halo_family__set_slot(proc->family, v->func->slot, v->target[target]);
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

		pthread_mutex_lock(&t->lock);
		if (torture_random__below(&r, SWEEP))
			t->switches += switch_some(t, &r, n);
		else
			t->switches += switch_all(t, n, torture_random__below(&r, TORTURE_TARGETS));
		pthread_mutex_unlock(&t->lock);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

void torture__start_switcher(struct torture *t)
{
	sigset_t all, old;

	if (t->switching || t->stop || !t->n_versions || !t->report->processes)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	t->switching = pthread_create(&t->switcher, NULL, run, t) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (t->switching)
		torture__begin_deadline(t);
}

void torture__switch_new(struct torture *t, struct halo_family *family)
{
	if (t->stop)
		return;
	for (unsigned int i = 0; i < t->n_versions; i++) {
		const struct torture_version *v = &t->versions[i];

		halo_family__set_slot(
			family, v->func->slot,
			v->target[torture_random__below(&t->random, TORTURE_TARGETS)]);
	}
	torture__start_switcher(t);
}

void torture__stop_switcher(struct torture *t)
{
	struct torture_process *proc;

	__atomic_store_n(&t->stop, true, __ATOMIC_RELEASE);
	if (!t->switching)
		return;
	pthread_join(t->switcher, NULL);
	t->switching = false;
	TAILQ_FOREACH(proc, &t->processes, link)
		for (unsigned int j = 0; j < t->n_versions; j++)
			halo_family__reset_slot(proc->family, t->versions[j].func);
}
