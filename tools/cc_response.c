// SPDX-License-Identifier: BSD-2-Clause
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cc_args.h"

#define MAX_DEPTH     16
#define MAX_FILE_SIZE (64UL << 20)

struct list {
	char **items;
	int n, room;
};

static bool list__add(struct list *list, char *item)
{
	if (list->n + 1 >= list->room) {
		int room = list->room ? 2 * list->room : 64;
		char **items = reallocarray(list->items, room, sizeof(*items));

		if (!items)
			return false;
		list->items = items;
		list->room = room;
	}
	list->items[list->n++] = item;
	list->items[list->n] = NULL;
	return true;
}

static char *read_file(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = NULL, *bigger;
	size_t n = 0, room = 4096;

	if (!f)
		return NULL;
	do {
		room *= 2;
		bigger = realloc(text, room);
		if (!bigger || room > MAX_FILE_SIZE) {
			free(bigger ? bigger : text);
			fclose(f);
			return NULL;
		}
		text = bigger;
		n += fread(text + n, 1, room - n - 1, f);
	} while (n == room - 1);
	text[n] = '\0';
	fclose(f);
	return text;
}

/* Take one argument off *@text, in place; GNU rules: quotes of both kinds, backslash escapes. */
static char *next_word(char **text)
{
	char *in = *text, *word, *out, quote = '\0';

	while (isspace((unsigned char)*in))
		in++;
	if (!*in)
		return NULL;
	word = out = in;
	for (; *in && (quote || !isspace((unsigned char)*in)); in++) {
		if (*in == '\\' && in[1] && quote != '\'')
			*out++ = *++in;
		else if (quote ? *in == quote : *in == '"' || *in == '\'')
			quote = quote ? '\0' : *in;
		else
			*out++ = *in;
	}
	*text = *in ? in + 1 : in;
	*out = '\0';
	return word;
}

static bool expand_into(struct list *list, char *arg, int depth)
{
	char *text, *word;

	text = arg[0] == '@' && depth < MAX_DEPTH ? read_file(arg + 1) : NULL;
	if (!text)
		return list__add(list, arg);
	while ((word = next_word(&text)))
		if (!expand_into(list, word, depth + 1))
			return false;
	return true;
}

char **cc_args__expand(int argc, char **argv, int *out_argc)
{
	struct list list = {0};

	for (int i = 0; i < argc; i++)
		if (!expand_into(&list, argv[i], 0))
			return NULL;
	*out_argc = list.n;
	return list.items;
}
