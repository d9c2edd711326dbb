// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "request.h"

#define CONFIG "{\"name\":\"host\",\"cpu\":\"host\",\"tune\":\"shipped\",\"opt\":\"O2\"}"
#define REST   "\"fp\":\"contract\",\"place\":-4096,\"room\":8192}"

static struct halo_err err;

static int parse(const char *text, struct request *req)
{
	int ret;

	memset(&err, 0, sizeof(err));
	ret = request__parse(text, strlen(text), req, &err);
	assert_int_equal(ret, err.code);
	return ret;
}

static void whole_request(void **state)
{
	struct request req;

	(void)state;
	assert_int_equal(parse("{\"job\":\"root\",\"root\":{\"function\":\"f\",\"unit\":2},"
			       "\"samples\":[[4096,7],[-8192,1]],"
			       "\"contexts\":[{\"frames\":[1,2,3],\"count\":5}],"
			       "\"skip\":[{\"function\":\"g\",\"unit\":0,\"reason\":\"slow\"}],"
			       "\"config\":" CONFIG "," REST,
			       &req),
			 0);
	assert_int_equal(req.n_roots, 1);
	assert_string_equal(req.roots[0].function, "f");
	assert_int_equal(req.roots[0].unit, 2);
	assert_int_equal(req.n_samples, 2);
	assert_int_equal(req.samples[0].addr, 4096);
	assert_int_equal(req.samples[0].count, 7);
	assert_true(req.samples[1].addr == (uint64_t)-8192);
	assert_int_equal(req.n_contexts, 1);
	assert_int_equal(req.contexts[0].n_frames, 3);
	assert_int_equal(req.contexts[0].frames[2], 3);
	assert_string_equal(req.skip[0].reason, "slow");
	assert_true(req.config.cpu_host);
	assert_false(req.config.tune_host);
	assert_int_equal(req.config.level, 2);
	assert_string_equal(req.config.passes, "default<O2>");
	assert_true(req.config.slp);
	assert_int_equal(req.config.inline_threshold, -1);
	assert_int_equal(req.fp, FP_CONTRACT);
	assert_int_equal(req.place, -4096);
	request__free(&req);
}

static void several_roots(void **state)
{
	struct request req;

	(void)state;
	assert_int_equal(parse("{\"job\":\"roots\",\"roots\":[{\"function\":\"f\",\"unit\":2},"
			       "{\"function\":\"g\",\"unit\":0}],\"samples\":[],"
			       "\"config\":" CONFIG "," REST,
			       &req),
			 0);
	assert_int_equal(req.n_roots, 2);
	assert_string_equal(req.roots[0].function, "f");
	assert_string_equal(req.roots[1].function, "g");
	assert_int_equal(req.roots[1].unit, 0);
	request__free(&req);
}

/* What halo-opt must not take for a request; each is refused and leaks nothing. */
static void wrong_requests(void **state)
{
	static const char *const wrong[] = {
		"",
		"[]",
		"{\"job\":",
		"{\"job\":\"sleep\"}",
		"{\"job\":\"root\",\"samples\":[]}",
		"{\"job\":\"roots\",\"samples\":[]}",
		"{\"job\":\"roots\",\"roots\":[],\"samples\":[],\"config\":" CONFIG "," REST,
		"{\"job\":\"roots\",\"roots\":[{\"function\":\"f\",\"unit\":0},{}],\"samples\":[],"
		"\"config\":" CONFIG "," REST,
		"{\"job\":\"optimize\"}",
		"{\"job\":\"optimize\",\"samples\":[[1]],\"config\":" CONFIG "," REST,
		"{\"job\":\"optimize\",\"samples\":[[1,-2]],\"config\":" CONFIG "," REST,
		"{\"job\":\"optimize\",\"samples\":[[1,\"2\"]],\"config\":" CONFIG "," REST,
		"{\"job\":\"optimize\",\"samples\":[],\"contexts\":[{\"frames\":[1]}],"
		"\"config\":" CONFIG "," REST,
		"{\"job\":\"optimize\",\"samples\":[],\"skip\":[{\"function\":1,\"unit\":0}],"
		"\"config\":" CONFIG "," REST,
		"{\"job\":\"optimize\",\"samples\":[],\"config\":" CONFIG
		",\"fp\":\"fast\",\"place\":0,\"room\":1}",
		"{\"job\":\"optimize\",\"samples\":[],\"config\":" CONFIG
		",\"fp\":\"exact\",\"place\":1,\"room\":1}",
		"{\"job\":\"optimize\",\"samples\":[],\"config\":" CONFIG
		",\"fp\":\"exact\",\"place\":0,\"room\":-1}",
		"{\"job\":\"optimize\",\"samples\":[]," REST,
	};
	struct request req;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(parse(wrong[i], &req), -EINVAL);
		assert_non_null(strstr(err.what, "request"));
		request__free(&req);
	}
}

static int parse_config(const char *config)
{
	struct request req;
	char text[512];
	int ret;

	snprintf(text, sizeof(text), "{\"job\":\"optimize\",\"samples\":[],\"config\":%s," REST,
		 config);
	ret = parse(text, &req);
	request__free(&req);
	return ret;
}

static void wrong_configs(void **state)
{
	(void)state;
	assert_int_equal(parse_config("{\"name\":\"a\",\"unknown\":\"4\"}"), -EINVAL);
	assert_non_null(strstr(err.remedy, "name, doc, cpu, tune, opt"));
	assert_int_equal(parse_config("{\"name\":\"a\",\"cpu\":\"z80\"}"), -EINVAL);
	assert_non_null(strstr(err.remedy, "shipped, host"));
	assert_int_equal(parse_config("{\"name\":\"a\",\"cpu\":null}"), -EINVAL);
	assert_int_equal(parse_config("{\"name\":1}"), -EINVAL);
	assert_int_equal(parse_config("{\"name\":\"a\",\"cpu\":\"host\",\"tune\":\"host\"}"),
			 -EINVAL);
	assert_non_null(strstr(err.what, "opt"));
	assert_int_equal(parse_config("{\"name\":\"a\",\"name\":\"b\",\"doc\":\"d\",\"cpu\":"
				      "\"host\",\"tune\":\"host\",\"opt\":\"O3\"}"),
			 0);
}

/* Every value of knobs/knobs.json is one that halo-opt knows. */
static void listed_knobs(void **state)
{
	json_object *list = json_object_from_file(KNOBS_DIR "/knobs.json");
	char text[256];
	size_t i, n = 0;

	(void)state;
	assert_true(json_object_is_type(list, json_type_object));
	json_object_object_foreach(list, knob, values)
	{
		n += strcmp(knob, "cpu") == 0;
		for (i = 0; i < json_object_array_length(values); i++) {
			snprintf(text, sizeof(text),
				 "{\"name\":\"a\",\"cpu\":\"host\",\"tune\":\"host\","
				 "\"opt\":\"O3\",\"%s\":\"%s\"}",
				 knob,
				 json_object_get_string(json_object_array_get_idx(values, i)));
			assert_int_equal(parse_config(text), 0);
		}
	}
	assert_int_equal(n, 1);
	json_object_put(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_request),  cmocka_unit_test(several_roots),
		cmocka_unit_test(wrong_requests), cmocka_unit_test(wrong_configs),
		cmocka_unit_test(listed_knobs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
