// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "../lib/prepared_object.h"
#include "../lib/util.h"
#include "cli.h"
#include "inspect_show.h"

/* Of an archive all are shown; what they carry is one object or, as JSON, one array. */
struct show {
	const struct cli *cli;
	json_object *members; /* NULL: not an archive, or not as JSON */
	struct halo_err *err;
};

static int show(struct show *s, const char *name, const struct halo_prepared *p, bool linked)
{
	struct inspected file = {.name = name, .p = p, .linked = linked};
	json_object *obj;
	int ret;

	if (!s->cli->json)
		return inspect__print(&file, s->err);
	ret = inspect__to_json(&file, &obj, s->err);
	if (ret)
		return ret;
	if (s->members) {
		json_object_array_add(s->members, obj);
		return 0;
	}
	cli__print_json(s->cli, obj);
	json_object_put(obj);
	return 0;
}

static int refuse_bitcode(struct halo_err *err)
{
	halo_err__set(err, -ENOEXEC, "an object for link-time optimization");
	halo_err__cause(err, "functions, entries and tables of it are made by the link (-flto)");
	halo_err__remedy(err, "inspect the program that it is linked into");
	return -ENOEXEC;
}

static bool is_bitcode(const uint8_t *image, size_t size)
{
	static const uint8_t magic[] = {'B', 'C', 0xc0, 0xde};

	return size >= sizeof(magic) && memcmp(image, magic, sizeof(magic)) == 0;
}

static int show_object(struct show *s, const char *name, const uint8_t *image, size_t size)
{
	struct halo_prepared *p;
	int ret;

	if (is_bitcode(image, size))
		return refuse_bitcode(s->err);
	ret = halo_prepared__open_object(image, size, &p, s->err);
	if (ret)
		return ret;
	ret = show(s, name, p, false);
	halo_prepared__free(p);
	return ret;
}

/* Members that carry nothing are passed over: an archive may hold assembly. */
static int show_member(struct show *s, const char *path, Elf *member, size_t *n)
{
	Elf_Arhdr *header = elf_getarhdr(member);
	__cleanup_free char *name = NULL;
	const uint8_t *image;
	size_t size;
	int ret;

	if (!header || !header->ar_name || header->ar_name[0] == '/')
		return 0;
	image = (const uint8_t *)elf_rawfile(member, &size);
	if (!image)
		return halo_err__set(s->err, -EBADMSG, "a member of the archive can't be read");
	if (asprintf(&name, "%s(%s)", path, header->ar_name) < 0)
		return halo_err__set(s->err, -ENOMEM, "out of memory");
	ret = show_object(s, name, image, size);
	*n += !ret;
	return ret == -ENODATA ? 0 : ret;
}

static int show_archive(struct show *s, const char *path, int fd, Elf *archive)
{
	Elf_Cmd cmd = ELF_C_READ;
	Elf *member;
	size_t n = 0;
	int ret = 0;

	if (s->cli->json)
		s->members = json_object_new_array();
	while (!ret && (member = elf_begin(fd, cmd, archive))) {
		ret = show_member(s, path, member, &n);
		cmd = elf_next(member);
		elf_end(member);
	}
	if (!ret && !n) {
		ret = halo_err__set(s->err, -ENODATA, "no object of the archive carries bitcode");
		halo_err__remedy(s->err, "compile them with CC=halo-cc (CXX=halo-c++)");
	}
	if (!ret && s->members)
		cli__print_json(s->cli, s->members);
	json_object_put(s->members);
	return ret;
}

static bool is_object(Elf *elf)
{
	GElf_Ehdr eh;

	return elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &eh) && eh.e_type == ET_REL;
}

static int show_linked(struct show *s, const char *path, int fd)
{
	struct halo_prepared *p;
	int ret = halo_prepared__open(fd, &p, s->err);

	if (ret)
		return ret;
	ret = show(s, path, p, true);
	halo_prepared__free(p);
	return ret;
}

static int show_file(struct show *s, const char *path, int fd)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	const uint8_t *image = NULL;
	size_t size = 0;
	int ret;

	if (elf && (is_object(elf) || elf_kind(elf) == ELF_K_NONE))
		image = (const uint8_t *)elf_rawfile(elf, &size);
	if (elf && elf_kind(elf) == ELF_K_AR)
		ret = show_archive(s, path, fd, elf);
	else if (image && (is_object(elf) || is_bitcode(image, size)))
		ret = show_object(s, path, image, size);
	else
		ret = show_linked(s, path, fd);
	elf_end(elf);
	return ret;
}

static int inspect(const struct cli *cli, const char *path, struct halo_err *err)
{
	/* A FIFO or a terminal must not block; the reader refuses them. */
	__cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct show s = {.cli = cli, .err = err};
	struct stat st;
	int ret;

	if (fd < 0)
		return halo_err__set(err, -errno, "open %s: %s", path, strerror(errno));
	elf_version(EV_CURRENT);
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		ret = show_file(&s, path, fd);
	else
		ret = show_linked(&s, path, fd);
	return ret ? halo_err__wrap(err, ret, "%s", path) : 0;
}

enum cli_exit cmd_inspect(struct cli *cli, const struct cmd *cmd, int argc, char **argv)
{
	struct cli_args args = {.min = 1, .max = 1};
	struct halo_err err = {};

	cli__parse(cli, cmd, argc, argv, &args);
	if (inspect(cli, args.values[0], &err))
		return cli__fail(cli, CLI_FAILED, &err);
	return CLI_OK;
}
