// SPDX-License-Identifier: BSD-2-Clause
#include <err.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

struct table {
	size_t n_columns;
	char **cells; /* the headers are the first row */
	size_t n_cells;
	bool right[TABLE_COLUMNS_MAX];
};

static void add(struct table *t, char *cell)
{
	char **cells = reallocarray(t->cells, t->n_cells + 1, sizeof(*cells));

	if (!cells || !cell)
		errx(1, "out of memory");
	t->cells = cells;
	t->cells[t->n_cells++] = cell;
}

struct table *table__new(const char *const headers[])
{
	struct table *t = calloc(1, sizeof(*t));

	if (!t)
		errx(1, "out of memory");
	for (; headers[t->n_columns] && t->n_columns < TABLE_COLUMNS_MAX; t->n_columns++) {
		const char *header = headers[t->n_columns];

		t->right[t->n_columns] = header[0] == '>';
		add(t, strdup(header + (header[0] == '>')));
	}
	return t;
}

void table__cell(struct table *t, const char *fmt, ...)
{
	char *cell = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&cell, fmt, ap) < 0)
		cell = NULL;
	va_end(ap);
	add(t, cell);
}

void print_clean(FILE *out, const char *text)
{
	for (; *text; text++)
		fputc((unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text, out);
}

static void print_cell(const struct table *t, FILE *out, size_t i, int width)
{
	size_t column = i % t->n_columns;
	int pad = width - (int)strlen(t->cells[i]);

	if (t->right[column])
		fprintf(out, "%*s", pad, "");
	print_clean(out, t->cells[i]);
	if (column == t->n_columns - 1)
		fputc('\n', out);
	else
		fprintf(out, "%*s", t->right[column] ? 2 : pad + 2, "");
}

void table__print(struct table *t, FILE *out, int indent)
{
	int width[TABLE_COLUMNS_MAX] = {};
	size_t i;

	for (i = 0; i < t->n_cells; i++)
		if ((int)strlen(t->cells[i]) > width[i % t->n_columns])
			width[i % t->n_columns] = strlen(t->cells[i]);
	for (i = 0; i < t->n_cells; i++) {
		if (i % t->n_columns == 0)
			fprintf(out, "%*s", indent, "");
		print_cell(t, out, i, width[i % t->n_columns]);
	}
}

void table__free(struct table *t)
{
	size_t i;

	for (i = 0; i < t->n_cells; i++)
		free(t->cells[i]);
	free(t->cells);
	free(t);
}
