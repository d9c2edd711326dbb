// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which event samples each CPU: the best that really opens there. CPUs are independent of each other:
 * one that is offline, or whose counters are taken, changes nothing for the others.
 */
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LOG_TAG "kernel"
#include "../lib/log.h"
#include "internal.h"

static const char *const tier_names[] = {
	[HALO_TIER_NONE] = "none",
	[HALO_TIER_BRANCHES] = "branches",
	[HALO_TIER_CYCLES] = "cycles",
	[HALO_TIER_CPU_CLOCK] = "cpu-clock",
};

static bool in_nmi(const struct halo_perf_event *event)
{
	return event->type != PERF_TYPE_SOFTWARE;
}

/* The kernel lowers what it allows when its interrupts take long. */
static unsigned int allowed_rate(const struct halo_kernel *k)
{
	unsigned int max = halo_perf__max_rate();

	return halo_perf__prime(k->rate_hz < max ? k->rate_hz : max);
}

static int attach(struct halo_kernel *k, const struct halo_perf_event *event, int cpu)
{
	int fd = halo_perf__open(event, halo_pmus__of(&k->pmus, cpu), cpu, allowed_rate(k)), err;
	struct halo_sampler *s = &k->samplers[cpu];

	if (fd < 0)
		return fd;
	s->link = bpf_program__attach_perf_event(k->skel->progs.halo_sample, fd);
	if (!s->link) {
		err = -errno;
		close(fd);
		return err;
	}
	s->event = event;
	if (event->tier == HALO_TIER_BRANCHES)
		halo_branches__on(k, halo_pmus__of(&k->pmus, cpu));
	return 0;
}

/* The error of the last one tried when none opens. */
static int attach_best(struct halo_kernel *k, int cpu, int errors[])
{
	const struct halo_pmu *pmu = halo_pmus__of(&k->pmus, cpu);
	int err = -ENOENT;

	for (size_t i = 0; i < halo_perf_events_count; i++) {
		const struct halo_perf_event *event = &halo_perf_events[i];

		if (!halo_perf__applies(event, pmu))
			continue;
		err = k->unsafe[0] && in_nmi(event) ? -EPERM : attach(k, event, cpu);
		if (!err || err == -ENODEV)
			return err;
		errors[i] = err;
	}
	return err;
}

static void say(struct halo_kernel *k, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(struct halo_kernel *k, const char *fmt, ...)
{
	size_t n = strlen(k->tier_reason);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(k->tier_reason + n, sizeof(k->tier_reason) - n, fmt, ap);
	va_end(ap);
}

static const char *why(const struct halo_kernel *k, size_t i, int err)
{
	if (k->unsafe[0] && in_nmi(&halo_perf_events[i]))
		return k->unsafe;
	return halo_perf__strerror(err);
}

/* "cycles with branch records, cycles: not supported…": those of one cause together. */
static void say_failures(struct halo_kernel *k, const int errors[])
{
	const char *last = NULL;

	for (size_t i = 0; i < halo_perf_events_count; i++) {
		if (!errors[i])
			continue;
		if (last && strcmp(last, why(k, i, errors[i])))
			say(k, ": %s", last);
		say(k, "%s%s",
		    !last ? (k->tier_reason[0] ? "; " : "")
			  : (strcmp(last, why(k, i, errors[i])) ? "; " : ", "),
		    halo_perf_events[i].name);
		last = why(k, i, errors[i]);
	}
	if (last)
		say(k, ": %s", last);
}

/* What samples, where that is more than the tier's name says; then why nothing better does. */
static void explain(struct halo_kernel *k, const int errors[])
{
	enum halo_tier tier = halo_kernel__tier(k);
	unsigned int n, kinds = 0;

	k->tier_reason[0] = '\0';
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < halo_perf_events_count; i++) {
			n = 0;
			for (int cpu = 0; cpu < k->n_cpus; cpu++)
				n += k->samplers[cpu].event == &halo_perf_events[i];
			kinds += !pass && n;
			if (pass && n && (kinds > 1 || tier == HALO_TIER_BRANCHES))
				say(k, "%s%s on %u CPU%s", k->tier_reason[0] ? ", " : "",
				    halo_perf_events[i].name, n, n == 1 ? "" : "s");
		}
	}
	say_failures(k, errors);
	if (allowed_rate(k) != k->rate_hz)
		say(k, "%skernel.perf_event_max_sample_rate allows %u Hz only",
		    k->tier_reason[0] ? "; " : "", allowed_rate(k));
}

void halo_tiers__drop(struct halo_kernel *k, int cpu)
{
	struct halo_sampler *s = &k->samplers[cpu];

	bpf_link__destroy(s->link);
	memset(s, 0, sizeof(*s));
}

static int update(struct halo_kernel *k)
{
	__cleanup_free int *errors = calloc(halo_perf_events_count, sizeof(*errors));
	int err = halo_cpus__online(k->online, k->n_cpus), last = 0;
	bool changed = false;

	if (!errors || err)
		return errors ? err : -ENOMEM;
	for (int cpu = 0; cpu < k->n_cpus; cpu++) {
		bool sampled = k->samplers[cpu].link;

		if (sampled == k->online[cpu])
			continue;
		changed = true;
		err = 0;
		if (sampled)
			halo_tiers__drop(k, cpu);
		else
			err = attach_best(k, cpu, errors);
		/* It may have gone offline this very moment. */
		if (err && err != -ENODEV)
			last = err;
	}
	if (changed)
		explain(k, errors);
	return last;
}

int halo_tiers__open(struct halo_kernel *k, const char *root, struct halo_err *err)
{
	unsigned int n;
	int ret;

	k->n_cpus = libbpf_num_possible_cpus();
	if (k->n_cpus < 1)
		return halo_err__set(err, k->n_cpus ?: -ENODEV, "Can't count the CPUs");
	k->samplers = calloc(k->n_cpus, sizeof(*k->samplers));
	k->online = calloc(k->n_cpus, sizeof(*k->online));
	if (!k->samplers || !k->online)
		return halo_err__set(err, -ENOMEM, "Out of memory");
	ret = halo_pmus__read(root ?: "", k->n_cpus, &k->pmus);
	if (ret)
		return halo_err__set(err, ret, "Can't read what counters the CPUs have: %s",
				     strerror(-ret));
	/* From here on, so that no CPU comes unseen in between. */
	k->hotplug_fd = halo_hotplug__open();
	ret = update(k);
	n = halo_kernel__sampled_cpus(k, NULL);
	if (n) {
		log_info("sampling by %s at %u Hz on %u CPUs", halo_kernel__tier_name(k),
			 allowed_rate(k), n);
		return 0;
	}
	ret = ret ?: -ENODEV;
	halo_err__set(err, ret, "No event to sample with");
	halo_err__cause(err, "%.*s", (int)sizeof(err->cause) - 1, k->tier_reason);
	halo_err__remedy(err,
			 "run as root on a kernel with CONFIG_PERF_EVENTS; in a container, allow "
			 "perf_event_open");
	return ret;
}

void halo_tiers__close(struct halo_kernel *k)
{
	for (int cpu = 0; k->samplers && cpu < k->n_cpus; cpu++)
		halo_tiers__drop(k, cpu);
	zclose(&k->hotplug_fd);
	halo_pmus__free(&k->pmus);
	free(k->samplers);
	free(k->online);
}

enum halo_tier halo_kernel__tier(const struct halo_kernel *k)
{
	enum halo_tier best = HALO_TIER_NONE;

	for (int cpu = 0; cpu < k->n_cpus; cpu++) {
		const struct halo_perf_event *event = k->samplers[cpu].event;

		if (event && (!best || event->tier < best))
			best = event->tier;
	}
	return best;
}

const char *halo_kernel__tier_name(const struct halo_kernel *k)
{
	return tier_names[halo_kernel__tier(k)];
}

const char *halo_kernel__tier_reason(const struct halo_kernel *k)
{
	return k->tier_reason;
}

unsigned int halo_kernel__rate(const struct halo_kernel *k)
{
	return allowed_rate(k);
}

unsigned int halo_kernel__sampled_cpus(const struct halo_kernel *k, unsigned int *online)
{
	unsigned int n = 0, on = 0;

	for (int cpu = 0; cpu < k->n_cpus; cpu++) {
		n += k->samplers[cpu].link != NULL;
		on += k->online[cpu];
	}
	if (online)
		*online = on;
	return n;
}

void halo_kernel__check_cpus(struct halo_kernel *k)
{
	unsigned int before = halo_kernel__sampled_cpus(k, NULL), now;
	int err;

	halo_hotplug__read(k);
	err = update(k);
	now = halo_kernel__sampled_cpus(k, NULL);
	if (now == before)
		return;
	log_info("sampling %u CPUs now, %u before", now, before);
	if (err)
		log_warn("a CPU can't be sampled: %s", halo_perf__strerror(err));
}
