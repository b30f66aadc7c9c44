/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/cache/symbol_cache_writer.h"

#include <endian.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/text.h"
#include "symbols/cache/big_bytes.h"
#include "symbols/cache/symbol_block_writer.h"

enum {
	/* A cache line. */
	PART_ALIGNMENT = 64,
};

/* A symbol cache that is being written. */
struct output {
	struct symbol_cache_header header;
	int fd;
	uint64_t offset;
};

void symbol_cache_writer_deinit(struct symbol_cache_writer *writer)
{
	string_table_deinit(&writer->strings);
	big_bytes_deinit(&writer->scopes);
	for (int i = 0; i < SYMBOL_DATA_COUNT; i++)
		address_runs_deinit(&writer->runs[i]);
}

int symbol_cache_writer_add_scope(struct symbol_cache_writer *writer,
				  const struct symbol_scope *scope, uint32_t *id)
{
	return scope_bytes_add(&writer->scopes, scope, id);
}

int symbol_cache_writer_add_intervals(struct symbol_cache_writer *writer, enum symbol_data table,
				      struct interval_vector *intervals)
{
	return intervals_flatten(intervals, &writer->runs[table]);
}

static int write_at(int fd, uint64_t offset, const void *bytes, size_t count)
{
	const uint8_t *left = bytes;

	while (count) {
		ssize_t written = pwrite(fd, left, count, offset);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return fail_errno(-errno, "symbol cache");
		if (!written)
			return fail(-EIO, "symbol cache: nothing is written");
		left += written;
		offset += written;
		count -= written;
	}
	return 0;
}

static int put_part(struct output *output, int part, const void *bytes, size_t count)
{
	/*
	 * An empty part at the end has the file's end as its offset, not the next aligned offset.
	 */
	if (count)
		output->offset =
			(output->offset + PART_ALIGNMENT - 1) / PART_ALIGNMENT * PART_ALIGNMENT;
	output->header.parts[part] = (struct symbol_cache_part){
		.offset = htole64(output->offset),
		.bytes = htole64(count),
		.hash = hash128_bytes(bytes, count),
	};
	output->offset += count;
	return write_at(output->fd, output->offset - count, bytes, count);
}

/* --- rows --- */

/*
 * An iteration over the rows of all tables in parallel: the current value of each, whenever one
 * changes.
 */
struct merge {
	const struct symbol_cache_writer *writer;
	struct address_rows rows[SYMBOL_DATA_COUNT];
	struct address_row next[SYMBOL_DATA_COUNT];
	bool has_next[SYMBOL_DATA_COUNT];
	struct address_value values[SYMBOL_DATA_COUNT];
	uint64_t counts[SYMBOL_DATA_COUNT];
};

static void merge_advance(struct merge *merge, int i)
{
	merge->has_next[i] = address_rows_next(&merge->rows[i], &merge->next[i]);
	merge->counts[i] += merge->has_next[i];
}

static void merge_init(struct merge *merge, struct symbol_cache_writer *writer)
{
	*merge = (struct merge){ .writer = writer };
	for (int i = 0; i < SYMBOL_DATA_COUNT; i++) {
		address_rows_init(&merge->rows[i], &writer->runs[i], writer->first_address,
				  writer->end_address ? writer->end_address : UINT64_MAX);
		merge_advance(merge, i);
	}
}

/* False at the end. */
static bool merge_next(struct merge *merge, uint64_t *address)
{
	bool has_next = false;

	*address = UINT64_MAX;
	for (int i = 0; i < SYMBOL_DATA_COUNT; i++) {
		has_next |= merge->has_next[i];
		if (merge->has_next[i] && merge->next[i].address < *address)
			*address = merge->next[i].address;
	}
	for (int i = 0; i < SYMBOL_DATA_COUNT; i++)
		if (merge->has_next[i] && merge->next[i].address == *address) {
			merge->values[i] = merge->next[i].value;
			merge_advance(merge, i);
		}
	return has_next;
}

/*
 * True if symbol "main.cold" is a part of function "main": compilers name split-off parts like
 * this.
 */
static bool is_part_of(const char *symbol, const char *function)
{
	return *function && text_starts_with(symbol, function) && symbol[strlen(function)] == '.';
}

/*
 * The symbol that names the outermost function of @id, if that has no linkage name; 0: none is
 * needed.
 */
static uint32_t name_outermost(const struct symbol_cache_writer *writer, uint32_t id,
			       uint32_t symbol)
{
	const struct byte_vector *scopes = &writer->scopes;
	const char *names = (const char *)writer->strings.bytes.items;
	struct symbol_scope scope = { .outer = id };

	if (!id || !symbol)
		return symbol;
	while (scope.outer)
		if (!scope_bytes_read(scopes->items, scopes->count, scope.outer, &scope))
			return 0;
	if (!scope.is_plain || is_part_of(names + symbol, names + scope.name))
		return 0;
	return symbol == scope.name ? 0 : symbol;
}

static struct symbol_row merged_row(const struct merge *merge, uint64_t address)
{
	uint32_t id = merge->values[SYMBOL_DATA_SCOPES].first;

	return (struct symbol_row){
		.address = address,
		.scope.id = id,
		.scope.symbol =
			name_outermost(merge->writer, id, merge->values[SYMBOL_DATA_SYMBOLS].first),
		.line = merge->values[SYMBOL_DATA_LINES],
	};
}

static bool is_alike(const struct symbol_row *a, const struct symbol_row *b)
{
	return a->scope.id == b->scope.id && a->scope.symbol == b->scope.symbol &&
	       a->line.first == b->line.first && a->line.second == b->line.second;
}

static int make_blocks(struct symbol_cache_writer *writer, struct symbol_cache_header *header,
		       struct symbol_block_writer *blocks)
{
	struct symbol_row before = { 0 };
	struct merge merge;
	uint64_t address;
	int err = 0;

	merge_init(&merge, writer);
	while (!err && merge_next(&merge, &address)) {
		struct symbol_row row = merged_row(&merge, address);

		if (!is_alike(&row, &before))
			err = symbol_block_writer_add(blocks, &row);
		before = row;
	}
	for (int i = 0; i < SYMBOL_DATA_COUNT; i++)
		header->row_counts[i] = htole64(merge.counts[i]);
	return err ? err : symbol_block_writer_finish(blocks);
}

static int put_index(struct output *output, const struct offset_vector *addresses)
{
	_cleanup_(offset_vector_deinit) struct offset_vector index = { 0 };
	int err = address_index_build(addresses, &index);

	return err ? err :
		     put_part(output, SYMBOL_CACHE_PART_INDEX, index.items,
			      index.count * sizeof(index.items[0]));
}

static int put_parts(struct symbol_cache_writer *writer, struct output *output)
{
	_cleanup_(symbol_block_writer_deinit) struct symbol_block_writer blocks = {
		.collected = &writer->scopes
	};
	int err;

	string_table_finish(&writer->strings);
	err = put_part(output, SYMBOL_CACHE_PART_STRINGS, writer->strings.bytes.items,
		       writer->strings.bytes.count);
	if (!err)
		err = make_blocks(writer, &output->header, &blocks);
	symbol_cache_writer_deinit(writer);
	output->header.base = htole64(blocks.base);
	if (!err)
		err = put_index(output, &blocks.addresses);
	if (!err)
		err = put_part(output, SYMBOL_CACHE_PART_BLOCKS, blocks.blocks.items,
			       blocks.blocks.count);
	return err ? err :
		     put_part(output, SYMBOL_CACHE_PART_SCOPES, blocks.far.items, blocks.far.count);
}

int symbol_cache_writer_finish(struct symbol_cache_writer *writer, struct hash128 key, int fd)
{
	struct output output = {
		.header = { .version = htole32(SYMBOL_CACHE_VERSION), .key = key },
		.fd = fd,
		.offset = sizeof(output.header),
	};
	int err;

	memcpy(output.header.magic, SYMBOL_CACHE_MAGIC, sizeof(output.header.magic));
	err = put_parts(writer, &output);
	if (err)
		return err;
	output.header.hash =
		hash128_bytes(&output.header, offsetof(struct symbol_cache_header, hash));
	return write_at(fd, 0, &output.header, sizeof(output.header));
}
