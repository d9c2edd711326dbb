/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_RECORD_H
#define HALO_RECORD_H

/*
 * Recordings: all that is sampled of one program for some time, for `halo-bpf profile`. The format is
 * in docs/formats/recording.md. A program that is not enrolled is watched while the recording lasts.
 */
#include "control.h"
#include "program.h"

/* Answers @conn when @seconds are over, or when the other side has closed its end before. */
int halo_record__begin(struct halo_daemon *d, const struct halo_target *target,
		       unsigned int seconds, struct halo_conn *conn, struct halo_err *err);
/* The daemon stops: all end without an answer. */
void halo_record__end_all(struct halo_daemon *d);

/* From a drain, for whatever is recorded. */
void halo_record__context(struct halo_daemon *d, const struct halo_ctx_key *key, uint64_t count);
void halo_record__edge(struct halo_daemon *d, const struct halo_edge_key *key,
		       const struct halo_edge_val *val);
void halo_record__range(struct halo_daemon *d, const struct halo_range_key *key, uint64_t count);

#endif
