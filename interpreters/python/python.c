/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attaching compares the version in memory with the file's. Offsets come from the runtime's own table if it has one.
 * The location of the thread state comes from the runtime's instructions.
 */
#include "interpreters/python/python.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "interpreters/python/python_code.h"
#include "interpreters/python/python_probe.h"
#include "interpreters/thread_local.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"

enum {
	/** Tags of _PyStackRef. */
	CODE_TAG_MASK = 3,
};

struct python_attached {
	struct runtime process;
	struct python_process data;
	struct python_code_cache cache;
};

static int probe(const struct elf_image *image, const char *path, struct runtime_file **file)
{
	struct python_file *made;
	int err;

	(void)path;
	err = python_probe(&python_language, image, &made);
	if (!err)
		*file = &made->file;
	return err;
}

static void release(struct runtime_file *file)
{
	python_file_release((struct python_file *)file);
}

/* Compares the version, because the file may have been replaced since it was probed, or the process patched. */
static int check_version(const struct python_file *file, const struct attach_target *target)
{
	char text[PYTHON_VERSION_TEXT_BYTES];
	int err = remote_memory_read(target->memory, target->bias + file->version_address, text,
				     file->version_bytes);

	if (err)
		return err;
	if (memcmp(text, file->version_text, file->version_bytes) != 0)
		return fail(-EOPNOTSUPP, "%s in the file, and another one in memory",
			    file->file.version);
	return 0;
}

static int find_layout(const struct python_file *file, const struct attach_target *target,
		       struct python_layout *layout)
{
	uint8_t offsets[PYTHON_DEBUG_OFFSETS_BYTES];
	int err;

	if (file->version < PYTHON_FIRST_WITH_OFFSETS)
		return python_layout_init(layout, file->version, file->has_object_list);
	err = remote_memory_read(target->memory, target->bias + file->runtime, offsets,
				 sizeof(offsets));
	return err ? err : python_layout_init_offsets(layout, file->version, offsets);
}

static int find_thread_state(const struct python_file *file, const struct attach_target *target,
			     struct thread_local_path paths[2])
{
	int err = thread_local_path_of_call(
		target, file->machine, target->bias + file->thread_state_function, 0, &paths[0]);

	if (err)
		return err;
	/* The thread state of a thread that has no other one; it is optional. */
	if (file->current_thread_state_function &&
	    thread_local_path_of_call(target, file->machine,
				      target->bias + file->current_thread_state_function, 0,
				      &paths[1]))
		memset(&paths[1], 0, sizeof(paths[1]));
	return 0;
}

static enum python_chain chain_of(uint16_t version)
{
	return version < PYTHON_VERSION(3, 10) ? PYTHON_FRAME_OBJECTS :
	       version < PYTHON_VERSION(3, 11) ? PYTHON_FRAME_OBJECTS_CFRAME :
	       version < PYTHON_VERSION(3, 13) ? PYTHON_CFRAME :
						 PYTHON_CURRENT_FRAME;
}

/* True if all fields of a frame are in [@start, @end), and their offsets from @start can be stored. */
static bool frame_is_within(const struct python_frame_layout *frame, uint32_t start, uint32_t end,
			    uint32_t instruction_bytes)
{
	return start <= UINT8_MAX && end - start <= PYTHON_READ_MAX_BYTES &&
	       frame->code + 8U <= end && frame->previous + 8U <= end &&
	       frame->instruction >= start && frame->instruction + instruction_bytes <= end &&
	       (!frame->owner || (frame->owner >= start && frame->owner < end)) &&
	       (!frame->copy_index ||
		(frame->copy_index >= start && frame->copy_index + 4U <= end));
}

/* Sets the frame_ fields: the part of a frame from the first needed field to the end of the last one. */
static int describe_frame(const struct python_layout *layout, struct python_process *process)
{
	const struct python_frame_layout *frame = &layout->frame;
	bool is_object = layout->version <= PYTHON_VERSION(3, 10);
	uint32_t start = frame->code < frame->previous ? frame->code : frame->previous;
	uint32_t instruction_bytes = is_object ? 4 : 8;
	uint32_t end = frame->instruction + instruction_bytes;

	if (frame->owner && frame->owner + 1U > end)
		end = frame->owner + 1U;
	if (frame->copy_index && frame->copy_index + 4U > end)
		end = frame->copy_index + 4U;
	if (!frame_is_within(frame, start, end, instruction_bytes))
		return fail(-EOPNOTSUPP, "frames of %u bytes", end);
	process->frame_start = (uint8_t)start;
	process->frame_bytes = (uint8_t)(end - start);
	process->frame_code = (uint8_t)(frame->code - start);
	process->frame_previous = (uint8_t)(frame->previous - start);
	process->frame_instruction = (uint8_t)(frame->instruction - start);
	process->frame_owner = frame->owner && layout->version >= PYTHON_VERSION(3, 12) ?
				       (uint8_t)(frame->owner - start) :
				       PYTHON_NO_OFFSET;
	process->frame_tlbc_index = frame->copy_index ? (uint8_t)(frame->copy_index - start) :
							PYTHON_NO_OFFSET;
	return 0;
}

static int describe(const struct python_file *file, const struct attach_target *target,
		    const struct python_layout *layout, struct python_process *process)
{
	const struct python_frame_layout *frame = &layout->frame;
	int err;

	process->chain = chain_of(layout->version);
	process->thread_frame = frame->thread_frame;
	process->thread_cframe = frame->thread_cframe;
	process->cframe_current = (uint8_t)frame->cframe_frame;
	process->cframe_previous = (uint8_t)frame->cframe_previous;
	process->code_tag_mask = layout->version >= PYTHON_VERSION(3, 14) ? CODE_TAG_MASK : 0;
	if (layout->version >= PYTHON_VERSION(3, 11))
		process->code_bytecode = layout->code.instructions;
	process->code_tlbc = frame->code_copies;
	process->hidden_code = file->hidden_code ? target->bias + file->hidden_code : 0;
	if (file->runtime && layout->thread.interpreters)
		process->interpreters = target->bias + file->runtime + layout->thread.interpreters;
	else if (file->first_interpreter && !layout->thread.interpreters)
		process->interpreters = target->bias + file->first_interpreter;
	if (process->interpreters) {
		process->interpreter_next = layout->thread.interpreter_next;
		process->interpreter_threads = layout->thread.interpreter_threads;
		process->thread_next = layout->thread.next;
		process->thread_interpreter = layout->thread.interpreter;
		process->thread_id = layout->thread.id;
	}
	memcpy(process->unpushed, file->unpushed, sizeof(process->unpushed));
	process->saved_bytes = file->saved_bytes;
	err = describe_frame(layout, process);
	return err ? err : python_code_describe(layout, process);
}

static int attach(const struct runtime_file *probed, const struct attach_target *target,
		  struct runtime **process)
{
	const struct python_file *file = (const struct python_file *)probed;
	_cleanup_(free_pointer) struct python_attached *made = NULL;
	struct python_process data = { 0 };
	struct python_layout layout;
	int err;

	err = check_version(file, target);
	if (!err)
		err = find_layout(file, target, &layout);
	if (!err)
		err = find_thread_state(file, target, data.thread_state);
	if (!err)
		err = describe(file, target, &layout, &data);
	if (err)
		return err;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->process.language = &python_language;
	made->data = data;
	made->process.data_bytes = sizeof(made->data);
	made->process.data = &made->data;
	python_code_cache_init(&made->cache, &layout, &data);
	*process = &take_pointer(made)->process;
	return 0;
}

static int symbolize(struct runtime *process, struct remote_memory *memory, const uint64_t words[2],
		     uint32_t *object, struct interpreted_frames *frames)
{
	struct python_attached *attached = (struct python_attached *)process;
	struct interpreted_frame frame = { 0 };
	int err = python_code_symbolize(&attached->cache, memory, words, object, &frame);

	if (err)
		return err;
	frames->count = 1;
	frames->items[0] = frame;
	return 0;
}

static void detach(struct runtime *process)
{
	struct python_attached *attached = (struct python_attached *)process;

	if (!attached)
		return;
	python_code_cache_deinit(&attached->cache);
	free(attached);
}

static const struct language_ops ops = {
	.probe = probe,
	.copies_stacks = python_copies_stacks,
	.release = release,
	.attach = attach,
	.symbolize = symbolize,
	.detach = detach,
};

const struct language python_language = {
	.id = &language_ids[LANGUAGE_INDEX_PYTHON],
	.ops = &ops,
};
