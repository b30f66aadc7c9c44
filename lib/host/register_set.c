/* SPDX-License-Identifier: Apache-2.0 */
/* Maps the kernel's order of registers to DWARF's. Any value is fine. */
#include "lib/host/register_set.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "lib/base/byte_reader.h"
#include "lib/base/error.h"

enum {
	WORDS_X86 = 27,
	WORDS_ARM64 = 34,
	NOT_WANTED = REGISTER_COUNT_MAX,
	/* Index of orig_rax in x86-64's set: the number of the system call, or -1. */
	ORIGINAL_RAX_WORD = 15,
	FS_BASE_WORD = 21,
};

_Static_assert(WORDS_ARM64 * 8 <= REGISTER_SET_MAX_BYTES && WORDS_X86 < WORDS_ARM64,
	       "the larger set fits");

/* DWARF number of each word of struct user_regs_struct, up to rsp. */
static const uint8_t numbers_x86[] = {
	15, 14, 13, 12, 6, 3, 11, 10, 9, 8, 0, 2, 1, 4, 5, NOT_WANTED, 16, NOT_WANTED, NOT_WANTED, 7
};

size_t register_set_bytes(uint16_t machine)
{
	switch (machine) {
	case EM_X86_64:
		return WORDS_X86 * sizeof(uint64_t);
	case EM_AARCH64:
		return WORDS_ARM64 * sizeof(uint64_t);
	default:
		return 0;
	}
}

int register_set_read(struct register_set *set, uint16_t machine, const void *bytes, size_t size)
{
	size_t wanted = register_set_bytes(machine);
	struct register_set result = { 0 };
	struct byte_reader reader;

	if (!wanted)
		return fail(-EOPNOTSUPP, "registers of machine %u", machine);
	if (size < wanted)
		return fail(-EBADMSG, "%zu bytes of registers", size);
	byte_reader_init(&reader, bytes, wanted);
	if (machine == EM_AARCH64) {
		/* x0 to x30, sp, pc: in DWARF's order. */
		for (int i = 0; i < REGISTER_COUNT_MAX; i++)
			result.registers[i] = byte_reader_u64(&reader);
	} else {
		for (size_t i = 0; i <= FS_BASE_WORD; i++) {
			uint64_t value = byte_reader_u64(&reader);

			if (i < sizeof(numbers_x86) && numbers_x86[i] != NOT_WANTED)
				result.registers[numbers_x86[i]] = value;
			if (i == ORIGINAL_RAX_WORD)
				result.is_system_call = (int64_t)value >= 0;
			if (i == FS_BASE_WORD)
				result.thread_pointer = value;
		}
	}
	*set = result;
	return 0;
}
