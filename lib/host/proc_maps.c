/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text comes from the kernel, but its paths are chosen by whoever made the files, and tests
 * and fuzzers feed it rubbish. It is taken line by line, so that the text of a process with a
 * million mappings is never in memory as a whole.
 */
#include "lib/host/proc_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/vector.h"
#include "lib/host/line_reader.h"
#include "lib/host/mapping_query.h"
#include "lib/host/proc_info.h"

VECTOR_DEFINE(mapping_vector, struct proc_mapping)
VECTOR_DEFINE(char_vector, char)

/* While the maps are built, a row's path is its offset in paths, since the block may move. */
struct maps_builder {
	enum proc_maps_filter filter;
	/* The rows come from a text, in which line ends of paths are escaped. */
	bool is_text;
	struct mapping_vector rows;
	struct char_vector paths;
	/* Offset of the last path, since neighbouring rows mostly have the same file. */
	size_t last_path;
	uint64_t last_end;
	bool is_truncated;
	/* For PROC_MAPS_CODE: the last row, if it was left out and is a file's, and its path; end 0: none. */
	struct proc_mapping left_out;
	struct char_vector left_out_path;
	/* For PROC_MAPS_CODE: executable memory without a file came after the last row of a file. */
	bool wants_file;
};

static void maps_builder_deinit(struct maps_builder *builder)
{
	mapping_vector_deinit(&builder->rows);
	char_vector_deinit(&builder->paths);
	char_vector_deinit(&builder->left_out_path);
}

static void finish(struct maps_builder *builder, struct proc_maps *maps)
{
	for (size_t i = 0; i < builder->rows.count; i++)
		builder->rows.items[i].path =
			builder->paths.items + (uintptr_t)builder->rows.items[i].path;
	*maps = (struct proc_maps){
		.rows = builder->rows.items,
		.count = builder->rows.count,
		.is_truncated = builder->is_truncated,
		.paths = builder->paths.items,
	};
	builder->rows = (struct mapping_vector){ 0 };
	builder->paths = (struct char_vector){ 0 };
	char_vector_deinit(&builder->left_out_path);
}

/* A number in hex or decimal digits at *@cursor, which moves behind it. */
static bool read_number(const char **cursor, const char *end, unsigned int base, uint64_t *number)
{
	const char *position = *cursor;
	uint64_t value = 0;

	for (; position < end; position++) {
		unsigned int digit;

		if (*position >= '0' && *position <= '9')
			digit = *position - '0';
		else if (*position >= 'a' && *position <= 'f')
			digit = *position - 'a' + 10;
		else
			break;
		if (digit >= base || __builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return false;
	}
	if (position == *cursor)
		return false;
	*cursor = position;
	*number = value;
	return true;
}

static bool read_char(const char **cursor, const char *end, char expected)
{
	if (*cursor == end || **cursor != expected)
		return false;
	(*cursor)++;
	return true;
}

static bool read_protection(const char **cursor, const char *end, struct proc_mapping *row)
{
	const char *text = *cursor;

	if (end - text < 4)
		return false;
	row->protection = (text[0] == 'r' ? PROT_READ : 0) | (text[1] == 'w' ? PROT_WRITE : 0) |
			  (text[2] == 'x' ? PROT_EXEC : 0);
	*cursor += 4;
	return true;
}

/* Reads all fields but the path; *@cursor is left at the blanks before the path, or at the end. */
static bool read_numbers(const char **cursor, const char *end, struct proc_mapping *row)
{
	uint64_t major, minor;

	if (!read_number(cursor, end, 16, &row->start) || !read_char(cursor, end, '-') ||
	    !read_number(cursor, end, 16, &row->end) || !read_char(cursor, end, ' ') ||
	    !read_protection(cursor, end, row) || !read_char(cursor, end, ' ') ||
	    !read_number(cursor, end, 16, &row->offset) || !read_char(cursor, end, ' ') ||
	    !read_number(cursor, end, 16, &major) || !read_char(cursor, end, ':') ||
	    !read_number(cursor, end, 16, &minor) || !read_char(cursor, end, ' ') ||
	    !read_number(cursor, end, 10, &row->inode))
		return false;
	if (*cursor < end && **cursor != ' ')
		return false;
	row->device_major = major;
	row->device_minor = minor;
	return major <= UINT32_MAX && minor <= UINT32_MAX;
}

/* Decodes \012 to line ends; the kernel escapes nothing else. */
static size_t unescape(char *path, size_t length)
{
	static const char escape[] = "\\012";
	size_t written = 0;

	for (size_t i = 0; i < length; written++) {
		if (length - i >= 4 && !memcmp(path + i, escape, 4)) {
			path[written] = '\n';
			i += 4;
		} else {
			path[written] = path[i++];
		}
	}
	return written;
}

/* Copies the path behind the others and cuts the mark of deleted files off. */
static int add_path(struct maps_builder *builder, const char *text, size_t length,
		    struct proc_mapping *row)
{
	static const char mark[] = " (deleted)";
	const size_t mark_bytes = sizeof(mark) - 1;
	struct char_vector *paths = &builder->paths;
	size_t offset = paths->count;
	char *path;

	if (!length && offset) {
		/* The NUL of the path before serves as an empty path. */
		row->path = (const char *)(uintptr_t)(offset - 1);
		return 0;
	}
	if (char_vector_reserve(paths, offset + length + 1))
		return fail(-ENOMEM, "no memory for the paths of mappings");
	path = paths->items + offset;
	memcpy(path, text, length);
	if (builder->is_text)
		length = unescape(path, length);
	if (length > mark_bytes && path[0] == '/' &&
	    !memcmp(path + length - mark_bytes, mark, mark_bytes)) {
		length -= mark_bytes;
		row->is_deleted = true;
	}
	path[length] = '\0';
	if (offset && !strcmp(paths->items + builder->last_path, path)) {
		row->path = (const char *)(uintptr_t)builder->last_path;
		return 0;
	}
	paths->count += length + 1;
	builder->last_path = offset;
	row->path = (const char *)(uintptr_t)offset;
	return 0;
}

static int add_row(struct maps_builder *builder, struct proc_mapping *row, const char *path,
		   size_t length)
{
	int err;

	if (builder->rows.count == PROC_MAPS_MAX_ROWS ||
	    builder->paths.count + length >= PROC_MAPS_MAX_PATH_BYTES) {
		builder->is_truncated = true;
		return 0;
	}
	err = add_path(builder, path, length, row);
	if (err)
		return err;
	if (mapping_vector_push(&builder->rows, *row))
		return fail(-ENOMEM, "no memory for mappings");
	return 0;
}

/* Remembers a row that is left out until it is known whether it belongs to PROC_MAPS_CODE. */
static int leave_out(struct maps_builder *builder, const struct proc_mapping *row, const char *path,
		     size_t length)
{
	if (builder->filter != PROC_MAPS_CODE || !row->inode)
		return 0;
	if (char_vector_reserve(&builder->left_out_path, length + 1))
		return fail(-ENOMEM, "no memory for a path");
	memcpy(builder->left_out_path.items, path, length);
	builder->left_out_path.count = length;
	builder->left_out = *row;
	return 0;
}

/* Adds the row that was left out before executable memory without a file. */
static int add_left_out(struct maps_builder *builder)
{
	struct proc_mapping row = builder->left_out;

	builder->wants_file = true;
	builder->left_out.end = 0;
	return row.end ? add_row(builder, &row, builder->left_out_path.items,
				 builder->left_out_path.count) :
			 0;
}

/* True for anonymous memory, which may have been given a name. */
static bool is_anonymous(const struct proc_mapping *row, const char *path, size_t length)
{
	static const char prefix[] = "[anon";

	return !row->inode && (!length || (length >= sizeof(prefix) - 1 &&
					   !memcmp(path, prefix, sizeof(prefix) - 1)));
}

static int add_line(void *context, const char *line, size_t length)
{
	struct maps_builder *builder = context;
	const char *cursor = line, *end = line + length;
	struct proc_mapping row = { 0 };
	int err = 0;

	if (!read_numbers(&cursor, end, &row) || row.start >= row.end)
		return fail(-EBADMSG, "a line of /proc/PID/maps cannot be read: %.*s",
			    length < 100 ? (int)length : 100, line);
	/*
	 * The kernel makes the text chunk by chunk while the process maps and unmaps, so a row may overlap an
	 * outdated one before it. The first one stays.
	 */
	if (row.start < builder->last_end)
		return 0;
	builder->last_end = row.end;
	while (cursor < end && *cursor == ' ')
		cursor++;
	if (builder->filter != PROC_MAPS_ALL && !(row.protection & PROT_EXEC) &&
	    !(builder->wants_file && row.inode))
		return leave_out(builder, &row, cursor, end - cursor);
	if (builder->filter == PROC_MAPS_CODE && is_anonymous(&row, cursor, end - cursor))
		err = add_left_out(builder);
	if (row.inode) {
		builder->wants_file = false;
		builder->left_out.end = 0;
	}
	return err ? err : add_row(builder, &row, cursor, end - cursor);
}

int proc_maps_parse(struct proc_maps *maps, const char *text, size_t size,
		    enum proc_maps_filter filter)
{
	_cleanup_(maps_builder_deinit) struct maps_builder builder = { .filter = filter,
								       .is_text = true };
	int err;

	err = lines_of_text(text, size, add_line, &builder);
	if (!err)
		finish(&builder, maps);
	return err;
}

struct maps_reading {
	struct proc_maps *maps;
	enum proc_maps_filter filter;
};

/* -ESRCH: the file has no line, which means that this task has no memory. */
static int read_text(int fd, struct maps_builder *builder)
{
	int err;

	builder->is_text = true;
	err = lines_of_fd(fd, PROC_MAPS_MAX_TEXT_BYTES, add_line, builder);
	if (err == -E2BIG)
		builder->is_truncated = true;
	else if (err)
		return err;
	return builder->last_end ? 0 : -ESRCH;
}

/* Asks for the rows of code only. -EOPNOTSUPP: the text is needed. */
static int query_rows(int fd, struct maps_builder *builder)
{
	struct proc_mapping row;
	char path[PATH_MAX];
	int err;

	while (!builder->is_truncated) {
		err = mapping_query_code(fd, builder->last_end, &row, path);
		/* A process without any code is just being made. */
		if (err == -ENOENT && builder->rows.count)
			return 0;
		if (err)
			return err == -ENOENT ? -EOPNOTSUPP : err;
		/* It has changed since the one below was asked for. */
		if (row.start >= row.end || row.start < builder->last_end)
			return -EOPNOTSUPP;
		/* Its neighbours are in the text only. */
		if (builder->filter == PROC_MAPS_CODE && is_anonymous(&row, path, strlen(path)))
			return -EOPNOTSUPP;
		builder->last_end = row.end;
		err = add_row(builder, &row, path, strlen(path));
		if (err)
			return err;
	}
	return 0;
}

static int read_file(void *context, pid_t tid, const char *path)
{
	const struct maps_reading *reading = context;
	_cleanup_(maps_builder_deinit) struct maps_builder asked = { .filter = reading->filter };
	_cleanup_(maps_builder_deinit) struct maps_builder read = { .filter = reading->filter };
	_cleanup_(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct maps_builder *builder = &asked;
	int err = -EOPNOTSUPP;

	(void)tid;
	if (fd < 0)
		return errno == ENOENT || errno == ESRCH ? -ESRCH : fail_errno(-errno, "%s", path);
	if (reading->filter != PROC_MAPS_ALL)
		err = query_rows(fd, &asked);
	if (err == -EOPNOTSUPP) {
		builder = &read;
		err = read_text(fd, &read);
	}
	if (err)
		return err;
	finish(builder, reading->maps);
	return 0;
}

int proc_maps_read(struct proc_maps *maps, const char *proc_root, pid_t pid,
		   enum proc_maps_filter filter)
{
	struct maps_reading reading = { .maps = maps, .filter = filter };
	int err = proc_try_threads(proc_root, pid, "maps", read_file, &reading);

	return err == -ESRCH ? fail(-ESRCH, "process %d is gone, or has no memory", pid) : err;
}

void proc_maps_deinit(struct proc_maps *maps)
{
	free(maps->rows);
	free(maps->paths);
	*maps = (struct proc_maps){ 0 };
}
