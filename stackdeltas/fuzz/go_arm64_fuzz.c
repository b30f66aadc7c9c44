/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of Go's runtime for arm64 with changes, and code of any bytes, in any role. The parts that are found are
 * sorted, and lie in the function. The code ends where its memory does, so that reading beyond it shows.
 *
 * covers: go_arm64.c
 */
#include "stackdeltas/go_arm64.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ebpf/abi/go.h"
#include "lib/base/fuzz/edit_bytes.h"
#include "stackdeltas/go_rules.h"
#include "stackdeltas/tests/go_arm64_words.h"

enum {
	ADDRESS = 0x85000,
	/* Some values that are no role, too. */
	ROLES = GO_ROLE_VFORK + 3,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct function {
	const uint32_t *words;
	size_t bytes;
	uint32_t role;
} functions[] = {
#define WORDS(name) name, sizeof(name)
	{ WORDS(systemstack_27), GO_SWITCH_SYSTEMSTACK },
	{ WORDS(asmcgocall_27), GO_SWITCH_ASMCGOCALL },
	{ WORDS(mcall_27), GO_SWITCH_MCALL },
	{ WORDS(morestack_16), GO_SWITCH_MORESTACK },
	{ WORDS(morestack_27), GO_SWITCH_MORESTACK },
	{ WORDS(gogo_16), GO_SWITCH_GOGO },
	{ WORDS(gogo_27), GO_SWITCH_GOGO },
	{ WORDS(runtime_gogo_27), GO_SWITCH_GOGO },
	{ WORDS(crosscall2_16), GO_ROLE_FROM_C },
	{ WORDS(crosscall2_27), GO_ROLE_FROM_C },
#undef WORDS
};

enum { FUNCTIONS = sizeof(functions) / sizeof(functions[0]) };

static void find(uint32_t role, const void *code, size_t bytes)
{
	struct go_arm64_part parts[GO_ARM64_PARTS_MAX];
	uint8_t *exact = malloc(bytes + !bytes);
	/* The function may be longer than what is read of it. */
	uint64_t end = ADDRESS + bytes + 64, last = ADDRESS;
	uint32_t count;

	assert(exact);
	memcpy(exact, code, bytes);
	count = go_arm64_find_parts(role, ADDRESS, end, exact, bytes, parts);
	assert(count <= GO_ARM64_PARTS_MAX);
	for (uint32_t i = 0; i < count; i++) {
		assert(parts[i].start >= last && parts[i].start <= parts[i].end &&
		       parts[i].end <= end);
		assert(parts[i].kind == GO_ARM64_SAVED || !parts[i].offset);
		last = parts[i].end;
	}
	free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t code[GO_ARM64_MAX_BYTES];
	const struct function *of;
	struct byte_reader reader;
	uint32_t role;
	size_t bytes;

	if (size < 2)
		return 0;
	byte_reader_init(&reader, data, size);
	of = &functions[byte_reader_u8(&reader) % FUNCTIONS];
	role = byte_reader_u8(&reader) % ROLES;
	assert(of->bytes <= sizeof(code));
	memcpy(code, of->words, of->bytes);
	find(of->role, code, of->bytes);
	edit_bytes(&reader, code, of->bytes);
	find(of->role, code, of->bytes);
	find(role, code, of->bytes);
	bytes = byte_reader_left(&reader) < sizeof(code) ? byte_reader_left(&reader) : sizeof(code);
	find(role, reader.position, bytes);
	return 0;
}
