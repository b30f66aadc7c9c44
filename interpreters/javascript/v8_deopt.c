/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/javascript/v8_deopt.h"

#include <errno.h>
#include <string.h>

#include "lib/base/byte_reader.h"
#include "lib/base/error.h"

enum {
	/** Bits of a safepoint table's configuration. */
	HAS_DEOPT = 1,
	REGISTERS_SHIFT = 1,
	PC_SHIFT = 4,
	DEOPT_SHIFT = 7,
	BYTES_MASK = 7,
	NUMBER_MAX_BYTES = 4,
};

/** Format of the entries of a safepoint table. */
struct safepoint_format {
	uint32_t count;
	uint32_t pc_bytes;
	uint32_t deopt_bytes;
	bool has_deopt;
	/** Deoptimization index and trampoline are stored plus one, so that 0 means none. */
	bool is_biased;
	/** Bytes after these fields. */
	uint32_t rest_bytes;
};

static int read_safepoint_format(enum v8_line line, bool is_maglev, struct byte_reader *reader,
				 struct safepoint_format *format)
{
	uint32_t configuration;

	if (line >= V8_13_6)
		byte_reader_skip(reader, sizeof(uint32_t));
	format->count = byte_reader_u32(reader);
	configuration = byte_reader_u32(reader);
	if (line == V8_9_4) {
		/* In 9.4 that word is the size of the data after all entries. */
		format->pc_bytes = format->deopt_bytes = NUMBER_MAX_BYTES;
		format->has_deopt = true;
		format->is_biased = false;
		format->rest_bytes = 0;
		return byte_reader_failed(reader) ? fail(-EBADMSG, "the safepoint table is cut") :
						    0;
	}
	if (is_maglev)
		byte_reader_skip(reader, (line >= V8_13_6 ? 1 : 2) * sizeof(uint32_t));
	format->has_deopt = configuration & HAS_DEOPT;
	format->is_biased = true;
	format->rest_bytes = (configuration >> REGISTERS_SHIFT & BYTES_MASK) + is_maglev;
	format->pc_bytes = configuration >> PC_SHIFT & BYTES_MASK;
	format->deopt_bytes = configuration >> DEOPT_SHIFT & BYTES_MASK;
	/* Entries of 0 bytes would never end. */
	if (byte_reader_failed(reader) || format->pc_bytes > NUMBER_MAX_BYTES ||
	    (format->count && !format->pc_bytes) || format->deopt_bytes > NUMBER_MAX_BYTES)
		return fail(-EBADMSG, "a safepoint table with numbers of %u and %u bytes",
			    format->pc_bytes, format->deopt_bytes);
	return 0;
}

static uint32_t read_number(struct byte_reader *reader, uint32_t bytes)
{
	const void *from = byte_reader_bytes(reader, bytes);
	uint32_t number = 0;

	if (from)
		memcpy(&number, from, bytes);
	return le32toh(number);
}

int v8_safepoint_find(enum v8_line line, bool is_maglev, const uint8_t *table, size_t size,
		      uint32_t pc_offset, struct v8_safepoint *safepoint)
{
	struct safepoint_format format;
	struct byte_reader reader;
	int err;

	byte_reader_init(&reader, table, size);
	err = read_safepoint_format(line, is_maglev, &reader, &format);
	for (uint32_t i = 0; !err && i < format.count; i++) {
		uint32_t pc = read_number(&reader, format.pc_bytes);
		int64_t deopt_index = -1, trampoline = -1;

		if (format.has_deopt) {
			deopt_index = (int64_t)read_number(&reader, format.deopt_bytes) -
				      format.is_biased;
			trampoline =
				(int64_t)read_number(&reader, format.pc_bytes) - format.is_biased;
		}
		byte_reader_skip(&reader, format.rest_bytes);
		if (byte_reader_failed(&reader))
			return fail(-EBADMSG, "a safepoint table without its entries");
		if (pc <= INT32_MAX && (pc == pc_offset || trampoline == pc_offset)) {
			*safepoint = (struct v8_safepoint){
				.pc_offset = pc,
				.deopt_index = deopt_index > INT32_MAX ? -1 : (int32_t)deopt_index,
			};
			return 0;
		}
	}
	return err ? err : fail(-ENOENT, "no safepoint at %u", pc_offset);
}

/* The purposes of a translation's operations. */
enum operation {
	OPERATION_VALUE = '.',
	OPERATION_BEGIN = 'B',
	/** Continues with operations of another translation. */
	OPERATION_MATCH = 'M',
	/** Frames: of a function, of a constructor call, of a builtin that continues in JavaScript, and others. */
	OPERATION_INTERPRETED = 'I',
	OPERATION_CONSTRUCT = 'C',
	OPERATION_BUILTIN = 'J',
	OPERATION_FRAME = 'F',
};

/*
 * TRANSLATION_OPCODE_LIST: the number of operands and the purpose of each operation. An opcode is the index in the
 * list.
 */
static const char *const operations[V8_LINE_COUNT] = {
	[V8_9_4] = "2F1.0.3B1.1.3F1.3C1.1.1.1.1.1.1.1.1.5I3J3J4F1.1.1.1.1.2.",
	[V8_10_2] = "2F1.0.3B1.1.3F1.3C1.1.1.1.1.1.1.1.1.5I3J3J4F1.1.1.1.1.2.",
	[V8_11_3] = "1.0.3B3B1.1.3F1.3C1.1.1.1.1.2F1.1.1.1.1.1.1.1.5I3I3J3J4F0.1.1.1.1.1.2.1M",
	[V8_12_4] =
		"5I3I3J3J2C1C3F4F3F2F1.0.3B3B1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.0.1.1.1.1.1.2.1M",
	[V8_13_6] =
		"6I4I3J3J2C1C3F4F3F3F3F1.0.0.3B3B1.1.1.0.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.0.1.1.1.1.1.2.1M",
	[V8_14_1] =
		"6I4I3J3J2C1C3F4F3F3F3F1.0.0.3B3B1.1.1.0.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.0.1.1.1.1.1.2.1M",
	[V8_14_6] =
		"6I4I3J3J2C1C3F4F3F3F3F1.0.0.3B3B1.1.1.0.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.0.1.1.1.1.1.2.1M",
};

/** Reads the operations of a translation; some are taken from the previous one that it is based on. */
struct translation {
	const char *operations;
	uint32_t operation_count;
	/** Opcodes are signed numbers, and no translation is based on another one (up to 10.2). */
	bool is_plain;
	struct byte_reader reader;
	struct byte_reader previous;
	/** Operations that still come from the previous translation, including the current one. */
	uint32_t left_of_previous;
	/** Operations by which the previous translation is behind this one. */
	uint32_t since_previous;
};

static char operation_kind(const struct translation *translation, uint32_t opcode)
{
	return translation->operations[2 * opcode + 1];
}

static uint32_t operand_count(const struct translation *translation, uint32_t opcode)
{
	return (uint32_t)(translation->operations[2 * opcode] - '0');
}

static uint32_t read_operand(struct translation *translation)
{
	return (uint32_t)byte_reader_uleb128(
		translation->left_of_previous ? &translation->previous : &translation->reader);
}

/* Reads a number whose sign is the low bit. */
static int32_t read_signed(struct translation *translation)
{
	uint32_t number = read_operand(translation);

	return number & 1 ? -(int32_t)(number >> 1) : (int32_t)(number >> 1);
}

static uint32_t read_previous_opcode(struct translation *translation)
{
	uint32_t opcode = byte_reader_u8(&translation->previous);

	if (opcode >= translation->operation_count ||
	    operation_kind(translation, opcode) == OPERATION_MATCH) {
		byte_reader_fail(&translation->previous);
		return 0;
	}
	return opcode;
}

/* Advances the previous translation to the position of this one, and reads an opcode from it. */
static uint32_t match_previous(struct translation *translation)
{
	for (; translation->since_previous && !byte_reader_failed(&translation->previous);
	     translation->since_previous--) {
		uint32_t opcode = read_previous_opcode(translation);

		for (uint32_t i = operand_count(translation, opcode); i; i--)
			byte_reader_uleb128(&translation->previous);
	}
	translation->since_previous = 0;
	return read_previous_opcode(translation);
}

static uint32_t read_opcode(struct translation *translation)
{
	uint32_t opcode;

	if (translation->is_plain)
		return (uint32_t)read_signed(translation);
	if (translation->left_of_previous)
		translation->left_of_previous--;
	if (translation->left_of_previous)
		return read_previous_opcode(translation);
	opcode = byte_reader_u8(&translation->reader);
	/* The opcode of the most frequent operation includes its operand. */
	if (opcode >= translation->operation_count) {
		translation->left_of_previous = opcode - translation->operation_count;
		return match_previous(translation);
	}
	if (operation_kind(translation, opcode) == OPERATION_MATCH) {
		translation->left_of_previous = read_operand(translation);
		return match_previous(translation);
	}
	translation->since_previous++;
	return opcode;
}

static bool has_failed(const struct translation *translation)
{
	return byte_reader_failed(&translation->reader) ||
	       byte_reader_failed(&translation->previous);
}

/* Reads the operation that begins a translation, and the number of frames from it. */
static int read_beginning(struct translation *translation, uint32_t *frame_count)
{
	const size_t start = byte_reader_offset(&translation->reader);
	uint32_t opcode = read_opcode(translation), back = 0;
	int32_t count;

	if (has_failed(translation) || opcode >= translation->operation_count ||
	    operation_kind(translation, opcode) != OPERATION_BEGIN)
		return fail(-EBADMSG, "no translation at %zu", start);
	translation->since_previous = 1;
	if (!translation->is_plain)
		back = read_operand(translation);
	if (back > start)
		return fail(-EBADMSG, "a translation based on one %u bytes before %zu", back,
			    start);
	/* Without a previous translation this reader is not used. */
	byte_reader_seek(&translation->previous, back ? start - back : 0);
	count = read_signed(translation);
	for (uint32_t i = translation->is_plain ? 1 : 2; i < operand_count(translation, opcode);
	     i++)
		read_operand(translation);
	if (has_failed(translation) || count <= 0)
		return fail(-EBADMSG, "a translation of %d frames", count);
	*frame_count = (uint32_t)count;
	return 0;
}

static bool is_frame(char kind)
{
	return kind == OPERATION_INTERPRETED || kind == OPERATION_CONSTRUCT ||
	       kind == OPERATION_BUILTIN || kind == OPERATION_FRAME;
}

int v8_translation_read(enum v8_line line, const uint8_t *bytes, size_t size, size_t index,
			struct v8_translated_frames *frames)
{
	struct translation translation = {
		.operations = operations[line],
		.operation_count = (uint32_t)strlen(operations[line]) / 2,
		.is_plain = line <= V8_10_2,
	};
	bool is_construct = false;
	uint32_t left = 0;
	int err;

	frames->count = 0;
	byte_reader_init(&translation.reader, bytes, size);
	byte_reader_init(&translation.previous, bytes, size);
	byte_reader_seek(&translation.reader, index);
	err = read_beginning(&translation, &left);
	while (!err && left) {
		uint32_t opcode = read_opcode(&translation), operands;
		struct v8_translated_frame frame = { .bytecodes = -1 };
		char kind;

		if (has_failed(&translation) || opcode >= translation.operation_count)
			return fail(-EBADMSG, "a translation without its frames");
		operands = operand_count(&translation, opcode);
		kind = operation_kind(&translation, opcode);
		if (kind == OPERATION_INTERPRETED || kind == OPERATION_BUILTIN) {
			frame.is_builtin = kind == OPERATION_BUILTIN;
			frame.is_construct = is_construct;
			frame.bytecode_offset = read_signed(&translation);
			frame.literal = read_signed(&translation);
			operands -= 2;
			if (kind == OPERATION_INTERPRETED && line >= V8_13_6) {
				frame.bytecodes = read_signed(&translation);
				operands--;
			}
			if (frames->count == V8_INLINED_MAX)
				return fail(-E2BIG, "too many inlined functions");
			frames->items[frames->count++] = frame;
		}
		for (; operands; operands--)
			read_operand(&translation);
		if (is_frame(kind)) {
			is_construct = kind == OPERATION_CONSTRUCT;
			left--;
		}
		if (has_failed(&translation))
			return fail(-EBADMSG, "a translation without its frames");
	}
	return err;
}
