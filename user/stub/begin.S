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

	.hidden	__halo_attach_running

	.section .bss.halo, "awR", @nobits
	.hidden	__halo_scratch
	.globl	__halo_scratch
	.type	__halo_scratch, @object
	.balign	64
__halo_scratch:
	.zero	HALO_SCRATCH_SIZE
	.size	__halo_scratch, HALO_SCRATCH_SIZE

/*
 * A thread of a running program that a daemon diverts begins here. From its stop to the last line it
 * would be right whenever the daemon died: it blocks signals before it leaves the program's stack,
 * and goes back by itself. Behind ppoll(2) it can, alternatively, be put back by the daemon, which
 * lets the kernel decide how an interrupted system call goes on; ppoll, since that leaves no mark in
 * the thread's restart block.
 */
#define SCRATCH(offset) __halo_scratch + (offset)(%rip)

	.macro set_signal_mask at:vararg
	mov	$14, %eax		/* rt_sigprocmask(SIG_SETMASK, at, NULL, 8) */
	mov	$2, %edi
	lea	\at, %rsi
	xor	%edx, %edx
	mov	$8, %r10d
	syscall
	.endm

	.section .text.halo, "axR", @progbits
	.balign	16
	.hidden	__halo_attach
	.globl	__halo_attach
	.type	__halo_attach, @function
__halo_attach:
	syscall				/* socketpair(2) */
	mov	%rax, %rbx
	set_signal_mask .Lall(%rip)
	lea	SCRATCH(HALO_SCRATCH_SIZE), %rsp
	mov	%rbx, %rdi
	call	__halo_attach_running
	mov	SCRATCH(HALO_SCRATCH_RSP), %rsp
	set_signal_mask SCRATCH(HALO_SCRATCH_MASK)
	mov	$271, %eax		/* ppoll(NULL, 0, wait, NULL, 0) */
	xor	%edi, %edi
	xor	%esi, %esi
	lea	SCRATCH(HALO_SCRATCH_WAIT), %rdx
	xor	%r10d, %r10d
	xor	%r8d, %r8d
	syscall
	mov	$314, %eax		/* sched_setattr(0, sched, 0) */
	xor	%edi, %edi
	lea	SCRATCH(HALO_SCRATCH_SCHED), %rsi
	xor	%edx, %edx
	syscall
	mov	SCRATCH(0), %r15
	mov	SCRATCH(8), %r14
	mov	SCRATCH(16), %r13
	mov	SCRATCH(24), %r12
	mov	SCRATCH(32), %rbp
	mov	SCRATCH(40), %rbx
	mov	SCRATCH(48), %r11
	mov	SCRATCH(56), %r10
	mov	SCRATCH(64), %r9
	mov	SCRATCH(72), %r8
	mov	SCRATCH(96), %rdx
	mov	SCRATCH(104), %rsi
	mov	SCRATCH(112), %rdi
	/* The flags without a stack, since a signal may come: direction, overflow, the others. */
	mov	SCRATCH(HALO_SCRATCH_FLAGS), %rax
	bt	$10, %eax
	jnc	1f
	std
1:	mov	%eax, %ecx
	shr	$11, %ecx
	and	$1, %ecx
	add	$0x7f, %cl
	mov	%al, %ah
	sahf
	mov	SCRATCH(80), %rax
	mov	SCRATCH(88), %rcx
	movl	$0, SCRATCH(HALO_SCRATCH_BUSY)
	notrack jmp *SCRATCH(HALO_SCRATCH_RIP)
	int3
	.balign	8, 0xcc
.Lall:
	.quad	-1
	.org	__halo_attach + HALO_ATTACH_CODE_SIZE, 0xcc
	.size	__halo_attach, . - __halo_attach

	.section .halo.stub, "R", @progbits
	.quad	HALO_STUB_MAGIC
	.quad	HALO_FORMAT_VERSION
	.quad	__halo_slots_begin
	.quad	__halo_slots_end
	.quad	__halo_scratch
	.quad	__halo_attach
	.quad	__halo_find_object
	.quad	0
	.hidden	__halo_slots_end
	.weak	__halo_find_object	/* of unwind.c, which is not always linked */
	.hidden	__halo_find_object

	.section .note.GNU-stack, "", @progbits
