/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Go's table. The input is damage to a file with a table of some version, as tests make it: byte 0 chooses the
 * version, byte 1 how it is found, and each 6 bytes change a word. Depending on byte 0 it is an ELF file
 * instead. Undamaged tables give the values that were put in; for others all results are within their limits,
 * and a pass over everything ends.
 *
 * covers: go_table.c go_header.c go_module.c go_function.c go_frames.c go_build_info.c elf_pages.c
 * covers: elf_relocations.c
 */
#include <errno.h>

#include "lib/base/byte_reader.h"
#include "lib/elf/go_build_info.h"
#include "lib/elf/go_frames.h"
#include "lib/elf/tests/go_table_example.h"

enum {
	/* Limit of functions that are checked. */
	WALKED_MAX = 64,
	EXAMPLE_BYTES = 1200,
	EXAMPLE_FUNCTIONS = 4,
	OUTER_AT = 64,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool is_true)
{
	if (!is_true)
		abort();
}

static void walk_values(struct go_table *table, const struct go_function *function, uint32_t offset)
{
	struct go_values values;
	struct go_value value;
	uint64_t end = function->start;
	uint32_t empty_count = 0;

	go_values_init(&values, table, function, offset);
	while (go_values_next(&values, &value) > 0) {
		expect(value.start == end && value.end >= end && value.end <= function->end);
		empty_count += value.start == value.end;
		expect(empty_count <= 16);
		end = value.end;
	}
}

static void walk_frames(struct go_table *table, struct go_frames *frames, uint64_t address)
{
	if (go_frames_find(frames, table, address)) {
		expect(!frames->frames.count);
		return;
	}
	expect(frames->frames.count > 0 && frames->frames.count <= GO_FRAMES_MAX);
	for (size_t i = 0; i < frames->frames.count; i++) {
		const struct go_frame *frame = &frames->frames.items[i];

		expect(strlen(go_frames_function(frames, frame)) <= GO_NAME_MAX_BYTES);
		expect(strlen(go_frames_file(frames, frame)) <= GO_NAME_MAX_BYTES);
		expect(frame->is_inlined == (i + 1 < frames->frames.count));
		expect(!frame->is_left_out || i);
	}
}

static void walk(struct go_table *table, struct go_frames *frames)
{
	expect(table->first_address < table->end_address);
	for (uint32_t i = 0; i < table->header.function_count && i < WALKED_MAX; i++) {
		struct go_function function, found;
		uint64_t offset, bytes;

		if (go_function_read(table, i, &function))
			continue;
		expect(function.start <= function.end && function.end <= table->end_address);
		go_function_kind(table, function.id);
		if (function.pcsp)
			walk_values(table, &function, function.pcsp);
		for (uint32_t k = 0; k < 5; k++)
			go_function_funcdata(table, &function, k, &offset, &bytes);
		for (uint64_t at = function.start; at < function.end; at += 1 + (at & 127)) {
			if (at - function.start > EXAMPLE_BYTES)
				break;
			if (!go_function_find(table, at, &found))
				expect(found.end <= table->end_address);
			walk_frames(table, frames, at);
		}
	}
}

static void check_frame(const struct go_frames *frames, size_t index, const char *function,
			const char *file, int32_t line)
{
	const struct go_frame *frame = &frames->frames.items[index];

	expect(!strcmp(go_frames_function(frames, frame), function));
	expect(!strcmp(go_frames_file(frames, frame), file));
	expect(frame->line == line);
}

/* A table without damage. */
static void check_example(const struct made_go *go, struct go_table *table,
			  struct go_frames *frames)
{
	uint64_t outer = MADE_GO_ADDRESS + MADE_GO_TEXT + OUTER_AT;
	struct go_function function;
	int32_t frame_bytes;

	expect(table->header.function_count == EXAMPLE_FUNCTIONS);
	expect(table->end_address - table->first_address == EXAMPLE_BYTES);
	expect(!go_frames_find(frames, table, outer + 150));
	expect(frames->function.start == outer);
	if (table->layout.inline_tree == GO_INLINE_TREE_NONE) {
		expect(go->minor == 12 && frames->frames.count == 1);
	} else {
		expect(frames->frames.count == 2);
		check_frame(frames, 0, "main.middle", "/src/main.go", 50);
		check_frame(frames, 1, "main.outer", "/src/main.go", 101);
	}
	expect(!go_function_read(table, 1, &function));
	expect(!go_function_value(table, &function, function.pcsp, outer + 8, &frame_bytes));
	expect(frame_bytes == 100000);
}

static void check_image(const struct made_go *go, const void *bytes, size_t size, bool is_damaged)
{
	struct go_frames frames = { 0 };
	struct go_build_info info;
	struct go_table table;
	struct elf_image image;

	if (elf_image_init_memory(&image, bytes, size)) {
		expect(is_damaged);
		return;
	}
	if (!go_table_init(&table, &image)) {
		if (!go_build_info_read(&info, &table.pages, &table.relocations))
			expect(strlen(info.version) <= GO_VERSION_MAX_BYTES);
		if (!is_damaged)
			check_example(go, &table, &frames);
		go_table_release(&table);
		walk(&table, &frames);
		go_table_deinit(&table);
	} else {
		expect(is_damaged);
	}
	go_frames_deinit(&frames);
	elf_image_deinit(&image);
}

/* Damages words of the parts: the first byte chooses the part, the second one the width. */
static bool damage(struct made_go *go, struct byte_reader *reader)
{
	const struct {
		uint32_t start, end;
	} parts[] = {
		{ 0, sizeof(Elf64_Ehdr) + MADE_GO_SEGMENTS * sizeof(Elf64_Phdr) },
		{ MADE_GO_TABLE, MADE_GO_TABLE + 256 },
		{ MADE_GO_TABLE, MADE_GO_DATA },
		{ MADE_GO_TABLE, go->used < MADE_GO_DATA ? go->used : MADE_GO_TABLE + 2048 },
		{ MADE_GO_DATA, go->used },
		{ go->module ? go->module : MADE_GO_DATA, MADE_GO_DATA + 1024 },
		{ go->functions_at, go->functions_at + 512 },
		{ MADE_GO_DATA, MADE_GO_BYTES },
	};
	bool is_damaged = false;

	while (byte_reader_left(reader) >= 6) {
		uint8_t part = byte_reader_u8(reader) % (sizeof(parts) / sizeof(parts[0]));
		uint8_t kind = byte_reader_u8(reader);
		uint32_t bytes = 1U << (kind & 3);
		uint32_t at = parts[part].start;
		uint64_t value;

		at += byte_reader_u16(reader) % (parts[part].end - at);
		value = (uint64_t)(int16_t)byte_reader_u16(reader);
		if (bytes > 1)
			at &= ~3U;
		/* The new value is near the old one, an address, or anything. */
		if (kind & 4)
			value += go->bytes[at];
		if (kind & 8)
			value += MADE_GO_ADDRESS;
		if (at + bytes <= MADE_GO_BYTES) {
			memcpy(go->bytes + at, &value, bytes);
			is_damaged = true;
		}
	}
	return is_damaged;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const sections[] = { ".gopclntab", ".data.rel.ro.gopclntab", ".x",
						NULL };
	static struct made_go go;
	const struct made_go_version *version;
	struct byte_reader reader;
	uint8_t choice;

	if (size < 2)
		return 0;
	if (data[0] == 255) {
		check_image(NULL, data + 1, size - 1, true);
		return 0;
	}
	version = &made_go_versions[data[0] % MADE_GO_VERSIONS];
	choice = data[1];
	made_go_example(&go, version->version, version->minor);
	go.section_name = sections[choice & 3];
	go.is_relocated = choice & 4;
	go.machine = choice & 8 ? EM_AARCH64 : EM_X86_64;
	made_go_make(&go);
	byte_reader_init(&reader, data + 2, size - 2);
	check_image(&go, go.bytes, sizeof(go.bytes), damage(&go, &reader));
	return 0;
}
