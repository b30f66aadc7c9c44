/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/go/go_runtime_code.h"

#include <elf.h>
#include <string.h>

enum {
	MAX_FIELDS = 4,
	ARM64_BYTES = 4,
	/* A load or store of 8 bytes has an offset of 12 bits that counts words. */
	ARM64_OFFSET_SHIFT = 10,
	ARM64_OFFSET_MASK = 0xfff,
};

const char *go_runtime_function_name(enum go_runtime_function function)
{
	static const char *const names[GO_RUNTIME_FUNCTION_COUNT] = {
		[GO_RUNTIME_SYSTEMSTACK] = "runtime.systemstack",
		[GO_RUNTIME_ASMCGOCALL] = "runtime.asmcgocall",
		[GO_RUNTIME_NANOTIME] = "runtime.nanotime1",
		[GO_RUNTIME_MCALL] = "runtime.mcall",
		[GO_RUNTIME_LOAD_G] = "runtime.load_g",
	};

	return names[function];
}

uint32_t go_runtime_needed(uint16_t machine)
{
	uint32_t needed = 1 << GO_RUNTIME_SYSTEMSTACK | 1 << GO_RUNTIME_ASMCGOCALL |
			  1 << GO_RUNTIME_NANOTIME;

	if (machine == EM_AARCH64)
		needed |= 1 << GO_RUNTIME_MCALL | 1 << GO_RUNTIME_LOAD_G;
	return needed;
}

static uint8_t hex_digit(char digit)
{
	return digit <= '9' ? digit - '0' : digit - 'a' + 10;
}

/*
 * True if @code begins with @pattern: bytes in hexadecimal, and B and D for signed fields of one and four
 * bytes, which are stored to @fields. *@length: the number of bytes that match.
 */
static bool matches(const char *pattern, const uint8_t *code, size_t size,
		    int32_t fields[MAX_FIELDS], size_t *length)
{
	size_t at = 0;
	int count = 0;

	for (; *pattern; pattern++) {
		if (*pattern == ' ')
			continue;
		if (*pattern == 'B') {
			if (at == size)
				return false;
			fields[count++] = (int8_t)code[at++];
		} else if (*pattern == 'D') {
			if (size - at < sizeof(int32_t))
				return false;
			memcpy(&fields[count++], code + at, sizeof(int32_t));
			at += sizeof(int32_t);
		} else {
			if (at == size ||
			    code[at++] != (hex_digit(pattern[0]) << 4 | hex_digit(pattern[1])))
				return false;
			pattern++;
		}
	}
	*length = at;
	return true;
}

/* The offset of the first match of @pattern in @code, or @size if there is none. */
static size_t find(const char *pattern, const uint8_t *code, size_t size,
		   int32_t fields[MAX_FIELDS], size_t *length)
{
	for (size_t at = 0; at < size; at++)
		if (matches(pattern, code + at, size - at, fields, length))
			return at;
	return size;
}

static bool set_offset(int32_t value, uint16_t *offset)
{
	if (value <= 0 || value > UINT16_MAX || value % 8)
		return false;
	*offset = value;
	return true;
}

/*
 * mov %fs:g,%rax in one of three forms; then mov g_m(%rax),%rbx; cmp m_gsignal(%rbx),%rax; je; mov
 * m_g0(%rbx),%rdx; cmp %rdx,%rax; je; cmp m_curg(%rbx),%rax.
 */
static bool read_x86_systemstack(struct go_runtime_code *runtime, uint64_t address,
				 const uint8_t *code, size_t size)
{
	static const struct {
		const char *pattern;
		enum go_g_location location;
	} loads[] = {
		{ "64 48 8b 04 25 D", GO_G_AT_OFFSET },
		{ "48 c7 c1 D 64 48 8b 01", GO_G_AT_OFFSET },
		{ "48 8b 0d D 64 48 8b 01", GO_G_AT_SLOT },
	};
	/* The displacement is relative to the end of the instruction. */
	const size_t slot_instruction_bytes = 7;
	int32_t fields[MAX_FIELDS];
	size_t length, ignored;

	for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
		size_t at = find(loads[i].pattern, code, size, fields, &length);
		int32_t g = fields[0];

		if (at == size ||
		    !matches("48 8b 58 30 48 3b 43 B 74 B 48 8b 13 48 39 d0 74 B 48 3b 83 D",
			     code + at + length, size - at - length, fields, &ignored) ||
		    !set_offset(fields[3], &runtime->process.m_curg))
			continue;
		runtime->location = loads[i].location;
		runtime->offset = g;
		runtime->slot = address + at + slot_instruction_bytes + g;
		return true;
	}
	return false;
}

/* and $-16,%rsp; mov %rdi,call_g(%rsp); mov 8(%rdi),%rdi; sub %rdx,%rdi; mov %rdi,call_depth(%rsp) */
static bool read_x86_asmcgocall(struct go_runtime_code *runtime, const uint8_t *code, size_t size)
{
	int32_t fields[MAX_FIELDS] = { 0 };
	size_t length;

	if (find("48 83 e4 f0 48 89 7c 24 B 48 8b 7f 08 48 29 d7 48 89 3c 24", code, size, fields,
		 &length) < size)
		runtime->process.call_depth = 0;
	else if (find("48 83 e4 f0 48 89 7c 24 B 48 8b 7f 08 48 29 d7 48 89 7c 24 B", code, size,
		      fields, &length) < size)
		runtime->process.call_depth = (uint8_t)fields[1];
	else
		return false;
	return set_offset(fields[0], &runtime->process.call_g);
}

/* mov m_vdsoPC(%rbx),%rcx; mov m_vdsoSP(%rbx),%rdx; mov %rcx,(%rsp); mov %rdx,8(%rsp) */
static bool read_x86_nanotime(struct go_runtime_code *runtime, const uint8_t *code, size_t size)
{
	int32_t fields[MAX_FIELDS];
	size_t length;

	return find("48 8b 8b D 48 8b 93 D 48 89 0c 24 48 89 54 24 08", code, size, fields,
		    &length) < size &&
	       set_offset(fields[0], &runtime->process.m_vdso_pc) &&
	       set_offset(fields[1], &runtime->process.m_vdso_sp);
}

/* An instruction of arm64: its bits, except those of an offset, which may be anything. */
struct arm64_pattern {
	uint32_t bits;
	bool has_offset;
	bool is_any;
};

/* Finds the first match of the @count @instructions; their offsets, in bytes, are stored to @fields. */
static bool find_arm64(const struct arm64_pattern *instructions, size_t count, const uint8_t *code,
		       size_t size, int32_t fields[MAX_FIELDS])
{
	for (size_t at = 0; at + count * ARM64_BYTES <= size; at += ARM64_BYTES) {
		size_t i = 0, field = 0;

		for (; i < count; i++) {
			uint32_t mask = UINT32_MAX, word;

			memcpy(&word, code + at + i * ARM64_BYTES, sizeof(word));
			if (instructions[i].has_offset) {
				mask = ~(ARM64_OFFSET_MASK << ARM64_OFFSET_SHIFT);
				fields[field++] =
					(word >> ARM64_OFFSET_SHIFT & ARM64_OFFSET_MASK) * 8;
			}
			if (!instructions[i].is_any && (word & mask) != instructions[i].bits)
				break;
		}
		if (i == count)
			return true;
	}
	return false;
}

static bool read_arm64_systemstack(struct go_runtime_code *runtime, const uint8_t *code,
				   size_t size)
{
	static const struct arm64_pattern instructions[] = {
		{ .bits = 0xf9401b84 }, /* ldr x4,[x28,#g_m] */
		{ .bits = 0xf9400085, .has_offset = true }, /* ldr x5,[x4,#m_gsignal] */
		{ .bits = 0xeb1c00bf }, /* cmp x5,x28 */
		{ .is_any = true }, /* b.eq */
		{ .bits = 0xf9400085 }, /* ldr x5,[x4,#m_g0] */
		{ .bits = 0xeb1c00bf }, /* cmp x5,x28 */
		{ .is_any = true }, /* b.eq */
		{ .bits = 0xf9400086, .has_offset = true }, /* ldr x6,[x4,#m_curg] */
	};
	int32_t fields[MAX_FIELDS];

	return find_arm64(instructions, sizeof(instructions) / sizeof(instructions[0]), code, size,
			  fields) &&
	       set_offset(fields[1], &runtime->process.m_curg);
}

static bool read_arm64_asmcgocall(struct go_runtime_code *runtime, const uint8_t *code, size_t size)
{
	static const struct arm64_pattern instructions[] = {
		{ .bits = 0xf90003e4 }, /* str x4,[sp] */
		{ .bits = 0xf9400484 }, /* ldr x4,[x4,#8] */
		{ .bits = 0xcb020084 }, /* sub x4,x4,x2 */
		{ .bits = 0xf90007e4 }, /* str x4,[sp,#8] */
	};
	int32_t fields[MAX_FIELDS];

	runtime->process.call_g = 0;
	runtime->process.call_depth = 8;
	return find_arm64(instructions, sizeof(instructions) / sizeof(instructions[0]), code, size,
			  fields);
}

static bool read_arm64_nanotime(struct go_runtime_code *runtime, const uint8_t *code, size_t size)
{
	static const struct arm64_pattern instructions[] = {
		{ .bits = 0xf9401b95 }, /* ldr x21,[x28,#g_m] */
		{ .bits = 0xf94002a2, .has_offset = true }, /* ldr x2,[x21,#m_vdsoPC] */
		{ .bits = 0xf94002a3, .has_offset = true }, /* ldr x3,[x21,#m_vdsoSP] */
		{ .bits = 0xf90007e2 }, /* str x2,[sp,#8] */
		{ .bits = 0xf9000be3 }, /* str x3,[sp,#16] */
	};
	int32_t fields[MAX_FIELDS];

	return find_arm64(instructions, sizeof(instructions) / sizeof(instructions[0]), code, size,
			  fields) &&
	       set_offset(fields[0], &runtime->process.m_vdso_pc) &&
	       set_offset(fields[1], &runtime->process.m_vdso_sp);
}

static bool read_arm64_mcall(struct go_runtime_code *runtime, const uint8_t *code, size_t size)
{
	static const struct arm64_pattern instructions[] = {
		{ .bits = 0xf900239e }, /* str x30,[x28,#g_sched+gobuf_pc] */
		{ .bits = 0xf900039f, .has_offset = true }, /* str xzr,[x28,#g_sched+gobuf_lr] */
	};
	int32_t fields[MAX_FIELDS];

	return find_arm64(instructions, sizeof(instructions) / sizeof(instructions[0]), code, size,
			  fields) &&
	       set_offset(fields[0], &runtime->process.g_sched_lr);
}

/* Instructions that are read one by one. */
struct arm64_reader {
	uint64_t address;
	const uint8_t *code;
	size_t size;
	size_t at;
};

/* Reads the next instruction if its bits, except those in the mask @fields, are @bits. */
static bool take_arm64(struct arm64_reader *reader, uint32_t bits, uint32_t fields, uint32_t *word)
{
	if (reader->size - reader->at < ARM64_BYTES)
		return false;
	memcpy(word, reader->code + reader->at, sizeof(*word));
	if ((*word & ~fields) != bits)
		return false;
	reader->at += ARM64_BYTES;
	return true;
}

static uint32_t arm64_offset(uint32_t word)
{
	return word >> ARM64_OFFSET_SHIFT & ARM64_OFFSET_MASK;
}

/* adrp x27 */
static bool take_page(struct arm64_reader *reader, uint64_t *page)
{
	uint64_t pc = reader->address + reader->at;
	uint32_t word, pages;

	if (!take_arm64(reader, 0x9000001b, 0x60ffffe0, &word))
		return false;
	pages = (word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3);
	*page = (pc & ~0xfffULL) + ((uint64_t)((int64_t)((uint64_t)pages << 43) >> 43) << 12);
	return true;
}

/* The load of the flag to x0: ldrsb x0,[x27,#flag], or ldrsb x0,[x27] after add x27 or ldr x27. */
static bool take_c_flag(struct arm64_reader *reader, struct go_runtime_code *runtime)
{
	enum { OFFSET = ARM64_OFFSET_MASK << ARM64_OFFSET_SHIFT };
	uint64_t page;
	uint32_t word;

	runtime->has_c_flag_slot = false;
	if (!take_page(reader, &page))
		return false;
	if (take_arm64(reader, 0x9100037b, OFFSET, &word)) {
		runtime->c_flag = page + arm64_offset(word);
	} else if (take_arm64(reader, 0xf940037b, OFFSET, &word)) {
		runtime->c_flag = page + 8ULL * arm64_offset(word);
		runtime->has_c_flag_slot = true;
	} else if (take_arm64(reader, 0x39800360, OFFSET, &word)) {
		runtime->c_flag = page + arm64_offset(word);
		return true;
	}
	return take_arm64(reader, 0x39800360, 0, &word);
}

/* The offset of g in x27: an immediate in one or two instructions, or loaded from a slot. */
static bool take_g_offset(struct arm64_reader *reader, struct go_runtime_code *runtime)
{
	enum { VALUE_SHIFT = 5, VALUE = 0xffff << VALUE_SHIFT };
	uint32_t high = 0, low;
	uint64_t page;

	runtime->location = GO_G_AT_OFFSET;
	if (take_arm64(reader, 0xd280001b, VALUE, &low) ||
	    (take_arm64(reader, 0xd2a0001b, VALUE, &high) &&
	     take_arm64(reader, 0xf280001b, VALUE, &low))) {
		runtime->offset = (int32_t)((high & VALUE) << (16 - VALUE_SHIFT) |
					    (low & VALUE) >> VALUE_SHIFT);
		return true;
	}
	if (!take_page(reader, &page) ||
	    !take_arm64(reader, 0xf940037b, ARM64_OFFSET_MASK << ARM64_OFFSET_SHIFT, &low))
		return false;
	runtime->location = GO_G_AT_SLOT;
	runtime->slot = page + 8ULL * arm64_offset(low);
	return true;
}

static bool read_arm64_load_g(struct go_runtime_code *runtime, uint64_t address,
			      const uint8_t *code, size_t size)
{
	for (size_t at = 0; at < size; at += ARM64_BYTES) {
		struct arm64_reader reader = { address, code, size, at };
		struct go_runtime_code found = *runtime;
		uint32_t word;

		/* cbz x0; mrs x0,tpidr_el0; ...; ldr x28,[x0,x27] */
		if (!take_c_flag(&reader, &found) ||
		    !take_arm64(&reader, 0xb4000000, 0xffffe0, &word) ||
		    !take_arm64(&reader, 0xd53bd040, 0, &word) || !take_g_offset(&reader, &found) ||
		    !take_arm64(&reader, 0xf87b681c, 0, &word))
			continue;
		*runtime = found;
		return true;
	}
	return false;
}

static bool read_x86(struct go_runtime_code *runtime, enum go_runtime_function function,
		     uint64_t address, const uint8_t *code, size_t size)
{
	switch (function) {
	case GO_RUNTIME_SYSTEMSTACK:
		return read_x86_systemstack(runtime, address, code, size);
	case GO_RUNTIME_ASMCGOCALL:
		return read_x86_asmcgocall(runtime, code, size);
	case GO_RUNTIME_NANOTIME:
		return read_x86_nanotime(runtime, code, size);
	case GO_RUNTIME_MCALL:
	case GO_RUNTIME_LOAD_G:
	case GO_RUNTIME_FUNCTION_COUNT:
		break;
	}
	return false;
}

static bool read_arm64(struct go_runtime_code *runtime, enum go_runtime_function function,
		       uint64_t address, const uint8_t *code, size_t size)
{
	switch (function) {
	case GO_RUNTIME_SYSTEMSTACK:
		return read_arm64_systemstack(runtime, code, size);
	case GO_RUNTIME_ASMCGOCALL:
		return read_arm64_asmcgocall(runtime, code, size);
	case GO_RUNTIME_NANOTIME:
		return read_arm64_nanotime(runtime, code, size);
	case GO_RUNTIME_MCALL:
		return read_arm64_mcall(runtime, code, size);
	case GO_RUNTIME_LOAD_G:
		return read_arm64_load_g(runtime, address, code, size);
	case GO_RUNTIME_FUNCTION_COUNT:
		break;
	}
	return false;
}

bool go_runtime_code_read(struct go_runtime_code *runtime, uint16_t machine,
			  enum go_runtime_function function, uint64_t address, const uint8_t *code,
			  size_t size)
{
	if (machine == EM_AARCH64 ? !read_arm64(runtime, function, address, code, size) :
				    !read_x86(runtime, function, address, code, size))
		return false;
	runtime->found |= 1 << function;
	return true;
}
