// SPDX-License-Identifier: BSD-2-Clause
/* The entries of .eh_frame and .debug_frame: CIEs and FDEs. */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "cfi_internal.h"
#include "reader.h"

#define EH_PE_PCREL    0x10
#define EH_PE_TEXTREL  0x20
#define EH_PE_DATAREL  0x30
#define EH_PE_BASE     0x70
#define EH_PE_INDIRECT 0x80
#define EH_PE_OMIT     0xff

#define EH_PE_ABSPTR   0x00
#define EH_PE_ULEB128  0x01
#define EH_PE_UDATA2   0x02
#define EH_PE_UDATA4   0x03
#define EH_PE_UDATA8   0x04
#define EH_PE_SLEB128  0x09
#define EH_PE_SDATA2   0x0a
#define EH_PE_SDATA4   0x0b
#define EH_PE_SDATA8   0x0c

#define LENGTH_64      0xffffffffU
#define CIE_ID_32      0xffffffffU /* of .debug_frame; .eh_frame has 0 */
#define CIE_ID_64      (~0ULL)
#define MAX_ENTRY      (1ULL << 28)

static uint64_t value_of(struct reader *r, uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case EH_PE_ABSPTR:
	case EH_PE_UDATA8:
	case EH_PE_SDATA8:
		return reader__fixed(r, 8);
	case EH_PE_ULEB128:
		return reader__uleb(r);
	case EH_PE_SLEB128:
		return reader__sleb(r);
	case EH_PE_UDATA2:
		return reader__fixed(r, 2);
	case EH_PE_SDATA2:
		return (int64_t)(int16_t)reader__fixed(r, 2);
	case EH_PE_UDATA4:
		return reader__fixed(r, 4);
	case EH_PE_SDATA4:
		return (int64_t)(int32_t)reader__fixed(r, 4);
	}
	r->failed = true;
	return 0;
}

/* A pointer that is stored elsewhere can't be read: the reader fails. */
static uint64_t pointer_of(const struct halo_cfi_section *s, struct reader *r, uint8_t encoding)
{
	uint64_t at = s->vaddr + r->at, value = value_of(r, encoding);

	if (encoding & EH_PE_INDIRECT)
		r->failed = true;
	switch (encoding & EH_PE_BASE) {
	case 0:
		return value;
	case EH_PE_PCREL:
		return at + value;
	case EH_PE_TEXTREL:
		return s->text + value;
	case EH_PE_DATAREL:
		return s->got + value;
	}
	r->failed = true;
	return 0;
}

/* The head of the entry at @at. False: no entry can be there, nor behind. */
static bool read_head(const struct halo_cfi_section *s, size_t at, struct head *h)
{
	struct reader r = {.data = s->data, .at = at, .end = s->size};
	uint64_t len = reader__fixed(&r, 4), id_at;
	bool is_64 = len == LENGTH_64;

	if (is_64)
		len = reader__fixed(&r, 8);
	if (r.failed || len > s->size - r.at || len > MAX_ENTRY)
		return false;
	h->next = r.at + len;
	h->empty = len == 0;
	id_at = r.at;
	r.end = h->next;
	h->id = reader__fixed(&r, is_64 && s->debug_frame ? 8 : 4);
	h->body = r.at;
	if (r.failed)
		h->empty = true;
	if (s->debug_frame)
		h->is_cie = h->id == (is_64 ? CIE_ID_64 : CIE_ID_32);
	else
		h->is_cie = h->id == 0;
	/* In .eh_frame the distance back to the CIE, else its offset. */
	h->cie = s->debug_frame ? h->id : id_at - h->id;
	return true;
}

/* "zPLRS…": what follows in the CIE, in that order. */
static bool read_augmentation(const struct halo_cfi_section *s, struct reader *r, const char *text,
			      struct cie *cie)
{
	uint64_t len = reader__uleb(r);
	struct reader data = *r;

	if (!reader__has(r, len))
		return false;
	data.end = r->at + len;
	r->at += len;
	cie->augmented = true;
	for (text++; *text; text++) {
		if (*text == 'R')
			cie->encoding = reader__u8(&data);
		else if (*text == 'P')
			value_of(&data, reader__u8(&data));
		else if (*text == 'L')
			reader__u8(&data);
		else if (*text == 'S')
			cie->signal = true;
		else if (*text != 'B') /* 'B': return addresses are signed, which x86 has none of */
			return false;
	}
	(void)s;
	return !data.failed;
}

bool halo_cfi__read_cie(const struct halo_cfi_section *s, size_t at, struct cie *cie)
{
	struct reader r = {.data = s->data, .end = s->size};
	const char *text;
	uint8_t version;
	struct head h;

	if (at >= s->size || !read_head(s, at, &h) || h.empty || !h.is_cie)
		return false;
	*cie = (struct cie){.at = at};
	r.at = h.body;
	r.end = h.next;
	version = reader__u8(&r);
	if (version != 1 && version != 3 && version != 4)
		return false;
	text = (const char *)s->data + r.at;
	while (reader__u8(&r))
		;
	if (r.failed)
		return false;
	/* Addresses of 8 bytes, and no segments. */
	if (version == 4 && (reader__u8(&r) != 8 || reader__u8(&r) != 0))
		return false;
	cie->code_align = reader__uleb(&r);
	cie->data_align = reader__sleb(&r);
	cie->ra = version == 1 ? reader__u8(&r) : reader__uleb(&r);
	if (text[0] == 'z' ? !read_augmentation(s, &r, text, cie) : text[0] != '\0')
		return false;
	cie->program = r.at;
	cie->program_end = h.next;
	return !r.failed && cie->ra == HALO_REG_RA;
}

static bool read_fde(const struct halo_cfi_section *s, const struct head *h, const struct cie *cie,
		     struct halo_fde *fde)
{
	struct reader r = {.data = s->data, .at = h->body, .end = h->next};
	uint64_t len;

	fde->cie = cie->at;
	fde->begin = pointer_of(s, &r, cie->encoding);
	len = value_of(&r, cie->encoding & 0x0f);
	fde->end = fde->begin + len;
	if (cie->augmented) {
		len = reader__uleb(&r);
		if (reader__has(&r, len))
			r.at += len;
	}
	fde->program = r.at;
	fde->program_end = h->next;
	return !r.failed && fde->end > fde->begin;
}

bool halo_cfi__entry(const struct halo_cfi_section *s, size_t at, struct halo_fde *out)
{
	struct cie cie;
	struct head h;

	return at < s->size && read_head(s, at, &h) && !h.empty && !h.is_cie &&
	       halo_cfi__read_cie(s, h.cie, &cie) && read_fde(s, &h, &cie, out);
}

static struct halo_fde *grow(struct halo_fde *v, size_t n)
{
	if (n & (n - 1))
		return v;
	return reallocarray(v, n ? 2 * n : 1, sizeof(*v));
}

int halo_cfi__entries(const struct halo_cfi_section *s, struct halo_fde **out, size_t *n,
		      size_t *bad)
{
	struct halo_fde *v = NULL, *more;
	struct cie cie = {0};
	bool have_cie = false;
	struct head h;

	*n = *bad = 0;
	for (size_t at = 0; at < s->size; at = h.next) {
		if (!read_head(s, at, &h)) {
			++*bad;
			break;
		}
		if (h.next - at == 4 && s->until_empty)
			break;
		/* Sections of several linked files may each end with an empty entry. */
		if (h.empty || h.is_cie)
			continue;
		if (!have_cie || cie.at != h.cie)
			have_cie = halo_cfi__read_cie(s, h.cie, &cie);
		more = grow(v, *n);
		if (!more) {
			free(v);
			return -ENOMEM;
		}
		v = more;
		if (have_cie && read_fde(s, &h, &cie, &v[*n]))
			++*n;
		else
			++*bad;
	}
	*out = v;
	return 0;
}
