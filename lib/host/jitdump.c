/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/host/jitdump.h"

#include <errno.h>
#include <string.h>

#include "lib/base/byte_reader.h"
#include "lib/base/error.h"

enum {
	MAGIC = 0x4a695444,
	VERSION = 1,
	HEADER_BYTES = 40,
	HEADER_MAX_BYTES = 4096,

	RECORD_LOAD = 0,
	RECORD_MOVE = 1,
	RECORD_DEBUG_INFO = 2,

	RECORD_HEADER_BYTES = 16,
	LOAD_BYTES = 56,
	MOVE_BYTES = 64,
	/* Limit of a function's name in the file; CODE_NAME_BYTES of it are stored. Longer names are malformed. */
	NAME_MAX_BYTES = 4096,

	/*
	 * V8 adds the size of an ELF header to the addresses of lines, since perf makes an ELF file of each
	 * function. Other runtimes do not, and the file does not state it. But no address of V8's is lower than
	 * this, and nearly all functions have a line for their first instructions.
	 */
	LINE_SHIFT = 0x40,

	/* Address, line and column. The file's name and its NUL follow. */
	ROW_BYTES = 16,
	/* V8 pads records to a multiple of this. */
	RECORD_ALIGNMENT = 8,
	/*
	 * V8 (of node 20) frees a file's name before it writes it (LinuxPerfJitLogger of its
	 * diagnostics/perf-jit.cc). By then glibc's malloc() has overwritten so many bytes, with one or two
	 * addresses. The highest bytes of addresses are zeros.
	 */
	FREED_BYTES = 16,
};

struct record {
	uint32_t type;
	uint32_t bytes;
	struct byte_reader reader;
};

void jitdump_deinit(struct jitdump *dump)
{
	code_names_deinit(&dump->names);
	code_lines_deinit(&dump->lines);
	*dump = (struct jitdump){ 0 };
}

size_t jitdump_bytes(const struct jitdump *dump)
{
	return code_names_bytes(&dump->names) + code_lines_bytes(&dump->lines);
}

/* --- records --- */

static bool is_file_name(const char *name)
{
	if (!*name)
		return false;
	for (; *name; name++)
		if ((unsigned char)*name < ' ' || *name == 0x7f)
			return false;
	return true;
}

/* End of the file's name, before ":LINE:COLUMN", with which V8 ends names of functions; NULL without that. */
static const char *file_end(const char *function)
{
	const char *end = function + strlen(function);

	for (int i = 0; i < 2; i++) {
		const char *number = end;

		while (number > function && number[-1] >= '0' && number[-1] <= '9')
			number--;
		if (number == end || number == function || number[-1] != ':')
			return NULL;
		end = number - 1;
	}
	return end;
}

/* Restores a freed file name from V8's name of the function, "JS:*name file:line:column". */
static int restore_file(struct jitdump *dump, const char *function)
{
	size_t length = dump->freed_name_bytes;
	const char *end = file_end(function), *file;

	if (!end || (size_t)(end - function) <= length || end[-(ssize_t)length - 1] != ' ')
		return -EBADMSG;
	file = end - length;
	if (!is_file_name(file) ||
	    memcmp(file + FREED_BYTES, dump->lines.files.items, length - FREED_BYTES) != 0)
		return -EBADMSG;
	return code_lines_set_file(&dump->lines, file, length);
}

/* Packs the pending lines, if they can be the function's. */
static int pack_lines(struct jitdump *dump, uint64_t start, uint32_t size, const char *name,
		      const void **packed, uint32_t *bytes)
{
	const struct code_line *rows;
	int err;

	*packed = NULL;
	*bytes = 0;
	if (!dump->has_lines || dump->lines_start != start)
		return 0;
	err = dump->freed_name_bytes ? restore_file(dump, name) : 0;
	if (err)
		return err == -ENOMEM ? err : 0;
	if (code_lines_pack(&dump->lines, packed, bytes))
		return -ENOMEM;
	rows = dump->lines.rows.items;
	if (!dump->lines.rows.count ||
	    rows[dump->lines.rows.count - 1].offset > (uint64_t)size + LINE_SHIFT) {
		*bytes = 0;
		return 0;
	}
	if (rows[0].offset < LINE_SHIFT)
		dump->has_plain_lines = true;
	return 0;
}

static int take_load(struct jitdump *dump, struct code_batch *batch, struct record *record)
{
	struct byte_reader *reader = &record->reader;
	uint64_t start, size;
	const void *packed;
	uint32_t bytes;
	const char *name;
	int err;

	/* Skips pid, tid and vma. The number of the function follows its size. */
	byte_reader_skip(reader, 16);
	start = byte_reader_u64(reader);
	size = byte_reader_u64(reader);
	byte_reader_skip(reader, 8);
	name = byte_reader_string(reader);
	/* The function has no code, or more than any function can have. */
	if (!name || !*name || !size || size > UINT32_MAX || start + size < start)
		return 0;
	err = pack_lines(dump, start, size, name, &packed, &bytes);
	if (!err)
		err = code_batch_add(batch, start, size, name, strlen(name), packed, bytes);
	dump->has_lines = false;
	return err;
}

static int take_move(struct code_batch *batch, struct record *record)
{
	struct byte_reader *reader = &record->reader;
	uint64_t old_start, start, size;

	byte_reader_skip(reader, 16);
	old_start = byte_reader_u64(reader);
	start = byte_reader_u64(reader);
	size = byte_reader_u64(reader);
	if (byte_reader_failed(reader) || !size || size > UINT32_MAX || start + size < start)
		return 0;
	return code_batch_move(batch, old_start, start, size);
}

static int add_line(struct jitdump *dump, uint64_t address, uint32_t line, const char *file,
		    size_t length)
{
	if (address < dump->lines_start || address - dump->lines_start > UINT32_MAX)
		return -EBADMSG;
	return code_lines_add(&dump->lines, address - dump->lines_start, line, file, length);
}

/* Whether the rest of the record is padding. */
static bool is_fill(struct byte_reader *reader)
{
	size_t left = byte_reader_left(reader);

	if (byte_reader_failed(reader) || left >= RECORD_ALIGNMENT)
		return false;
	while (left--)
		if (byte_reader_u8(reader))
			return false;
	return true;
}

/* One malformed row ends all rows, since the start of the next one is not known. */
static int add_lines(struct jitdump *dump, struct byte_reader reader, uint64_t count)
{
	const char *file = NULL, *name;
	int err = 0;

	for (uint64_t i = 0; i < count && !err; i++) {
		uint64_t address = byte_reader_u64(&reader);
		uint32_t line = byte_reader_u32(&reader);

		/* The column. */
		byte_reader_skip(&reader, 4);
		name = byte_reader_string(&reader);
		/* The same file as before. */
		if (!name || strcmp(name, "\xff") != 0)
			file = name;
		if (!file || !is_file_name(file))
			return -EBADMSG;
		err = add_line(dump, address, line, file, strlen(file));
	}
	return err || is_fill(&reader) ? err : -EBADMSG;
}

/*
 * Adds rows whose file names were all freed before they were written, if they can be one name of @name_bytes of
 * which at least the part behind the last slash is left. That part is used as the file.
 */
static int add_freed_lines(struct jitdump *dump, struct byte_reader reader, uint64_t count,
			   size_t name_bytes)
{
	size_t path_bytes = name_bytes - FREED_BYTES;
	int err = 0;

	code_lines_clear(&dump->lines);
	for (uint64_t i = 0; i < count && !err; i++) {
		uint64_t address = byte_reader_u64(&reader);
		uint32_t line = byte_reader_u32(&reader);
		const char *name, *path;

		byte_reader_skip(&reader, 4);
		name = byte_reader_bytes(&reader, name_bytes + 1);
		path = name ? name + FREED_BYTES : NULL;
		if (!name || !memchr(name, '\0', FREED_BYTES) || !memchr(path, '/', path_bytes) ||
		    strnlen(path, path_bytes + 1) != path_bytes)
			return -EBADMSG;
		err = add_line(dump, address, line, path, path_bytes);
	}
	if (!err && (!is_fill(&reader) || dump->lines.file_count != 1))
		return -EBADMSG;
	dump->freed_name_bytes = name_bytes;
	return err;
}

/* Adds such rows for any length of the name that fits a record of this size. */
static int find_freed_lines(struct jitdump *dump, struct byte_reader reader, uint64_t count)
{
	uint64_t left = byte_reader_left(&reader);
	int err = -EBADMSG;

	if (!count)
		return err;
	for (uint32_t fill = 0; fill < RECORD_ALIGNMENT && fill < left; fill++) {
		uint64_t bytes = (left - fill) / count;

		if (bytes <= ROW_BYTES + FREED_BYTES + 1 || bytes * count != left - fill)
			continue;
		err = add_freed_lines(dump, reader, count, bytes - ROW_BYTES - 1);
		if (err != -EBADMSG)
			return err;
	}
	return err;
}

static int take_lines(struct jitdump *dump, struct record *record)
{
	struct byte_reader *reader = &record->reader;
	uint64_t count;
	int err;

	dump->has_lines = false;
	dump->freed_name_bytes = 0;
	code_lines_clear(&dump->lines);
	dump->lines_start = byte_reader_u64(reader);
	count = byte_reader_u64(reader);
	if (count > CODE_LINES_MAX_ROWS)
		return 0;
	err = add_lines(dump, *reader, count);
	if (err == -EBADMSG)
		err = find_freed_lines(dump, *reader, count);
	dump->has_lines = !err;
	return err == -ENOMEM ? err : 0;
}

static int take_record(struct jitdump *dump, struct code_batch *batch, struct record *record)
{
	switch (record->type) {
	case RECORD_LOAD:
		return take_load(dump, batch, record);
	case RECORD_MOVE:
		return take_move(batch, record);
	case RECORD_DEBUG_INFO:
		return take_lines(dump, record);
	default:
		return 0;
	}
}

/* --- the file --- */

/* Bytes of the record that are needed to read it; never more than JITDUMP_READ_BYTES. */
static uint32_t wanted_bytes(const struct record *record)
{
	uint32_t most = RECORD_HEADER_BYTES;

	if (record->type == RECORD_LOAD)
		most = LOAD_BYTES + NAME_MAX_BYTES;
	else if (record->type == RECORD_MOVE)
		most = MOVE_BYTES;
	else if (record->type == RECORD_DEBUG_INFO && record->bytes <= JITDUMP_READ_BYTES)
		most = record->bytes;
	return record->bytes < most ? record->bytes : most;
}

/* Does nothing until the whole header is there. */
static int take_header(struct jitdump *dump, const void *start, size_t size, uint64_t left_bytes,
		       uint64_t *used)
{
	uint32_t magic, version, bytes;
	struct byte_reader reader;

	if (size < HEADER_BYTES)
		return 0;
	byte_reader_init(&reader, start, size);
	magic = byte_reader_u32(&reader);
	version = byte_reader_u32(&reader);
	bytes = byte_reader_u32(&reader);
	if (magic != MAGIC)
		return fail(-EOPNOTSUPP, "no jitdump file of this machine: it begins with %#x",
			    magic);
	if (version != VERSION)
		return fail(-EOPNOTSUPP, "jitdump version %u", version);
	if (bytes < HEADER_BYTES || bytes > HEADER_MAX_BYTES)
		return fail(-EBADMSG, "jitdump header of %u bytes", bytes);
	if (bytes > left_bytes)
		return 0;
	*used = bytes;
	dump->has_header = true;
	return 0;
}

static int take_records(struct jitdump *dump, struct code_batch *batch, const uint8_t *bytes,
			size_t size, uint64_t left_bytes, uint64_t *used)
{
	while (*used < size && size - *used >= RECORD_HEADER_BYTES) {
		struct record record;
		uint32_t wanted;
		int err;

		byte_reader_init(&record.reader, bytes + *used, size - *used);
		record.type = byte_reader_u32(&record.reader);
		record.bytes = byte_reader_u32(&record.reader);
		if (record.bytes < RECORD_HEADER_BYTES)
			return fail(-EBADMSG, "jitdump record of %u bytes", record.bytes);
		wanted = wanted_bytes(&record);
		if (record.bytes > left_bytes - *used || wanted > size - *used)
			return 0;
		byte_reader_init(&record.reader, bytes + *used, wanted);
		byte_reader_skip(&record.reader, RECORD_HEADER_BYTES);
		err = take_record(dump, batch, &record);
		if (err)
			return err;
		*used += record.bytes;
	}
	return 0;
}

int jitdump_add(struct jitdump *dump, const void *bytes, size_t size, uint64_t left_bytes,
		uint64_t *used_bytes)
{
	struct code_batch *batch;
	uint64_t used = 0;
	int err = 0;

	if (dump->is_broken)
		return fail(-EBADMSG, "the file is broken");
	if (!dump->has_header)
		err = take_header(dump, bytes, size, left_bytes, &used);
	if (!dump->has_header) {
		dump->is_broken = err;
		return err;
	}
	batch = code_batch_begin(&dump->names);
	if (!batch)
		return fail(-ENOMEM, "no memory for names of code");
	err = take_records(dump, batch, bytes, size, left_bytes, &used);
	dump->is_broken = err == -EBADMSG;
	/* Lines stay only if their function has not been read yet. */
	if (!dump->has_lines)
		code_lines_deinit(&dump->lines);
	if (code_batch_end(batch, dump->is_broken ? 0 : err))
		return fail(-ENOMEM, "no memory for names of code");
	/* Later functions, which are not known, may overlap these. */
	if (dump->is_broken)
		code_names_deinit(&dump->names);
	if (!err)
		*used_bytes = used;
	return err;
}

bool jitdump_find(const struct jitdump *dump, uint64_t address, struct code_location *location)
{
	const struct code_function *function = code_names_find(&dump->names, address);
	uint32_t shift = dump->has_plain_lines ? 0 : LINE_SHIFT, name_bytes;
	const char *text;

	if (!function)
		return false;
	text = code_names_text(&dump->names, function);
	name_bytes = strlen(text) + 1;
	*location = (struct code_location){ .function = text };
	location->file = code_lines_find(text + name_bytes, function->text_bytes - name_bytes,
					 address - function->start + shift, &location->line);
	return true;
}
