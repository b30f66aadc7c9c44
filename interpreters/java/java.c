/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbols of the tables are found in the file, and the tables are read from the process. They have the
 * addresses and offsets of everything else.
 */
#include "interpreters/java/java.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpreters/java/java_attach.h"
#include "interpreters/java/java_stub_names.h"
#include "interpreters/java/java_stubs.h"
#include "interpreters/java/java_symbolize.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/lru_cache.h"
#include "lib/base/text.h"
#include "lib/elf/elf_dynamic.h"

struct java_file {
	struct runtime_file file;
	struct vm_symbols symbols;
	struct java_library library;
};

struct java_attached {
	struct runtime process;
	/** The data of `process`. */
	void *data;
	struct java_heaps heaps;
	struct java_symbolizer symbolizer;
	struct java_stub_names stub_names;
	/** Address -> struct named_stub. */
	struct lru_cache stubs;
};

/* The name for an address in a stub. */
struct named_stub {
	/* Time of the look-up. */
	uint64_t looked_ns;
	bool marks_trace;
	char name[];
};

enum {
	STUBS_MAX_ENTRIES = 256,
	STUBS_MAX_BYTES = 64 << 10,
	/* Size of an entry without its name. */
	STUB_BYTES = 64,
};

/* Refuses a Java that is not HotSpot; its frames stay native. */
static int refuse_others(const struct elf_image *image)
{
	struct elf_dynamic_symbol symbol;
	struct elf_dynamic dynamic;

	if (elf_image_find_section(image, ".svm_heap"))
		return fail(-EOPNOTSUPP,
			    "a native image of GraalVM, which has no tables of its code");
	if (!elf_dynamic_init(&dynamic, image) &&
	    !elf_dynamic_find(&dynamic, image, "J9_CreateJavaVM", &symbol))
		return fail(-EOPNOTSUPP, "OpenJ9 is not known");
	return -ENOENT;
}

static int probe(const struct elf_image *image, const char *path, struct runtime_file **file)
{
	struct vm_symbols symbols;
	struct java_file *made;
	int err = vm_symbols_find(image, &symbols);

	(void)path;
	if (err == -ENOENT)
		err = refuse_others(image);
	if (err)
		return err;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->file.language = &java_language;
	made->symbols = symbols;
	java_library_find(image, &made->library);
	snprintf(made->file.version, sizeof(made->file.version), "HotSpot");
	*file = &made->file;
	return 0;
}

static void release(struct runtime_file *file)
{
	free(file);
}

static void release_stub(void *context, const void *key, void *value)
{
	(void)context;
	(void)key;
	free(value);
}

static int attach(const struct runtime_file *probed, const struct attach_target *target,
		  struct runtime **process)
{
	const struct java_file *file = (const struct java_file *)probed;
	struct java_attached *made;
	struct java_layout layout;
	struct java_heaps heaps;
	struct java_process data;
	struct java_stub_names names = { 0 };
	uint32_t bytes = 0;
	void *rows = NULL;
	int err;

	err = java_layout_read(&file->symbols, target->bias, target->memory, &layout);
	if (!err)
		err = java_attach_read(&layout, target->memory, &heaps, &data);
	if (!err)
		err = java_stubs_read(&layout, &heaps, &file->library.data, target, &data, &rows,
				      &bytes);
	if (!err)
		err = java_stub_names_read(&layout, &heaps, &file->library, target->bias,
					   target->memory, &names);
	made = err ? NULL : calloc(1, sizeof(*made));
	if (!made) {
		java_stub_names_deinit(&names);
		free(rows);
		return err ? err : -ENOMEM;
	}
	made->stub_names = names;
	java_symbolizer_init(&made->symbolizer, &layout, data.unloads, probed->with_signatures,
			     target->find_jump);
	made->heaps = heaps;
	lru_cache_init(&made->stubs, sizeof(uint64_t), STUBS_MAX_ENTRIES, STUBS_MAX_BYTES,
		       release_stub, NULL);
	made->data = rows;
	made->process.language = &java_language;
	made->process.data = rows;
	made->process.data_bytes = bytes;
	/* The compilers' threads may still be creating their stubs. */
	made->process.may_grow = true;
	*process = &made->process;
	return 0;
}

/* Stubs below which a part of a virtual thread's frames is still in the heap, and which fetch them from there. */
#define CONTINUATION_STUBS "[stub: StubRoutines (continuation"

static int read_stub(struct java_attached *attached, struct remote_memory *memory, uint64_t address,
		     uint64_t now_ns, struct named_stub **stub)
{
	const char *name = java_stub_names_find(&attached->stub_names, address);
	_cleanup_(free_pointer) struct named_stub *made = NULL;
	java_text block;
	size_t name_bytes;
	int err = java_stub_name(&attached->symbolizer.layout, &attached->heaps, memory, address,
				 block);

	if (err)
		return err;
	if (!name)
		name = block;
	name_bytes = strlen(name) + 1;
	made = malloc(sizeof(*made) + name_bytes);
	if (!made)
		return -ENOMEM;
	made->looked_ns = now_ns;
	made->marks_trace = text_starts_with(block, CONTINUATION_STUBS);
	memcpy(made->name, name, name_bytes);
	err = lru_cache_put_capped(&attached->stubs, &address, made, name_bytes + STUB_BYTES);
	if (!err)
		*stub = take_pointer(made);
	return err;
}

static int name_stub(struct java_attached *attached, struct remote_memory *memory,
		     const uint64_t words[2], uint64_t now_ns, struct interpreted_frames *frames)
{
	uint64_t behind = frame_flags(words[0]) & FRAME_RETURN_ADDRESS;
	uint64_t address = frame_address(words[0]) - behind;
	struct named_stub *stub = lru_cache_get(&attached->stubs, &address);
	int err = 0;

	if (!stub || now_ns - stub->looked_ns >= JAVA_LOOK_NS)
		err = read_stub(attached, memory, address, now_ns, &stub);
	if (err)
		return err;
	frames->count = 1;
	frames->items[0] = (struct interpreted_frame){
		.function = stub->name,
		.marks_trace = stub->marks_trace,
	};
	return 0;
}

static int symbolize(struct runtime *process, struct remote_memory *memory, const uint64_t words[2],
		     uint32_t *object, struct interpreted_frames *frames)
{
	struct java_attached *attached = (struct java_attached *)process;
	uint64_t now_ns = clock_monotonic_ns();

	(void)object;
	if (words[1] >> 32 == JAVA_STUB)
		return name_stub(attached, memory, words, now_ns, frames);
	return java_symbolize(&attached->symbolizer, memory, words, now_ns, frames);
}

static void detach(struct runtime *process)
{
	struct java_attached *attached = (struct java_attached *)process;

	java_symbolizer_deinit(&attached->symbolizer);
	java_stub_names_deinit(&attached->stub_names);
	lru_cache_deinit(&attached->stubs);
	free(attached->data);
	free(attached);
}

static const struct language_ops ops = {
	.probe = probe,
	.release = release,
	.attach = attach,
	.symbolize = symbolize,
	.detach = detach,
};

const struct language java_language = {
	.id = &language_ids[LANGUAGE_INDEX_JAVA],
	.ops = &ops,
};
