/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of a profile are columns that refer to each other by index:
 *
 *	sample > stack > frame > function > name, resource (a library) and file
 *
 * Each thread has its tables; in newer versions all threads share them. Indices may be invalid; what refers to a missing
 * entry is skipped.
 */
#include "viewer/open/open_firefox.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/text.h"
#include "lib/model/languages.h"
#include "reporter/sequence_counts.h"

enum {
	MS_PER_SECOND = 1000,
	NO_INDEX = UINT32_MAX,
};

VECTOR_DEFINE(text_list, char *)
VECTOR_DEFINE(trace_list, struct trace *)

/* A column of a table: numbers, NO_INDEX for null and for what is no index. */
struct columns {
	struct number_vector stack_frame;
	struct number_vector stack_prefix;
	struct number_vector frame_function;
	struct number_vector frame_category;
	struct number_vector frame_line;
	struct number_vector frame_column;
	struct number_vector frame_inline_depth;
	struct number_vector function_name;
	struct number_vector function_file;
	struct number_vector function_source;
	struct number_vector function_resource;
	struct number_vector resource_library;
	struct number_vector source_file;
	/* Addresses have more than 32 bits. */
	struct number_vector frame_address_low;
	struct number_vector frame_address_high;
};

/* The tables that samples refer to: a thread's, or those that all share. */
struct tables {
	struct columns columns;
	struct text_list texts;
	struct opened_names names;
	/* By stack; NULL until a sample has it. */
	struct trace_list traces;
};

struct category {
	uint8_t kind;
	uint8_t marks;
};

VECTOR_DEFINE(category_vector, struct category)

struct firefox {
	struct json_reader *reader;
	struct opened_mappings mappings;
	/* Names of libraries. */
	struct text_list libraries;
	struct category_vector categories;
	bool has_shared_tables;
	struct tables shared;
	double start_ms;
	/* The length of one unit of threadCPUDelta in ns; 0: it is no time. */
	double cpu_ns;
};

/* --- columns --- */

static double number_at(const struct json_reader *reader, uint32_t value)
{
	return json_number(&reader->index, value, -1);
}

static int load_column(struct json_reader *reader, uint32_t table, const char *name,
		       struct number_vector *column)
{
	uint32_t array = json_member(&reader->index, table, name);
	int err = 0;

	for (uint32_t i = json_first(&reader->index, array); i != JSON_NONE && !err;
	     i = json_next(&reader->index, array, i)) {
		double number = number_at(reader, i);

		err = number_vector_push(
			column, number >= 0 && number < NO_INDEX ? (uint32_t)number : NO_INDEX);
	}
	return err;
}

static int load_addresses(struct json_reader *reader, uint32_t table, struct columns *columns)
{
	uint32_t array = json_member(&reader->index, table, "address");
	int err = 0;

	for (uint32_t i = json_first(&reader->index, array); i != JSON_NONE && !err;
	     i = json_next(&reader->index, array, i)) {
		double number = number_at(reader, i);
		uint64_t address = number >= 0 && number < 0x1p63 ? (uint64_t)number : 0;

		err = number_vector_push(&columns->frame_address_low, (uint32_t)address);
		if (!err)
			err = number_vector_push(&columns->frame_address_high,
						 (uint32_t)(address >> 32));
	}
	return err;
}

static uint32_t item(const struct number_vector *column, uint32_t index)
{
	return index < column->count ? column->items[index] : NO_INDEX;
}

static int load_columns(struct json_reader *reader, uint32_t parent, struct columns *columns)
{
	struct json_index *index = &reader->index;
	uint32_t stacks = json_member(index, parent, "stackTable");
	uint32_t frames = json_member(index, parent, "frameTable");
	uint32_t functions = json_member(index, parent, "funcTable");
	uint32_t resources = json_member(index, parent, "resourceTable");
	uint32_t sources = json_member(index, parent, "sources");
	const struct {
		uint32_t table;
		const char *name;
		struct number_vector *column;
	} all[] = {
		{ stacks, "frame", &columns->stack_frame },
		{ stacks, "prefix", &columns->stack_prefix },
		{ frames, "func", &columns->frame_function },
		{ frames, "category", &columns->frame_category },
		{ frames, "line", &columns->frame_line },
		{ frames, "column", &columns->frame_column },
		{ frames, "inlineDepth", &columns->frame_inline_depth },
		{ functions, "name", &columns->function_name },
		{ functions, "fileName", &columns->function_file },
		{ functions, "source", &columns->function_source },
		{ functions, "resource", &columns->function_resource },
		{ resources, "lib", &columns->resource_library },
		{ sources, "filename", &columns->source_file },
	};
	int err = load_addresses(reader, frames, columns);

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]) && !err; i++)
		err = load_column(reader, all[i].table, all[i].name, all[i].column);
	return err;
}

static void columns_deinit(struct columns *columns)
{
	struct number_vector *all = (struct number_vector *)columns;

	for (size_t i = 0; i < sizeof(*columns) / sizeof(*all); i++)
		number_vector_deinit(&all[i]);
}

static int load_texts(struct json_reader *reader, uint32_t parent, struct text_list *texts)
{
	uint32_t array = json_member(&reader->index, parent, "stringArray");
	int err = 0;

	if (array == JSON_NONE)
		array = json_member(&reader->index, parent, "stringTable");
	for (uint32_t i = json_first(&reader->index, array); i != JSON_NONE && !err;
	     i = json_next(&reader->index, array, i)) {
		const char *text = json_string_at(&reader->index, i);

		err = text_list_push(texts, (char *)(text ? text : ""));
	}
	return err;
}

static int load_tables(struct json_reader *reader, uint32_t parent, struct tables *tables)
{
	int err = load_columns(reader, parent, &tables->columns);

	if (!err)
		err = load_texts(reader, parent, &tables->texts);
	if (!err)
		err = opened_names_init(&tables->names, tables->texts.items, tables->texts.count);
	return err;
}

static void tables_deinit(struct tables *tables)
{
	for (size_t i = 0; i < tables->traces.count; i++)
		if (tables->traces.items[i])
			trace_unref(tables->traces.items[i]);
	trace_list_deinit(&tables->traces);
	columns_deinit(&tables->columns);
	opened_names_deinit(&tables->names);
	text_list_deinit(&tables->texts);
}

/* --- the whole profile --- */

/* Categories have names that users chose; those of kinds are what our own outputs write, and Firefox's for scripts. */
static struct category category_of(const char *name)
{
	const struct language_id *language;

	if (!strcasecmp(name, "kernel"))
		return (struct category){ FRAME_KERNEL, OPENED_KERNEL };
	if (!strcasecmp(name, "jit"))
		return (struct category){ FRAME_NATIVE, OPENED_JIT };
	for (uint32_t i = 0; i < LANGUAGE_COUNT; i++) {
		language = &language_ids[i];
		if (!strcasecmp(name, language->name) && language->frames != LANGUAGE_NATIVE)
			return (struct category){ language->kind, 0 };
	}
	return (struct category){ FRAME_NATIVE, 0 };
}

static int load_categories(struct firefox *file, uint32_t meta)
{
	struct json_index *index = &file->reader->index;
	uint32_t categories = json_member(index, meta, "categories");
	int err = 0;

	for (uint32_t i = json_first(index, categories); i != JSON_NONE && !err;
	     i = json_next(index, categories, i))
		err = category_vector_push(&file->categories,
					   category_of(json_reader_text(file->reader, i, "name")));
	return err;
}

static int load_libraries(struct firefox *file, uint32_t parent)
{
	struct json_index *index = &file->reader->index;
	uint32_t libraries = json_member(index, parent, "libs");
	int err = 0;

	for (uint32_t i = json_first(index, libraries); i != JSON_NONE && !err;
	     i = json_next(index, libraries, i)) {
		const char *path = json_reader_text(file->reader, i, "path");

		err = text_list_push(&file->libraries,
				     (char *)(*path ? path :
						      json_reader_text(file->reader, i, "name")));
	}
	return err;
}

/* Reads the facts about the profile. They are groups of entries, each with a label and a value. */
static int read_entries(struct json_reader *reader, uint32_t meta)
{
	struct json_index *index = &reader->index;
	uint32_t groups = json_member(index, meta, "extra"), entries;
	int err = 0;

	for (uint32_t group = json_first(index, groups); group != JSON_NONE && !err;
	     group = json_next(index, groups, group)) {
		entries = json_member(index, group, "entries");
		for (uint32_t i = json_first(index, entries); i != JSON_NONE && !err;
		     i = json_next(index, entries, i)) {
			const char *label = json_reader_text(reader, i, "label");
			const char *value = json_reader_text(reader, i, "value");

			if (*label && *value)
				err = json_reader_add_fact(reader, label, value);
		}
	}
	return err;
}

static int read_meta(struct firefox *file, uint32_t meta)
{
	struct json_reader *reader = file->reader;
	struct profile_facts *facts = &reader->opened->facts;
	double start = json_reader_number(reader, meta, "startTime", 0);
	double interval = json_reader_number(reader, meta, "interval", 0);
	double from = json_reader_number(reader, meta, "profilingStartTime", 0);
	double to = json_reader_number(reader, meta, "profilingEndTime", 0);
	uint32_t units = json_member(&reader->index, meta, "sampleUnits");
	const char *cpu = json_reader_text(reader, units, "threadCPUDelta");
	int err = 0;

	facts->has_time = start > 0 && start < 0x1p43;
	if (facts->has_time)
		reader->opened->start_ns = (uint64_t)(start * NS_PER_MS);
	if (to > from && to - from < 0x1p40)
		facts->duration_ns = (uint64_t)((to - from) * NS_PER_MS);
	if (interval > 0 && interval <= MS_PER_SECOND)
		err = profile_facts_set_period(facts, "wall", "nanoseconds",
					       json_whole(interval * NS_PER_MS));
	opened_samples_set_rate(reader->opened);
	file->cpu_ns = !strcmp(cpu, "ns") ? 1 : text_ends_with(cpu, "s") && *cpu ? 1000 : 0;
	if (!err)
		err = read_entries(reader, meta);
	return err ? err : load_categories(file, meta);
}

/* --- stacks --- */

static uint64_t address_at(const struct columns *columns, uint32_t frame)
{
	return frame < columns->frame_address_low.count ?
		       (uint64_t)columns->frame_address_high.items[frame] << 32 |
			       columns->frame_address_low.items[frame] :
		       0;
}

/* Some versions share the texts only. */
static struct opened_names *names_of(struct firefox *file, struct tables *tables)
{
	return tables->texts.count ? &tables->names : &file->shared.names;
}

/* The file of a function; "" if there is none. */
static const char *source_of(struct firefox *file, struct tables *tables, uint32_t function)
{
	const struct columns *columns = &tables->columns;
	const struct number_vector *sources = columns->source_file.count ?
						      &columns->source_file :
						      &file->shared.columns.source_file;
	uint32_t source = item(&columns->function_file, function);

	if (source == NO_INDEX)
		source = item(sources, item(&columns->function_source, function));
	return opened_names_text(names_of(file, tables), source);
}

/* True for "0x3100", the name of a function that nobody has looked up. */
static bool is_address(const char *name)
{
	return text_starts_with(name, "0x") && name[2] &&
	       !name[2 + strspn(name + 2, "0123456789abcdefABCDEF")];
}

static int find_mapping(struct firefox *file, const struct columns *columns, uint32_t function,
			struct opened_mapping **mapping)
{
	uint32_t library =
		item(&columns->resource_library, item(&columns->function_resource, function));

	if (library >= file->libraries.count)
		return 0;
	return opened_mappings_find(&file->mappings, file->libraries.items[library],
				    file->reader->opened, mapping);
}

static int push_frame(struct firefox *file, struct tables *tables, uint32_t frame)
{
	const struct columns *columns = &tables->columns;
	uint32_t function = item(&columns->frame_function, frame);
	uint32_t category = item(&columns->frame_category, frame);
	uint32_t line = item(&columns->frame_line, frame);
	uint32_t column = item(&columns->frame_column, frame);
	uint32_t depth = item(&columns->frame_inline_depth, frame);
	struct opened_mapping *mapping = &file->reader->nowhere;
	struct json_function made = { .kind = FRAME_NATIVE };
	struct frame pushed;
	int err = find_mapping(file, columns, function, &mapping);

	if (err)
		return err;
	made.name = opened_names_name(names_of(file, tables),
				      item(&columns->function_name, function), &made.marks);
	made.file = source_of(file, tables, function);
	made.kind = opened_kind_of_file(made.file);
	if (category < file->categories.count) {
		made.marks.marks |= file->categories.items[category].marks;
		if (file->categories.items[category].kind != FRAME_NATIVE)
			made.kind = file->categories.items[category].kind;
	}
	if (depth && depth != NO_INDEX)
		made.marks.marks |= OPENED_INLINED;
	if (is_address(made.name) && mapping != &file->reader->nowhere) {
		made.marks.marks |= OPENED_NAMELESS;
		made.marks.address = address_at(columns, frame);
	} else {
		opened_name_find_address(&made.marks, made.name, mapping);
	}
	pushed = opened_frame_make(mapping, made.kind, *made.name ? made.name : "(anonymous)",
				   &made.marks, made.file, line == NO_INDEX ? 0 : line,
				   column == NO_INDEX ? 0 : column);
	if (pushed.kind != FRAME_ERROR && !(made.marks.marks & OPENED_NAMELESS))
		pushed.address = address_at(columns, frame);
	return opened_stack_push(&file->reader->stack, &pushed);
}

/* Makes the trace of a stack once; prefixes in a circle end at the limit of frames. */
static int make_trace(struct firefox *file, struct tables *tables, uint32_t stack)
{
	const struct columns *columns = &tables->columns;
	struct opened_stack *made = &file->reader->stack;
	int err = 0;

	while (tables->traces.count < columns->stack_frame.count && !err)
		err = trace_list_push(&tables->traces, NULL);
	if (err || tables->traces.items[stack])
		return err;
	for (uint32_t at = stack;
	     at < columns->stack_frame.count && !opened_stack_is_full(made) && !err;
	     at = item(&columns->stack_prefix, at))
		err = push_frame(file, tables, columns->stack_frame.items[at]);
	if (err)
		return err;
	tables->traces.items[stack] = opened_stack_finish(made);
	if (!tables->traces.items[stack])
		return -ENOMEM;
	return opened_samples_spend(file->reader->opened, tables->traces.items[stack]->bytes);
}

/* --- samples --- */

/* Walks several columns of a table at once. */
struct cursor {
	uint32_t array;
	uint32_t value;
};

static struct cursor cursor_of(struct json_reader *reader, uint32_t table, const char *name)
{
	uint32_t array = json_member(&reader->index, table, name);

	return (struct cursor){ array, json_first(&reader->index, array) };
}

/* The number, and moves on; @otherwise for none. */
static double cursor_next(struct json_reader *reader, struct cursor *cursor, double otherwise)
{
	double number = json_number(&reader->index, cursor->value, otherwise);

	if (cursor->value != JSON_NONE)
		cursor->value = json_next(&reader->index, cursor->array, cursor->value);
	return number;
}

static int set_weight(struct json_reader *reader, uint32_t samples)
{
	const char *kind = json_reader_text(reader, samples, "weightType");
	uint32_t weights = json_member(&reader->index, samples, "weight");
	bool has_fractions = json_has_fraction(&reader->index, weights);

	if (!strcmp(kind, "tracing-ms"))
		return json_reader_set_type(reader, "weight", "milliseconds", has_fractions);
	if (!strcmp(kind, "bytes"))
		return json_reader_set_type(reader, "weight", "bytes", has_fractions);
	return json_reader_set_type(reader, "samples", "count", has_fractions);
}

static uint64_t time_of(const struct firefox *file, double at_ms)
{
	return file->reader->opened->start_ns +
	       (at_ms > 0 && at_ms < 0x1p40 ? (uint64_t)(at_ms * NS_PER_MS) : 0);
}

static int put_samples(struct firefox *file, struct tables *tables, uint32_t samples,
		       struct sample *sample)
{
	struct json_reader *reader = file->reader;
	struct cursor stacks = cursor_of(reader, samples, "stack");
	struct cursor times = cursor_of(reader, samples, "time");
	struct cursor deltas = cursor_of(reader, samples, "timeDeltas");
	struct cursor weights = cursor_of(reader, samples, "weight");
	struct cursor cpu = cursor_of(reader, samples, "threadCPUDelta");
	double at_ms = 0, weight, stack, cpu_used;
	uint32_t cpu_type = 0;
	bool is_first = true;
	int err = set_weight(reader, samples);

	if (!err && file->cpu_ns > 0 && cpu.value != JSON_NONE)
		err = profile_facts_add_type(&reader->opened->facts, "cpu", "nanoseconds",
					     &cpu_type);
	for (; stacks.value != JSON_NONE && !err; is_first = false) {
		stack = cursor_next(reader, &stacks, -1);
		at_ms = deltas.value != JSON_NONE ? at_ms + cursor_next(reader, &deltas, 0) :
						    cursor_next(reader, &times, at_ms);
		weight = cursor_next(reader, &weights, 1);
		cpu_used = cursor_next(reader, &cpu, 0);
		if (!(stack >= 0) || stack >= (double)tables->columns.stack_frame.count)
			continue;
		err = make_trace(file, tables, (uint32_t)stack);
		if (err)
			return err;
		sample->trace = tables->traces.items[(uint32_t)stack];
		err = opened_samples_put(reader->opened, sample, reader->type, time_of(file, at_ms),
					 json_whole(weight * reader->scale));
		/* The first value has no sample before it. */
		if (!err && cpu_type && !is_first)
			err = opened_samples_put(reader->opened, sample, cpu_type,
						 time_of(file, at_ms),
						 json_whole(cpu_used * file->cpu_ns));
	}
	return err;
}

/* A number, or a text that begins with one. */
static uint32_t read_id(struct json_reader *reader, uint32_t object, const char *key)
{
	const char *text = json_reader_text(reader, object, key);
	double number = *text >= '0' && *text <= '9' ? strtod(text, NULL) :
						       json_reader_number(reader, object, key, -1);

	return number >= 0 && number < SAMPLE_NO_NUMBER ? (uint32_t)number : SAMPLE_NO_NUMBER;
}

static int read_thread(struct firefox *file, uint32_t thread)
{
	struct json_reader *reader = file->reader;
	struct sample sample = opened_sample_unknown();
	uint32_t samples = json_member(&reader->index, thread, "samples");
	struct tables own = { 0 };
	int err = 0;

	sample.process_comm = json_reader_text(reader, thread, "processName");
	sample.thread_comm = json_reader_text(reader, thread, "name");
	sample.pid = read_id(reader, thread, "pid");
	sample.tid = read_id(reader, thread, "tid");
	if (json_member(&reader->index, samples, "schema") != JSON_NONE)
		return fail(
			-EOPNOTSUPP,
			"it is a profile as Firefox records it; profiler.firefox.com opens it and saves one that can be opened here");
	if (!file->has_shared_tables)
		err = load_tables(reader, thread, &own);
	/* Older versions have the libraries in each thread. */
	if (!err && json_member(&reader->index, thread, "libs") != JSON_NONE) {
		file->libraries.count = 0;
		err = load_libraries(file, thread);
	}
	if (!err)
		err = put_samples(file, file->has_shared_tables ? &file->shared : &own, samples,
				  &sample);
	tables_deinit(&own);
	return err;
}

static int read_all(struct firefox *file)
{
	struct json_reader *reader = file->reader;
	struct json_index *index = &reader->index;
	uint32_t shared = json_reader_root(reader, "shared");
	uint32_t threads = json_reader_root(reader, "threads");
	int err = read_meta(file, json_reader_root(reader, "meta"));

	if (!err)
		err = load_libraries(file, 0);
	file->has_shared_tables = json_member(index, shared, "stackTable") != JSON_NONE;
	if (!err && shared != JSON_NONE)
		err = load_tables(reader, shared, &file->shared);
	for (uint32_t i = json_first(index, threads); i != JSON_NONE && !err;
	     i = json_next(index, threads, i))
		err = read_thread(file, i);
	return err;
}

int open_firefox(struct json_reader *reader)
{
	struct firefox file = { .reader = reader };
	int err = read_all(&file);

	if (!err)
		opened_samples_choose_first_type(reader->opened);
	tables_deinit(&file.shared);
	opened_mappings_deinit(&file.mappings);
	text_list_deinit(&file.libraries);
	category_vector_deinit(&file.categories);
	return err;
}
