/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/open/open_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/byte_reader.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/text.h"
#include "viewer/open/gunzip.h"
#include "viewer/open/json_index.h"
#include "viewer/open/open_folded.h"
#include "viewer/open/open_json.h"
#include "viewer/open/open_otlp.h"
#include "viewer/open/open_page.h"
#include "viewer/open/open_perf.h"
#include "viewer/open/open_pprof.h"
#include "viewer/open/open_pprof_text.h"
#include "viewer/open/otlp_version.h"

enum {
	FILE_MAX_MIB = 256,
	UNPACKED_MAX_MIB = 1024,
	/*
	 * Bytes of a file that are searched for non-text. Binary formats have such bytes earlier.
	 */
	TEXT_SEARCHED_BYTES = 4096,
};

/* Wire types of protocol buffers. */
enum wire_type {
	WIRE_VARINT = 0,
	WIRE_64_BITS = 1,
	WIRE_BYTES = 2,
	WIRE_32_BITS = 5,
};

enum {
	WIRE_TYPE_BITS = 3,
	/* Types of values, and strings, the first of which is empty. OTLP has only fields 1 and 2. */
	PPROF_TYPES = 1,
	PPROF_TEXTS = 6,
	OTLP_LAST_FIELD = 2,
};

enum profile_format {
	FORMAT_NONE,
	FORMAT_PPROF,
	FORMAT_OTLP,
	FORMAT_FOLDED,
};

/* Skips the value of a field. A wire type that is not known fails the reader. */
static void skip_value(struct byte_reader *reader, uint64_t tag)
{
	switch (tag & ((1 << WIRE_TYPE_BITS) - 1)) {
	case WIRE_VARINT:
		byte_reader_uleb128(reader);
		break;
	case WIRE_64_BITS:
		byte_reader_skip(reader, 8);
		break;
	case WIRE_BYTES:
		byte_reader_skip(reader, byte_reader_uleb128(reader));
		break;
	case WIRE_32_BITS:
		byte_reader_skip(reader, 4);
		break;
	default:
		byte_reader_fail(reader);
		break;
	}
}

/* Finds the format whose top-level fields match the whole file. */
static enum profile_format message_format(const void *bytes, size_t count)
{
	enum profile_format format = FORMAT_OTLP;
	struct byte_reader reader;

	byte_reader_init(&reader, bytes, count);
	while (byte_reader_left(&reader)) {
		uint64_t tag = byte_reader_uleb128(&reader);

		if (tag >> WIRE_TYPE_BITS == PPROF_TEXTS)
			format = FORMAT_PPROF;
		else if (tag >> WIRE_TYPE_BITS > OTLP_LAST_FIELD && format == FORMAT_OTLP)
			format = FORMAT_NONE;
		skip_value(&reader, tag);
	}
	return byte_reader_failed(&reader) ? FORMAT_NONE : format;
}

/* --- several pprof profiles in one file --- */

/* True if the bytes begin like a profile: the first of its strings is empty. */
static bool begins_with_empty_text(const char *bytes, size_t count)
{
	struct byte_reader reader;

	byte_reader_init(&reader, bytes, count);
	while (byte_reader_left(&reader)) {
		uint64_t tag = byte_reader_uleb128(&reader);

		if (tag == (PPROF_TEXTS << WIRE_TYPE_BITS | WIRE_BYTES))
			return !byte_reader_uleb128(&reader) && !byte_reader_failed(&reader);
		skip_value(&reader, tag);
	}
	return false;
}

/*
 * The length of the first profile, as `cat` puts one behind the other: the next one begins with its types of values, behind
 * the strings of the first.
 */
static size_t first_profile_length(const char *bytes, size_t count)
{
	bool has_texts = false;
	struct byte_reader reader;

	byte_reader_init(&reader, bytes, count);
	while (byte_reader_left(&reader)) {
		size_t at = count - byte_reader_left(&reader);
		uint64_t tag = byte_reader_uleb128(&reader);

		if (tag == (PPROF_TYPES << WIRE_TYPE_BITS | WIRE_BYTES) && has_texts)
			return begins_with_empty_text(bytes + at, count - at) ? at : count;
		has_texts |= tag >> WIRE_TYPE_BITS == PPROF_TEXTS;
		skip_value(&reader, tag);
	}
	return count;
}

/* Reads one profile, or several as parts at times of their own. */
static int open_pprofs(const char *bytes, size_t count, size_t max_bytes,
		       struct opened_samples *opened)
{
	size_t length = first_profile_length(bytes, count);
	uint64_t first_start_ns = UINT64_MAX;
	int err = 0;

	if (length == count)
		return open_pprof(bytes, count, max_bytes, opened);
	for (unsigned int number = 1; count && !err; number++) {
		size_t first_moment = opened->moments.count;
		char name[32];

		if (number > PROFILE_PARTS_MAX)
			return fail(-EBADMSG, "it has more than %d profiles", PROFILE_PARTS_MAX);
		length = first_profile_length(bytes, count);
		snprintf(name, sizeof(name), "profile %u", number);
		err = open_pprof(bytes, length, max_bytes, opened);
		if (!err && opened->start_ns < first_start_ns)
			first_start_ns = opened->start_ns;
		if (!err && opened->moments.count > first_moment)
			err = opened_samples_end_part(opened, name, first_moment);
		bytes += length;
		count -= length;
	}
	opened->start_ns = first_start_ns;
	return err;
}

/* True if the first bytes have no control characters but those of lines. */
static bool is_text(const char *text, size_t count)
{
	size_t searched = count < TEXT_SEARCHED_BYTES ? count : TEXT_SEARCHED_BYTES;

	for (size_t i = 0; i < searched; i++)
		if ((unsigned char)text[i] < ' ' && text[i] != '\n' && text[i] != '\t' &&
		    text[i] != '\r')
			return false;
	return count;
}

/* True if the first line that is neither blank nor a comment ends in a number. */
static bool is_folded(const char *text, size_t count)
{
	const char *end = text + count, *line_end, *stop;

	for (const char *line = text; line < end; line = line_end + 1) {
		line_end = memchr(line, '\n', (size_t)(end - line));
		if (!line_end)
			line_end = end;
		for (stop = line_end; stop > line && strchr(" \t\r", stop[-1]); stop--)
			;
		if (stop > line && *line != '#')
			return stop[-1] >= '0' && stop[-1] <= '9' && stop - line > 1;
	}
	return false;
}

/* The text behind comments and blank lines. */
static const char *skip_comments(const char *text)
{
	for (text += strspn(text, "\r\n"); *text == '#'; text += strspn(text, "\r\n"))
		text += strcspn(text, "\n");
	return text;
}

/* True for "main:734:10", and lines of the function behind it. */
static bool is_autofdo(const char *text)
{
	static const char digits[] = "0123456789";
	size_t name = strcspn(text, ":\n"), total = strspn(text + name + !!text[name], digits);
	const char *behind = text + name + !!text[name] + total;

	if (!name || text[name] != ':' || !total || *behind != ':')
		return false;
	behind += 1 + strspn(behind + 1, digits);
	return behind[-1] != ':' && *behind == '\n' && behind[1] == ' ' &&
	       strspn(behind + 2, digits);
}

/*
 * Replaces UTF-16 that begins with a byte order mark by UTF-8, and drops the mark. The caller frees *@converted, which
 * is NULL if the bytes stay the same but for the mark.
 */
static int convert_text(char **bytes, size_t *count, char **converted)
{
	const uint8_t *from = (const uint8_t *)*bytes, *end = from + *count;
	bool is_big = *count >= 2 && from[0] == 0xfe && from[1] == 0xff;
	bool is_little = *count >= 2 && from[0] == 0xff && from[1] == 0xfe;
	char *to;

	if (*count >= 3 && !memcmp(*bytes, "\xef\xbb\xbf", 3)) {
		*bytes += 3;
		*count -= 3;
	}
	if (!is_big && !is_little)
		return 0;
	/* Two bytes become three at most. */
	to = *converted = malloc(*count / 2 * 3 + TEXT_UTF8_MAX_BYTES + 1);
	if (!to)
		return -ENOMEM;
	for (from += 2; end - from >= 2; from += 2) {
		uint32_t unit = is_big ? (uint32_t)from[0] << 8 | from[1] :
					 (uint32_t)from[1] << 8 | from[0];

		if (unit >= 0xd800 && unit < 0xdc00 && end - from >= 4) {
			uint32_t low = is_big ? (uint32_t)from[2] << 8 | from[3] :
						(uint32_t)from[3] << 8 | from[2];

			unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
			from += 2;
		}
		to += text_encode_utf8(unit, to);
	}
	*bytes = *converted;
	*count = (size_t)(to - *converted);
	return 0;
}

/* Ends lines with a line feed if they end with a carriage return alone. */
static void convert_line_ends(char *text, size_t count)
{
	if (memchr(text, '\n', count))
		return;
	for (size_t i = 0; i < count; i++)
		if (text[i] == '\r')
			text[i] = '\n';
}

/* Files that are no profiles for us, by their first bytes, and what reads them. */
static const struct {
	const char *magic;
	uint8_t bytes;
	const char *text;
} others[] = {
	{ "FLR\0", 4, "a JFR recording; `jfrconv -o pprof` of async-profiler converts it" },
	{ "PERFILE2", 8, "a perf.data file; `perf script` prints it as text that can be opened" },
	{ "\x7f"
	  "ELF",
	  4, "a program, library or core file" },
	{ "PK\3\4", 4, "a zip archive; open the profile in it" },
	{ "\x28\xb5\x2f\xfd", 4, "compressed by zstd; `zstd -d` unpacks it" },
	{ "\xfd"
	  "7zXZ\0",
	  6, "compressed by xz; `xz -d` unpacks it" },
	{ "BZh", 3, "compressed by bzip2; `bzip2 -d` unpacks it" },
	{ "\x1f\x8b", 2, "compressed by gzip twice; `gzip -d` unpacks it" },
	{ "<!DOCTYPE", 9, "an HTML page; open the profile that it was made of" },
	{ "<!doctype", 9, "an HTML page; open the profile that it was made of" },
	{ "<html", 5, "an HTML page; open the profile that it was made of" },
	{ "<svg", 4, "a picture of a flame graph; open the profile that it was made of" },
	{ "<?xml", 5,
	  "an XML file, such as a picture of a flame graph; open the profile that it was made of" },
};

static int refuse_named(const char *bytes, size_t count)
{
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (count >= others[i].bytes && !memcmp(bytes, others[i].magic, others[i].bytes))
			return fail(-EBADMSG, "it is %s", others[i].text);
	return 0;
}

int open_bytes(char *bytes, size_t count, struct opened_samples *opened)
{
	_cleanup_(free_pointer) char *converted = NULL;
	size_t max_bytes = (size_t)UNPACKED_MAX_MIB << 20;
	int err;

	err = convert_text(&bytes, &count, &converted);
	if (err)
		return err;
	bytes[count] = '\0';
	if (strspn(bytes, " \t\r\n") == count)
		return fail(-EBADMSG, "it is an empty file");
	if (is_text(bytes, count))
		convert_line_ends(bytes, count);
	if (is_text(bytes, count) && is_exported_page(bytes, count))
		return open_page(bytes, count, opened);
	err = refuse_named(bytes, count);
	if (err)
		return err;
	if (is_text(bytes, count) && json_is_likely(bytes, count))
		return open_json(bytes, count, opened);
	if (is_text(bytes, count) && is_pprof_text(bytes, count))
		return open_pprof_text(bytes, count, opened);
	if (is_text(bytes, count) && is_perf_script(bytes, count))
		return open_perf(bytes, count, opened);
	if (is_text(bytes, count) && is_autofdo(skip_comments(bytes)))
		return fail(-EBADMSG,
			    "it is a profile for compilers (AutoFDO), which has no stacks");
	if (is_text(bytes, count) && is_stack_table(skip_comments(bytes)))
		return open_stack_table(bytes, count, opened);
	if (is_text(bytes, count) && is_folded(bytes, count))
		return open_folded(bytes, count, opened);
	switch (count ? message_format(bytes, count) : FORMAT_NONE) {
	case FORMAT_PPROF:
		return open_pprofs(bytes, count, max_bytes, opened);
	case FORMAT_OTLP:
		err = otlp_version_check(bytes, count);
		return err ? err : open_otlp(bytes, count, max_bytes, opened);
	default:
		return fail(
			-EBADMSG,
			"it is none of the formats that can be opened: pprof, folded stacks, OTLP, speedscope, Firefox profiler, .cpuprofile, text of perf script, our own .txt and .html");
	}
}

static int refuse_large(void)
{
	return fail(-EBADMSG, "it has more than %d MiB", FILE_MAX_MIB);
}

/* Reads up to the end; the caller frees *@content, which has room for a NUL. */
static int read_to_end(int fd, size_t expected, char **content, size_t *length)
{
	size_t capacity = expected + 1, count = 0, limit = (size_t)FILE_MAX_MIB << 20;
	_cleanup_(free_pointer) char *bytes = malloc(capacity + 1);
	ssize_t got = 1;

	while (bytes && got > 0) {
		if (count == capacity) {
			char *grown = realloc(bytes, 2 * capacity + 1);

			if (!grown)
				return -ENOMEM;
			bytes = grown;
			capacity *= 2;
		}
		got = read(fd, bytes + count, capacity - count);
		if (got < 0)
			return fail_errno(-errno, "cannot be read");
		count += (size_t)got;
		if (count > limit)
			return refuse_large();
	}
	if (!bytes)
		return -ENOMEM;
	*content = take_pointer(bytes);
	*length = count;
	return 0;
}

/*
 * Reads the whole file and decompresses gzip; the caller frees it; it has room for a NUL. Standard input may be a pipe.
 */
static int read_file(int fd, bool is_input, char **bytes, size_t *count)
{
	_cleanup_(free_pointer) char *content = NULL;
	struct stat stat;
	size_t length = 0;
	int err;

	if (fstat(fd, &stat))
		return fail_errno(-errno, "cannot be read");
	if (!S_ISREG(stat.st_mode) && !is_input)
		return fail(-EBADMSG, "it is no regular file");
	if (stat.st_size > (off_t)FILE_MAX_MIB << 20)
		return refuse_large();
	err = read_to_end(fd, (size_t)stat.st_size, &content, &length);
	if (err)
		return err;
	if (is_gzip(content, length))
		return gunzip(content, length, (size_t)UNPACKED_MAX_MIB << 20, bytes, count);
	*bytes = take_pointer(content);
	*count = length;
	return 0;
}

static int read_profile(const char *path, struct opened_samples *opened)
{
	_cleanup_(close_fd) int fd = strcmp(path, "-") ?
					     open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) :
					     fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
	_cleanup_(free_pointer) char *bytes = NULL;
	struct stat stat;
	size_t count;
	int err;

	if (fd < 0)
		return fail(-errno, "%s", strerror(errno));
	err = read_file(fd, !strcmp(path, "-"), &bytes, &count);
	if (err)
		return err;
	/* The default for a profile without its own time. */
	if (!fstat(fd, &stat))
		opened->start_ns = (uint64_t)stat.st_mtim.tv_sec * NS_PER_SECOND;
	return open_bytes(bytes, count, opened);
}

int open_file(const char *path, struct opened_samples *opened)
{
	const char *name = strcmp(path, "-") ? path : "standard input";
	uint64_t total = opened->total;
	int err = read_profile(path, opened);

	if (err == -ENOMEM)
		return fail(-ENOMEM, "cannot open %s: no memory for it", name);
	if (err)
		return fail(-EINVAL, "cannot open %s: %s", name, error_text());
	return opened->total > total ?
		       0 :
		       fail(-EINVAL, "cannot open %s: there are no samples in it", name);
}

int open_files(char *const *paths, size_t count, struct opened_samples *opened)
{
	uint64_t first_start_ns = UINT64_MAX;
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		size_t first_moment = opened->moments.count, part_count = opened->facts.part_count;

		/* A file of several profiles has parts by itself. */
		err = open_file(paths[i], opened);
		if (!err && opened->start_ns < first_start_ns)
			first_start_ns = opened->start_ns;
		if (!err && count > 1 && opened->facts.part_count == part_count &&
		    opened_samples_end_part(opened, paths[i], first_moment))
			err = -ENOMEM;
	}
	opened->start_ns = first_start_ns;
	return err;
}
