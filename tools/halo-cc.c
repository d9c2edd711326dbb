// SPDX-License-Identifier: BSD-2-Clause
/*
 * A drop-in compiler driver: runs clang with the user's own arguments, plus the plugin that
 * prepares units and, when an executable or library is linked, the objects that bound its slots.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cc_args.h"
#include "cc_check.h"
#include "cc_gcc.h"
#include "util.h"

#define CLANG	   "clang-19"
#define CLANGXX	   "clang++-19"
#define GCC	   "gcc"
#define GXX	   "g++"
#define LLVM_BIN   "/usr/lib/llvm-19/bin/"
#define LIB_DIR	   "../lib/halo-bpf"
#define PLUGIN	   "halo-prepare.so"
#define THIN_O0	   "--lto-newpm-passes=thinlto<O0>,halo-thin-o0"
#define EXTRA_ARGS 24

struct parts {
	char plugin[PATH_MAX], begin[PATH_MAX], stub[PATH_MAX], end[PATH_MAX];
	char extra[PATH_MAX]; /* what executables, or libraries, have beyond these; may be "" */
	char names[PATH_MAX]; /* the archive for executables that name addresses; may be "" */
	char slots[PATH_MAX];
};

static bool verbose(void)
{
	const char *value = getenv("HALO_VERBOSE");

	return value && *value && strcmp(value, "0");
}

/* The path of @file beside this program or in its library folder. */
static int find_part(char path[PATH_MAX], const char *self_dir, const char *file,
		     struct halo_err *err)
{
	static const char *const dirs[] = {".", LIB_DIR};

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		int len = snprintf(path, PATH_MAX, "%s/%s%s%s", self_dir, i ? dirs[i] : "",
				   i ? "/" : "", file);

		if (len < PATH_MAX && !access(path, R_OK))
			return 0;
	}
	halo_err__set(err, -ENOENT, "can't find %s", file);
	halo_err__cause(err, "it is neither beside halo-cc nor in " LIB_DIR);
	halo_err__remedy(err, "build or install halo-bpf again");
	return -ENOENT;
}

static bool wants_stub(const struct cc_args *args)
{
	return args->links && !args->relocatable && !args->unstubbed;
}

static int find_parts(struct parts *parts, const struct cc_args *args, struct halo_err *err)
{
	char dir[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
	char *slash;
	int ret = 0;

	if (len < 0)
		return halo_err__set(err, -errno, "can't read /proc/self/exe");
	dir[len] = '\0';
	slash = strrchr(dir, '/');
	if (slash)
		*slash = '\0';
	if (!args->unprepared)
		ret = find_part(parts->plugin, dir, PLUGIN, err);
	if (ret || !wants_stub(args))
		return ret;
	ret = find_part(parts->begin, dir, "halo-begin.o", err);
	if (!ret)
		ret = find_part(parts->stub, dir, "halo-stub.o", err);
	if (!ret && args->shared)
		ret = find_part(parts->extra, dir, "halo-library.o", err);
	else if (!ret && !args->own_unwinding)
		ret = find_part(parts->extra, dir, "halo-unwind.o", err)
			      ?: find_part(parts->names, dir, "halo-names.ar", err);
	if (!ret)
		ret = find_part(parts->end, dir, "halo-end.o", err);
	if (!ret && args->lld)
		ret = find_part(parts->slots, dir, "halo-slots.lds", err);
	return ret;
}

static char *join(const char *option, const char *path)
{
	char *arg = NULL;

	return asprintf(&arg, "%s%s", option, path) < 0 ? NULL : arg;
}

/* Code that lld makes has no other time for its entries. The plugin's path may hold a comma. */
static bool add_link_time(const char **out, int *n, const struct cc_args *args,
			  const struct parts *parts)
{
	if (!args->links || !args->lld || args->unprepared || args->unentered)
		return true;
	out[(*n)++] = "-Xlinker";
	out[*n] = join("--load-pass-plugin=", parts->plugin);
	if (!out[(*n)++])
		return false;
	if (args->lto == CC_LTO_THIN && args->lto_o0) {
		out[(*n)++] = "-Xlinker";
		out[(*n)++] = THIN_O0;
	}
	return true;
}

/* Behind the user's arguments. -x holds for all inputs behind it, so it ends before ours. */
static void add_stub(const char **out, int *n, const struct cc_args *args,
		     const struct parts *parts)
{
	out[(*n)++] = "-x";
	out[(*n)++] = "none";
	out[(*n)++] = parts->stub;
	if (parts->extra[0])
		out[(*n)++] = parts->extra;
	if (parts->extra[0] && !args->shared)
		out[(*n)++] = "-Wl,--export-dynamic-symbol=_dl_find_object";
	out[(*n)++] = parts->end;
	if (parts->names[0])
		out[(*n)++] = parts->names;
	if (args->lld)
		out[(*n)++] = parts->slots;
	if (!args->has_build_id)
		out[(*n)++] = "-Wl,--build-id=sha1";
}

/* It takes rows of what it drops for references to it, and fails. */
static bool spoils_rows(const struct cc_args *args)
{
	return args->links && args->gold && args->gc_sections && !args->unprepared;
}

/* The plugin may go unused (assembly, objects only), which is no reason for a warning. NULL: no memory. */
static const char **build_argv(const struct cc_args *args, const struct parts *parts,
			       const char *clang, int argc, char **argv)
{
	const char **out = calloc(argc + EXTRA_ARGS, sizeof(*out));
	int n = 0;

	if (!out)
		return NULL;
	out[n++] = clang;
	if (!args->unprepared) {
		out[n++] = "--start-no-unused-arguments";
		out[n] = join("-fpass-plugin=", parts->plugin);
		if (!out[n++])
			return NULL;
		out[n++] = "--end-no-unused-arguments";
	}
	if (wants_stub(args))
		out[n++] = parts->begin;
	for (int i = 1; i < argc; i++)
		out[n++] = argv[i];
	if (!add_link_time(out, &n, args, parts))
		return NULL;
	if (wants_stub(args))
		add_stub(out, &n, args, parts);
	if (spoils_rows(args))
		out[n++] = "-Wl,--no-gc-sections";
	return out;
}

static int run_clang(const char **argv)
{
	char path[PATH_MAX];
	int err;

	execvp(argv[0], (char **)argv);
	snprintf(path, sizeof(path), LLVM_BIN "%s", strcmp(argv[0], CLANG) ? "clang++" : "clang");
	execv(path, (char **)argv);
	err = errno;
	fprintf(stderr, "halo-cc: can't run %s: %s\n", argv[0], strerror(err));
	fprintf(stderr, "  remedy: apt-get install clang-19\n");
	return 127;
}

/* Exit status of the compiler, as a shell would report it. */
static int spawn_clang(const char **argv)
{
	int status;
	pid_t pid = fork();

	if (pid < 0) {
		fprintf(stderr, "halo-cc: can't fork: %s\n", strerror(errno));
		return 1;
	}
	if (!pid)
		_exit(run_clang(argv));
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void explain(const struct cc_args *args)
{
	if (!verbose())
		return;
	if (args->unprepared)
		fprintf(stderr, "halo-cc: not prepared: %s\n", args->unprepared);
	else if (args->links && !args->relocatable && args->unstubbed)
		fprintf(stderr, "halo-cc: can't be optimized at run time: %s\n", args->unstubbed);
	else if (args->links && args->unentered)
		fprintf(stderr, "halo-cc: not redirectable: %s\n", args->unentered);
	if (args->assembly && !args->unprepared)
		fprintf(stderr, "halo-cc: not prepared: %s is assembly\n", args->assembly);
	if (spoils_rows(args))
		fprintf(stderr,
			"halo-cc: without --gc-sections: gold can't drop what has tables\n");
}

/* Exit status of a link that the linker was content with. */
static int check(const char *output)
{
	struct halo_err err = {0};
	int ret = cc_check__executable(output, &err);

	if (!ret)
		return 0;
	if (ret == -ENODATA) {
		if (verbose())
			fprintf(stderr, "halo-cc: %s: no unit of it is prepared\n", output);
		return 0;
	}
	halo_err__print(&err);
	return 1;
}

static bool is_cxx(const char *self)
{
	const char *slash = strrchr(self, '/');
	size_t len = strlen(slash ? slash + 1 : self);

	return len >= 2 && !strcmp(self + strlen(self) - 2, "++");
}

int main(int argc, char **argv)
{
	const char *clang = is_cxx(argv[0]) ? CLANGXX : CLANG;
	struct halo_err err = {0};
	struct parts parts = {0};
	struct cc_args args;
	const char **command;
	char **scanned;
	int n_scanned, status;

	scanned = cc_args__expand(argc, argv, &n_scanned);
	if (!scanned) {
		fprintf(stderr, "halo-cc: out of memory\n");
		return 1;
	}
	cc_args__scan(&args, n_scanned, scanned);
	if (!args.has_input) {
		argv[0] = (char *)clang;
		return run_clang((const char **)argv);
	}
	if (cc_gcc__is_needed(&args, clang, GCC, n_scanned, scanned)) {
		args.unprepared = "gcc compiles it: clang does not take its options";
		clang = is_cxx(argv[0]) ? GXX : GCC;
	}
	explain(&args);
	if (find_parts(&parts, &args, &err)) {
		halo_err__print(&err);
		return 1;
	}
	command = build_argv(&args, &parts, clang, argc, argv);
	if (!command) {
		fprintf(stderr, "halo-cc: out of memory\n");
		return 1;
	}
	if (!wants_stub(&args) || args.dry_run)
		return run_clang(command);
	status = spawn_clang(command);
	return status ? status : check(args.output);
}
