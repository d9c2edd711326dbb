/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "attach.h"

/* An .eh_frame_hdr with a table of one row, then its .eh_frame; every reference is relative. */
struct frames {
	uint8_t version, pointer_form, count_form, table_form;
	int32_t eh_frame; /* from this field */
	uint32_t count;
	int32_t begin, row; /* from the start of the header */

	struct {
		uint32_t len, id;
		uint8_t version;
		char augmentation[3];
		uint8_t code_align, data_align, return_column;
		uint8_t augmentation_len, pointer_form;
		uint8_t rules[5];
		uint8_t pad[2];
	} cie;
	struct {
		uint32_t len, cie; /* distance back to the cie */
		int32_t begin;	   /* from this field */
		uint32_t size;
		uint8_t augmentation_len, pad[3];
	} fde;
	uint32_t end;
};
_Static_assert(sizeof(struct frames) == HALO_FRAMES_SIZE, "no padding");

#define FROM(member) (-(int32_t)offsetof(struct frames, member))

void halo_frames__leaf(void *buf, uint32_t size)
{
	const struct frames frames = {
		.version = 1,
		.pointer_form = 0x1b, /* relative to the field, 4 bytes, signed */
		.count_form = 0x03,   /* 4 bytes */
		.table_form = 0x3b,   /* relative to the header, 4 bytes, signed */
		.eh_frame = offsetof(struct frames, cie) - offsetof(struct frames, eh_frame),
		.count = 1,
		.begin = -(int32_t)size,
		.row = offsetof(struct frames, fde),
		.cie =
			{
				.len = sizeof(frames.cie) - sizeof(frames.cie.len),
				.version = 1,
				.augmentation = "zR",
				.code_align = 1,
				.data_align = 0x78, /* -8 */
				.return_column = 16,
				.augmentation_len = 1,
				.pointer_form = 0x1b,
				/* The frame ends at rsp + 8; the return address is right below. */
				.rules = {0x0c, 7, 8, 0x90, 1},
			},
		.fde =
			{
				.len = sizeof(frames.fde) - sizeof(frames.fde.len),
				.cie = offsetof(struct frames, fde.cie) -
				       offsetof(struct frames, cie),
				.begin = FROM(fde.begin) - (int32_t)size,
				.size = size,
			},
	};

	memcpy(buf, &frames, sizeof(frames));
}
