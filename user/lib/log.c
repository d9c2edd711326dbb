// SPDX-License-Identifier: BSD-2-Clause
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "log.h"
#include "util.h"

static enum halo_log_level log_level = HALO_LOG_INFO;
static int log_fd = STDERR_FILENO;

static const char *const level_name[] = {
	[HALO_LOG_ERROR] = "error",
	[HALO_LOG_WARN] = "warn",
	[HALO_LOG_INFO] = "info",
	[HALO_LOG_DEBUG] = "debug",
};

void halo_log__set_level(enum halo_log_level level)
{
	log_level = level;
}

void halo_log__set_fd(int fd)
{
	log_fd = fd;
}

void halo_log(enum halo_log_level level, const char *tag, const char *fmt, ...)
{
	char line[1024];
	struct timespec now;
	struct tm tm;
	va_list ap;
	int n, m;

	if (level > log_level)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	n = strftime(line, sizeof(line), "%Y-%m-%dT%H:%M:%S", &tm);
	n += snprintf(line + n, sizeof(line) - n, ".%03ldZ %s %s: ", now.tv_nsec / 1000000,
		      level_name[level], tag);
	va_start(ap, fmt);
	m = vsnprintf(line + n, sizeof(line) - n - 1, fmt, ap);
	va_end(ap);
	halo__clean_text(line);
	n = (size_t)(n + m) < sizeof(line) - 1 ? n + m : (int)sizeof(line) - 2;
	line[n++] = '\n';
	if (write(log_fd, line, n) < 0)
		return; /* nowhere left to say so */
}
