/* SPDX-License-Identifier: Apache-2.0 */
/* Attaching compares the version in memory with the file's, and finds the thread's execution context in code. */
#include "interpreters/ruby/ruby.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ebpf/abi/frame.h"
#include "interpreters/ruby/ruby_names.h"
#include "interpreters/ruby/ruby_probe.h"
#include "interpreters/thread_local.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"

struct ruby_attached {
	struct runtime process;
	struct ruby_process data;
	struct ruby_names names;
};

static int probe(const struct elf_image *image, const char *path, struct runtime_file **file)
{
	struct ruby_file *made;
	int err;

	(void)path;
	err = ruby_probe(&ruby_language, image, &made);
	if (!err)
		*file = &made->file;
	return err;
}

static void release(struct runtime_file *file)
{
	ruby_file_release((struct ruby_file *)file);
}

/* Compares the version, because the file may have been replaced since it was probed, or the process patched. */
static int check_version(const struct ruby_file *file, const struct attach_target *target)
{
	char text[RUBY_VERSION_TEXT_BYTES];
	int err = remote_memory_read(target->memory, target->bias + file->version_address, text,
				     sizeof(text));

	if (!err && strncmp(text, file->version_text, sizeof(text) - 1) != 0)
		err = fail(-EOPNOTSUPP, "%s in the file, and another one in memory",
			   file->file.version);
	return err;
}

/*
 * rb_thread_current() loads the execution context of the thread, from that its rb_thread_t, and from that the object.
 * The offsets of the second and the third load must be those of the layout.
 */
static int find_context(const struct ruby_file *file, const struct attach_target *target,
			struct thread_local_path *path)
{
	const struct ruby_layout *layout = file->layout;
	struct thread_local_loads loads;
	int err = thread_local_loads_of_call(target, file->machine,
					     target->bias + file->thread_function, 0, &loads);

	if (err)
		return err;
	if (loads.count < 3 || loads.count > 2 + THREAD_LOCAL_MAX_DEPTH ||
	    loads.offsets[loads.count - 1] != layout->thread_self ||
	    loads.offsets[loads.count - 2] != layout->context_thread)
		return fail(-EOPNOTSUPP, "rb_thread_current() is not as in %s", file->file.version);
	*path = (struct thread_local_path){ .depth = loads.count - 2 };
	memcpy(path->offsets, loads.offsets, path->depth * sizeof(path->offsets[0]));
	return 0;
}

/* The address of the pointer in the process; 0: unknown. */
static int find_pointer(const struct ruby_pointer *found, const struct attach_target *target,
			__u64 *address)
{
	*address = found->address ? target->bias + found->address : 0;
	if (!*address || !found->is_indirect)
		return 0;
	return remote_memory_read(target->memory, *address, address, sizeof(*address));
}

static void describe(const struct ruby_file *file, uint64_t bias, struct ruby_process *process)
{
	const struct ruby_layout *layout = file->layout;

	process->bias = bias;
	process->loop = file->loop;
	process->core = file->core;
	memcpy(process->returning, file->returning, sizeof(process->returning));
	memcpy(process->code_returns, file->code_returns, sizeof(process->code_returns));
	memcpy(process->entering, file->entering, sizeof(process->entering));
	process->context_frame = layout->context_frame;
	process->context_tag = layout->context_tag;
	process->tag_state = RUBY_TAG_STATE + file->jump_buffer;
	process->frame_bytes = layout->frame_bytes;
	process->vm_collector = file->collector.vm_collector;
	process->vm_lock_owner = layout->vm_lock_owner;
	process->collector_flags = file->collector.flags;
	process->context_thread = layout->context_thread;
	process->thread_ractor = layout->thread_ractor;
	process->ractor_context = layout->ractor_context;
	process->thread_native = layout->thread_native;
	process->context_fiber = layout->context_fiber;
	process->context_stack_start = layout->context_stack_start;
	process->context_stack_bytes = layout->context_stack_bytes;
	process->fiber_context = layout->fiber_context;
	process->fiber_resumer = layout->fiber_resumer + file->jump_buffer;
	if (file->saves_registers)
		process->fiber_stack_pointer = layout->fiber_stack_pointer + file->jump_buffer;
	ruby_names_describe(layout, process);
}

static int attach(const struct runtime_file *probed, const struct attach_target *target,
		  struct runtime **process)
{
	const struct ruby_file *file = (const struct ruby_file *)probed;
	struct ruby_process data = { 0 };
	struct ruby_attached *made;
	int err = check_version(file, target);

	if (!err)
		err = file->context.address ?
			      find_pointer(&file->context, target, &data.context_pointer) :
			      find_context(file, target, &data.context);
	if (!err)
		err = find_pointer(&file->collector.vm, target, &data.vm_pointer);
	if (err)
		return err;
	describe(file, target->bias, &data);
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->process.language = &ruby_language;
	made->data = data;
	made->process.data_bytes = sizeof(made->data);
	made->process.data = &made->data;
	ruby_names_init(&made->names, file->layout, &data, target->bias + file->symbols);
	*process = &made->process;
	return 0;
}

static int symbolize(struct runtime *process, struct remote_memory *memory, const uint64_t *words,
		     uint32_t *object, struct interpreted_frames *frames)
{
	struct ruby_attached *attached = (struct ruby_attached *)process;
	struct interpreted_frame frame = { 0 };
	int err = ruby_names_symbolize(&attached->names, memory, words, object, &frame);

	if (err)
		return err;
	frames->count = 1;
	frames->items[0] = frame;
	return 0;
}

static void detach(struct runtime *process)
{
	struct ruby_attached *attached = (struct ruby_attached *)process;

	if (!attached)
		return;
	ruby_names_deinit(&attached->names);
	free(attached);
}

static const struct language_ops ops = {
	.probe = probe,
	.release = release,
	.attach = attach,
	.symbolize = symbolize,
	.detach = detach,
};

const struct language ruby_language = {
	.id = &language_ids[LANGUAGE_INDEX_RUBY],
	.ops = &ops,
};
