// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>

#include "attrs.h"
#include "ir.h"
#include "resolve.h"

/*
 * What LLVM knows: it makes calls of these out of other calls or of loops, or others out of these.
 * mem* and bcmp come with every image.
 */
static const char *const invented[] = {
	"abs",
	"acosf",
	"acoshf",
	"asinf",
	"asinhf",
	"atan2f",
	"atanf",
	"atanhf",
	"calloc",
	"cbrtf",
	"ceil",
	"ceilf",
	"copysign",
	"copysignf",
	"cos",
	"cosf",
	"coshf",
	"exp",
	"exp10",
	"exp10f",
	"exp2",
	"exp2f",
	"expf",
	"expm1f",
	"fabs",
	"fabsf",
	"fiprintf",
	"floor",
	"floorf",
	"fmax",
	"fmaxf",
	"fmin",
	"fminf",
	"fmodf",
	"fputc",
	"fputc_unlocked",
	"fputs",
	"fputs_unlocked",
	"fwrite",
	"fwrite_unlocked",
	"iprintf",
	"ldexp",
	"ldexpf",
	"log",
	"log10",
	"log10f",
	"log1pf",
	"log2",
	"log2f",
	"logbf",
	"logf",
	"memccpy",
	"memchr",
	"mempcpy",
	"memrchr",
	"nearbyint",
	"nearbyintf",
	"pow",
	"powf",
	"putchar",
	"putchar_unlocked",
	"puts",
	"puts_unlocked",
	"rint",
	"rintf",
	"round",
	"roundeven",
	"roundevenf",
	"roundf",
	"sinf",
	"sinhf",
	"siprintf",
	"small_printf",
	"snprintf",
	"sprintf",
	"sqrt",
	"sqrtf",
	"stpcpy",
	"stpncpy",
	"strcat",
	"strchr",
	"strcmp",
	"strcpy",
	"strlcat",
	"strlcpy",
	"strlen",
	"strncat",
	"strncmp",
	"strncpy",
	"strnlen",
	"strrchr",
	"strstr",
	"tanf",
	"tanhf",
	"trunc",
	"truncf",
	"vsnprintf",
	"vsprintf",
	"__sinpi",
	"__cospi",
	"__sincospi_stret",
	"fprintf",
	"isascii",
	"isdigit",
	"toascii",
	"ffs",
	"ffsl",
	"ffsll",
	"strpbrk",
	"strspn",
	"strcspn",
	"atoi",
	"fabsl",
	"sqrtl",
	"floorl",
	"ceill",
	"truncl",
	"rintl",
	"nearbyintl",
	"copysignl",
	"fmaxl",
	"fminl",
	"sin",
	"tan",
	"bzero",
	"strdup",
	"strndup",
	"strcasecmp",
	"strncasecmp",
	"labs",
	"llabs",
	"printf",
};

static bool program_lacks(const struct halo_prepared *p, const char *name)
{
	return resolve__external(p, name).where == WHERE_NOWHERE;
}

bool attrs__is_libcall(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(invented) / sizeof(invented[0]); i++)
		if (strcmp(invented[i], name) == 0)
			return true;
	return false;
}

void attrs__forbid_libcalls(const struct halo_prepared *p, LLVMModuleRef module)
{
	char attr[64];
	size_t i;

	for (i = 0; i < sizeof(invented) / sizeof(invented[0]); i++) {
		/* What the source calls by its name is no invention. */
		if (!program_lacks(p, invented[i]) || LLVMGetNamedFunction(module, invented[i]))
			continue;
		snprintf(attr, sizeof(attr), "no-builtin-%s", invented[i]);
		ir__for_each_function(fn, module)
		{
			if (!LLVMIsDeclaration(fn))
				ir__set_string_attr(fn, attr, "");
		}
	}
}
