/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The wire format of protocol buffers, read strictly (protobuf.dev/programming-guides/encoding).
 * Bytes are hostile. Every message is read against a list of the fields that it may have; what
 * breaks the rules of the format (RULE_WIRE to RULE_UTF8) is reported, and reading goes on behind it
 * where the format allows.
 */
#ifndef INTEGRATION_COLLECTOR_WIRE_READER_H
#define INTEGRATION_COLLECTOR_WIRE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "integration/collector/rules.h"

/** Borrowed bytes; no NUL behind them. */
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
	/** Repeated numbers: read the span of the field by wire_numbers_next(). */
	WIRE_INT32_LIST,
	WIRE_INT64_LIST,
	WIRE_FIXED64_LIST,
};

enum wire_flag {
	WIRE_REPEATED = 1 << 0,
	/** Of a oneof: a default value is written too. */
	WIRE_PRESENCE = 1 << 1,
};

struct wire_field {
	uint8_t number;
	uint8_t type;
	uint8_t flags;
	const char *name;
};

/** A message type: its fields end with one whose number is 0. */
struct wire_message {
	const char *name;
	const struct wire_field *fields;
};

/** Borrows everything. Owner: the thread that reads. */
struct wire_reader {
	struct span left;
	const struct wire_message *message;
	struct findings *findings;
	/** Bit per field number that was seen. */
	uint64_t seen;
};

/** A field with its value. */
struct wire_value {
	uint8_t number;
	uint8_t type;
	/** Numbers: the value, sign-extended; a double's bits. */
	uint64_t number_value;
	/** Strings, bytes, messages and lists of numbers. */
	struct span span;
};

void wire_reader_init(struct wire_reader *reader, const struct wire_message *message,
		      struct span bytes, struct findings *findings);

/** The next field that the message has; false at the end, and where nothing more can be read. */
bool wire_reader_next(struct wire_reader *reader, struct wire_value *value);

/**
 * The next number of a list, from @value's span on, which moves. False at its end, and where the
 * rest cannot be read. @name is for findings.
 */
bool wire_numbers_next(struct wire_value *value, const char *name, struct findings *findings,
		       uint64_t *number);

/** The first byte of @text that begins no well-formed UTF-8 character; its size if there is none. */
size_t utf8_valid_bytes(struct span text);

#endif
