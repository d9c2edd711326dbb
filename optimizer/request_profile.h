/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_REQUEST_PROFILE_H
#define OPT_REQUEST_PROFILE_H

/* The members "counters", "profile" and "branches" of a request. */
#include <json-c/json.h>

#include "request.h"

int request_profile__counters(json_object *root, struct request *req, struct halo_err *err);
/* 0 also when there is none. */
int request_profile__parse(json_object *root, struct request *req, struct halo_err *err);
/* 0 also when there are none. */
int request_profile__branches(json_object *root, struct request *req, struct halo_err *err);
void request_profile__free(struct request_profile *profile);

#endif
