/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames are found from the innermost function outwards. Each entry of the inline tree has the address of its
 * call. Looking that address up gives the caller's line and the caller's entry in the tree. A damaged tree may
 * have cycles; GO_FRAMES_MAX ends them.
 */
#include "lib/elf/go_frames.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/base/error.h"

enum {
	NO_FILE = UINT32_MAX,
	INLINED_CALL_MAX_BYTES = 20,
	NOT_INLINED = -1,
};

/* An entry of the tree, of any version. */
struct inlined_call {
	uint32_t name;
	int32_t start_line;
	uint8_t id;
	/* From 1.12 on: offset of the call from the function's start. */
	int32_t parent_offset;
	/* Up to 1.11: index of the entry around this one, and file and line of the call. */
	int32_t parent;
	int32_t file;
	int32_t line;
};

/* A source position: an address or, from Go 1.9 to 1.11, an entry of the tree. */
struct source_position {
	uint64_t address;
	int32_t index;
	bool has_line;
	int32_t file;
	int32_t line;
};

struct expansion {
	struct go_table *table;
	struct go_frames *frames;
	/* File offset and size of the tree. */
	uint64_t tree_offset;
	uint64_t tree_bytes;
	uint32_t tree_values;
	/* The table's step_count at the start. */
	uint64_t first_step;
};

void go_frames_deinit(struct go_frames *frames)
{
	if (!frames)
		return;
	go_frame_vector_deinit(&frames->frames);
	text_builder_deinit(&frames->text);
}

const char *go_frames_function(const struct go_frames *frames, const struct go_frame *frame)
{
	return text_builder_text(&frames->text) + frame->function;
}

const char *go_frames_file(const struct go_frames *frames, const struct go_frame *frame)
{
	return text_builder_text(&frames->text) + frame->file;
}

/* Instances of generic functions get one name: the text between the outermost brackets is left out. */
static void shorten_instance(struct text_builder *text, size_t start)
{
	static const char dots[] = { '.', '.', '.' };
	const char *name = text->text + start;
	const char *open = strchr(name, '['), *close = strrchr(name, ']');
	size_t inside, tail_start, tail_bytes;

	if (!open || !close || close < open)
		return;
	inside = open + 1 - text->text;
	tail_start = close - text->text;
	tail_bytes = text->length - tail_start;
	/* Room for the shortest instance, which becomes longer. */
	text_builder_append_bytes(text, dots, sizeof(dots));
	if (text->failed)
		return;
	memmove(text->text + inside + sizeof(dots), text->text + tail_start, tail_bytes);
	memcpy(text->text + inside, dots, sizeof(dots));
	text->length = inside + sizeof(dots) + tail_bytes;
	text->text[text->length] = '\0';
}

/* Ends the text appended from @start on, and sets *@at to its offset. */
static int end_name(struct text_builder *text, size_t start, uint32_t *at)
{
	text_builder_append_bytes(text, "", 1);
	if (text->failed)
		return fail(-ENOMEM, "no memory for names");
	*at = start;
	return 0;
}

/*
 * Offset 0 means no name. Up to 1.20 an inlined function's name may be at offset 0, though. Plugins have no
 * version up to there.
 */
static bool has_name(const struct go_table *table, uint32_t name, bool is_inlined)
{
	return name || (is_inlined && table->minor <= 20);
}

static int append_name(struct go_table *table, uint32_t name, bool is_inlined,
		       struct text_builder *text)
{
	const struct go_part *part = &table->header.names;
	bool is_named = has_name(table, name, is_inlined);
	size_t start = text->length;
	int err = 0;

	if (name >= part->bytes)
		return fail(-EBADMSG, "a name of a function of Go at %#x", name);
	if (is_named)
		err = elf_pages_read_string(&table->pages, part->offset + name,
					    part->offset + part->bytes, GO_NAME_MAX_BYTES, text);
	if (err)
		return err;
	/* Up to 1.17 brackets belong to types of arrays; the linkers of 1.18 to 1.20 shorten as well. */
	if (is_named && table->header.version >= GO_TABLE_1_18)
		shorten_instance(text, start);
	return 0;
}

int go_frames_append_function(struct go_table *table, const struct go_function *function,
			      struct text_builder *text)
{
	return append_name(table, function->name, false, text);
}

static int append_function(struct expansion *expansion, uint32_t name, bool is_inlined,
			   uint32_t *at)
{
	struct text_builder *text = &expansion->frames->text;
	size_t start = text->length;
	int err = append_name(expansion->table, name, is_inlined, text);

	return err ? err : end_name(text, start, at);
}

/* Offset in file_names of the function's file @number; NO_FILE if there is none. */
static int file_offset(struct expansion *expansion, int32_t number, uint32_t *offset)
{
	const struct go_header *header = &expansion->table->header;
	uint64_t index = (uint32_t)number;

	if (header->version != GO_TABLE_1_2)
		index = (uint32_t)(expansion->frames->function.unit + (uint32_t)number);
	if (index >= header->files.bytes / sizeof(*offset)) {
		*offset = NO_FILE;
		return 0;
	}
	return elf_pages_read(&expansion->table->pages,
			      header->files.offset + index * sizeof(*offset), offset,
			      sizeof(*offset));
}

static int append_file(struct expansion *expansion, int32_t number, uint32_t *at)
{
	const struct go_part *part = &expansion->table->header.file_names;
	struct text_builder *text = &expansion->frames->text;
	size_t start = text->length;
	uint32_t offset = NO_FILE;
	int err = 0;

	if (number != -1)
		err = file_offset(expansion, number, &offset);
	if (!err && offset == NO_FILE)
		text_builder_append(text, "?");
	else if (!err)
		err = elf_pages_read_string(&expansion->table->pages, part->offset + offset,
					    part->offset + part->bytes, GO_NAME_MAX_BYTES, text);
	return err ? err : end_name(text, start, at);
}

/* The file's number and the line at @position; -1 and 0 if one of them is not known. */
static int find_line(struct expansion *expansion, const struct source_position *position,
		     int32_t *file, int32_t *line)
{
	const struct go_function *function = &expansion->frames->function;
	int err;

	*file = position->file;
	*line = position->line;
	if (position->has_line)
		return 0;
	err = go_function_value(expansion->table, function, function->pcfile, position->address,
				file);
	if (!err)
		err = go_function_value(expansion->table, function, function->pcln,
					position->address, line);
	if (!err && (*file == -1 || *line == -1)) {
		*file = -1;
		*line = 0;
	}
	return err;
}

static int open_tree(struct expansion *expansion)
{
	const struct go_table *table = expansion->table;
	const struct go_function *function = &expansion->frames->function;
	uint32_t values = 0;
	int err;

	expansion->tree_values = 0;
	if (table->layout.inline_tree == GO_INLINE_TREE_NONE)
		return 0;
	err = go_function_pcdata(expansion->table, function, table->layout.inline_pcdata, &values);
	if (err || !values)
		return err;
	err = go_function_funcdata(expansion->table, function, table->layout.inline_funcdata,
				   &expansion->tree_offset, &expansion->tree_bytes);
	/*
	 * Plugins of 1.15 have the tree's address in relocations with symbols; without it positions would be
	 * wrong.
	 */
	if (err == -ENOENT && table->header.version < GO_TABLE_1_18)
		return fail(-EOPNOTSUPP, "inlined functions of Go are not in the file");
	if (!err)
		expansion->tree_values = values;
	return err == -ENOENT ? 0 : err;
}

static int find_index(struct expansion *expansion, struct source_position *position)
{
	return go_function_value(expansion->table, &expansion->frames->function,
				 expansion->tree_values, position->address, &position->index);
}

static void parse_call(enum go_inline_tree version, const uint8_t *bytes, struct inlined_call *call)
{
	int32_t words[INLINED_CALL_MAX_BYTES / sizeof(int32_t)];

	memcpy(words, bytes, sizeof(words));
	*call = (struct inlined_call){ 0 };
	switch (version) {
	case GO_INLINE_TREE_NONE:
		break;
	case GO_INLINE_TREE_1_9:
		call->parent = words[0];
		call->file = words[1];
		call->line = words[2];
		call->name = words[3];
		break;
	case GO_INLINE_TREE_1_12:
		call->id = bytes[2];
		call->name = words[3];
		call->parent_offset = words[4];
		break;
	case GO_INLINE_TREE_1_20:
		call->id = bytes[0];
		call->name = words[1];
		call->parent_offset = words[2];
		call->start_line = words[3];
		break;
	}
}

static int read_call(struct expansion *expansion, int32_t index, struct inlined_call *call)
{
	enum go_inline_tree version = expansion->table->layout.inline_tree;
	uint32_t call_bytes = version == GO_INLINE_TREE_1_12 ? 20 : 16;
	uint8_t bytes[INLINED_CALL_MAX_BYTES] = { 0 };
	int err;

	if ((uint32_t)index >= expansion->tree_bytes / call_bytes)
		return fail(-EBADMSG, "entry %d of a tree of inlined functions of Go", index);
	err = elf_pages_read(&expansion->table->pages,
			     expansion->tree_offset + (uint64_t)index * call_bytes, bytes,
			     call_bytes);
	if (!err)
		parse_call(version, bytes, call);
	return err;
}

/* The runtime leaves wrappers out, but not those in which something failed (elideWrapperCalling()). */
static bool is_left_out(const struct go_frame_vector *frames, enum go_function_kind kind)
{
	if (kind != GO_FUNCTION_WRAPPER || !frames->count)
		return false;
	switch (frames->items[frames->count - 1].kind) {
	case GO_FUNCTION_GOPANIC:
	case GO_FUNCTION_PANICWRAP:
	case GO_FUNCTION_SIGPANIC:
		return false;
	case GO_FUNCTION_ORDINARY:
	case GO_FUNCTION_WRAPPER:
		break;
	}
	return true;
}

static int push_frame(struct expansion *expansion, const struct source_position *position,
		      uint32_t name, struct go_frame *frame)
{
	struct go_frame_vector *frames = &expansion->frames->frames;
	int32_t file;
	int err;

	if (frames->count == GO_FRAMES_MAX)
		return fail(-E2BIG, "more than %d functions of Go in each other", GO_FRAMES_MAX);
	if (expansion->frames->text.length > GO_FRAMES_MAX_TEXT_BYTES ||
	    expansion->table->step_count - expansion->first_step > GO_FRAMES_MAX_STEPS)
		return fail(-E2BIG, "too much in Go's table for one address");
	frame->is_left_out = is_left_out(frames, frame->kind);
	err = append_function(expansion, name, frame->is_inlined, &frame->function);
	if (!err)
		err = find_line(expansion, position, &file, &frame->line);
	if (!err)
		err = append_file(expansion, file, &frame->file);
	if (err)
		return err;
	if (go_frame_vector_push(frames, *frame))
		return fail(-ENOMEM, "no memory for frames of Go");
	return 0;
}

/* Moves @position to the position of @call in the function around it. */
static int move_outwards(struct expansion *expansion, const struct inlined_call *call,
			 struct source_position *position)
{
	if (expansion->table->layout.inline_tree == GO_INLINE_TREE_1_9) {
		position->index = call->parent < 0 ? NOT_INLINED : call->parent;
		position->has_line = true;
		position->file = call->file;
		position->line = call->line;
		return 0;
	}
	position->address = expansion->frames->function.start + (int64_t)call->parent_offset;
	return find_index(expansion, position);
}

static int expand(struct expansion *expansion, uint64_t address)
{
	const struct go_function *function = &expansion->frames->function;
	struct source_position position = { .address = address, .index = NOT_INLINED };
	int err = open_tree(expansion);

	if (!err)
		err = find_index(expansion, &position);
	while (!err && position.index >= 0) {
		struct inlined_call call = { 0 };
		struct go_frame frame = { .is_inlined = true };

		err = read_call(expansion, position.index, &call);
		if (err)
			return err;
		frame.start_line = call.start_line;
		frame.kind = go_function_kind(expansion->table, call.id);
		err = push_frame(expansion, &position, call.name, &frame);
		if (!err)
			err = move_outwards(expansion, &call, &position);
	}
	if (!err) {
		struct go_frame frame = {
			.start_line = function->start_line,
			.kind = go_function_kind(expansion->table, function->id),
		};

		err = push_frame(expansion, &position, function->name, &frame);
	}
	return err;
}

int go_frames_find(struct go_frames *frames, struct go_table *table, uint64_t address)
{
	struct expansion expansion = {
		.table = table,
		.frames = frames,
		.first_step = table->step_count,
	};
	int err;

	frames->frames.count = 0;
	text_builder_clear(&frames->text);
	err = go_function_find(table, address, &frames->function);
	if (!err)
		err = expand(&expansion, address);
	if (err)
		frames->frames.count = 0;
	return err;
}
