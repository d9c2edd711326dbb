// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "../lib/util.h"
#include "taken.h"
#include "files.h"
#include "handover.h"
#include "identity.h"
#include "module.h"
#include "process.h"
#include "program.h"
#include "tuning.h"
#include "unwinds.h"

#define LOG_TAG "enroll"
#include "../lib/log.h"

void halo_program__free(struct halo_program *p)
{
	if (!p)
		return;
	for (unsigned int i = 0; i < p->n_variants; i++)
		free(p->variants[i].funcs);
	json_object_put(p->considered);
	free(p->settled_hot);
	halo_tuning__forget_all(p);
	halo_profile__free(p->profile);
	halo_taken__free(p);
	if (p->arena)
		halo_arena__close(p->arena);
	if (p->prepared)
		halo_prepared__free(p->prepared);
	free(p->path);
	free(p);
}

static int open_path(const char *path, int *fd, char **name, struct halo_err *err)
{
	int saved;

	if (path[0] != '/')
		return halo_err__set(err, -EINVAL, "\"%s\" is not an absolute path", path);
	*fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (*fd < 0) {
		saved = errno;
		halo_err__set(err, -saved, "opening %s: %s", path, strerror(saved));
		if (saved == ENOENT)
			halo_err__remedy(err, "check the path; a running program can be named by "
					      "its pid");
		return -saved;
	}
	*name = realpath(path, NULL);
	if (!*name)
		*name = strdup(path);
	return *name ? 0 : halo_err__set(err, -ENOMEM, "out of memory");
}

static int open_pid(pid_t pid, int *fd, char **name, struct halo_err *err)
{
	char link[32], path[4096];
	ssize_t n;
	int saved;

	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	*fd = halo_identity__open_exe(pid);
	if (*fd < 0) {
		saved = errno;
		halo_err__set(err, saved == ENOENT ? -ESRCH : -saved, "looking into process %d: %s",
			      pid, saved == ENOENT ? "no such process" : strerror(saved));
		halo_err__remedy(err, "give the pid of a running program");
		return err ? err->code : -ESRCH;
	}
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		n = 0;
	path[n] = '\0';
	*name = strdup(path);
	return *name ? 0 : halo_err__set(err, -ENOMEM, "out of memory");
}

/* Since the file was seen it may have been built anew; in a container the name is another's. */
static int check_build_id_of(int fd, const char *name, const struct halo_buildid *id,
			     struct halo_err *err)
{
	struct halo_buildid found;

	if (!halo_buildid__read(fd, &found, NULL) && found.len == id->len &&
	    !memcmp(found.id, id->id, id->len))
		return 0;
	halo_err__set(err, -ESTALE, "%.300s has another build-id now", name);
	halo_err__remedy(err, "name the program by its path, or by the pid of a running one");
	return -ESTALE;
}

static int open_build_id(struct halo_daemon *d, const char *text, int *fd, char **name,
			 struct halo_err *err)
{
	struct halo_buildid id;
	pid_t pid;
	int ret;

	if (halo_buildid__parse(text, &id))
		return halo_err__set(err, -EINVAL, "\"%.64s\" is not a build-id", text);
	pid = halo_identity__pid_by_build_id(&id);
	if (pid) {
		ret = open_pid(pid, fd, name, err);
		return ret ? ret : check_build_id_of(*fd, *name, &id, err);
	}
	for (size_t i = 0; i < HALO_SEEN_MAX; i++) {
		if (d->seen[i].id.len != id.len || memcmp(d->seen[i].id.id, id.id, id.len) ||
		    d->seen[i].path[0] != '/')
			continue;
		ret = open_path(d->seen[i].path, fd, name, err);
		return ret ? ret : check_build_id_of(*fd, *name, &id, err);
	}
	*fd = halo_module__by_build_id(&id, name);
	if (*fd >= 0)
		return 0;
	halo_err__set(err, -ENOENT, "no program with build-id %s is known", text);
	halo_err__cause(err, "none runs, and none was started since the daemon was");
	halo_err__remedy(err, "name the program by its path");
	return -ENOENT;
}

static int open_target(struct halo_daemon *d, const struct halo_target *target, int *fd,
		       char **name, struct halo_err *err)
{
	if (target->path)
		return open_path(target->path, fd, name, err);
	if (target->build_id)
		return open_build_id(d, target->build_id, fd, name, err);
	return open_pid(target->pid, fd, name, err);
}

static int refuse(const char *path, int code, const char *why, const char *remedy,
		  struct halo_err *err)
{
	halo_err__set(err, code, "%s can't be enrolled: %s", path, why);
	halo_err__remedy(err, "%s", remedy);
	return code;
}

static int check_prepared(const char *path, const struct halo_prepared *prep, struct halo_err *err)
{
	if (!prep->n_units)
		return refuse(path, -ENODATA, "it holds no bitcode",
			      "build it with CC=halo-cc CXX=halo-c++", err);
	if (!prep->has_stub)
		return refuse(path, -ENODATA, "it was linked without halo-cc",
			      "link it with halo-cc too, which adds what attaching needs", err);
	if (!prep->buildid.len)
		return refuse(path, -ENODATA, "it has no build-id",
			      "link it without -Wl,--build-id=none", err);
	return 0;
}

static int read_prepared(const char *path, int fd, struct halo_prepared **out, struct halo_err *err)
{
	int ret = halo_prepared__open(fd, out, err);

	if (ret)
		return halo_err__wrap(err, ret, "%s", path);
	ret = check_prepared(path, *out, err);
	if (ret)
		halo_prepared__free(*out);
	return ret;
}

static struct halo_program *by_hash(struct halo_daemon *d, const uint8_t hash[32], bool retired)
{
	struct halo_program *p = retired ? TAILQ_FIRST(&d->retired) : TAILQ_FIRST(&d->programs);

	for (; p; p = TAILQ_NEXT(p, link))
		if (!memcmp(p->hash, hash, sizeof(p->hash)))
			return p;
	return NULL;
}

/* The same binary gets the same number again, and what was learnt of it holds on. */
static int number(struct halo_daemon *d, int fd, const uint8_t hash[32], uint32_t *exe_id,
		  struct halo_err *err)
{
	int ret;

	for (*exe_id = 1; *exe_id <= d->n_known; ++*exe_id)
		if (!memcmp(d->known[*exe_id - 1].hash, hash, 32))
			return 0;
	*exe_id = halo_files__find(d, fd);
	ret = *exe_id && !d->known[*exe_id - 1].enrolled ? 0 : halo_files__number(d, exe_id);
	if (ret == -ENOSPC) {
		halo_err__set(err, ret, "%u programs and libraries were seen already", d->n_known);
		halo_err__remedy(err, "restart the daemon");
		return ret;
	}
	if (ret)
		return halo_err__set(err, ret, "out of memory");
	memcpy(d->known[*exe_id - 1].hash, hash, 32);
	d->known[*exe_id - 1].enrolled = true;
	return 0;
}

static int check_build_id(struct halo_daemon *d, const struct halo_prepared *prep,
			  struct halo_err *err)
{
	struct halo_program *p;

	TAILQ_FOREACH(p, &d->programs, link) {
		if (p->prepared->buildid.len != prep->buildid.len ||
		    memcmp(p->prepared->buildid.id, prep->buildid.id, prep->buildid.len))
			continue;
		if (p->watched) {
			halo_err__set(err, -EBUSY, "%s is being profiled", p->path);
			halo_err__remedy(err, "wait until halo-bpf profile has ended");
			return -EBUSY;
		}
		halo_err__set(err, -EEXIST, "another program with build-id %s is enrolled",
			      p->build_id);
		halo_err__cause(err, "%.200s has the same build-id and other contents", p->path);
		halo_err__remedy(err, "unenroll that one, or link with --build-id=sha1");
		return -EEXIST;
	}
	return 0;
}

/* How many libraries that a process may still have mapped have their arena there. */
static unsigned int count_place(const struct halo_daemon *d, int64_t place)
{
	const struct halo_program *p;
	unsigned int n = 0;

	TAILQ_FOREACH(p, &d->programs, link)
		n += p->prepared->arena == place;
	TAILQ_FOREACH(p, &d->retired, link)
		n += p->prepared->arena == place;
	return n;
}

/* The one that fewest have; of those the highest, which clears most of what lies between. */
static int64_t choose_place(const struct halo_daemon *d)
{
	unsigned int fewest = ~0U, n;
	int64_t best = 0;

	for (int i = HALO_LIBRARY_PLACES - 1; i >= 0; i--) {
		n = count_place(d, HALO_LIBRARY_ARENA(i));
		if (n >= fewest)
			continue;
		fewest = n;
		best = HALO_LIBRARY_ARENA(i);
	}
	return best;
}

static int open_arena(struct halo_program *p, struct halo_err *err)
{
	int ret = halo_arena__open(p->daemon->store, p->hash, &p->arena, err);
	struct stat st;

	if (!ret && !fstat(p->prepared->fd, &st))
		halo_arena__let_read(p->arena, st.st_mode);
	if (ret || !p->prepared->is_library)
		return ret;
	p->prepared->arena = choose_place(p->daemon);
	return halo_arena__place(p->arena, &p->prepared->arena, err);
}

/* What is the enrollment's, as against the binary's. */
static int reset(struct halo_program *p, int fd, char **path, const char *fp, struct halo_err *err)
{
	struct stat st;

	if (fstat(fd, &st))
		return halo_err__set(err, -errno, "%s: %s", *path, strerror(errno));
	p->dev = st.st_dev;
	p->ino = st.st_ino;
	p->ctime = st.st_ctim;
	p->fp = fp;
	free(p->path);
	p->path = take_ptr(*path);
	halo_tuning__forget_all(p);
	p->first_variant = p->n_variants;
	p->samples = p->fresh = 0;
	p->settled = false;
	p->settled_reason[0] = '\0';
	json_object_put(p->considered);
	p->considered = NULL;
	halo_profile__free(p->profile);
	halo_taken__free(p);
	p->profile = halo_profile__new();
	return p->profile ? 0 : halo_err__set(err, -ENOMEM, "out of memory");
}

/* Tell the kernel side, and go on the list. */
static int start(struct halo_program *p, int fd, struct halo_err *err)
{
	struct halo_daemon *d = p->daemon;
	int ret;

	ret = halo_kernel__enroll(d->kernel, p->exe_id, p->prepared, p->path, err);
	if (ret)
		return ret;
	if (halo_kernel__know_inode(d->kernel, fd, p->exe_id))
		log_debug("%s: the kernel side will ask when it is executed", p->path);
	TAILQ_INSERT_TAIL(&d->programs, p, link);
	halo_files__forget(d, &p->prepared->buildid);
	halo_unwinds__add(d, p->exe_id, fd);
	halo_unwinds__arena(p);
	if (p->watched) {
		halo_program__note(p, "watched while a recording lasts");
		return 0;
	}
	halo_program__note(p, "enrolled, floating point %s", p->fp);
	snprintf(p->denied, sizeof(p->denied), "%s", d->known[p->exe_id - 1].denied);
	if (p->denied[0])
		halo_program__note(p, "it keeps its original code: %s", p->denied);
	return 0;
}

static int add(struct halo_daemon *d, int fd, char **path, struct halo_prepared **prep,
	       const uint8_t hash[32], const char *fp, bool watched, struct halo_program **out,
	       struct halo_err *err)
{
	struct halo_program *p = calloc(1, sizeof(*p));
	int ret;

	if (!p)
		return halo_err__set(err, -ENOMEM, "out of memory");
	p->daemon = d;
	p->watched = watched;
	TAILQ_INIT(&p->groups);
	TAILQ_INIT(&p->processes);
	p->prepared = take_ptr(*prep);
	memcpy(p->hash, hash, sizeof(p->hash));
	halo_buildid__format(&p->prepared->buildid, p->build_id);
	ret = check_build_id(d, p->prepared, err);
	if (!ret)
		ret = number(d, fd, hash, &p->exe_id, err);
	if (!ret)
		ret = open_arena(p, err);
	if (!ret)
		ret = reset(p, fd, path, fp, err);
	if (!ret)
		ret = start(p, fd, err);
	if (ret) {
		halo_program__free(p);
		return ret;
	}
	halo_handover__load(p);
	*out = p;
	return 0;
}

static int revive(struct halo_program *p, int fd, char **path, const char *fp, struct halo_err *err)
{
	struct halo_daemon *d = p->daemon;
	int ret;

	TAILQ_REMOVE(&d->retired, p, link);
	ret = check_build_id(d, p->prepared, err);
	if (!ret)
		ret = reset(p, fd, path, fp, err);
	if (!ret)
		ret = start(p, fd, err);
	if (ret) {
		TAILQ_INSERT_TAIL(&d->retired, p, link);
		return ret;
	}
	halo_process__revive(p);
	return 0;
}

int halo_program__enroll(struct halo_daemon *d, const struct halo_target *target, const char *fp,
			 struct halo_program **out, struct halo_err *err)
{
	struct halo_prepared *prep = NULL;
	__cleanup_free char *path = NULL;
	__cleanup_fd int fd = -1;
	uint8_t hash[32];
	int ret;

	ret = open_target(d, target, &fd, &path, err);
	if (!ret)
		ret = read_prepared(path, fd, &prep, err);
	if (ret)
		return ret;
	ret = halo_prepared__hash(prep, hash, err);
	if (ret)
		goto cleanup;
	*out = by_hash(d, hash, false);
	if (*out && strcmp((*out)->fp, fp)) {
		ret = refuse(path, -EEXIST, "it is enrolled with another floating-point policy",
			     "unenroll it first", err);
		goto cleanup;
	}
	if (!*out) {
		*out = by_hash(d, hash, true);
		ret = *out ? revive(*out, fd, &path, fp, err)
			   : add(d, fd, &path, &prep, hash, fp, false, out, err);
	}
	if (!ret)
		halo_process__scan(*out);
cleanup:
	if (prep)
		halo_prepared__free(prep);
	return ret;
}

static int read_any(const char *path, int fd, struct halo_prepared **out, struct halo_err *err)
{
	int ret = halo_prepared__open_any(fd, out, err);

	if (ret)
		return halo_err__wrap(err, ret, "%s", path);
	if ((*out)->buildid.len)
		return 0;
	halo_err__set(err, -ENODATA, "%s can't be watched: it has no build-id", path);
	halo_err__remedy(err, "link it with -Wl,--build-id");
	halo_prepared__free(*out);
	*out = NULL;
	return -ENODATA;
}

int halo_program__watch(struct halo_daemon *d, const struct halo_target *target,
			struct halo_program **out, struct halo_err *err)
{
	struct halo_prepared *prep = NULL;
	__cleanup_free char *path = NULL;
	__cleanup_fd int fd = -1;
	uint8_t hash[32];
	int ret;

	ret = open_target(d, target, &fd, &path, err);
	if (!ret)
		ret = read_any(path, fd, &prep, err);
	if (!ret)
		ret = halo_prepared__hash(prep, hash, err);
	/* Nothing that was learnt of it as an enrolled program must be taken over. */
	hash[0] ^= 0xff;
	if (!ret)
		ret = add(d, fd, &path, &prep, hash, "exact", true, out, err);
	if (!ret)
		halo_process__scan(*out);
	if (prep)
		halo_prepared__free(prep);
	return ret;
}

static bool matches(const struct halo_program *p, const struct halo_target *target)
{
	if (target->build_id)
		return !strcasecmp(p->build_id, target->build_id);
	if (target->path)
		return !strcmp(p->path, target->path);
	return halo_process__find(p, target->pid) != NULL;
}

int halo_program__find(struct halo_daemon *d, const struct halo_target *target,
		       struct halo_program **out, struct halo_err *err)
{
	__cleanup_free char *name = NULL;
	__cleanup_fd int fd = -1;
	struct halo_err ignored;

	TAILQ_FOREACH(*out, &d->programs, link)
		if (matches(*out, target))
			return 0;
	/* By another name of the same file: a link, a copy, a process that was not followed. */
	if (!open_target(d, target, &fd, &name, &ignored)) {
		*out = halo_identity__program(d, fd);
		if (*out)
			return 0;
	}
	if (target->pid)
		halo_err__set(err, -ENOENT, "process %d runs no enrolled program", target->pid);
	else
		halo_err__set(err, -ENOENT, "%.300s is not enrolled",
			      target->path ? target->path : target->build_id);
	halo_err__remedy(err, "\"halo-bpf list\" shows what is enrolled");
	return -ENOENT;
}
