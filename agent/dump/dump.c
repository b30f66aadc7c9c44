// SPDX-License-Identifier: Apache-2.0
#include "agent/dump/dump.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/dump/dumped_stack.h"
#include "agent/dump/thread_state.h"
#include "agent/dump/thread_stop.h"
#include "agent/options.h"
#include "agent/unwind/process_space.h"
#include "agent/unwind/space_runtimes.h"
#include "agent/unwind/user_unwind.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/vector.h"
#include "lib/host/proc_info.h"
#include "lib/model/trace.h"
#include "symbols/symbol_caches.h"
#include "symbols/symbol_store.h"

enum {
	/* Bytes of the stack that are copied at once; deeper frames are read one by one. */
	STACK_COPY_BYTES = 64 << 10,
	SYMBOL_TABLES_MAX_BYTES = 256 << 20,
	NAMES_MAX = 32,
	/* A read of memory that hangs would keep a thread stopped; the end of this process lets it go on. */
	ALARM_SECONDS = 10,
};

/*
 * Debug data is read until so long after the start, or for so long if the start took longer; with -with-lines the user
 * waits for it.
 */
#define LINES_NS (300 * NS_PER_MS)
#define LINES_LEAST_NS (50 * NS_PER_MS)
#define ALL_LINES_NS (120 * NS_PER_SECOND)

VECTOR_DEFINE(binary_vector, struct binary *)

/* Words of an unwind, until its thread goes on. */
struct raw_stack {
	uint64_t *words;
	uint32_t word_count;
	enum unwind_error error;
};

struct dump {
	pid_t pid;
	const struct options *options;
	uint64_t start_ns;
	struct process_memory memory;
	struct address_space space;
	struct space_runtimes runtimes;
	struct user_unwind *unwind;
	struct symbol_caches *caches;
	/* Debug data is still being read: the threads that do so are left alone until this process ends. */
	bool has_left_caches;
	struct symbol_store *symbols;
	struct raw_stack *stacks;
	/* The copy of the stopped thread's stack. */
	uint64_t copy_start;
	size_t copy_bytes;
	uint8_t copy[STACK_COPY_BYTES];
	struct emulated_trace trace;
};

static void dump_deinit(struct dump *dump, size_t thread_count)
{
	for (size_t i = 0; dump->stacks && i < thread_count; i++)
		free(dump->stacks[i].words);
	free(dump->stacks);
	symbol_store_destroy(dump->symbols);
	if (!dump->has_left_caches)
		(void)symbol_caches_destroy(dump->caches);
	user_unwind_destroy(dump->unwind);
	space_runtimes_deinit(&dump->runtimes);
	process_memory_deinit(&dump->memory);
	address_space_deinit(&dump->space);
}

static int create_symbols(struct dump *dump)
{
	struct symbol_caches_options caches;
	struct symbol_store_options names = { .depth = SYMBOL_DEPTH_FULL,
					      .table_limit_bytes = SYMBOL_TABLES_MAX_BYTES,
					      .reads_remote = true,
					      .demangles = true };
	int error = symbol_caches_options_init(&caches, dump->options->cache_dir);

	caches.is_hurried = true;
	if (!error)
		error = symbol_caches_create(&caches, &dump->caches);
	if (error)
		return error;
	names.caches = symbol_caches_source(dump->caches);
	return symbol_store_create(&names, &dump->symbols);
}

/*
 * Begins to read the symbols of the largest file while rows are made: they take longest, and nearly all stacks have frames
 * of it.
 */
static void begin_symbols(struct dump *dump)
{
	struct binary *largest = NULL;

	for (size_t i = 0; i < dump->space.rows.count; i++) {
		struct binary *binary =
			address_space_binary(&dump->space, dump->space.rows.items[i].executable_id);

		if (binary && (!largest || binary->key.size > largest->key.size))
			largest = binary;
	}
	if (largest)
		symbol_caches_want(dump->caches, largest, dump->pid, SYMBOL_DEPTH_SYMBOLS);
}

/* The CPUs that this process may use. */
static uint32_t cpu_count(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : (uint32_t)CPU_COUNT(&set);
}

/* All that can be done while the process runs. */
static int prepare(struct dump *dump)
{
	uint32_t languages = dump->options->tracers;
	int error = process_space_read(dump->pid, languages, &dump->memory, &dump->space);

	if (!error)
		error = create_symbols(dump);
	if (error)
		return error;
	begin_symbols(dump);
	address_space_prepare(&dump->space, cpu_count());
	if (languages)
		error = space_runtimes_init(&dump->runtimes, &dump->space, &dump->memory.memory);
	return error ? error : user_unwind_create(&dump->unwind);
}

/* --- while a thread stands still --- */

static int read_memory(void *context, uint64_t address, void *bytes, size_t size)
{
	struct dump *dump = context;

	if (address >= dump->copy_start && address - dump->copy_start < dump->copy_bytes &&
	    size <= dump->copy_bytes - (address - dump->copy_start)) {
		memcpy(bytes, dump->copy + (address - dump->copy_start), size);
		return 0;
	}
	return remote_memory_read(&dump->memory.memory, address, bytes, size);
}

/* Copies the stack from its pointer on: less if less is mapped. */
static void copy_stack(struct dump *dump, uint64_t stack_pointer)
{
	size_t bytes = STACK_COPY_BYTES;

	dump->copy_start = stack_pointer;
	while (bytes && remote_memory_read(&dump->memory.memory, stack_pointer, dump->copy, bytes))
		bytes /= 2;
	dump->copy_bytes = bytes;
}

static int unwind(struct dump *dump, const struct register_set *set)
{
	struct user_tables tables = address_space_tables(&dump->space);
	struct emulated_start start = {
		.frame_flags = set->is_system_call ? FRAME_RETURN_ADDRESS : 0,
		.thread_pointer = set->thread_pointer,
	};

	tables.runtimes = dump->runtimes.items;
	tables.runtime_count = dump->runtimes.count;
	memcpy(start.registers, set->registers, sizeof(start.registers));
	copy_stack(dump, emulated_stack_pointer(&start));
	return user_unwind_run(dump->unwind, &tables, read_memory, dump, &start, &dump->trace);
}

static int keep_trace(const struct dump *dump, struct raw_stack *stack)
{
	size_t bytes = dump->trace.word_count * sizeof(*stack->words);

	stack->words = malloc(bytes + 1);
	if (!stack->words)
		return fail(-ENOMEM, "no memory for a stack");
	memcpy(stack->words, dump->trace.words, bytes);
	stack->word_count = dump->trace.word_count;
	stack->error = dump->trace.error;
	return 0;
}

/* Stops the thread, reads its stack, and lets it go on. */
static int take_stack(struct dump *dump, struct dumped_thread *thread, struct raw_stack *stack,
		      uint64_t first_ns)
{
	struct thread_stop stop;
	int error = thread_stop_begin(&stop, thread->tid);

	if (error == -EPERM || error == -EAGAIN)
		snprintf(thread->why, sizeof(thread->why), "not stopped: %s",
			 error == -EPERM ? "it may not be traced" : "it does not stop");
	if (error)
		return error == -ENOMEM ? error : 0;
	error = unwind(dump, &stop.registers);
	thread_stop_end(&stop);
	thread->was_stopped = true;
	thread->after_ns = stop.since_ns - first_ns;
	thread->still_ns = clock_monotonic_ns() - stop.since_ns;
	return error ? error : keep_trace(dump, stack);
}

/* --- names --- */

/* Adds the binary of a frame, if it is another one than those before. */
static int add_binary(struct dump *dump, const uint64_t *words, struct binary_vector *binaries)
{
	uint8_t kind = frame_kind(words[0]);
	struct binary *binary;

	if (kind == FRAME_ERROR || frame_kind_is_interpreted(kind))
		return 0;
	binary = address_space_binary(&dump->space, words[1]);
	for (size_t i = 0; i < binaries->count && binary; i++) {
		if (binaries->items[i] == binary)
			binary = NULL;
	}
	return binary ? binary_vector_push(binaries, binary) : 0;
}

static int compare_sizes(const void *left, const void *right)
{
	const struct binary *a = *(struct binary *const *)left, *b = *(struct binary *const *)right;

	return a->key.size < b->key.size ? -1 : a->key.size > b->key.size;
}

/* The binaries of all native frames, small ones first. */
static int list_binaries(struct dump *dump, size_t stack_count, struct binary_vector *binaries)
{
	int error = 0;

	for (size_t i = 0; i < stack_count; i++) {
		const struct raw_stack *stack = &dump->stacks[i];

		for (uint32_t j = 0; j < stack->word_count && !error;
		     j += frame_word_count(stack->words[j]))
			error = add_binary(dump, &stack->words[j], binaries);
	}
	if (binaries->count)
		qsort(binaries->items, binaries->count, sizeof(*binaries->items), compare_sizes);
	return error;
}

static uint64_t lines_deadline(const struct dump *dump, uint64_t now_ns)
{
	uint64_t until_ns = dump->start_ns + LINES_NS;

	if (dump->options->with_lines)
		return now_ns + ALL_LINES_NS;
	return until_ns > now_ns + LINES_LEAST_NS ? until_ns : now_ns + LINES_LEAST_NS;
}

/* That libraries of the system have no lines is no news. */
static void log_missing_lines(const struct dump *dump, const struct binary *binary)
{
	char path[PROC_PATH_MAX_BYTES];
	const char *advice = dump->options->with_lines ? "" : "; -with-lines waits for it";

	if (proc_executable_path("/proc", dump->pid, path) || strcmp(path, binary->path))
		log_debug("process %d: the debug data of %s is not read in time%s", dump->pid,
			  binary->path, advice);
	else
		log_info(
			"process %d: lines are missing, since it takes long to read the debug data of %s%s",
			dump->pid, binary->path, advice);
}

/* Reads the debug data of the stacks' binaries, as far as there is time. */
static int read_lines(struct dump *dump, size_t stack_count)
{
	_cleanup_(binary_vector_deinit) struct binary_vector binaries = { 0 };
	int error = list_binaries(dump, stack_count, &binaries);

	for (size_t i = 0; i < binaries.count && !error; i++)
		symbol_caches_want(dump->caches, binaries.items[i], dump->pid, SYMBOL_DEPTH_FULL);
	if (error)
		return error;
	dump->has_left_caches =
		!symbol_caches_wait(dump->caches, lines_deadline(dump, clock_monotonic_ns()));
	symbol_caches_freeze(dump->caches);
	for (size_t i = 0; i < binaries.count; i++) {
		if (symbol_caches_are_pending(dump->caches, binaries.items[i], SYMBOL_DEPTH_FULL))
			log_missing_lines(dump, binaries.items[i]);
	}
	return 0;
}

static void name_native(struct dump *dump, const uint64_t *words, struct dumped_thread *thread)
{
	struct binary *binary = address_space_binary(&dump->space, words[1]);
	struct symbol_lookup *lookup = symbol_store_lookup(dump->symbols);
	uint64_t address =
		frame_address(words[0]) - !!(frame_flags(words[0]) & FRAME_RETURN_ADDRESS);
	uint8_t guess = frame_flags(words[0]) & FRAME_GUESS ? DUMPED_GUESS : 0;
	struct symbol symbols[NAMES_MAX];
	uint32_t count =
		binary ? lookup->ops->resolve(lookup, binary, address, symbols, NAMES_MAX) : 0;
	char text[64];

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)address);
	for (uint32_t i = 0; i < count; i++) {
		bool is_inlined = symbols[i].flags & SYMBOL_INLINED;

		/* As the language's own stacks have it. */
		if (symbols[i].flags & SYMBOL_GENERATED)
			continue;
		dumped_thread_add(thread,
				  (struct dumped_frame){
					  .language = symbols[i].language,
					  .line = symbols[i].line,
					  .flags = guess | (is_inlined ? DUMPED_INLINED : 0),
				  },
				  symbols[i].function ? symbols[i].function : text,
				  symbols[i].file ? symbols[i].file : binary->path);
	}
	if (count)
		return;
	dumped_thread_add(thread, (struct dumped_frame){ .flags = guess }, text,
			  binary			      ? binary->path :
			  words[1] == EXECUTABLE_ID_ANONYMOUS ? "[anonymous]" :
								"[unknown]");
}

static void name_interpreted(struct dump *dump, const uint64_t *words, struct dumped_thread *thread)
{
	struct interpreted_frames frames = { .count = 0 };
	const char *language = "";
	uint8_t kind = frame_kind(words[0]);
	uint8_t guess = frame_flags(words[0]) & FRAME_GUESS ? DUMPED_GUESS : 0;
	int error = space_runtimes_name(&dump->runtimes, words, &language, &frames);

	/* A frame of the runtime itself. */
	if (error == -ENOENT)
		return;
	if (error)
		dumped_thread_add(thread, (struct dumped_frame){ .language = kind, .flags = guess },
				  "[no name]", NULL);
	for (uint32_t i = 0; i < frames.count && !error; i++) {
		const struct interpreted_frame *frame = &frames.items[i];

		dumped_thread_add(thread,
				  (struct dumped_frame){
					  .language = kind,
					  .line = frame->line,
					  .flags = guess |
						   (frame->is_inlined ? DUMPED_INLINED : 0) |
						   (frame->is_approximate ? DUMPED_APPROXIMATE : 0),
				  },
				  frame->function, frame->file);
	}
}

static void name_stack(struct dump *dump, const struct raw_stack *stack,
		       struct dumped_thread *thread)
{
	uint32_t count;

	for (uint32_t i = 0; i < stack->word_count; i += count) {
		const uint64_t *words = &stack->words[i];
		uint8_t kind = frame_kind(words[0]);

		count = frame_word_count(words[0]);
		if (kind == FRAME_ERROR && stack->error && i + 1 == stack->word_count)
			snprintf(thread->why, sizeof(thread->why), "not complete: %s",
				 unwind_error_text(stack->error));
		else if (kind == FRAME_ERROR)
			dumped_thread_add(thread, (struct dumped_frame){ .flags = DUMPED_MISSING },
					  unwind_error_text(frame_flags(words[0])), NULL);
		else if (frame_kind_is_interpreted(kind))
			name_interpreted(dump, words, thread);
		else
			name_native(dump, words, thread);
	}
}

/* --- a process --- */

static int list_threads(pid_t pid, struct dumped_process *process)
{
	_cleanup_(pid_list_deinit) struct pid_list tids = { 0 };
	int error = proc_list_threads("/proc", pid, &tids);

	for (uint32_t i = 0; i < tids.count && !error; i++)
		error = dumped_thread_vector_push(&process->threads,
						  (struct dumped_thread){ .tid = tids.pids[i] });
	return error;
}

static int take_stacks(struct dump *dump, struct dumped_process *process)
{
	const struct sched_param urgent = { .sched_priority = 1 }, usual = { 0 };
	uint64_t first_ns = clock_monotonic_ns();
	int error = 0;

	alarm(ALARM_SECONDS);
	/* No other program takes the CPU while a thread stands still. */
	(void)sched_setscheduler(0, SCHED_RR, &urgent);
	for (size_t i = 0; i < process->threads.count && !error; i++) {
		struct dumped_thread *thread = &process->threads.items[i];

		if (!*thread->why)
			error = take_stack(dump, thread, &dump->stacks[i], first_ns);
	}
	(void)sched_setscheduler(0, SCHED_OTHER, &usual);
	alarm(0);
	if (!error)
		error = read_lines(dump, process->threads.count);
	for (size_t i = 0; i < process->threads.count && !error; i++)
		name_stack(dump, &dump->stacks[i], &process->threads.items[i]);
	return error;
}

/* The states are read before any thread is stopped. Threads that are gone are left out. */
static void read_states(struct dumped_process *process)
{
	size_t count = 0;

	for (size_t i = 0; i < process->threads.count; i++) {
		struct dumped_thread thread = process->threads.items[i];

		if (!thread_state_read("/proc", process->pid, &thread))
			process->threads.items[count++] = thread;
	}
	process->threads.count = count;
}

static int dump_threads(struct dump *dump, struct dumped_process *process)
{
	char path[PROC_PATH_MAX_BYTES];
	int prepared = prepare(dump), error;

	/* A kernel thread, or a process that has ended, has no mappings. */
	if (prepared && proc_executable_path("/proc", dump->pid, path) != -ENOENT)
		return prepared;
	error = list_threads(dump->pid, process);
	if (error)
		return error;
	read_states(process);
	if (!process->threads.count)
		return fail(-ESRCH, "process %d is gone", dump->pid);
	dump->stacks = calloc(process->threads.count, sizeof(*dump->stacks));
	if (!dump->stacks)
		return fail(-ENOMEM, "no memory for the stacks");
	if (!dump->space.rows.count) {
		for (size_t i = 0; i < process->threads.count; i++)
			snprintf(process->threads.items[i].why, DUMPED_WHY_BYTES,
				 "not stopped: it has no memory of its own");
	} else {
		error = take_stacks(dump, process);
	}
	for (size_t i = 0; i < process->threads.count && !error; i++) {
		struct dumped_thread *thread = &process->threads.items[i];

		if (!thread->was_stopped)
			thread_state_add_kernel_frames("/proc", dump->pid, thread);
		/* An empty stack has its first string too. */
		text_builder_append_bytes(&thread->texts, "", 1);
		if (thread->texts.failed)
			error = fail(-ENOMEM, "no memory for names");
	}
	return error;
}

static int dump_process(pid_t pid, const struct options *options, struct dumped_process *process)
{
	/* Large. */
	_cleanup_(free_pointer) struct dump *dump = calloc(1, sizeof(*dump));
	int error;

	if (!dump)
		return fail(-ENOMEM, "no memory for -dump");
	dump->pid = pid;
	dump->options = options;
	dump->start_ns = clock_monotonic_ns();
	process->pid = pid;
	process_name_read("/proc", pid, process->name, &process->command);
	error = dump_threads(dump, process);
	dump_deinit(dump, process->threads.count);
	return error;
}

int dump_run(const struct options *options)
{
	_cleanup_(text_builder_deinit) struct text_builder text = { 0 };
	int status = EXIT_STATUS_DONE;

	/* Nobody else waits for it: it ends the process, and threads go on. */
	signal(SIGALRM, SIG_DFL);
	if (options->json)
		text_builder_append(&text, "{\"processes\":[");
	for (uint32_t i = 0; i < options->dump_count; i++) {
		_cleanup_(dumped_process_deinit) struct dumped_process process = { 0 };

		if (dump_process((pid_t)options->dumps[i], options, &process)) {
			log_error("process %u: %s", options->dumps[i], error_text());
			status = EXIT_STATUS_FAILED;
			continue;
		}
		if (!options->json) {
			dumped_process_append_text(&process, &text);
			continue;
		}
		if (text.text[text.length - 1] != '[')
			text_builder_append(&text, ",");
		dumped_process_append_json(&process, &text);
	}
	if (options->json)
		text_builder_append(&text, "]}\n");
	if (text.failed || fputs(text_builder_text(&text), stdout) < 0 || fflush(stdout)) {
		log_error("the stacks cannot be written");
		return EXIT_STATUS_FAILED;
	}
	return status;
}
