/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_CONTROL_H
#define HALO_CONTROL_H

/* The control socket: docs/formats/control.md. */
#include "core.h"
#include "program.h"

/* Someone who waits for an answer. */
struct halo_conn;

/*
 * The answer comes later: a command that returned no object and set no error has called this before.
 * @hangup is called when the other side closes its end; it has to answer then.
 */
void halo_control__wait(struct halo_conn *conn, void (*hangup)(void *ctx), void *ctx);
/* @answer and the descriptor @fd (-1: none), which goes with it, are released. */
void halo_control__answer(struct halo_conn *conn, json_object *answer, int fd);

int halo_control__open(struct halo_daemon *d, struct halo_control **out, struct halo_err *err);
void halo_control__close(struct halo_control *c);

/* A request as it comes in. The strings belong to @json. */
struct halo_request {
	json_object *json;
	const char *cmd;
	struct halo_target target; /* nothing set: none was given */
	const char *fp;		   /* "exact" unless given */
	unsigned int seconds;	   /* 0 unless given */
	struct halo_conn *conn;	   /* who asks */
};

/* Check @len bytes of a peer. -EINVAL, and others, with the reason. */
int halo_control__parse(const char *text, size_t len, struct halo_request *out,
			struct halo_err *err);
void halo_control__free_request(struct halo_request *request);

#endif
