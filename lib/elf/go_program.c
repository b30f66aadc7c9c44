/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing is searched for: of a file without a section table only the build id is read. */
#include "lib/elf/go_program.h"
#include "lib/elf/elf_notes.h"

#include <errno.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/elf/go_build_info.h"

/* cmd/internal/buildid/note.go: ELF_NOTE_GOBUILDID_TAG. */
static const struct elf_note_kind build_id_note = {
	.section = ".note.go.buildid",
	.name = "Go\0",
	.name_bytes = 4,
	.type = 4,
};

static bool has_section(const struct elf_image *image)
{
	/* In position-independent files up to 1.25 the table has the last of these names. */
	static const char *const names[] = { ".go.buildinfo", ".note.go.buildid", ".gopclntab",
					     ".data.rel.ro.gopclntab" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (elf_image_find_section(image, names[i]))
			return true;
	}
	return false;
}

/* True if there is a note. A malformed one leaves @build_id empty. */
static bool read_build_id(const struct elf_image *image, char build_id[GO_BUILD_ID_MAX_BYTES + 1])
{
	uint32_t count = 0;
	int err = elf_image_note(image, &build_id_note, (uint8_t *)build_id, GO_BUILD_ID_MAX_BYTES,
				 &count);

	build_id[err ? 0 : count] = '\0';
	return !err;
}

/* The end of the field that starts at @text: a tab or @end. */
static const char *field_end(const char *text, const char *end)
{
	const char *tab = memchr(text, '\t', (size_t)(end - text));

	return tab ? tab : end;
}

static void copy_field(char *field, size_t max_bytes, const char *text, const char *end)
{
	size_t bytes = (size_t)(end - text);

	if (bytes > max_bytes)
		return;
	memcpy(field, text, bytes);
	field[bytes] = '\0';
}

static void parse_module(struct go_program *program, const char *text, const char *end)
{
	const char *path_end = field_end(text, end);

	copy_field(program->module_path, GO_MODULE_PATH_MAX_BYTES, text, path_end);
	if (path_end < end)
		copy_field(program->module_version, GO_MODULE_VERSION_MAX_BYTES, path_end + 1,
			   field_end(path_end + 1, end));
}

void go_program_parse_modules(struct go_program *program, const char *text, size_t bytes)
{
	static const char start[] = "mod\t";
	const char *end = text + bytes, *line_end;

	for (; text < end; text = line_end + 1) {
		line_end = memchr(text, '\n', (size_t)(end - text));
		if (!line_end)
			return;
		if ((size_t)(line_end - text) < strlen(start) ||
		    memcmp(text, start, strlen(start)) != 0)
			continue;
		parse_module(program, text + strlen(start), line_end);
		return;
	}
}

static int read_build_info(const struct elf_image *image, struct go_program *program)
{
	struct elf_relocations relocations;
	char text[GO_PROGRAM_MODULE_TEXT_BYTES];
	struct go_build_info info;
	struct elf_pages pages;
	uint32_t bytes;
	int err;

	elf_pages_init(&pages, image);
	elf_relocations_init(&relocations, image);
	err = go_build_info_read_section(&info, &pages, &relocations);
	if (!err) {
		memcpy(program->version, info.version, sizeof(program->version));
		bytes = info.modules_bytes < sizeof(text) ? info.modules_bytes : sizeof(text);
		err = elf_pages_read(&pages, info.modules_offset, text, bytes);
		if (!err)
			go_program_parse_modules(program, text, bytes);
	}
	elf_pages_deinit(&pages);
	return err;
}

bool go_program_is_one(const struct elf_image *image)
{
	char build_id[GO_BUILD_ID_MAX_BYTES + 1];

	return image->section_count ? has_section(image) : read_build_id(image, build_id);
}

int go_program_read(const struct elf_image *image, struct go_program *program)
{
	struct go_program found = { 0 };
	bool has_note = false;

	if (image->section_count && !has_section(image))
		return fail(-ENOENT, "no code of Go");
	has_note = read_build_id(image, found.build_id);
	if (!image->section_count && !has_note)
		return fail(-ENOENT, "no code of Go");
	if (image->section_count && read_build_info(image, &found) == -ENOMEM)
		return -ENOMEM;
	*program = found;
	return 0;
}
