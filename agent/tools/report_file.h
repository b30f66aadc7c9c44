/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Reads recorded reports: the converted traces with their events as a reporter gets them, and the names that
 * lookups gave for them. One record a line, fields parted by tabs, `-` for an empty one, bytes outside of 0x21
 * to 0x7e and backslashes as \xNN. Enums are written as words and not as numbers, so that a file outlives
 * changes:
 *
 *	reports 1 SAMPLES_PER_SECOND START_REALTIME_NS START_MONOTONIC_NS DURATION_NS
 *	binary INDEX EXECUTABLE_ID FILE_ID BUILD_ID START LIMIT OFFSET kernel|user PATH
 *	process INDEX PID EXECUTABLE_PATH CONTAINER HOST SERVICE
 *	attribute B|P INDEX KEY TEXT, of a binary or process further up, keys as OTLP has them
 *	labels INDEX TASK_NUMBER KEY VALUE KEY VALUE ...
 *	trace INDEX complete|- kernel_thread|-
 *	frame KIND FLAG,FLAG ERROR LINE ADDRESS BINARY FUNCTION FILE, of the last trace, leaf first
 *	symbol BINARY ADDRESS PART FUNCTION FILE LINE FLAG,FLAG, one line for each name, the innermost first
 *	sample TIME_NS TRACE PROCESS LABELS PID TID CPU PROCESS_COMM THREAD_COMM known|-
 *
 * Indexes count from 0 in the order of the lines. What is wrong in a file ends the program.
 */
#ifndef AGENT_TOOLS_REPORT_FILE_H
#define AGENT_TOOLS_REPORT_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/model/label_set.h"
#include "lib/model/sample.h"
#include "lib/model/symbol_lookup.h"

enum {
	REPORT_FIELDS_MAX = 64,
	REPORT_ITEMS_MAX = 8192,
	REPORT_FRAMES_MAX = 1024,
	REPORT_ATTRIBUTES_MAX = 8,
	/** A flag in addition to enum symbol_flag. */
	REPORT_GO = 1 << 8,
};

struct report_attributes {
	struct attribute items[REPORT_ATTRIBUTES_MAX];
	uint32_t count;
};

struct report_symbol {
	uint32_t binary;
	uint64_t address;
	uint32_t traits;
	struct symbol symbol;
};

struct report_file {
	struct symbol_lookup lookup;
	uint32_t samples_per_second;
	uint64_t start_realtime_ns;
	uint64_t start_monotonic_ns;
	uint64_t duration_ns;
	/** Made from the values when the first trace is read. */
	struct binary binary_values[REPORT_ITEMS_MAX];
	struct report_attributes binary_attributes[REPORT_ITEMS_MAX];
	struct binary *binaries[REPORT_ITEMS_MAX];
	uint32_t binary_count;
	struct process_info process_values[REPORT_ITEMS_MAX];
	struct report_attributes process_attributes[REPORT_ITEMS_MAX];
	struct process_info *processes[REPORT_ITEMS_MAX];
	uint32_t process_count;
	struct label_set *labels[REPORT_ITEMS_MAX];
	uint32_t label_set_count;
	struct trace *traces[REPORT_ITEMS_MAX];
	uint32_t trace_count;
	struct report_symbol *symbols;
	uint32_t symbol_count;
	struct sample_event *samples;
	uint32_t sample_count;
	/** The trace that is being read. */
	struct frame frames[REPORT_FRAMES_MAX];
	uint32_t frame_count;
	bool in_trace;
	bool is_complete;
	bool is_kernel_thread;
	char *fields[REPORT_FIELDS_MAX];
	uint32_t field_count;
	uint32_t line;
};

static inline _Noreturn void report_refuse(const struct report_file *file, const char *why)
{
	fprintf(stderr, "replay_reports: line %u: %s\n", file->line, why);
	exit(1);
}

static inline void *report_grow(void *items, uint32_t count, size_t item_bytes)
{
	/* The array is full at powers of two. */
	if (count & (count - 1) || count == 1)
		return items;
	items = realloc(items, (count ? count * 2 : 2) * item_bytes);
	if (!items)
		abort();
	return items;
}

/* Decodes @text within its own memory. */
static inline void report_decode(char *text)
{
	char *to = text;

	if (!strcmp(text, "-"))
		*text = '\0';
	for (const char *from = text; *from; to++) {
		if (from[0] == '\\' && from[1] == 'x' && from[2] && from[3]) {
			const char digits[] = { from[2], from[3], '\0' };

			*to = (char)strtoul(digits, NULL, 16);
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

static inline const char *report_text(const struct report_file *file, uint32_t field)
{
	if (field >= file->field_count)
		report_refuse(file, "a field is missing");
	return file->fields[field];
}

static inline uint64_t report_number(const struct report_file *file, uint32_t field)
{
	return strtoull(report_text(file, field), NULL, 0);
}

/* An index, or UINT32_MAX for none. */
static inline uint32_t report_index(const struct report_file *file, uint32_t field, uint32_t count)
{
	const char *text = report_text(file, field);
	uint64_t index = strtoull(text, NULL, 0);

	if (!*text)
		return UINT32_MAX;
	if (index >= count)
		report_refuse(file, "an index is too large");
	return (uint32_t)index;
}

/* The bit, or number, of @text among the words of a table; @text may be part of a list. */
struct report_word {
	const char *text;
	uint32_t value;
};

static inline uint32_t report_words(const struct report_file *file, uint32_t field,
				    const struct report_word *words, size_t count)
{
	const char *text = report_text(file, field);
	uint32_t value = 0;

	while (*text) {
		size_t length = strcspn(text, ","), i = 0;

		while (i < count &&
		       (strlen(words[i].text) != length || strncmp(words[i].text, text, length)))
			i++;
		if (i == count)
			report_refuse(file, "an unknown word");
		value |= words[i].value;
		text += length + (text[length] == ',');
	}
	return value;
}

#define REPORT_WORDS(file, field, ...)                                                             \
	({                                                                                         \
		static const struct report_word words[] = { __VA_ARGS__ };                         \
		report_words(file, field, words, sizeof(words) / sizeof(words[0]));                \
	})

static inline void report_hex(const struct report_file *file, uint32_t field, uint8_t *bytes,
			      size_t capacity, uint32_t *count)
{
	const char *text = report_text(file, field);

	*count = strlen(text) / 2;
	if (*count > capacity)
		report_refuse(file, "an id is too long");
	for (uint32_t i = 0; i < *count; i++) {
		const char digits[] = { text[2 * i], text[2 * i + 1], '\0' };

		bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
}

static inline void report_read_binary(struct report_file *file)
{
	struct binary *values = &file->binary_values[file->binary_count++];
	uint32_t id_bytes;

	*values = (struct binary){
		.fd = -1,
		.executable_id = report_number(file, 2),
		.memory_start = report_number(file, 5),
		.memory_limit = report_number(file, 6),
		.file_offset = report_number(file, 7),
		.is_kernel = !strcmp(report_text(file, 8), "kernel"),
		.path = strdup(report_text(file, 9)),
	};
	report_hex(file, 3, values->file_id.bytes, sizeof(values->file_id.bytes), &id_bytes);
	report_hex(file, 4, values->build_id, sizeof(values->build_id), &values->build_id_bytes);
}

static inline void report_read_process(struct report_file *file)
{
	file->process_values[file->process_count++] = (struct process_info){
		.pid = (uint32_t)report_number(file, 2),
		.executable_path = strdup(report_text(file, 3)),
		.container_id = strdup(report_text(file, 4)),
		.host_name = strdup(report_text(file, 5)),
		.service_name = strdup(report_text(file, 6)),
	};
}

static inline void report_read_attribute(struct report_file *file)
{
	bool is_binary = !strcmp(report_text(file, 1), "B");
	uint32_t index =
		report_index(file, 2, is_binary ? file->binary_count : file->process_count);
	struct report_attributes *attributes;

	if (index == UINT32_MAX)
		report_refuse(file, "an attribute of nothing");
	attributes = is_binary ? &file->binary_attributes[index] : &file->process_attributes[index];
	if (attributes->count == REPORT_ATTRIBUTES_MAX)
		report_refuse(file, "too many attributes");
	attributes->items[attributes->count++] = (struct attribute){
		.key = strdup(report_text(file, 3)),
		.text = strdup(report_text(file, 4)),
	};
}

/* Attributes of a binary become program facts of Go. */
static inline void report_make_binary(struct report_file *file, uint32_t index)
{
	const struct report_attributes *attributes = &file->binary_attributes[index];
	struct program_facts facts = { .languages = language_bit(FRAME_GO) };

	for (uint32_t i = 0; i < attributes->count; i++)
		program_facts_add(&facts, attributes->items[i].key, attributes->items[i].text,
				  true);
	if (attributes->count)
		file->binary_values[index].facts = &facts;
	file->binaries[index] = binary_create(&file->binary_values[index]);
	if (!file->binaries[index])
		abort();
}

static inline void report_make_process(struct report_file *file, uint32_t index)
{
	const struct report_attributes *attributes = &file->process_attributes[index];
	struct process_info *values = &file->process_values[index];

	values->attributes = attributes->items;
	values->attribute_count = attributes->count;
	file->processes[index] = process_info_create(values);
	if (!file->processes[index])
		abort();
}

static inline void report_read_labels(struct report_file *file)
{
	struct sample_label labels[LABEL_SLOTS_MAX] = { 0 };
	struct label_set *set = calloc(1, sizeof(*set));
	struct text_builder scratch = { 0 };
	uint64_t number = report_number(file, 2);
	uint32_t count = 0;

	for (uint32_t i = 3; i + 1 < file->field_count; i += 2) {
		const char *key = file->fields[i], *value = file->fields[i + 1];
		struct sample_label *label = &labels[count++];

		if (count == LABEL_SLOTS_MAX || strlen(key) > LABEL_KEY_MAX_BYTES ||
		    strlen(value) > LABEL_VALUE_MAX_BYTES)
			report_refuse(file, "too many labels, or too long ones");
		label->key_bytes = strlen(key);
		label->value_bytes = strlen(value);
		memcpy(label->key, key, label->key_bytes);
		memcpy(label->value, value, label->value_bytes);
	}
	if (*report_text(file, 2)) {
		labels[count].key[0] = FRAME_GO;
		labels[count].value_bytes = sizeof(number);
		memcpy(labels[count++].value, &number, sizeof(number));
	}
	if (!set || !label_set_fill(set, labels, count, &scratch))
		report_refuse(file, "no labels");
	text_builder_deinit(&scratch);
	file->labels[file->label_set_count++] = set;
}

static inline void report_finish_trace(struct report_file *file)
{
	struct trace *trace;

	if (!file->in_trace)
		return;
	file->in_trace = false;
	trace = trace_create(file->frames, file->frame_count, file->is_complete,
			     file->is_kernel_thread);
	if (!trace)
		abort();
	file->traces[file->trace_count++] = trace;
}

static inline void report_begin_trace(struct report_file *file)
{
	report_finish_trace(file);
	for (uint32_t i = 0; i < file->binary_count; i++) {
		if (!file->binaries[i])
			report_make_binary(file, i);
	}
	file->in_trace = true;
	file->frame_count = 0;
	file->is_complete = *report_text(file, 2);
	file->is_kernel_thread = *report_text(file, 3);
}

static inline uint8_t report_error_number(const struct report_file *file, uint32_t field)
{
	const char *name = report_text(file, field);

	for (uint8_t error = 0; *name && error < UNWIND_ERROR_COUNT; error++) {
		if (!strcmp(unwind_error_name(error), name))
			return error;
	}
	if (*name)
		report_refuse(file, "an unknown error");
	return 0;
}

static inline void report_read_frame(struct report_file *file)
{
	uint32_t binary = report_index(file, 6, file->binary_count);

	if (!file->in_trace || file->frame_count == REPORT_FRAMES_MAX)
		report_refuse(file, "a frame without a trace, or too many");
	file->frames[file->frame_count++] = (struct frame){
		.kind = (uint8_t)REPORT_WORDS(file, 1, { "native", FRAME_NATIVE },
					      { "kernel", FRAME_KERNEL }, { "error", FRAME_ERROR },
					      { "python", FRAME_PYTHON }, { "java", FRAME_JAVA }),
		.flags = (uint8_t)REPORT_WORDS(
			file, 2, { "return", FRAME_RETURN_ADDRESS }, { "guess", FRAME_GUESS },
			{ "inlined", FRAME_INLINED }, { "approximate", FRAME_APPROXIMATE },
			{ "virtual", FRAME_MARKS_TRACE }),
		.error = report_error_number(file, 3),
		.line = (uint32_t)report_number(file, 4),
		.address = report_number(file, 5),
		.binary = binary == UINT32_MAX ? NULL : file->binaries[binary],
		.function = *report_text(file, 7) ? strdup(report_text(file, 7)) : NULL,
		.file = *report_text(file, 8) ? strdup(report_text(file, 8)) : NULL,
	};
}

static inline void report_read_symbol(struct report_file *file)
{
	struct report_symbol *symbol;
	uint32_t flags = REPORT_WORDS(file, 7, { "go", REPORT_GO }, { "inlined", SYMBOL_INLINED },
				      { "wrapper", SYMBOL_GENERATED },
				      { "place", SYMBOL_LOCATION });

	if (report_index(file, 1, file->binary_count) == UINT32_MAX)
		report_refuse(file, "a symbol of nothing");
	file->symbols = report_grow(file->symbols, file->symbol_count, sizeof(*symbol));
	symbol = &file->symbols[file->symbol_count++];
	*symbol = (struct report_symbol){
		.binary = report_index(file, 1, file->binary_count),
		.address = report_number(file, 2),
		.traits = REPORT_WORDS(file, 3, { "ordinary", 0 },
				     { "wrapper", FUNCTION_IS_GENERATED },
				     { "in_wrapper", FUNCTION_BEGINS_GENERATED }, { "panic", FUNCTION_SHOWS_GENERATED }),
		.symbol = {
			.function = strdup(report_text(file, 4)),
			.file = *report_text(file, 5) ? strdup(report_text(file, 5)) : NULL,
			.line = (uint32_t)report_number(file, 6),
			.language = flags & REPORT_GO ? FRAME_GO : FRAME_NONE,
			.flags = (uint8_t)(flags & ~REPORT_GO),
		},
	};
}

static inline void report_read_sample(struct report_file *file)
{
	struct sample_event *event;
	uint32_t trace, process = report_index(file, 3, file->process_count);
	uint32_t labels = report_index(file, 4, file->label_set_count);

	report_finish_trace(file);
	file->samples = report_grow(file->samples, file->sample_count, sizeof(*event));
	event = &file->samples[file->sample_count++];
	trace = report_index(file, 2, file->trace_count);
	if (process != UINT32_MAX && !file->processes[process])
		report_make_process(file, process);
	if (trace == UINT32_MAX)
		report_refuse(file, "a sample without a trace");
	*event = (struct sample_event){
		.time_ns = report_number(file, 1),
		.sample = {
			.trace = file->traces[trace],
			.process = process == UINT32_MAX ? NULL : file->processes[process],
			.labels = labels == UINT32_MAX ? NULL : file->labels[labels],
			.pid = (uint32_t)report_number(file, 5),
			.tid = (uint32_t)report_number(file, 6),
			.cpu = (uint32_t)report_number(file, 7),
			.process_comm = strdup(report_text(file, 8)),
			.thread_comm = strdup(report_text(file, 9)),
		},
		.was_known = *report_text(file, 10),
	};
}

static inline void report_read_header(struct report_file *file)
{
	if (report_number(file, 1) != 1)
		report_refuse(file, "another version");
	file->samples_per_second = (uint32_t)report_number(file, 2);
	file->start_realtime_ns = report_number(file, 3);
	file->start_monotonic_ns = report_number(file, 4);
	file->duration_ns = report_number(file, 5);
}

static inline void report_read_line(struct report_file *file, char *line)
{
	static const struct {
		const char *name;
		void (*read)(struct report_file *file);
	} records[] = {
		{ "reports", report_read_header },  { "binary", report_read_binary },
		{ "process", report_read_process }, { "attribute", report_read_attribute },
		{ "labels", report_read_labels },   { "trace", report_begin_trace },
		{ "frame", report_read_frame },	    { "symbol", report_read_symbol },
		{ "sample", report_read_sample },
	};
	char *field;

	file->line++;
	line[strcspn(line, "\n")] = '\0';
	if (!*line || *line == '#')
		return;
	for (file->field_count = 0; (field = strsep(&line, "\t")); file->field_count++) {
		if (file->field_count == REPORT_FIELDS_MAX)
			report_refuse(file, "too many fields");
		report_decode(field);
		file->fields[file->field_count] = field;
	}
	if (file->binary_count == REPORT_ITEMS_MAX || file->process_count == REPORT_ITEMS_MAX ||
	    file->label_set_count == REPORT_ITEMS_MAX || file->trace_count == REPORT_ITEMS_MAX)
		report_refuse(file, "too many records");
	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
		if (!strcmp(records[i].name, file->fields[0])) {
			records[i].read(file);
			return;
		}
	}
	report_refuse(file, "an unknown record");
}

/* The first symbol of the address, *@count of them in a row; NULL: there is none. */
static inline const struct report_symbol *report_find_symbols(const struct report_file *file,
							      const struct binary *binary,
							      uint64_t address, uint32_t *count)
{
	const struct report_symbol *first = NULL;

	*count = 0;
	for (uint32_t i = 0; i < file->symbol_count; i++) {
		const struct report_symbol *symbol = &file->symbols[i];

		if (file->binaries[symbol->binary] != binary || symbol->address != address)
			continue;
		first = first ? first : symbol;
		++*count;
	}
	return first;
}

static inline uint32_t report_resolve(struct symbol_lookup *lookup, struct binary *binary,
				      uint64_t address, struct symbol *symbols, uint32_t capacity)
{
	const struct report_file *file = (const struct report_file *)lookup;
	uint32_t count;
	const struct report_symbol *first = report_find_symbols(file, binary, address, &count);

	for (uint32_t i = 0; first && i < count && i < capacity; i++)
		symbols[i] = first[i].symbol;
	return count < capacity ? count : capacity;
}

static inline uint32_t report_traits(struct symbol_lookup *lookup, struct binary *binary,
				     uint64_t address)
{
	const struct report_file *file = (const struct report_file *)lookup;
	uint32_t count;
	const struct report_symbol *first = report_find_symbols(file, binary, address, &count);

	return first ? first->traits : 0;
}

static const struct symbol_lookup_ops report_lookup_ops = {
	.resolve = report_resolve,
	.traits = report_traits,
};

/** Reads all of @in; @file is zeroed before, and never freed. */
static inline void report_file_read(struct report_file *file, FILE *in)
{
	char *line = NULL;
	size_t capacity = 0;

	file->lookup.ops = &report_lookup_ops;
	while (getline(&line, &capacity, in) > 0)
		report_read_line(file, line);
	free(line);
	report_finish_trace(file);
}

#endif
