/* SPDX-License-Identifier: Apache-2.0 */
/* Reads functions of Go's runtime in some versions, whole, cut and damaged. */
#include "interpreters/go/go_runtime_code.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "interpreters/go/tests/runtime_bytes.h"

enum {
	ADDRESS = 0x6d0c0,
	/* The value for no function of the table below. */
	NOTHING = GO_RUNTIME_FUNCTION_COUNT,
};

static const struct known {
	const uint8_t *code;
	size_t size;
	/* The number of bytes that are needed for a match. */
	size_t needed;
	uint16_t machine;
	enum go_runtime_function function;
	/* Expected results: location, offset and slot of g; fields of struct go_process. */
	enum go_g_location location;
	int32_t offset;
	uint64_t slot;
	uint16_t fields[2];
} known[] = {
#define BYTES(name) name, sizeof(name)
	{ BYTES(systemstack_16),
	  39,
	  EM_X86_64,
	  GO_RUNTIME_SYSTEMSTACK,
	  GO_G_AT_OFFSET,
	  -8,
	  0,
	  { 192, 192 } },
	{ BYTES(systemstack_21_pie),
	  45,
	  EM_X86_64,
	  GO_RUNTIME_SYSTEMSTACK,
	  GO_G_AT_OFFSET,
	  -8,
	  0,
	  { 192, 192 } },
	{ BYTES(systemstack_21_shared),
	  45,
	  EM_X86_64,
	  GO_RUNTIME_SYSTEMSTACK,
	  GO_G_AT_SLOT,
	  0,
	  0xf4fa8,
	  { 192, 192 } },
	{ BYTES(systemstack_27),
	  43,
	  EM_X86_64,
	  GO_RUNTIME_SYSTEMSTACK,
	  GO_G_AT_OFFSET,
	  -8,
	  0,
	  { 184, 184 } },
	{ BYTES(asmcgocall_16), 37, EM_X86_64, GO_RUNTIME_ASMCGOCALL, 0, 0, 0, { 0x30, 0x28 } },
	{ BYTES(asmcgocall_27), 36, EM_X86_64, GO_RUNTIME_ASMCGOCALL, 0, 0, 0, { 8, 0 } },
	{ BYTES(nanotime_16), 39, EM_X86_64, GO_RUNTIME_NANOTIME, 0, 0, 0, { 840, 832 } },
	{ BYTES(nanotime_27), 38, EM_X86_64, GO_RUNTIME_NANOTIME, 0, 0, 0, { 904, 896 } },
	{ BYTES(arm64_systemstack_21),
	  52,
	  EM_AARCH64,
	  GO_RUNTIME_SYSTEMSTACK,
	  0,
	  0,
	  0,
	  { 192, 192 } },
	{ BYTES(arm64_systemstack_27),
	  52,
	  EM_AARCH64,
	  GO_RUNTIME_SYSTEMSTACK,
	  0,
	  0,
	  0,
	  { 184, 184 } },
	{ BYTES(arm64_asmcgocall_27), 32, EM_AARCH64, GO_RUNTIME_ASMCGOCALL, 0, 0, 0, { 0, 8 } },
	{ BYTES(arm64_nanotime_21), 36, EM_AARCH64, GO_RUNTIME_NANOTIME, 0, 0, 0, { 816, 808 } },
	{ BYTES(arm64_nanotime_27), 36, EM_AARCH64, GO_RUNTIME_NANOTIME, 0, 0, 0, { 904, 896 } },
	{ BYTES(arm64_mcall_21), 24, EM_AARCH64, GO_RUNTIME_MCALL, 0, 0, 0, { 96, 96 } },
	{ BYTES(arm64_mcall_27), 24, EM_AARCH64, GO_RUNTIME_MCALL, 0, 0, 0, { 88, 88 } },
	{ BYTES(arm64_load_g_16), 28, EM_AARCH64, GO_RUNTIME_LOAD_G, 0, 0, 0, { 0 } },
	{ BYTES(arm64_load_g_27), 24, EM_AARCH64, GO_RUNTIME_LOAD_G, 0, 0, 0, { 0 } },
	{ BYTES(arm64_load_g_27_pie), 28, EM_AARCH64, GO_RUNTIME_LOAD_G, 0, 0, 0, { 0 } },
	{ BYTES(arm64_load_g_27_shared), 28, EM_AARCH64, GO_RUNTIME_LOAD_G, 0, 0, 0, { 0 } },
	{ BYTES(arm64_load_g_27_plugin), 32, EM_AARCH64, GO_RUNTIME_LOAD_G, 0, 0, 0, { 0 } },
};

/* Expected results for arm64's load_g() at the original addresses; the programs' symbols and slots agree. */
static const struct known_g {
	const uint8_t *code;
	size_t size;
	uint64_t address;
	enum go_g_location location;
	int32_t offset;
	uint64_t slot;
	uint64_t c_flag;
	bool has_c_flag_slot;
} known_gs[] = {
	{ BYTES(arm64_load_g_16), 0x68940, GO_G_AT_OFFSET, 16, 0, 0xe0260, false },
	{ BYTES(arm64_load_g_27), 0x883d0, GO_G_AT_OFFSET, 16, 0, 0x1308e4, false },
	{ BYTES(arm64_load_g_27_pie), 0x883d0, GO_G_AT_OFFSET, 16, 0, 0x160764, false },
	{ BYTES(arm64_load_g_27_shared), 0x93c00, GO_G_AT_SLOT, 0, 0x14ff70, 0x154c04, false },
	{ BYTES(arm64_load_g_27_plugin), 0xc8020, GO_G_AT_SLOT, 0, 0x17f578, 0x17f628, true },
};

enum { KNOWN_COUNT = sizeof(known) / sizeof(known[0]), CODE_MAX_BYTES = 128 };

/* Reads from an allocation of exactly @size bytes, so that the sanitizer sees a read beyond it. */
static bool read_code(struct go_runtime_code *runtime, const struct known *of, size_t size)
{
	uint8_t *code = malloc(size + !size);
	bool is_read;

	memset(runtime, 0, sizeof(*runtime));
	memcpy(code, of->code, size);
	is_read = go_runtime_code_read(runtime, of->machine, of->function, ADDRESS, code, size);
	free(code);
	return is_read;
}

static void assert_process(const struct known *of, const struct go_process *process)
{
	uint16_t found[][2] = {
		[GO_RUNTIME_SYSTEMSTACK] = { process->m_curg, process->m_curg },
		[GO_RUNTIME_ASMCGOCALL] = { process->call_g, process->call_depth },
		[GO_RUNTIME_NANOTIME] = { process->m_vdso_pc, process->m_vdso_sp },
		[GO_RUNTIME_MCALL] = { process->g_sched_lr, process->g_sched_lr },
		[GO_RUNTIME_LOAD_G] = { 0, 0 },
	};

	assert_memory_equal(found[of->function], of->fields, sizeof(of->fields));
}

static void functions_of_each_version_are_read(void **state)
{
	(void)state;
	for (int i = 0; i < KNOWN_COUNT; i++) {
		struct go_runtime_code runtime;

		assert_true(read_code(&runtime, &known[i], known[i].size));
		assert_int_equal(runtime.found, 1 << known[i].function);
		assert_process(&known[i], &runtime.process);
		if (known[i].function != GO_RUNTIME_SYSTEMSTACK)
			continue;
		assert_int_equal(runtime.location, known[i].location);
		if (known[i].location == GO_G_AT_OFFSET)
			assert_int_equal(runtime.offset, known[i].offset);
		if (known[i].location == GO_G_AT_SLOT)
			assert_int_equal(runtime.slot, known[i].slot);
	}
}

static void load_g_tells_where_g_is_with_c(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(known_gs) / sizeof(known_gs[0]); i++) {
		const struct known_g *g = &known_gs[i];
		struct go_runtime_code runtime = { 0 };

		assert_true(go_runtime_code_read(&runtime, EM_AARCH64, GO_RUNTIME_LOAD_G,
						 g->address, g->code, g->size));
		assert_int_equal(runtime.location, g->location);
		assert_int_equal(runtime.offset, g->offset);
		assert_int_equal(runtime.slot, g->slot);
		assert_int_equal(runtime.c_flag, g->c_flag);
		assert_int_equal(runtime.has_c_flag_slot, g->has_c_flag_slot);
	}
}

/* adrp and a pair of movz and movk whose values use all their bits. */
static void numbers_in_load_g_have_all_their_bits(void **state)
{
	uint32_t words[8];
	struct go_runtime_code runtime = { 0 };

	(void)state;
	memcpy(words, arm64_load_g_27_pie, sizeof(words));
	/* The targets are 0x1001 pages before the code, and far after it. */
	words[0] = 0xf0ff7fdb;
	words[4] |= 0x1234 << 5;
	words[5] = 0xf280001b | 0x5678 << 5;
	assert_true(go_runtime_code_read(&runtime, EM_AARCH64, GO_RUNTIME_LOAD_G, 0x10000000,
					 (const uint8_t *)words, sizeof(words)));
	assert_int_equal(runtime.c_flag, 0x10000000 - 0x1005ULL * 0x1000 + 0x764);
	assert_int_equal(runtime.offset, 0x12345678);
}

static void code_that_is_cut_is_refused(void **state)
{
	(void)state;
	for (int i = 0; i < KNOWN_COUNT; i++) {
		struct go_runtime_code runtime;

		for (size_t size = 0; size <= known[i].size; size++) {
			assert_int_equal(read_code(&runtime, &known[i], size),
					 size >= known[i].needed);
			assert_int_equal(!!runtime.found, size >= known[i].needed);
		}
	}
}

static void functions_may_begin_otherwise(void **state)
{
	(void)state;
	for (int i = 0; i < KNOWN_COUNT; i++) {
		uint8_t code[CODE_MAX_BYTES] = { 0 };
		struct known later = known[i];
		struct go_runtime_code runtime;

		/* Instructions of arm64 are aligned. */
		for (size_t lead = 1; lead < 9; lead++) {
			bool is_whole = known[i].machine == EM_X86_64 || lead % 4 == 0;

			memcpy(code + lead, known[i].code, known[i].size);
			later.code = code;
			later.size = known[i].size + lead;
			assert_int_equal(read_code(&runtime, &later, later.size), is_whole);
			if (is_whole)
				assert_process(&known[i], &runtime.process);
			if (is_whole && known[i].function == GO_RUNTIME_SYSTEMSTACK &&
			    known[i].location == GO_G_AT_SLOT)
				assert_int_equal(runtime.slot, known[i].slot + lead);
		}
	}
}

static void functions_are_not_taken_for_each_other(void **state)
{
	(void)state;
	for (int i = 0; i < KNOWN_COUNT; i++) {
		for (int k = 0; k <= NOTHING; k++) {
			struct known other = known[i];
			struct go_runtime_code runtime;

			other.function = k;
			assert_int_equal(read_code(&runtime, &other, other.size),
					 k == (int)known[i].function);
			other.machine = other.machine == EM_X86_64 ? EM_AARCH64 : EM_X86_64;
			assert_false(read_code(&runtime, &other, other.size));
		}
	}
}

static void a_wrapper_is_none_of_them(void **state)
{
	const struct known wrappers[] = {
		{ BYTES(asmcgocall_wrapper_27), 0, EM_X86_64, 0, 0, 0, 0, { 0 } },
		{ BYTES(arm64_asmcgocall_wrapper_27), 0, EM_AARCH64, 0, 0, 0, 0, { 0 } },
	};

	(void)state;
	for (int i = 0; i < 2; i++) {
		for (int k = 0; k <= NOTHING; k++) {
			struct known wrapper = wrappers[i];
			struct go_runtime_code runtime;

			wrapper.function = k;
			assert_false(read_code(&runtime, &wrapper, wrapper.size));
			assert_int_equal(runtime.found, 0);
		}
	}
}

/* True if code @index is still read after its @bytes bytes at @at are set to @value. */
static bool is_read_with(int index, size_t at, uint32_t value, size_t bytes)
{
	uint8_t code[CODE_MAX_BYTES];
	struct known other = known[index];
	struct go_runtime_code runtime;

	memcpy(code, other.code, other.size);
	memcpy(code + at, &value, bytes);
	other.code = code;
	return read_code(&runtime, &other, other.size);
}

static void offsets_that_cannot_be_are_refused(void **state)
{
	enum { SYSTEMSTACK_16 = 0, ASMCGOCALL_27 = 5, NANOTIME_16 = 6, ARM64_SYSTEMSTACK_27 = 9 };

	(void)state;
	/* The last four bytes are m_curg. */
	assert_true(is_read_with(SYSTEMSTACK_16, 35, 0xfff8, 4));
	assert_false(is_read_with(SYSTEMSTACK_16, 35, 0x10000, 4));
	assert_false(is_read_with(SYSTEMSTACK_16, 35, 0, 4));
	assert_false(is_read_with(SYSTEMSTACK_16, 35, (uint32_t)-8, 4));
	assert_false(is_read_with(SYSTEMSTACK_16, 35, 0xc4, 4));
	assert_true(is_read_with(ASMCGOCALL_27, 24, 0x78, 1));
	assert_false(is_read_with(ASMCGOCALL_27, 24, 0x80, 1));
	assert_false(is_read_with(ASMCGOCALL_27, 24, 0, 1));
	/* m_vdsoPC, m_vdsoSP */
	assert_true(is_read_with(NANOTIME_16, 19, 8, 4));
	assert_false(is_read_with(NANOTIME_16, 19, 9, 4));
	assert_false(is_read_with(NANOTIME_16, 26, 9, 4));
	/* ldr x6,[x4]: m_curg is not the first field. */
	assert_false(is_read_with(ARM64_SYSTEMSTACK_27, 48, 0xf9400086, 4));
}

/* All bytes are compared, except offsets and the distances of jumps. */
static void instructions_are_compared_whole(void **state)
{
	(void)state;
	for (int i = 0; i < KNOWN_COUNT; i++) {
		size_t refused = 0;

		for (size_t at = 0; at < known[i].needed; at++)
			refused += !is_read_with(i, at, known[i].code[at] ^ 1, 1);
		/* arm64's mcall() has the fewest: 8 bytes. */
		assert_true(refused >= 6);
	}
}

static void what_is_needed_has_names(void **state)
{
	uint32_t x86 = go_runtime_needed(EM_X86_64), arm64 = go_runtime_needed(EM_AARCH64);

	(void)state;
	assert_int_equal(x86, 7);
	assert_int_equal(arm64, x86 | 1 << GO_RUNTIME_MCALL | 1 << GO_RUNTIME_LOAD_G);
	assert_string_equal(go_runtime_function_name(GO_RUNTIME_SYSTEMSTACK),
			    "runtime.systemstack");
	assert_string_equal(go_runtime_function_name(GO_RUNTIME_ASMCGOCALL), "runtime.asmcgocall");
	assert_string_equal(go_runtime_function_name(GO_RUNTIME_NANOTIME), "runtime.nanotime1");
	assert_string_equal(go_runtime_function_name(GO_RUNTIME_MCALL), "runtime.mcall");
	assert_string_equal(go_runtime_function_name(GO_RUNTIME_LOAD_G), "runtime.load_g");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_each_version_are_read),
		cmocka_unit_test(load_g_tells_where_g_is_with_c),
		cmocka_unit_test(numbers_in_load_g_have_all_their_bits),
		cmocka_unit_test(code_that_is_cut_is_refused),
		cmocka_unit_test(functions_may_begin_otherwise),
		cmocka_unit_test(functions_are_not_taken_for_each_other),
		cmocka_unit_test(a_wrapper_is_none_of_them),
		cmocka_unit_test(offsets_that_cannot_be_are_refused),
		cmocka_unit_test(instructions_are_compared_whole),
		cmocka_unit_test(what_is_needed_has_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
