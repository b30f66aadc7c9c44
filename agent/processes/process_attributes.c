/* SPDX-License-Identifier: Apache-2.0 */
/* The process controls all of these texts, and they are used for outputs only. */
#include "agent/processes/process_attributes.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/processes/executable_cache.h"
#include "lib/base/clock.h"
#include "lib/host/control_group.h"
#include "lib/host/loaded_program.h"
#include "lib/host/proc_info.h"

static void set_info(struct process_table *table, struct process *process,
		     const struct process_info *values)
{
	struct process_info *info = process_info_create(values);

	if (info)
		process_table_set_info(table, process, info);
	process->has_doubtful_info = false;
}

static bool has_info(const struct process *process)
{
	return process->info && !process->has_doubtful_info;
}

/* Adds the facts from the executable's file. @values borrows its texts; @attributes is the list. */
static void add_program(struct process_info *values, struct attribute attributes[PROGRAM_FACTS_MAX],
			const struct process_mapping *mapping)
{
	const struct executable *executable = mapping->executable;
	const struct program_facts *facts =
		executable && executable->binary ? executable->binary->facts : NULL;

	values->attributes = attributes;
	values->attribute_count = 0;
	for (uint32_t i = 0; facts && i < facts->count; i++)
		if (!facts->items[i].is_of_binary)
			attributes[values->attribute_count++] = (struct attribute){
				facts->items[i].key,
				facts->items[i].text,
			};
}

/* Texts for struct process_info, and where they are kept meanwhile. */
struct origin_texts {
	struct control_group group;
	char user_name[USER_NAME_MAX_BYTES];
	char parent_comm[PROC_COMM_MAX_BYTES];
};

/* Sets the user, unless the process is gone. In a container other names belong to the numbers than here, but for root's. */
static void read_user(const struct attribute_sources *sources, uint32_t pid,
		      struct process_info *values, struct origin_texts *texts)
{
	uid_t uid;

	if (proc_user(sources->proc_root, (pid_t)pid, &uid))
		return;
	if (uid && *values->container_id)
		snprintf(texts->user_name, sizeof(texts->user_name), "%u", uid);
	else
		user_name_read(sources->users, uid, clock_monotonic_ns(), texts->user_name);
	values->user_name = texts->user_name;
}

static void read_parent(const struct attribute_sources *sources, uint32_t parent_pid,
			struct process_info *values, struct origin_texts *texts)
{
	values->parent_pid = parent_pid;
	values->parent_comm = "";
	if (parent_pid && !proc_comm(sources->proc_root, (pid_t)parent_pid, texts->parent_comm))
		values->parent_comm = texts->parent_comm;
}

/*
 * The first mapping of code of the file at @path, which is identified; both paths come from the kernel. Its text may be in
 * anonymous memory behind another part of the file. NULL: none.
 */
static struct process_mapping *find_program(const struct proc_maps *maps,
					    struct process_mapping *mappings, const char *path)
{
	for (uint32_t i = 0; i < maps->count; i++) {
		if (!maps->rows[i].inode || strcmp(maps->rows[i].path, path) != 0)
			continue;
		if (maps->rows[i].protection & PROT_EXEC)
			return &mappings[i];
		for (uint32_t next = i + 1; next < maps->count && !maps->rows[next].inode; next++)
			if (mappings[next].executable)
				return &mappings[next];
	}
	return NULL;
}

/* The path of the first mapped file that is called as @program, with its folders if @whole; NULL: none. */
static const char *find_mapped(const struct proc_maps *maps, const char *program, bool whole)
{
	const char *slash = strrchr(program, '/'), *last = slash ? slash + 1 : program;

	for (uint32_t i = 0; i < maps->count; i++) {
		const char *path = maps->rows[i].path, *folders_end = strrchr(path, '/');

		if (maps->rows[i].inode && folders_end && strlen(path) < PROC_PATH_MAX_BYTES &&
		    !(whole ? strcmp(path, program) : strcmp(folders_end + 1, last)))
			return path;
	}
	return NULL;
}

/* Puts the path of the program that a dynamic loader runs in place of the loader's, if that file is mapped. */
static void replace_loader(char path[PROC_PATH_MAX_BYTES], const char *proc_root, pid_t pid,
			   const struct proc_maps *maps)
{
	char program[LOADED_PROGRAM_MAX_BYTES];
	const char *mapped;

	if (!is_dynamic_loader(path) || !loaded_program_read(proc_root, pid, program))
		return;
	mapped = find_mapped(maps, program, true);
	if (!mapped)
		mapped = find_mapped(maps, program, false);
	if (mapped)
		strcpy(path, mapped);
}

void process_attributes_read(struct process_table *table, struct process *process,
			     const struct attribute_sources *sources,
			     const struct proc_first_read *first, const struct proc_maps *maps,
			     struct process_mapping *mappings)
{
	char path[PROC_PATH_MAX_BYTES];
	struct origin_texts texts;
	struct process_info values = {
		.pid = process->pid,
		.executable_path = path,
		.container_id = texts.group.container_id,
		.service_name = first->service_name,
		.command_line = first->command_line,
		.unit = texts.group.unit,
	};
	struct attribute attributes[PROGRAM_FACTS_MAX];
	struct process_mapping *program;

	if (process->info || proc_executable_path(sources->proc_root, process->pid, path))
		return;
	replace_loader(path, sources->proc_root, (pid_t)process->pid, maps);
	control_group_read(sources->proc_root, process->pid, &texts.group);
	read_user(sources, process->pid, &values, &texts);
	read_parent(sources, first->parent_pid, &values, &texts);
	program = find_program(maps, mappings, path);
	if (program) {
		program->is_program = true;
		add_program(&values, attributes, program);
	}
	set_info(table, process, &values);
}

void process_attributes_replay(struct process_table *table, struct process *process,
			       const struct attribute_sources *sources,
			       const struct proc_maps *maps, struct process_mapping *mappings,
			       uint64_t code_address)
{
	const struct process *parent = process_table_current(table, process->parent_pid);
	struct process_info values = { .pid = process->pid };
	struct attribute attributes[PROGRAM_FACTS_MAX];
	struct origin_texts texts;
	uint32_t i = 0;

	while (i < maps->count &&
	       !(maps->rows[i].start <= code_address && code_address < maps->rows[i].end))
		i++;
	if (has_info(process) || i == maps->count)
		return;
	values.executable_path = maps->rows[i].path;
	if (parent && parent->info) {
		values.container_id = parent->info->container_id;
		values.unit = parent->info->unit;
		values.user_name = parent->info->user_name;
	}
	read_parent(sources, process->parent_pid, &values, &texts);
	mappings[i].is_program = true;
	add_program(&values, attributes, &mappings[i]);
	set_info(table, process, &values);
}

void process_attributes_identified(struct process_table *table, struct process *process,
				   const struct process_mapping *mapping)
{
	struct attribute attributes[PROGRAM_FACTS_MAX];
	struct process_info values;

	if (!mapping->is_program || !process->info || process->info->attribute_count ||
	    process->older_info)
		return;
	values = *process->info;
	add_program(&values, attributes, mapping);
	if (values.attribute_count)
		set_info(table, process, &values);
}

void process_attributes_inherit(struct process_table *table, struct process *process,
				const struct process *parent,
				const struct attribute_sources *sources,
				const struct proc_first_read *first)
{
	struct process_info values;
	struct origin_texts texts;

	if (has_info(process) || !parent->info)
		return;
	values = *parent->info;
	values.pid = process->pid;
	if (first && *first->command_line)
		values.command_line = first->command_line;
	if (first)
		read_user(sources, process->pid, &values, &texts);
	read_parent(sources, process->parent_pid, &values, &texts);
	set_info(table, process, &values);
}
