/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files with all or some of CPython's exports, any version, and damage: nothing crashes or takes long, and a file that
 * is accepted has a known version and sorted ranges of code. Byte 0 chooses the machine and the kind of hash table,
 * bytes 1 and 2 the exports. Then come the version as a number and as text, the code that refers to it, and damage. All of it is
 * searched for the texts of CPython, too.
 */
#include "interpreters/python/python_probe.h"

#include <errno.h>

#include "interpreters/python/python.h"
#include "interpreters/python/python_layouts.h"
#include "lib/elf/fuzz/made_elf.h"

enum {
	/* Offsets in the content. */
	VERSION_AT = 256,
	TEXT_AT = 264,
	GET_VERSION_AT = 288,
	GET_VERSION_BYTES = 64,
	/* The part of that code that comes from the input. */
	GIVEN_BYTES = 16,
	LOOP_AT = 512,
	LOOP_BYTES = 512,
	TEXTS_BYTES = 34,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t content_address(uint32_t offset)
{
	return MADE_ADDRESS(content) + offset;
}

static void export_symbols(struct made_elf *elf, uint16_t exported, uint32_t get_version_bytes,
			   bool has_gnu_hash)
{
	const struct made_symbol all[] = {
		{ "_PyEval_EvalFrameDefault", content_address(LOOP_AT), LOOP_BYTES, false },
		{ "PyEval_EvalFrameEx", content_address(LOOP_AT), LOOP_BYTES, false },
		{ "Py_Version", content_address(VERSION_AT), 8, false },
		{ "Py_GetVersion", content_address(GET_VERSION_AT), get_version_bytes, false },
		{ "_Py_AddToAllObjects", content_address(0), 8, false },
		{ "_PyRuntime", content_address(0), 8, false },
		{ "PyGILState_GetThisThreadState", content_address(8), 8, false },
		{ "_Py_InitCleanup", content_address(16), 8, false },
		{ "_PyThreadState_GetCurrent", content_address(24), 8, false },
	};
	struct made_symbol symbols[sizeof(all) / sizeof(all[0])];
	uint32_t count = 0;

	for (uint32_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (!(exported >> i & 1))
			symbols[count++] = all[i];
	}
	made_elf_set_symbols(elf, symbols, count, 4, has_gnu_hash);
}

/* Writes code that refers to the text of the version, or any bytes. */
static void put_get_version(struct made_elf *elf, uint8_t choice, struct byte_reader *reader)
{
	uint8_t *code = elf->content + GET_VERSION_AT;
	uint64_t text = content_address(TEXT_AT);
	uint32_t at = (choice & 15) * 4;
	uint32_t words[2] = { 0xb0000000, 0x91000000 | (uint32_t)(text & 4095) << 10 };
	uint32_t number = choice & 16 ? (uint32_t)text :
					(uint32_t)(text - content_address(GET_VERSION_AT + at) - 4);

	for (uint32_t i = 0; i < GIVEN_BYTES && byte_reader_left(reader); i++)
		code[i] = byte_reader_u8(reader);
	if (elf->header.e_machine == EM_X86_64) {
		memcpy(code + at, &number, sizeof(number));
		return;
	}
	/* adrp x0, of the page of the text; add x0, x0, #... */
	number = (uint32_t)((text >> 12) - (content_address(GET_VERSION_AT + at) >> 12));
	words[0] = 0x90000000 | (number & 3) << 29 | (number >> 2 & 0x7ffff) << 5;
	memcpy(code + at, words, sizeof(words));
}

static void check_file(const struct python_file *file)
{
	const struct runtime_file *common = &file->file;

	if (!python_version_is_known(file->version) || !file->version_address ||
	    !file->version_bytes || file->version_bytes > PYTHON_VERSION_TEXT_BYTES ||
	    !file->thread_state_function || !memchr(common->version, 0, sizeof(common->version)) ||
	    !common->range_count || common->range_count > LOOP_RANGES_MAX)
		abort();
	for (uint32_t i = 0; i < common->range_count; i++) {
		if (common->ranges[i].start >= common->ranges[i].end ||
		    (i && common->ranges[i].start < common->ranges[i - 1].end))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct made_elf elf;
	struct python_file *file = NULL;
	struct byte_reader reader;
	struct elf_image image;
	uint8_t choice, where;
	uint16_t exported;
	uint64_t version;
	const void *text;
	int err;

	/* The two texts of CPython do not fit into less. */
	if (python_has_texts(data, size) && size < TEXTS_BYTES)
		abort();
	byte_reader_init(&reader, data, size);
	choice = byte_reader_u8(&reader);
	exported = byte_reader_u16(&reader);
	version = byte_reader_u32(&reader);
	text = byte_reader_bytes(&reader, PYTHON_VERSION_TEXT_BYTES);
	where = byte_reader_u8(&reader);
	if (!text)
		return 0;
	made_elf_init(&elf, choice & 1 ? EM_AARCH64 : EM_X86_64);
	export_symbols(&elf, exported, choice & 2 ? GET_VERSION_BYTES : 0, choice & 4);
	memcpy(elf.content + VERSION_AT, &version, sizeof(version));
	memcpy(elf.content + TEXT_AT, text, PYTHON_VERSION_TEXT_BYTES);
	put_get_version(&elf, where, &reader);
	if (choice & 8)
		made_elf_damage(&elf, &reader);
	if (elf_image_init_memory(&image, &elf, MADE_ELF_BYTES))
		return 0;
	err = python_probe(&python_language, &image, &file);
	if (!err)
		check_file(file);
	else if (err != -ENOENT && err != -EOPNOTSUPP && err != -EBADMSG)
		abort();
	if (!err)
		python_file_release(file);
	elf_image_deinit(&image);
	return 0;
}
