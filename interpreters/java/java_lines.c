/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/java/java_lines.h"

#include <errno.h>
#include <stdlib.h>

#include "interpreters/java/compressed_stream.h"
#include "interpreters/java/java_fields.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"

enum {
	/** First byte of an entry that has two numbers after it. */
	ESCAPE = 0xff,
	LINE_BITS = 3,
};

/* Finds the table and its largest possible size, which ends with the ConstMethod. */
static int find_table(const struct java_layout *layout, struct remote_memory *memory,
		      uint64_t method, uint64_t *address, size_t *size)
{
	uint64_t const_method = 0, flags = 0, words = 0, code_size = 0, start;
	int err = java_field_read(memory, method, layout->method_const_method, &const_method);

	if (!err)
		err = java_field_read(memory, const_method, layout->const_method_flags, &flags);
	if (!err)
		err = java_field_read(memory, const_method, layout->const_method_size, &words);
	if (!err)
		err = java_field_read(memory, const_method, layout->const_method_code_size,
				      &code_size);
	if (err)
		return err;
	if (!(flags & layout->has_lines_flag))
		return fail(-ENOENT, "a method without lines");
	start = layout->const_method_bytes + code_size;
	if (words * JAVA_POINTER_BYTES <= start)
		return fail(-EBADMSG, "a method of %llu words", (unsigned long long)words);
	if (words * JAVA_POINTER_BYTES - start > JAVA_LINES_MAX_BYTES)
		return fail(-E2BIG, "lines of %llu words", (unsigned long long)words);
	*address = const_method + start;
	*size = words * JAVA_POINTER_BYTES - start;
	return 0;
}

static uint32_t usable_line(int64_t line)
{
	return line > 0 && line <= UINT16_MAX ? (uint32_t)line : 0;
}

/*
 * Finds the line of the entry at @bci, or of the nearest entry before it, as the JVM does, and that of the method's first bytecode.
 */
static int find_lines(struct compressed_stream *table, uint32_t bci, struct java_lines *lines)
{
	int64_t at = 0, number = 0, best = -1, best_line = 0, first_line = 0;

	for (;;) {
		uint8_t next = compressed_stream_byte(table);

		if (!next || table->is_at_end)
			break;
		if (next == ESCAPE) {
			at += compressed_stream_signed(table);
			number += compressed_stream_signed(table);
		} else {
			at += next >> LINE_BITS;
			number += next & ((1 << LINE_BITS) - 1);
		}
		if (!at && !first_line)
			first_line = number;
		if (at == bci || (at < bci && at >= best)) {
			best = at;
			best_line = number;
		}
		if (at == bci)
			break;
	}
	if (best < 0 || !usable_line(best_line))
		return fail(-ENOENT, "no line for bytecode %u", bci);
	*lines = (struct java_lines){
		.line = usable_line(best_line),
		.start_line = usable_line(first_line),
	};
	return 0;
}

int java_lines_of(const struct java_layout *layout, struct remote_memory *memory, uint64_t method,
		  uint32_t bci, struct java_lines *lines)
{
	_cleanup_(free_pointer) uint8_t *bytes = NULL;
	struct compressed_stream table = { .version = layout->version };
	uint64_t address = 0;
	int err = find_table(layout, memory, method, &address, &table.size);

	if (err)
		return err;
	bytes = malloc(table.size);
	if (!bytes)
		return -ENOMEM;
	err = remote_memory_read(memory, address, bytes, table.size);
	if (err)
		return err;
	table.bytes = bytes;
	return find_lines(&table, bci, lines);
}

int java_source_file(const struct java_layout *layout, struct remote_memory *memory,
		     uint64_t method, java_text text)
{
	uint64_t const_method = 0, constants = 0, holder = 0, index = 0;
	int err = java_field_read(memory, method, layout->method_const_method, &const_method);

	if (!err)
		err = java_field_read(memory, const_method, layout->const_method_constants,
				      &constants);
	if (!err && layout->klass_source_file.bytes) {
		err = java_field_read(memory, constants, layout->constant_pool_holder, &holder);
		if (!err)
			err = java_field_read(memory, holder, layout->klass_source_file, &index);
	} else if (!err) {
		err = java_field_read(memory, constants, layout->constant_pool_source_file, &index);
	}
	if (err)
		return err;
	if (!index)
		return fail(-ENOENT, "a class without a file");
	return java_constant_text(layout, memory, constants, index, text);
}
