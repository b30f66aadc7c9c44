/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbols of the tables are looked for in the file, the tables are read from the process, and all
 * that follows is where those say.
 */
#include "interpreters/java/java.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/error.h"
#include "interpreters/java/java_attach.h"
#include "interpreters/java/java_symbolize.h"

struct java_file {
	struct interpreter_file file;
	struct vm_symbols symbols;
};

struct java_attached {
	struct interpreter_process process;
	struct java_symbolizer symbolizer;
};

_Static_assert(sizeof(struct java_process) <= INTERPRETER_DATA_MAX_BYTES, "the data fit");

static int probe(const struct elf_image *image, const char *path, struct interpreter_file **file)
{
	struct vm_symbols symbols;
	struct java_file *made;
	int err = vm_symbols_find(image, &symbols);

	(void)path;
	if (err)
		return err;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->file.interpreter = &java_interpreter;
	made->symbols = symbols;
	snprintf(made->file.version, sizeof(made->file.version), "HotSpot");
	*file = &made->file;
	return 0;
}

static void release(struct interpreter_file *file)
{
	free(file);
}

static int attach(const struct interpreter_file *probed, const struct interpreter_target *target,
		  struct interpreter_process **process)
{
	const struct java_file *file = (const struct java_file *)probed;
	struct java_attached *made;
	struct java_layout layout;
	struct java_heaps heaps;
	struct java_process data;
	int err;

	err = java_layout_read(&file->symbols, target->bias, target->memory, &layout);
	if (!err)
		err = java_attach_read(&layout, target->memory, &heaps, &data);
	if (err)
		return err;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	java_symbolizer_init(&made->symbolizer, &layout);
	made->process.interpreter = &java_interpreter;
	made->process.data_bytes = sizeof(data);
	memcpy(made->process.data, &data, sizeof(data));
	*process = &made->process;
	return 0;
}

static int symbolize(struct interpreter_process *process, struct remote_memory *memory,
		     const uint64_t words[2], uint32_t *object, struct interpreted_frames *frames)
{
	struct java_attached *attached = (struct java_attached *)process;

	(void)object;
	return java_symbolize(&attached->symbolizer, memory, words, frames);
}

static void detach(struct interpreter_process *process)
{
	struct java_attached *attached = (struct java_attached *)process;

	java_symbolizer_deinit(&attached->symbolizer);
	free(attached);
}

static const struct interpreter_ops ops = {
	.probe = probe,
	.release = release,
	.attach = attach,
	.symbolize = symbolize,
	.detach = detach,
};

const struct interpreter java_interpreter = {
	.name = "java",
	.kind = FRAME_JAVA,
	.ops = &ops,
};
