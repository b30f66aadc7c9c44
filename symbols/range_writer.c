/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/range_writer.h"

#include <endian.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/error.h"
#include "symbols/big_bytes.h"

enum {
	SCOPE_MAX_BYTES = 4 * VARINT_MAX_BYTES,
	SCOPES_MAX_BYTES = 1 << 30,
	PART_ALIGNMENT = 8,
};

/* A range file on its way out. */
struct output {
	struct range_file_header header;
	int fd;
	uint64_t offset;
};

void range_writer_deinit(struct range_writer *writer)
{
	string_table_deinit(&writer->strings);
	big_bytes_deinit(&writer->scopes);
	for (int i = 0; i < RANGE_TABLE_COUNT; i++)
		address_runs_deinit(&writer->runs[i]);
}

int range_writer_add_scope(struct range_writer *writer, const struct range_scope *scope,
			   uint32_t *number)
{
	struct byte_vector *scopes = &writer->scopes;
	uint64_t distance;

	if (scopes->count > SCOPES_MAX_BYTES)
		return fail(-E2BIG, "more than %d bytes of functions", SCOPES_MAX_BYTES);
	if (big_bytes_reserve(scopes, scopes->count + 1 + SCOPE_MAX_BYTES))
		return fail(-ENOMEM, "no memory for functions");
	/* No scope has the number 0. */
	if (!scopes->count)
		scopes->items[scopes->count++] = 0;
	*number = scopes->count;
	distance = scope->outer ? scopes->count - scope->outer : 0;
	put_uleb128(scopes, distance << 1 | scope->is_plain);
	put_uleb128(scopes, scope->name);
	if (scope->outer) {
		put_uleb128(scopes, scope->call_file);
		put_uleb128(scopes, scope->call_line);
	}
	return 0;
}

int range_writer_add_intervals(struct range_writer *writer, enum range_table table,
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
			return fail_errno(-errno, "range file");
		if (!written)
			return fail(-EIO, "range file: nothing is written");
		left += written;
		offset += written;
		count -= written;
	}
	return 0;
}

static int put_part(struct output *output, int part, const void *bytes, size_t count)
{
	/* An empty one at the end lies where the file ends, and not where another would begin. */
	if (count)
		output->offset =
			(output->offset + PART_ALIGNMENT - 1) / PART_ALIGNMENT * PART_ALIGNMENT;
	output->header.parts[part] = (struct range_file_part){
		.offset = htole64(output->offset),
		.bytes = htole64(count),
		.hash = hash128_bytes(bytes, count),
	};
	output->offset += count;
	return write_at(output->fd, output->offset - count, bytes, count);
}

static int put_table(struct output *output, int table, struct address_table_bytes *bytes)
{
	struct number_vector *index = &bytes->addresses;
	size_t count = index->count;
	int err;

	output->header.bases[table] = htole64(bytes->base);
	output->header.row_counts[table] = htole64(bytes->row_count);
	/* The offsets go behind the addresses. */
	if (number_vector_reserve(index, 2 * count))
		return fail(-ENOMEM, "no memory for a range file");
	if (count)
		memcpy(index->items + count, bytes->offsets.items, count * sizeof(index->items[0]));
	index->count = 2 * count;
	err = put_part(output, RANGE_PART_TABLES + 2 * table, index->items,
		       index->count * sizeof(index->items[0]));
	if (err)
		return err;
	return put_part(output, RANGE_PART_TABLES + 2 * table + 1, bytes->rows.items,
			bytes->rows.count);
}

static int put_parts(struct range_writer *writer, struct output *output)
{
	int err;

	string_table_finish(&writer->strings);
	err = put_part(output, RANGE_PART_STRINGS, writer->strings.bytes.items,
		       writer->strings.bytes.count);
	string_table_deinit(&writer->strings);
	if (!err)
		err = put_part(output, RANGE_PART_SCOPES, writer->scopes.items,
			       writer->scopes.count);
	big_bytes_deinit(&writer->scopes);
	for (int i = 0; i < RANGE_TABLE_COUNT && !err; i++) {
		struct address_table_bytes bytes = { 0 };

		err = address_runs_finish(&writer->runs[i], writer->first_address,
					  writer->end_address ? writer->end_address : UINT64_MAX,
					  &bytes);
		if (!err)
			err = put_table(output, i, &bytes);
		address_table_bytes_deinit(&bytes);
	}
	return err;
}

int range_writer_finish(struct range_writer *writer, struct hash128 key, int fd)
{
	struct output output = {
		.header = { .version = htole32(RANGE_FILE_VERSION), .key = key },
		.fd = fd,
		.offset = sizeof(output.header),
	};
	int err;

	memcpy(output.header.magic, RANGE_FILE_MAGIC, sizeof(output.header.magic));
	err = put_parts(writer, &output);

	range_writer_deinit(writer);
	if (err)
		return err;
	output.header.hash =
		hash128_bytes(&output.header, offsetof(struct range_file_header, hash));
	return write_at(fd, 0, &output.header, sizeof(output.header));
}
