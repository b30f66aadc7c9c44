/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block takes rows as long as they fit together with their new scopes and files. The first row
 * that does not fit is taken back and begins the next block.
 */
#include "symbols/cache/symbol_block_writer.h"

#include <errno.h>
#include <string.h>

#include "lib/base/error.h"
#include "symbols/cache/big_bytes.h"

enum {
	SHORT_ADDRESS_MAX = UINT16_MAX,
	SHORT_ADDRESS_BYTES = 2,
	NUMBER_BYTES = 4,
};

void symbol_block_writer_deinit(struct symbol_block_writer *writer)
{
	offset_vector_deinit(&writer->addresses);
	big_bytes_deinit(&writer->blocks);
	big_bytes_deinit(&writer->far);
	hash_map_deinit(&writer->far_scopes);
}

/* Bytes of a number. */
static uint32_t width_of(uint32_t number)
{
	return number ? (32 - __builtin_clz(number) + 7) / 8 : 0;
}

static uint32_t address_width(const struct symbol_block_open *open)
{
	return open->last - open->start > SHORT_ADDRESS_MAX ? NUMBER_BYTES : SHORT_ADDRESS_BYTES;
}

static uint32_t used_bytes(const struct symbol_block_open *open)
{
	return SYMBOL_BLOCK_HEAD_BYTES + (open->row_count - 1) * address_width(open) +
	       open->row_count *
		       (!!open->scope_count + !!open->file_count + width_of(open->line_bits)) +
	       open->file_count * NUMBER_BYTES +
	       open->scope_count * (SYMBOL_BLOCK_SCOPE_BYTES + 2 * width_of(open->scope_line_bits));
}

/* --- ids of a block --- */

static uint8_t find_file(struct symbol_block_writer *writer, uint32_t file)
{
	struct symbol_block_open *open = &writer->open;

	if (!file)
		return 0;
	for (uint32_t i = 0; i < open->file_count; i++)
		if (writer->files[i] == file)
			return i + 1;
	writer->files[open->file_count++] = file;
	return open->file_count;
}

/* 0: the scope is not in the block. */
static uint8_t known_scope(const struct symbol_block_writer *writer, struct symbol_scope_key key)
{
	for (uint32_t i = 0; i < writer->open.scope_count; i++)
		if (writer->scopes[i].key.id == key.id &&
		    writer->scopes[i].key.symbol == key.symbol)
			return i + 1;
	return 0;
}

static uint8_t push_scope(struct symbol_block_writer *writer, struct symbol_block_entry entry)
{
	writer->scopes[writer->open.scope_count++] = entry;
	return writer->open.scope_count;
}

/* Reads a collected scope, with the name that it gets. */
static bool read_collected(const struct symbol_block_writer *writer, struct symbol_scope_key key,
			   struct symbol_scope *scope)
{
	const struct byte_vector *collected = writer->collected;

	if (!key.id && key.symbol) {
		*scope = (struct symbol_scope){ .name = key.symbol };
		return true;
	}
	if (!scope_bytes_read(collected->items, collected->count, key.id, scope))
		return false;
	if (!scope->outer && key.symbol)
		scope->name = key.symbol;
	return true;
}

static uint64_t far_key(struct symbol_scope_key key)
{
	return (uint64_t)key.symbol << 32 | key.id;
}

static int put_far_scope(struct symbol_block_writer *writer, struct symbol_scope_key key,
			 struct symbol_scope *scope, uint32_t outer)
{
	uint32_t far;
	int err;

	scope->outer = outer;
	err = scope_bytes_add(&writer->far, scope, &far);
	if (!err && hash_map_set(&writer->far_scopes, far_key(key), far))
		err = fail(-ENOMEM, "no memory for functions");
	return err;
}

/* Adds a scope to @far after its enclosing scopes, each of which is added once. */
static int find_far_scope(struct symbol_block_writer *writer, struct symbol_scope_key key,
			  uint64_t *far)
{
	while (!hash_map_find(&writer->far_scopes, far_key(key), far)) {
		struct symbol_scope_key at = key, outer = key;
		struct symbol_scope scope = { 0 };
		uint64_t outer_far = 0;
		int err;

		while (read_collected(writer, at, &scope) && scope.outer) {
			outer.id = scope.outer;
			if (hash_map_find(&writer->far_scopes, far_key(outer), &outer_far))
				break;
			at = outer;
		}
		err = put_far_scope(writer, at, &scope, scope.outer ? outer_far : 0);
		if (err)
			return err;
	}
	return 0;
}

static int push_far_scope(struct symbol_block_writer *writer, struct symbol_scope_key key,
			  uint8_t *local)
{
	uint64_t far;
	int err = find_far_scope(writer, key, &far);

	if (err)
		return err;
	*local = push_scope(writer, (struct symbol_block_entry){ .key = key,
								 .name = far | SYMBOL_BLOCK_FAR });
	return 0;
}

/* Finds or adds a scope; enclosing scopes come before it. */
static int find_scope(struct symbol_block_writer *writer, struct symbol_scope_key key,
		      uint8_t *local)
{
	struct symbol_block_entry entries[SYMBOL_BLOCK_DEPTH];
	struct symbol_scope scopes[SYMBOL_BLOCK_DEPTH];
	uint32_t depth = 0;
	int err;

	*local = 0;
	while (depth ? key.id : key.id || key.symbol) {
		*local = known_scope(writer, key);
		if (*local)
			break;
		if (depth == SYMBOL_BLOCK_DEPTH) {
			err = push_far_scope(writer, key, local);
			if (err)
				return err;
			break;
		}
		if (!read_collected(writer, key, &scopes[depth]))
			return fail(-EINVAL, "no function is %u", key.id);
		entries[depth].key = key;
		key.id = scopes[depth++].outer;
	}
	while (depth--) {
		const struct symbol_scope *scope = &scopes[depth];

		entries[depth].name = scope->name;
		entries[depth].outer = *local;
		entries[depth].call_file = find_file(writer, scope->call_file);
		entries[depth].call_line = scope->call_line;
		entries[depth].start_line = scope->start_line;
		writer->open.scope_line_bits |= scope->call_line | scope->start_line;
		*local = push_scope(writer, entries[depth]);
	}
	return 0;
}

/* --- blocks --- */

static uint8_t *put_number(uint8_t *at, uint32_t number, uint32_t width)
{
	for (uint32_t i = 0; i < width; i++)
		*at++ = (uint8_t)(number >> 8 * i);
	return at;
}

static void write_block(const struct symbol_block_writer *writer, uint8_t *at)
{
	const struct symbol_block_open *open = &writer->open;
	uint32_t width = address_width(open), line_width = width_of(open->line_bits);
	uint32_t scope_width = width_of(open->scope_line_bits);

	at = put_number(at, open->row_count, 1);
	at = put_number(at, open->scope_count, 1);
	at = put_number(at, open->file_count, 1);
	at = put_number(at, (width == NUMBER_BYTES) | line_width << 1 | scope_width << 4, 1);
	for (uint32_t i = 1; i < open->row_count; i++)
		at = put_number(at, writer->rows[i].address, width);
	for (uint32_t i = 0; i < open->row_count && open->scope_count; i++)
		at = put_number(at, writer->rows[i].scope, 1);
	for (uint32_t i = 0; i < open->row_count && open->file_count; i++)
		at = put_number(at, writer->rows[i].file, 1);
	for (uint32_t i = 0; i < open->row_count; i++)
		at = put_number(at, writer->rows[i].line, line_width);
	for (uint32_t i = 0; i < open->file_count; i++)
		at = put_number(at, writer->files[i], NUMBER_BYTES);
	for (uint32_t i = 0; i < open->scope_count; i++) {
		at = put_number(at, writer->scopes[i].name, NUMBER_BYTES);
		at = put_number(at, writer->scopes[i].outer, 1);
		at = put_number(at, writer->scopes[i].call_file, 1);
		at = put_number(at, writer->scopes[i].start_line, scope_width);
		at = put_number(at, writer->scopes[i].call_line, scope_width);
	}
}

int symbol_block_writer_finish(struct symbol_block_writer *writer)
{
	struct symbol_block_open *open = &writer->open;
	struct byte_vector *blocks = &writer->blocks;

	if (!open->row_count)
		return 0;
	if (offset_vector_push(&writer->addresses, open->start - writer->base) ||
	    big_bytes_reserve(blocks, blocks->count + SYMBOL_BLOCK_BYTES))
		return fail(-ENOMEM, "no memory for functions and lines");
	memset(blocks->items + blocks->count, 0, SYMBOL_BLOCK_BYTES);
	write_block(writer, blocks->items + blocks->count);
	blocks->count += SYMBOL_BLOCK_BYTES;
	*open = (struct symbol_block_open){ 0 };
	return 0;
}

static int put_row(struct symbol_block_writer *writer, const struct symbol_row *row)
{
	struct symbol_block_open *open = &writer->open;
	uint8_t scope;
	int err = find_scope(writer, row->scope, &scope);

	if (err)
		return err;
	if (!open->row_count)
		open->start = row->address;
	open->last = row->address;
	open->line_bits |= row->line.second;
	writer->rows[open->row_count].address = row->address - open->start;
	writer->rows[open->row_count].line = row->line.second;
	writer->rows[open->row_count].scope = scope;
	writer->rows[open->row_count].file = find_file(writer, row->line.first);
	open->row_count++;
	return 0;
}

int symbol_block_writer_add(struct symbol_block_writer *writer, const struct symbol_row *row)
{
	struct symbol_block_open before = writer->open;
	int err;

	if (!writer->addresses.count && !before.row_count)
		writer->base = row->address;
	if (row->address - writer->base > UINT32_MAX)
		return fail(-E2BIG, "functions and lines of more than 4 GiB");
	err = put_row(writer, row);
	if (err || (used_bytes(&writer->open) <= SYMBOL_BLOCK_USED_MAX &&
		    writer->open.row_count <= SYMBOL_BLOCK_ROWS_MAX))
		return err;
	writer->open = before;
	err = symbol_block_writer_finish(writer);
	return err ? err : put_row(writer, row);
}
