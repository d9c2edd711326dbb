/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CALLS_H
#define CALLS_H

/*
 * One function, built in several ways:
 *   plain       stock clang
 *   pads        stock clang with -fpatchable-function-entry=18,16
 *   prepared    halo-cc
 *   lib_NAME    the same in a shared library
 */
long callee_plain(long x, long n);
long callee_pads(long x, long n);
long callee_prepared(long x, long n);
long lib_plain(long x, long n);
long lib_prepared(long x, long n);

#endif
