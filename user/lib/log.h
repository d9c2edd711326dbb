/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_LOG_H
#define HALO_LOG_H

/*
 * One log line is one write(2) of one whole line, so lines of several threads or processes never
 * interleave and none is lost when the process is killed.
 */
enum halo_log_level {
	HALO_LOG_ERROR,
	HALO_LOG_WARN,
	HALO_LOG_INFO,
	HALO_LOG_DEBUG,
};

/* Lines above @level are dropped. The default is HALO_LOG_INFO. */
void halo_log__set_level(enum halo_log_level level);

/* Where lines go; standard error unless set. The descriptor stays the caller's. */
void halo_log__set_fd(int fd);

/*
 * If standard error is the journal's, lines begin with their priority in angle brackets, as
 * sd-daemon(3) has it, and leave the time to the journal.
 */
void halo_log__detect_journal(void);

void halo_log(enum halo_log_level level, const char *tag, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Each file defines LOG_TAG before it includes this header. */
#define log_error(...) halo_log(HALO_LOG_ERROR, LOG_TAG, __VA_ARGS__)
#define log_warn(...)  halo_log(HALO_LOG_WARN, LOG_TAG, __VA_ARGS__)
#define log_info(...)  halo_log(HALO_LOG_INFO, LOG_TAG, __VA_ARGS__)
#define log_debug(...) halo_log(HALO_LOG_DEBUG, LOG_TAG, __VA_ARGS__)

#endif
