/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the runtime's functions, as each of these versions has them, cut and damaged. */
#include "stackdeltas/go_arm64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "ebpf/abi/go.h"
#include "stackdeltas/go_rules.h"
#include "stackdeltas/tests/go_arm64_words.h"

enum {
	ADDRESS = 0x85000,
	/* Up to the function's end. */
	WHOLE = 0,
	MOV_SP_X1 = 0x9100003f,
	MOV_SP_SP = 0x910003ff,
};

struct known_part {
	uint32_t start;
	uint32_t end;
	enum go_arm64_kind kind;
	int16_t offset;
};

static const struct known {
	const uint32_t *words;
	size_t bytes;
	uint32_t role;
	/* So many of the bytes decide. */
	size_t needed;
	uint32_t count;
	struct known_part parts[GO_ARM64_PARTS_MAX];
} known[] = {
#define WORDS(name) name, sizeof(name)
	{ WORDS(systemstack_27),
	  GO_SWITCH_SYSTEMSTACK,
	  0xa0,
	  2,
	  { { 0x60, 0x7c, GO_ARM64_SWITCHED, 0 }, { 0x9c, WHOLE, GO_ARM64_POPPED, 0 } } },
	{ WORDS(asmcgocall_27),
	  GO_SWITCH_ASMCGOCALL,
	  0xdc,
	  4,
	  { { 0x54, 0x78, GO_ARM64_CALLING, 0 },
	    { 0x78, 0x9c, GO_ARM64_SWITCHED, 0 },
	    { 0xc4, 0xd0, GO_ARM64_CALLING, 0 },
	    { 0xd0, 0xdc, GO_ARM64_SWITCHED, 0 } } },
	{ WORDS(mcall_27), GO_SWITCH_MCALL, 0x3c, 1, { { 0x24, WHOLE, GO_ARM64_SWITCHED, 0 } } },
	{ WORDS(morestack_16),
	  GO_SWITCH_MORESTACK,
	  0x64,
	  2,
	  { { 0, 0x58, GO_ARM64_GROWING, 0 }, { 0x58, WHOLE, GO_ARM64_SWITCHED, 0 } } },
	{ WORDS(morestack_27),
	  GO_SWITCH_MORESTACK,
	  0x64,
	  2,
	  { { 0, 0x58, GO_ARM64_GROWING, 0 }, { 0x58, WHOLE, GO_ARM64_SWITCHED, 0 } } },
	{ WORDS(gogo_16), GO_SWITCH_GOGO, 0x24, 1, { { 0x14, WHOLE, GO_ARM64_SWITCHED, 0 } } },
	{ WORDS(gogo_27), GO_SWITCH_GOGO, 0x10, 1, { { 0x4, WHOLE, GO_ARM64_SWITCHED, 0 } } },
	{ WORDS(crosscall2_16), GO_ROLE_FROM_C, 0x98, 1, { { 0x40, 0x98, GO_ARM64_SAVED, 0x70 } } },
	{ WORDS(crosscall2_27), GO_ROLE_FROM_C, 0x64, 1, { { 0x34, 0x64, GO_ARM64_SAVED, 0xb0 } } },
};

enum { KNOWN_COUNT = sizeof(known) / sizeof(known[0]) };

/* From memory of the very size, so that reading beyond it shows. */
static uint32_t find(const struct known *of, size_t bytes,
		     struct go_arm64_part parts[GO_ARM64_PARTS_MAX])
{
	uint8_t *code = malloc(bytes + !bytes);
	uint32_t count;

	memcpy(code, of->words, bytes);
	count = go_arm64_find_parts(of->role, ADDRESS, ADDRESS + of->bytes, code, bytes, parts);
	free(code);
	return count;
}

static void functions_of_each_version_have_their_parts(void **state)
{
	(void)state;
	for (int i = 0; i < KNOWN_COUNT; i++) {
		struct go_arm64_part parts[GO_ARM64_PARTS_MAX];

		assert_int_equal(find(&known[i], known[i].bytes, parts), known[i].count);
		for (uint32_t k = 0; k < known[i].count; k++) {
			const struct known_part *part = &known[i].parts[k];

			assert_int_equal(parts[k].start, ADDRESS + part->start);
			assert_int_equal(parts[k].end,
					 ADDRESS +
						 (part->end == WHOLE ? known[i].bytes : part->end));
			assert_int_equal(parts[k].kind, part->kind);
			assert_int_equal(parts[k].offset, part->offset);
		}
	}
}

static void code_that_is_cut_has_fewer(void **state)
{
	(void)state;
	for (int i = 0; i < KNOWN_COUNT; i++) {
		struct go_arm64_part parts[GO_ARM64_PARTS_MAX];

		for (size_t bytes = 0; bytes <= known[i].bytes; bytes++) {
			uint32_t count = find(&known[i], bytes, parts);

			assert_int_equal(count == known[i].count, bytes >= known[i].needed);
			assert_in_range(count, 0, known[i].count);
		}
	}
}

static void wrappers_and_functions_that_go_elsewhere_have_none(void **state)
{
	const struct known jump = { WORDS(runtime_gogo_27), GO_SWITCH_GOGO, 0, 0, { { 0 } } };
	struct go_arm64_part parts[GO_ARM64_PARTS_MAX];

	(void)state;
	assert_int_equal(find(&jump, jump.bytes, parts), 0);
	for (int i = 0; i < KNOWN_COUNT; i++) {
		struct known other = known[i];

		other.role = GO_SWITCH_VDSO;
		assert_int_equal(find(&other, other.bytes, parts), 0);
	}
}

static void what_grows_has_no_stack_of_its_own(void **state)
{
	/* morestack_noctxt(): it says that it writes to the stack pointer, and goes on to morestack(). */
	const uint32_t words[] = { MOV_SP_SP, 0x2a1f03fa, 0x17ffff40 };
	const struct known grows = { WORDS(words), GO_SWITCH_GROWING, 0, 0, { { 0 } } };
	struct known other = grows;
	struct go_arm64_part parts[GO_ARM64_PARTS_MAX];

	(void)state;
	assert_int_equal(find(&grows, sizeof(words), parts), 1);
	assert_int_equal(parts[0].start, ADDRESS);
	assert_int_equal(parts[0].end, ADDRESS + sizeof(words));
	assert_int_equal(parts[0].kind, GO_ARM64_GROWING);
	other.role = GO_SWITCH_SYSTEMSTACK;
	assert_int_equal(find(&other, sizeof(words), parts), 0);
}

static void no_more_parts_are_found_than_there_is_room_for(void **state)
{
	uint32_t words[64];
	struct known many = { words, sizeof(words), GO_SWITCH_ASMCGOCALL, 0, 0, { { 0 } } };
	struct go_arm64_part parts[GO_ARM64_PARTS_MAX + 1];

	(void)state;
	/* mov sp,x1; blr x1; mov sp,x1 */
	for (int i = 0; i < 64; i++)
		words[i] = i % 3 == 1 ? 0xd63f0020 : MOV_SP_X1;
	memset(parts, 0xee, sizeof(parts));
	assert_int_equal(find(&many, sizeof(words), parts), GO_ARM64_PARTS_MAX);
	assert_int_equal(parts[GO_ARM64_PARTS_MAX].kind, 0xeeeeeeee);
	many.role = GO_SWITCH_SYSTEMSTACK;
	assert_in_range(find(&many, sizeof(words), parts), 1, GO_ARM64_PARTS_MAX);
	assert_int_equal(parts[GO_ARM64_PARTS_MAX].kind, 0xeeeeeeee);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_each_version_have_their_parts),
		cmocka_unit_test(code_that_is_cut_has_fewer),
		cmocka_unit_test(wrappers_and_functions_that_go_elsewhere_have_none),
		cmocka_unit_test(what_grows_has_no_stack_of_its_own),
		cmocka_unit_test(no_more_parts_are_found_than_there_is_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
