/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The first object of a prepared program. Everything is kept by --gc-sections: only tables that are
 * not loaded refer to it.
 */
#include <halo/prepared.h>

#include "property.h"

	.section halo_slots, "awR", @progbits
	.hidden	__halo_slots_begin
	.globl	__halo_slots_begin
	.balign	4096
__halo_slots_begin:
	.zero	HALO_DATA_PAGES * 4096

	.section .bss.halo, "awR", @nobits
	.hidden	__halo_scratch
	.globl	__halo_scratch
	.type	__halo_scratch, @object
	.balign	64
__halo_scratch:
	.zero	HALO_SCRATCH_SIZE
	.size	__halo_scratch, HALO_SCRATCH_SIZE

	.section .text.halo, "axR", @progbits
	.hidden	__halo_syscall
	.globl	__halo_syscall
	.type	__halo_syscall, @function
__halo_syscall:
	syscall
	int3
	.size	__halo_syscall, . - __halo_syscall

	.section .halo.stub, "R", @progbits
	.quad	HALO_STUB_MAGIC
	.quad	HALO_FORMAT_VERSION
	.quad	__halo_slots_begin
	.quad	__halo_slots_end
	.quad	__halo_scratch
	.quad	__halo_syscall
	.quad	__halo_find_object
	.quad	0
	.hidden	__halo_slots_end
	.weak	__halo_find_object	/* of unwind.c, which is not always linked */
	.hidden	__halo_find_object

	.section .note.GNU-stack, "", @progbits
