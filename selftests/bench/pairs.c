// SPDX-License-Identifier: BSD-2-Clause
/*
 * Measures two commands against each other: they run alternately, in random order within each pair,
 * so that what else the machine does hits both. CPU time is compared, and standard output.
 */
#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <json-c/json.h>

#include "measure.h"

#define MAX_PAIRS 1000

struct args {
	size_t pairs;
	const char *json;
	const char *input;
	const char *program;
	const char *metric;
	const char *against;
	const char *policy;
	const char *kind;
	const char *before_old;
	const char *before_new;
	char **old;
	char **new;
};

struct result {
	double old_cpu[MAX_PAIRS];
	double new_cpu[MAX_PAIRS];
	double value[MAX_PAIRS];
	bool identical;
};

static const struct argp_option options[] = {
	{"pairs", 'n', "N", 0, "number of pairs (9)", 0},
	{"json", 'j', "FILE", 0, "append the record to the array in FILE", 0},
	{"input", 'i', "FILE", 0, "standard input of both commands", 0},
	{"program", 'p', "NAME", 0, "name in the record and in the table", 0},
	{"metric", 'm', "NAME", 0,
	 "speedup (old/new), cpu_ratio or compile_ratio (new/old), overhead (new/old - 1)", 0},
	{"against", 'a', "NAME", 0, "what OLD is, for the record", 0},
	{"policy", 'f', "NAME", 0, "floating-point policy (exact)", 0},
	{"kind", 'k', "NAME", 0, "kernel or app", 0},
	{"before-old", 'x', "COMMAND", 0, "run by sh before each run of OLD, not measured", 0},
	{"before-new", 'y', "COMMAND", 0, "the same for NEW", 0},
	{NULL, 0, NULL, 0, NULL, 0},
};

static bool known_metric(const char *name)
{
	return !strcmp(name, "speedup") || !strcmp(name, "cpu_ratio") ||
	       !strcmp(name, "compile_ratio") || !strcmp(name, "overhead");
}

/* "OLD… :: NEW…"; argp has left them in place, from @first on. */
static void split(struct args *args, struct argp_state *state, int first)
{
	int i = first;

	while (i < state->argc && strcmp(state->argv[i], "::"))
		i++;
	if (i == first || i + 1 >= state->argc)
		argp_error(state, "two commands are needed, with :: between them");
	state->argv[i] = NULL;
	args->old = &state->argv[first];
	args->new = &state->argv[i + 1];
	state->next = state->argc;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;

	switch (key) {
	case 'n':
		args->pairs = strtoul(arg, NULL, 10);
		if (!args->pairs || args->pairs > MAX_PAIRS)
			argp_error(state, "the number of pairs is 1 to %d", MAX_PAIRS);
		return 0;
	case 'j':
		args->json = arg;
		return 0;
	case 'i':
		args->input = arg;
		return 0;
	case 'p':
		args->program = arg;
		return 0;
	case 'm':
		if (!known_metric(arg))
			argp_error(state, "unknown metric '%s'", arg);
		args->metric = arg;
		return 0;
	case 'a':
		args->against = arg;
		return 0;
	case 'f':
		args->policy = arg;
		return 0;
	case 'k':
		args->kind = arg;
		return 0;
	case 'x':
		args->before_old = arg;
		return 0;
	case 'y':
		args->before_new = arg;
		return 0;
	case ARGP_KEY_ARG:
		split(args, state, state->next - 1);
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_usage(state);
	}
	return ARGP_ERR_UNKNOWN;
}

static double value_of(const char *metric, double old, double new)
{
	if (!strcmp(metric, "speedup"))
		return old / new;
	return new / old - (strcmp(metric, "overhead") ? 0 : 1);
}

static bool coin(void)
{
	unsigned char byte = 0;

	return getrandom(&byte, 1, 0) == 1 && (byte & 1);
}

static int measure(const struct args *args, bool is_new, struct run *run)
{
	const char *before = is_new ? args->before_new : args->before_old;

	if (before && system(before)) {
		fprintf(stderr, "Error: this failed: %s\n", before);
		return -ECHILD;
	}
	return run__measure(is_new ? args->new : args->old, args->input, run);
}

static int measure_pair(const struct args *args, size_t i, struct result *result)
{
	struct run old = {.output = -1}, new = {.output = -1};
	bool new_first = coin();
	int ret;

	ret = measure(args, new_first, new_first ? &new : &old);
	if (!ret)
		ret = measure(args, !new_first, new_first ? &old : &new);
	if (ret)
		goto cleanup;
	if (old.status != new.status || old.cpu <= 0 || new.cpu <= 0) {
		fprintf(stderr, "Error: exit status %d and %d, CPU time %g and %g s\n", old.status,
			new.status, old.cpu, new.cpu);
		ret = -ECHILD;
		goto cleanup;
	}
	result->old_cpu[i] = old.cpu;
	result->new_cpu[i] = new.cpu;
	result->value[i] = value_of(args->metric, old.cpu, new.cpu);
	result->identical &= run__same_output(&old, &new);
cleanup:
	run__free(&old);
	run__free(&new);
	return ret;
}

static double extreme(const double *values, size_t n, int sign)
{
	double best = values[0];

	for (size_t i = 1; i < n; i++)
		if (sign * values[i] > sign * best)
			best = values[i];
	return best;
}

static json_object *record(const struct args *args, const struct result *result)
{
	json_object *obj = json_object_new_object();
	size_t n = args->pairs;

	json_object_object_add(obj, "program", json_object_new_string(args->program));
	json_object_object_add(obj, "metric", json_object_new_string(args->metric));
	json_object_object_add(obj, "value", json_object_new_double(median(result->value, n)));
	json_object_object_add(obj, "unit", json_object_new_string("ratio"));
	json_object_object_add(obj, "against", json_object_new_string(args->against));
	json_object_object_add(obj, "policy", json_object_new_string(args->policy));
	json_object_object_add(obj, "kind", json_object_new_string(args->kind));
	json_object_object_add(obj, "n", json_object_new_int64((int64_t)n));
	json_object_object_add(obj, "min", json_object_new_double(extreme(result->value, n, -1)));
	json_object_object_add(obj, "max", json_object_new_double(extreme(result->value, n, 1)));
	json_object_object_add(obj, "identical", json_object_new_boolean(result->identical));
	return obj;
}

static int append(const char *path, json_object *obj)
{
	json_object *array = json_object_from_file(path);
	int ret;

	if (!json_object_is_type(array, json_type_array)) {
		json_object_put(array);
		array = json_object_new_array();
	}
	json_object_array_add(array, obj);
	ret = json_object_to_file_ext(path, array, JSON_C_TO_STRING_PRETTY);
	if (ret)
		fprintf(stderr, "Error: %s\n", json_util_get_last_err());
	json_object_put(array);
	return ret ? -EIO : 0;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {options, parse, "OLD… :: NEW…", NULL, NULL, NULL, NULL};
	static struct result result = {.identical = true};
	struct args args = {
		.pairs = 9,
		.program = "-",
		.metric = "speedup",
		.against = "plain",
		.policy = "exact",
		.kind = "kernel",
	};

	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &args);
	for (size_t i = 0; i < args.pairs; i++)
		if (measure_pair(&args, i, &result))
			return 1;
	printf("%-14s %9.3f s %9.3f s  %s %7.3f [%.3f, %.3f] n %zu  %s\n", args.program,
	       median(result.old_cpu, args.pairs), median(result.new_cpu, args.pairs), args.metric,
	       median(result.value, args.pairs), extreme(result.value, args.pairs, -1),
	       extreme(result.value, args.pairs, 1), args.pairs,
	       result.identical ? "identical" : "outputs differ");
	return args.json && append(args.json, record(&args, &result)) ? 1 : 0;
}
