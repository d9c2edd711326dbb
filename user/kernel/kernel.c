// SPDX-License-Identifier: BSD-2-Clause
/* Load, pin, attach; and the reverse. */
#include <bpf/btf.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define LOG_TAG "kernel"
#include "../lib/log.h"
#include "feed.h"
#include "internal.h"

#define PIDNS	    "/proc/self/ns/pid"
#define PIDNS_INIT  0xeffffffcU /* PROC_PID_INIT_INO: the same on all kernels */
#define VMLINUX_BTF "/sys/kernel/btf/vmlinux"

/* What libbpf says when it fails, the verifier's log included; the log takes lines. */
static int print_libbpf(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char *text, *line, *save = NULL;

	if (level != LIBBPF_WARN || vasprintf(&text, fmt, ap) < 0)
		return 0;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		log_warn("%s", line);
	free(text);
	return 0;
}

/* Before 5.11 the memory of maps counted against this limit. */
static void raise_memlock(void)
{
	const struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};

	if (setrlimit(RLIMIT_MEMLOCK, &unlimited))
		log_debug("can't raise RLIMIT_MEMLOCK: %m");
}

static bool is_shared(const struct bpf_map *map)
{
	return !strncmp(bpf_map__name(map), "halo_", 5) && !bpf_map__is_internal(map);
}

static void unpin(struct halo_kernel *k)
{
	struct bpf_map *map;
	char path[128];

	bpf_object__for_each_map(map, k->skel->obj)
	{
		if (!is_shared(map))
			continue;
		snprintf(path, sizeof(path), HALO_PIN_DIR "/%s", bpf_map__name(map));
		unlink(path);
	}
	unlink(HALO_FEED_PIN);
	rmdir(HALO_PIN_DIR);
}

/* What a daemon that was killed left pinned is not used: its programs are gone. */
static int pin(struct halo_kernel *k, struct halo_err *err)
{
	struct bpf_map *map;
	char path[128];
	int ret;

	ret = halo_mounts__ensure_bpffs(err);
	if (ret)
		return ret;
	unpin(k);
	if (mkdir(HALO_PIN_DIR, 0700) && errno != EEXIST) {
		ret = -errno;
		return halo_err__set(err, ret, "Can't make " HALO_PIN_DIR ": %m");
	}
	k->pinned = true;
	bpf_object__for_each_map(map, k->skel->obj)
	{
		if (!is_shared(map))
			continue;
		snprintf(path, sizeof(path), HALO_PIN_DIR "/%s", bpf_map__name(map));
		ret = bpf_map__pin(map, path);
		if (ret)
			return halo_err__set(err, ret, "Can't pin %s: %s", path, strerror(-ret));
	}
	if (!k->feed)
		return 0;
	ret = bpf_program__pin(k->skel->progs.halo_branch_feed, HALO_FEED_PIN);
	if (ret)
		return halo_err__set(err, ret, "Can't pin " HALO_FEED_PIN ": %s", strerror(-ret));
	return 0;
}

/* The first feature that is required and missing, as the cause. */
static void explain_load(struct halo_err *err)
{
	char detail[256];

	for (size_t i = 0; i < halo_features_count; i++) {
		detail[0] = '\0';
		if (!halo_features[i].required ||
		    halo_features[i].probe(detail, sizeof(detail)) == 1)
			continue;
		halo_err__cause(err, "%s is missing (since Linux %s): %s", halo_features[i].name,
				halo_features[i].since, detail);
		halo_err__remedy(err, "see halo-bpf doctor");
		return;
	}
	halo_err__cause(err, "the kernel refused a program; the log has the verifier's reasons");
	halo_err__remedy(err, "report it with that log and the kernel's version");
}

/* As the programs want it. Elsewhere than in the initial namespace, the kernel's pids are not ours. */
static unsigned int pid_namespace(void)
{
	struct stat st;

	if (stat(PIDNS, &st) || st.st_ino == PIDNS_INIT)
		return 0;
	return st.st_ino;
}

static int check_btf(const struct halo_kernel *k, struct halo_err *err)
{
	struct btf *btf;
	int ret;

	if (!k->btf) {
		if (!access(VMLINUX_BTF, R_OK))
			return 0;
		ret = -errno;
		halo_err__set(err, ret, "Can't load the BPF programs");
		halo_err__cause(err, VMLINUX_BTF " can't be read: %s", strerror(-ret));
		halo_err__remedy(err, "as root, use a kernel with CONFIG_DEBUG_INFO_BTF, or give "
				      "its BTF: halo-bpf start --btf FILE");
		return ret;
	}
	btf = btf__parse(k->btf, NULL);
	if (btf) {
		btf__free(btf);
		return 0;
	}
	ret = -errno;
	halo_err__set(err, ret, "Can't read BTF from %s: %s", k->btf, strerror(-ret));
	halo_err__remedy(err, "make it of this kernel's vmlinux: pahole --btf_encode_detached FILE "
			      "vmlinux");
	return ret;
}

/* Some come in two forms: see cost.bpf.h. */
static int choose_programs(struct halo_kernel *k)
{
	struct bpf_program *const with[] = {
		k->skel->progs.halo_exec,
		k->skel->progs.halo_exit,
		k->skel->progs.halo_switch,
		k->skel->progs.halo_cost_switch,
	};
	struct bpf_program *const without[] = {
		k->skel->progs.halo_exec_plain, k->skel->progs.halo_exit_plain,
		k->skel->progs.halo_swch_plain, k->skel->progs.halo_flush,
		k->skel->progs.halo_arm,
	};
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(with) && !err; i++)
		err = bpf_program__set_autoload(with[i], !k->no_exchange);
	for (size_t i = 0; i < ARRAY_SIZE(without) && !err; i++)
		err = bpf_program__set_autoload(without[i], k->no_exchange);
	return err;
}

static int load(struct halo_kernel *k, struct halo_err *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = k->btf);
	int ret, cpus = libbpf_num_possible_cpus();

	ret = check_btf(k, err);
	if (ret)
		return ret;
	k->skel = halo_bpf__open_opts(&opts);
	if (!k->skel)
		return halo_err__set(err, -errno, "Can't open the BPF programs: %m");
	k->skel->rodata->halo_nr_cpus = cpus > 0 ? cpus : 1;
	k->skel->rodata->halo_pidns = pid_namespace();
	k->skel->rodata->halo_has_regs = !k->as_old && halo_features__has_regs();
	k->no_exchange = k->as_old || !halo_features__has_exchange();
	ret = choose_programs(k);
	ret = ret ?: halo_branches__prepare(k);
	ret = ret ?: halo_tables__set_size(k, k->table_buckets);
	ret = ret ?: halo_bpf__load(k->skel);
	if (ret) {
		halo_err__set(err, ret, "Can't load the BPF programs: %s", strerror(-ret));
		explain_load(err);
	}
	return ret;
}

/* The programs that keep the process table. The others are attached when they are needed. */
static int attach_process(struct halo_kernel *k, struct halo_err *err)
{
	const struct {
		struct bpf_program *prog;
		struct bpf_link **link;
	} always[] = {
		{k->skel->progs.halo_exec, &k->skel->links.halo_exec},
		{k->skel->progs.halo_exec_plain, &k->skel->links.halo_exec_plain},
		{k->skel->progs.halo_fork, &k->skel->links.halo_fork},
		{k->skel->progs.halo_signal, &k->skel->links.halo_signal},
		{k->skel->progs.halo_exit, &k->skel->links.halo_exit},
		{k->skel->progs.halo_exit_plain, &k->skel->links.halo_exit_plain},
	};
	int ret;

	for (size_t i = 0; i < ARRAY_SIZE(always); i++) {
		if (!bpf_program__autoload(always[i].prog))
			continue;
		*always[i].link = bpf_program__attach(always[i].prog);
		if (*always[i].link)
			continue;
		ret = -errno;
		return halo_err__set(err, ret, "Can't attach %s: %m",
				     bpf_program__name(always[i].prog));
	}
	return 0;
}

static int map_maps(struct halo_kernel *k, struct halo_err *err)
{
	int ret = halo_spaces__open(k) ?: halo_tables__open(k);

	return ret ? halo_err__set(err, ret, "Can't map halo_region and halo_words: %s",
				   strerror(-ret))
		   : 0;
}

int halo_kernel__open(const struct halo_kernel_opts *opts, halo_event_fn on_event, void *ctx,
		      struct halo_kernel **out, struct halo_err *err)
{
	struct halo_kernel *k = calloc(1, sizeof(*k));
	int ret;

	if (!k)
		return halo_err__set(err, -ENOMEM, "Out of memory");
	k->hotplug_fd = -1;
	k->rate_hz = halo_perf__prime(opts->rate_hz ?: HALO_DEFAULT_RATE);
	if (!opts->allow_unsafe)
		halo_denylist__blocks(k->unsafe, sizeof(k->unsafe));
	k->feed = opts->feed;
	k->as_old = opts->as_old;
	k->btf = opts->btf;
	halo_features__set_btf(k->btf);
	k->table_buckets = opts->table_buckets ?: HALO_DEFAULT_BUCKETS;
	k->on_event = on_event;
	k->event_ctx = ctx;
	libbpf_set_print(print_libbpf);
	raise_memlock();
	if (!opts->no_pin)
		halo_mounts__ensure_tracefs(NULL);

	ret = load(k, err);
	ret = ret ?: opts->no_pin ? 0 : pin(k, err);
	ret = ret ?: map_maps(k, err);
	ret = ret ?: halo_events__open(k, err);
	ret = ret ?: attach_process(k, err);
	ret = ret ?: halo_tiers__open(k, opts->root, err);
	if (ret) {
		halo_kernel__close(k);
		return ret;
	}
	*out = k;
	return 0;
}

void halo_kernel__close(struct halo_kernel *k)
{
	if (!k)
		return;
	halo_tiers__close(k);
	bpf_link__destroy(k->switch_link);
	ring_buffer__free(k->events);
	halo_spaces__close(k);
	halo_tables__close(k);
	if (k->pinned)
		unpin(k);
	halo_bpf__destroy(k->skel);
	free(k);
}

int halo_kernel__stats(struct halo_kernel *k, uint64_t stats[HALO_STAT_MAX])
{
	int cpus = libbpf_num_possible_cpus(), fd = bpf_map__fd(k->skel->maps.halo_stats), err;
	__cleanup_free uint64_t *all = NULL;
	const uint32_t zero = 0;

	if (cpus < 0)
		return cpus;
	all = calloc(cpus, sizeof(struct halo_stats));
	if (!all)
		return -ENOMEM;
	err = bpf_map_lookup_elem(fd, &zero, all);
	if (err)
		return err;
	memset(stats, 0, HALO_STAT_MAX * sizeof(*stats));
	for (int cpu = 0; cpu < cpus; cpu++)
		for (int i = 0; i < HALO_STAT_MAX; i++)
			stats[i] += all[cpu * HALO_STAT_MAX + i];
	return 0;
}
