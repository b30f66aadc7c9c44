/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libdw limits every read to its section. This code limits the number of reads: DIEs by the bytes
 * of the unit, since each has at least one byte; the depth; and the ranges of all units together.
 */
#include "symbols/dwarf/dwarf_unit.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"
#include "symbols/dwarf/dwarf_problem.h"

enum {
	DEPTH_MAX = 512,
	RANGES_MAX = 1 << 27,
	RANGES_PER_FUNCTION_MAX = 1 << 16,
	UNKNOWN_FILE = UINT32_MAX,
	/* Cached abbreviations; a large unit has some hundred. */
	ABBREVIATIONS_MAX = 2048,
};

/*
 * The kind of a function by its abbreviation, so that its attributes need not be read: most
 * functions have no code.
 */
enum function_kind {
	FUNCTION_UNKNOWN,
	FUNCTION_WITH_CODE,
	/*
	 * A function without code, such as one that is inlined elsewhere; functions in it may have
	 * code.
	 */
	FUNCTION_ABSTRACT,
	/* Its children are parameters. */
	FUNCTION_DECLARATION,
};

/* The unit that is being read. */
struct traversal {
	struct dwarf_reader *reader;
	Dwarf_Files *files;
	size_t file_count;
	uint64_t dies_left;
	uint32_t order;
	bool is_plain_language;
	/* enum function_kind by the abbreviation's code. */
	uint8_t kinds[ABBREVIATIONS_MAX];
};

void dwarf_reader_deinit(struct dwarf_reader *reader)
{
	dwarf_names_deinit(&reader->names);
	interval_vector_deinit(&reader->intervals);
	interval_vector_deinit(&reader->parts);
	offset_vector_deinit(&reader->files);
	text_builder_deinit(&reader->path);
}

/*
 * Data that libdw cannot read is skipped, unless memory was missing, which only the error text
 * shows.
 */
static int check_memory(Dwarf_Die *unit, const char *what)
{
	const char *text = dwarf_errmsg(dwarf_errno());

	if (text && !strcmp(text, "out of memory"))
		return fail(-ENOMEM, "libdw: %s", text);
	/* Type units and dwz's units may have none. */
	if (text && dwarf_hasattr(unit, DW_AT_stmt_list))
		dwarf_problem_note("%s: %s", what, text);
	return 0;
}

/* Call this before the files of a unit are looked up: all are unknown. */
static int forget_files(struct dwarf_reader *reader, size_t count)
{
	if (count > UINT32_MAX || offset_vector_reserve(&reader->files, count))
		return fail(-ENOMEM, "no memory for %zu file names", count);
	reader->files.count = count;
	for (size_t i = 0; i < count; i++)
		reader->files.items[i] = UNKNOWN_FILE;
	return 0;
}

static int add_path(struct dwarf_reader *reader, const char *path, uint32_t *id)
{
	struct text_builder *text = &reader->path;

	text_builder_clear(text);
	if (path[0] != '/' && reader->folder) {
		text_builder_append(text, reader->folder);
		text_builder_append(text, "/");
	}
	text_builder_append(text, path);
	if (text->failed)
		return fail(-ENOMEM, "no memory for a path");
	return string_table_add(&reader->writer->strings, text->text, text->length, id);
}

/* The string of file @i, 0 if there is none. */
static int find_file(struct dwarf_reader *reader, Dwarf_Files *files, uint64_t i, uint32_t *id)
{
	uint32_t *known;

	*id = 0;
	if (i >= reader->files.count)
		return 0;
	known = &reader->files.items[i];
	if (*known == UNKNOWN_FILE) {
		const char *path = dwarf_filesrc(files, i, NULL, NULL);
		int err = path && *path ? add_path(reader, path, id) : 0;

		if (err)
			return err;
		*known = *id;
	}
	*id = *known;
	return 0;
}

/* Linkers leave discarded functions at 0 or near it, or (lld) at the end of all addresses. */
static bool is_thrown_away(const struct symbol_cache_writer *writer, uint64_t address)
{
	return address < writer->first_address ||
	       (writer->end_address && address >= writer->end_address);
}

/* --- functions --- */

static uint64_t number_attribute(struct dwarf_attributes *attributes, enum dwarf_attribute wanted)
{
	Dwarf_Attribute *attribute = dwarf_attributes_find(attributes, wanted);
	Dwarf_Word value;

	return attribute && !dwarf_formudata(attribute, &value) ? value : 0;
}

static int add_range(struct traversal *traversal, uint64_t start, uint64_t end, uint32_t scope)
{
	struct dwarf_reader *reader = traversal->reader;
	struct interval interval = {
		.start = start, .end = end, .value = scope, .order = traversal->order
	};

	if (++reader->range_count > RANGES_MAX)
		return fail(-E2BIG, "more than %d ranges", RANGES_MAX);
	if (is_thrown_away(reader->writer, start) || start >= end)
		return 0;
	if (interval_vector_push(&reader->intervals, interval))
		return fail(-ENOMEM, "no memory for ranges");
	return 0;
}

/* The range of a contiguous function. DW_AT_high_pc is an address or a length. */
static bool find_range(struct dwarf_attributes *attributes, Dwarf_Addr *start, Dwarf_Addr *end)
{
	Dwarf_Attribute *low = dwarf_attributes_find(attributes, DWARF_LOW_PC);
	Dwarf_Attribute *high = dwarf_attributes_find(attributes, DWARF_HIGH_PC);
	Dwarf_Word length;

	if (!low || !high || dwarf_formaddr(low, start))
		return false;
	if (!dwarf_formaddr(high, end))
		return true;
	if (dwarf_formudata(high, &length))
		return false;
	*end = *start + length;
	return true;
}

static int add_ranges(struct traversal *traversal, Dwarf_Die *die,
		      struct dwarf_attributes *attributes, uint32_t scope)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;

	if (find_range(attributes, &start, &end))
		return add_range(traversal, start, end, scope);
	if (!dwarf_attributes_find(attributes, DWARF_SYMBOLS))
		return 0;
	for (int i = 0; i < RANGES_PER_FUNCTION_MAX; i++) {
		int err;

		offset = dwarf_ranges(die, offset, &base, &start, &end);
		if (offset <= 0)
			return 0;
		err = add_range(traversal, start, end, scope);
		if (err)
			return err;
	}
	return 0;
}

static bool has_code(struct dwarf_attributes *attributes)
{
	return dwarf_attributes_find(attributes, DWARF_LOW_PC) ||
	       dwarf_attributes_find(attributes, DWARF_SYMBOLS);
}

static int add_function(struct traversal *traversal, Dwarf_Die *die,
			struct dwarf_attributes *attributes, uint32_t outer, uint32_t *id)
{
	struct dwarf_reader *reader = traversal->reader;
	struct symbol_scope scope = { .outer = outer };
	struct dwarf_name name;
	int err = dwarf_names_find(&reader->names, die, attributes, traversal->is_plain_language,
				   &name);

	if (err)
		return err;
	scope.name = name.id;
	scope.is_plain = name.is_plain;
	scope.start_line = name.start_line;
	if (outer) {
		err = find_file(reader, traversal->files,
				number_attribute(attributes, DWARF_CALL_FILE), &scope.call_file);
		if (err)
			return err;
		scope.call_line = number_attribute(attributes, DWARF_CALL_LINE);
	}
	err = symbol_cache_writer_add_scope(reader->writer, &scope, id);
	if (err)
		return err;
	traversal->order++;
	return add_ranges(traversal, die, attributes, *id);
}

static enum function_kind find_kind(Dwarf_Die *die)
{
	Dwarf_Attribute declaration;

	if (dwarf_hasattr(die, DW_AT_low_pc) || dwarf_hasattr(die, DW_AT_ranges))
		return FUNCTION_WITH_CODE;
	/* A flag with a stored value may differ between DIEs with this abbreviation. */
	if (dwarf_attr(die, DW_AT_declaration, &declaration) &&
	    dwarf_whatform(&declaration) == DW_FORM_flag_present)
		return FUNCTION_DECLARATION;
	return FUNCTION_ABSTRACT;
}

/* dwarf_tag() has found the abbreviation of @die. */
static enum function_kind kind_of(struct traversal *traversal, Dwarf_Die *die)
{
	unsigned int code = dwarf_getabbrevcode(die->abbrev);

	if (code >= ABBREVIATIONS_MAX)
		return find_kind(die);
	if (traversal->kinds[code] == FUNCTION_UNKNOWN)
		traversal->kinds[code] = find_kind(die);
	return traversal->kinds[code];
}

/* Not inlined into add_die(), which recurses. */
static __attribute__((noinline)) int add_if_code(struct traversal *traversal, Dwarf_Die *die,
						 uint32_t outer, uint32_t *scope)
{
	struct dwarf_attributes attributes;

	dwarf_attributes_read(&attributes, die);
	/* Because of damage, the attributes of the abbreviation may be missing. */
	if (!outer && !has_code(&attributes))
		return 0;
	return add_function(traversal, die, &attributes, outer, scope);
}

static int add_children(struct traversal *traversal, Dwarf_Die *die, uint32_t outer,
			uint32_t depth);

/* @outer is the enclosing function of @die, 0 if there is none. */
static int add_die(struct traversal *traversal, Dwarf_Die *die, uint32_t outer, uint32_t depth)
{
	enum function_kind kind;
	uint32_t scope = 0;
	int err = 0;

	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
		kind = kind_of(traversal, die);
		if (kind == FUNCTION_DECLARATION)
			return 0;
		if (kind == FUNCTION_WITH_CODE)
			err = add_if_code(traversal, die, 0, &scope);
		break;
	case DW_TAG_inlined_subroutine:
		if (!outer)
			return 0;
		err = add_if_code(traversal, die, outer, &scope);
		break;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
		scope = outer;
		break;
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
		break;
	default:
		return 0;
	}
	return err ? err : add_children(traversal, die, scope, depth + 1);
}

static int add_children(struct traversal *traversal, Dwarf_Die *die, uint32_t outer, uint32_t depth)
{
	Dwarf_Die child;
	int err, more;

	if (depth > DEPTH_MAX || dwarf_child(die, &child))
		return 0;
	do {
		if (!traversal->dies_left--)
			return fail(-EBADMSG, "a unit with more entries than bytes");
		err = add_die(traversal, &child, outer, depth);
		if (err)
			return err;
		more = dwarf_siblingof(&child, &child);
	} while (!more);
	return 0;
}

/* Bytes of the unit, which has fewer DIEs than that. */
static uint64_t unit_bytes(Dwarf_Die *unit)
{
	Dwarf_Off start = dwarf_dieoffset(unit) - dwarf_cuoffset(unit), next;

	if (dwarf_next_unit(dwarf_cu_getdwarf(unit->cu), start, &next, NULL, NULL, NULL, NULL, NULL,
			    NULL, NULL))
		return 0;
	return next > start ? next - start : 0;
}

static int add_functions(struct dwarf_reader *reader, Dwarf_Die *unit)
{
	struct traversal traversal = {
		.reader = reader,
		.dies_left = unit_bytes(unit),
		.is_plain_language = dwarf_names_is_plain_language(unit),
	};
	int err;

	if (dwarf_getsrcfiles(unit, &traversal.files, &traversal.file_count)) {
		traversal.file_count = 0;
		err = check_memory(unit, "files");
		if (err)
			return err;
	}
	err = forget_files(reader, traversal.file_count);
	if (!err)
		err = add_children(&traversal, unit, 0, 0);
	if (err && err != -EBADMSG)
		return err;
	err = symbol_cache_writer_add_intervals(reader->writer, SYMBOL_DATA_SCOPES,
						&reader->intervals);
	reader->intervals.count = 0;
	return err;
}

/* --- lines --- */

static int compare_parts(const void *left, const void *right)
{
	const struct interval *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

static int find_parts(struct dwarf_reader *reader, Dwarf_Die *unit)
{
	struct interval_vector *parts = &reader->parts;
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;

	parts->count = 0;
	while ((offset = dwarf_ranges(unit, offset, &base, &start, &end)) > 0) {
		if (++reader->range_count > RANGES_MAX)
			return fail(-E2BIG, "more than %d ranges", RANGES_MAX);
		if (start >= end)
			continue;
		if (interval_vector_push(parts, (struct interval){ .start = start, .end = end }))
			return fail(-ENOMEM, "no memory for ranges");
	}
	if (parts->count)
		qsort(parts->items, parts->count, sizeof(parts->items[0]), compare_parts);
	return 0;
}

/* State of an iteration over the line rows of a unit. */
struct line_pass {
	struct dwarf_reader *reader;
	/* The part of the last row, or the one after it. */
	size_t part;
	/* Inside a range that the linker has discarded. */
	bool is_left_out;
};

static int end_run(struct dwarf_reader *reader, uint64_t address)
{
	struct address_runs *runs = &reader->writer->runs[SYMBOL_DATA_LINES];

	return address_runs_add(runs, (struct address_row){ .address = address });
}

/*
 * Ends the run at the end of the last row's part, and sets *@is_inside if @address is in a part.
 * libdw sorts the end of a sequence before a row at its address, and such a row would otherwise
 * apply until the next.
 */
static int enter_part(struct line_pass *pass, uint64_t address, bool *is_inside)
{
	const struct interval_vector *parts = &pass->reader->parts;
	struct address_runs *runs = &pass->reader->writer->runs[SYMBOL_DATA_LINES];

	while (pass->part < parts->count && parts->items[pass->part].end <= address) {
		uint64_t end = parts->items[pass->part++].end;
		int err = runs->is_open && end >= runs->last.address ? end_run(pass->reader, end) :
								       0;

		if (err)
			return err;
	}
	*is_inside = !parts->count ||
		     (pass->part < parts->count && parts->items[pass->part].start <= address);
	return 0;
}

static int add_row(struct line_pass *pass, Dwarf_Line *line)
{
	struct dwarf_reader *reader = pass->reader;
	struct address_row row = { 0 };
	bool is_end = false, is_inside;
	Dwarf_Files *files;
	int number = 0, err;
	size_t i;

	if (dwarf_lineaddr(line, &row.address) || dwarf_lineendsequence(line, &is_end))
		return 0;
	err = enter_part(pass, row.address, &is_inside);
	if (err)
		return err;
	/* As with functions: the complete discarded range is skipped. */
	if (is_thrown_away(reader->writer, row.address))
		pass->is_left_out = true;
	if (!pass->is_left_out && !is_end && is_inside) {
		if (dwarf_line_file(line, &files, &i))
			return 0;
		err = find_file(reader, files, i, &row.value.first);
		if (err)
			return err;
		row.value.second = dwarf_lineno(line, &number) ? 0 : (uint32_t)number;
	}
	if (is_end)
		pass->is_left_out = false;
	return address_runs_add(&reader->writer->runs[SYMBOL_DATA_LINES], row);
}

static int add_lines(struct dwarf_reader *reader, Dwarf_Die *unit)
{
	struct address_runs *runs = &reader->writer->runs[SYMBOL_DATA_LINES];
	struct line_pass pass = { .reader = reader };
	size_t count, file_count;
	Dwarf_Files *files;
	Dwarf_Lines *lines;
	int err;

	if (dwarf_getsrclines(unit, &lines, &count) || dwarf_getsrcfiles(unit, &files, &file_count))
		return check_memory(unit, "lines");
	reader->line_count += count;
	err = forget_files(reader, file_count);
	if (!err)
		err = find_parts(reader, unit);
	for (size_t i = 0; i < count && !err; i++)
		err = add_row(&pass, dwarf_onesrcline(lines, i));
	/* A table that does not end its last sequence does not say where it ends. */
	if (!err && runs->is_open)
		err = end_run(reader, runs->last.address);
	return err;
}

int dwarf_reader_add_unit(struct dwarf_reader *reader, Dwarf_Die *unit, Dwarf_Die *split)
{
	Dwarf_Attribute attribute;
	int err, damaged;

	reader->folder = NULL;
	if (dwarf_attr(unit, DW_AT_comp_dir, &attribute))
		reader->folder = dwarf_formstring(&attribute);
	damaged = add_functions(reader, split ? split : unit);
	if (damaged && damaged != -EBADMSG)
		return damaged;
	err = add_lines(reader, unit);
	return err ? err : damaged;
}
