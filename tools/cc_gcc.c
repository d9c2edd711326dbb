// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cc_gcc.h"
#include "util.h"

/*
 * Asking clang takes as long as compiling a small file, so it is asked for options that are not among
 * these. All are clang's; an entry that ends in '=' or '-' stands for all that begin so.
 */
static const char *const familiar[] = {
	"-fPIC",
	"-fPIE",
	"-fpic",
	"-fpie",
	"-fno-PIC",
	"-fno-PIE",
	"-fno-pic",
	"-fno-pie",
	"-fplt",
	"-fno-plt",
	"-fasynchronous-unwind-tables",
	"-fno-asynchronous-unwind-tables",
	"-fcf-protection",
	"-fcf-protection=",
	"-fcolor-diagnostics",
	"-fdiagnostics-color",
	"-fdiagnostics-color=",
	"-fcommon",
	"-fno-common",
	"-fdata-sections",
	"-ffunction-sections",
	"-fdebug-prefix-map=",
	"-ffile-prefix-map=",
	"-fmacro-prefix-map=",
	"-fexceptions",
	"-fno-exceptions",
	"-ffast-math",
	"-fno-math-errno",
	"-ffp-contract=",
	"-fgnu89-inline",
	"-finline-functions",
	"-fno-inline",
	"-flto",
	"-flto=full",
	"-flto=thin",
	"-fno-lto",
	"-fno-builtin",
	"-fno-builtin-",
	"-fomit-frame-pointer",
	"-fno-omit-frame-pointer",
	"-fno-delete-null-pointer-checks",
	"-fno-ident",
	"-fno-rtti",
	"-fno-semantic-interposition",
	"-fno-strict-aliasing",
	"-fstrict-aliasing",
	"-fno-strict-overflow",
	"-fno-threadsafe-statics",
	"-fno-trapping-math",
	"-fopenmp",
	"-fpass-plugin=",
	"-fsanitize=",
	"-fno-sanitize=",
	"-fno-sanitize-recover",
	"-fno-sanitize-recover=",
	"-fsigned-char",
	"-funsigned-char",
	"-fstack-clash-protection",
	"-fstack-protector",
	"-fstack-protector-all",
	"-fstack-protector-strong",
	"-fno-stack-protector",
	"-fsyntax-only",
	"-funroll-loops",
	"-funwind-tables",
	"-fuse-ld=",
	"-fvisibility=",
	"-fvisibility-inlines-hidden",
	"-fwrapv",
	"-m32",
	"-m64",
	"-march=",
	"-mtune=",
	"-mcmodel=",
	"-mavx",
	"-mavx2",
	"-mbmi",
	"-mbmi2",
	"-mfma",
	"-mfpmath=sse",
	"-mpopcnt",
	"-msse",
	"-msse2",
	"-msse3",
	"-mssse3",
	"-msse4",
	"-msse4.1",
	"-msse4.2",
	"-mno-red-zone",
	"-mllvm",
};

static bool is_familiar(const char *arg)
{
	for (size_t i = 0; i < ARRAY_SIZE(familiar); i++) {
		size_t len = strlen(familiar[i]);

		if (!strcmp(arg, familiar[i]))
			return true;
		if (strchr("=-", familiar[i][len - 1]) && !strncmp(arg, familiar[i], len))
			return true;
	}
	return false;
}

static bool may_be_unknown(const char *arg)
{
	return (!strncmp(arg, "-f", 2) || !strncmp(arg, "-m", 2) || !strncmp(arg, "-specs", 6) ||
		!strncmp(arg, "--param", 7)) &&
	       !is_familiar(arg);
}

/* Whether the driver has nothing against the arguments; nothing is compiled. */
static bool takes(const char *driver, int argc, char **argv)
{
	const char **copy = calloc(argc + 2, sizeof(*copy));
	int status, null;
	pid_t pid;

	if (!copy)
		return true;
	copy[0] = driver;
	copy[1] = "-###";
	memcpy(copy + 2, argv + 1, (argc - 1) * sizeof(*copy));
	pid = fork();
	if (!pid) {
		null = open("/dev/null", O_RDWR);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		execvp(driver, (char **)copy);
		_exit(127);
	}
	free(copy);
	while (pid > 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return true;
	return pid < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

bool cc_gcc__is_needed(const struct cc_args *args, const char *clang, const char *gcc, int argc,
		       char **argv)
{
	bool ask = false;

	for (int i = 1; i < argc && !ask; i++)
		ask = may_be_unknown(argv[i]);
	return ask && !args->probe && !takes(clang, argc, argv) && takes(gcc, argc, argv);
}
