/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/build/make_symbol_cache.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/elf/elf_symbols.h"
#include "lib/host/decompress.h"
#include "symbols/build/go_functions.h"
#include "symbols/build/perl_functions.h"
#include "symbols/dwarf/dwarf_problem.h"
#include "symbols/dwarf/dwarf_symbols.h"

enum {
	/*
	 * Limits of .gnu_debugdata, compressed and decompressed: a tenth of the largest programs'
	 * symbols.
	 */
	MINI_PACKED_MAX_BYTES = 32 << 20,
	MINI_MAX_BYTES = 256 << 20,
	/* Larger string tables are not read as a whole. */
	STRINGS_MAX_BYTES = 16 << 20,
	/* Limit of the names of a small file. */
	SMALL_NAMES_MAX_BYTES = 8 << 20,
};

/* True for an error that affects more than its own source of data. */
static bool is_fatal(int err)
{
	return err == -ENOMEM || err == -E2BIG;
}

/*
 * Adds symbols of @image; they count only where symbols with a lower @order have nothing. *@boot is the boot function of a module of
 * Perl, if there is one.
 */
static int add_symbols(const struct elf_image *image, uint32_t order,
		       struct interval_vector *intervals, struct string_table *strings,
		       struct code_range *boot)
{
	_cleanup_(elf_symbols_deinit) struct elf_symbols symbols = { 0 };
	int err = elf_symbols_init(&symbols, image);

	if (err)
		return is_fatal(err) ? err : 0;
	elf_symbols_load_names(&symbols, image, STRINGS_MAX_BYTES);
	for (uint32_t i = 0; i < symbols.count; i++) {
		const struct elf_symbol *symbol = &symbols.symbols[i];
		char name[ELF_SYMBOL_NAME_MAX_BYTES];
		struct interval interval = {
			.start = symbol->address,
			.end = symbol->address + symbol->size,
			.order = order + i,
		};

		if (elf_symbols_name(&symbols, image, symbol, name, sizeof(name)))
			continue;
		if (symbol->is_dynamic && perl_functions_is_boot(name))
			*boot = (struct code_range){ interval.start, interval.end };
		err = string_table_add(strings, name, strlen(name), &interval.value);
		if (err)
			return err;
		if (interval_vector_push(intervals, interval))
			return fail(-ENOMEM, "no memory for symbols");
	}
	return 0;
}

static int add_mini_symbols(const struct elf_image *image, uint32_t order,
			    struct interval_vector *intervals, struct string_table *strings)
{
	const struct elf_section *section = elf_image_find_section(image, ".gnu_debugdata");
	_cleanup_(elf_bytes_deinit) struct elf_bytes packed = { 0 };
	_cleanup_(elf_image_deinit) struct elf_image mini = { .fd = -1 };
	_cleanup_(free_pointer) void *bytes = NULL;
	struct code_range none;
	size_t size;

	if (!section || elf_image_load_section(image, section, MINI_PACKED_MAX_BYTES, &packed) ||
	    decompress_xz(packed.data, packed.size, MINI_MAX_BYTES, &bytes, &size) ||
	    elf_image_init_memory(&mini, bytes, size))
		return 0;
	return add_symbols(&mini, order, intervals, strings, &none);
}

/* Finds the start and end of the executable segments. */
static void find_code(const struct elf_image *image, struct symbol_cache_writer *writer)
{
	uint64_t first = UINT64_MAX, end = 0;

	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct elf_segment *segment = &image->segments[i];

		if (segment->type != PT_LOAD || !(segment->flags & PF_X))
			continue;
		if (segment->address < first)
			first = segment->address;
		if (segment->address + segment->memory_bytes > end)
			end = segment->address + segment->memory_bytes;
	}
	/* A file without segments is not a program: all its addresses count. */
	writer->first_address = end ? first : 0;
	writer->end_address = end;
}

static bool has_dwarf(const struct elf_image *image)
{
	return elf_image_find_section(image, ".debug_info") ||
	       elf_image_find_section(image, ".zdebug_info");
}

static int add_all_symbols(const struct elf_image *image, const struct elf_image *debug,
			   struct symbol_cache_writer *writer)
{
	_cleanup_(interval_vector_deinit) struct interval_vector intervals = { 0 };
	struct code_range boot = { 0 };
	int err = 0;

	if (!debug)
		err = go_functions_add(image, &intervals, &writer->strings);
	/* The file's own symbols take precedence, because a debug file has no dynamic ones. */
	if (debug)
		err = add_symbols(debug, 0, &intervals, &writer->strings, &boot);
	if (!err)
		err = add_mini_symbols(image, ELF_SYMBOLS_MAX, &intervals, &writer->strings);
	if (!err)
		err = add_symbols(image, 2 * ELF_SYMBOLS_MAX, &intervals, &writer->strings, &boot);
	if (!err && boot.end && !debug)
		err = perl_functions_add(image, boot, 3 * ELF_SYMBOLS_MAX, &intervals,
					 &writer->strings);
	return err ? err :
		     symbol_cache_writer_add_intervals(writer, SYMBOL_DATA_SYMBOLS, &intervals);
}

int make_symbol_cache_of(const struct elf_image *image, const struct elf_image *debug,
			 enum symbol_depth depth, struct symbol_cache_writer *writer)
{
	const struct elf_image *with_dwarf = debug && has_dwarf(debug) ? debug : image;
	int err;

	dwarf_problem_clear();
	find_code(image, writer);
	err = add_all_symbols(image, debug, writer);
	if (err || depth == SYMBOL_DEPTH_SYMBOLS)
		return err;
	if (with_dwarf->fd < 0 || !has_dwarf(with_dwarf))
		return 0;
	err = dwarf_symbols_add(writer, with_dwarf);
	if (err)
		dwarf_problem_note("%s", error_text());
	return is_fatal(err) ? err : 0;
}

int make_symbol_cache(const struct elf_image *image, const struct debug_file_search *search,
		      enum symbol_depth depth, struct symbol_cache_writer *writer)
{
	_cleanup_(elf_image_deinit) struct elf_image debug = { .fd = -1 };
	_cleanup_(close_fd) int fd = -1;
	bool has_debug = search && !debug_file_open(search, image, &fd) &&
			 !elf_image_init_fd(&debug, fd);

	return make_symbol_cache_of(image, has_debug ? &debug : NULL, depth, writer);
}

int make_small_symbol_cache(const struct elf_image *image, const struct elf_image *debug,
			    struct hash128 key, int fd)
{
	_cleanup_(symbol_cache_writer_deinit) struct symbol_cache_writer writer = {
		.strings.max_bytes = SMALL_NAMES_MAX_BYTES,
	};
	int err = make_symbol_cache_of(image, debug, SYMBOL_DEPTH_SYMBOLS, &writer);

	return err ? err : symbol_cache_writer_finish(&writer, key, fd);
}
