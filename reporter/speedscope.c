/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/speedscope.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/json_text.h"
#include "lib/model/origins.h"
#include "reporter/sample_tracks.h"
#include "reporter/shared_stacks.h"

struct speedscope_writer {
	FILE *out;
	const struct sample_snapshot *snapshot;
	const struct profile_info *info;
	/* NULL: the values are samples. */
	const struct value_type *type;
	struct shared_stacks stacks;
	struct sample_tracks tracks;
	/* The tracks by their totals. */
	struct number_vector order;
	/* Frames of one stack. */
	struct number_vector path;
	struct text_builder text;
};

static void write_text(struct speedscope_writer *writer)
{
	json_text_write(writer->out, text_builder_text(&writer->text));
	text_builder_clear(&writer->text);
}

/* speedscope knows these units. */
static const char *unit_of(const struct value_type *type)
{
	static const char *const units[] = { "bytes", "nanoseconds", "microseconds", "milliseconds",
					     "seconds" };

	for (size_t i = 0; type && i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(type->unit, units[i]))
			return units[i];
	return "none";
}

/* The source file, or else the binary. */
static void append_file(struct speedscope_writer *writer, const struct shared_function *function)
{
	const struct shared_stacks *stacks = &writer->stacks;

	if (function->file || function->library == SHARED_NONE)
		text_builder_append(&writer->text, stacks->texts.items[function->file]);
	else
		text_builder_append_name(&writer->text,
					 stacks->libraries.items[function->library]->path);
}

static void write_frames(struct speedscope_writer *writer)
{
	const struct shared_stacks *stacks = &writer->stacks;

	fputs("\"shared\":{\"frames\":[", writer->out);
	for (size_t i = 0; i < stacks->functions.count; i++) {
		const struct shared_function *function = &stacks->functions.items[i];

		fputs(i ? ",\n{\"name\":" : "\n{\"name\":", writer->out);
		json_text_write(writer->out, stacks->texts.items[function->name]);
		fputs(",\"file\":", writer->out);
		append_file(writer, function);
		write_text(writer);
		putc('}', writer->out);
	}
	fputs("]}", writer->out);
}

static int write_stack(struct speedscope_writer *writer, uint32_t stack)
{
	const struct shared_stacks *stacks = &writer->stacks;
	int err = 0;

	writer->path.count = 0;
	for (; stack != SHARED_NONE && !err; stack = stacks->stacks.items[stack].caller)
		err = number_vector_push(
			&writer->path,
			stacks->frames.items[stacks->stacks.items[stack].frame].function);
	putc('[', writer->out);
	for (size_t i = writer->path.count; i-- > 0;)
		fprintf(writer->out, i ? "%" PRIu32 "," : "%" PRIu32, writer->path.items[i]);
	putc(']', writer->out);
	return err;
}

static uint32_t stack_of(const struct speedscope_writer *writer, const struct track_event *event)
{
	return writer->stacks.of_samples.items[event->sample];
}

static void append_value(struct speedscope_writer *writer, int64_t value)
{
	static const struct value_type samples = { 0 };

	value_type_append_value(&writer->text, writer->type ? writer->type : &samples, value);
}

static void write_value(struct speedscope_writer *writer, int64_t value)
{
	append_value(writer, value);
	fputs(text_builder_text(&writer->text), writer->out);
	text_builder_clear(&writer->text);
}

/* The index behind the events of equal stacks that follow each other, and the sum of their values. */
static size_t end_of_run(const struct speedscope_writer *writer, size_t first, size_t end,
			 int64_t *value)
{
	const struct track_event *events = writer->tracks.events.items;
	size_t i = first;

	*value = 0;
	while (i < end && stack_of(writer, &events[i]) == stack_of(writer, &events[first]))
		*value = (int64_t)((uint64_t)*value + (uint64_t)events[i++].value);
	return i;
}

/* "nginx 1234, worker 1235" */
static void append_track_name(struct text_builder *text, const struct sample *sample)
{
	text_builder_append_name(text, *sample->process_comm ? sample->process_comm : "all");
	if (sample->pid != SAMPLE_NO_NUMBER)
		text_builder_format(text, " %u", sample->pid);
	if (!sample_has_thread(sample))
		return;
	text_builder_append(text, ", ");
	text_builder_append_name(text, sample->thread_comm);
	if (sample->tid != SAMPLE_NO_NUMBER)
		text_builder_format(text, " %u", sample->tid);
}

static int write_track(struct speedscope_writer *writer, const struct sample_track *track)
{
	size_t end = track->first_event + track->event_count, next;
	int64_t value;
	int err = 0;

	fputs("{\"type\":\"sampled\",\"name\":", writer->out);
	append_track_name(&writer->text, track->sample);
	write_text(writer);
	fprintf(writer->out,
		",\"unit\":\"%s\",\"startValue\":0,\"endValue\":", unit_of(writer->type));
	write_value(writer, track->total);
	fputs(",\n\"samples\":[", writer->out);
	for (size_t i = track->first_event; i < end && !err; i = next) {
		next = end_of_run(writer, i, end, &value);
		err = write_stack(writer, stack_of(writer, &writer->tracks.events.items[i]));
		if (next < end)
			putc(',', writer->out);
	}
	fputs("],\n\"weights\":[", writer->out);
	for (size_t i = track->first_event; i < end && !err; i = next) {
		next = end_of_run(writer, i, end, &value);
		write_value(writer, value);
		if (next < end)
			putc(',', writer->out);
	}
	fputs("]}", writer->out);
	return err;
}

static int compare_totals(const void *a, const void *b, void *context)
{
	const struct sample_track *tracks = context;
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	if (tracks[one].total != tracks[other].total)
		return tracks[one].total < tracks[other].total ? 1 : -1;
	return (one > other) - (one < other);
}

static int order_tracks(struct speedscope_writer *writer)
{
	int err = 0;

	for (uint32_t i = 0; i < writer->tracks.tracks.count && !err; i++)
		err = number_vector_push(&writer->order, i);
	if (!err && writer->order.count)
		qsort_r(writer->order.items, writer->order.count, sizeof(*writer->order.items),
			compare_totals, writer->tracks.tracks.items);
	return err;
}

/* The schema has one text for all that is known of a profile's origin. */
static void append_fact(void *context, const char *key, const char *value)
{
	struct text_builder *text = context;

	if (text->length)
		text_builder_append(text, "; ");
	text_builder_append(text, key);
	text_builder_append(text, ": ");
	text_builder_append_name(text, value);
}

static int write_profile(struct speedscope_writer *writer)
{
	int err = 0;

	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n\"exporter\":",
	      writer->out);
	text_builder_append(&writer->text, "allframes");
	if (writer->info->version && *writer->info->version)
		text_builder_format(&writer->text, " %s", writer->info->version);
	write_text(writer);
	fputs(",\n\"name\":", writer->out);
	profile_info_describe_all(writer->info, writer->snapshot, append_fact, &writer->text);
	if (!writer->text.length)
		profile_info_append_name(writer->info, &writer->text);
	write_text(writer);
	fputs(",\n\"activeProfileIndex\":0,\n", writer->out);
	write_frames(writer);
	fputs(",\n\"profiles\":[", writer->out);
	for (size_t i = 0; i < writer->order.count && !err; i++) {
		fputs(i ? ",\n" : "\n", writer->out);
		err = write_track(writer, &writer->tracks.tracks.items[writer->order.items[i]]);
	}
	fputs("]}\n", writer->out);
	return err;
}

int speedscope_write(FILE *out, const struct sample_snapshot *snapshot,
		     const struct profile_info *info, struct symbol_lookup *lookup)
{
	struct speedscope_writer writer = {
		.out = out,
		.snapshot = snapshot,
		.info = info,
		.type = info->facts ? &info->facts->types[info->facts->shown_type] : NULL,
	};
	uint8_t origin = info->facts ? (uint8_t)info->facts->shown_type : ORIGIN_CLOCK;
	int err = shared_stacks_init(&writer.stacks, snapshot, lookup, true);

	if (!err)
		err = sample_tracks_init(&writer.tracks, snapshot, origin, info->facts,
					 info->start_monotonic_ns);
	if (!err)
		err = order_tracks(&writer);
	if (!err)
		err = write_profile(&writer);
	if (!err && writer.text.failed)
		err = -ENOMEM;
	shared_stacks_deinit(&writer.stacks);
	sample_tracks_deinit(&writer.tracks);
	number_vector_deinit(&writer.order);
	number_vector_deinit(&writer.path);
	text_builder_deinit(&writer.text);
	return err;
}
