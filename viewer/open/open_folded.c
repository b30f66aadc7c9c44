/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/open/open_folded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/base/hash_map.h"
#include "viewer/open/opened_frame.h"

enum {
	COUNT_MAX_DIGITS = 18,
};

VECTOR_DEFINE(mapping_vector, struct opened_mapping)

struct folded_reader {
	struct opened_samples *opened;
	struct opened_stack stack;
	/* Files of frames without a name: maps a file's name to the index of its mapping. */
	struct hash_map files;
	struct mapping_vector mappings;
	/* The mapping of all other frames. */
	struct opened_mapping nowhere;
};

static int find_mapping(struct folded_reader *reader, const char *file,
			struct opened_mapping **found)
{
	uint64_t index;
	int err;

	if (!hash_map_find_bytes(&reader->files, file, strlen(file), &index)) {
		struct opened_mapping mapping;

		err = opened_mapping_init(&mapping, &(struct binary){ .path = (char *)file },
					  reader->opened);
		if (err)
			return err;
		index = reader->mappings.count;
		err = mapping_vector_push(&reader->mappings, mapping);
		if (err) {
			opened_mapping_deinit(&mapping);
			return err;
		}
		err = hash_map_set_bytes(&reader->files, file, strlen(file), index);
		if (err)
			return err;
	}
	*found = &reader->mappings.items[index];
	return 0;
}

static int push_frame(struct folded_reader *reader, char *text)
{
	struct opened_name name = opened_name_parse(text), inner;
	struct opened_mapping *mapping = &reader->nowhere;
	const char *file;
	struct frame frame;
	uint32_t line;
	int err = 0;

	opened_name_cut_line(text, &file, &line);
	if (file) {
		inner = opened_name_parse(text);
		name.marks |= inner.marks & OPENED_NAMELESS;
		name.address = inner.address;
	} else if (name.marks & OPENED_APPROXIMATE) {
		/* Without lines, only inlined functions have this mark. */
		name.marks |= OPENED_INLINED;
	}
	if (name.marks & OPENED_NAMELESS)
		err = find_mapping(reader, text, &mapping);
	if (err)
		return err;
	frame = opened_frame_make(mapping, opened_kind_of_file(file), text, &name, file ? file : "",
				  line, 0);
	return opened_stack_push(&reader->stack, &frame);
}

/*
 * Cuts the number at the end of the line with the space before it, and returns it; 0 if there is
 * none.
 */
static uint64_t cut_count(char *line)
{
	char *space = strrchr(line, ' ');
	size_t digits = space ? strspn(space + 1, "0123456789") : 0;

	if (!digits || digits > COUNT_MAX_DIGITS || space[1 + digits])
		return 0;
	*space = '\0';
	return strtoull(space + 1, NULL, 10);
}

static int read_line(struct folded_reader *reader, char *line)
{
	struct sample sample = { .process_comm = line, .thread_comm = line };
	uint64_t count = cut_count(line);
	char *end, *semicolon;
	int err = 0;

	if (!count)
		return fail(-EBADMSG,
			    "a line has no stack and number, such as `comm;main;work 17`");
	/* The file has stacks root first, we have them leaf first. */
	for (end = strchr(line, '\0'); !err && (semicolon = memrchr(line, ';', end - line));
	     end = semicolon) {
		*end = '\0';
		err = push_frame(reader, semicolon + 1);
	}
	*end = '\0';
	if (err)
		return err;
	sample.trace = opened_stack_finish(&reader->stack);
	if (!sample.trace)
		return -ENOMEM;
	err = opened_samples_begin(reader->opened, &sample);
	trace_unref(sample.trace);
	return err ? err : opened_samples_add(reader->opened, reader->opened->start_ns, count);
}

static int read_lines(struct folded_reader *reader, char *text, size_t count)
{
	char *end = text + count, *newline;
	int err = 0;

	for (char *line = text; line < end && !err; line = newline + 1) {
		newline = memchr(line, '\n', end - line);
		if (!newline)
			newline = end;
		*newline = '\0';
		if (strlen(line) != (size_t)(newline - line))
			return fail(-EBADMSG, "it is no text");
		if (*line)
			err = read_line(reader, line);
	}
	return err;
}

static void folded_reader_deinit(struct folded_reader *reader)
{
	for (size_t i = 0; i < reader->mappings.count; i++)
		opened_mapping_deinit(&reader->mappings.items[i]);
	mapping_vector_deinit(&reader->mappings);
	opened_mapping_deinit(&reader->nowhere);
	hash_map_deinit(&reader->files);
	opened_stack_deinit(&reader->stack);
}

int open_folded(char *text, size_t count, struct opened_samples *opened)
{
	struct folded_reader reader = { .opened = opened };
	int err;

	opened_samples_init(opened);
	err = opened_mapping_init_nowhere(&reader.nowhere, opened);
	if (!err)
		err = read_lines(&reader, text, count);
	folded_reader_deinit(&reader);
	return err;
}
