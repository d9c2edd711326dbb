/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_CLI_TABLE_H
#define HALO_CLI_TABLE_H

/* Rows of text, printed with aligned columns. Running out of memory ends the program. */
#include <stdio.h>

struct table;

#define TABLE_COLUMNS_MAX 8

/* @headers ends with NULL. One that begins with '>' makes its column flush right. */
struct table *table__new(const char *const headers[]);
/* Add a cell to the last row; a row is full when it has a cell per header. */
void table__cell(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Print each line with @indent spaces before it. */
void table__print(struct table *t, FILE *out, int indent);
void table__free(struct table *t);

/* Print @text with control characters replaced: names come from files that anyone can write. */
void print_clean(FILE *out, const char *text);

#endif
