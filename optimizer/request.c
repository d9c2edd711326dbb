// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <halo/prepared.h>

#include "../user/lib/util.h"
#include "request.h"
#include "request_config.h"
#include "request_json.h"
#include "request_profile.h"

static int parse_sample(json_object *val, struct request_sample *out)
{
	if (!json_object_is_type(val, json_type_array) || json_object_array_length(val) != 2 ||
	    request_json__get_address(json_object_array_get_idx(val, 0), &out->addr) ||
	    request_json__get_u64(json_object_array_get_idx(val, 1), &out->count) ||
	    out->count > UINT32_MAX)
		return -EINVAL;
	return 0;
}

static int parse_samples(json_object *root, struct request *req, struct halo_err *err)
{
	json_object *list;
	size_t i, n;

	if (request_json__member(root, "samples", json_type_array, &list))
		return request_json__bad(err, "\"samples\" is not a list");
	n = json_object_array_length(list);
	if (n > REQUEST_SAMPLES)
		return request_json__bad(err, "too many samples");
	req->samples = calloc(n + 1, sizeof(*req->samples));
	if (!req->samples)
		return halo_err__set(err, -ENOMEM, "out of memory");
	for (i = 0; i < n; i++) {
		if (parse_sample(json_object_array_get_idx(list, i), &req->samples[i]))
			return request_json__bad(err, "a sample is not [address, count]");
		req->n_samples++;
	}
	return 0;
}

static int parse_context(json_object *val, struct request_context *out)
{
	json_object *frames, *count;
	size_t i, n;

	if (!json_object_is_type(val, json_type_object) ||
	    request_json__member(val, "frames", json_type_array, &frames) ||
	    request_json__member(val, "count", json_type_int, &count) ||
	    request_json__get_u64(count, &out->count) || out->count > UINT32_MAX)
		return -EINVAL;
	n = json_object_array_length(frames);
	if (n > REQUEST_FRAMES)
		n = REQUEST_FRAMES;
	out->frames = calloc(n + 1, sizeof(*out->frames));
	if (!out->frames)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		if (request_json__get_address(json_object_array_get_idx(frames, i),
					      &out->frames[i]))
			return -EINVAL;
	out->n_frames = n;
	return 0;
}

static int parse_contexts(json_object *root, struct request *req, struct halo_err *err)
{
	json_object *list;
	size_t i, n;
	int ret;

	ret = request_json__member(root, "contexts", json_type_array, &list);
	if (ret == -ENOENT)
		return 0;
	if (ret)
		return request_json__bad(err, "\"contexts\" is not a list");
	n = json_object_array_length(list);
	if (n > REQUEST_SAMPLES)
		return request_json__bad(err, "too many contexts");
	req->contexts = calloc(n + 1, sizeof(*req->contexts));
	if (!req->contexts)
		return halo_err__set(err, -ENOMEM, "out of memory");
	for (i = 0; i < n; i++) {
		req->n_contexts++;
		if (parse_context(json_object_array_get_idx(list, i), &req->contexts[i]))
			return request_json__bad(err, "a context is not {frames, count}");
	}
	return 0;
}

static int parse_skip(json_object *root, struct request *req, struct halo_err *err)
{
	json_object *list;
	size_t i, n;
	int ret;

	ret = request_json__member(root, "skip", json_type_array, &list);
	if (ret == -ENOENT)
		return 0;
	if (ret)
		return request_json__bad(err, "\"skip\" is not a list");
	n = json_object_array_length(list);
	req->skip = calloc(n + 1, sizeof(*req->skip));
	if (!req->skip)
		return halo_err__set(err, -ENOMEM, "out of memory");
	for (i = 0; i < n; i++) {
		req->n_skip++;
		if (request_json__name(json_object_array_get_idx(list, i), &req->skip[i]))
			return request_json__bad(
				err, "an entry of \"skip\" is not {function, unit, reason}");
	}
	return 0;
}

static int parse_place(json_object *root, struct request *req, struct halo_err *err)
{
	json_object *place, *room;

	if (request_json__member(root, "place", json_type_int, &place) ||
	    request_json__member(root, "room", json_type_int, &room))
		return request_json__bad(err, "\"place\" or \"room\" is not a number");
	req->place = json_object_get_int64(place);
	if (req->place % (int64_t)HALO_PAGE || req->place < -(1LL << 31) ||
	    req->place > (1LL << 40) || request_json__get_u64(room, &req->room))
		return request_json__bad(err, "\"place\" or \"room\" is out of range");
	return 0;
}

static int parse_fp(json_object *root, struct request *req, struct halo_err *err)
{
	static const char *const names[] = {"exact", "contract", "reassoc"};
	json_object *val;
	size_t i;

	if (!request_json__member(root, "fp", json_type_string, &val))
		for (i = 0; i < ARRAY_SIZE(names); i++)
			if (strcmp(json_object_get_string(val), names[i]) == 0) {
				req->fp = (enum request_fp)i;
				return 0;
			}
	return request_json__bad(err, "\"fp\" is not one of exact, contract, reassoc");
}

static int add_root(json_object *name, struct request *req, struct halo_err *err)
{
	int ret = request_json__name(name, &req->roots[req->n_roots++]);

	if (ret == -EINVAL)
		return request_json__bad(err, "a root is not {function, unit}");
	return ret ? halo_err__set(err, ret, "out of memory") : 0;
}

static int alloc_roots(size_t n, struct request *req, struct halo_err *err)
{
	req->roots = calloc(n, sizeof(*req->roots));
	return req->roots ? 0 : halo_err__set(err, -ENOMEM, "out of memory");
}

static int parse_root(json_object *root, struct request *req, struct halo_err *err)
{
	json_object *name;
	int ret;

	if (request_json__member(root, "root", json_type_object, &name))
		return request_json__bad(err, "\"root\" is not {function, unit}");
	ret = alloc_roots(1, req, err);
	return ret ? ret : add_root(name, req, err);
}

static int parse_roots(json_object *root, struct request *req, struct halo_err *err)
{
	json_object *list;
	size_t i, n = 0;
	int ret;

	if (!request_json__member(root, "roots", json_type_array, &list))
		n = json_object_array_length(list);
	if (!n || n > REQUEST_ROOTS)
		return request_json__bad(err, "\"roots\" is no list of 1 to 64 functions");
	ret = alloc_roots(n, req, err);
	for (i = 0; !ret && i < n; i++)
		ret = add_root(json_object_array_get_idx(list, i), req, err);
	return ret;
}

static int parse_job(json_object *root, struct request *req, struct halo_err *err)
{
	json_object *job;

	if (request_json__member(root, "job", json_type_string, &job))
		return request_json__bad(err, "\"job\" is not a string");
	if (strcmp(json_object_get_string(job), "optimize") == 0)
		return 0;
	req->has_counters = strcmp(json_object_get_string(job), "count") == 0;
	if (req->has_counters || strcmp(json_object_get_string(job), "root") == 0)
		return parse_root(root, req, err);
	if (strcmp(json_object_get_string(job), "roots") == 0)
		return parse_roots(root, req, err);
	return request_json__bad(err, "\"job\" is not one of optimize, root, roots, count");
}

static int parse_object(json_object *root, struct request *req, struct halo_err *err)
{
	json_object *config = NULL;
	int ret;

	if (!json_object_is_type(root, json_type_object))
		return request_json__bad(err, "not a JSON object");
	ret = parse_job(root, req, err);
	if (!ret)
		ret = parse_samples(root, req, err);
	if (!ret)
		ret = parse_contexts(root, req, err);
	if (!ret)
		ret = parse_skip(root, req, err);
	if (!ret)
		ret = parse_fp(root, req, err);
	if (!ret)
		ret = parse_place(root, req, err);
	if (!ret && req->has_counters)
		ret = request_profile__counters(root, req, err);
	if (!ret)
		ret = request_profile__parse(root, req, err);
	if (!ret)
		ret = request_profile__branches(root, req, err);
	if (ret)
		return ret;
	json_object_object_get_ex(root, "config", &config);
	return request_config__parse(config, &req->config, err);
}

int request__parse(const char *text, size_t len, struct request *req, struct halo_err *err)
{
	json_tokener *tok;
	json_object *root = NULL;
	int ret;

	memset(req, 0, sizeof(*req));
	if (len > REQUEST_MAX)
		return request_json__bad(err, "too long");
	tok = json_tokener_new();
	if (!tok)
		return halo_err__set(err, -ENOMEM, "out of memory");
	root = json_tokener_parse_ex(tok, text, (int)len);
	if (json_tokener_get_error(tok) != json_tokener_success)
		ret = request_json__bad(err, json_tokener_error_desc(json_tokener_get_error(tok)));
	else
		ret = parse_object(root, req, err);
	json_object_put(root);
	json_tokener_free(tok);
	return ret;
}

int request__read(int fd, struct request *req, struct halo_err *err)
{
	__cleanup_free char *text = NULL;
	size_t len = 0, size = 1 << 16;
	ssize_t n;
	char *bigger;

	memset(req, 0, sizeof(*req));
	do {
		bigger = realloc(text, size);
		if (!bigger)
			return halo_err__set(err, -ENOMEM, "out of memory");
		text = bigger;
		n = read(fd, text + len, size - len);
		if (n < 0 && errno != EINTR)
			return halo_err__set(err, -errno, "can't read the request");
		len += n > 0 ? n : 0;
		if (len == size)
			size *= 2;
	} while (n && len <= REQUEST_MAX);
	return request__parse(text, len, req, err);
}

void request__free(struct request *req)
{
	size_t i;

	for (i = 0; i < req->n_contexts; i++)
		free(req->contexts[i].frames);
	for (i = 0; i < req->n_skip; i++)
		request_name__free(&req->skip[i]);
	for (i = 0; i < req->n_roots; i++)
		request_name__free(&req->roots[i]);
	free(req->roots);
	request_profile__free(&req->profile);
	free(req->config.name);
	free(req->samples);
	free(req->ranges);
	free(req->edges);
	free(req->contexts);
	free(req->skip);
	memset(req, 0, sizeof(*req));
}
