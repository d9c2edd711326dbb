// SPDX-License-Identifier: BSD-2-Clause
#include <endian.h>

#include "prepared_internal.h"
#include "util.h"

static const uint8_t syscall_insn[] = {0x0f, 0x05};

static int check_stub(struct halo_prepared *p, struct halo_err *err)
{
	const struct halo_stub_row *stub = &p->stub;
	uint64_t data = HALO_DATA_PAGES * HALO_PAGE;

	if (stub->magic != HALO_STUB_MAGIC)
		return halo_prepared__corrupt(err, "the stub's row has a wrong magic number");
	if (stub->version != HALO_FORMAT_VERSION)
		return halo_prepared__corrupt(err, "format version %llu, known is %d",
					      (unsigned long long)stub->version,
					      HALO_FORMAT_VERSION);
	if (stub->slots_begin % HALO_PAGE || stub->slots_end % HALO_PAGE ||
	    stub->slots_begin >= stub->slots_end || stub->slots_end - stub->slots_begin < data ||
	    !halo_prepared__bytes(p, stub->slots_begin, stub->slots_end - stub->slots_begin, PF_W))
		return halo_prepared__corrupt(err, "slots are not whole writable pages");
	if (!halo_prepared__in_memory(p, stub->scratch, HALO_SCRATCH_SIZE, PF_W))
		return halo_prepared__corrupt(err, "the stub's scratch memory is not writable");

	p->attach_code = halo_prepared__bytes(p, stub->attach, HALO_ATTACH_CODE_SIZE, PF_X);
	if (!p->attach_code || memcmp(p->attach_code, syscall_insn, sizeof(syscall_insn)) != 0)
		return halo_prepared__corrupt(err, "the stub's attach code is not there");
	return 0;
}

int halo_prepared__read_stub(struct halo_prepared *p, struct halo_err *err)
{
	const struct halo_section *s = halo_section__find(p, HALO_SEC_STUB);

	if (!s)
		return 0;
	if (s->size != sizeof(p->stub))
		return halo_prepared__corrupt(err, "%s holds not one row, but %zu bytes",
					      HALO_SEC_STUB, s->size);
	memcpy(&p->stub, s->data, sizeof(p->stub));
	p->has_stub = true;
	return check_stub(p, err);
}

/* The entry is "jmp *slot(%rip)", after an endbr64 where the function has IBT. */
static bool jumps_through(const struct halo_prepared *p, const struct halo_func *f)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	const uint8_t *code = halo_prepared__bytes(p, f->addr, HALO_ENTRY_SIZE, PF_X);
	uint64_t next = f->addr + 6;
	int32_t disp;

	if (!code)
		return false;
	if (f->flags & HALO_FUNC_IBT) {
		if (memcmp(code, endbr64, sizeof(endbr64)) != 0)
			return false;
		code += sizeof(endbr64);
		next += sizeof(endbr64);
	}
	if (code[0] != 0xff || code[1] != 0x25)
		return false;
	memcpy(&disp, code + 2, sizeof(disp));
	return next + (int64_t)(int32_t)le32toh(disp) == f->slot;
}

static int check_slot(const struct halo_prepared *p, const struct halo_func *f,
		      struct halo_err *err)
{
	uint64_t begin = p->stub.slots_begin + HALO_DATA_PAGES * HALO_PAGE;

	if (f->slot % 8)
		return halo_prepared__corrupt(err, "the slot of %s is not aligned", f->name);
	if (p->has_stub ? f->slot < begin || f->slot >= p->stub.slots_end
			: !halo_prepared__in_memory(p, f->slot, 8, PF_W))
		return halo_prepared__corrupt(err, "the slot of %s is not among the slots",
					      f->name);
	if (!jumps_through(p, f))
		return halo_prepared__corrupt(err, "%s does not begin with a jump through its slot",
					      f->name);
	return 0;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int halo_prepared__check_slots(const struct halo_prepared *p, struct halo_err *err)
{
	__cleanup_free uint64_t *slots = calloc(p->n_funcs + 1, sizeof(*slots));
	size_t i, n = 0;
	int ret;

	if (!slots)
		return halo_err__set(err, -ENOMEM, "out of memory");
	for (i = 0; i < p->n_funcs; i++) {
		if (!p->funcs[i].slot)
			continue;
		ret = check_slot(p, &p->funcs[i], err);
		if (ret)
			return ret;
		slots[n++] = p->funcs[i].slot;
	}
	qsort(slots, n, sizeof(*slots), by_value);
	for (i = 1; i < n; i++)
		if (slots[i] == slots[i - 1])
			return halo_prepared__corrupt(err, "two functions share the slot at %#llx",
						      (unsigned long long)slots[i]);
	return 0;
}
