/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build/v8_stack [-translations|-positions] PID|CORE
 *
 * Prints the JavaScript frames of each thread that waits in C++, of a Node.js process or its core file, as
 * interpreters/javascript reads them. The process is not stopped. For tests and for finding errors.
 *
 * Each thread has a line "thread TID" and then a line for each frame, innermost first, with these fields between tabs:
 * tier, function, FILE:LINE:COLUMN (empty without a script), "inlined", "new" or both, and the ids by which V8
 * distinguishes functions ("script=N literal=N", "unique=N" from 12.4 on, "optimization=N" for optimized code).
 * -translations and -positions read only that table of optimized code, and print "[error: ...]" as the function where
 * the table has no answer.
 *
 * Exit status: 0, 1 if the process cannot be read, 2 wrong usage.
 */
#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interpreters/javascript/v8_function.h"
#include "interpreters/javascript/v8_lines.h"
#include "interpreters/javascript/v8_unwind.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/vector.h"
#include "lib/host/core_file.h"
#include "lib/host/proc_maps.h"

enum {
	/** DWARF register numbers of the stack pointer. */
	SP_X86_64 = 7,
	SP_AARCH64 = 31,
	PATH_BYTES = 64,
	SYSCALL_TEXT_BYTES = 512,
};

struct mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	/** Borrowed. */
	const char *path;
};

struct thread {
	uint32_t tid;
	uint64_t sp;
};

struct script {
	uint64_t address;
	/** Has no lines if they could not be read. */
	struct v8_lines lines;
};

VECTOR_DEFINE(mappings, struct mapping)
VECTOR_DEFINE(threads, struct thread)
VECTOR_DEFINE(scripts, struct script)

/** A process or a core file, and the V8 in it. */
struct target {
	/** Reads `source` first, then V8's file. */
	struct remote_memory memory;
	struct remote_memory *source;
	/** The one in use is chosen by is_core. */
	struct process_memory process;
	struct core_file core;
	bool is_core;
	struct mappings mappings;
	struct threads threads;
	int fd;
	struct elf_image image;
	const char *path;
	uint64_t bias;
	struct v8_layout layout;
	struct v8_builtins builtins;
	struct v8_heap heap;
	struct scripts scripts;
	enum v8_inlining_source inlining;
	struct v8_frame_functions functions;
};

/* Memory that a core file lacks is read from V8's file. */
static int read_memory(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes)
{
	struct target *target = (struct target *)memory;
	int err = remote_memory_read(target->source, address, buffer, bytes);

	for (size_t i = 0; err == -EFAULT && i < target->mappings.count; i++) {
		const struct mapping *mapping = &target->mappings.items[i];

		if (target->path && !strcmp(mapping->path, target->path) &&
		    address >= mapping->start && address < mapping->end &&
		    bytes <= mapping->end - address)
			err = elf_image_read(&target->image,
					     mapping->offset + (address - mapping->start), buffer,
					     bytes);
	}
	return err;
}

static const struct v8_builtin *find_builtin(void *context, uint64_t pc)
{
	struct target *target = context;

	for (size_t i = 0; i < target->mappings.count; i++) {
		const struct mapping *mapping = &target->mappings.items[i];
		uint64_t address;

		if (pc < mapping->start || pc >= mapping->end ||
		    strcmp(mapping->path, target->path))
			continue;
		if (elf_image_mapping_address(&target->image, mapping->offset,
					      mapping->end - mapping->start, &address))
			return NULL;
		return v8_builtins_find(&target->builtins, address + (pc - mapping->start));
	}
	return NULL;
}

/* NULL if memory ran out. */
static const struct v8_lines *lines_of(struct target *target, uint64_t script)
{
	struct script made = { .address = script };

	for (size_t i = 0; i < target->scripts.count; i++)
		if (target->scripts.items[i].address == script)
			return &target->scripts.items[i].lines;
	v8_lines_read(&target->heap, script, &made.lines);
	if (scripts_push(&target->scripts, made)) {
		v8_lines_deinit(&made.lines);
		return NULL;
	}
	return &target->scripts.items[target->scripts.count - 1].lines;
}

static void print_location(struct target *target, uint64_t shared, int32_t script_offset)
{
	const struct v8_lines *lines;
	struct v8_location location;
	uint64_t script = 0;
	v8_text name;

	if (v8_shared_script(&target->heap, shared, &script) ||
	    v8_script_name(&target->heap, script, name))
		return;
	printf("%s", name);
	lines = script_offset < 0 ? NULL : lines_of(target, script);
	if (lines && !v8_lines_locate(lines, (uint32_t)script_offset, &location))
		printf(":%u:%u", location.line, location.column);
}

/* The function's name as V8's profiler has it, "" if it has none. */
static void print_function(struct target *target, uint64_t shared)
{
	v8_text name;

	if (v8_shared_name(&target->heap, shared, name))
		printf("[error: %s]", error_text());
	else
		printf("%s", name);
}

/* Prints the last field of a function's line. */
static void print_ids(struct target *target, uint64_t shared, const struct v8_code *code)
{
	struct v8_function_ids ids;
	int32_t optimization;

	putchar('\t');
	if (!v8_shared_ids(&target->heap, shared, &ids)) {
		printf("script=%d literal=%d", ids.script, ids.literal);
		if (ids.unique)
			printf(" unique=%u", ids.unique);
		if (!v8_code_optimization_id(&target->heap, code, &optimization))
			printf(" optimization=%d", optimization);
	}
	putchar('\n');
}

static void print_builtin(struct target *target, const struct v8_unwind_frame *frame)
{
	char text[V8_NAME_BYTES + V8_BUILTIN_NAME_BYTES];
	const uint64_t shared = frame->frame.shared;
	v8_text name;

	if (v8_shared_name(&target->heap, shared, name))
		return;
	v8_builtin_function_name(frame->builtin->name, name, text, sizeof(text));
	printf("builtin\t%s\t\t%s", text, frame->is_construct ? "new" : "");
	print_ids(target, shared, &frame->frame.code);
}

static void print_functions(struct target *target, const struct v8_unwind_frame *frame)
{
	static const char *const tiers[] = { [V8_TIER_INTERPRETED] = "ignition",
					     [V8_TIER_BASELINE] = "sparkplug",
					     [V8_TIER_MAGLEV] = "maglev",
					     [V8_TIER_TURBOFAN] = "turbofan" };
	const char *tier = tiers[frame->frame.tier];
	struct v8_frame_functions *functions = &target->functions;

	if (v8_frame_find_functions(&target->heap, &frame->frame, target->inlining, functions)) {
		printf("%s\t[error: %s]\t\t\t\n", tier, error_text());
		return;
	}
	for (uint32_t i = 0; i < functions->count; i++) {
		const struct v8_frame_function *function = &functions->items[i];
		const bool is_inlined = i + 1 < functions->count;
		const bool is_construct = is_inlined ? function->is_construct : frame->is_construct;

		printf("%s\t", tier);
		print_function(target, function->shared);
		putchar('\t');
		print_location(target, function->shared, function->script_offset);
		printf("\t%s%s%s", is_inlined ? "inlined" : "",
		       is_inlined && is_construct ? " " : "", is_construct ? "new" : "");
		print_ids(target, function->shared, &frame->frame.code);
	}
}

static int print_frame(void *context, const struct v8_unwind_frame *frame)
{
	switch (frame->kind) {
	case V8_UNWIND_FUNCTION:
		print_functions(context, frame);
		break;
	case V8_UNWIND_BUILTIN:
		print_builtin(context, frame);
		break;
	case V8_UNWIND_REGEXP:
		printf("regexp\t\t\t\t\n");
		break;
	case V8_UNWIND_WASM:
		printf("wasm\t\t\t\t\n");
		break;
	case V8_UNWIND_CPP:
		printf("c++\t\t\t\t\n");
		break;
	}
	return 0;
}

/* The end of the mapping that has the stack at @sp. */
static uint64_t find_stack_end(const struct target *target, uint64_t sp)
{
	if (target->is_core) {
		const struct core_segment *segment = core_file_segment(&target->core, sp);

		return segment ? segment->address + segment->memory_bytes : 0;
	}
	for (size_t i = 0; i < target->mappings.count; i++)
		if (sp >= target->mappings.items[i].start && sp < target->mappings.items[i].end)
			return target->mappings.items[i].end;
	return 0;
}

static void print_thread(struct target *target, const struct thread *thread)
{
	const struct v8_unwind unwind = {
		.heap = &target->heap,
		.bias = target->bias,
		.find_builtin = find_builtin,
		.emit = print_frame,
		.context = target,
	};
	int err;

	printf("thread %u\n", thread->tid);
	err = v8_unwind_stack(&unwind, thread->sp, find_stack_end(target, thread->sp));
	if (err && err != -ENOENT)
		printf("error\t%s\t\t\t\n", error_text());
}

/* Opens the mapped file as V8's; -ENOENT if it is not. */
static int open_v8(struct target *target, const struct mapping *mapping)
{
	_cleanup_(close_fd) int fd = open(mapping->path, O_RDONLY | O_CLOEXEC);
	struct elf_image image;
	uint64_t address;
	int err;

	if (fd < 0 || elf_image_init_fd(&image, fd))
		return -ENOENT;
	err = v8_layout_read(&image, &target->layout);
	if (!err)
		err = elf_image_mapping_address(&image, mapping->offset,
						mapping->end - mapping->start, &address);
	if (err) {
		elf_image_deinit(&image);
		return err;
	}
	target->image = image;
	target->fd = take_fd(fd);
	target->path = mapping->path;
	target->bias = mapping->start - address;
	target->heap = (struct v8_heap){ .layout = &target->layout, .memory = &target->memory };
	err = v8_builtins_init(&target->builtins, &target->image);
	return err == -ENOENT ? fail(-EOPNOTSUPP, "%s has no symbols", mapping->path) : err;
}

/* Mappings of a file follow one another in the order of its contents, except the one that V8 itself makes. */
static int find_v8(struct target *target)
{
	const char *last = "";

	for (size_t i = 0; i < target->mappings.count; i++) {
		const struct mapping *mapping = &target->mappings.items[i];
		int err;

		if (mapping->path[0] != '/' || mapping->offset || !strcmp(mapping->path, last))
			continue;
		last = mapping->path;
		err = open_v8(target, mapping);
		if (err != -ENOENT)
			return err;
	}
	return fail(-ENOENT, "no V8 that exports its layout");
}

static int print_threads(struct target *target)
{
	int err = find_v8(target);

	for (size_t i = 0; i < target->threads.count && !err; i++)
		print_thread(target, &target->threads.items[i]);
	return err;
}

/* /proc/PID/task/TID/syscall: "number arguments... sp pc" of a thread that waits. */
static int add_thread(struct target *target, const char *tasks, const char *tid)
{
	char path[2 * PATH_BYTES], text[SYSCALL_TEXT_BYTES] = "";
	_cleanup_(close_file) FILE *file = NULL;
	struct thread thread = { .tid = (uint32_t)strtoul(tid, NULL, 10) };
	char *space;

	snprintf(path, sizeof(path), "%s/%.16s/syscall", tasks, tid);
	file = fopen(path, "re");
	if (!file || !fgets(text, sizeof(text), file))
		return 0;
	space = strrchr(text, ' ');
	if (space)
		*space = '\0';
	space = strrchr(text, ' ');
	if (!space)
		return 0;
	thread.sp = strtoull(space + 1, NULL, 16);
	return threads_push(&target->threads, thread);
}

static int find_threads(struct target *target, pid_t pid)
{
	char path[PATH_BYTES];
	struct dirent *entry;
	DIR *tasks;
	int err = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	if (!tasks)
		return fail_errno(-errno, "%s", path);
	while (!err && (entry = readdir(tasks)))
		if (isdigit((unsigned char)entry->d_name[0]))
			err = add_thread(target, path, entry->d_name);
	closedir(tasks);
	return err;
}

static int print_process(struct target *target, pid_t pid)
{
	_cleanup_(proc_maps_deinit) struct proc_maps maps = { 0 };
	int err = process_memory_init(&target->process, "/proc", pid);

	target->source = &target->process.memory;
	if (!err)
		err = proc_maps_read(&maps, "/proc", pid, PROC_MAPS_ALL);
	for (uint32_t i = 0; i < maps.count && !err; i++)
		err = mappings_push(&target->mappings,
				    (struct mapping){ .start = maps.rows[i].start,
						      .end = maps.rows[i].end,
						      .offset = maps.rows[i].offset,
						      .path = maps.rows[i].path });
	if (!err)
		err = find_threads(target, pid);
	return err ? err : print_threads(target);
}

static int print_core_file(struct target *target)
{
	const struct core_file *core = &target->core;
	int err = 0;

	for (size_t i = 0; i < core->mappings.count && !err; i++)
		err = mappings_push(&target->mappings,
				    (struct mapping){ .start = core->mappings.items[i].start,
						      .end = core->mappings.items[i].end,
						      .offset = core->mappings.items[i].offset,
						      .path = core->mappings.items[i].path });
	for (size_t i = 0; i < core->threads.count && !err; i++) {
		const struct core_thread *thread = &core->threads.items[i];
		const int sp = core->machine == EM_AARCH64 ? SP_AARCH64 : SP_X86_64;

		err = threads_push(&target->threads,
				   (struct thread){ .tid = thread->tid,
						    .sp = thread->set.registers[sp] });
	}
	return err ? err : print_threads(target);
}

static int print_core(struct target *target, const char *path)
{
	_cleanup_(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	int err;

	if (fd < 0)
		return fail_errno(-errno, "%s", path);
	err = core_file_init(&target->core, fd);
	if (err)
		return err;
	target->is_core = true;
	target->source = &target->core.memory;
	return print_core_file(target);
}

static void deinit(struct target *target)
{
	for (size_t i = 0; i < target->scripts.count; i++)
		v8_lines_deinit(&target->scripts.items[i].lines);
	scripts_deinit(&target->scripts);
	threads_deinit(&target->threads);
	mappings_deinit(&target->mappings);
	process_memory_deinit(&target->process);
	if (target->is_core)
		core_file_deinit(&target->core);
	if (target->path) {
		v8_builtins_deinit(&target->builtins);
		elf_image_deinit(&target->image);
		close(target->fd);
	}
}

int main(int argc, char **argv)
{
	static const struct remote_memory_ops ops = { .read = read_memory };
	/* Static because it is large. */
	static struct target target;
	const char *name = argv[argc - 1];
	char *end;
	long pid;
	int err;

	if (argc == 3 && !strcmp(argv[1], "-translations"))
		target.inlining = V8_INLINING_TRANSLATIONS;
	else if (argc == 3 && !strcmp(argv[1], "-positions"))
		target.inlining = V8_INLINING_POSITIONS;
	else if (argc != 2) {
		fprintf(stderr, "usage: v8_stack [-translations|-positions] PID|CORE\n");
		return 2;
	}
	target.memory.ops = &ops;
	pid = strtol(name, &end, 10);
	err = *end || pid <= 0 || pid > INT32_MAX ? print_core(&target, name) :
						    print_process(&target, (pid_t)pid);
	deinit(&target);
	if (err) {
		fprintf(stderr, "v8_stack: %s: %s\n", name, error_text());
		return 1;
	}
	return 0;
}
