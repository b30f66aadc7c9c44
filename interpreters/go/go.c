/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probing reads a few functions of the runtime. Attaching reads at most three words of the process, and none
 * if the linker has set the offset of g.
 */
#include "interpreters/go/go.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpreters/go/go_runtime_code.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/elf/go_function.h"
#include "lib/elf/go_program.h"

enum {
	/* Size of the longest name, with its NUL. */
	NAME_BYTES = 40,
	/* Later versions may have moved the fields of struct g. */
	LAST_KNOWN_MINOR = 27,
	ARM64_BYTES = 4,
	/* str of 8 bytes; its offset has 12 bits and counts words. */
	ARM64_STORE_MASK = 0xffc00000,
	ARM64_STORE = 0xf9000000,
	ARM64_OFFSET_SHIFT = 10,
	ARM64_OFFSET_MASK = 0xfff,
};

/* Name in Go's table of the function that sets labels; programs that set none lack it. */
#define GOROUTINE_LABEL_FUNCTION "runtime/pprof.runtime_setProfLabel"

/*
 * Offsets in struct g of a goroutine's labels and number, by version. They come from the debug information of
 * programs that each version built, and are equal on x86-64 and arm64.
 * Source: runtime/runtime2.go and runtime/pprof/label.go of Go 1.15 to 1.27.
 */
struct goroutine_layout {
	/* First version with this layout: 27 for Go 1.27. */
	uint32_t minor;
	uint16_t labels;
	uint16_t id;
	/* Labels are a slice; older versions have a map. */
	bool has_label_slice;
};

struct go_file {
	struct runtime_file file;
	struct go_runtime_code code;
};

struct go_attached {
	struct runtime process;
	struct go_process data;
};

_Static_assert(sizeof(struct go_process) % CELL_BYTES == 0, "whole cells");

/* State of the search for functions in a file. */
struct search {
	struct go_table *table;
	struct go_file *file;
	/** NULL: the version is unknown. */
	const struct goroutine_layout *layout;
	bool has_labels;
};

/* Newest first. */
static const struct goroutine_layout layouts[] = {
	{ .minor = 26, .labels = 352, .id = 152, .has_label_slice = true },
	{ .minor = 25, .labels = 344, .id = 152, .has_label_slice = true },
	{ .minor = 24, .labels = 352, .id = 160, .has_label_slice = true },
	{ .minor = 23, .labels = 352, .id = 160 },
	{ .minor = 21, .labels = 344, .id = 152 },
	{ .minor = 17, .labels = 360, .id = 152 },
	{ .minor = 15, .labels = 344, .id = 152 },
};

/* The layout of Go 1.@minor; NULL if it is unknown. */
static const struct goroutine_layout *goroutine_layout_find(uint32_t minor)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (minor >= layouts[i].minor && minor <= LAST_KNOWN_MINOR)
			return &layouts[i];
	return NULL;
}

/*
 * True if GOROUTINE_LABEL_FUNCTION, whose code is @code, stores at the offset that @layout has for labels. The
 * layouts come from the Go project's own builds, and other builds of Go may differ.
 */
static bool goroutine_layout_fits(const struct goroutine_layout *layout, uint16_t machine,
				  const uint8_t *code, size_t size)
{
	uint32_t labels = layout->labels, word;

	if (machine == EM_X86_64)
		return memmem(code, size, &labels, sizeof(labels)) != NULL;
	for (size_t at = 0; at + ARM64_BYTES <= size; at += ARM64_BYTES) {
		memcpy(&word, code + at, sizeof(word));
		if ((word & ARM64_STORE_MASK) == ARM64_STORE &&
		    (word >> ARM64_OFFSET_SHIFT & ARM64_OFFSET_MASK) * 8 == labels)
			return true;
	}
	return false;
}

/* Reads the code of @function, up to the size of @code; returns its size, 0 if it cannot be read. */
static size_t read_code(struct go_table *table, const struct go_function *function,
			uint8_t code[GO_RUNTIME_CODE_BYTES])
{
	uint64_t size = function->end - function->start;

	if (size > GO_RUNTIME_CODE_BYTES)
		size = GO_RUNTIME_CODE_BYTES;
	return elf_pages_read_address(&table->pages, function->start, code, size) ? 0 : size;
}

/* Reads the function if its name is wanted. */
static void look_at(struct search *search, const struct go_function *function)
{
	uint16_t machine = search->table->pages.image->machine;
	struct go_runtime_code *runtime = &search->file->code;
	uint8_t code[GO_RUNTIME_CODE_BYTES];
	char name[NAME_BYTES];

	go_function_name_start(search->table, function, name, sizeof(name));
	if (strncmp(name, "runtime", strlen("runtime")) != 0)
		return;
	for (int i = 0; i < GO_RUNTIME_FUNCTION_COUNT; i++)
		if (!(runtime->found & 1U << i) &&
		    !strncmp(name, go_runtime_function_name(i), sizeof(name)))
			go_runtime_code_read(runtime, machine, i, function->start, code,
					     read_code(search->table, function, code));
	if (search->layout && !strncmp(name, GOROUTINE_LABEL_FUNCTION, sizeof(name)))
		search->has_labels |= goroutine_layout_fits(
			search->layout, machine, code, read_code(search->table, function, code));
}

static void take_layout(const struct search *search)
{
	struct go_process *process = &search->file->code.process;

	if (!search->layout)
		return;
	process->g_id = search->layout->id;
	process->g_labels = search->has_labels ? search->layout->labels : 0;
	process->has_label_slice = search->layout->has_label_slice;
}

/* -ENOENT: the file has no runtime; plugins have none. */
static int read_runtime(struct go_table *table, struct go_file *file)
{
	struct search search = {
		.table = table,
		.file = file,
		.layout = goroutine_layout_find(table->minor),
	};
	uint32_t needed = go_runtime_needed(table->pages.image->machine);

	for (uint32_t i = 0; i < table->header.function_count; i++) {
		struct go_function function;
		int err = go_function_read(table, i, &function);

		if (err == -ENOMEM)
			return err;
		if (!err)
			look_at(&search, &function);
	}
	if (!file->code.found)
		return fail(-ENOENT, "no runtime of Go");
	if ((file->code.found & needed) != needed)
		return fail(-EOPNOTSUPP, "a runtime of Go that is not known (functions %#x)",
			    file->code.found);
	take_layout(&search);
	return 0;
}

static int probe(const struct elf_image *image, const char *path, struct runtime_file **file)
{
	_cleanup_(go_table_deinit) struct go_table table = { 0 };
	_cleanup_(free_pointer) struct go_file *made = NULL;
	int err;

	(void)path;
	if (!go_program_is_one(image))
		return -ENOENT;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	err = go_table_init(&table, image);
	if (!err)
		err = read_runtime(&table, made);
	if (err)
		return err;
	made->file.language = &go_language;
	made->file.attaches_at_once = made->code.location != GO_G_AT_SLOT && !made->code.c_flag;
	if (table.minor)
		snprintf(made->file.version, sizeof(made->file.version), "Go 1.%u", table.minor);
	else
		snprintf(made->file.version, sizeof(made->file.version), "Go");
	*file = &take_pointer(made)->file;
	return 0;
}

static void release(struct runtime_file *file)
{
	free(file);
}

/* Reads the flag that says whether the program has C. On arm64 without C, g is only in a register. */
static int find_c(const struct go_runtime_code *code, const struct attach_target *target,
		  uint8_t *has_c)
{
	uint64_t address = target->bias + code->c_flag;
	int err = 0;

	if (code->has_c_flag_slot)
		err = remote_memory_read(target->memory, address, &address, sizeof(address));
	if (err)
		return err;
	/* The dynamic linker has not set the word yet. */
	if (!address)
		return fail(-EAGAIN, "Go's variables have no address yet");
	return remote_memory_read(target->memory, address, has_c, sizeof(*has_c));
}

static int find_g(const struct go_runtime_code *code, const struct attach_target *target,
		  struct thread_local_path *g)
{
	int64_t offset = code->offset;
	uint8_t has_c = 1;
	int err = code->c_flag ? find_c(code, target, &has_c) : 0;

	if (err || !has_c)
		return err;
	if (code->location == GO_G_AT_SLOT) {
		err = remote_memory_read(target->memory, target->bias + code->slot, &offset,
					 sizeof(offset));
		if (err)
			return err;
		/* The dynamic linker has not set the slot yet. */
		if (!offset)
			return fail(-EAGAIN, "Go's thread-local storage has no offset yet");
	}
	if (offset < INT32_MIN || offset > INT32_MAX)
		return fail(-EOPNOTSUPP, "Go's thread-local storage at %lld", (long long)offset);
	*g = (struct thread_local_path){ .offsets = { offset }, .depth = 1 };
	return 0;
}

static int attach(const struct runtime_file *probed, const struct attach_target *target,
		  struct runtime **process)
{
	const struct go_file *file = (const struct go_file *)probed;
	struct go_process data = file->code.process;
	struct go_attached *made;
	int err = find_g(&file->code, target, &data.g);

	if (err)
		return err;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->data = data;
	made->process.language = &go_language;
	made->process.data_bytes = sizeof(made->data);
	made->process.data = &made->data;
	*process = &made->process;
	return 0;
}

static void detach(struct runtime *process)
{
	free(process);
}

static void describe(const struct elf_image *image, struct program_facts *facts)
{
	struct go_program program;

	if (go_program_read(image, &program))
		return;
	facts->languages |= language_bit(FRAME_GO);
	program_facts_add(facts, "process.executable.build_id.go", program.build_id, true);
	program_facts_add(facts, "process.runtime.name", "go", false);
	program_facts_add(facts, "process.runtime.version", program.version, false);
	/* The conventions have no names for these. */
	program_facts_add(facts, "allframes.go.module.path", program.module_path, false);
	program_facts_add(facts, "allframes.go.module.version", program.module_version, false);
}

_Static_assert((int)GO_BUILD_ID_MAX_BYTES <= (int)PROGRAM_FACT_MAX_BYTES &&
		       (int)GO_MODULE_PATH_MAX_BYTES <= (int)PROGRAM_FACT_MAX_BYTES &&
		       (int)GO_MODULE_VERSION_MAX_BYTES <= (int)PROGRAM_FACT_MAX_BYTES &&
		       (int)GO_VERSION_MAX_BYTES <= (int)PROGRAM_FACT_MAX_BYTES,
	       "no text is left out");

static const struct language_ops ops = {
	.probe = probe,
	.describe = describe,
	.release = release,
	.attach = attach,
	.detach = detach,
};

const struct language go_language = {
	.id = &language_ids[LANGUAGE_INDEX_GO],
	.ops = &ops,
};
