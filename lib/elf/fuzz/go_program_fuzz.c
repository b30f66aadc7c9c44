/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts of a Go program. Byte 0 selects the kind of the rest: lines of module information, or the contents of
 * sections, with the note's length in byte 1. All results must be terminated texts.
 */
#include "lib/elf/go_program.h"

#include <stdlib.h>
#include <string.h>

#include "lib/elf/tests/elf_builder.h"

enum { NOTE_HEAD_BYTES = 16, CONTENT_MAX_BYTES = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool is_true)
{
	if (!is_true)
		abort();
}

static void check(const struct go_program *program)
{
	expect(strnlen(program->build_id, sizeof(program->build_id)) <= GO_BUILD_ID_MAX_BYTES);
	expect(strnlen(program->version, sizeof(program->version)) <= GO_VERSION_MAX_BYTES);
	expect(strnlen(program->module_path, sizeof(program->module_path)) <=
	       GO_MODULE_PATH_MAX_BYTES);
	expect(strnlen(program->module_version, sizeof(program->module_version)) <=
	       GO_MODULE_VERSION_MAX_BYTES);
}

static void check_text(const uint8_t *data, size_t size)
{
	struct go_program program = { 0 };

	go_program_parse_modules(&program, (const char *)data, size);
	check(&program);
	/* Neither has a tab in it, and the path comes first. */
	expect(!strpbrk(program.module_path, "\t\n") && !strpbrk(program.module_version, "\t\n"));
}

/* Adds the note as a whole, or only its content; and the build information with its header, or only the rest. */
static void add_sections(struct elf_builder *builder, uint8_t kind, const uint8_t *data,
			 size_t size)
{
	static const char magic[] = "\xff Go buildinf:\x08\x02";
	uint8_t content[32 + CONTENT_MAX_BYTES] = { 0 };
	size_t note_bytes = size && data[0] < size ? data[0] : 0;
	const uint32_t head[4] = { 4, note_bytes, 4, 'o' << 8 | 'G' };

	if (size) {
		data++;
		size--;
	}
	memcpy(content, head, sizeof(head));
	memcpy(content + NOTE_HEAD_BYTES, data, note_bytes);
	if (kind & 4)
		elf_builder_add(builder, ".note.go.buildid", SHT_NOTE, 0, content,
				NOTE_HEAD_BYTES + (note_bytes + 3) / 4 * 4);
	else
		elf_builder_add(builder, ".note.go.buildid", SHT_NOTE, 0, data, note_bytes);
	data += note_bytes;
	size -= note_bytes;
	if (size > CONTENT_MAX_BYTES)
		size = CONTENT_MAX_BYTES;
	memset(content, 0, 32);
	memcpy(content, magic, sizeof(magic) - 1);
	memcpy(content + 32, data, size);
	if (kind & 8)
		elf_builder_add(builder, ".go.buildinfo", SHT_PROGBITS, 0, content, 32 + size);
	else
		elf_builder_add(builder, ".go.buildinfo", SHT_PROGBITS, 0, data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct go_program program;
	struct elf_builder builder;
	struct elf_image image;

	if (!size)
		return 0;
	if (!(data[0] & 1)) {
		check_text(data + 1, size - 1);
		return 0;
	}
	elf_builder_init(&builder, 1);
	add_sections(&builder, data[0], data + 1, size - 1);
	elf_builder_finish(&builder);
	expect(!elf_image_init_memory(&image, builder.bytes, sizeof(builder.bytes)));
	if (data[0] & 2)
		image.section_count = 0;
	if (!go_program_read(&image, &program))
		check(&program);
	else
		expect(image.section_count == 0);
	elf_image_deinit(&image);
	return 0;
}
