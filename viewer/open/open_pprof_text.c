/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sample is a line with numbers, an @ and addresses, innermost first. Go writes the names of its frames in lines behind it:
 *
 *	1: 16 [2: 32] @ 0x4a0001 0x4a0002
 *	#	0x4a0001	main.work+0x21	/src/main.go:12
 *
 * Files without names end with the memory map.
 */
#include "viewer/open/open_pprof_text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/text.h"
#include "viewer/open/json_index.h"
#include "viewer/open/opened_address_map.h"
#include "viewer/open/opened_frame.h"
#include "viewer/open/opened_identity.h"

enum {
	SHOWN_BYTES = 60,
	TITLE_MAX_BYTES = 256,
	VALUES_MAX = 4,
	/* Index of the values of live memory; those of all allocations come first. */
	LIVE_VALUES = 2,
	NUMBER_MAX_DIGITS = 18,
	LABEL_VALUES_MAX = 2 * PROFILE_LABELS_MAX + 1,
};

enum profile_kind {
	KIND_HEAP,
	/* jemalloc: a line with the addresses, then one with the numbers. */
	KIND_JEMALLOC,
	KIND_CONTENTION,
	KIND_THREADS,
	/* Go's: one number, and a type that the first line names. */
	KIND_COUNT,
};

VECTOR_DEFINE(address_vector, uint64_t)

struct text_reader {
	struct opened_samples *opened;
	enum profile_kind kind;
	size_t line_number;
	struct opened_address_map map;
	uint32_t types[VALUES_MAX];
	uint32_t type_count;
	/* The heap's mean number of bytes between two samples; 0 if every allocation is in the profile. */
	double sampled_bytes;
	bool has_allocations;
	/* Of contention. */
	double period;
	double cycles_per_ns;
	/* The sample whose lines are read; valid if has_sample is set. */
	bool has_sample;
	/* Of threads: addresses still has those of the thread before. */
	bool has_old_addresses;
	struct sample sample;
	int64_t values[VALUES_MAX];
	/* Bytes of one object; 0 if unknown. */
	int64_t block_bytes;
	struct address_vector addresses;
	/* Frames of the sample that have names. */
	struct opened_stack stack;
	struct opened_labels labels;
};

/* --- texts --- */

static const char *skip_blanks(const char *text)
{
	return text + strspn(text, " \t");
}

/* Reads a number, perhaps behind blanks, and moves *@text behind it. */
static bool read_number(const char **text, int64_t *number)
{
	const char *start = skip_blanks(*text);
	bool is_negative = *start == '-';
	size_t digits = strspn(start + is_negative, "0123456789");

	if (!digits || digits > NUMBER_MAX_DIGITS)
		return false;
	*number = strtoll(start, NULL, 10);
	*text = start + is_negative + digits;
	return true;
}

/* Moves *@text behind blanks and @wanted. */
static bool read_word(const char **text, const char *wanted)
{
	const char *start = skip_blanks(*text);

	if (!text_starts_with(start, wanted))
		return false;
	*text = start + strlen(wanted);
	return true;
}

static int refuse_line(const struct text_reader *reader, const char *line)
{
	int shown = (int)text_cut_length(line, strlen(line), SHOWN_BYTES);

	return fail(-EBADMSG, "line %zu: no sample of a text profile: %.*s%s", reader->line_number,
		    shown, line, line[shown] ? "..." : "");
}

/* --- the memory map --- */

static bool begins_map(const char *line)
{
	return strstr(line, "MAPPED_LIBRARIES:") || strstr(line, "--- Memory map: ---");
}

/* --- stacks --- */

static int push_address(struct text_reader *reader, uint64_t address)
{
	const struct opened_name name = { .marks = OPENED_NAMELESS, .address = address };
	const struct frame frame = opened_frame_make(opened_address_map_find(&reader->map, address),
						     FRAME_NATIVE, "", &name, "", 0, 0);

	return opened_stack_push(&reader->stack, &frame);
}

/* Addresses behind a call: the call is one byte before. The innermost one of a thread is where the thread is. */
static int push_addresses(struct text_reader *reader)
{
	int err = 0;

	for (size_t i = 0; i < reader->addresses.count && !err; i++) {
		uint64_t address = reader->addresses.items[i];
		bool is_exact = !i && reader->kind == KIND_THREADS;

		err = push_address(reader, address - (address && !is_exact));
	}
	return err;
}

/* Reads all hexadecimal numbers of the text. */
static int read_addresses(struct text_reader *reader, const char *text)
{
	int err = 0;

	for (const char *at = skip_blanks(text); *at && !err; at = skip_blanks(at)) {
		char *end;
		uint64_t address = strtoull(at, &end, 16);

		if (end == at || (*end && !isblank((unsigned char)*end)))
			return refuse_line(reader, text);
		at = end;
		if (reader->addresses.count < OPENED_FRAMES_MAX)
			err = address_vector_push(&reader->addresses, address);
	}
	return err;
}

/* "#	0x4a0001	main.work+0x21		/src/main.go:12" */
static int read_name(struct text_reader *reader, char *line)
{
	struct opened_name name = { 0 };
	const char *file = "";
	uint32_t line_of_file = 0;
	char *function, *at, *end, *colon;
	struct frame frame;
	uint64_t address = strtoull(line, &end, 16);

	function = end + strspn(end, " \t");
	at = strchr(function, '\t');
	if (at) {
		*at = '\0';
		file = skip_blanks(at + 1);
	}
	colon = strrchr(file, ':');
	if (colon) {
		line_of_file = (uint32_t)strtoul(colon + 1, NULL, 10);
		*colon = '\0';
	}
	if (!*function)
		return push_address(reader, address);
	at = strrchr(function, '+');
	if (at && at > function && text_starts_with(at, "+0x"))
		*at = '\0';
	frame = opened_frame_make(&reader->map.nowhere, FRAME_NATIVE, function, &name, file,
				  line_of_file, 0);
	frame.address = address;
	return opened_stack_push(&reader->stack, &frame);
}

/* "{"key":"value", "other":"value"}"; other texts are skipped. */
static void read_labels(struct text_reader *reader, char *text)
{
	struct json_index index;

	if (!json_index_init(&index, text, strlen(text), LABEL_VALUES_MAX) &&
	    json_is_object(&index, 0)) {
		for (uint32_t key = json_first(&index, 0); key != JSON_NONE;) {
			uint32_t value = json_next(&index, 0, key);
			const char *name = json_string_at(&index, key);
			const char *label = json_string_at(&index, value);

			if (name && label)
				opened_labels_add(&reader->labels, name, label);
			key = value == JSON_NONE ? JSON_NONE : json_next(&index, 0, value);
		}
	}
	json_index_deinit(&index);
}

/* A line that begins with #: a frame or labels of the sample, or a comment. */
static int read_details(struct text_reader *reader, char *line)
{
	char *at = line + 1 + strspn(line + 1, " \t");

	if (reader->has_sample && text_starts_with(at, "0x"))
		return read_name(reader, at);
	if (reader->has_sample && text_starts_with(at, "labels: "))
		read_labels(reader, at + strlen("labels: "));
	return 0;
}

/* --- samples --- */

static int finish_sample(struct text_reader *reader)
{
	int err = 0;

	if (!reader->has_sample)
		return 0;
	reader->has_sample = false;
	if (!reader->stack.frames.count)
		err = push_addresses(reader);
	if (err)
		return err;
	if (reader->block_bytes)
		opened_labels_add_number(&reader->labels, "bytes", reader->block_bytes, "");
	reader->sample.labels = opened_labels_finish(&reader->labels);
	reader->sample.trace = opened_stack_finish(&reader->stack);
	if (!reader->sample.trace)
		return -ENOMEM;
	for (uint32_t i = 0; i < reader->type_count && !err; i++)
		err = opened_samples_put(reader->opened, &reader->sample, reader->types[i],
					 reader->opened->start_ns, reader->values[i]);
	trace_unref(reader->sample.trace);
	return err;
}

static int begin_sample(struct text_reader *reader)
{
	int err = finish_sample(reader);

	reader->has_sample = true;
	reader->sample = opened_sample_unknown();
	if (reader->kind == KIND_THREADS)
		reader->has_old_addresses = true;
	else
		reader->addresses.count = 0;
	reader->block_bytes = 0;
	memset(reader->values, 0, sizeof(reader->values));
	opened_labels_clear(&reader->labels);
	return err;
}

/* @number, cut to what a value can hold. */
static int64_t whole(double number)
{
	if (!(number > -0x1p62 && number < 0x1p62))
		return number > 0 ? INT64_MAX / 2 : -(INT64_MAX / 2);
	return (int64_t)number;
}

/* "objects: bytes"; from a sample of the allocations the number of all is estimated. */
static bool read_memory(struct text_reader *reader, const char **text, uint32_t first_value)
{
	int64_t objects, bytes;
	double scale;

	if (!read_number(text, &objects) || !read_word(text, ":") || !read_number(text, &bytes))
		return false;
	if (objects && first_value < reader->type_count) {
		reader->block_bytes = bytes / objects;
		scale = reader->sampled_bytes > 1 && bytes ?
				1 / (1 - exp(-(double)bytes / (double)objects /
					     reader->sampled_bytes)) :
				1;
		reader->values[first_value] = whole((double)objects * scale);
		reader->values[first_value + 1] = whole((double)bytes * scale);
	}
	return true;
}

/* "1: 16 [2: 32]": live memory and all allocations. Without these the live memory comes first. */
static bool read_heap_numbers(struct text_reader *reader, const char **text)
{
	uint32_t live = reader->has_allocations ? LIVE_VALUES : 0;
	const char *behind;
	int64_t live_block;

	if (!read_memory(reader, text, live))
		return false;
	behind = *text;
	live_block = reader->block_bytes;
	if (!read_word(&behind, "["))
		return true;
	if (!read_memory(reader, &behind, reader->has_allocations ? 0 : VALUES_MAX) ||
	    !read_word(&behind, "]"))
		return false;
	if (live_block)
		reader->block_bytes = live_block;
	*text = behind;
	return true;
}

/* "19490304       27": the delay in cycles, and how often. */
static bool read_contention_numbers(struct text_reader *reader, const char **text)
{
	int64_t delay, count;

	if (!read_number(text, &delay) || !read_number(text, &count))
		return false;
	reader->values[0] = whole((double)count * reader->period);
	reader->values[1] = reader->cycles_per_ns > 0 ?
				    whole((double)delay * reader->period / reader->cycles_per_ns) :
				    delay;
	return true;
}

static bool read_numbers(struct text_reader *reader, const char **text)
{
	switch (reader->kind) {
	case KIND_HEAP:
		return read_heap_numbers(reader, text);
	case KIND_CONTENTION:
		return read_contention_numbers(reader, text);
	default:
		return read_number(text, &reader->values[0]);
	}
}

/* "cycles/second = 3201000000" */
static bool read_setting(struct text_reader *reader, const char *line)
{
	const char *equals = strchr(line, '=');
	double number = equals ? strtod(equals + 1, NULL) : 0;

	if (!equals)
		return false;
	if (text_starts_with(line, "cycles/second"))
		reader->cycles_per_ns = number / NS_PER_SECOND;
	else if (text_starts_with(line, "sampling period") && number >= 1)
		reader->period = number;
	else if (text_starts_with(line, "ms since reset") && number > 0 && number < 0x1p40)
		reader->opened->facts.duration_ns = (uint64_t)number * NS_PER_MS;
	return true;
}

static int read_sample(struct text_reader *reader, const char *line)
{
	const char *at = line;
	int err;

	if (reader->kind == KIND_CONTENTION && !strchr(line, '@') && read_setting(reader, line))
		return 0;
	err = begin_sample(reader);
	if (err)
		return err;
	if (!read_numbers(reader, &at) || !read_word(&at, "@"))
		return refuse_line(reader, line);
	return read_addresses(reader, at);
}

/* "@ 0x1 0x2", and then lines "  t*: 1: 16 [0: 0]" for all threads and "  t7: ..." for each. */
static int read_jemalloc_line(struct text_reader *reader, const char *line)
{
	const char *at = line;
	int err;

	if (read_word(&at, "@")) {
		err = begin_sample(reader);
		return err ? err : read_addresses(reader, at);
	}
	at = skip_blanks(line);
	if (*at != 't')
		return refuse_line(reader, line);
	/* Before the first stack are the sums. */
	if (!reader->has_sample || !read_word(&at, "t*:"))
		return 0;
	return read_heap_numbers(reader, &at) ? 0 : refuse_line(reader, line);
}

/* "--- Thread 7eff063d9940 (name: main/25376) stack: ---" */
static int begin_thread(struct text_reader *reader, char *line)
{
	char *name = strstr(line, "(name: "), *slash, *end;
	uint64_t tid;
	int err = begin_sample(reader);

	reader->values[0] = 1;
	slash = name ? strrchr(name, '/') : NULL;
	if (!slash)
		return err;
	*slash = '\0';
	reader->sample.thread_comm = name + strlen("(name: ");
	tid = strtoull(slash + 1, &end, 10);
	if (*end == ')' && tid < UINT32_MAX)
		reader->sample.tid = (uint32_t)tid;
	return err;
}

static int read_thread_line(struct text_reader *reader, char *line)
{
	const char *at = line;

	if (text_starts_with(line, "--- Thread "))
		return begin_thread(reader, line);
	/* The addresses of the thread before stay. */
	if (!reader->has_sample || *line == '-' || strstr(line, "[same as previous thread]"))
		return 0;
	if (reader->has_old_addresses)
		reader->addresses.count = 0;
	reader->has_old_addresses = false;
	read_word(&at, "PC:");
	return read_addresses(reader, at);
}

/* --- lines --- */

/* Calls @take for each line that is not blank, without its end; with @in_map for those of the memory map, else for the others. */
static int each_line(struct text_reader *reader, char *text, size_t count, bool in_map,
		     int (*take)(struct text_reader *reader, char *line))
{
	char *end = text + count, *line_end;
	bool is_map = false;
	int err = 0;

	reader->line_number = 0;
	for (char *line = text; line < end && !err; line = line_end + 1) {
		char *stop, cut;

		line_end = memchr(line, '\n', (size_t)(end - line));
		if (!line_end)
			line_end = end;
		reader->line_number++;
		for (stop = line_end; stop > line && strchr(" \t\r", stop[-1]) && stop[-1]; stop--)
			;
		cut = *stop;
		*stop = '\0';
		is_map |= begins_map(line);
		if (is_map == in_map && *line)
			err = take(reader, line);
		/* Samples borrow the texts of their lines, and come last. */
		if (in_map)
			*stop = cut;
	}
	return err;
}

static int take_mapping(struct text_reader *reader, char *line)
{
	return opened_address_map_add(&reader->map, line, reader->opened);
}

static int take_line(struct text_reader *reader, char *line)
{
	/* The first line is the title. */
	if (reader->line_number == 1 && reader->kind != KIND_THREADS)
		return 0;
	if (*line == '#')
		return read_details(reader, line);
	if (reader->kind == KIND_THREADS)
		return read_thread_line(reader, line);
	return reader->kind == KIND_JEMALLOC ? read_jemalloc_line(reader, line) :
					       read_sample(reader, line);
}

/* --- titles --- */

static int add_type(struct text_reader *reader, const char *type, const char *unit)
{
	return profile_facts_add_type(&reader->opened->facts, type, unit,
				      &reader->types[reader->type_count++]);
}

/* Reads "heap profile: 1: 2 [3: 4] @ heap_v2/524288" and the like. */
static void read_heap_title(struct text_reader *reader, const char *line)
{
	const char *at = strchr(line, ':') + 1, *slash = strrchr(line, '/');
	int64_t live_objects = 0, live_bytes = 0, objects = 0, bytes = 0;
	double rate = slash ? strtod(slash + 1, NULL) : 0;

	if (read_number(&at, &live_objects) && read_word(&at, ":") &&
	    read_number(&at, &live_bytes) && read_word(&at, "[") && read_number(&at, &objects) &&
	    read_word(&at, ":"))
		read_number(&at, &bytes);
	reader->has_allocations = (objects && objects != live_objects) ||
				  (bytes && bytes != live_bytes);
	if (!(rate >= 1 && rate < 0x1p53))
		return;
	if (strstr(line, "_v2/"))
		reader->sampled_bytes = rate;
	else if (strstr(line, "@ heap/"))
		/* Go writes twice its rate, as the first profilers of C++ did. */
		reader->sampled_bytes = rate / 2;
}

static int set_heap(struct text_reader *reader, bool is_named)
{
	bool all = reader->has_allocations;
	int err = 0;

	if (all) {
		err = add_type(reader, "alloc_objects", "count");
		if (!err)
			err = add_type(reader, "alloc_space", "bytes");
	}
	if (!err)
		err = add_type(reader, all || is_named ? "inuse_objects" : "objects", "count");
	if (!err)
		err = add_type(reader, all || is_named ? "inuse_space" : "space", "bytes");
	return err ? err :
		     profile_facts_set_period(
			     &reader->opened->facts, "space", "bytes",
			     reader->sampled_bytes > 1 ? (int64_t)reader->sampled_bytes : 1);
}

static int set_contention(struct text_reader *reader)
{
	int err = add_type(reader, "contentions", "count");

	return err ? err : add_type(reader, "delay", "nanoseconds");
}

static int set_count(struct text_reader *reader, const char *type)
{
	int err = add_type(reader, type, "count");

	return err ? err : profile_facts_set_period(&reader->opened->facts, type, "count", 1);
}

/* The length of the word before " profile: total N", as in "goroutine profile: total 12"; 0 for other lines. */
static size_t count_word(const char *line)
{
	size_t length = strcspn(line, " \t\r\n");
	const char *at = line + length;
	int64_t total;

	return length && read_word(&at, "profile: total ") && read_number(&at, &total) ? length : 0;
}

static bool find_kind(const char *line, enum profile_kind *kind)
{
	static const struct {
		const char *start;
		enum profile_kind kind;
	} starts[] = {
		{ "heap profile: ", KIND_HEAP },       { "heap_v2/", KIND_JEMALLOC },
		{ "--- contention", KIND_CONTENTION }, { "--- mutex", KIND_CONTENTION },
		{ "--- threadz", KIND_THREADS },       { "--- Thread ", KIND_THREADS },
	};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (text_starts_with(line, starts[i].start)) {
			*kind = starts[i].kind;
			return true;
		}
	*kind = KIND_COUNT;
	return count_word(line);
}

/* Reads the first line: the kind of the profile, and what its samples count. */
static int read_title(struct text_reader *reader, const char *text)
{
	char line[TITLE_MAX_BYTES], word[SHOWN_BYTES];
	size_t length = strcspn(text, "\r\n");

	length = length < sizeof(line) ? length : sizeof(line) - 1;
	memcpy(line, text, length);
	line[length] = '\0';
	if (!find_kind(line, &reader->kind))
		return refuse_line(reader, line);
	reader->period = 1;
	switch (reader->kind) {
	case KIND_HEAP:
		read_heap_title(reader, line);
		return set_heap(reader, false);
	case KIND_JEMALLOC:
		reader->sampled_bytes = strtod(line + strlen("heap_v2/"), NULL);
		return set_heap(reader, true);
	case KIND_CONTENTION:
		return set_contention(reader);
	case KIND_THREADS:
		return set_count(reader, "thread");
	case KIND_COUNT:
		break;
	}
	length = text_cut_length(line, count_word(line), sizeof(word) - 1);
	memcpy(word, line, length);
	word[length] = '\0';
	return set_count(reader, word);
}

bool is_pprof_text(const char *text, size_t count)
{
	enum profile_kind kind;

	return count && find_kind(text, &kind);
}

static int read_all(struct text_reader *reader, char *text, size_t count)
{
	int err = opened_mapping_init_nowhere(&reader->map.nowhere, reader->opened);

	if (!err)
		err = read_title(reader, text);
	if (!err)
		err = each_line(reader, text, count, true, take_mapping);
	if (err)
		return err;
	opened_address_map_sort(&reader->map);
	err = each_line(reader, text, count, false, take_line);
	return err ? err : finish_sample(reader);
}

int open_pprof_text(char *text, size_t count, struct opened_samples *opened)
{
	struct text_reader reader = { .opened = opened };
	int err;

	opened_samples_init(opened);
	err = read_all(&reader, text, count);
	if (!err && reader.kind == KIND_CONTENTION)
		err = profile_facts_set_period(&opened->facts, "contentions", "count",
					       whole(reader.period));
	if (!err)
		opened_samples_choose_type(opened, NULL);
	opened_address_map_deinit(&reader.map);
	address_vector_deinit(&reader.addresses);
	opened_stack_deinit(&reader.stack);
	opened_labels_deinit(&reader.labels);
	return err;
}
