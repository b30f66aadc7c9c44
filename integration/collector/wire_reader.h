/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Reads the wire format of protocol buffers strictly (protobuf.dev/programming-guides/encoding).
 * Bytes are hostile. Every message is read with a list of its allowed fields; violations of the
 * format's rules (RULE_WIRE to RULE_UTF8) are reported, and reading continues after them if the
 * format allows it.
 */
#ifndef INTEGRATION_COLLECTOR_WIRE_READER_H
#define INTEGRATION_COLLECTOR_WIRE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "integration/collector/rules.h"

/** Borrowed bytes, without a NUL after them. */
struct span {
	const uint8_t *bytes;
	size_t count;
};

enum wire_type {
	WIRE_INT32,
	WIRE_INT64,
	WIRE_UINT32,
	WIRE_UINT64,
	WIRE_BOOL,
	WIRE_DOUBLE,
	WIRE_FIXED64,
	WIRE_STRING,
	WIRE_BYTES,
	WIRE_MESSAGE,
	/** Repeated numbers: read the field's span by wire_numbers_next(). */
	WIRE_INT32_LIST,
	WIRE_INT64_LIST,
	WIRE_FIXED64_LIST,
};

enum wire_flag {
	WIRE_REPEATED = 1 << 0,
	/** A member of a oneof: default values are written too. */
	WIRE_PRESENCE = 1 << 1,
};

struct wire_field {
	uint8_t number;
	uint8_t type;
	uint8_t flags;
	const char *name;
};

/** A message type: a field with number 0 ends its fields. */
struct wire_message {
	const char *name;
	const struct wire_field *fields;
};

/** Defines the message type @variable with the fields that follow; `static` may stand before it. */
#define WIRE_TYPE(variable, type_name, ...)                                                        \
	const struct wire_message variable = {                                                     \
		type_name, (const struct wire_field[]){ __VA_ARGS__, { 0, 0, 0, NULL } }           \
	}

/** Borrows everything. Owner: the reading thread. */
struct wire_reader {
	struct span left;
	const struct wire_message *message;
	struct findings *findings;
	/** A bit for each field number that was seen. */
	uint64_t seen;
};

/** A field with its value. */
struct wire_value {
	uint8_t number;
	uint8_t type;
	/** The value of numbers, sign-extended, or a double's bits. */
	uint64_t number_value;
	/** The value of strings, bytes, messages and lists of numbers. */
	struct span span;
};

void wire_reader_init(struct wire_reader *reader, const struct wire_message *message,
		      struct span bytes, struct findings *findings);

/** Reads the next known field; false at the end, and if nothing more can be read. */
bool wire_reader_next(struct wire_reader *reader, struct wire_value *value);

/**
 * Reads the next number of a list from @value's span, which advances. False at the end of the list,
 * and if the rest cannot be read. @name is for findings.
 */
bool wire_numbers_next(struct wire_value *value, const char *name, struct findings *findings,
		       uint64_t *number);

/**
 * The offset in @text of the first byte that is not well-formed UTF-8; the size of @text if there
 * is none.
 */
size_t utf8_valid_bytes(struct span text);

#endif
