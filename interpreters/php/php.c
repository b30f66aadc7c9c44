/* SPDX-License-Identifier: Apache-2.0 */
/* Attaching compares the version in memory with the file's. The probe has found everything else. */
#include "interpreters/php/php.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "interpreters/php/php_jit.h"
#include "interpreters/php/php_names.h"
#include "interpreters/php/php_probe.h"
#include "interpreters/thread_local.h"
#include "lib/base/error.h"

struct php_attached {
	struct runtime process;
	struct php_process data;
	struct php_names names;
	struct php_jit jit;
};

static int probe(const struct elf_image *image, const char *path, struct runtime_file **file)
{
	struct php_file *made;
	int err;

	(void)path;
	err = php_probe(&php_language, image, &made);
	if (!err)
		*file = &made->file;
	return err;
}

static void release(struct runtime_file *file)
{
	php_file_release((struct php_file *)file);
}

/*
 * Compares the version, because the file may have been replaced since it was probed. The engine copies the text when it
 * starts.
 */
static int check_version(const struct php_file *file, const struct attach_target *target)
{
	char text[PHP_VERSION_TEXT_BYTES];
	uint64_t address;
	int err = remote_memory_read(target->memory, target->bias + file->version_pointer, &address,
				     sizeof(address));

	if (err)
		return err;
	if (!address)
		return fail(-EAGAIN, "%s has not started yet", file->file.version);
	err = remote_memory_read(target->memory, address, text, sizeof(text));
	if (!err && memcmp(text, file->version_text, sizeof(text)) != 0)
		err = fail(-EOPNOTSUPP, "%s in the file, and another one in memory",
			   file->file.version);
	return err;
}

/*
 * Finds the struct executor_globals; with threads, the variable that has its offset. A program that uses it by its name has a copy
 * of it, which the library uses as well.
 */
static int find_globals(const struct php_file *file, const struct attach_target *target,
			uint64_t *globals)
{
	uint64_t found = target->bias + file->globals;
	int err = 0;

	if (file->globals_slot)
		err = remote_memory_read(target->memory, target->bias + file->globals_slot, &found,
					 sizeof(found));
	if (!err && !found)
		err = fail(-EAGAIN, "%s is not linked yet", file->file.version);
	if (!err)
		*globals = found;
	return err;
}

/*
 * Finds what each thread has: the struct executor_globals is @*globals bytes behind the memory at @path. The offset is there
 * once the key of that memory is.
 */
static int find_thread(const struct php_file *file, const struct attach_target *target,
		       uint64_t *globals, struct thread_local_path *path)
{
	uint64_t offset;
	int err;

	if (!file->thread_memory)
		return 0;
	err = remote_memory_read(target->memory, *globals, &offset, sizeof(offset));
	if (!err && !offset)
		err = fail(-EAGAIN, "%s has not started yet", file->file.version);
	if (!err)
		err = thread_local_path_of_call(target, EM_X86_64,
						target->bias + file->thread_memory, 0, path);
	if (!err)
		*globals = offset;
	return err;
}

static void describe(const struct php_file *file, uint64_t bias, uint64_t globals,
		     struct php_process *process)
{
	const struct php_layout *layout = file->layout;

	process->current = globals + layout->current;
	process->before_exception = globals + layout->before_exception;
	process->bias = bias;
	process->end = file->code.end;
	process->frame_bytes = file->code.frame_bytes;
	process->releasing = file->code.releasing;
	memcpy(process->entering, file->code.entering, sizeof(process->entering));
	memcpy(process->resumed, file->code.resumed, sizeof(process->resumed));
	memcpy(process->preparing, file->code.preparing, sizeof(process->preparing));
	memcpy(process->left, file->code.left, sizeof(process->left));
	process->generator_frame = (uint8_t)layout->generator_frame;
	process->generator_values = (uint8_t)layout->generator_values;
	process->generator_parent = (uint8_t)layout->generator_parent;
	process->generator_fake = (uint8_t)layout->generator_fake;
	process->code_bytes = layout->code_bytes;
	process->switching = file->code.switching;
	if (layout->fibers && file->code.switching.end)
		process->fibers = layout->fibers - layout->current;
	php_names_describe(layout, process);
}

static int attach(const struct runtime_file *probed, const struct attach_target *target,
		  struct runtime **process)
{
	const struct php_file *file = (const struct php_file *)probed;
	struct php_attached *made;
	struct thread_local_path thread = { 0 };
	uint64_t globals;
	int err = check_version(file, target);

	if (!err)
		err = find_globals(file, target, &globals);
	if (!err)
		err = find_thread(file, target, &globals, &thread);
	if (err)
		return err;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->process.language = &php_language;
	describe(file, target->bias, globals, &made->data);
	made->data.thread = thread;
	made->process.data_bytes = sizeof(made->data);
	made->process.data = &made->data;
	php_names_init(&made->names, file->layout, &made->data);
	php_jit_init(&made->jit, file->layout);
	*process = &made->process;
	return 0;
}

static int symbolize(struct runtime *process, struct remote_memory *memory, const uint64_t *words,
		     uint32_t *object, struct interpreted_frames *frames)
{
	struct php_attached *attached = (struct php_attached *)process;
	struct interpreted_frame frame = { 0 };
	int err = php_names_symbolize(&attached->names, memory, words, object, &frame);

	if (err)
		return err;
	if (frame_flags(words[0]) & FRAME_HAS_OWNER)
		php_jit_improve(&attached->jit, memory, words, &frame);
	frames->count = 1;
	frames->items[0] = frame;
	return 0;
}

static void detach(struct runtime *process)
{
	struct php_attached *attached = (struct php_attached *)process;

	if (!attached)
		return;
	php_names_deinit(&attached->names);
	free(attached);
}

static const struct language_ops ops = {
	.probe = probe,
	.release = release,
	.attach = attach,
	.symbolize = symbolize,
	.detach = detach,
};

const struct language php_language = {
	.id = &language_ids[LANGUAGE_INDEX_PHP],
	.ops = &ops,
};
