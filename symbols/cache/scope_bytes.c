/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/cache/scope_bytes.h"

#include <errno.h>
#include <string.h>

#include "lib/base/error.h"
#include "symbols/cache/big_bytes.h"

enum {
	/* Five numbers of 32 bits. */
	SCOPE_MAX_BYTES = 5 * 5,
};

int scope_bytes_add(struct byte_vector *bytes, const struct symbol_scope *scope, uint32_t *id)
{
	uint64_t distance;

	if (bytes->count >= SCOPE_BYTES_MAX - SCOPE_MAX_BYTES)
		return fail(-E2BIG, "more than %d bytes of functions", SCOPE_BYTES_MAX);
	if (big_bytes_reserve(bytes, bytes->count + 1 + 5 * VARINT_MAX_BYTES))
		return fail(-ENOMEM, "no memory for functions");
	/* 0 is not a scope's id. */
	if (!bytes->count)
		bytes->items[bytes->count++] = 0;
	*id = bytes->count;
	distance = scope->outer ? bytes->count - scope->outer : 0;
	put_uleb128(bytes, distance << 1 | scope->is_plain);
	put_uleb128(bytes, scope->name);
	put_uleb128(bytes, scope->start_line);
	if (scope->outer) {
		put_uleb128(bytes, scope->call_file);
		put_uleb128(bytes, scope->call_line);
	}
	return 0;
}

/* Like byte_reader_uleb128(), for a 32-bit number that is known to end before the bytes do. */
static inline uint32_t read_uleb128(const uint8_t **position)
{
	uint32_t value = 0;

	for (uint32_t shift = 0; shift < 32; shift += 7) {
		uint8_t byte = *(*position)++;

		value |= (uint32_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			break;
	}
	return value;
}

bool scope_bytes_read(const uint8_t *bytes, size_t count, uint32_t id, struct symbol_scope *scope)
{
	uint8_t last[SCOPE_MAX_BYTES] = { 0 };
	const uint8_t *position;
	uint32_t head;

	if (!id || id >= count)
		return false;
	position = bytes + id;
	if (count - id < SCOPE_MAX_BYTES) {
		memcpy(last, position, count - id);
		position = last;
	}
	head = read_uleb128(&position);
	*scope = (struct symbol_scope){ .is_plain = head & 1, .name = read_uleb128(&position) };
	scope->start_line = read_uleb128(&position);
	if (head >> 1 >= id)
		return false;
	if (head >> 1) {
		scope->outer = id - (head >> 1);
		scope->call_file = read_uleb128(&position);
		scope->call_line = read_uleb128(&position);
	}
	return true;
}
