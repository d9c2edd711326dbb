// SPDX-License-Identifier: BSD-2-Clause
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "log.h"
#include "util.h"

static enum halo_log_level log_level = HALO_LOG_INFO;
static int log_fd = STDERR_FILENO;
static bool to_journal;

static const char *const level_name[] = {
	[HALO_LOG_ERROR] = "error",
	[HALO_LOG_WARN] = "warn",
	[HALO_LOG_INFO] = "info",
	[HALO_LOG_DEBUG] = "debug",
};

static const int level_priority[] = {
	[HALO_LOG_ERROR] = LOG_ERR,
	[HALO_LOG_WARN] = LOG_WARNING,
	[HALO_LOG_INFO] = LOG_INFO,
	[HALO_LOG_DEBUG] = LOG_DEBUG,
};

void halo_log__set_level(enum halo_log_level level)
{
	log_level = level;
}

void halo_log__set_fd(int fd)
{
	log_fd = fd;
}

void halo_log__detect_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long dev, ino;
	struct stat st;

	to_journal = stream && sscanf(stream, "%lu:%lu", &dev, &ino) == 2 &&
		     !fstat(STDERR_FILENO, &st) && st.st_dev == dev && st.st_ino == ino;
}

static int print_head(char *line, size_t size, enum halo_log_level level, const char *tag)
{
	struct timespec now;
	struct tm tm;
	int n;

	if (to_journal)
		return snprintf(line, size, "<%d>%s: ", level_priority[level], tag);
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	n = strftime(line, size, "%Y-%m-%dT%H:%M:%S", &tm);
	return n + snprintf(line + n, size - n, ".%03ldZ %s %s: ", now.tv_nsec / 1000000,
			    level_name[level], tag);
}

void halo_log(enum halo_log_level level, const char *tag, const char *fmt, ...)
{
	char line[1024];
	va_list ap;
	int n, m;

	if (level > log_level)
		return;
	n = print_head(line, sizeof(line), level, tag);
	va_start(ap, fmt);
	m = vsnprintf(line + n, sizeof(line) - n - 1, fmt, ap);
	va_end(ap);
	halo__clean_text(line);
	n = (size_t)(n + m) < sizeof(line) - 1 ? n + m : (int)sizeof(line) - 2;
	line[n++] = '\n';
	if (write(log_fd, line, n) < 0)
		return; /* nowhere left to say so */
}
