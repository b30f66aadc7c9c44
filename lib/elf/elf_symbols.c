/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over each symbol table in chunks, a sort, and a pass that decides which of several symbols at one
 * address stays. Symbol tables are hostile, and in a sparse file a huge one takes no space. So the number of
 * symbols that are kept and that are looked at is bounded, and offsets are checked when a name is read.
 */
#include "lib/elf/elf_symbols.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/radix_sort.h"
#include "lib/base/vector.h"
#include "lib/elf/function_start.h"

enum {
	SYMBOLS_PER_CHUNK = 1024,
	/* Symbols read of one table: half of them may be other than functions. */
	SYMBOLS_READ_MAX = 2 * ELF_SYMBOLS_MAX,
	NAME_CHUNK_BYTES = 128,
	SIZE_MAX_BYTES = (1 << 29) - 1,
	NAME_OFFSET_MAX = INT32_MAX,
	/* Depth of nested functions that is searched for the innermost one. Real files nest less. */
	NESTING_MAX = 32,
	RANK_LABEL = 4,
	/* Executable sections and segments that are looked at: linked files have a handful. */
	RANGES_MAX = 64,
};

VECTOR_DEFINE(symbol_vector, struct elf_symbol)

struct range {
	uint64_t start;
	uint64_t end;
};

struct range_list {
	struct range ranges[RANGES_MAX];
	uint32_t count;
};

/* State that the passes share: the image, its ranges of code, and the table that is being read. */
struct collector {
	const struct elf_image *image;
	struct range_list segments;
	struct range_list sections;
	struct symbol_vector symbols;
	struct elf_string_table names;
	bool is_dynamic;
	bool is_full;
};

static void add_range(struct range_list *list, uint64_t start, uint64_t bytes)
{
	uint64_t end;

	if (list->count == RANGES_MAX || !bytes || __builtin_add_overflow(start, bytes, &end))
		return;
	list->ranges[list->count++] = (struct range){ .start = start, .end = end };
}

static const struct range *find_range(const struct range_list *list, uint64_t address)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (address >= list->ranges[i].start && address < list->ranges[i].end)
			return &list->ranges[i];
	return NULL;
}

static void find_code(struct collector *collector)
{
	const struct elf_image *image = collector->image;

	for (uint32_t i = 0; i < image->segment_count; i++)
		if (image->segments[i].type == PT_LOAD && image->segments[i].flags & PF_X)
			add_range(&collector->segments, image->segments[i].address,
				  image->segments[i].memory_bytes);
	for (uint32_t i = 0; i < image->section_count; i++)
		if (image->sections[i].flags & SHF_EXECINSTR)
			add_range(&collector->sections, image->sections[i].address,
				  image->sections[i].size);
}

/*
 * Whether a label lies in the section that it names. There are labels of data in text, too. The number of a late section is in
 * another table (SHT_SYMTAB_SHNDX), which is not read: there the address alone counts.
 */
static bool in_own_executable_section(const struct collector *collector, const Elf64_Sym *raw)
{
	const struct elf_image *image = collector->image;
	const struct elf_section *section;

	if (raw->st_shndx == SHN_XINDEX)
		return find_range(&collector->sections, raw->st_value);
	if (raw->st_shndx >= SHN_LORESERVE || raw->st_shndx >= image->section_count)
		return false;
	section = &image->sections[raw->st_shndx];
	return section->flags & SHF_EXECINSTR && raw->st_value >= section->address &&
	       raw->st_value - section->address < section->size;
}

/* On arm64, local symbols $x and $d mark where code and data begin. They are no names. */
static bool is_mapping_symbol(const struct collector *collector, const Elf64_Sym *raw)
{
	char first;

	if (collector->image->machine != EM_AARCH64 || ELF64_ST_BIND(raw->st_info) != STB_LOCAL)
		return false;
	return raw->st_name >= collector->names.size ||
	       elf_image_read(collector->image, collector->names.offset + raw->st_name, &first,
			      1) ||
	       first == '$';
}

static uint32_t binding_rank(uint8_t binding)
{
	switch (binding) {
	case STB_GLOBAL:
	case STB_GNU_UNIQUE:
		return 0;
	case STB_WEAK:
		return 1;
	default:
		return 2;
	}
}

static int collect_symbol(struct collector *collector, const Elf64_Sym *raw)
{
	uint8_t type = ELF64_ST_TYPE(raw->st_info);
	bool is_function = type == STT_FUNC || type == STT_GNU_IFUNC;
	struct elf_symbol symbol = {
		.address = raw->st_value,
		.size = raw->st_size < SIZE_MAX_BYTES ? raw->st_size : SIZE_MAX_BYTES,
		.rank = binding_rank(ELF64_ST_BIND(raw->st_info)),
		.name = raw->st_name,
		.is_dynamic = collector->is_dynamic,
	};

	if (!is_function && type != STT_NOTYPE)
		return 0;
	if (raw->st_shndx == SHN_UNDEF || raw->st_shndx == SHN_ABS || !raw->st_name ||
	    raw->st_name > NAME_OFFSET_MAX)
		return 0;
	if (is_function) {
		if (!find_range(&collector->segments, raw->st_value))
			return 0;
	} else {
		if (!in_own_executable_section(collector, raw) || is_mapping_symbol(collector, raw))
			return 0;
		symbol.rank += RANK_LABEL;
	}
	if (collector->symbols.count == ELF_SYMBOLS_MAX) {
		collector->is_full = true;
		return 0;
	}
	if (symbol_vector_push(&collector->symbols, symbol))
		return fail(-ENOMEM, "no memory for symbols");
	return 0;
}

static int collect_table(struct collector *collector, const struct elf_section *section)
{
	const struct elf_image *image = collector->image;
	Elf64_Sym raw[SYMBOLS_PER_CHUNK];
	uint64_t count = section->size / sizeof(Elf64_Sym);

	if (section->entry_bytes != sizeof(Elf64_Sym) || section->link >= image->section_count ||
	    image->sections[section->link].type != SHT_STRTAB)
		return fail(-EBADMSG, "section %s is no symbol table", section->name);
	if (section->offset > image->size || section->size > image->size - section->offset)
		return fail(-EBADMSG, "section %s lies outside of the file", section->name);
	collector->names = (struct elf_string_table){
		.offset = image->sections[section->link].offset,
		.size = image->sections[section->link].size,
	};
	if (count > SYMBOLS_READ_MAX)
		count = SYMBOLS_READ_MAX;
	for (uint64_t i = 0; i < count && !collector->is_full; i += SYMBOLS_PER_CHUNK) {
		uint64_t chunk = count - i < SYMBOLS_PER_CHUNK ? count - i : SYMBOLS_PER_CHUNK;
		int err;

		err = elf_image_read(image, section->offset + i * sizeof(raw[0]), raw,
				     chunk * sizeof(raw[0]));
		if (err)
			return err;
		for (uint64_t k = 0; k < chunk; k++) {
			err = collect_symbol(collector, &raw[k]);
			if (err)
				return err;
		}
	}
	return 0;
}

/*
 * Sorts by address, and at one address the best symbol first. .dynsym goes before .symtab, whose names may end
 * in a version (memcpy@@GLIBC_2.14).
 */
static int compare_symbols(const void *left, const void *right)
{
	const struct elf_symbol *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (!a->size != !b->size)
		return a->size ? -1 : 1;
	if (a->is_dynamic != b->is_dynamic)
		return a->is_dynamic ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

/* Sorts the symbols at one address, from @first on, and returns the index of the next one at another address. */
static size_t sort_rivals(struct symbol_vector *symbols, size_t first)
{
	size_t end = first + 1;

	while (end < symbols->count && symbols->items[end].address == symbols->items[first].address)
		end++;
	if (end - first > 1)
		qsort(symbols->items + first, end - first, sizeof(*symbols->items),
		      compare_symbols);
	return end;
}

/* As qsort(), several times as fast. False without symbols, without memory, or if the addresses span more than 32 bits. */
static bool sort_by_address(struct symbol_vector *symbols)
{
	_cleanup_(free_pointer) struct elf_symbol *sorted = NULL;
	_cleanup_(free_pointer) uint64_t *keys = NULL;
	uint64_t least = UINT64_MAX, most = 0;

	for (size_t i = 0; i < symbols->count; i++) {
		uint64_t address = symbols->items[i].address;

		least = address < least ? address : least;
		most = address > most ? address : most;
	}
	if (!symbols->count || most - least > UINT32_MAX)
		return false;
	keys = malloc(symbols->count * sizeof(*keys));
	for (size_t i = 0; keys && i < symbols->count; i++)
		keys[i] = (symbols->items[i].address - least) << 32 | i;
	if (!keys || radix_sort_upper_half(keys, symbols->count))
		return false;
	sorted = malloc(symbols->count * sizeof(*sorted));
	if (!sorted)
		return false;
	for (size_t i = 0; i < symbols->count; i++)
		sorted[i] = symbols->items[(uint32_t)keys[i]];
	memcpy(symbols->items, sorted, symbols->count * sizeof(*sorted));
	for (size_t i = 0; i < symbols->count;)
		i = sort_rivals(symbols, i);
	return true;
}

/* Keeps one symbol per address, and no label inside a function. */
static void remove_rivals(struct symbol_vector *symbols)
{
	uint64_t functions_end = 0;
	size_t kept = 0;

	for (size_t i = 0; i < symbols->count; i++) {
		struct elf_symbol symbol = symbols->items[i];
		bool is_label = symbol.rank >= RANK_LABEL;

		if (kept && symbols->items[kept - 1].address == symbol.address)
			continue;
		if (is_label && symbol.address < functions_end)
			continue;
		if (!is_label && symbol.address + symbol.size > functions_end)
			functions_end = symbol.address + symbol.size;
		symbols->items[kept++] = symbol;
	}
	symbols->count = kept;
}

/*
 * A symbol without a size ends where the next symbol, another function by .eh_frame_hdr or its section does. Functions behind it
 * may have no symbol.
 */
static void set_missing_sizes(struct collector *collector)
{
	struct symbol_vector *symbols = &collector->symbols;
	struct function_starts functions;
	bool has_functions = !function_starts_init(&functions, collector->image);

	for (size_t i = 0; i < symbols->count; i++) {
		struct elf_symbol *symbol = &symbols->items[i];
		const struct range *range;
		uint64_t end, size, function = UINT64_MAX;

		if (symbol->size)
			continue;
		range = find_range(&collector->sections, symbol->address);
		if (!range)
			range = find_range(&collector->segments, symbol->address);
		end = range ? range->end : symbol->address;
		if (i + 1 < symbols->count && symbols->items[i + 1].address < end)
			end = symbols->items[i + 1].address;
		if (has_functions)
			function = function_starts_above(&functions, symbol->address);
		if (function < end)
			end = function;
		size = end - symbol->address;
		symbol->size = size < SIZE_MAX_BYTES ? size : SIZE_MAX_BYTES;
	}
}

int elf_symbols_init(struct elf_symbols *symbols, const struct elf_image *image)
{
	static const uint32_t types[] = { SHT_SYMTAB, SHT_DYNSYM };
	struct elf_symbols result = { 0 };
	struct collector collector = { .image = image };
	int damaged = 0;

	find_code(&collector);
	for (uint32_t i = 0; i < 2; i++) {
		const struct elf_section *section = elf_image_find_section_of_type(image, types[i]);
		int err;

		if (!section)
			continue;
		collector.is_dynamic = i;
		err = collect_table(&collector, section);
		result.names[i] = collector.names;
		if (err == -ENOMEM) {
			symbol_vector_deinit(&collector.symbols);
			return err;
		}
		if (err)
			damaged = err;
	}
	if (!collector.symbols.count) {
		symbol_vector_deinit(&collector.symbols);
		return damaged ? damaged : fail(-ENOENT, "no function symbols");
	}
	if (!sort_by_address(&collector.symbols))
		qsort(collector.symbols.items, collector.symbols.count, sizeof(struct elf_symbol),
		      compare_symbols);
	remove_rivals(&collector.symbols);
	set_missing_sizes(&collector);
	result.count = collector.symbols.count;
	result.symbols =
		vector_shrink(collector.symbols.items, result.count * sizeof(struct elf_symbol));
	*symbols = result;
	return 0;
}

void elf_symbols_deinit(struct elf_symbols *symbols)
{
	for (size_t i = 0; i < sizeof(symbols->names) / sizeof(symbols->names[0]); i++)
		elf_bytes_deinit(&symbols->names[i].bytes);
	free(symbols->symbols);
	*symbols = (struct elf_symbols){ 0 };
}

void elf_symbols_load_names(struct elf_symbols *symbols, const struct elf_image *image,
			    uint64_t limit)
{
	for (size_t i = 0; i < sizeof(symbols->names) / sizeof(symbols->names[0]); i++) {
		struct elf_string_table *table = &symbols->names[i];

		if (elf_image_load_range(image, table->offset, table->size, limit, &table->bytes))
			table->bytes = (struct elf_bytes){ 0 };
	}
}

/* Reads a part of a string table that lies in it. */
static int read_text(const struct elf_string_table *table, const struct elf_image *image,
		     uint64_t offset, char *text, size_t bytes)
{
	if (!table->bytes.data)
		return elf_image_read(image, table->offset + offset, text, bytes);
	memcpy(text, table->bytes.data + offset, bytes);
	return 0;
}

const struct elf_symbol *elf_symbols_lookup(const struct elf_symbols *symbols, uint64_t address)
{
	uint32_t low = 0, high = symbols->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (symbols->symbols[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* Here low is the number of symbols that begin at or below the address. */
	for (uint32_t i = 0; i < NESTING_MAX && i < low; i++) {
		const struct elf_symbol *symbol = &symbols->symbols[low - 1 - i];

		if (address - symbol->address < symbol->size)
			return symbol;
	}
	return NULL;
}

int elf_symbols_name(const struct elf_symbols *symbols, const struct elf_image *image,
		     const struct elf_symbol *symbol, char *name, size_t capacity)
{
	const struct elf_string_table *table = &symbols->names[symbol->is_dynamic];
	char text[ELF_SYMBOL_NAME_MAX_BYTES];
	size_t length = 0, limit = capacity < sizeof(text) ? capacity : sizeof(text);
	const char *end = NULL;

	if (symbol->name >= table->size)
		return fail(-EBADMSG, "a symbol's name lies outside of the string table");
	if (limit > table->size - symbol->name)
		limit = table->size - symbol->name;
	while (!end && length < limit) {
		size_t chunk = limit - length < NAME_CHUNK_BYTES ? limit - length :
								   NAME_CHUNK_BYTES;
		int err = read_text(table, image, symbol->name + length, text + length, chunk);

		if (err)
			return err;
		end = memchr(text + length, '\0', chunk);
		length += chunk;
	}
	if (end)
		length = end - text;
	else if (length == table->size - symbol->name)
		return fail(-EBADMSG, "a symbol's name does not end within the string table");
	else if (length)
		length--;
	if (!length)
		return fail(-ENOENT, "a symbol without a name");
	memcpy(name, text, length);
	name[length] = '\0';
	return 0;
}

bool elf_symbols_is_entry(const struct elf_symbols *symbols, const struct elf_image *image,
			  const struct elf_symbol *symbol)
{
	char name[ELF_SYMBOL_NAME_MAX_BYTES];

	return symbol->rank < RANK_LABEL &&
	       (elf_symbols_name(symbols, image, symbol, name, sizeof(name)) ||
		!strstr(name, ".cold"));
}
