/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/pprof_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/vector.h"
#include "reporter/frame_key.h"

enum {
	/* zlib's windowBits: the largest window, with a gzip header. */
	GZIP_WINDOW_BITS = 15 + 16,
	ZLIB_MEMORY_LEVEL = 8,
	/* In the key of a location: a process, and no kind of frame. */
	KIND_PROCESS = UINT8_MAX,
};

/* Keys under which mappings and functions are equal; locations use struct frame_key. No padding. */
struct mapping_key {
	uint64_t executable_id;
	/* A file that was opened may have several mappings of one binary. */
	uint64_t memory_start;
	uint64_t filename;
	uint64_t build_id;
};

struct function_key {
	uint64_t name;
	uint64_t filename;
	uint64_t start_line;
};

/* --- bytes --- */

static void compress_bytes(struct pprof_tables *tables, const void *bytes, size_t count, int flush)
{
	z_stream *stream = &tables->stream;

	if (tables->err)
		return;
	stream->next_in = (unsigned char *)bytes;
	stream->avail_in = count;
	do {
		stream->next_out = tables->compressed;
		stream->avail_out = PPROF_COMPRESSED_BYTES;
		deflate(stream, flush);
		fwrite(tables->compressed, 1, PPROF_COMPRESSED_BYTES - stream->avail_out,
		       tables->out);
	} while (stream->avail_out == 0);
}

void pprof_tables_write(struct pprof_tables *tables, const Pprof__Profile *profile)
{
	size_t bytes = pprof__profile__get_packed_size(profile);
	uint8_t *grown;

	if (tables->err)
		return;
	if (bytes > tables->packed_capacity) {
		grown = vector_grow(tables->packed, &tables->packed_capacity, bytes, 1);
		if (!grown) {
			tables->err = -ENOMEM;
			return;
		}
		tables->packed = grown;
	}
	pprof__profile__pack(profile, tables->packed);
	compress_bytes(tables, tables->packed, bytes, Z_NO_FLUSH);
}

/* --- the tables --- */

/*
 * True if @key is new in @table: *@id is then its id, counted from @first, and the caller
 * writes the entry. False if the key is known, or after an error.
 */
static bool add_to_table(struct pprof_tables *tables, struct hash_map *table, const void *key,
			 size_t key_bytes, uint64_t first, uint64_t *id)
{
	*id = 0;
	if (tables->err || hash_map_find_bytes(table, key, key_bytes, id))
		return false;
	*id = table->count + first;
	tables->err = hash_map_set_bytes(table, key, key_bytes, *id);
	return !tables->err;
}

static int64_t add_string(struct pprof_tables *tables, const char *string, size_t length)
{
	Pprof__Profile profile = PPROF__PROFILE__INIT;
	char *entry = (char *)string;
	uint64_t index;

	if (add_to_table(tables, &tables->strings, string, length, 0, &index)) {
		profile.n_string_table = 1;
		profile.string_table = &entry;
		pprof_tables_write(tables, &profile);
	}
	return (int64_t)index;
}

int64_t pprof_tables_literal(struct pprof_tables *tables, const char *string)
{
	return add_string(tables, string, strlen(string));
}

int64_t pprof_tables_text(struct pprof_tables *tables)
{
	int64_t index;

	if (tables->text.failed && !tables->err)
		tables->err = -ENOMEM;
	index = add_string(tables, text_builder_text(&tables->text), tables->text.length);
	text_builder_clear(&tables->text);
	return index;
}

int64_t pprof_tables_name(struct pprof_tables *tables, const char *name)
{
	text_builder_append_name(&tables->text, name ? name : "");
	return pprof_tables_text(tables);
}

static int64_t add_mapping_name(struct pprof_tables *tables, const struct frame *frame)
{
	bool is_module = frame->file && strcmp(frame->file, "vmlinux");

	if (frame->kind == FRAME_KERNEL && is_module) {
		text_builder_append(&tables->text, "[kernel.");
		text_builder_append_name(&tables->text, frame->file);
		text_builder_append(&tables->text, "]");
	} else if (frame->kind == FRAME_KERNEL) {
		text_builder_append(&tables->text, "[kernel.kallsyms]");
	} else {
		text_builder_append_name(&tables->text,
					 frame->binary ? frame->binary->path : "[anonymous]");
	}
	return pprof_tables_text(tables);
}

static int64_t add_build_id(struct pprof_tables *tables, const struct binary *binary)
{
	for (uint32_t i = 0; binary && i < binary->build_id_bytes; i++)
		text_builder_format(&tables->text, "%02x", binary->build_id[i]);
	return pprof_tables_text(tables);
}

static uint64_t add_new_mapping(struct pprof_tables *tables, const struct frame *frame)
{
	const struct binary *binary = frame->binary;
	Pprof__Mapping mapping = PPROF__MAPPING__INIT;
	Pprof__Mapping *entry = &mapping;
	Pprof__Profile profile = PPROF__PROFILE__INIT;
	struct mapping_key key;
	uint64_t id;

	key = (struct mapping_key){
		.executable_id = binary ? binary->executable_id : 0,
		.memory_start = binary ? binary->memory_start : 0,
		.filename = add_mapping_name(tables, frame),
		.build_id = add_build_id(tables, binary),
	};
	if (!add_to_table(tables, &tables->mappings, &key, sizeof(key), 1, &id))
		return id;
	mapping.id = id;
	if (binary) {
		mapping.memory_start = binary->memory_start;
		mapping.memory_limit = binary->memory_limit;
		mapping.file_offset = binary->file_offset;
	}
	mapping.filename = (int64_t)key.filename;
	mapping.build_id = (int64_t)key.build_id;
	/*
	 * All known names are in the profile: tools must not look up names in whatever file now has
	 * this path.
	 */
	mapping.has_functions = true;
	mapping.has_filenames = true;
	mapping.has_line_numbers = true;
	mapping.has_inline_frames = true;
	profile.n_mapping = 1;
	profile.mapping = &entry;
	pprof_tables_write(tables, &profile);
	return id;
}

void pprof_tables_name_profile(struct pprof_tables *tables, const char *name)
{
	Pprof__Mapping mapping = PPROF__MAPPING__INIT;
	Pprof__Mapping *entry = &mapping;
	Pprof__Profile profile = PPROF__PROFILE__INIT;
	struct mapping_key key = { .filename = (uint64_t)pprof_tables_name(tables, name) };
	uint64_t id;

	if (!add_to_table(tables, &tables->mappings, &key, sizeof(key), 1, &id))
		return;
	mapping.id = id;
	mapping.filename = (int64_t)key.filename;
	mapping.has_functions = true;
	mapping.has_filenames = true;
	mapping.has_line_numbers = true;
	mapping.has_inline_frames = true;
	profile.n_mapping = 1;
	profile.mapping = &entry;
	pprof_tables_write(tables, &profile);
}

/* 0 (no mapping) for errors and interpreted frames. */
static uint64_t add_mapping(struct pprof_tables *tables, const struct frame *frame)
{
	uint64_t binary = (uintptr_t)frame->binary;
	uint64_t id;

	if ((frame->kind != FRAME_NATIVE && frame->kind != FRAME_KERNEL) ||
	    (frame->binary && frame->binary->is_nowhere))
		return 0;
	if (!binary)
		return add_new_mapping(tables, frame);
	if (!hash_map_find(&tables->binary_mappings, binary, &id)) {
		id = add_new_mapping(tables, frame);
		if (!tables->err)
			tables->err = hash_map_set(&tables->binary_mappings, binary, id);
	}
	return id;
}

/*
 * system_name stays empty. If it equals the name, pprof treats both as raw symbols and cuts the
 * parameters off C++ names, so that different functions are merged.
 */
static uint64_t add_function_of(struct pprof_tables *tables, const struct function_key *key)
{
	Pprof__Function function = PPROF__FUNCTION__INIT;
	Pprof__Function *entry = &function;
	Pprof__Profile profile = PPROF__PROFILE__INIT;
	uint64_t id;

	if (!add_to_table(tables, &tables->functions, key, sizeof(*key), 1, &id))
		return id;
	function.id = id;
	function.name = (int64_t)key->name;
	function.filename = (int64_t)key->filename;
	function.start_line = (int64_t)key->start_line;
	profile.n_function = 1;
	profile.function = &entry;
	pprof_tables_write(tables, &profile);
	return id;
}

static uint64_t add_function(struct pprof_tables *tables, const struct named_frame *name)
{
	struct function_key key;

	append_frame_name(&tables->text, name);
	text_builder_append(&tables->text, doubt_suffix(name));
	key.name = pprof_tables_text(tables);
	key.filename = pprof_tables_name(tables, name->file);
	key.start_line = name->start_line;
	return add_function_of(tables, &key);
}

static void write_location(struct pprof_tables *tables, const struct shown_location *shown,
			   uint64_t id, const struct frame_key *key, uint64_t mapping)
{
	struct named_frame names[FRAME_MAX_NAMES];
	Pprof__Line lines[FRAME_MAX_NAMES];
	Pprof__Line *line_entries[FRAME_MAX_NAMES];
	Pprof__Location location = PPROF__LOCATION__INIT;
	Pprof__Location *entry = &location;
	Pprof__Profile profile = PPROF__PROFILE__INIT;
	uint32_t count = name_location(shown, tables->lookup, names);

	for (uint32_t i = 0; i < count; i++) {
		pprof__line__init(&lines[i]);
		lines[i].function_id = add_function(tables, &names[i]);
		lines[i].line = names[i].line;
		lines[i].column = names[i].column;
		line_entries[i] = &lines[i];
	}
	location.id = id;
	location.mapping_id = mapping;
	location.address = key->address;
	location.n_line = count;
	location.line = line_entries;
	profile.n_location = 1;
	profile.location = &entry;
	pprof_tables_write(tables, &profile);
}

uint64_t pprof_tables_location(struct pprof_tables *tables, const struct shown_location *shown)
{
	struct frame_key keys[FRAME_MAX_NAMES];
	uint64_t id, outer_mapping = 0;

	for (uint32_t i = 0; i < shown->count; i++) {
		const struct frame *frame = &shown->frames[i];

		outer_mapping = add_mapping(tables, frame);
		keys[i] = frame_key_make(frame, outer_mapping);
		/* Only inlined functions show this flag (doubt_suffix()). */
		if (!(frame->flags & FRAME_INLINED))
			keys[i].flags &= ~FRAME_APPROXIMATE;
		if (frame_carries_name(frame)) {
			keys[i].function = pprof_tables_name(tables, frame->function);
			keys[i].file = pprof_tables_name(tables, frame->file);
		}
	}
	if (add_to_table(tables, &tables->locations, keys, shown->count * sizeof(keys[0]), 1, &id))
		/* The code is in the outermost function's file. */
		write_location(tables, shown, id, &keys[0], outer_mapping);
	return id;
}

uint64_t pprof_tables_process(struct pprof_tables *tables, const char *comm)
{
	struct function_key function = {
		.name = (uint64_t)pprof_tables_name(tables, *comm ? comm : "[unknown]"),
	};
	struct frame_key key = { .kind = KIND_PROCESS, .function = function.name };
	Pprof__Line line = PPROF__LINE__INIT, *line_entry = &line;
	Pprof__Location location = PPROF__LOCATION__INIT, *entry = &location;
	Pprof__Profile profile = PPROF__PROFILE__INIT;
	uint64_t id;

	if (!add_to_table(tables, &tables->locations, &key, sizeof(key), 1, &id))
		return id;
	line.function_id = add_function_of(tables, &function);
	location.id = id;
	location.n_line = 1;
	location.line = &line_entry;
	profile.n_location = 1;
	profile.location = &entry;
	pprof_tables_write(tables, &profile);
	return id;
}

int pprof_tables_init(struct pprof_tables *tables, FILE *out, struct symbol_lookup *lookup)
{
	*tables = (struct pprof_tables){ .out = out, .lookup = lookup };
	return deflateInit2(&tables->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW_BITS,
			    ZLIB_MEMORY_LEVEL, Z_DEFAULT_STRATEGY) == Z_OK ?
		       0 :
		       -ENOMEM;
}

void pprof_tables_finish(struct pprof_tables *tables)
{
	compress_bytes(tables, NULL, 0, Z_FINISH);
}

void pprof_tables_deinit(struct pprof_tables *tables)
{
	deflateEnd(&tables->stream);
	free(tables->packed);
	hash_map_deinit(&tables->strings);
	hash_map_deinit(&tables->mappings);
	hash_map_deinit(&tables->binary_mappings);
	hash_map_deinit(&tables->functions);
	hash_map_deinit(&tables->locations);
	text_builder_deinit(&tables->text);
}
