// SPDX-License-Identifier: BSD-2-Clause
#include "fixture.h"

#include <fcntl.h>
#include <gelf.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "lib/log.h"
#include "lib/util.h"

static int results, failures;

void check(bool good, const char *fmt, ...)
{
	va_list ap;

	printf("%sok %d - ", good ? "" : "not ", ++results);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
	failures += !good;
}

void skip(const char *text, const char *reason)
{
	printf("ok %d - %s # SKIP %s\n", ++results, text, reason);
}

int tap_done(void)
{
	printf("1..%d\n", results);
	return failures ? 1 : 0;
}

void die(const char *fmt, ...)
{
	va_list ap;

	printf("Bail out! ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	exit(1);
}

static void copy_file(const char *from, const char *path)
{
	__cleanup_fd int in = open(from, O_RDONLY | O_CLOEXEC);
	__cleanup_fd int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	struct stat st;

	if (in < 0 || out < 0 || fstat(in, &st) ||
	    sendfile(out, in, NULL, st.st_size) != st.st_size)
		die("can't copy %s to %s: %m", from, path);
}

static void read_segments(struct exe *exe, Elf *elf)
{
	size_t n;
	GElf_Phdr ph;

	if (elf_getphdrnum(elf, &n))
		die("%s has no segments", exe->path);
	exe->p.segments = calloc(n, sizeof(*exe->p.segments));
	for (size_t i = 0; exe->p.segments && i < n; i++) {
		if (!gelf_getphdr(elf, i, &ph) || ph.p_type != PT_LOAD)
			continue;
		exe->p.segments[exe->p.n_segments++] = (struct halo_segment){
			.vaddr = ph.p_vaddr,
			.off = ph.p_offset,
			.filesz = ph.p_filesz,
			.memsz = ph.p_memsz,
			.flags = ph.p_flags,
		};
	}
}

void exe__copy(struct exe *exe, const char *from, const char *path)
{
	Elf *elf;

	memset(exe, 0, sizeof(*exe));
	snprintf(exe->path, sizeof(exe->path), "%s", path);
	copy_file(from, path);
	exe->p.fd = open(path, O_RDONLY | O_CLOEXEC);
	elf_version(EV_CURRENT);
	elf = elf_begin(exe->p.fd, ELF_C_READ, NULL);
	if (!elf || halo_buildid__read(exe->p.fd, &exe->p.buildid, NULL))
		die("can't read %s", path);
	read_segments(exe, elf);
	elf_end(elf);
}

void exe__free(struct exe *exe)
{
	free(exe->p.segments);
	close(exe->p.fd);
	unlink(exe->path);
}

static uint64_t to_off(const struct exe *exe, uint64_t vaddr)
{
	const struct halo_segment *s;

	for (size_t i = 0; i < exe->p.n_segments; i++) {
		s = &exe->p.segments[i];
		if (vaddr >= s->vaddr && vaddr - s->vaddr < s->filesz)
			return vaddr - s->vaddr + s->off;
	}
	die("address outside of %s", exe->path);
}

uint64_t exe__function(const struct exe *exe, const char *name, uint64_t *size)
{
	Elf *elf = elf_begin(exe->p.fd, ELF_C_READ, NULL);
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Sym sym;
	Elf_Data *data;
	uint64_t off = 0;

	while ((scn = elf_nextscn(elf, scn)) && !off) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_SYMTAB)
			continue;
		data = elf_getdata(scn, NULL);
		for (int i = 0; gelf_getsym(data, i, &sym); i++) {
			if (strcmp(elf_strptr(elf, sh.sh_link, sym.st_name), name))
				continue;
			off = to_off(exe, sym.st_value);
			*size = sym.st_size;
		}
	}
	elf_end(elf);
	if (!off)
		die("no function %s in %s", name, exe->path);
	return off;
}

static void on_event(void *ctx, const struct halo_event *event)
{
	struct fixture *f = ctx;

	if (f->n_events < MAX_EVENTS)
		f->events[f->n_events++] = *event;
}

static void open_with(struct fixture *f, const struct halo_kernel_opts *opts)
{
	struct halo_err err = {0};

	memset(f, 0, sizeof(*f));
	halo_log__set_level(HALO_LOG_WARN);
	if (halo_kernel__open(opts, on_event, f, &f->k, &err)) {
		halo_err__print(&err);
		die("%s", err.what);
	}
}

void fixture__open(struct fixture *f, bool pin)
{
	const struct halo_kernel_opts opts = {
		.no_pin = !pin,
		.rate_hz = 499,
		.as_old = getenv("HALO_TEST_OLD"),
	};

	open_with(f, &opts);
}

void fixture__open_feed(struct fixture *f)
{
	const struct halo_kernel_opts opts = {.no_pin = true, .feed = true, .rate_hz = 499};

	open_with(f, &opts);
}

void fixture__close(struct fixture *f)
{
	halo_kernel__close(f->k);
}

pid_t start(const char *path, const char *arg1, const char *arg2)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork: %m");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(path, path, arg1, arg2, (char *)NULL);
		_exit(127);
	}
	return pid;
}

void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void pump(struct fixture *f, int ms)
{
	struct pollfd p = {.fd = halo_kernel__event_fd(f->k), .events = POLLIN};

	poll(&p, 1, ms);
	halo_kernel__poll(f->k);
}

const struct halo_event *fixture__wait(struct fixture *f, enum halo_event_kind kind, pid_t pid,
				       unsigned int from)
{
	time_t end = time(NULL) + WAIT_S;
	unsigned int seen = from;

	do {
		for (; seen < f->n_events; seen++)
			if (f->events[seen].kind == kind && f->events[seen].tgid == (uint32_t)pid)
				return &f->events[seen];
		pump(f, 100);
	} while (time(NULL) < end);
	return NULL;
}

unsigned int fixture__count(struct fixture *f, enum halo_event_kind kind, pid_t pid)
{
	unsigned int n = 0;

	pump(f, 0);
	for (unsigned int i = 0; i < f->n_events; i++)
		n += f->events[i].kind == kind && f->events[i].tgid == (uint32_t)pid;
	return n;
}

uint64_t fixture__stat(struct fixture *f, enum halo_stat which)
{
	uint64_t stats[HALO_STAT_MAX];

	if (halo_kernel__stats(f->k, stats))
		die("can't read the counters");
	return stats[which];
}

bool fixture__wait_samples(struct fixture *f, uint64_t n)
{
	uint64_t goal = fixture__stat(f, HALO_STAT_SAMPLES) + n;
	time_t end = time(NULL) + WAIT_S;

	while (fixture__stat(f, HALO_STAT_SAMPLES) < goal) {
		if (time(NULL) >= end)
			return false;
		usleep(10000);
	}
	return true;
}
