/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A code cache, and names, scopes and lines of methods, in hostile memory. The lower 16 bits of an address are its
 * offset in the input, as in the made code cache of the tests.
 *
 * covers: java_stubs.c java_code.c java_fields.c java_names.c java_scopes.c java_lines.c compressed_stream.c java_symbolize.c ../read_windows.c
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ebpf/abi/java.h"
#include "interpreters/fuzz/check_text.h"
#include "interpreters/java/fuzz/fuzz_memory.h"
#include "interpreters/java/java_code.h"
#include "interpreters/java/java_fields.h"
#include "interpreters/java/java_lines.h"
#include "interpreters/java/java_names.h"
#include "interpreters/java/java_scopes.h"
#include "interpreters/java/java_stubs.h"
#include "interpreters/java/java_symbolize.h"
#include "interpreters/java/tests/made_code.h"

enum { MAX_READS = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Finds a jump to an offset in the given range that the input chooses. */
static int64_t find_jump(uint16_t machine, const uint8_t *bytes, size_t size, int64_t low,
			 int64_t high)
{
	(void)machine;
	if (!size || low > high || high >= 0)
		abort();
	return low + bytes[size - 1] % (high - low + 1);
}

static void look_at_scopes(const struct java_layout *layout, struct fuzz_memory *memory,
			   const struct java_blob *blob, uint64_t address)
{
	struct java_scopes scopes;
	struct java_lines lines = { .line = 1 };
	java_text text;

	if (java_scopes_read(layout, &memory->memory, blob, (uint32_t)(address - blob->code_start),
			     address & 1, find_jump, &scopes))
		return;
	if (!scopes.count || scopes.count > JAVA_MAX_SCOPES)
		abort();
	if (!java_lines_of(layout, &memory->memory, scopes.scopes[0].method,
			   (uint32_t)scopes.scopes[0].bci & UINT16_MAX, &lines) &&
	    (!lines.line || lines.line > UINT16_MAX || lines.start_line > UINT16_MAX))
		abort();
	if (!java_source_file(layout, &memory->memory, scopes.scopes[0].method, text))
		check_text(text);
}

/* Names the frame twice, the second time from the cache. @is_compiled: the words of an nmethod, else of a method. */
static void name_frame(const struct java_layout *layout, struct fuzz_memory *memory,
		       const struct java_nmethod *nmethod, uint64_t nmethod_address,
		       uint32_t offset, bool is_compiled)
{
	uint64_t const_method = 0, constants = 0, word = 0, version = 0, holder = 0;
	struct java_symbolizer symbolizer;
	struct interpreted_frames frames;
	uint64_t words[2] = {
		frame_word(FRAME_JAVA, offset & 1, nmethod_address),
		(uint64_t)(offset | JAVA_COMPILED) << 32 |
			fingerprint_of(nmethod->method, nmethod->compile_id),
	};

	if (!is_compiled) {
		if (java_field_read(&memory->memory, nmethod->method, layout->method_const_method,
				    &const_method) ||
		    java_field_read(&memory->memory, const_method, layout->const_method_constants,
				    &constants) ||
		    remote_memory_read(&memory->memory,
				       const_method + layout->const_method_code_size.offset, &word,
				       sizeof(word)) ||
		    java_field_read(&memory->memory, constants, layout->constant_pool_holder,
				    &holder) ||
		    java_field_read(&memory->memory, constants, layout->constant_pool_version,
				    &version))
			return;
		words[0] = frame_word(FRAME_JAVA, 0, nmethod->method);
		words[1] = (uint64_t)(offset & UINT16_MAX) << 32 |
			   java_method_fingerprint(constants, word, 0, holder, (uint32_t)version);
	}
	java_symbolizer_init(&symbolizer, layout, 0, false, find_jump);
	for (int i = 0; i < 2; i++) {
		if (java_symbolize(&symbolizer, &memory->memory, words, 0, &frames))
			break;
		if (!frames.count || frames.count > INTERPRETED_FRAMES_MAX ||
		    frames.items[frames.count - 1].is_inlined)
			abort();
		for (uint32_t j = 0; j < frames.count; j++) {
			check_text(frames.items[j].function);
			if (frames.items[j].file)
				check_text(frames.items[j].file);
		}
	}
	java_symbolizer_deinit(&symbolizer);
}

/* Checks that the chunks are sorted and do not overlap, and that starts are within them. Makes one row. */
static int check_chunks(uint16_t machine, const struct runtime_code *code, size_t count,
			struct stack_deltas *deltas)
{
	uint64_t end = 0;

	(void)machine;
	if (!count)
		abort();
	for (size_t i = 0; i < count; i++) {
		if (code[i].address < end || !code[i].size)
			abort();
		end = code[i].address + code[i].size;
		for (size_t j = 0; j < code[i].start_count; j++)
			if (code[i].starts[j] - code[i].address >= code[i].size ||
			    (j && code[i].starts[j] <= code[i].starts[j - 1]))
				abort();
	}
	*deltas = (struct stack_deltas){
		.text_start = code->address,
		.page_count = 1,
		.row_count = 1,
		.rule_count = 1,
		.page_index = calloc(2, sizeof(uint32_t)),
		.rows = calloc(1, stack_deltas_row_bytes(1)),
		.rules = calloc(1, sizeof(struct unwind_rule)),
	};
	return 0;
}

static void look_at_stubs(const struct java_layout *layout, const struct java_heaps *heaps,
			  struct fuzz_memory *memory, uint64_t address)
{
	const struct attach_target target = { .memory = &memory->memory, .analyse = check_chunks };
	const struct java_data_ranges ranges = { .ranges = { { address, 4096 } }, .count = 1 };
	const struct java_process process = { .interpreter_start = address };
	uint32_t bytes = 0;
	void *data = NULL;
	java_text text;

	if (!java_stub_name(layout, heaps, &memory->memory, address, text) && !*text)
		abort();
	if (java_stubs_read(layout, heaps, &ranges, &target, &process, &data, &bytes))
		return;
	if (bytes < sizeof(process) || bytes % CELL_BYTES || bytes > RUNTIME_DATA_MAX_BYTES)
		abort();
	free(data);
}

static void look_at(const struct java_layout *layout, const struct java_heaps *heaps,
		    struct fuzz_memory *memory, uint64_t address)
{
	char name[JAVA_BLOB_NAME_BYTES];
	struct java_nmethod nmethod;
	struct java_blob blob;
	java_text text;

	if (java_blob_find(layout, heaps, &memory->memory, address, &blob))
		return;
	if (address < blob.code_start || address >= blob.code_end)
		abort();
	if (!java_blob_name(layout, &memory->memory, &blob, name) && !memchr(name, 0, sizeof(name)))
		abort();
	look_at_scopes(layout, memory, &blob, address);
	if (java_nmethod_read(layout, &memory->memory, &blob, &nmethod))
		return;
	if (!java_method_name(layout, &memory->memory, nmethod.method, memory->ends_at & 1, text))
		check_text(text);
	for (int i = 0; i < 2; i++)
		name_frame(layout, memory, &nmethod, blob.address,
			   (uint32_t)(address - blob.code_start), i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_memory memory;
	struct java_layout layout = made_code_layout();
	struct java_heaps heaps;
	uint16_t offset;

	if (size < 5)
		return 0;
	memory = fuzz_memory_make(data + 4, size - 4, UINT16_MAX, MAX_READS);
	memory.ends_at = data[0];
	/* The layout of 8; the next one has a pointer to the code, as 11 has. */
	if (data[1] & 1) {
		layout.heap = layout.heaps + 8;
		layout.heaps = 0;
	}
	if (data[1] & 2)
		layout.blob_code_begin = (struct vm_field){ 56, 8 };
	/* The layout of 25. */
	if (data[1] & 4) {
		layout.version = 25;
		layout.nmethod_immutable_data = (struct vm_field){ 80, 8 };
		layout.blob_mutable_data = (struct vm_field){ 80, 8 };
		layout.blob_relocation_size = (struct vm_field){ 76, 4 };
	}
	if (data[1] & 8)
		layout.klass_source_file = (struct vm_field){ 24, 2 };
	memcpy(&offset, data + 2, sizeof(offset));
	if (java_heaps_read(&layout, &memory.memory, &heaps))
		return 0;
	for (uint32_t i = 0; i < heaps.count; i++)
		look_at(&layout, &heaps, &memory, heaps.heaps[i].low + offset);
	memory.reads = 0;
	look_at_stubs(&layout, &heaps, &memory, heaps.count ? heaps.heaps[0].low + offset : offset);
	return 0;
}
