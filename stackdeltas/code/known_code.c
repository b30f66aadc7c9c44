/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of bytes around system calls. */
#include "stackdeltas/code/known_code.h"

#include <elf.h>
#include <string.h>

#include "lib/isa/arm64_decode.h"

enum {
	X86_SYSCALL_BYTES = 2,
	/* Limit of the distance from the load of the number to the system call in __clone; it is 33 bytes. */
	CLONE_MAX_BYTES = 64,
	/* arm64's register with the number of a system call; numbers of system calls. */
	ARM64_NUMBER = 8,
	ARM64_EXIT = 93,
	ARM64_EXIT_GROUP = 94,
	ARM64_RT_SIGRETURN = 139,
	ARM64_CLONE = 220,
};

/* True if @pattern is at @offset. */
static bool stands_at(const uint8_t *bytes, size_t size, size_t offset, const void *pattern,
		      size_t pattern_bytes)
{
	return offset <= size && pattern_bytes <= size - offset &&
	       !memcmp(bytes + offset, pattern, pattern_bytes);
}

/* True if @pattern ends at @offset. */
static bool ends_at(const uint8_t *bytes, size_t offset, const void *pattern, size_t pattern_bytes)
{
	return pattern_bytes <= offset &&
	       !memcmp(bytes + offset - pattern_bytes, pattern, pattern_bytes);
}

static bool x86_number_is_clone(const uint8_t *bytes, size_t offset)
{
	static const uint8_t number[] = { 0x31, 0xc0, 0xb0, 0x38 }; /* xor eax,eax; mov $56,al */

	for (size_t back = 0; back < CLONE_MAX_BYTES && back < offset; back++)
		if (ends_at(bytes, offset - back, number, sizeof(number)))
			return true;
	return false;
}

static enum known_syscall x86_syscall(const uint8_t *bytes, size_t size, size_t offset,
				      size_t *entry)
{
	static const uint8_t exits[][5] = {
		{ 0xb8, 0x3c, 0, 0, 0 }, /* mov $60,eax */
		{ 0xb8, 0xe7, 0, 0, 0 }, /* mov $231,eax */
	};
	static const uint8_t short_exit[] = { 0x31, 0xc0, 0xb0, 0x3c }; /* xor; mov $60,al */
	static const uint8_t signal_return[] = { 0x48, 0xc7, 0xc0, 15, 0, 0, 0 }; /* mov $15,rax */
	static const uint8_t test[] = { 0x85, 0xc0, 0x75 }; /* test eax,eax; jne */
	static const uint8_t child[] = { 0x31, 0xed }; /* xor ebp,ebp: psABI, the outermost frame */
	size_t next = offset + X86_SYSCALL_BYTES;

	if (ends_at(bytes, offset, exits[0], sizeof(exits[0])) ||
	    ends_at(bytes, offset, exits[1], sizeof(exits[1])) ||
	    ends_at(bytes, offset, short_exit, sizeof(short_exit)))
		return KNOWN_SYSCALL_EXIT;
	if (ends_at(bytes, offset, signal_return, sizeof(signal_return))) {
		*entry = offset - sizeof(signal_return);
		return KNOWN_SYSCALL_SIGNAL_RETURN;
	}
	if (stands_at(bytes, size, next, test, sizeof(test)) &&
	    stands_at(bytes, size, next + sizeof(test) + 1, child, sizeof(child)) &&
	    x86_number_is_clone(bytes, offset)) {
		*entry = next + sizeof(test) + 1;
		return KNOWN_SYSCALL_CLONE;
	}
	return KNOWN_SYSCALL_NONE;
}

static struct arm64_instruction arm64_at(const uint8_t *bytes, size_t offset)
{
	struct arm64_instruction instruction;
	uint32_t word = bytes[offset] | bytes[offset + 1] << 8 | bytes[offset + 2] << 16 |
			(uint32_t)bytes[offset + 3] << 24;

	/* At address 0 the target is the distance. */
	arm64_decode(word, 0, &instruction);
	return instruction;
}

/* cbz x0 (or w0), forward; ret */
static bool arm64_child_branches(const uint8_t *bytes, size_t offset, size_t *entry)
{
	struct arm64_instruction branch = arm64_at(bytes, offset);
	struct arm64_instruction next = arm64_at(bytes, offset + ARM64_INSTRUCTION_BYTES);

	if (branch.operation != ARM64_BRANCH_ZERO || branch.is_opposite || branch.rd ||
	    (int64_t)branch.target < 0 || next.operation != ARM64_RETURN || next.rn != ARM64_LR)
		return false;
	*entry = offset + branch.target;
	return true;
}

static enum known_syscall arm64_syscall(const uint8_t *bytes, size_t size, size_t offset,
					size_t *entry)
{
	struct arm64_instruction before;

	if (offset < ARM64_INSTRUCTION_BYTES)
		return KNOWN_SYSCALL_NONE;
	before = arm64_at(bytes, offset - ARM64_INSTRUCTION_BYTES);
	if (before.operation != ARM64_MOVZ || before.rd != ARM64_NUMBER)
		return KNOWN_SYSCALL_NONE;
	if (before.immediate == ARM64_EXIT || before.immediate == ARM64_EXIT_GROUP)
		return KNOWN_SYSCALL_EXIT;
	if (before.bytes != 8)
		return KNOWN_SYSCALL_NONE;
	if (before.immediate == ARM64_RT_SIGRETURN) {
		*entry = offset - ARM64_INSTRUCTION_BYTES;
		return KNOWN_SYSCALL_SIGNAL_RETURN;
	}
	if (before.immediate == ARM64_CLONE && size - offset >= 3 * ARM64_INSTRUCTION_BYTES &&
	    arm64_child_branches(bytes, offset + ARM64_INSTRUCTION_BYTES, entry))
		return KNOWN_SYSCALL_CLONE;
	return KNOWN_SYSCALL_NONE;
}

bool known_code_is_landing(uint16_t machine, const uint8_t *bytes, size_t size, size_t offset)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const uint8_t paciasp[] = { 0x3f, 0x23, 0x03, 0xd5 };
	static const uint8_t bti_c[] = { 0x5f, 0x24, 0x03, 0xd5 };

	if (machine == EM_X86_64)
		return stands_at(bytes, size, offset, endbr64, sizeof(endbr64));
	return stands_at(bytes, size, offset, paciasp, sizeof(paciasp)) ||
	       stands_at(bytes, size, offset, bti_c, sizeof(bti_c));
}

enum known_syscall known_code_syscall(uint16_t machine, const uint8_t *bytes, size_t size,
				      size_t offset, size_t *entry)
{
	if (machine == EM_X86_64)
		return x86_syscall(bytes, size, offset, entry);
	return arm64_syscall(bytes, size, offset, entry);
}
