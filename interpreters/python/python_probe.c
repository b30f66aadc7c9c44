/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/python/python_probe.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpreters/python/python_layouts.h"
#include "interpreters/python/python_loop.h"
#include "interpreters/python/python_unpushed.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/elf/elf_dynamic.h"
#include "lib/isa/arm64_decode.h"
#include "lib/isa/x86_decode.h"

/** Py_Version is PY_VERSION_HEX of patchlevel.h. */
enum {
	HEX_MAJOR_MINOR_SHIFT = 16,
	/* mov n(%rip),%reg of 8 bytes, without more prefixes than REX. */
	LOAD_BYTES = 7,
	/* The texts of a program with CPython have some hundred kilobytes; larger ones than the second are not searched. */
	TEXTS_MIN_BYTES = 128 << 10,
	TEXTS_MAX_BYTES = 16 << 20,
};

struct prober {
	const struct elf_image *image;
	struct elf_dynamic dynamic;
};

static uint64_t find_address(const struct prober *prober, const char *name)
{
	struct elf_dynamic_symbol symbol;

	return elf_dynamic_find(&prober->dynamic, prober->image, name, &symbol) ? 0 :
										  symbol.address;
}

/* Parses a version such as "3.10.13"; 0 if the text is none. */
static uint16_t parse_version(const char *text)
{
	unsigned int major, minor, patch;
	int length = 0;

	if (sscanf(text, "%1u.%2u.%2u%n", &major, &minor, &patch, &length) != 3 ||
	    strspn(text + length, "abcrf0123456789+") != strlen(text + length))
		return 0;
	return (uint16_t)PYTHON_VERSION(major, minor);
}

/* Takes the text at @address if it is a version. */
static bool try_version_text(const struct prober *prober, uint64_t address,
			     struct python_file *file)
{
	char text[PYTHON_VERSION_TEXT_BYTES];
	uint16_t version;
	size_t length;

	if (elf_image_read_address(prober->image, address, text, sizeof(text)))
		return false;
	length = strnlen(text, sizeof(text));
	if (length == sizeof(text))
		return false;
	version = parse_version(text);
	if (!version)
		return false;
	file->version = version;
	file->version_address = address;
	file->version_bytes = (uint32_t)length + 1;
	memcpy(file->version_text, text, sizeof(text));
	return true;
}

/*
 * Up to 3.10 only a text has the version, and Py_GetVersion() has a pointer to it. Any number in its code that leads
 * to such a text is accepted as the pointer.
 */
static bool find_version_text_x86(const struct prober *prober, const uint8_t *code, size_t size,
				  uint64_t address, struct python_file *file)
{
	for (size_t i = 0; i + 4 <= size; i++) {
		int32_t number;

		memcpy(&number, code + i, sizeof(number));
		/* The number is relative to the next instruction, or absolute in a program at a fixed address. */
		if (try_version_text(prober, address + i + 4 + (uint64_t)(int64_t)number, file) ||
		    try_version_text(prober, (uint32_t)number, file))
			return true;
	}
	return false;
}

static void decode_arm64(const uint8_t *code, uint64_t address,
			 struct arm64_instruction *instruction)
{
	uint32_t word;

	memcpy(&word, code, sizeof(word));
	arm64_decode(word, address, instruction);
}

/* The pointer is made by an adrp and a later add to the same register. */
static bool find_version_text_arm64(const struct prober *prober, const uint8_t *code, size_t size,
				    uint64_t address, struct python_file *file)
{
	uint64_t pages[32] = { 0 };

	for (size_t i = 0; i + ARM64_INSTRUCTION_BYTES <= size; i += ARM64_INSTRUCTION_BYTES) {
		struct arm64_instruction arm64;

		decode_arm64(code + i, address + i, &arm64);
		if (arm64.operation == ARM64_ADRP)
			pages[arm64.rd] = arm64.target;
		else if (arm64.operation == ARM64_ADD && arm64.operand == ARM64_IMMEDIATE &&
			 arm64.bytes == 8 && !arm64.sets_flags && pages[arm64.rn] &&
			 try_version_text(prober, pages[arm64.rn] + (uint64_t)arm64.immediate,
					  file))
			return true;
	}
	return false;
}

/* The operand of mov interp_head(%rip),%rax after instructions that a function may begin with; 0: there is none. */
static uint64_t find_head_x86(const uint8_t *code, size_t size, uint64_t address)
{
	struct x86_instruction x86;

	for (size_t i = 0; i < size; i += x86.length) {
		if (!x86_decode(code + i, size - i, &x86) || x86.kind >= X86_CALL)
			return 0;
		if (x86.kind == X86_LOAD && x86.reg == X86_RAX && x86.is_pc_relative &&
		    x86.length == LOAD_BYTES)
			return address + i + x86.length + (uint64_t)x86.displacement;
	}
	return 0;
}

/* The address of a load from the page of an adrp. */
static uint64_t find_head_arm64(const uint8_t *code, size_t size, uint64_t address)
{
	for (size_t i = 0; i + 2 * ARM64_INSTRUCTION_BYTES <= size; i += ARM64_INSTRUCTION_BYTES) {
		struct arm64_instruction page, load;

		decode_arm64(code + i, address + i, &page);
		decode_arm64(code + i + ARM64_INSTRUCTION_BYTES, 0, &load);
		/* ldr x0, [register of the adrp, number] */
		if (page.operation == ARM64_ADRP && load.operation == ARM64_LOAD &&
		    load.mode == ARM64_OFFSET && !load.is_vector && load.bytes == 8 && !load.rd &&
		    load.rn == page.rd)
			return page.target + (uint64_t)load.immediate;
	}
	return 0;
}

static uint64_t find_first_interpreter(const struct prober *prober)
{
	uint64_t address = find_address(prober, "PyInterpreterState_Head");
	uint8_t code[PYTHON_HEAD_BYTES];

	if (!address || elf_image_read_address(prober->image, address, code, sizeof(code)))
		return 0;
	return prober->image->machine == EM_X86_64 ? find_head_x86(code, sizeof(code), address) :
						     find_head_arm64(code, sizeof(code), address);
}

static int find_version(const struct prober *prober, struct python_file *file)
{
	uint8_t code[PYTHON_GET_VERSION_MAX_BYTES];
	struct elf_dynamic_symbol symbol;
	uint64_t address = find_address(prober, "Py_Version");
	uint32_t hex;
	size_t size;
	bool is_found;

	if (address) {
		int err = elf_image_read_address(prober->image, address, &hex, sizeof(hex));

		if (err)
			return err;
		file->version = (uint16_t)(hex >> HEX_MAJOR_MINOR_SHIFT);
		file->version_address = address;
		file->version_bytes = sizeof(hex);
		memcpy(file->version_text, &hex, sizeof(hex));
		return 0;
	}
	if (elf_dynamic_find(&prober->dynamic, prober->image, "Py_GetVersion", &symbol))
		return fail(-EOPNOTSUPP, "CPython without Py_GetVersion");
	size = symbol.size && symbol.size < sizeof(code) ? symbol.size : sizeof(code);
	if (elf_image_read_address(prober->image, symbol.address, code, size))
		return fail(-EBADMSG, "Py_GetVersion has no code");
	is_found = prober->image->machine == EM_X86_64 ?
			   find_version_text_x86(prober, code, size, symbol.address, file) :
			   find_version_text_arm64(prober, code, size, symbol.address, file);
	return is_found ? 0 : fail(-EOPNOTSUPP, "CPython of a version that it does not tell");
}

/* Finds the loop's symbol, which has another name in 2.7. */
static int find_loop(const struct prober *prober, struct elf_dynamic_symbol *loop)
{
	int err =
		elf_dynamic_find(&prober->dynamic, prober->image, "_PyEval_EvalFrameDefault", loop);

	if (err == -ENOENT)
		err = elf_dynamic_find(&prober->dynamic, prober->image, "PyEval_EvalFrameEx", loop);
	return err;
}

static int find_code(const struct prober *prober, const struct elf_dynamic_symbol *loop,
		     struct python_file *file)
{
	struct runtime_file *ranges = &file->file;
	struct python_layout layout;
	int err;

	err = python_loop_find_ranges(prober->image, loop->address, loop->address + loop->size,
				      ranges->ranges, &ranges->range_count);
	if (err || file->version >= PYTHON_FIRST_WITH_OFFSETS)
		return err;
	err = python_layout_init(&layout, file->version, file->has_object_list);
	if (!err)
		err = python_unpushed_find(prober->image, &layout, loop->address, ranges->ranges,
					   ranges->range_count, file->unpushed);
	if (!err && file->version <= PYTHON_VERSION(3, 10))
		file->saved_bytes = python_loop_saved_bytes(prober->image, loop->address);
	return err;
}

static int fill(const struct prober *prober, struct python_file *file)
{
	struct elf_dynamic_symbol loop;
	int err;

	err = find_loop(prober, &loop);
	if (!err)
		err = find_version(prober, file);
	if (err)
		return err;
	file->machine = prober->image->machine;
	file->has_object_list = file->version < PYTHON_FIRST_WITH_OFFSETS &&
				find_address(prober, "_Py_AddToAllObjects");
	snprintf(file->file.version, sizeof(file->file.version), "CPython %u.%u%s",
		 file->version >> 8, file->version & 0xff,
		 file->has_object_list ? " (all objects in a list)" : "");
	if (!python_version_is_known(file->version))
		return fail(-EOPNOTSUPP, "%s", file->file.version);
	file->runtime = find_address(prober, "_PyRuntime");
	if (!file->runtime)
		file->first_interpreter = find_first_interpreter(prober);
	file->thread_state_function = find_address(prober, "PyGILState_GetThisThreadState");
	file->hidden_code = find_address(prober, "_Py_InitCleanup");
	if (file->version >= PYTHON_VERSION(3, 12))
		file->current_thread_state_function =
			find_address(prober, "_PyThreadState_GetCurrent");
	if (!file->thread_state_function ||
	    (!file->runtime && file->version >= PYTHON_FIRST_WITH_OFFSETS))
		return fail(-EOPNOTSUPP, "%s that exports too little", file->file.version);
	return find_code(prober, &loop, file);
}

bool python_has_texts(const void *texts, size_t bytes)
{
	/* The first letters stand apart, so that this program is not taken for one. */
	static const struct {
		char first;
		const char *rest;
	} marks[] = { { 'P', "YTHONHASHSEED" }, { 'F', "atal Python error: " } };

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		const char *found = memmem(texts, bytes, marks[i].rest, strlen(marks[i].rest));

		if (!found || found == texts || found[-1] != marks[i].first)
			return false;
	}
	return true;
}

/* Whether CPython is in the file though it exports nothing of it: a program that Python is linked into for itself alone. */
static bool has_hidden_python(const struct elf_image *image)
{
	const struct elf_section *section = elf_image_find_section(image, ".rodata");
	_cleanup_(elf_bytes_deinit) struct elf_bytes texts = { 0 };

	/* Only of programs, since what is read is large. */
	return image->entry && section && section->size >= TEXTS_MIN_BYTES &&
	       !elf_image_load_section(image, section, TEXTS_MAX_BYTES, &texts) &&
	       python_has_texts(texts.data, texts.size);
}

int python_probe(const struct language *language, const struct elf_image *image,
		 struct python_file **file)
{
	_cleanup_(free_pointer) struct python_file *made = NULL;
	struct prober prober = { .image = image };
	struct elf_dynamic_symbol loop;
	int err;

	/* A file with damaged tables is not reported here. */
	if (elf_dynamic_init(&prober.dynamic, image) || find_loop(&prober, &loop))
		return has_hidden_python(image) ?
			       fail(-EOPNOTSUPP, "CPython, of which it exports no symbols") :
			       -ENOENT;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->file.language = language;
	err = fill(&prober, made);
	if (err)
		return err;
	*file = take_pointer(made);
	return 0;
}

void python_file_release(struct python_file *file)
{
	free(file);
}

bool python_copies_stacks(const struct elf_image *image)
{
	/* The functions by which an interpreter loads greenlet 1 and later, 0.4, and 0.4 with Python 2: stripped files have them. */
	static const char *const names[] = { "PyInit__greenlet", "PyInit_greenlet",
					     "initgreenlet" };
	struct prober prober = { .image = image };

	if (elf_dynamic_init(&prober.dynamic, image))
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (find_address(&prober, names[i]))
			return true;
	return false;
}
