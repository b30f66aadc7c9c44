/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks as text. Names and paths are hostile: control characters are not printed. */
#include "agent/unwind/unwind_printer.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/model/symbol_lookup.h"
#include "lib/model/trace.h"
#include "symbols/symbol_store.h"

enum {
	SYMBOL_TABLES_MAX_BYTES = 256 << 20,
	/* Limit of names of one address; further ones are not printed. */
	NAMES_MAX = 32,
};

static void print_field(FILE *file, const char *text)
{
	fputc('\t', file);
	if (!*text)
		fputc('-', file);
	for (; *text; text++)
		fputc((uint8_t)*text < ' ' || *text == 0x7f ? '?' : *text, file);
}

static const char *special_name(uint64_t executable_id)
{
	switch (executable_id) {
	case EXECUTABLE_ID_ANONYMOUS:
		return "[anonymous]";
	case EXECUTABLE_ID_UPROBES:
		return "[uprobes]";
	case EXECUTABLE_ID_UNMAPPED:
		return "[unmapped]";
	default:
		return "-";
	}
}

/* Looks up the names at @address, innermost inlined function first; returns their number. */
static uint32_t find_names(const struct unwind_printer *printer, struct binary *binary,
			   uint64_t address, struct symbol symbols[NAMES_MAX])
{
	struct symbol_lookup *lookup;

	if (!printer->symbols || !binary)
		return 0;
	lookup = symbol_store_lookup(printer->symbols);
	return lookup->ops->resolve(lookup, binary, address, symbols,
				    printer->with_inlined ? NAMES_MAX : 1);
}

static bool begins_panic(const struct unwind_printer *printer, struct binary *binary,
			 uint64_t address)
{
	struct symbol_lookup *lookup;

	if (!printer->with_inlined || !printer->symbols || !binary)
		return false;
	lookup = symbol_store_lookup(printer->symbols);
	return lookup->ops->traits(lookup, binary, address) & FUNCTION_SHOWS_GENERATED;
}

/* Prints the flags that are not NULL. */
static void print_flags(FILE *file, const char *const flags[], size_t count)
{
	char before = '\t';

	for (size_t i = 0; i < count; i++) {
		if (!flags[i])
			continue;
		fprintf(file, "%c%s", before, flags[i]);
		before = ',';
	}
	fputs(before == '\t' ? "\t-\n" : "\n", file);
}

static void print_frame(const struct unwind_printer *printer, uint32_t number, uint64_t pc,
			const uint64_t *words, const struct address_space *space)
{
	bool is_return = frame_flags(words[0]) & FRAME_RETURN_ADDRESS;
	bool is_guess = frame_flags(words[0]) & FRAME_GUESS;
	struct binary *binary = address_space_binary(space, words[1]);
	uint64_t address = frame_address(words[0]);
	const char *path = binary ? binary->path : special_name(words[1]);
	struct symbol symbols[NAMES_MAX];
	uint32_t count = find_names(printer, binary, address - is_return, symbols);
	const struct symbol *last = count ? &symbols[count - 1] : NULL;
	bool is_panic = begins_panic(printer, binary, address - is_return);

	for (uint32_t i = 0; i + 1 < count; i++) {
		fprintf(printer->file, "#%" PRIu32 "\t-\t-", number);
		print_field(printer->file, path);
		print_field(printer->file, symbols[i].function);
		print_flags(printer->file,
			    (const char *const[]){
				    "inlined",
				    symbols[i].flags & SYMBOL_GENERATED ? "wrapper" : NULL,
			    },
			    2);
	}
	fprintf(printer->file, "#%" PRIu32 "\t%016" PRIx64 "\t%016" PRIx64, number, pc, address);
	print_field(printer->file, path);
	print_field(printer->file, last ? last->function : "");
	print_flags(printer->file,
		    (const char *const[]){
			    is_return ? "return" : NULL,
			    is_guess ? "guess" : NULL,
			    last && last->flags & SYMBOL_INLINED ? "inlined" : NULL,
			    printer->with_inlined && last && last->flags & SYMBOL_GENERATED ?
				    "wrapper" :
				    NULL,
			    is_panic ? "panic" : NULL,
		    },
		    5);
}

/* Prints an interpreted frame; false if it is the runtime's own. */
static bool print_interpreted(const struct unwind_printer *printer, uint32_t number,
			      const uint64_t *words)
{
	struct interpreted_frames frames = { .count = 0 };
	const char *language = "";
	int err = space_runtimes_name(printer->runtimes, words, &language, &frames);

	if (err == -ENOENT)
		return false;
	if (err) {
		frames.count = 1;
		frames.items[0] = (struct interpreted_frame){ .function = "" };
	}
	for (uint32_t i = printer->with_inlined ? 0 : frames.count - 1; i < frames.count; i++) {
		const struct interpreted_frame *frame = &frames.items[i];

		fprintf(printer->file, "#%" PRIu32, number);
		print_field(printer->file, language);
		fprintf(printer->file, "\t%" PRIu32, frame->line);
		print_field(printer->file, frame->file ? frame->file : "");
		print_field(printer->file, frame->function);
		print_flags(printer->file,
			    (const char *const[]){
				    frame->is_inlined ? "inlined" : NULL,
				    frame->is_approximate ? "approximate" : NULL,
				    frame_flags(words[0]) & FRAME_GUESS ? "guess" : NULL,
			    },
			    3);
	}
	return true;
}

static void print_error(const struct unwind_printer *printer, uint64_t word, bool is_last)
{
	fprintf(printer->file, "%s\t%016" PRIx64 "\t%s\n", is_last ? "error" : "missing",
		(uint64_t)frame_address(word), unwind_error_text(frame_flags(word)));
}

static void print_trace(const struct unwind_printer *printer, const struct address_space *space)
{
	const struct emulated_trace *trace = &printer->trace;
	uint32_t number = 0, count;

	for (uint32_t i = 0; i < trace->word_count; i += count) {
		const uint64_t *words = (const uint64_t *)&trace->words[i];

		count = frame_word_count(words[0]);
		if (frame_kind(words[0]) == FRAME_ERROR) {
			print_error(printer, words[0], trace->error && i + 1 == trace->word_count);
		} else if (frame_kind_is_interpreted(frame_kind(words[0]))) {
			number += print_interpreted(printer, number, words);
		} else {
			print_frame(printer, number, trace->pcs[i], words, space);
			number++;
		}
	}
	if (!trace->error)
		fputs("end\n", printer->file);
}

int unwind_printer_init(struct unwind_printer *printer, FILE *file, bool with_names)
{
	const struct symbol_store_options names = { .table_limit_bytes = SYMBOL_TABLES_MAX_BYTES,
						    .reads_remote = true };
	int err;

	memset(printer, 0, sizeof(*printer));
	printer->file = file;
	err = user_unwind_create(&printer->unwind);
	if (!err && with_names)
		err = symbol_store_create(&names, &printer->symbols);
	if (err)
		unwind_printer_deinit(printer);
	return err;
}

void unwind_printer_deinit(struct unwind_printer *printer)
{
	user_unwind_destroy(printer->unwind);
	symbol_store_destroy(printer->symbols);
	printer->unwind = NULL;
	printer->symbols = NULL;
}

int unwind_printer_print(struct unwind_printer *printer, uint32_t tid,
			 const struct register_set *set, struct address_space *space,
			 user_unwind_read_function *read, void *read_context)
{
	struct user_tables tables = address_space_tables(space);
	struct emulated_start start = {
		.frame_flags = set->is_system_call ? FRAME_RETURN_ADDRESS : 0,
		.thread_pointer = set->thread_pointer,
	};
	int err;

	if (printer->runtimes) {
		tables.runtimes = printer->runtimes->items;
		tables.runtime_count = printer->runtimes->count;
	}

	memcpy(start.registers, set->registers, sizeof(start.registers));
	err = user_unwind_run(printer->unwind, &tables, read, read_context, &start,
			      &printer->trace);
	if (err)
		return err;
	fprintf(printer->file, "thread\t%" PRIu32 "\n", tid);
	print_trace(printer, space);
	return 0;
}
