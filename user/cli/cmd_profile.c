// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "../export/profile.h"
#include "client.h"
#include "json.h"
#include "target.h"

#define DEFAULT_SECONDS 10

typedef int (*write_fn)(const struct profile *p, FILE *out, struct halo_err *err);

/* In the order of formats[]. */
static const char *const format_names[] = {
	"folded", "pprof", "llvm", "unsymbolized", "bolt", "perfscript", "json", "recording", NULL};
const struct cli_values cmd_profile_values[] = {{'f', format_names}, {}};

static const struct format {
	write_fn write;
	bool binary;
} formats[] = {
	{profile__write_folded, false}, {profile__write_pprof, true},
	{profile__write_llvm, false},	{profile__write_unsymbolized, false},
	{profile__write_bolt, false},	{profile__write_perfscript, false},
	{profile__write_json, false},	{NULL, false}, /* as it comes from the daemon, for --from */
};
_Static_assert(ARRAY_SIZE(formats) + 1 == ARRAY_SIZE(format_names), "a name for each");

struct options {
	const struct format *format;
	const char *out;
	const char *from; /* a recording that was made before; NULL: make one */
	struct target target;
	bool has_target;
	unsigned int seconds;
	struct halo_err err; /* of a target */
};

static int set_target(struct options *o, const char *value)
{
	o->has_target = true;
	return target__parse(value, &o->target, &o->err);
}

static int set(int key, const char *value, void *input)
{
	struct options *o = input;
	char *end;

	switch (key) {
	case 'n':
		o->seconds = strtoul(value, &end, 10);
		return *end || o->seconds < 1 || o->seconds > 86400 ? -EINVAL : 0;
	case 'f':
		for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
			if (!strcmp(format_names[i], value))
				o->format = &formats[i];
		return 0;
	case 'o':
		o->out = value;
		return 0;
	case 'r':
		o->from = value;
		return 0;
	case 'P':
		if (value[strspn(value, "0123456789")])
			return -EINVAL;
		set_target(o, value);
		return 0;
	case 'b':
		o->has_target = true;
		o->target.kind = TARGET_BUILD_ID;
		snprintf(o->target.text, sizeof(o->target.text), "%s", value);
		return 0;
	}
	return -EINVAL;
}

/* What was not as it should be; the profile itself goes elsewhere. */
static void print_summary(const struct profile *p)
{
	json_object *stats = js__get(p->header, "stats");

	fprintf(stderr, "%lu samples by %s at %ld per CPU and second\n", p->samples,
		js__str(p->header, "tier"), js__int(p->header, "rate_hz"));
	for (size_t i = HALO_STAT_KERNEL; i < HALO_STAT_MAX; i++) {
		const struct halo_figure *f = &halo_figures[i];

		if (f->of != i && js__int(stats, f->key) && js__int(stats, halo_figures[f->of].key))
			fprintf(stderr, "  %ld %s (%.3g %%), of all programs\n",
				js__int(stats, f->key), f->text,
				100.0 * js__int(stats, f->key) /
					js__int(stats, halo_figures[f->of].key));
	}
	for (int i = HALO_CHECK_FIRST + 1; i < HALO_FIGURES_MAX; i++)
		if (p->bad[i])
			fprintf(stderr, "  %lu %s\n", p->bad[i], halo_figures[i].text);
	if (js__int(p->header, "dropped"))
		fprintf(stderr, "  %ld counts dropped: the recording was full\n",
			js__int(p->header, "dropped"));
}

static int copy(int fd, FILE *out)
{
	char buf[65536];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, buf, sizeof(buf), at)) > 0) {
		fwrite(buf, 1, n, out);
		at += n;
	}
	return n < 0 ? -errno : 0;
}

static int write_profile(const struct options *o, int fd, const struct profile *p,
			 struct halo_err *err)
{
	FILE *f = o->out ? fopen(o->out, "we") : stdout;
	int ret, failed;

	if (!f)
		return halo_err__set(err, -errno, "opening %s: %s", o->out, strerror(errno));
	ret = o->format->write ? o->format->write(p, f, err) : copy(fd, f);
	failed = fflush(f) || ferror(f);
	if (f != stdout)
		failed |= fclose(f);
	if (!ret && failed)
		ret = halo_err__set(err, -EIO, "writing %s failed", o->out ?: "to standard output");
	return ret;
}

static json_object *new_args(const struct options *o)
{
	json_object *args = target__to_json(&o->target);

	json_object_object_add(args, "seconds", json_object_new_int(o->seconds));
	return args;
}

static int check(const struct options *o, struct halo_err *err)
{
	if (o->from && o->has_target) {
		halo_err__set(err, -EINVAL, "a recording has its program in it: give none");
		return -EINVAL;
	}
	if (!o->from && !o->has_target) {
		halo_err__set(err, -EINVAL, "no program given");
		halo_err__remedy(err, "give its path, --pid or --build-id");
		return -EINVAL;
	}
	if (o->format->binary && !o->out && isatty(STDOUT_FILENO)) {
		halo_err__set(err, -EINVAL, "%s is no text", format_names[o->format - formats]);
		halo_err__remedy(err, "write it to a file: -o FILE");
		return -EINVAL;
	}
	return 0;
}

static enum cli_exit get_recording(const struct options *o, int *fd, struct halo_err *err)
{
	if (!o->from) {
		fprintf(stderr, "Sampling for %u s; Ctrl-C ends it before.\n", o->seconds);
		return client__record(new_args(o), o->seconds, fd, err);
	}
	*fd = open(o->from, O_RDONLY | O_CLOEXEC);
	if (*fd >= 0)
		return CLI_OK;
	halo_err__set(err, -errno, "opening %s: %s", o->from, strerror(errno));
	return CLI_FAILED;
}

const struct argp_option cmd_profile_options[] = {
	{"pid", 'P', "PID", 0, "the program that this process runs", 0},
	{"build-id", 'b', "HEX", 0, "the program with this build-id", 0},
	{"seconds", 'n', "N", 0, "how long; 10 unless given. Ctrl-C ends it before", 0},
	{"format", 'f', "FORMAT", 0, "what to write; folded unless given", 0},
	{"from", 'r', "FILE", 0,
	 "make it of a recording (--format recording) that was written before", 0},
	{"output", 'o', "FILE", 0, "write there; else to standard output", 0},
	{},
};

enum cli_exit cmd_profile(struct cli *cli, const struct cmd *cmd, int argc, char **argv)
{
	struct options o = {.format = &formats[0], .seconds = DEFAULT_SECONDS};
	struct cli_args args = {.max = 1, .set = set, .input = &o};
	struct halo_err err = {0};
	__cleanup_fd int fd = -1;
	struct profile p;
	enum cli_exit ret;

	cli__parse(cli, cmd, argc, argv, &args);
	if (cli->json && o.format == &formats[0])
		set('f', "json", &o);
	if (args.count)
		set_target(&o, args.values[0]);
	if (o.err.code)
		return cli__fail(cli, CLI_FAILED, &o.err);
	if (check(&o, &err))
		return cli__fail(cli, CLI_USAGE, &err);
	ret = get_recording(&o, &fd, &err);
	if (ret)
		return cli__fail(cli, ret, &err);
	if (profile__read(fd, &p, &err))
		return cli__fail(cli, CLI_FAILED, &err);
	print_summary(&p);
	if (write_profile(&o, fd, &p, &err))
		ret = cli__fail(cli, CLI_FAILED, &err);
	profile__free(&p);
	return ret;
}
