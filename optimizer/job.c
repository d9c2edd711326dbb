// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <sha2.h>
#include <stdio.h>
#include <string.h>

#include "../user/lib/log.h"
#include "../user/lib/util.h"
#include "answer.h"
#include "choose.h"
#include "compile.h"
#include "files.h"
#include "job.h"
#include "landing.h"
#include "link.h"

#define LOG_TAG "opt"

struct job {
	const struct request *req;
	int dir;
	struct halo_prepared *p;
	struct units units;
	struct profile profile;
	struct choice choice;
	struct image image;
	struct branches branches;
	struct pgo_map map;		 /* of a job that counts */
	struct request_profile inferred; /* of one that has branches */
	uint8_t hash[SHA256_DIGEST_LENGTH];
	struct answer_times times;
	struct halo_err err;
};

static int read_program(struct job *job, int exe)
{
	double start = compile__now();
	int ret;

	ret = halo_prepared__open(exe, &job->p, &job->err);
	if (!ret)
		ret = units__init(&job->units, job->p, &job->err);
	if (!ret && job->req->has_branches) {
		ret = branches__read(job->p, job->req, &job->branches, &job->err);
		job->units.branches = &job->branches;
	}
	if (!ret)
		ret = profile__build(job->p, job->req, &job->profile, &job->err);
	job->times.read = compile__now() - start;
	return ret;
}

static int choose(struct job *job)
{
	double start = compile__now();
	int ret;

	ret = choose__section(&job->units, &job->profile, job->req, &job->choice, &job->err);
	job->times.section = compile__now() - start;
	return ret;
}

static int save_object(struct job *job, LLVMMemoryBufferRef object, struct relocs *relocs)
{
	size_t size = LLVMGetBufferSize(object);
	__cleanup_free void *data = malloc(size);
	SHA2_CTX ctx;
	int ret;

	if (!data)
		return halo_err__set(&job->err, -ENOMEM, "out of memory");
	memcpy(data, LLVMGetBufferStart(object), size);
	ret = landing__fix_object(data, size, &job->err);
	if (ret)
		return ret;
	ret = files__write(job->dir, "object.o", data, size, &job->err);
	if (ret)
		return ret;
	SHA256Init(&ctx);
	SHA256Update(&ctx, data, size);
	SHA256Final(job->hash, &ctx);
	return relocs__scan(data, size, relocs, &job->err);
}

static int link_object(struct job *job, const struct bound *bound, const struct relocs *relocs)
{
	double start = compile__now();
	char root[4096];
	struct link_job link = {
		.p = job->p,
		.symbols = &bound->symbols,
		.relocs = relocs,
		.root = root,
		.place = job->req->place,
		.room = job->req->room,
		.dir = job->dir,
	};
	int ret;

	bind__member_name(&job->choice.section.members[0], root, sizeof(root));
	ret = link__image(&link, &job->image, &job->err);
	job->times.link += compile__now() - start;
	return ret;
}

/* -EXDEV: try again with more caution. */
static int compile_with(struct job *job, enum compile_caution caution)
{
	struct compile_times times = {0};
	LLVMMemoryBufferRef object = NULL;
	struct relocs relocs = {0};
	struct bound bound = {0};
	int ret;

	ret = bind__section(&job->units, &job->choice.section, &bound, &job->err);
	if (!ret)
		ret = compile__module(&job->units, &job->choice.section, &bound, job->req, caution,
				      &job->map, &job->inferred, &object, &times, &job->err);
	job->times.optimize += times.optimize;
	job->times.emit += times.emit;
	if (!ret)
		ret = save_object(job, object, &relocs);
	if (!ret)
		ret = link_object(job, &bound, &relocs);
	relocs__free(&relocs);
	if (object)
		LLVMDisposeMemoryBuffer(object);
	bound__free(&bound);
	if (ret) {
		pgo__free_map(&job->map);
		pgo__free_inferred(&job->inferred);
	}
	return ret;
}

static int compile(struct job *job)
{
	int caution = CAUTION_NONE, ret;

	do {
		memset(&job->err, 0, sizeof(job->err));
		ret = compile_with(job, (enum compile_caution)caution);
		if (ret == -EXDEV)
			log_info("%s", job->err.what);
	} while (ret == -EXDEV && ++caution < CAUTION_COUNT);
	return ret;
}

/* What this program's code is like, rather than something that went wrong. */
static bool is_refusal(int code)
{
	switch (code) {
	case -ENOTSUP:
	case -EXDEV:
	case -ENOENT:
	case -ENOSPC:
		return true;
	default:
		return false;
	}
}

static json_object *refuse(struct job *job)
{
	char reason[sizeof(job->err.what) + sizeof(job->err.cause) + 4];

	snprintf(reason, sizeof(reason), "%s%s%s", job->err.what, job->err.cause[0] ? ": " : "",
		 job->err.cause);
	return answer__none(&job->choice, reason);
}

static json_object *run(struct job *job, int exe)
{
	int ret;

	ret = read_program(job, exe);
	if (!ret)
		ret = choose(job);
	if (ret)
		return answer__error(&job->err);
	if (!job->choice.root)
		return answer__none(&job->choice, job->choice.reason);
	ret = compile(job);
	if (!ret)
		return answer__ok(&job->choice, &job->image, job->hash,
				  job->req->has_counters ? &job->map : NULL,
				  job->req->has_branches ? &job->inferred : NULL, &job->times);
	return is_refusal(ret) ? refuse(job) : answer__error(&job->err);
}

json_object *job__run(const struct request *req, int exe, int dir)
{
	struct job job = {.req = req, .dir = dir};
	json_object *answer = run(&job, exe);

	image__free(&job.image);
	pgo__free_map(&job.map);
	pgo__free_inferred(&job.inferred);
	branches__free(&job.branches);
	choice__free(&job.choice);
	profile__free(&job.profile);
	if (job.units.p)
		units__free(&job.units);
	halo_prepared__free(job.p);
	return answer;
}
