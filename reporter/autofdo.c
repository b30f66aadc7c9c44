/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A body is a function's own code, or that of a call that is inlined into another body. Bodies are a tree, and each has the
 * counts of its lines.
 */
#include "reporter/autofdo.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash_map.h"
#include "lib/base/vector.h"
#include "lib/model/origins.h"
#include "reporter/stack_text.h"

enum {
	/* Compilers keep so many bits of a distance of lines. */
	OFFSET_MASK = 0xffff,
};

#define NO_BODY UINT32_MAX

VECTOR_DEFINE(name_vector, char *)

struct body {
	/* NO_BODY for a function. */
	uint32_t outer;
	/* The line of the call in the outer body. */
	uint32_t call_offset;
	uint32_t name;
	/* With the samples of all inlined calls. */
	uint64_t total;
};

struct line_count {
	uint32_t body;
	uint32_t offset;
	uint64_t count;
};

VECTOR_DEFINE(body_vector, struct body)
VECTOR_DEFINE(line_count_vector, struct line_count)

struct autofdo_writer {
	FILE *out;
	struct name_vector names;
	struct body_vector bodies;
	struct line_count_vector lines;
	struct hash_map name_ids;
	struct hash_map body_ids;
	struct hash_map line_ids;
	/* Indices of bodies, those of one outer body together, and where each body's inner ones begin. */
	uint32_t *order;
	uint32_t *firsts;
	/* Where each body's lines begin, once these are sorted. */
	uint32_t *first_lines;
};

/* --- bodies --- */

static uint32_t offset_of(uint32_t line, uint32_t start_line)
{
	return (line - start_line) & OFFSET_MASK;
}

static const char *name_of(const struct named_frame *frame)
{
	return frame->linkage_name ? frame->linkage_name : frame->function;
}

/* True if the format has room for the name, and the function's lines can be counted. */
static bool is_known(const struct named_frame *frame)
{
	const char *name = name_of(frame);

	return name && *name && !strpbrk(name, ": \t\r\n") && frame->line && frame->start_line &&
	       !frame->is_location;
}

static int find_name(struct autofdo_writer *writer, const char *name, uint32_t *id)
{
	uint64_t found = writer->names.count;
	size_t length = strlen(name);
	char *copy;
	int err = 0;

	if (!hash_map_find_bytes(&writer->name_ids, name, length, &found)) {
		copy = strdup(name);
		err = copy ? name_vector_push(&writer->names, copy) : -ENOMEM;
		if (err)
			free(copy);
		else
			err = hash_map_set_bytes(&writer->name_ids, name, length, found);
	}
	*id = (uint32_t)found;
	return err;
}

/* Moves *@body to the body of @name that is called at @call_offset of it, which is added if it is new. */
static int enter_body(struct autofdo_writer *writer, const char *name, uint32_t call_offset,
		      uint32_t *body)
{
	struct body entered = { .outer = *body, .call_offset = call_offset };
	uint64_t found = writer->bodies.count;
	int err = find_name(writer, name, &entered.name);
	const uint32_t key[] = { entered.outer, entered.call_offset, entered.name };

	if (!err && !hash_map_find_bytes(&writer->body_ids, key, sizeof(key), &found)) {
		err = body_vector_push(&writer->bodies, entered);
		if (!err)
			err = hash_map_set_bytes(&writer->body_ids, key, sizeof(key), found);
	}
	*body = (uint32_t)found;
	return err;
}

static int count_line(struct autofdo_writer *writer, uint32_t body, uint32_t offset, uint64_t count)
{
	const uint32_t key[] = { body, offset };
	uint64_t found = writer->lines.count;
	int err = 0;

	if (!hash_map_find_bytes(&writer->line_ids, key, sizeof(key), &found)) {
		err = line_count_vector_push(&writer->lines,
					     (struct line_count){ body, offset, 0 });
		if (!err)
			err = hash_map_set_bytes(&writer->line_ids, key, sizeof(key), found);
	}
	if (!err)
		writer->lines.items[found].count += count;
	return err;
}

static int add_sample(struct autofdo_writer *writer, const struct stored_sample *sample,
		      struct symbol_lookup *lookup)
{
	struct named_frame names[FRAME_MAX_NAMES];
	struct frame frame;
	uint32_t body = NO_BODY, call_offset = 0, count;
	int err = 0;

	if (sample->sample.origin != ORIGIN_CLOCK || !sample->sample.trace->frame_count)
		return 0;
	frame = trace_frame(sample->sample.trace, 0);
	if (frame.kind != FRAME_NATIVE)
		return 0;
	count = name_frame(&frame, lookup, names);
	for (uint32_t i = 0; i < count; i++)
		if (!is_known(&names[i]))
			return 0;
	/* The function comes last, and what is inlined into it before. */
	for (uint32_t i = count; i-- > 0 && !err;) {
		err = enter_body(writer, name_of(&names[i]), call_offset, &body);
		if (err)
			return err;
		writer->bodies.items[body].total += sample->count;
		call_offset = offset_of(names[i].line, names[i].start_line);
	}
	return count ? count_line(writer, body, call_offset, sample->count) : 0;
}

/* --- writing --- */

/* By outer body; functions by their samples, inlined calls by their positions. */
static int compare_bodies(const void *a, const void *b, void *context)
{
	const struct autofdo_writer *writer = context;
	const struct body *one = &writer->bodies.items[*(const uint32_t *)a];
	const struct body *other = &writer->bodies.items[*(const uint32_t *)b];

	if (one->outer != other->outer)
		return one->outer < other->outer ? -1 : 1;
	if (one->outer == NO_BODY && one->total != other->total)
		return one->total < other->total ? 1 : -1;
	if (one->call_offset != other->call_offset)
		return one->call_offset < other->call_offset ? -1 : 1;
	return strcmp(writer->names.items[one->name], writer->names.items[other->name]);
}

static int compare_lines(const void *a, const void *b)
{
	const struct line_count *one = a, *other = b;

	if (one->body != other->body)
		return one->body < other->body ? -1 : 1;
	return (one->offset > other->offset) - (one->offset < other->offset);
}

/* Sorts bodies and lines, and finds where those of each body begin. */
static int sort_all(struct autofdo_writer *writer)
{
	size_t bodies = writer->bodies.count, lines = writer->lines.count;

	writer->order = calloc(bodies + 1, sizeof(*writer->order));
	writer->firsts = calloc(bodies + 1, sizeof(*writer->firsts));
	writer->first_lines = calloc(bodies + 1, sizeof(*writer->first_lines));
	if (!writer->order || !writer->firsts || !writer->first_lines)
		return -ENOMEM;
	for (uint32_t i = 0; i < bodies; i++)
		writer->order[i] = i;
	if (bodies)
		qsort_r(writer->order, bodies, sizeof(*writer->order), compare_bodies, writer);
	if (lines)
		qsort(writer->lines.items, lines, sizeof(*writer->lines.items), compare_lines);
	/* Backwards, so that the first one stays. */
	for (uint32_t i = (uint32_t)bodies; i-- > 0;) {
		uint32_t outer = writer->bodies.items[writer->order[i]].outer;

		if (outer != NO_BODY)
			writer->firsts[outer] = i;
	}
	for (uint32_t i = (uint32_t)lines; i-- > 0;)
		writer->first_lines[writer->lines.items[i].body] = i;
	return 0;
}

static void write_body(const struct autofdo_writer *writer, uint32_t body, int depth)
{
	const struct line_count *lines = writer->lines.items;
	const struct body *bodies = writer->bodies.items;

	for (uint32_t i = writer->first_lines[body];
	     i < writer->lines.count && lines[i].body == body; i++)
		fprintf(writer->out, "%*s%" PRIu32 ": %" PRIu64 "\n", depth, "", lines[i].offset,
			lines[i].count);
	/* A body without inlined calls has 0 here, where others are. */
	for (uint32_t i = writer->firsts[body];
	     i < writer->bodies.count && bodies[writer->order[i]].outer == body; i++) {
		const struct body *inlined = &bodies[writer->order[i]];

		fprintf(writer->out, "%*s%" PRIu32 ": %s:%" PRIu64 "\n", depth, "",
			inlined->call_offset, writer->names.items[inlined->name], inlined->total);
		/* No deeper than the names of a frame. */
		write_body(writer, writer->order[i], depth + 1);
	}
}

/*
 * How often the body is entered, in the unit of its counts, as LLVM estimates it where nobody has counted: the samples at its
 * first line, or in the call that is inlined there.
 */
static uint64_t entries_of(const struct autofdo_writer *writer, uint32_t body)
{
	const struct line_count *lines = writer->lines.items + writer->first_lines[body];
	bool has_lines = writer->lines.count && lines->body == body;

	for (;;) {
		uint32_t first = writer->firsts[body];
		const struct body *inlined = &writer->bodies.items[writer->order[first]];

		if (inlined->outer != body || (has_lines && lines->offset <= inlined->call_offset))
			return has_lines ? lines->count : 0;
		body = writer->order[first];
		lines = writer->lines.items + writer->first_lines[body];
		has_lines = lines->body == body;
	}
}

static void write_functions(const struct autofdo_writer *writer)
{
	for (size_t i = 0; i < writer->bodies.count; i++) {
		const struct body *body = &writer->bodies.items[writer->order[i]];

		if (body->outer != NO_BODY)
			continue;
		fprintf(writer->out, "%s:%" PRIu64 ":%" PRIu64 "\n",
			writer->names.items[body->name], body->total,
			entries_of(writer, writer->order[i]));
		write_body(writer, writer->order[i], 1);
	}
}

int autofdo_write(FILE *out, const struct sample_snapshot *snapshot,
		  const struct profile_info *info, struct symbol_lookup *lookup)
{
	struct autofdo_writer writer = { .out = out };
	int err = 0;

	for (size_t i = 0; i < snapshot->count && !err; i++)
		err = add_sample(&writer, &snapshot->samples[i], lookup);
	if (!err)
		err = sort_all(&writer);
	if (!err)
		err = profile_info_write_lines(out, info, snapshot);
	if (!err)
		write_functions(&writer);
	for (size_t i = 0; i < writer.names.count; i++)
		free(writer.names.items[i]);
	name_vector_deinit(&writer.names);
	body_vector_deinit(&writer.bodies);
	line_count_vector_deinit(&writer.lines);
	hash_map_deinit(&writer.name_ids);
	hash_map_deinit(&writer.body_ids);
	hash_map_deinit(&writer.line_ids);
	free(writer.order);
	free(writer.firsts);
	free(writer.first_lines);
	return err;
}
