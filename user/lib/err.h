/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_ERR_H
#define HALO_ERR_H

#include <stdbool.h>

#include <json-c/json.h>

/*
 * An error that a person will read: what failed, its likely cause, what to do about it. Functions
 * that can fail take one as their last argument, return 0 or -errno, and fill it when they fail.
 * A NULL error is allowed everywhere: the caller then wants the code alone.
 */
struct halo_err {
	int code; /* -errno; 0: no error */
	char what[384];
	char cause[256];
	char remedy[256];
};

/*
 * Fill @err and return @code (a negative errno). The format describes what failed. A cause that was
 * set before is kept as it is only through halo_err__wrap().
 */
int halo_err__set(struct halo_err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Add the likely cause, or the remedy, to an error already set. */
void halo_err__cause(struct halo_err *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void halo_err__remedy(struct halo_err *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Put "context: " before what failed, keeping cause and remedy. Returns err's code (or @code). */
int halo_err__wrap(struct halo_err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* {"error": {"code": "ENOENT", "what": …, "cause": …, "remedy": …}}; the caller owns it. */
json_object *halo_err__to_json(const struct halo_err *err);

/* Read what halo_err__to_json() wrote; false when @obj holds no "error" member. */
bool halo_err__from_json(struct halo_err *err, json_object *obj);

/* Three lines on standard error: "Error: what", "  cause: …", "  remedy: …". */
void halo_err__print(const struct halo_err *err);

#endif
