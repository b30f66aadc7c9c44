/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build/step_javascript PID STEPS [SEED]
 *
 * Steps through the main thread of a Node.js process by ptrace, instruction by instruction, and unwinds the stack at each
 * instruction of V8's builtins and of the code that V8 has generated, by the kernel side's unwinder. The other threads
 * run on. It does so in bursts, between which the process runs for a random time, until STEPS stacks were unwound. For
 * integration/javascript_steps_test.py; only on x86-64. Lines of the output, with words separated by a space:
 *
 *	burst				the process has run on its own before the next step
 *	at PC NAME+OFFSET		the builtin at PC; before its first step
 *	name FINGERPRINT NAME		a function; before the first frame of it
 *	callers NUMBER FRAME...		the frames of a stack without that of the leaf; before the first step with them
 *	step KIND PC SP LEAF NUMBER	a step: the instruction at PC is executed next
 *	skipped COUNT			instructions of other code, such as V8's C++
 *
 * KIND: `call` with the instruction's size, `return`, `jump`, or `-`. Numbers are hexadecimal, except NUMBER, COUNT and
 * sizes. LEAF is a FRAME, or - if the leaf has none, as bytecode handlers. A FRAME is a letter and more, without spaces:
 *
 *	i, b, o FINGERPRINT	a function in the interpreter, in Sparkplug's code, in optimized code; with + if
 *				called by `new`
 *	f PC			a function that is a builtin
 *	r PC, w PC		a regular expression, WebAssembly
 *	n PC			native code
 *	e NUMBER		an error
 *
 * with ? behind it if it is a guess. PC is left out in the leaf.
 *
 * Exit status: 0, also if the process has ended; 1 if it cannot be stepped, 2 wrong usage.
 */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include "agent/unwind/space_runtimes.h"
#include "agent/unwind/stopped_process.h"
#include "agent/unwind/user_unwind.h"
#include "ebpf/abi/javascript.h"
#include "interpreters/registry.h"
#include "lib/base/error.h"
#include "lib/base/hash_map.h"
#include "lib/isa/x86_decode.h"
#include "lib/model/symbol_lookup.h"
#include "symbols/symbol_store.h"

enum {
	BURST_STEPS = 1000,
	/* C++ that takes longer runs to its end, or ends a burst that began in it. */
	SKIPPED_MAX = 300,
	RUN_MIN_US = 200,
	RUN_MAX_US = 8000,
	PAGE_BYTES = 4096,
	PAGES_COUNT = 64,
	FRAME_BYTES = 24,
	DWARF_SP = 7,
	DWARF_PC = 16,
	SYMBOL_TABLES_MAX_BYTES = 256 << 20,
};

#define BUILTIN_PREFIX "Builtins_"

enum code_kind {
	CODE_OTHER,
	CODE_BUILTIN,
	CODE_GENERATED,
};

/* Pages of the process that were read since the last step. */
struct page {
	uint64_t address;
	uint64_t step;
	bool is_read;
	uint8_t bytes[PAGE_BYTES];
};

struct stepper {
	struct stopped_process process;
	struct space_runtimes runtimes;
	struct user_unwind *unwind;
	struct symbol_store *symbols;
	/* pc -> 1 + enum code_kind, for code of files. */
	struct hash_map code;
	/* Text of the callers -> number. */
	struct hash_map callers;
	/* Fingerprints that were printed. */
	struct hash_map names;
	uint64_t steps;
	uint64_t steps_max;
	uint32_t skipped;
	/* Address behind the last instruction of V8's code if that was a call, which other code will return to; else 0. */
	uint64_t return_address;
	bool has_ended;
	struct page pages[PAGES_COUNT];
	struct emulated_trace trace;
	char text[TRACE_MAX_WORDS * FRAME_BYTES];
};

/* The number of steps counts from 1, so pages of step 0 are none. */
static struct page *read_page(struct stepper *stepper, uint64_t address)
{
	struct page *page = &stepper->pages[address / PAGE_BYTES % PAGES_COUNT];

	if (page->step == stepper->steps && page->address == address)
		return page;
	page->step = stepper->steps;
	page->address = address;
	page->is_read = !stopped_process_read(&stepper->process, address, page->bytes, PAGE_BYTES);
	return page;
}

static int read_memory(void *context, uint64_t address, void *bytes, size_t size)
{
	uint8_t *to = bytes;

	while (size) {
		const struct page *page = read_page(context, address & ~(uint64_t)(PAGE_BYTES - 1));
		size_t offset = address % PAGE_BYTES;
		size_t count = size < PAGE_BYTES - offset ? size : PAGE_BYTES - offset;

		if (!page->is_read)
			return -EFAULT;
		memcpy(to, page->bytes + offset, count);
		to += count;
		address += count;
		size -= count;
	}
	return 0;
}

static const struct mapping_row *find_row(const struct stepper *stepper, uint64_t pc)
{
	const struct space_rows *rows = &stepper->process.space.rows;

	for (size_t i = 0; i < rows->count; i++)
		if (pc - rows->items[i].start < rows->items[i].end - rows->items[i].start)
			return &rows->items[i];
	return NULL;
}

/* The kind of the file's code at @pc; prints the name of a builtin. */
static enum code_kind look_up_code(struct stepper *stepper, const struct mapping_row *row,
				   uint64_t pc)
{
	struct binary *binary = address_space_binary(&stepper->process.space, row->executable_id);
	struct symbol_lookup *lookup = symbol_store_lookup(stepper->symbols);
	struct symbol symbol;

	if (!binary || !lookup->ops->resolve(lookup, binary, pc - row->bias, &symbol, 1) ||
	    strncmp(symbol.function, BUILTIN_PREFIX, strlen(BUILTIN_PREFIX)) != 0)
		return CODE_OTHER;
	printf("at %" PRIx64 " %s %" PRIx64 "\n", pc, symbol.function + strlen(BUILTIN_PREFIX),
	       (uint64_t)(pc - row->bias));
	return CODE_BUILTIN;
}

static enum code_kind code_kind_of(struct stepper *stepper, uint64_t pc)
{
	const struct mapping_row *row;
	enum code_kind kind;
	uint64_t known;

	if (hash_map_find(&stepper->code, pc, &known))
		return (enum code_kind)(known - 1);
	row = find_row(stepper, pc);
	if (!row && !stopped_process_update(&stepper->process))
		row = find_row(stepper, pc);
	if (!row || row->executable_id < EXECUTABLE_ID_FIRST)
		return row ? CODE_GENERATED : CODE_OTHER;
	kind = look_up_code(stepper, row, pc);
	hash_map_set(&stepper->code, pc, 1 + (uint64_t)kind);
	return kind;
}

/* Prints the name of the function with the two words, unless it was printed before. */
static void print_name(struct stepper *stepper, const uint64_t words[2])
{
	static struct interpreted_frames frames;
	uint32_t fingerprint = (uint32_t)words[1];
	const char *language;

	if (hash_map_find(&stepper->names, fingerprint, NULL) ||
	    hash_map_set(&stepper->names, fingerprint, 1) ||
	    space_runtimes_name(&stepper->runtimes, words, &language, &frames) || !frames.count)
		return;
	printf("name %" PRIx32 " %s\n", fingerprint, frames.items[frames.count - 1].function);
}

/* Letter of a frame of V8's code; 0: its pc follows instead of a fingerprint. */
static char function_letter(uint32_t code)
{
	switch (code) {
	case JAVASCRIPT_INTERPRETED:
	case JAVASCRIPT_INTERPRETED_BEFORE:
		return 'i';
	case JAVASCRIPT_BASELINE:
		return 'b';
	case JAVASCRIPT_OPTIMIZED:
		return 'o';
	default:
		return 0;
	}
}

/* Writes the frame of @words to @text; returns the number of bytes, below FRAME_BYTES. */
static int describe(struct stepper *stepper, const uint64_t *words, uint64_t pc, char *text)
{
	bool is_leaf = !(frame_flags(words[0]) & FRAME_RETURN_ADDRESS);
	const char *guess = frame_flags(words[0]) & FRAME_GUESS ? "?" : "";
	uint32_t position, code;
	char letter = 'n';

	if (frame_kind(words[0]) == FRAME_ERROR)
		return snprintf(text, FRAME_BYTES, "e%u", frame_flags(words[0]));
	if (frame_kind(words[0]) == FRAME_JAVASCRIPT) {
		position = words[1] >> 32;
		code = position >> JAVASCRIPT_CODE_SHIFT & JAVASCRIPT_CODE_MASK;
		letter = function_letter(code);
		if (letter) {
			print_name(stepper, words);
			return snprintf(text, FRAME_BYTES, "%c%" PRIx32 "%s%s", letter,
					(uint32_t)words[1], position & JAVASCRIPT_NEW ? "+" : "",
					guess);
		}
		letter = code == JAVASCRIPT_BUILTIN ? 'f' : code == JAVASCRIPT_WASM ? 'w' : 'r';
	}
	return is_leaf ? snprintf(text, FRAME_BYTES, "%c%s", letter, guess) :
			 snprintf(text, FRAME_BYTES, "%c%" PRIx64 "%s", letter, pc, guess);
}

/* Prints the step with @kind of instruction and the stack of stepper->trace. */
static void print_step(struct stepper *stepper, const char *kind, uint64_t pc, uint64_t sp)
{
	const struct emulated_trace *trace = &stepper->trace;
	char leaf[FRAME_BYTES] = "-";
	uint64_t number = stepper->callers.count;
	int bytes = 0;
	uint32_t words;

	for (uint32_t i = 0; i < trace->word_count; i += words) {
		const uint64_t *from = &trace->words[i];
		bool is_leaf = !i && frame_kind(from[0]) != FRAME_ERROR &&
			       !(frame_flags(from[0]) & FRAME_RETURN_ADDRESS);

		words = frame_word_count(from[0]);
		if (is_leaf) {
			describe(stepper, from, trace->pcs[i], leaf);
			continue;
		}
		stepper->text[bytes++] = ' ';
		bytes += describe(stepper, from, trace->pcs[i], stepper->text + bytes);
	}
	stepper->text[bytes] = '\0';
	if (!hash_map_find_bytes(&stepper->callers, stepper->text, (size_t)bytes, &number)) {
		hash_map_set_bytes(&stepper->callers, stepper->text, (size_t)bytes, number);
		printf("callers %" PRIu64 "%s\n", number, stepper->text);
	}
	printf("step %s %" PRIx64 " %" PRIx64 " %s %" PRIu64 "\n", kind, pc, sp, leaf, number);
}

static void describe_instruction(struct stepper *stepper, uint64_t pc, char kind[8])
{
	struct x86_instruction instruction = { .kind = X86_OTHER };
	uint8_t bytes[X86_MAX_INSTRUCTION_BYTES];

	stepper->return_address = 0;
	if (!read_memory(stepper, pc, bytes, sizeof(bytes)))
		x86_decode(bytes, sizeof(bytes), &instruction);
	switch (instruction.kind) {
	case X86_CALL:
	case X86_CALL_INDIRECT:
		stepper->return_address = pc + instruction.length;
		snprintf(kind, 8, "call%u", instruction.length);
		break;
	case X86_RETURN:
		strcpy(kind, "return");
		break;
	case X86_JUMP:
	case X86_JUMP_INDIRECT:
	case X86_BRANCH:
		strcpy(kind, "jump");
		break;
	default:
		strcpy(kind, "-");
	}
}

/* Unwinds and prints the stack of the main thread. */
static int unwind(struct stepper *stepper, const struct stopped_thread *thread)
{
	struct user_tables tables = address_space_tables(&stepper->process.space);
	struct emulated_start start = { .thread_pointer = thread->set.thread_pointer };
	uint64_t pc = thread->set.registers[DWARF_PC];
	char kind[8];
	int err;

	tables.runtimes = stepper->runtimes.items;
	tables.runtime_count = stepper->runtimes.count;
	memcpy(start.registers, thread->set.registers, sizeof(start.registers));
	err = user_unwind_run(stepper->unwind, &tables, read_memory, stepper, &start,
			      &stepper->trace);
	if (err)
		return err;
	describe_instruction(stepper, pc, kind);
	print_step(stepper, kind, pc, thread->set.registers[DWARF_SP]);
	return 0;
}

/* Waits for the main thread to stop. A signal that comes is delivered with the next instruction. */
static int wait_for_stop(struct stepper *stepper, struct stopped_thread *thread)
{
	int status;

	if (waitpid(thread->tid, &status, __WALL) != thread->tid)
		return fail_errno(-errno, "cannot wait for thread %d", thread->tid);
	if (!WIFSTOPPED(status)) {
		stepper->has_ended = true;
		return 0;
	}
	thread->signal = WSTOPSIG(status) == SIGTRAP || status >> 16 == PTRACE_EVENT_STOP ?
				 0 :
				 WSTOPSIG(status);
	return stopped_thread_read(thread);
}

static int resume(struct stepper *stepper, struct stopped_thread *thread, enum __ptrace_request how)
{
	if (ptrace(how, thread->tid, NULL, (void *)(uintptr_t)thread->signal))
		return fail_errno(-errno, "cannot continue thread %d", thread->tid);
	if (how == PTRACE_CONT) {
		const struct timespec time = {
			.tv_nsec = 1000L * (RUN_MIN_US + random() % (RUN_MAX_US - RUN_MIN_US)),
		};

		nanosleep(&time, NULL);
		if (ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL))
			return fail_errno(-errno, "cannot stop thread %d", thread->tid);
	}
	return wait_for_stop(stepper, thread);
}

/* Sets the hardware's first breakpoint; @control: 1, or 0 for none. */
static int set_breakpoint(const struct stopped_thread *thread, uint64_t address, uint64_t control)
{
	if (ptrace(PTRACE_POKEUSER, thread->tid, offsetof(struct user, u_debugreg[0]), address) ||
	    ptrace(PTRACE_POKEUSER, thread->tid, offsetof(struct user, u_debugreg[7]), control))
		return fail_errno(-errno, "no breakpoint in thread %d", thread->tid);
	return 0;
}

/* Lets the thread run up to stepper->return_address. */
static int finish_other_code(struct stepper *stepper, struct stopped_thread *thread)
{
	int err = set_breakpoint(thread, stepper->return_address, 1);

	if (!err && ptrace(PTRACE_CONT, thread->tid, NULL, (void *)(uintptr_t)thread->signal))
		err = fail_errno(-errno, "cannot continue thread %d", thread->tid);
	if (!err)
		err = wait_for_stop(stepper, thread);
	return err || stepper->has_ended ? err : set_breakpoint(thread, 0, 0);
}

static void print_skipped(struct stepper *stepper)
{
	if (stepper->skipped)
		printf("skipped %" PRIu32 "\n", stepper->skipped);
	stepper->skipped = 0;
}

/* Takes a step in other code, or runs to its end. */
static int skip(struct stepper *stepper, struct stopped_thread *thread)
{
	if (++stepper->skipped < SKIPPED_MAX)
		return resume(stepper, thread, PTRACE_SINGLESTEP);
	return finish_other_code(stepper, thread);
}

static int run_burst(struct stepper *stepper, struct stopped_thread *thread)
{
	const uint64_t end = stepper->steps + BURST_STEPS;
	bool is_first = true;
	int err = 0;

	puts("burst");
	stepper->skipped = 0;
	while (!err && !stepper->has_ended && stepper->steps < end) {
		if (code_kind_of(stepper, thread->set.registers[DWARF_PC]) == CODE_OTHER) {
			if (is_first ||
			    (stepper->skipped == SKIPPED_MAX - 1 && !stepper->return_address))
				break;
			err = skip(stepper, thread);
			continue;
		}
		is_first = false;
		print_skipped(stepper);
		stepper->steps++;
		err = unwind(stepper, thread);
		if (!err)
			err = resume(stepper, thread, PTRACE_SINGLESTEP);
	}
	print_skipped(stepper);
	return err;
}

static int run_bursts(struct stepper *stepper)
{
	struct stopped_thread *thread = &stepper->process.threads.items[0];
	cpu_set_t cpus;
	int err = 0;

	/* Two threads that take turns are faster on one CPU. */
	CPU_ZERO(&cpus);
	CPU_SET(sched_getcpu(), &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	sched_setaffinity(thread->tid, sizeof(cpus), &cpus);
	for (size_t i = 1; i < stepper->process.threads.count; i++)
		ptrace(PTRACE_CONT, stepper->process.threads.items[i].tid, NULL, NULL);
	while (!err && !stepper->has_ended && stepper->steps < stepper->steps_max) {
		err = resume(stepper, thread, PTRACE_CONT);
		if (!err && !stepper->has_ended)
			err = run_burst(stepper, thread);
	}
	return err;
}

static int step_process(struct stepper *stepper, pid_t pid)
{
	const struct symbol_store_options names = { .table_limit_bytes = SYMBOL_TABLES_MAX_BYTES,
						    .reads_remote = true };
	int err = user_unwind_create(&stepper->unwind);

	if (!err)
		err = symbol_store_create(&names, &stepper->symbols);
	if (!err)
		err = stopped_process_init(&stepper->process, pid, LANGUAGES_ALL);
	if (!err)
		err = space_runtimes_init(&stepper->runtimes, &stepper->process.space,
					  &stepper->process.memory.memory);
	return err ? err : run_bursts(stepper);
}

int main(int argc, char **argv)
{
	/* Large, and there is one of it. The process goes on when this one ends. */
	static struct stepper stepper;
	long pid = argc > 1 ? strtol(argv[1], NULL, 10) : 0;

	if (argc < 3 || argc > 4 || pid <= 0 || pid > INT32_MAX) {
		fprintf(stderr, "usage: step_javascript PID STEPS [SEED]\n");
		return 2;
	}
	stepper.steps_max = strtoull(argv[2], NULL, 10);
	srandom(argc > 3 ? (unsigned int)strtoul(argv[3], NULL, 10) : 1);
	if (step_process(&stepper, (pid_t)pid)) {
		fprintf(stderr, "step_javascript: %s\n", error_text());
		return 1;
	}
	return 0;
}
