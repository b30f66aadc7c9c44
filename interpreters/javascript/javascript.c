/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All data about a V8 comes from its file. The kernel side and symbolize check what they read from the process each
 * time, so attach does not read it.
 */
#include "interpreters/javascript/javascript.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "interpreters/javascript/javascript_describe.h"
#include "interpreters/javascript/javascript_symbolize.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"

struct javascript_file {
	struct runtime_file file;
	struct v8_layout layout;
	struct v8_builtins builtins;
	struct javascript_process process;
	/** One reference for the file, and one for each attached process. */
	uint32_t references;
};

struct javascript_attached {
	struct runtime process;
	struct javascript_process data;
	struct javascript_file *file;
	struct javascript_symbolizer symbolizer;
};

static void unreference(struct javascript_file *file)
{
	if (__atomic_sub_fetch(&file->references, 1, __ATOMIC_ACQ_REL))
		return;
	v8_builtins_deinit(&file->builtins);
	free(file);
}

static int describe_file(const struct elf_image *image, struct javascript_file *file)
{
	int err;

	if (file->layout.machine != EM_X86_64)
		return fail(-EOPNOTSUPP, "V8 of this machine is not known");
	err = v8_builtins_init(&file->builtins, image);
	if (err == -ENOENT)
		err = fail(-EOPNOTSUPP, "a V8 without the symbols of its builtins");
	if (err)
		return err;
	err = javascript_describe(&file->layout, &file->builtins, &file->process);
	if (!err)
		err = javascript_find_dispatch_table(image, &file->builtins,
						     &file->process.dispatch_table);
	if (err)
		v8_builtins_deinit(&file->builtins);
	return err;
}

static int probe(const struct elf_image *image, const char *path, struct runtime_file **file)
{
	struct javascript_file *made;
	struct v8_layout layout;
	int err = v8_layout_read(image, &layout);

	(void)path;
	if (err)
		return err;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->layout = layout;
	err = describe_file(image, made);
	if (err) {
		free(made);
		return err;
	}
	made->references = 1;
	made->file.language = &javascript_language;
	made->file.ranges[0] = (struct code_range){
		.start = made->process.builtins_start,
		.end = made->process.builtins_start + made->process.builtins_bytes,
	};
	made->file.range_count = 1;
	made->file.steps_without_rules = true;
	snprintf(made->file.version, sizeof(made->file.version), "V8 %u.%u.%u.%u", layout.major,
		 layout.minor, layout.build, layout.patch);
	*file = &made->file;
	return 0;
}

static void release(struct runtime_file *file)
{
	unreference((struct javascript_file *)file);
}

static int attach(const struct runtime_file *probed, const struct attach_target *target,
		  struct runtime **process)
{
	struct javascript_file *file = (struct javascript_file *)probed;
	struct javascript_attached *made = calloc(1, sizeof(*made));

	if (!made)
		return -ENOMEM;
	__atomic_add_fetch(&file->references, 1, __ATOMIC_RELAXED);
	made->file = file;
	made->data = file->process;
	if (made->data.jit_pages)
		made->data.jit_pages += target->bias;
	javascript_symbolizer_init(&made->symbolizer, &file->layout, &file->builtins);
	made->process.language = &javascript_language;
	made->process.data = &made->data;
	made->process.data_bytes = sizeof(made->data);
	*process = &made->process;
	return 0;
}

/* @object is not needed, since a running V8 is not forked. */
static int symbolize(struct runtime *process, struct remote_memory *memory, const uint64_t words[2],
		     uint32_t *object, struct interpreted_frames *frames)
{
	struct javascript_attached *attached = (struct javascript_attached *)process;

	(void)object;
	return javascript_symbolize(&attached->symbolizer, memory, words, clock_monotonic_ns(),
				    frames);
}

static void detach(struct runtime *process)
{
	struct javascript_attached *attached = (struct javascript_attached *)process;

	javascript_symbolizer_deinit(&attached->symbolizer);
	unreference(attached->file);
	free(attached);
}

static const struct language_ops ops = {
	.probe = probe,
	.release = release,
	.attach = attach,
	.symbolize = symbolize,
	.detach = detach,
};

const struct language javascript_language = {
	.id = &language_ids[LANGUAGE_INDEX_JAVASCRIPT],
	.ops = &ops,
};
