/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In this version of the format each thread has tables of its own, so the shared tables (reporter/shared_stacks.h) are
 * numbered again for each thread, with only the entries that it uses.
 */
#include "reporter/firefox.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/json_text.h"
#include "lib/model/origins.h"
#include "reporter/sample_tracks.h"
#include "reporter/shared_stacks.h"

enum {
	FORMAT_VERSION = 48,
	GECKO_VERSION = 27,
	/* The type of a resource that is a library. */
	RESOURCE_LIBRARY = 1,
	/* The number of a process or thread that is not known. */
	NO_ID = 0,
};

/* The entries of a shared table that a thread uses. */
struct used {
	/* Shared indices, in the thread's order. */
	struct number_vector items;
	/* The thread's index of each shared entry; SHARED_NONE if it is not used. */
	uint32_t *numbers;
};

struct firefox_writer {
	FILE *out;
	const struct sample_snapshot *snapshot;
	const struct profile_info *info;
	/* NULL: the values are samples. */
	const struct value_type *type;
	struct shared_stacks stacks;
	struct sample_tracks tracks;
	struct used used_stacks;
	struct used used_frames;
	struct used used_functions;
	struct used used_libraries;
	struct used used_texts;
	struct text_builder text;
	int err;
};

static void write_text(struct firefox_writer *writer)
{
	json_text_write(writer->out, text_builder_text(&writer->text));
	text_builder_clear(&writer->text);
}

/* --- entries that a thread uses --- */

static int used_init(struct used *used, size_t count)
{
	used->numbers = malloc((count + 1) * sizeof(*used->numbers));
	if (!used->numbers)
		return -ENOMEM;
	memset(used->numbers, 0xff, (count + 1) * sizeof(*used->numbers));
	return 0;
}

static void used_deinit(struct used *used)
{
	number_vector_deinit(&used->items);
	free(used->numbers);
}

static void used_clear(struct used *used)
{
	for (size_t i = 0; i < used->items.count; i++)
		used->numbers[used->items.items[i]] = SHARED_NONE;
	used->items.count = 0;
}

/* Adds an entry if it is new; true if it was. */
static bool use(struct firefox_writer *writer, struct used *used, uint32_t item)
{
	if (writer->err || used->numbers[item] != SHARED_NONE)
		return false;
	used->numbers[item] = (uint32_t)used->items.count;
	writer->err = number_vector_push(&used->items, item);
	return true;
}

static int compare_numbers(const void *a, const void *b)
{
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	return (one > other) - (one < other);
}

static void use_function(struct firefox_writer *writer, uint32_t index)
{
	const struct shared_function *function = &writer->stacks.functions.items[index];

	if (!use(writer, &writer->used_functions, index))
		return;
	use(writer, &writer->used_texts, function->name);
	use(writer, &writer->used_texts, function->file);
	if (function->library != SHARED_NONE)
		use(writer, &writer->used_libraries, function->library);
}

/* Callers have smaller indices than what they call, in the shared tables and in the thread's. */
static void use_stacks(struct firefox_writer *writer, const struct sample_track *track)
{
	const struct shared_stacks *stacks = &writer->stacks;
	struct used *used = &writer->used_stacks;

	for (size_t i = 0; i < track->event_count; i++) {
		uint32_t sample = writer->tracks.events.items[track->first_event + i].sample;
		uint32_t stack = stacks->of_samples.items[sample];

		while (stack != SHARED_NONE && use(writer, used, stack))
			stack = stacks->stacks.items[stack].caller;
	}
	if (used->items.count)
		qsort(used->items.items, used->items.count, sizeof(*used->items.items),
		      compare_numbers);
	for (uint32_t i = 0; i < used->items.count; i++) {
		const struct shared_stack *stack = &stacks->stacks.items[used->items.items[i]];

		used->numbers[used->items.items[i]] = i;
		if (use(writer, &writer->used_frames, stack->frame))
			use_function(writer, stacks->frames.items[stack->frame].function);
	}
}

/* --- columns --- */

/* Writes a column with a row for each used entry; @number returns SHARED_NONE for null. */
static void write_column(struct firefox_writer *writer, const char *name, const struct used *used,
			 uint32_t (*number)(const struct firefox_writer *writer, uint32_t item))
{
	fprintf(writer->out, "\"%s\":[", name);
	for (size_t i = 0; i < used->items.count; i++) {
		uint32_t value = number(writer, used->items.items[i]);

		fputs(i ? "," : "", writer->out);
		if (value == SHARED_NONE)
			fputs("null", writer->out);
		else
			fprintf(writer->out, "%" PRIu32, value);
	}
	fputs("],", writer->out);
}

static void write_constant(struct firefox_writer *writer, const char *name, const struct used *used,
			   const char *value)
{
	fprintf(writer->out, "\"%s\":[", name);
	for (size_t i = 0; i < used->items.count; i++)
		fprintf(writer->out, "%s%s", i ? "," : "", value);
	fputs("],", writer->out);
}

static void end_table(struct firefox_writer *writer, const struct used *used)
{
	fprintf(writer->out, "\"length\":%zu}", used->items.count);
}

static const struct shared_function *function_of_frame(const struct firefox_writer *writer,
						       uint32_t frame)
{
	return &writer->stacks.functions.items[writer->stacks.frames.items[frame].function];
}

static uint32_t stack_frame(const struct firefox_writer *writer, uint32_t stack)
{
	return writer->used_frames.numbers[writer->stacks.stacks.items[stack].frame];
}

static uint32_t stack_prefix(const struct firefox_writer *writer, uint32_t stack)
{
	uint32_t caller = writer->stacks.stacks.items[stack].caller;

	return caller == SHARED_NONE ? SHARED_NONE : writer->used_stacks.numbers[caller];
}

static uint32_t stack_category(const struct firefox_writer *writer, uint32_t stack)
{
	return function_of_frame(writer, writer->stacks.stacks.items[stack].frame)->trait.kind;
}

static uint32_t frame_function(const struct firefox_writer *writer, uint32_t frame)
{
	return writer->used_functions.numbers[writer->stacks.frames.items[frame].function];
}

static uint32_t frame_category(const struct firefox_writer *writer, uint32_t frame)
{
	return function_of_frame(writer, frame)->trait.kind;
}

static uint32_t frame_inline_depth(const struct firefox_writer *writer, uint32_t frame)
{
	return function_of_frame(writer, frame)->trait.flags & TEXT_INLINED ? 1 : 0;
}

static uint32_t frame_line(const struct firefox_writer *writer, uint32_t frame)
{
	uint32_t line = writer->stacks.frames.items[frame].line;

	return line ? line : SHARED_NONE;
}

static uint32_t frame_column(const struct firefox_writer *writer, uint32_t frame)
{
	uint32_t column = writer->stacks.frames.items[frame].column;

	return column ? column : SHARED_NONE;
}

static uint32_t function_name(const struct firefox_writer *writer, uint32_t function)
{
	return writer->used_texts.numbers[writer->stacks.functions.items[function].name];
}

static uint32_t function_file(const struct firefox_writer *writer, uint32_t function)
{
	uint32_t file = writer->stacks.functions.items[function].file;

	return file ? writer->used_texts.numbers[file] : SHARED_NONE;
}

static uint32_t library_number(const struct firefox_writer *writer, uint32_t library)
{
	(void)writer;
	return library;
}

static void write_resource_column(struct firefox_writer *writer)
{
	const struct used *used = &writer->used_functions;

	fputs("\"resource\":[", writer->out);
	for (size_t i = 0; i < used->items.count; i++) {
		uint32_t library = writer->stacks.functions.items[used->items.items[i]].library;

		fprintf(writer->out, "%s%" PRId64, i ? "," : "",
			library == SHARED_NONE ? -1 :
						 (int64_t)writer->used_libraries.numbers[library]);
	}
	fputs("],", writer->out);
}

static bool is_javascript(const struct shared_function *function)
{
	return function->trait.kind == TEXT_JAVASCRIPT;
}

static void write_javascript_column(struct firefox_writer *writer, const char *name)
{
	const struct used *used = &writer->used_functions;

	fprintf(writer->out, "\"%s\":[", name);
	for (size_t i = 0; i < used->items.count; i++)
		fprintf(writer->out, "%s%s", i ? "," : "",
			is_javascript(&writer->stacks.functions.items[used->items.items[i]]) ?
				"true" :
				"false");
	fputs("],", writer->out);
}

/* --- tables --- */

static void write_stack_table(struct firefox_writer *writer)
{
	const struct used *used = &writer->used_stacks;

	fputs(",\n\"stackTable\":{", writer->out);
	write_column(writer, "frame", used, stack_frame);
	write_column(writer, "prefix", used, stack_prefix);
	write_column(writer, "category", used, stack_category);
	write_constant(writer, "subcategory", used, "0");
	end_table(writer, used);
}

static void write_frame_table(struct firefox_writer *writer)
{
	const struct used *used = &writer->used_frames;

	fputs(",\n\"frameTable\":{", writer->out);
	write_constant(writer, "address", used, "-1");
	write_column(writer, "inlineDepth", used, frame_inline_depth);
	write_column(writer, "category", used, frame_category);
	write_constant(writer, "subcategory", used, "0");
	write_column(writer, "func", used, frame_function);
	write_constant(writer, "nativeSymbol", used, "null");
	write_constant(writer, "innerWindowID", used, "0");
	write_constant(writer, "implementation", used, "null");
	write_column(writer, "line", used, frame_line);
	write_column(writer, "column", used, frame_column);
	end_table(writer, used);
}

static void write_function_table(struct firefox_writer *writer)
{
	const struct used *used = &writer->used_functions;

	fputs(",\n\"funcTable\":{", writer->out);
	write_column(writer, "name", used, function_name);
	write_javascript_column(writer, "isJS");
	write_javascript_column(writer, "relevantForJS");
	write_resource_column(writer);
	write_column(writer, "fileName", used, function_file);
	write_constant(writer, "lineNumber", used, "null");
	write_constant(writer, "columnNumber", used, "null");
	end_table(writer, used);
}

/* The names of libraries come behind the other texts. */
static void write_resource_table(struct firefox_writer *writer)
{
	const struct used *used = &writer->used_libraries;

	fputs(",\n\"resourceTable\":{", writer->out);
	write_column(writer, "lib", used, library_number);
	fputs("\"name\":[", writer->out);
	for (size_t i = 0; i < used->items.count; i++)
		fprintf(writer->out, "%s%zu", i ? "," : "", writer->used_texts.items.count + i);
	fputs("],", writer->out);
	write_constant(writer, "host", used, "null");
	fprintf(writer->out, "\"type\":[");
	for (size_t i = 0; i < used->items.count; i++)
		fprintf(writer->out, "%s%d", i ? "," : "", RESOURCE_LIBRARY);
	fputs("],", writer->out);
	end_table(writer, used);
}

static void write_texts(struct firefox_writer *writer)
{
	const struct used *used = &writer->used_texts;

	fputs(",\n\"stringArray\":[", writer->out);
	for (size_t i = 0; i < used->items.count; i++) {
		fputs(i ? "," : "", writer->out);
		json_text_write(writer->out, writer->stacks.texts.items[used->items.items[i]]);
	}
	for (size_t i = 0; i < writer->used_libraries.items.count; i++) {
		const struct binary *library =
			writer->stacks.libraries.items[writer->used_libraries.items.items[i]];

		fputs(i || used->items.count ? "," : "", writer->out);
		text_builder_append_name(&writer->text, binary_name(library));
		write_text(writer);
	}
	putc(']', writer->out);
}

/* --- samples --- */

/* How values are weighed: times are ms, all else that is no size are samples. */
static const char *weight_type(const struct value_type *type, double *scale)
{
	static const struct {
		const char *unit;
		double ms;
	} times[] = { { "nanoseconds", 1e-6 },
		      { "microseconds", 1e-3 },
		      { "milliseconds", 1 },
		      { "seconds", 1e3 } };

	*scale = type ? 1 / (double)value_type_scale(type) : 1;
	for (size_t i = 0; type && i < sizeof(times) / sizeof(times[0]); i++) {
		if (strcmp(type->unit, times[i].unit))
			continue;
		*scale *= times[i].ms;
		return "tracing-ms";
	}
	return type && !strcmp(type->unit, "bytes") ? "bytes" : "samples";
}

static double ms_since_start(const struct firefox_writer *writer, uint64_t time_ns)
{
	return ((double)time_ns - (double)writer->info->start_monotonic_ns) / NS_PER_MS;
}

static void write_samples(struct firefox_writer *writer, const struct sample_track *track)
{
	const struct track_event *events = writer->tracks.events.items + track->first_event;
	double scale;
	const char *type = weight_type(writer->type, &scale);

	fputs(",\n\"samples\":{\"stack\":[", writer->out);
	for (size_t i = 0; i < track->event_count; i++) {
		uint32_t stack = writer->stacks.of_samples.items[events[i].sample];

		fputs(i ? "," : "", writer->out);
		if (stack == SHARED_NONE)
			fputs("null", writer->out);
		else
			fprintf(writer->out, "%" PRIu32, writer->used_stacks.numbers[stack]);
	}
	fputs("],\"time\":[", writer->out);
	for (size_t i = 0; i < track->event_count; i++)
		fprintf(writer->out, "%s%.3f", i ? "," : "",
			ms_since_start(writer, events[i].time_ns));
	fputs("],\"weight\":[", writer->out);
	for (size_t i = 0; i < track->event_count; i++)
		fprintf(writer->out, "%s%.15g", i ? "," : "", (double)events[i].value * scale);
	fprintf(writer->out, "],\"weightType\":\"%s\",\"length\":%zu}", type, track->event_count);
}

/* --- threads --- */

static const char *thread_name(const struct sample *sample)
{
	if (*sample->thread_comm)
		return sample->thread_comm;
	return *sample->process_comm ? sample->process_comm : "all";
}

static void write_identity(struct firefox_writer *writer, const struct sample *sample)
{
	bool has_pid = sample->pid != SAMPLE_NO_NUMBER, has_tid = sample->tid != SAMPLE_NO_NUMBER;

	fputs("{\"name\":", writer->out);
	text_builder_append_name(&writer->text, thread_name(sample));
	write_text(writer);
	fputs(",\"processName\":", writer->out);
	text_builder_append_name(&writer->text, sample->process_comm);
	write_text(writer);
	fprintf(writer->out,
		",\"pid\":\"%u\",\"tid\":%u,\"isMainThread\":%s,\"processType\":\"default\","
		"\"processStartupTime\":0,\"processShutdownTime\":null,\"registerTime\":0,"
		"\"unregisterTime\":null,\"pausedRanges\":[],\n\"markers\":{\"data\":[],\"name\":[],"
		"\"startTime\":[],\"endTime\":[],\"phase\":[],\"category\":[],\"length\":0}",
		has_pid ? sample->pid : NO_ID, has_tid ? sample->tid : NO_ID,
		has_pid && has_tid && sample->pid != sample->tid ? "false" : "true");
}

static void write_thread(struct firefox_writer *writer, const struct sample_track *track)
{
	used_clear(&writer->used_stacks);
	used_clear(&writer->used_frames);
	used_clear(&writer->used_functions);
	used_clear(&writer->used_libraries);
	used_clear(&writer->used_texts);
	use_stacks(writer, track);
	if (writer->err)
		return;
	write_identity(writer, track->sample);
	write_samples(writer, track);
	write_stack_table(writer);
	write_frame_table(writer);
	write_function_table(writer);
	write_resource_table(writer);
	fputs(",\n\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],\"functionSize\":[],"
	      "\"length\":0}",
	      writer->out);
	write_texts(writer);
	putc('}', writer->out);
}

/* --- the profile --- */

/* The category of a kind is the kind's number. One must be grey: it is the default. */
static void write_categories(struct firefox_writer *writer)
{
	static const char *const colors[] = { "blue",	  "yellow",    "green",	  "purple",
					      "brown",	  "lightblue", "magenta", "lightred",
					      "darkgrey", "red" };

	fputs("\"categories\":[", writer->out);
	for (int i = 0; i < TEXT_KIND_COUNT; i++) {
		bool is_grey = i == TEXT_PROCESS || i == TEXT_THREAD;
		const char *color = i == TEXT_KERNEL ?
					    "orange" :
					    colors[i % (sizeof(colors) / sizeof(colors[0]))];

		fprintf(writer->out,
			"%s{\"name\":\"%s\",\"color\":\"%s\",\"subcategories\":[\"Other\"]}",
			i ? "," : "", text_kind_name(i), is_grey ? "grey" : color);
	}
	fputs("],", writer->out);
}

static void write_fact(void *context, const char *key, const char *value)
{
	struct firefox_writer *writer = context;

	fputs(",{\"label\":", writer->out);
	json_text_write(writer->out, key);
	fputs(",\"format\":\"string\",\"value\":", writer->out);
	text_builder_append_name(&writer->text, value);
	write_text(writer);
	putc('}', writer->out);
}

/* Comes first: Perfetto knows the format by the text {"meta" at the start of a file. */
static void write_meta(struct firefox_writer *writer)
{
	const struct profile_info *info = writer->info;
	uint32_t rate = info->samples_per_second ? info->samples_per_second : 1;

	fprintf(writer->out,
		"{\"meta\":{\"version\":%d,\"preprocessedProfileVersion\":%d,\"interval\":%.6g,"
		"\"startTime\":%.3f,\"profilingStartTime\":0,\"profilingEndTime\":%.3f,"
		"\"processType\":0,\"stackwalk\":1,\"debug\":false,\"symbolicated\":true,"
		"\"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true,"
		"\"keepProfileThreadOrder\":true,\"importedFrom\":\"Allframes\",\"markerSchema\":[],"
		"\"extensions\":{\"id\":[],\"name\":[],\"baseURL\":[],\"length\":0},"
		"\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"},",
		GECKO_VERSION, FORMAT_VERSION, 1000.0 / rate,
		(double)info->start_time_ns / NS_PER_MS, (double)info->duration_ns / NS_PER_MS);
	write_categories(writer);
	fputs("\"product\":", writer->out);
	profile_info_append_name(info, &writer->text);
	write_text(writer);
	if (info->kernel && *info->kernel) {
		fputs(",\"oscpu\":", writer->out);
		text_builder_append(&writer->text, "Linux ");
		text_builder_append_name(&writer->text, info->kernel);
		write_text(writer);
	}
	/* The first entry has no comma before it. */
	fputs(",\"extra\":[{\"label\":\"Recording\",\"entries\":[{\"label\":\"tool\",\"format\":\"string\","
	      "\"value\":\"allframes\"}",
	      writer->out);
	profile_info_describe(info, writer->snapshot, write_fact, writer);
	fputs("]}]}", writer->out);
}

static void write_library(struct firefox_writer *writer, const struct binary *library)
{
	static const char *const keys[] = { "\"debugName\":", ",\"name\":", ",\"debugPath\":",
					    ",\"path\":" };

	putc('{', writer->out);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		fputs(keys[i], writer->out);
		text_builder_append_name(&writer->text,
					 i < 2 ? binary_name(library) : library->path);
		write_text(writer);
	}
	fputs(",\"arch\":\"\",\"breakpadId\":\"\",\"codeId\":", writer->out);
	for (uint32_t i = 0; i < library->build_id_bytes; i++)
		text_builder_format(&writer->text, "%02x", library->build_id[i]);
	if (library->build_id_bytes)
		write_text(writer);
	else
		fputs("null", writer->out);
	putc('}', writer->out);
}

static void write_profile(struct firefox_writer *writer)
{
	write_meta(writer);
	fputs(",\n\"libs\":[", writer->out);
	for (size_t i = 0; i < writer->stacks.libraries.count; i++) {
		fputs(i ? ",\n" : "", writer->out);
		write_library(writer, writer->stacks.libraries.items[i]);
	}
	fputs("],\n\"pages\":[],\"counters\":[],\"profilerOverhead\":[],\n\"threads\":[",
	      writer->out);
	for (size_t i = 0; i < writer->tracks.tracks.count && !writer->err; i++) {
		fputs(i ? ",\n" : "\n", writer->out);
		write_thread(writer, &writer->tracks.tracks.items[i]);
	}
	fputs("]}\n", writer->out);
}

static int make_tables(struct firefox_writer *writer, struct symbol_lookup *lookup)
{
	const struct profile_facts *facts = writer->info->facts;
	const struct shared_stacks *stacks = &writer->stacks;
	int err = shared_stacks_init(&writer->stacks, writer->snapshot, lookup, false);

	if (!err)
		err = sample_tracks_init(&writer->tracks, writer->snapshot,
					 facts ? (uint8_t)facts->shown_type : ORIGIN_CLOCK, facts,
					 writer->info->start_monotonic_ns);
	if (!err)
		err = used_init(&writer->used_stacks, stacks->stacks.count);
	if (!err)
		err = used_init(&writer->used_frames, stacks->frames.count);
	if (!err)
		err = used_init(&writer->used_functions, stacks->functions.count);
	if (!err)
		err = used_init(&writer->used_libraries, stacks->libraries.count);
	if (!err)
		err = used_init(&writer->used_texts, stacks->texts.count);
	return err;
}

int firefox_write(FILE *out, const struct sample_snapshot *snapshot,
		  const struct profile_info *info, struct symbol_lookup *lookup)
{
	struct firefox_writer writer = {
		.out = out,
		.snapshot = snapshot,
		.info = info,
		.type = info->facts ? &info->facts->types[info->facts->shown_type] : NULL,
	};

	writer.err = make_tables(&writer, lookup);
	if (!writer.err)
		write_profile(&writer);
	if (!writer.err && writer.text.failed)
		writer.err = -ENOMEM;
	shared_stacks_deinit(&writer.stacks);
	sample_tracks_deinit(&writer.tracks);
	used_deinit(&writer.used_stacks);
	used_deinit(&writer.used_frames);
	used_deinit(&writer.used_functions);
	used_deinit(&writer.used_libraries);
	used_deinit(&writer.used_texts);
	text_builder_deinit(&writer.text);
	return writer.err;
}
