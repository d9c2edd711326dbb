// SPDX-License-Identifier: BSD-2-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/decide.h"
#include "daemon/program.h"
#include "daemon/request.h"
#include "daemon/tuning.h"
#include "lib/util.h"

static struct halo_func funcs[] = {
	{.name = "first", .addr = 0x1000, .size = 0x100, .slot = 0x9000},
	{.name = "second", .addr = 0x1100, .size = 0x100, .slot = 0x9008, .unit = 1},
	{.name = "third", .addr = 0x1200, .size = 0x100},
};
static struct halo_prepared prepared = {.funcs = funcs, .n_funcs = 3};

static int set_up(void **state)
{
	struct halo_program *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	p->prepared = &prepared;
	p->path = (char *)"/bin/x";
	p->fp = "exact";
	p->profile = halo_profile__new();
	assert_non_null(p->profile);
	TAILQ_INIT(&p->groups);
	TAILQ_INIT(&p->processes);
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct halo_program *p = *state;

	halo_profile__free(p->profile);
	free(p);
	return 0;
}

static void test_hot(void **state)
{
	struct halo_program *p = *state;
	uint64_t hot[8];

	assert_int_equal(halo_decide__hot(p, hot, 8), 0);
	/* Two addresses of one function add up; 4 of 100 is not hot. */
	halo_profile__add(p->profile, 0x1010, 20, false);
	halo_profile__add(p->profile, 0x10ff, 20, false);
	halo_profile__add(p->profile, 0x1200, 50, false);
	halo_profile__add(p->profile, 0x1100, 4, false);
	halo_profile__add_outside(p->profile, 6);
	assert_int_equal(halo_decide__hot(p, hot, 8), 2);
	assert_int_equal(hot[0], 0x1200);
	assert_int_equal(hot[1], 0x1000);
	assert_int_equal(halo_decide__hot(p, hot, 1), 1);
	assert_int_equal(hot[0], 0x1200);
}

/* What runs in a variant is hot, but needs no section; nor does what was tried. */
static void test_hot_handled(void **state)
{
	struct halo_program *p = *state;
	struct halo_tuning *t;
	uint64_t hot[8];

	halo_profile__add(p->profile, 0x1010, 40, false);
	halo_profile__add(p->profile, 0x1110, 40, true);
	assert_int_equal(halo_decide__hot(p, hot, 8), 1);
	assert_int_equal(hot[0], 0x1000);
	t = halo_tuning__get(p, &funcs[0]);
	assert_int_equal(halo_decide__hot(p, hot, 8), 1);
	halo_tuning__finish(p, t);
	assert_int_equal(halo_decide__hot(p, hot, 8), 0);
}

static void test_bounded(void **state)
{
	static struct halo_func many[HALO_MAX_SECTIONS + 1];
	struct halo_program *p = *state;

	for (size_t i = 0; i < HALO_MAX_SECTIONS; i++)
		assert_non_null(halo_tuning__get(p, &many[i]));
	assert_null(halo_tuning__get(p, &many[HALO_MAX_SECTIONS]));
	assert_ptr_equal(halo_tuning__get(p, &many[3]), &p->tunings[3]);
	assert_int_equal(p->n_tunings, HALO_MAX_SECTIONS);
}

static void test_states(void **state)
{
	struct halo_program *p = *state;
	struct halo_process proc = {.pid = 1};
	struct halo_variant v = {.name = "v1-host"};
	struct halo_tuning *t;

	assert_string_equal(halo_program__state(p), "waiting");
	TAILQ_INSERT_TAIL(&p->processes, &proc, link);
	assert_string_equal(halo_program__state(p), "sampling");
	p->settled = true;
	assert_string_equal(halo_program__state(p), "nothing to gain");
	t = halo_tuning__get(p, &funcs[0]);
	t->adopted = &v;
	assert_string_equal(halo_program__state(p), "optimized");
	halo_tuning__finish(p, t);
	assert_int_equal(t->state, HALO_TUNING_ADOPTED);
	assert_true(halo_tuning__any_active(p, NULL));
	halo_tuning__fail_all(p, "it died");
	assert_int_equal(t->state, HALO_TUNING_FAILED);
	assert_string_equal(t->reason, "it died");
	assert_null(t->adopted);
	assert_false(halo_tuning__any_active(p, NULL));
	snprintf(p->denied, sizeof(p->denied), "it died");
	assert_string_equal(halo_program__state(p), "failed");
}

static json_object *get(json_object *obj, const char *key)
{
	json_object *val = NULL;

	assert_true(json_object_object_get_ex(obj, key, &val));
	return val;
}

static void test_request(void **state)
{
	struct halo_program *p = *state;
	json_object *config = json_tokener_parse("{\"name\": \"host\"}");
	json_object *request, *row;

	p->job_place = HALO_ARENA_PIC + 4096;
	p->job_room = 12345;
	halo_profile__add(p->profile, 0x1010, 40, false);
	halo_profile__add(p->profile, 0x1110, 0.3, false);
	halo_tuning__fail(p, halo_tuning__get(p, &funcs[1]), "no gain");
	request = halo_request__new(p, NULL, config, NULL, false);
	assert_string_equal(json_object_get_string(get(request, "job")), "optimize");
	assert_string_equal(json_object_get_string(get(request, "fp")), "exact");
	assert_true(json_object_get_int64(get(request, "place")) == p->job_place);
	assert_int_equal(json_object_get_int64(get(request, "room")), 12345);
	assert_int_equal(json_object_array_length(get(request, "samples")), 1);
	row = json_object_array_get_idx(get(request, "samples"), 0);
	assert_int_equal(json_object_get_int64(json_object_array_get_idx(row, 0)), 0x1010);
	assert_int_equal(json_object_get_int64(json_object_array_get_idx(row, 1)), 40);
	assert_int_equal(json_object_array_length(get(request, "skip")), 1);
	row = json_object_array_get_idx(get(request, "skip"), 0);
	assert_string_equal(json_object_get_string(get(row, "function")), "second");
	assert_int_equal(json_object_get_int(get(row, "unit")), 1);
	assert_string_equal(json_object_get_string(get(row, "reason")), "no gain");
	json_object_put(request);

	request = halo_request__new(p, &(struct halo_tuning){.root = &funcs[0]}, config, NULL, false);
	assert_string_equal(json_object_get_string(get(request, "job")), "root");
	assert_string_equal(json_object_get_string(get(get(request, "root"), "function")), "first");
	json_object_put(request);
	json_object_put(config);
}

static void test_configs(void **state)
{
	const char *bad[] = {
		"",
		"{}",
		"[]",
		"[7]",
		"[{\"name\": \"a\"}]",
		"[{\"name\": \"a b\", \"cpu\": \"\", \"tune\": \"\", \"opt\": \"\"}]",
		"[{\"name\": 1, \"cpu\": \"\", \"tune\": \"\", \"opt\": \"\"}]",
	};
	const char *bad_knobs[] = {
		"[{\"name\": \"a\", \"cpu\": \"x\", \"tune\": \"y\", \"opt\": \"O3\"}]",
		"[{\"name\": \"a\", \"cpu\": \"x\", \"tune\": \"x\", \"opt\": \"x\", \"slp\": "
		"\"on\"}]",
		"[{\"name\": \"a\", \"cpu\": \"x\", \"tune\": \"x\", \"opt\": \"x\", \"inline\": "
		"75}]",
	};
	json_object *knobs = json_tokener_parse("{\"cpu\": [\"x\"], \"tune\": [\"x\"],"
						" \"opt\": [\"x\"], \"inline\": [\"75\"]}");
	struct halo_configs c;
	struct halo_err err;

	(void)state;
	assert_int_equal(halo_configs__read(NULL, &c, NULL), 0);
	assert_true(c.count >= 1);
	halo_configs__free(&c);
	assert_int_equal(halo_configs__read("knobs", &c, NULL), 0);
	assert_string_equal(c.item[0].name, "host");
	halo_configs__free(&c);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(halo_configs__parse(bad[i], "test", NULL, &c, &err), -EINVAL);
		assert_int_equal(c.count, 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad_knobs); i++)
		assert_int_equal(halo_configs__parse(bad_knobs[i], "test", knobs, &c, &err),
				 -EINVAL);
	/* The worker gets every knob of it. */
	assert_int_equal(halo_configs__parse("[{\"name\": \"a\", \"cpu\": \"x\", \"tune\": \"x\","
					     " \"opt\": \"x\", \"inline\": \"75\"}]",
					     "test", knobs, &c, &err),
			 0);
	assert_string_equal(json_object_get_string(get(c.item[0].json, "inline")), "75");
	halo_configs__free(&c);
	json_object_put(knobs);
	assert_int_equal(halo_configs__read("/nonexistent", &c, &err), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_hot, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_hot_handled, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_bounded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_states, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_request, set_up, tear_down),
		cmocka_unit_test(test_configs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
