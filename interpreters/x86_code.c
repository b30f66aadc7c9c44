/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/x86_code.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/isa/x86_opcode.h"

enum {
	/* Opcode, ModRM and a distance of 4 bytes. */
	RELATIVE_BYTES = 6,
};

int x86_code_init(struct x86_code *code, const struct elf_image *image, struct code_range range,
		  uint64_t limit)
{
	uint64_t offset, available;
	int err = elf_image_address_offset(image, range.start, &offset, &available);

	if (err)
		return err;
	if (range.end <= range.start || range.end - range.start > available)
		return fail(-EBADMSG, "code that ends at %#" PRIx64, range.end);
	*code = (struct x86_code){ .start = range.start, .next = range.start };
	return elf_image_load_range(image, offset, range.end - range.start, limit, &code->bytes);
}

int x86_code_init_head(struct x86_code *code, const struct elf_image *image, uint64_t address,
		       uint64_t bytes)
{
	uint64_t available = elf_image_bytes_at_address(image, address);
	uint64_t size = available < bytes ? available : bytes;

	return x86_code_init(code, image, (struct code_range){ address, address + size }, bytes);
}

void x86_code_deinit(struct x86_code *code)
{
	elf_bytes_deinit(&code->bytes);
}

const uint8_t *x86_code_bytes(const struct x86_code *code)
{
	return code->bytes.data + (code->address - code->start);
}

bool x86_code_has(const struct x86_code *code, uint64_t address)
{
	return address - code->start < code->bytes.size;
}

bool x86_code_next(struct x86_code *code)
{
	uint64_t offset = code->next - code->start;

	code->address = code->next;
	if (!x86_code_has(code, code->next) ||
	    !x86_decode(code->bytes.data + offset, code->bytes.size - offset, &code->x86))
		return false;
	code->next += code->x86.length;
	return true;
}

bool x86_code_next_known(struct x86_code *code)
{
	while (x86_code_has(code, code->next)) {
		if (x86_code_next(code))
			return true;
		code->next = code->address + 1;
	}
	return false;
}

uint64_t x86_code_target(const struct x86_code *code)
{
	return code->next + (uint64_t)code->x86.displacement;
}

bool x86_code_is_jump(const struct x86_code *code)
{
	return code->x86.kind == X86_JUMP || code->x86.kind == X86_BRANCH;
}

uint64_t x86_code_relative(const struct x86_code *code, bool is_wide, uint8_t opcode)
{
	struct x86_operands operands;

	if (!code->x86.is_pc_relative ||
	    !x86_decode_operands(x86_code_bytes(code), code->x86.length, &operands) ||
	    operands.map != MAP_ONE_BYTE || operands.opcode != opcode ||
	    (is_wide && operands.bytes != 8))
		return 0;
	/* A longer one has prefixes or an immediate. */
	if (operands.length != (operands.has_rex ? 1 : 0) + RELATIVE_BYTES)
		return 0;
	return code->next + (uint64_t)operands.displacement;
}
