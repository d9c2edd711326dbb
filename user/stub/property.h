/* SPDX-License-Identifier: BSD-2-Clause */
/* Assembly: this object allows IBT and shadow stacks, so a program that has them keeps them. */
/* clang-format off */
	.section .note.gnu.property, "a", @note
	.balign	8
	.long	4		/* name */
	.long	16		/* descriptor */
	.long	5		/* NT_GNU_PROPERTY_TYPE_0 */
	.asciz	"GNU"
	.long	0xc0000002	/* GNU_PROPERTY_X86_FEATURE_1_AND */
	.long	4
	.long	3		/* IBT, SHSTK */
	.long	0
