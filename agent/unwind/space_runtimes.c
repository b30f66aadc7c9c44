/* SPDX-License-Identifier: Apache-2.0 */
/* The languages check the content of files and memory. */
#include "agent/unwind/space_runtimes.h"

#include <errno.h>
#include <stdlib.h>

#include "agent/processes/runtimes/executable_runtime.h"
#include "agent/runtimes/runtime_code.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/log.h"

VECTOR_DEFINE(space_modules, struct attach_module)

/* Lists all files with executable mappings, each once per bias. */
static int add_modules(const struct address_space *space, struct space_modules *modules)
{
	for (size_t i = 0; i < space->rows.count; i++) {
		const struct mapping_row *row = &space->rows.items[i];
		const struct binary *binary = address_space_binary(space, row->executable_id);
		const struct attach_module *last =
			modules->count ? &modules->items[modules->count - 1] : NULL;
		struct attach_module module = { .bias = row->bias };

		if (!binary || (last && last->fd == binary->fd && last->bias == row->bias))
			continue;
		module.path = binary->path;
		module.fd = binary->fd;
		if (space_modules_push(modules, module))
			return fail(-ENOMEM, "no memory for modules");
	}
	return 0;
}

/* The runtime of the module mapped at @row; NULL if it is no runtime, or is attached to already. */
static const struct runtime_file *find_runtime(const struct space_runtimes *runtimes,
					       struct address_space *space,
					       const struct mapping_row *row)
{
	const struct binary *binary = address_space_binary(space, row->executable_id);

	if (!binary)
		return NULL;
	for (uint32_t i = 0; i < runtimes->count; i++)
		if (runtimes->items[i].executable_id == row->executable_id)
			return NULL;
	executable_runtime_probe(space->executables, binary);
	return executable_runtime(executable_cache_by_id(space->executables, row->executable_id));
}

static int attach(struct space_runtimes *runtimes, const struct runtime_file *file,
		  const struct mapping_row *row, const struct space_modules *modules)
{
	const struct attach_target target = {
		.memory = runtimes->memory,
		.bias = row->bias,
		.modules = modules->items,
		.module_count = (uint32_t)modules->count,
		.analyse = runtime_code_analyse,
		.find_jump = runtime_code_find_jump,
	};
	struct runtime *process;
	int err = file->language->ops->attach(file, &target, &process);

	if (!err)
		runtimes->items[runtimes->count++] =
			(struct user_runtime){ row->executable_id, process };
	else if (err != -ENOMEM)
		log_warn("%s: %s; native frames only", file->version, error_text());
	return err == -ENOMEM ? err : 0;
}

int space_runtimes_init(struct space_runtimes *runtimes, struct address_space *space,
			struct remote_memory *memory)
{
	_cleanup_(space_modules_deinit) struct space_modules modules = { 0 };
	struct space_runtimes made = { .memory = memory };
	int err = add_modules(space, &modules);

	for (size_t i = 0; i < space->rows.count && !err; i++) {
		const struct mapping_row *row = &space->rows.items[i];
		const struct runtime_file *file = find_runtime(&made, space, row);

		if (file && made.count < RUNTIMES_MAX)
			err = attach(&made, file, row, &modules);
	}
	if (err) {
		space_runtimes_deinit(&made);
		return err;
	}
	*runtimes = made;
	return 0;
}

void space_runtimes_deinit(struct space_runtimes *runtimes)
{
	while (runtimes->count) {
		struct runtime *process = runtimes->items[--runtimes->count].process;

		process->language->ops->detach(process);
	}
}

int space_runtimes_name(const struct space_runtimes *runtimes, const uint64_t words[2],
			const char **language, struct interpreted_frames *frames)
{
	uint32_t object = 0;
	int err = -ESRCH;

	for (uint32_t i = 0; i < runtimes->count && err && err != -ENOENT; i++) {
		struct runtime *process = runtimes->items[i].process;

		if (process->language->id->kind != frame_kind(words[0]) ||
		    !process->language->ops->symbolize)
			continue;
		*language = process->language->id->name;
		err = process->language->ops->symbolize(process, runtimes->memory, words, &object,
							frames);
	}
	return err;
}
