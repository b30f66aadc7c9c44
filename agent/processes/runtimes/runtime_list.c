/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/processes/runtimes/runtime_list.h"

#include "agent/processes/runtimes/attachments.h"
#include "agent/processes/runtimes/executable_runtime.h"
#include "agent/processes/runtimes/unsupported_runtime.h"
#include "interpreters/language.h"

static void list_runtime(const struct process *process, const struct process_mapping *mapping,
			 void (*take)(void *context, const struct listed_runtime *runtime),
			 void *context)
{
	const struct runtime_file *file = executable_runtime(mapping->executable);
	struct listed_runtime runtime = {
		.pid = process->pid,
		.path = mapping->executable->binary->path,
		.language = file ? file->language->id->name : NULL,
		.version = file ? file->version : NULL,
		.is_attached = file && attachments_have(process, mapping->executable),
		.refusal = executable_runtime_refusal(mapping->executable),
	};

	take(context, &runtime);
}

/* Whether the mapping is the first of a runtime's file, which may have several. */
static bool is_first_of_runtime(const struct process *process, uint32_t index)
{
	const struct executable *executable = process->mappings[index].executable;

	if (!executable || !executable->binary ||
	    (!executable_runtime(executable) && !executable_runtime_refusal(executable)))
		return false;
	for (uint32_t i = 0; i < index; i++)
		if (process->mappings[i].executable == executable)
			return false;
	return true;
}

/* Lists the first file of a process that is an unsupported runtime by its name. */
static void list_unsupported(const struct process *process,
			     void (*take)(void *context, const struct listed_runtime *runtime),
			     void *context)
{
	for (uint32_t i = 0; i < process->mapping_count; i++) {
		const struct executable *executable = process->mappings[i].executable;
		struct listed_runtime runtime = { .pid = process->pid };

		if (!executable || !executable->binary || executable_runtime(executable))
			continue;
		runtime.path = executable->binary->path;
		runtime.unsupported = unsupported_runtime_name(runtime.path);
		if (runtime.unsupported) {
			take(context, &runtime);
			return;
		}
	}
}

void runtime_list(const struct process_table *table,
		  void (*take)(void *context, const struct listed_runtime *runtime), void *context)
{
	size_t cursor = 0;
	uint64_t value;

	while (hash_map_next(&table->processes, &cursor, NULL, &value)) {
		const struct process *process = (void *)(uintptr_t)value;

		if (process->ended_ns)
			continue;
		for (uint32_t i = 0; i < process->mapping_count; i++)
			if (is_first_of_runtime(process, i))
				list_runtime(process, &process->mappings[i], take, context);
		list_unsupported(process, take, context);
	}
}
