/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_ATTACH_SERVER_H
#define HALO_ATTACH_SERVER_H

/*
 * Answers the stubs of starting programs (halo/attach.h). Any user may connect: the daemon takes
 * nothing from the peer but its process id, which the kernel tells, and whether its mappings worked.
 */
#include "core.h"

int halo_attach_server__open(struct halo_daemon *d, struct halo_attach_server **out,
			     struct halo_err *err);
void halo_attach_server__close(struct halo_attach_server *s);

#endif
