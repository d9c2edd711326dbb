/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_VERSION_H
#define HALO_VERSION_H

#define HALO_VERSION "0.1"

#endif
