// SPDX-License-Identifier: BSD-2-Clause
/* The process table and its events: exec, fork, exit, and files that change. */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXE_ID 9

static struct fixture f;
static struct exe exe;
static const char *busy, *dir;

static void enroll(struct exe *e, uint32_t id)
{
	struct halo_err err = {0};

	if (halo_kernel__enroll(f.k, id, &e->p, e->path, &err))
		die("%s", err.what);
}

/* The executable mapping of the main binary, as /proc tells. */
static bool read_maps(pid_t pid, const char *path, uint64_t *begin, uint64_t *end, uint64_t *off)
{
	char name[64], line[512], perms[5];
	bool found = false;
	FILE *maps;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	maps = fopen(name, "re");
	while (maps && fgets(line, sizeof(line), maps) && !found)
		found = strstr(line, path) &&
			sscanf(line, "%lx-%lx %4s %lx", begin, end, perms, off) == 4 &&
			perms[2] == 'x';
	if (maps)
		fclose(maps);
	return found;
}

static void test_exec(void)
{
	pid_t pid = start(exe.path, "spin", NULL);
	const struct halo_event *event = fixture__wait(&f, HALO_EVENT_EXEC, pid, 0);
	uint64_t begin, end, off;
	struct halo_proc proc;

	check(event && event->exe_id == EXE_ID && event->start_ns, "exec is told, with what it is");
	if (halo_kernel__get_proc(f.k, pid, &proc) || !read_maps(pid, exe.path, &begin, &end, &off))
		die("no entry for %d", pid);
	check(proc.text_start_addr >= begin && proc.text_end_addr <= end &&
		      proc.text_off - off == proc.text_start_addr - begin &&
		      proc.text_end_addr > proc.text_start_addr,
	      "the code is where /proc/PID/maps has it");
	check(proc.exe_id == EXE_ID && proc.start_ns == event->start_ns && !proc.family,
	      "the entry is of the file and the process, and of no family yet");
	stop(pid);
	event = fixture__wait(&f, HALO_EVENT_EXIT, pid, 0);
	check(event && event->code == SIGKILL && event->exe_id == EXE_ID && !event->rip_addr,
	      "death by a signal is told as wait(2) has it");
	check(halo_kernel__get_proc(f.k, pid, &proc) == -ENOENT, "and the entry is gone");
}

static void test_fork(void)
{
	pid_t pid = start(exe.path, "fork", NULL);
	const struct halo_event *child = NULL, *event;

	event = fixture__wait(&f, HALO_EVENT_EXIT, pid, 0);
	check(event && event->code == 4 << 8, "exit status is told");
	for (unsigned int i = 0; i < f.n_events && !child; i++)
		if (f.events[i].kind == HALO_EVENT_FORK && f.events[i].parent == (uint32_t)pid)
			child = &f.events[i];
	check(child && child->exe_id == EXE_ID, "fork is told");
	event = child ? fixture__wait(&f, HALO_EVENT_EXIT, child->tgid, 0) : NULL;
	check(event && event->code == 3 << 8, "and the child's exit");
	waitpid(pid, NULL, 0);
}

static void test_threads(void)
{
	const struct halo_event *event;
	unsigned int forks = 0;
	pid_t pid = start(exe.path, "thread", NULL);

	event = fixture__wait(&f, HALO_EVENT_EXIT, pid, 0);
	check(event && event->code == 5 << 8 && fixture__count(&f, HALO_EVENT_EXIT, pid) == 1,
	      "a thread's end is not the process's");
	for (unsigned int i = 0; i < f.n_events; i++)
		forks += f.events[i].kind == HALO_EVENT_FORK && f.events[i].parent == (uint32_t)pid;
	check(!forks, "nor is a thread's beginning a fork");
	waitpid(pid, NULL, 0);

	pid = start(exe.path, "leader", NULL);
	event = fixture__wait(&f, HALO_EVENT_EXIT, pid, 0);
	waitpid(pid, NULL, 0);
	check(event && event->code == 7 << 8 && fixture__count(&f, HALO_EVENT_EXIT, pid) == 1,
	      "a process whose first thread ends first is told once, at the last one's end");
}

static void test_crash(const char *mode)
{
	pid_t pid = start(exe.path, mode, NULL);
	const struct halo_event *exec = fixture__wait(&f, HALO_EVENT_EXEC, pid, 0);
	const struct halo_event *event = fixture__wait(&f, HALO_EVENT_EXIT, pid, 0);
	uint64_t size, off = exe__function(&exe, "crash", &size);

	waitpid(pid, NULL, 0);
	check(exec && event && (event->code & 0x7f) == SIGSEGV, "%s is told", mode);
	/* Loaded at whole pages, so the last three digits are the file offset's. */
	check(event && ((event->rip_addr - off) & 0xfff) < size, "with the place of the fault");
}

/* A signal that means a fault, but is sent by kill(2). */
static void test_killed(void)
{
	pid_t pid = start(exe.path, "spin", NULL);
	const struct halo_event *event;

	fixture__wait(&f, HALO_EVENT_EXEC, pid, 0);
	kill(pid, SIGSEGV);
	event = fixture__wait(&f, HALO_EVENT_EXIT, pid, 0);
	waitpid(pid, NULL, 0);
	check(event && (event->code & 0x7f) == SIGSEGV && !event->rip_addr,
	      "one that is sent SIGSEGV has no place of a fault");
}

/* An enrolled process that executes something else is no longer one. */
static void test_exec_another(void)
{
	pid_t pid = start(exe.path, "exec", "/bin/true");
	const struct halo_event *event = fixture__wait(&f, HALO_EVENT_EXIT, pid, 0);
	struct halo_proc proc;

	check(event && fixture__count(&f, HALO_EVENT_EXEC, pid) == 1,
	      "exec of another file ends it");
	waitpid(pid, NULL, 0);
	check(halo_kernel__get_proc(f.k, pid, &proc) == -ENOENT, "and its entry");

	pid = start(exe.path, "exec", exe.path);
	event = fixture__wait(&f, HALO_EVENT_EXIT, pid, 0);
	waitpid(pid, NULL, 0);
	if (event)
		fixture__wait(&f, HALO_EVENT_EXIT, pid, event - f.events + 1);
	check(fixture__count(&f, HALO_EVENT_EXEC, pid) == 2 &&
		      fixture__count(&f, HALO_EVENT_EXIT, pid) == 2,
	      "exec of the same file is an end and a beginning");
}

static void test_regions(void)
{
	struct halo_region regions[3] = {
		{.start_addr = 0x1000, .end_addr = 0x2000, .exe_id = 1, .kind = HALO_REGION_EXE},
		{.start_addr = 0x3000,
		 .end_addr = 0x4000,
		 .exe_id = 2,
		 .kind = HALO_REGION_LIBRARY},
	};
	pid_t pid = start(exe.path, "spin", NULL), same;
	struct halo_proc proc, other;
	struct halo_spaces_info info;

	fixture__wait(&f, HALO_EVENT_MAPS, pid, 0);
	if (halo_kernel__get_proc(f.k, pid, &proc))
		die("no entry for %d", pid);
	other = proc;
	other.exec_ns++;
	check(halo_kernel__set_regions(f.k, pid, &other, 1, 0, regions, 2) == -ESRCH,
	      "mappings of an image that was replaced are refused");
	other = proc;
	other.start_ns++;
	check(halo_kernel__set_regions(f.k, pid, &other, 1, 0, regions, 2) == -ESRCH &&
		      halo_kernel__set_family(f.k, pid, &other, 5) == -ESRCH,
	      "and what is meant for another process of that pid");
	check(!halo_kernel__set_regions(f.k, pid, &proc, 1, 0, regions, 2) &&
		      !halo_kernel__get_proc(f.k, pid, &other) && other.space.nr == 2,
	      "those of the process are taken");

	same = start(exe.path, "spin", NULL);
	fixture__wait(&f, HALO_EVENT_EXEC, same, 0);
	if (halo_kernel__get_proc(f.k, same, &proc))
		die("no entry for %d", same);
	check(!proc.space.nr, "a process begins without any");
	halo_kernel__set_regions(f.k, same, &proc, 1, 0, regions, 2);
	halo_kernel__get_proc(f.k, same, &proc);
	check(proc.space.first == other.space.first, "the same mappings are kept once");
	/* Sweeps come with new ones. */
	for (unsigned int i = 1; i < 20000; i++) {
		regions[0].off = i;
		if (halo_kernel__set_regions(f.k, same, &proc, 1, 0, regions, 2))
			die("set_regions failed at %u", i);
	}
	halo_kernel__spaces(f.k, &info);
	check(info.regions < 2000, "what no process has any more is used again (%u regions)",
	      info.regions);
	regions[0].off = 0;
	halo_kernel__get_proc(f.k, pid, &other);
	halo_kernel__set_regions(f.k, same, &proc, 1, 0, regions, 2);
	halo_kernel__get_proc(f.k, same, &proc);
	check(proc.space.first == other.space.first, "what one has is not");
	stop(pid);
	stop(same);
}

/* Not seen before: asked once; the answer by key counts for later ones. */
static void test_look(void)
{
	const struct halo_event *event;
	struct exe other;
	char path[256];
	pid_t pid, second, later;

	snprintf(path, sizeof(path), "%s/look", dir);
	exe__copy(&other, busy, path);
	pid = start(other.path, "spin", NULL);
	event = fixture__wait(&f, HALO_EVENT_LOOK, pid, 0);
	check(event != NULL, "a file not seen before is asked about");
	second = start(other.path, "spin", NULL);
	later = start(exe.path, "thread", NULL);
	fixture__wait(&f, HALO_EVENT_EXEC, later, 0);
	waitpid(later, NULL, 0);
	check(fixture__count(&f, HALO_EVENT_LOOK, second) == 0, "and only once");
	stop(pid);
	stop(second);

	if (event && halo_kernel__know_key(f.k, &event->inode, EXE_ID))
		die("know_key failed");
	pid = start(other.path, "spin", NULL);
	check(fixture__wait(&f, HALO_EVENT_EXEC, pid, 0), "the answer counts for the next exec");
	stop(pid);
	exe__free(&other);
}

/* Executed before it was enrolled: the inode is remembered as unknown. */
static void test_enroll_later(void)
{
	struct exe other, copy;
	char path[256];
	pid_t pid;

	snprintf(path, sizeof(path), "%s/later", dir);
	exe__copy(&other, busy, path);
	snprintf(path, sizeof(path), "%s/copy", dir);
	exe__copy(&copy, busy, path);
	pid = start(other.path, "spin", NULL);
	fixture__wait(&f, HALO_EVENT_LOOK, pid, 0);
	stop(pid);
	pid = start(copy.path, "spin", NULL);
	fixture__wait(&f, HALO_EVENT_LOOK, pid, 0);
	stop(pid);

	enroll(&other, EXE_ID + 1);
	pid = start(other.path, "spin", NULL);
	check(fixture__wait(&f, HALO_EVENT_EXEC, pid, 0),
	      "a file that was executed before it was enrolled is known from then on");
	stop(pid);
	pid = start(copy.path, "spin", NULL);
	check(fixture__wait(&f, HALO_EVENT_LOOK, pid, 0), "and copies of it are asked about again");
	stop(pid);
	exe__free(&copy);
	exe__free(&other);
}

/* Written anew in place: same inode, another program. */
static void test_rewritten(void)
{
	struct exe other;
	char path[256];
	pid_t pid;

	snprintf(path, sizeof(path), "%s/rewritten", dir);
	exe__copy(&other, busy, path);
	enroll(&other, EXE_ID + 2);
	pid = start(other.path, "thread", NULL);
	check(fixture__wait(&f, HALO_EVENT_EXEC, pid, 0), "a file is known");
	waitpid(pid, NULL, 0);
	free(other.p.segments);
	close(other.p.fd);
	exe__copy(&other, "/bin/true", path);
	pid = start(other.path, NULL, NULL);
	check(fixture__wait(&f, HALO_EVENT_LOOK, pid, 0), "until it is written anew");
	waitpid(pid, NULL, 0);
	exe__free(&other);
}

/* Does know_inode(), which asks stat(2), agree with the kernel about files on @where? */
static void test_filesystem(const char *name, const char *where)
{
	struct exe other;
	char path[300];
	pid_t pid;

	snprintf(path, sizeof(path), "%s/known", where);
	exe__copy(&other, busy, path);
	if (halo_kernel__know_inode(f.k, other.p.fd, EXE_ID))
		die("know_inode failed");
	pid = start(path, "spin", NULL);
	check(fixture__wait(&f, HALO_EVENT_EXEC, pid, 0), "files on %s are known by stat(2)", name);
	stop(pid);
	exe__free(&other);
}

static void test_tmpfs(void)
{
	char where[256];

	snprintf(where, sizeof(where), "%s/tmpfs", dir);
	mkdir(where, 0700);
	if (mount("halo-test", where, "tmpfs", 0, NULL))
		die("can't mount a tmpfs: %m");
	test_filesystem("tmpfs", where);
	umount2(where, MNT_DETACH);
}

/* On overlays stat(2) may tell another device; the kernel's own key is right there too. */
static void test_overlay(void)
{
	const char *text = "a file on an overlay is known by the kernel's key";
	const struct halo_event *event;
	char where[256], options[1024], path[300];
	struct exe other;
	pid_t pid;

	snprintf(where, sizeof(where), "%s/overlay", dir);
	mkdir(where, 0700);
	if (mount("halo-test", where, "tmpfs", 0, NULL))
		die("can't mount a tmpfs: %m");
	for (const char *const *sub = (const char *[]){"up", "low", "work", "all", NULL}; *sub;
	     sub++) {
		snprintf(path, sizeof(path), "%s/%s", where, *sub);
		mkdir(path, 0700);
	}
	snprintf(options, sizeof(options), "lowerdir=%s/low,upperdir=%s/up,workdir=%s/work", where,
		 where, where);
	if (mount("halo-test", path, "overlay", 0, options)) {
		skip(text, "no overlay filesystem here");
		umount2(where, MNT_DETACH);
		return;
	}
	snprintf(path, sizeof(path), "%s/all/busy", where);
	exe__copy(&other, busy, path);
	pid = start(path, "spin", NULL);
	event = fixture__wait(&f, HALO_EVENT_LOOK, pid, 0);
	stop(pid);
	if (event)
		halo_kernel__know_key(f.k, &event->inode, EXE_ID);
	pid = start(path, "spin", NULL);
	check(event && fixture__wait(&f, HALO_EVENT_EXEC, pid, 0), "%s", text);
	stop(pid);
	exe__free(&other);
	snprintf(path, sizeof(path), "%s/all", where);
	umount2(path, MNT_DETACH);
	umount2(where, MNT_DETACH);
}

int main(int argc, char **argv)
{
	char path[256];

	if (argc != 3)
		die("usage: process_test BUSY DIR");
	busy = argv[1];
	dir = argv[2];
	snprintf(path, sizeof(path), "%s/enrolled", dir);
	exe__copy(&exe, busy, path);
	fixture__open(&f, false);
	enroll(&exe, EXE_ID);

	test_exec();
	test_fork();
	test_threads();
	test_crash("crash");
	test_crash("thread-crash");
	test_crash("reported-crash");
	test_killed();
	test_exec_another();
	test_regions();
	test_look();
	test_enroll_later();
	test_rewritten();
	test_filesystem("the disk", dir);
	test_tmpfs();
	test_overlay();

	fixture__close(&f);
	exe__free(&exe);
	return tap_done();
}
