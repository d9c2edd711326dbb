// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../user/lib/util.h"
#include "request_json.h"
#include "request_profile.h"

#define MAX_CPUS (1U << 16)

static int get_u32(json_object *obj, const char *key, uint32_t max, uint32_t *out)
{
	json_object *val;
	uint64_t n;

	if (request_json__member(obj, key, json_type_int, &val) || request_json__get_u64(val, &n) ||
	    n > max)
		return -EINVAL;
	*out = n;
	return 0;
}

int request_profile__counters(json_object *root, struct request *req, struct halo_err *err)
{
	struct request_counters *c = &req->counters;
	json_object *obj, *place, *room, *rseq;

	if (request_json__member(root, "counters", json_type_object, &obj) ||
	    request_json__member(obj, "place", json_type_int, &place) ||
	    request_json__member(obj, "room", json_type_int, &room) ||
	    request_json__member(obj, "rseq", json_type_int, &rseq) ||
	    get_u32(obj, "cpus", MAX_CPUS, &c->cpus) || request_json__get_u64(room, &c->room))
		return request_json__bad(err, "\"counters\" is not {place, room, cpus, rseq}");
	c->place = json_object_get_int64(place);
	c->rseq = json_object_get_int64(rseq);
	if (c->place % 64 || !c->cpus || c->rseq != (int32_t)c->rseq)
		return request_json__bad(err, "\"counters\" is out of range");
	return 0;
}

static int parse_members(json_object *map, struct request_profile *p)
{
	json_object *list;
	size_t n;

	if (request_json__member(map, "members", json_type_array, &list))
		return -EINVAL;
	n = json_object_array_length(list);
	p->members = calloc(n + 1, sizeof(*p->members));
	if (!p->members)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		p->n_members++;
		if (request_json__name(json_object_array_get_idx(list, i), &p->members[i]))
			return -EINVAL;
	}
	return 0;
}

static int parse_function(json_object *obj, struct request_counted *f)
{
	json_object *name, *hash, *sites;
	uint64_t n;

	if (!json_object_is_type(obj, json_type_object) ||
	    request_json__member(obj, "name", json_type_string, &name) ||
	    request_json__member(obj, "hash", json_type_string, &hash) ||
	    request_json__member(obj, "sites", json_type_array, &sites) ||
	    json_object_array_length(sites) != REQUEST_KINDS ||
	    get_u32(obj, "first", REQUEST_COUNTERS, &f->first) ||
	    get_u32(obj, "count", REQUEST_COUNTERS, &f->n) ||
	    get_u32(obj, "first_site", REQUEST_COUNTERS, &f->first_site) ||
	    sscanf(json_object_get_string(hash), "%" SCNx64, &f->hash) != 1)
		return -EINVAL;
	for (size_t k = 0; k < REQUEST_KINDS; k++) {
		if (request_json__get_u64(json_object_array_get_idx(sites, k), &n) ||
		    n > REQUEST_COUNTERS)
			return -EINVAL;
		f->sites[k] = n;
	}
	f->name = strdup(json_object_get_string(name));
	return f->name ? 0 : -ENOMEM;
}

static int parse_functions(json_object *map, struct request_profile *p)
{
	json_object *list;
	size_t n;

	if (request_json__member(map, "functions", json_type_array, &list))
		return -EINVAL;
	n = json_object_array_length(list);
	p->functions = calloc(n + 1, sizeof(*p->functions));
	if (!p->functions)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct request_counted *f = &p->functions[p->n_functions++];

		if (parse_function(json_object_array_get_idx(list, i), f) || !f->n ||
		    f->first + f->n > p->n_counts)
			return -EINVAL;
	}
	return 0;
}

static int parse_counts(json_object *obj, struct request_profile *p)
{
	json_object *list;
	size_t n;

	if (request_json__member(obj, "counts", json_type_array, &list))
		return -EINVAL;
	n = json_object_array_length(list);
	if (n > REQUEST_COUNTERS)
		return -EINVAL;
	p->counts = calloc(n + 1, sizeof(*p->counts));
	if (!p->counts)
		return -ENOMEM;
	p->n_counts = n;
	for (size_t i = 0; i < n; i++)
		if (request_json__get_u64(json_object_array_get_idx(list, i), &p->counts[i]))
			return -EINVAL;
	return 0;
}

static int parse_value(json_object *row, struct request_value *v)
{
	uint64_t site;

	if (!json_object_is_type(row, json_type_array) || json_object_array_length(row) != 3 ||
	    request_json__get_u64(json_object_array_get_idx(row, 0), &site) ||
	    site > REQUEST_COUNTERS ||
	    request_json__get_address(json_object_array_get_idx(row, 1), &v->value) ||
	    request_json__get_u64(json_object_array_get_idx(row, 2), &v->count))
		return -EINVAL;
	v->site = site;
	return 0;
}

static int parse_values(json_object *obj, struct request_profile *p)
{
	json_object *list;
	size_t n;

	if (request_json__member(obj, "values", json_type_array, &list))
		return -EINVAL;
	n = json_object_array_length(list);
	if (n > REQUEST_COUNTERS)
		return -EINVAL;
	p->values = calloc(n + 1, sizeof(*p->values));
	if (!p->values)
		return -ENOMEM;
	p->n_values = n;
	for (size_t i = 0; i < n; i++)
		if (parse_value(json_object_array_get_idx(list, i), &p->values[i]) ||
		    (i && p->values[i].site < p->values[i - 1].site))
			return -EINVAL;
	return 0;
}

int request_profile__parse(json_object *root, struct request *req, struct halo_err *err)
{
	struct request_profile *p = &req->profile;
	json_object *obj, *map, *bias;
	int ret;

	ret = request_json__member(root, "profile", json_type_object, &obj);
	if (ret == -ENOENT)
		return 0;
	if (ret || request_json__member(obj, "map", json_type_object, &map) ||
	    request_json__member(obj, "bias", json_type_int, &bias) ||
	    request_json__get_address(bias, &p->bias))
		return request_json__bad(err, "\"profile\" is not {map, counts, values, bias}");
	ret = parse_counts(obj, p);
	if (!ret)
		ret = parse_values(obj, p);
	if (!ret)
		ret = parse_members(map, p);
	if (!ret)
		ret = parse_functions(map, p);
	if (ret)
		return ret == -ENOMEM ? halo_err__set(err, ret, "out of memory")
				      : request_json__bad(err, "\"profile\" contradicts itself");
	req->has_profile = true;
	return 0;
}

/* [from, to, count] */
static int parse_row(json_object *row, uint64_t out[3])
{
	if (!json_object_is_type(row, json_type_array) || json_object_array_length(row) != 3)
		return -EINVAL;
	for (size_t i = 0; i < 3; i++)
		if (request_json__get_u64(json_object_array_get_idx(row, i), &out[i]))
			return -EINVAL;
	return out[2] <= UINT32_MAX ? 0 : -EINVAL;
}

static int parse_ranges(json_object *list, struct request *req)
{
	size_t n = json_object_array_length(list);
	uint64_t row[3];

	if (n > REQUEST_BRANCHES)
		return -EINVAL;
	req->ranges = calloc(n + 1, sizeof(*req->ranges));
	if (!req->ranges)
		return -ENOMEM;
	for (req->n_ranges = 0; req->n_ranges < n; req->n_ranges++) {
		if (parse_row(json_object_array_get_idx(list, req->n_ranges), row) ||
		    row[0] > row[1])
			return -EINVAL;
		req->ranges[req->n_ranges] = (struct request_range){row[0], row[1], row[2]};
	}
	return 0;
}

static int parse_edges(json_object *list, struct request *req)
{
	size_t n = json_object_array_length(list);
	uint64_t row[3];

	if (n > REQUEST_BRANCHES)
		return -EINVAL;
	req->edges = calloc(n + 1, sizeof(*req->edges));
	if (!req->edges)
		return -ENOMEM;
	for (req->n_edges = 0; req->n_edges < n; req->n_edges++) {
		if (parse_row(json_object_array_get_idx(list, req->n_edges), row))
			return -EINVAL;
		req->edges[req->n_edges] = (struct request_edge){row[0], row[1], row[2]};
	}
	return 0;
}

int request_profile__branches(json_object *root, struct request *req, struct halo_err *err)
{
	json_object *obj, *ranges, *edges;
	int ret;

	ret = request_json__member(root, "branches", json_type_object, &obj);
	if (ret == -ENOENT)
		return 0;
	if (ret || request_json__member(obj, "ranges", json_type_array, &ranges) ||
	    request_json__member(obj, "edges", json_type_array, &edges))
		return request_json__bad(err, "\"branches\" is not {ranges, edges}");
	if (req->has_profile || req->has_counters)
		return request_json__bad(err, "\"branches\" beside counts");
	ret = parse_ranges(ranges, req);
	if (!ret)
		ret = parse_edges(edges, req);
	if (ret)
		return ret == -ENOMEM ? halo_err__set(err, ret, "out of memory")
				      : request_json__bad(err, "\"branches\" has a bad row");
	req->has_branches = true;
	return 0;
}

void request_profile__free(struct request_profile *p)
{
	for (size_t i = 0; i < p->n_members; i++)
		request_name__free(&p->members[i]);
	for (size_t i = 0; i < p->n_functions; i++)
		free(p->functions[i].name);
	free(p->members);
	free(p->functions);
	free(p->counts);
	free(p->values);
}
