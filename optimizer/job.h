/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_JOB_H
#define OPT_JOB_H

#include "request.h"

/*
 * Do @req for the executable @exe, with files in the folder @dir, which is also the working
 * directory. Returns the answer, which the caller owns.
 */
json_object *job__run(const struct request *req, int exe, int dir);

#endif
