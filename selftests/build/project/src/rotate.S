/* SPDX-License-Identifier: BSD-2-Clause */
	.text
	.globl	rotate
	.type	rotate, @function
rotate:
	movl	%esi, %ecx
	movl	%edi, %eax
	roll	%cl, %eax
	ret
	.size	rotate, . - rotate
	.section .note.GNU-stack, "", @progbits
