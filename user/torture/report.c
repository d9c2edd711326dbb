// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "../lib/util.h"
#include "torture.h"

static int by_reason(const void *a, const void *b)
{
	const struct torture_row *x = a, *y = b;
	int cmp = y->failed - x->failed ?: strcmp(x->reason ?: "", y->reason ?: "");

	return cmp ? cmp : strcmp(x->function, y->function);
}

static void sort(const struct torture_report *report)
{
	qsort(report->rows, report->n_rows, sizeof(*report->rows), by_reason);
}

static unsigned int count_failed(const struct torture_report *report)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < report->n_rows; i++)
		n += report->rows[i].failed;
	return n;
}

static void add_int(json_object *obj, const char *key, uint64_t value)
{
	json_object_object_add(obj, key, json_object_new_uint64(value));
}

static json_object *variant_json(const struct torture_row *r)
{
	json_object *row = json_object_new_object();

	json_object_object_add(row, "function", json_object_new_string(r->function));
	add_int(row, "unit", r->unit);
	json_object_object_add(row, "config", json_object_new_string(r->config));
	add_int(row, "code_size", r->code_size);
	return row;
}

static json_object *variants_json(const struct torture_report *report)
{
	json_object *list = json_object_new_array();

	for (unsigned int i = 0; i < report->n_rows; i++)
		if (report->rows[i].config)
			json_object_array_add(list, variant_json(&report->rows[i]));
	return list;
}

static json_object *refusals_json(const struct torture_report *report, bool failed)
{
	json_object *list = json_object_new_array();

	for (unsigned int i = 0; i < report->n_rows; i++) {
		const struct torture_row *r = &report->rows[i];
		json_object *row;

		if (!r->reason || r->failed != failed)
			continue;
		row = json_object_new_object();
		json_object_object_add(row, "function", json_object_new_string(r->function));
		add_int(row, "unit", r->unit);
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
	add_int(obj, "tried", report->n_rows);
	add_int(obj, "compiled", report->compiled);
	json_object_object_add(obj, "variants", variants_json(report));
	json_object_object_add(obj, "refused", refusals_json(report, false));
	json_object_object_add(obj, "failed", refusals_json(report, true));
	add_int(obj, "processes", report->processes);
	add_int(obj, "missed", report->missed);
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

#define NAMES_MAX 3 /* of functions that failed alike */

static void print_names(const struct torture_row *first, unsigned int n, FILE *f)
{
	fprintf(f, " (");
	for (unsigned int i = 0; i < n && i < NAMES_MAX; i++) {
		fprintf(f, "%s", i ? ", " : "");
		print_clean(f, first[i].function);
	}
	fprintf(f, "%s)", n > NAMES_MAX ? ", ..." : "");
}

static unsigned int count_alike(const struct torture_row *row, const struct torture_row *end)
{
	const struct torture_row *at = row;

	while (at < end && at->failed == row->failed && at->reason &&
	       !strcmp(at->reason, row->reason))
		at++;
	return at - row;
}

static void print_refusals(const struct torture_report *report, FILE *f)
{
	const struct torture_row *row = report->rows, *end = row + report->n_rows;
	unsigned int n;

	for (; row < end; row += n) {
		n = row->reason ? count_alike(row, end) : 1;
		if (!row->reason)
			continue;
		fprintf(f, "  %-12s %u: ", row->failed ? "failed" : "refused", n);
		print_clean(f, row->reason);
		print_names(row, n, f);
		fprintf(f, "\n");
	}
}

/* As a shell would take it. */
static void print_word(const char *word, FILE *f)
{
	fputc(' ', f);
	if (word[0] && !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					  "0123456789_-+=./:,@%")]) {
		fputs(word, f);
		return;
	}
	fputc('\'', f);
	for (; *word; word++)
		if (*word == '\'')
			fputs("'\\''", f);
		else
			fputc(*word, f);
	fputc('\'', f);
}

static void print_replay(const struct torture_opts *opts, FILE *f)
{
	fprintf(f, "halo-bpf torture --seed %llu", (unsigned long long)opts->seed);
	if (opts->seconds)
		fprintf(f, " --seconds %u", opts->seconds);
	if (opts->functions)
		fprintf(f, " --functions %u", opts->functions);
	if (opts->hold)
		fprintf(f, " --hold");
	for (unsigned int i = 0; i < opts->n_only; i++) {
		fprintf(f, " --only");
		print_word(opts->only[i], f);
	}
	if (opts->program) {
		fprintf(f, " --program");
		print_word(opts->program, f);
	}
	for (char **word = opts->argv; *word; word++)
		print_word(*word, f);
}

static void print_end(const struct torture_opts *opts, const struct torture_report *report, FILE *f)
{
	if (opts->pid)
		fprintf(f, "  program      %s\n", report->ended ? "ended" : "goes on");
	else if (WIFSIGNALED(report->status))
		fprintf(f, "  program      died: %s\n", strsignal(WTERMSIG(report->status)));
	else
		fprintf(f, "  program      ended with status %d\n", WEXITSTATUS(report->status));
	if (!opts->pid && report->status) {
		fprintf(f, "  replay       ");
		print_replay(opts, f);
		fprintf(f, "\n");
	}
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
		report->n_rows - report->compiled - failed, failed);
	print_refusals(report, f);
	fprintf(f, "  processes    %u\n", report->processes);
	if (report->missed) {
		fprintf(f, "  not attached %u: ", report->missed);
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
	for (unsigned int i = 0; i < report->n_rows; i++) {
		free(report->rows[i].function);
		free(report->rows[i].config);
		free(report->rows[i].reason);
	}
	free(report->rows);
	free(report->program);
}
