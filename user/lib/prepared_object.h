/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_LIB_PREPARED_OBJECT_H
#define HALO_LIB_PREPARED_OBJECT_H

/*
 * Reads what halo-cc left in an object that is not linked yet, where rows are filled in by
 * relocations. For people: nothing is run or bound by it. Nothing of the object is trusted.
 */
#include "prepared.h"

/*
 * @image, of @size bytes, is to outlive *out, which has units, functions and variables, without
 * addresses; the slot of a redirectable function is 1. -ENOEXEC: no x86-64 object. -ENODATA: it
 * carries nothing. -EBADMSG: it contradicts itself. To be freed with halo_prepared__free().
 */
int halo_prepared__open_object(const uint8_t *image, size_t size, struct halo_prepared **out,
			       struct halo_err *err);

#endif
