// SPDX-License-Identifier: BSD-2-Clause
/*
 * Inline assembly that a variant may have as well: it may name variables of the program, which an
 * image finds under the same name, and labels of its own. Functions it may not name: LLVM, which does not
 * read it, would think that they are not called. Nor may it put anything into other sections.
 */
#include <ctype.h>

#include "inspect.h"
#include "ir.h"
#include "resolve.h"

#define NAME_MAX_LEN 256

static const char names_things[] = "its assembly names a function or label";
static const char has_directives[] = "its assembly has more than instructions";

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$' || c == '@';
}

/*
 * Not known to the program by that name, or a variable that all units share. What no one knows, such as
 * a mnemonic, may be a name all the same: then the image does not link.
 */
static bool may_name(const struct halo_prepared *p, uint32_t unit, const char *name)
{
	const struct halo_var *var = halo_prepared__var(p, (int)unit, name);

	return !halo_prepared__func(p, -1, name) && !halo_prepared__func(p, (int)unit, name) &&
	       !(var && (var->flags & HALO_VAR_LOCAL));
}

/* A label of one object, or of one place: .Lname, or digits. */
static bool is_private(const char *name)
{
	return strncmp(name, ".L", 2) == 0;
}

static const char *check_word(const struct halo_prepared *p, uint32_t unit, const char *text,
			      size_t len, bool is_label)
{
	char name[NAME_MAX_LEN];

	if (len >= sizeof(name))
		return names_things;
	memcpy(name, text, len);
	name[len] = '\0';
	if (isdigit((unsigned char)name[0]) || is_private(name))
		return NULL;
	if (name[0] == '.')
		return has_directives;
	name[strcspn(name, "@")] = '\0';
	return is_label || !may_name(p, unit, name) ? names_things : NULL;
}

static const char *check_text(const struct halo_prepared *p, uint32_t unit, const char *text,
			      size_t len)
{
	const char *why = NULL;
	size_t i = 0, begin;

	while (i < len && !why) {
		if (text[i] == '"')
			return has_directives;
		/* $0 and ${0:x} stand for operands, $$ for a dollar; %name is a register. */
		if (text[i] == '$' && i + 1 < len && text[i + 1] == '{') {
			while (i < len && text[i] != '}')
				i++;
			continue;
		}
		begin = i;
		while (i < len && is_name_char(text[i]))
			i++;
		if (i == begin) {
			i++;
			continue;
		}
		if (begin && text[begin - 1] == '%')
			continue;
		while (begin < i && text[begin] == '$')
			begin++;
		if (begin < i)
			why = check_word(p, unit, text + begin, i - begin,
					 i < len && text[i] == ':');
	}
	return why;
}

const char *inspect__assembly(const struct halo_prepared *p, uint32_t unit, LLVMValueRef call)
{
	unsigned int i, n = LLVMGetNumArgOperands(call);
	const char *text;
	size_t len;

	for (i = 0; i < n; i++) {
		LLVMValueRef arg = LLVMGetOperand(call, i);

		if (LLVMIsAFunction(arg) || LLVMIsABlockAddress(arg))
			return names_things;
	}
	text = LLVMGetInlineAsmAsmString(LLVMGetCalledValue(call), &len);
	return check_text(p, unit, text, len);
}
