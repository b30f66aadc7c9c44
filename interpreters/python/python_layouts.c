/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A version that is not listed here is refused. The offsets in a process's own table are hostile: they are
 * bounded, and what is read with them is checked as if they were wrong.
 */
#include "interpreters/python/python_layouts.h"

#include <errno.h>
#include <string.h>

#include "lib/base/error.h"

enum {
	/** Size of _ob_next and _ob_prev, which precede an object's header. */
	OBJECT_LIST_BYTES = 16,
	/* Offset of the counts, after the owner's id, a lock and flags. */
	FREE_THREADED_REFERENCES = 12,
	/** Limit of offsets in the runtime's table. */
	OFFSET_MAX = 16384,
};

/* str from PEP 393 (3.3) on; 3.12 removed the old interface. */
#define STRING_UNTIL_3_11                                                                          \
	{                                                                                          \
		.length = 16, .state = 32, .kind_shift = 2, .ascii_bytes = 48,                     \
		.compact_bytes = 72, .wide = 40, .wide_length = 64,                                \
	}
#define STRING_OF_3_12                                                                             \
	{                                                                                          \
		.length = 16, .state = 32, .kind_shift = 2, .ascii_bytes = 40,                     \
		.compact_bytes = 56,                                                               \
	}
#define BYTES_OF_3                                                                                 \
	{                                                                                          \
		.size = 16, .data = 32,                                                            \
	}
#define CODE_OF_3_8                                                                                \
	{                                                                                          \
		.bytes = 128, .first_line = 40, .filename = 104, .name = 112, .line_table = 120,   \
		.instructions = 48,                                                                \
	}
#define FRAME_OF_3_7                                                                               \
	{                                                                                          \
		.thread_frame = 24, .previous = 24, .code = 32, .instruction = 104,                \
	}

#define THREAD_OF_3_8                                                                              \
	{                                                                                          \
		.interpreters = 32, .interpreter_threads = 8, .next = 8, .interpreter = 16,        \
		.id = 176,                                                                         \
	}

static const struct python_layout layouts[] = {
	{
		.version = PYTHON_VERSION(2, 7),
		.lines = PYTHON_LINES_UNSIGNED,
		.position_bytes = 1,
		.code = { .bytes = 112,
			  .first_line = 96,
			  .filename = 80,
			  .name = 88,
			  .line_table = 104,
			  .instructions = 32 },
		.string = { .is_bytes = true },
		.bytes = { .size = 16, .data = 36 },
		.frame = { .thread_frame = 16, .previous = 24, .code = 32, .instruction = 120 },
		.thread = { .interpreter_threads = 8, .next = 0, .interpreter = 8, .id = 144 },
	},
	{
		.version = PYTHON_VERSION(3, 6),
		.lines = PYTHON_LINES_SIGNED,
		.position_bytes = 1,
		.code = { .bytes = 120,
			  .first_line = 36,
			  .filename = 96,
			  .name = 104,
			  .line_table = 112,
			  .instructions = 40 },
		.string = STRING_UNTIL_3_11,
		.bytes = BYTES_OF_3,
		.frame = { .thread_frame = 24, .previous = 24, .code = 32, .instruction = 120 },
		.thread = { .interpreter_threads = 8, .next = 8, .interpreter = 16, .id = 152 },
	},
	{
		.version = PYTHON_VERSION(3, 7),
		.lines = PYTHON_LINES_SIGNED,
		.position_bytes = 1,
		.code = { .bytes = 120,
			  .first_line = 36,
			  .filename = 96,
			  .name = 104,
			  .line_table = 112,
			  .instructions = 40 },
		.string = STRING_UNTIL_3_11,
		.bytes = BYTES_OF_3,
		.frame = FRAME_OF_3_7,
		.thread = { .interpreters = 24,
			    .interpreter_threads = 8,
			    .next = 8,
			    .interpreter = 16,
			    .id = 176 },
	},
	{
		.version = PYTHON_VERSION(3, 8),
		.lines = PYTHON_LINES_SIGNED,
		.position_bytes = 1,
		.code = CODE_OF_3_8,
		.string = STRING_UNTIL_3_11,
		.bytes = BYTES_OF_3,
		.frame = FRAME_OF_3_7,
		.thread = THREAD_OF_3_8,
	},
	{
		.version = PYTHON_VERSION(3, 9),
		.lines = PYTHON_LINES_SIGNED,
		.position_bytes = 1,
		.code = CODE_OF_3_8,
		.string = STRING_UNTIL_3_11,
		.bytes = BYTES_OF_3,
		.frame = FRAME_OF_3_7,
		.thread = THREAD_OF_3_8,
	},
	{
		.version = PYTHON_VERSION(3, 10),
		.lines = PYTHON_LINES_RANGES,
		.position_bytes = 2,
		.code = CODE_OF_3_8,
		.string = STRING_UNTIL_3_11,
		.bytes = BYTES_OF_3,
		.frame = { .thread_frame = 24,
			   .thread_cframe = 48,
			   .cframe_previous = 8,
			   .previous = 24,
			   .code = 32,
			   .instruction = 96 },
		.thread = THREAD_OF_3_8,
	},
	{
		.version = PYTHON_VERSION(3, 11),
		.lines = PYTHON_LINES_LOCATIONS,
		.position_bytes = 1,
		.code = { .bytes = 184,
			  .first_line = 72,
			  .filename = 112,
			  .name = 120,
			  .qualified_name = 128,
			  .line_table = 136,
			  .instructions = 184 },
		.string = STRING_UNTIL_3_11,
		.bytes = BYTES_OF_3,
		.frame = { .thread_cframe = 56,
			   .cframe_frame = 8,
			   .cframe_previous = 16,
			   .previous = 48,
			   .code = 32,
			   .instruction = 56,
			   .owner = 69 },
		.thread = { .interpreters = 40,
			    .interpreter_threads = 16,
			    .next = 8,
			    .interpreter = 16,
			    .id = 152 },
	},
	{
		.version = PYTHON_VERSION(3, 12),
		.lines = PYTHON_LINES_LOCATIONS,
		.position_bytes = 1,
		.code = { .bytes = 192,
			  .first_line = 68,
			  .filename = 112,
			  .name = 120,
			  .qualified_name = 128,
			  .line_table = 136,
			  .instructions = 192 },
		.string = STRING_OF_3_12,
		.bytes = BYTES_OF_3,
		.frame = { .thread_cframe = 56,
			   .cframe_frame = 0,
			   .cframe_previous = 8,
			   .previous = 8,
			   .code = 0,
			   .instruction = 56,
			   .owner = 70 },
		.thread = { .interpreters = 40,
			    .interpreter_threads = 72,
			    .next = 8,
			    .interpreter = 16,
			    .id = 136 },
	},
};

bool python_version_is_known(uint16_t version)
{
	if (version >= PYTHON_FIRST_WITH_OFFSETS)
		return version <= PYTHON_NEWEST;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		if (layouts[i].version == version)
			return true;
	}
	return false;
}

/* Moves the fields of all objects by @bytes, for a longer header. */
static void move_fields(struct python_layout *layout, uint16_t bytes)
{
	uint16_t *const fields[] = {
		&layout->code.bytes,	       &layout->code.first_line,
		&layout->code.filename,	       &layout->code.name,
		&layout->code.qualified_name,  &layout->code.line_table,
		&layout->code.instructions,    &layout->string.length,
		&layout->string.state,	       &layout->string.ascii_bytes,
		&layout->string.compact_bytes, &layout->string.wide,
		&layout->string.wide_length,   &layout->bytes.size,
		&layout->bytes.data,
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (*fields[i])
			*fields[i] += bytes;
	}
	/* Frames are objects up to 3.10. */
	if (layout->version <= PYTHON_VERSION(3, 10)) {
		layout->frame.previous += bytes;
		layout->frame.code += bytes;
		layout->frame.instruction += bytes;
	}
}

int python_layout_init(struct python_layout *layout, uint16_t version, bool has_object_list)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		if (layouts[i].version != version)
			continue;
		*layout = layouts[i];
		if (has_object_list) {
			move_fields(layout, OBJECT_LIST_BYTES);
			layout->references = OBJECT_LIST_BYTES;
		}
		return 0;
	}
	return fail(-EOPNOTSUPP, "CPython %u.%u is not supported", version >> 8, version & 0xff);
}

/** Indexes of the words of members in _Py_DebugOffsets. */
struct debug_offsets {
	uint8_t thread_next;
	uint8_t thread_interpreter;
	uint8_t thread_current_frame;
	uint8_t thread_id;
	uint8_t frame_previous;
	uint8_t frame_executable;
	uint8_t frame_instruction;
	uint8_t frame_owner;
	uint8_t frame_copy_index;
	uint8_t code_filename;
	uint8_t code_name;
	uint8_t code_qualified_name;
	uint8_t code_line_table;
	uint8_t code_first_line;
	uint8_t code_instructions;
	uint8_t code_copies;
	uint8_t bytes_size;
	uint8_t bytes_data;
	uint8_t unicode_state;
	uint8_t unicode_length;
	uint8_t unicode_ascii_bytes;
};

static const struct debug_offsets offsets_of_3_13 = {
	.thread_next = 21,
	.thread_interpreter = 22,
	.thread_current_frame = 23,
	.thread_id = 24,
	.frame_previous = 29,
	.frame_executable = 30,
	.frame_instruction = 31,
	.frame_owner = 33,
	.code_filename = 35,
	.code_name = 36,
	.code_qualified_name = 37,
	.code_line_table = 38,
	.code_first_line = 39,
	.code_instructions = 43,
	.bytes_size = 65,
	.bytes_data = 66,
	.unicode_state = 68,
	.unicode_length = 69,
	.unicode_ascii_bytes = 70,
};

static const struct debug_offsets offsets_of_3_14 = {
	.thread_next = 24,
	.thread_interpreter = 25,
	.thread_current_frame = 26,
	.thread_id = 27,
	.frame_previous = 32,
	.frame_executable = 33,
	.frame_instruction = 34,
	.frame_owner = 36,
	.frame_copy_index = 38,
	.code_filename = 40,
	.code_name = 41,
	.code_qualified_name = 42,
	.code_line_table = 43,
	.code_first_line = 44,
	.code_instructions = 48,
	.code_copies = 49,
	.bytes_size = 75,
	.bytes_data = 76,
	.unicode_state = 78,
	.unicode_length = 79,
	.unicode_ascii_bytes = 80,
};

static const struct debug_offsets offsets_of_3_15 = {
	.thread_next = 24,
	.thread_interpreter = 25,
	.thread_current_frame = 26,
	.thread_id = 30,
	.frame_previous = 40,
	.frame_executable = 41,
	.frame_instruction = 42,
	.frame_owner = 44,
	.frame_copy_index = 46,
	.code_filename = 48,
	.code_name = 49,
	.code_qualified_name = 50,
	.code_line_table = 51,
	.code_first_line = 52,
	.code_instructions = 56,
	.code_copies = 57,
	.bytes_size = 87,
	.bytes_data = 88,
	.unicode_state = 90,
	.unicode_length = 91,
	.unicode_ascii_bytes = 92,
};

/** Indexes of the first words of _Py_DebugOffsets, equal in all versions. */
enum {
	WORD_COOKIE = 0,
	WORD_VERSION = 1,
	WORD_FREE_THREADED = 2,
	WORD_INTERPRETERS = 5,
	WORD_INTERPRETER_NEXT = 8,
	WORD_INTERPRETER_THREADS = 9,
};

/* Word @index as an offset; sets *@is_bad if it is too large. @index 0: there is no such word. */
static uint16_t offset_at(const uint8_t *bytes, uint8_t index, bool *is_bad)
{
	uint64_t value;

	if (!index)
		return 0;
	memcpy(&value, bytes + index * sizeof(value), sizeof(value));
	if (value > OFFSET_MAX) {
		*is_bad = true;
		return 0;
	}
	return (uint16_t)value;
}

/* Checks that the fields of the runtime's table have the order that all versions have. */
static bool layout_makes_sense(const struct python_layout *layout)
{
	const struct python_code_layout *code = &layout->code;

	return code->bytes <= PYTHON_CODE_MAX_BYTES && code->first_line >= 16 &&
	       code->first_line < code->filename && code->filename < code->name &&
	       code->name < code->qualified_name && code->qualified_name < code->line_table &&
	       code->line_table + 8 <= code->bytes && layout->string.length >= 16 &&
	       layout->string.state >= layout->string.length + 8 &&
	       layout->string.ascii_bytes >= layout->string.state + 4 &&
	       layout->string.ascii_bytes <= 64 && layout->bytes.data <= 64 &&
	       layout->bytes.size >= 16 && layout->bytes.data >= layout->bytes.size + 8;
}

int python_layout_init_offsets(struct python_layout *layout, uint16_t version,
			       const uint8_t offsets[PYTHON_DEBUG_OFFSETS_BYTES])
{
	static const char cookie[8] = { 'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y' };
	const struct debug_offsets *at = version == PYTHON_VERSION(3, 13) ? &offsets_of_3_13 :
					 version == PYTHON_VERSION(3, 14) ? &offsets_of_3_14 :
					 version == PYTHON_VERSION(3, 15) ? &offsets_of_3_15 :
									    NULL;
	struct python_layout made;
	uint64_t words[3];
	bool is_bad = false;

	if (!at)
		return fail(-EOPNOTSUPP, "CPython %u.%u is not supported", version >> 8,
			    version & 0xff);
	memcpy(words, offsets, sizeof(words));
	if (!words[WORD_COOKIE])
		return fail(-EAGAIN, "CPython has not set itself up yet");
	if (memcmp(offsets, cookie, sizeof(cookie)) || words[WORD_VERSION] >> 16 != version)
		return fail(-EBADMSG, "_Py_DebugOffsets of another version than %u.%u",
			    version >> 8, version & 0xff);
	made = (struct python_layout){
		.version = version,
		.is_free_threaded = words[WORD_FREE_THREADED] == 1,
		.lines = PYTHON_LINES_LOCATIONS,
		.position_bytes = 1,
		.code = {
			.bytes = offset_at(offsets, at->code_instructions, &is_bad),
			.first_line = offset_at(offsets, at->code_first_line, &is_bad),
			.filename = offset_at(offsets, at->code_filename, &is_bad),
			.name = offset_at(offsets, at->code_name, &is_bad),
			.qualified_name = offset_at(offsets, at->code_qualified_name, &is_bad),
			.line_table = offset_at(offsets, at->code_line_table, &is_bad),
			.instructions = offset_at(offsets, at->code_instructions, &is_bad),
		},
		.string = {
			.length = offset_at(offsets, at->unicode_length, &is_bad),
			.state = offset_at(offsets, at->unicode_state, &is_bad),
			.ascii_bytes = offset_at(offsets, at->unicode_ascii_bytes, &is_bad),
		},
		.bytes = {
			.size = offset_at(offsets, at->bytes_size, &is_bad),
			.data = offset_at(offsets, at->bytes_data, &is_bad),
		},
		.frame = {
			.thread_frame = offset_at(offsets, at->thread_current_frame, &is_bad),
			.previous = offset_at(offsets, at->frame_previous, &is_bad),
			.code = offset_at(offsets, at->frame_executable, &is_bad),
			.instruction = offset_at(offsets, at->frame_instruction, &is_bad),
			.owner = offset_at(offsets, at->frame_owner, &is_bad),
		},
		.thread = {
			.interpreters = offset_at(offsets, WORD_INTERPRETERS, &is_bad),
			.interpreter_next = offset_at(offsets, WORD_INTERPRETER_NEXT, &is_bad),
			.interpreter_threads = offset_at(offsets, WORD_INTERPRETER_THREADS, &is_bad),
			.next = offset_at(offsets, at->thread_next, &is_bad),
			.interpreter = offset_at(offsets, at->thread_interpreter, &is_bad),
			.id = offset_at(offsets, at->thread_id, &is_bad),
		},
	};
	/* PyCompactUnicodeObject adds utf8_length and utf8. */
	made.string.compact_bytes = made.string.ascii_bytes + 16;
	/* In that build another byte precedes the flags of a string. */
	made.string.kind_shift = made.is_free_threaded && version >= PYTHON_VERSION(3, 14) ? 8 : 2;
	if (made.is_free_threaded) {
		made.references = FREE_THREADED_REFERENCES;
		made.frame.copy_index = offset_at(offsets, at->frame_copy_index, &is_bad);
		made.frame.code_copies = offset_at(offsets, at->code_copies, &is_bad);
	}
	if (is_bad || !layout_makes_sense(&made))
		return fail(-EBADMSG, "_Py_DebugOffsets make no sense");
	*layout = made;
	return 0;
}
