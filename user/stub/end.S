/* SPDX-License-Identifier: BSD-2-Clause */
/* The last object of a prepared program: nothing else shares the slots' last page. */
#include "property.h"

	.section halo_slots, "awR", @progbits
	.hidden	__halo_slots_end
	.globl	__halo_slots_end
	.balign	4096
__halo_slots_end:

	.section .note.GNU-stack, "", @progbits
