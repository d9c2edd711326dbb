// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "../lib/util.h"
#include "torture.h"

static int by_reason(const void *a, const void *b)
{
	const struct torture_refusal *x = a, *y = b;
	int cmp = strcmp(x->reason, y->reason);

	return cmp ? cmp : strcmp(x->function, y->function);
}

static void sort(const struct torture_report *report)
{
	qsort(report->refusals, report->n_refusals, sizeof(*report->refusals), by_reason);
}

static unsigned int count_failed(const struct torture_report *report)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < report->n_refusals; i++)
		n += report->refusals[i].failed;
	return n;
}

static void add_int(json_object *obj, const char *key, uint64_t value)
{
	json_object_object_add(obj, key, json_object_new_uint64(value));
}

static json_object *refusals_json(const struct torture_report *report, bool failed)
{
	json_object *list = json_object_new_array();

	for (unsigned int i = 0; i < report->n_refusals; i++) {
		const struct torture_refusal *r = &report->refusals[i];
		json_object *row;

		if (r->failed != failed)
			continue;
		row = json_object_new_object();
		json_object_object_add(row, "function", json_object_new_string(r->function));
		json_object_object_add(row, "reason", json_object_new_string(r->reason));
		json_object_array_add(list, row);
	}
	return list;
}

json_object *torture_report__json(const struct torture_opts *opts,
				  const struct torture_report *report)
{
	json_object *obj = json_object_new_object();
	json_object *entered = json_object_new_object();

	sort(report);
	json_object_object_add(obj, "program", json_object_new_string(report->program));
	add_int(obj, "seed", opts->seed);
	add_int(obj, "functions", report->functions);
	add_int(obj, "redirectable", report->redirectable);
	add_int(obj, "tried", report->tried);
	add_int(obj, "compiled", report->compiled);
	json_object_object_add(obj, "refused", refusals_json(report, false));
	json_object_object_add(obj, "failed", refusals_json(report, true));
	add_int(obj, "processes", report->processes);
	json_object_object_add(obj, "not_attached", json_object_new_string(report->refused));
	add_int(obj, "switches", report->switches);
	add_int(entered, "original", report->entered[0]);
	add_int(entered, "variant", report->entered[1]);
	json_object_object_add(obj, "entered", entered);
	if (!opts->pid && WIFEXITED(report->status))
		add_int(obj, "status", WEXITSTATUS(report->status));
	if (!opts->pid && WIFSIGNALED(report->status))
		add_int(obj, "signal", WTERMSIG(report->status));
	json_object_object_add(obj, "crash", json_object_new_string(report->crash));
	return obj;
}

static void print_clean(FILE *f, const char *text)
{
	for (; *text; text++)
		fputc((unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text, f);
}

static void print_refusals(const struct torture_report *report, FILE *f)
{
	unsigned int i, same = 0;

	for (i = 0; i < report->n_refusals; i++) {
		const struct torture_refusal *r = &report->refusals[i];

		if (r->failed) {
			fprintf(f, "  failed       ");
			print_clean(f, r->function);
			fprintf(f, ": ");
			print_clean(f, r->reason);
			fprintf(f, "\n");
			continue;
		}
		same++;
		if (i + 1 < report->n_refusals && !r[1].failed && !strcmp(r->reason, r[1].reason))
			continue;
		fprintf(f, "  refused      %u: ", same);
		print_clean(f, r->reason);
		fprintf(f, "\n");
		same = 0;
	}
}

static void print_end(const struct torture_opts *opts, const struct torture_report *report, FILE *f)
{
	if (opts->pid)
		fprintf(f, "  program      %s\n", report->ended ? "ended" : "goes on");
	else if (WIFSIGNALED(report->status))
		fprintf(f, "  program      died: %s\n", strsignal(WTERMSIG(report->status)));
	else
		fprintf(f, "  program      ended with status %d\n", WEXITSTATUS(report->status));
	if (report->crash[0]) {
		fprintf(f, "  crash        ");
		print_clean(f, report->crash);
		fprintf(f, "\n");
	}
}

void torture_report__print(const struct torture_opts *opts, const struct torture_report *report,
			   FILE *f)
{
	unsigned int failed = count_failed(report);

	sort(report);
	fprintf(f, "torture of ");
	print_clean(f, report->program);
	fprintf(f, ", seed %llu\n", (unsigned long long)opts->seed);
	fprintf(f, "  functions    %u, of which %u can be redirected\n", report->functions,
		report->redirectable);
	fprintf(f, "  variants     %u compiled, %u refused, %u failed\n", report->compiled,
		report->n_refusals - failed, failed);
	print_refusals(report, f);
	fprintf(f, "  processes    %u\n", report->processes);
	if (report->refused[0]) {
		fprintf(f, "  not attached ");
		print_clean(f, report->refused);
		fprintf(f, "\n");
	}
	fprintf(f, "  switches     %llu\n", (unsigned long long)report->switches);
	fprintf(f, "  entered      %llu times originals, %llu times variants, as far as counted\n",
		(unsigned long long)report->entered[0], (unsigned long long)report->entered[1]);
	print_end(opts, report, f);
}

void torture_report__free(struct torture_report *report)
{
	for (unsigned int i = 0; i < report->n_refusals; i++) {
		free(report->refusals[i].function);
		free(report->refusals[i].reason);
	}
	free(report->refusals);
	free(report->program);
}
