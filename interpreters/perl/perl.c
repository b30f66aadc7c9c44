/* SPDX-License-Identifier: Apache-2.0 */
/* Attaching checks the layout in the first interpreter, and finds where a thread keeps the address of its own. */
#include "interpreters/perl/perl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "interpreters/perl/perl_names.h"
#include "interpreters/perl/perl_probe.h"
#include "interpreters/thread_local.h"
#include "interpreters/unbound_call.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"

struct perl_attached {
	struct runtime process;
	struct perl_process data;
	struct perl_names names;
};

static int probe(const struct elf_image *image, const char *path, struct runtime_file **file)
{
	struct perl_file *made;
	int err;

	(void)path;
	err = perl_probe(&perl_language, image, &made);
	if (!err)
		*file = &made->file;
	return err;
}

static void release(struct runtime_file *file)
{
	perl_file_release((struct perl_file *)file);
}

/* Finds the variables, and the first interpreter of a Perl with threads. */
static int find_variables(const struct perl_file *file, const struct attach_target *target,
			  uint64_t *interpreter, struct perl_process *process)
{
	const struct perl_layout *layout = file->layout;
	__u64 *const addresses[PERL_VARIABLE_COUNT] = {
		[PERL_VARIABLE_OP] = &process->op,
		[PERL_VARIABLE_COP] = &process->cop,
		[PERL_VARIABLE_STACK] = &process->stack,
		[PERL_VARIABLE_SAVED] = &process->saved,
		[PERL_VARIABLE_SAVED_COUNT] = &process->saved_count,
		[PERL_VARIABLE_RUN] = &process->run,
	};
	int err = 0;

	*interpreter = 0;
	if (file->is_threaded) {
		process->op = layout->op;
		process->cop = layout->cop;
		process->stack = layout->stack;
		process->saved = layout->saved;
		process->saved_count = layout->saved_count;
		process->run = layout->run;
		return remote_memory_read(target->memory, target->bias + file->first_interpreter,
					  interpreter, sizeof(*interpreter));
	}
	for (size_t i = 0; !err && i < PERL_VARIABLE_COUNT; i++) {
		const struct perl_variable *variable = &file->variables[i];

		*addresses[i] = target->bias + variable->address;
		/* A program that uses the variable by its name has a copy of it. */
		if (variable->slot)
			err = remote_memory_read(target->memory, target->bias + variable->slot,
						 addresses[i], sizeof(*addresses[i]));
	}
	return err;
}

/*
 * Checks that the first interpreter has the address of the loop where the layout has it. A debugger or a profiler may have put
 * a loop of its own there, for which there are no frames.
 */
static int check_layout(const struct perl_file *file, const struct attach_target *target,
			struct perl_process *process)
{
	uint64_t interpreter, loop;
	int err = find_variables(file, target, &interpreter, process);

	if (err)
		return err;
	if (file->is_threaded && !interpreter)
		return fail(-EAGAIN, "%s has not started yet", file->file.version);
	err = remote_memory_read(target->memory, interpreter + process->run, &loop, sizeof(loop));
	if (err)
		return err;
	if (!loop)
		return fail(-EAGAIN, "%s has not started yet", file->file.version);
	if (loop != target->bias + file->loop)
		return fail(-EOPNOTSUPP, "%s with structs that are not known, or a loop of its own",
			    file->file.version);
	return 0;
}

/* Follows pthread_getspecific() with the key of the interpreter. */
static int find_interpreter(const struct perl_file *file, const struct attach_target *target,
			    struct thread_local_path *path)
{
	uint64_t deadline_ns = clock_thread_cpu_ns() + UNBOUND_CALL_MAX_CPU_NS, function;
	uint32_t key;
	int err = remote_memory_read(target->memory, target->bias + file->key, &key, sizeof(key));

	if (!err)
		err = unbound_call_find_name(target, "pthread_getspecific", deadline_ns, &function);
	return err ? err : thread_local_path_of_call(target, file->machine, function, key, path);
}

static void describe(const struct perl_file *file, uint64_t bias, struct perl_process *process)
{
	const struct perl_layout *layout = file->layout;

	process->bias = bias;
	process->loop = bias + file->loop;
	process->loop_return = file->loop_return;
	memcpy(process->calling, file->calling, sizeof(process->calling));
	process->evaluating = file->evaluating;
	process->running = file->running;
	process->catching = file->catching;
	memcpy(process->leaving, file->leaving, sizeof(process->leaving));
	process->entering = file->entering;
	process->replacing = file->replacing;
	process->dying = file->dying;
	process->saved_op_type = layout->saved_op_type;
	process->calls_in_loop = layout->calls_in_loop;
	process->enter = layout->enter;
	process->entertry = layout->entertry;
	process->subst = layout->subst;
	process->has_file_globs = !file->is_threaded;
}

static int attach(const struct runtime_file *probed, const struct attach_target *target,
		  struct runtime **process)
{
	const struct perl_file *file = (const struct perl_file *)probed;
	struct perl_process data = { 0 };
	struct perl_attached *made;
	int err = check_layout(file, target, &data);

	if (!err && file->is_threaded)
		err = find_interpreter(file, target, &data.interpreter);
	if (err)
		return err;
	describe(file, target->bias, &data);
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->process.language = &perl_language;
	made->data = data;
	made->process.data_bytes = sizeof(made->data);
	made->process.data = &made->data;
	perl_names_init(&made->names, file->layout, data.has_file_globs);
	*process = &made->process;
	return 0;
}

static int symbolize(struct runtime *process, struct remote_memory *memory, const uint64_t *words,
		     uint32_t *object, struct interpreted_frames *frames)
{
	struct perl_attached *attached = (struct perl_attached *)process;
	struct interpreted_frame frame = { 0 };
	int err = perl_names_symbolize(&attached->names, memory, words, object, &frame);

	if (err)
		return err;
	frames->count = 1;
	frames->items[0] = frame;
	return 0;
}

static void detach(struct runtime *process)
{
	struct perl_attached *attached = (struct perl_attached *)process;

	if (!attached)
		return;
	perl_names_deinit(&attached->names);
	free(attached);
}

static const struct language_ops ops = {
	.probe = probe,
	.release = release,
	.attach = attach,
	.symbolize = symbolize,
	.detach = detach,
};

const struct language perl_language = {
	.id = &language_ids[LANGUAGE_INDEX_PERL],
	.ops = &ops,
};
