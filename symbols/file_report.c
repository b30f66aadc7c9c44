/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/file_report.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/byte_reader.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/elf/elf_notes.h"
#include "lib/elf/elf_symbols.h"
#include "lib/elf/go_program.h"
#include "lib/elf/go_table.h"
#include "lib/host/file_id.h"
#include "symbols/dwarf/common_file.h"

enum {
	/* Precedes the length of a unit in 64-bit DWARF. */
	LONG_UNIT = 0xffffffff,
	UNIT_SKELETON = 4,
	/* ELFCOMPRESS_ZSTD, which older <elf.h> do not define. */
	PACKED_BY_ZSTD = 2,
};

void unit_counts_read(struct unit_counts *counts, const void *bytes, size_t size)
{
	struct byte_reader reader;

	*counts = (struct unit_counts){ 0 };
	byte_reader_init(&reader, bytes, size);
	while (byte_reader_left(&reader)) {
		uint64_t length = byte_reader_u32(&reader), end;
		uint16_t version;

		if (length == LONG_UNIT)
			length = byte_reader_u64(&reader);
		if (byte_reader_failed(&reader) || length > byte_reader_left(&reader) ||
		    length < 2) {
			counts->is_damaged = true;
			return;
		}
		end = byte_reader_offset(&reader) + length;
		version = byte_reader_u16(&reader);
		counts->of_version[version <= DWARF_VERSION_MAX ? version : 0]++;
		if (version == DWARF_VERSION_MAX && length > 2)
			counts->skeletons += byte_reader_u8(&reader) == UNIT_SKELETON;
		byte_reader_seek(&reader, end);
	}
}

static const struct elf_section *find_info(const struct elf_image *image)
{
	const struct elf_section *section = elf_image_find_section(image, ".debug_info");

	return section ? section : elf_image_find_section(image, ".zdebug_info");
}

/* The compression of a section, "" for none. */
static const char *packed_by(const struct elf_image *image, const struct elf_section *section)
{
	uint32_t type = 0;

	if (elf_section_encoding(section) == ELF_ENCODING_PLAIN)
		return "";
	if (elf_section_encoding(section) == ELF_ENCODING_ZDEBUG ||
	    elf_image_read(image, section->offset, &type, sizeof(type)) || type == ELFCOMPRESS_ZLIB)
		return ", packed by zlib";
	return type == PACKED_BY_ZSTD ? ", packed by zstd" : ", packed by what is not known";
}

/* --- parts of the report --- */

static void print_bytes(FILE *output, const char *name, const uint8_t *bytes, size_t count)
{
	fprintf(output, "  %s ", name);
	for (size_t i = 0; i < count; i++)
		fprintf(output, "%02x", bytes[i]);
	fputc('\n', output);
}

static void print_ids(FILE *output, const struct elf_image *image)
{
	uint8_t build_id[BUILD_ID_MAX_BYTES];
	struct file_id file_id;
	uint32_t bytes;

	if (!elf_image_build_id(image, build_id, &bytes))
		print_bytes(output, "build id", build_id, bytes);
	else
		fputs("  no build id\n", output);
	if (!file_id_of_file(image->fd, &file_id))
		print_bytes(output, "file id", file_id.bytes, sizeof(file_id.bytes));
}

static bool print_path(FILE *output, const char *name, int fd)
{
	char link[64], path[PATH_MAX];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	if (length < 0)
		return false;
	fprintf(output, "  %s %.*s\n", name, (int)length, path);
	return true;
}

static void print_symbols(FILE *output, const struct elf_image *image, const char *whose)
{
	_cleanup_(elf_symbols_deinit) struct elf_symbols symbols = { 0 };
	int err = elf_symbols_init(&symbols, image);

	if (!err)
		fprintf(output, "  %" PRIu32 " functions in %s symbol tables\n", symbols.count,
			whose);
	else if (err == -ENOENT)
		fprintf(output, "  no function in %s symbol tables\n", whose);
	else
		fprintf(output, "  %s symbol tables: %s\n", whose, error_text());
}

static void print_units(FILE *output, const struct elf_image *image, const char *whose)
{
	_cleanup_(elf_bytes_deinit) struct elf_bytes info = { 0 };
	const struct elf_section *section = find_info(image);
	struct unit_counts counts;
	uint64_t old_count = 0;

	if (!section) {
		fprintf(output, "  no DWARF in %s\n", whose);
		return;
	}
	if (elf_image_load_section(image, section, FILE_REPORT_MAX_BYTES, &info)) {
		fprintf(output, "  DWARF in %s%s cannot be read: %s\n", whose,
			packed_by(image, section), error_text());
		return;
	}
	unit_counts_read(&counts, info.data, info.size);
	fprintf(output, "  DWARF in %s%s:", whose, packed_by(image, section));
	for (int i = 1; i <= DWARF_VERSION_MAX; i++) {
		old_count += i < DWARF_VERSION_MAX ? counts.of_version[i] : 0;
		if (counts.of_version[i])
			fprintf(output, " %" PRIu64 " units of version %d,", counts.of_version[i],
				i);
	}
	if (counts.of_version[0])
		fprintf(output, " %" PRIu64 " of versions that are not known,",
			counts.of_version[0]);
	fprintf(output, " %zu bytes\n", info.size);
	if (counts.is_damaged)
		fputs("  what comes behind these units is damaged\n", output);
	if (counts.skeletons)
		fprintf(output,
			"  %" PRIu64 " of them are split: the rest is in .dwo files or a .dwp\n",
			counts.skeletons);
	else if (old_count && elf_image_find_section(image, ".debug_addr"))
		fputs("  some are split: the rest is in .dwo files or a .dwp\n", output);
}

/* Reports the common file of dwz. */
static void print_common_file(FILE *output, const struct elf_image *image,
			      const struct debug_file_search *search)
{
	_cleanup_(common_file_link_deinit) struct common_file_link link = { 0 };
	_cleanup_(close_fd) int fd = -1;
	char path[PATH_MAX];

	if (common_file_link_read(image, &link) ||
	    common_file_path(&link, image->fd, path, sizeof(path)))
		return;
	fprintf(output, "  dwz's common file %s: ", path);
	if (debug_file_open_path(search, path, image->fd, &fd))
		fputs("not there\n", output);
	else
		fputs(common_file_is(&link, fd) ? "taken\n" :
						  "of another build, so that no DWARF is read\n",
		      output);
}

static void print_go(FILE *output, const struct elf_image *image)
{
	struct go_program program;
	struct go_table table;

	if (go_program_read(image, &program))
		return;
	fprintf(output, "  code of Go, by %s: ",
		program.version[0] ? program.version : "an unknown version");
	if (go_table_init(&table, image)) {
		fprintf(output, "no table of functions: %s\n", error_text());
		return;
	}
	fputs("its table of functions has names, files and lines\n", output);
	go_table_deinit(&table);
}

void file_report_print(FILE *output, const char *path, const struct elf_image *image,
		       const struct elf_image *debug, const struct debug_file_search *search)
{
	fprintf(output, "%s: %s, %" PRIu64 " bytes\n", path,
		image->machine == EM_AARCH64 ? "arm64" : "x86-64", image->size);
	print_ids(output, image);
	if (!debug || !print_path(output, "debug file", debug->fd))
		fputs("  no debug file\n", output);
	print_symbols(output, image, "its");
	if (debug)
		print_symbols(output, debug, "the debug file's");
	if (elf_image_find_section(image, ".gnu_debugdata"))
		fputs("  more symbols packed in .gnu_debugdata\n", output);
	if (debug && find_info(debug))
		image = debug;
	print_units(output, image, image == debug ? "the debug file" : "it");
	print_common_file(output, image, search);
	print_go(output, image);
}
