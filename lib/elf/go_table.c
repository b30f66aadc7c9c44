/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A header is accepted if all checks that need no pass over the table succeed: its parts lie in the table, its
 * functions in executable segments, and the runtime's own description of the file agrees. Programs may have
 * other programs in their data; these checks reject their tables.
 */
#include "lib/elf/go_table.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/elf/go_build_info.h"
#include "lib/elf/go_module.h"
#include "lib/elf/word_search.h"

enum {
	/* Limit of candidates for a header that turn out to be none. */
	CANDIDATES_MAX = 16,
	/* Number of functions that are looked at to distinguish two layouts of Go 1.2's table. */
	VOTERS_MAX = 4096,
};

static const struct go_layout layout_1_2 = {
	.address_bytes = 8,
	.funcdata_count = 36,
	.funcdata_count_bytes = 4,
	.bytes = 40,
	.inline_tree = GO_INLINE_TREE_1_9,
	.inline_pcdata = 1,
	.inline_funcdata = 2,
};

static const struct go_layout layout_1_12 = {
	.address_bytes = 8,
	.id = 36,
	.funcdata_count = 39,
	.funcdata_count_bytes = 1,
	.bytes = 40,
	.inline_tree = GO_INLINE_TREE_1_12,
	.inline_pcdata = 1,
	.inline_funcdata = 2,
};

static const struct go_layout layout_1_13 = {
	.address_bytes = 8,
	.id = 36,
	.funcdata_count = 39,
	.funcdata_count_bytes = 1,
	.bytes = 40,
	.inline_tree = GO_INLINE_TREE_1_12,
	.inline_pcdata = 2,
	.inline_funcdata = 4,
};

static const struct go_layout layout_1_16 = {
	.address_bytes = 8,
	.unit = 36,
	.id = 40,
	.funcdata_count = 43,
	.funcdata_count_bytes = 1,
	.bytes = 44,
	.inline_tree = GO_INLINE_TREE_1_12,
	.inline_pcdata = 2,
	.inline_funcdata = 3,
};

static const struct go_layout layout_1_18 = {
	.address_bytes = 4,
	.unit = 32,
	.id = 36,
	.funcdata_count = 39,
	.funcdata_count_bytes = 1,
	.bytes = 40,
	.inline_tree = GO_INLINE_TREE_1_12,
	.inline_pcdata = 2,
	.inline_funcdata = 3,
};

static const struct go_layout layout_1_20 = {
	.address_bytes = 4,
	.unit = 32,
	.start_line = 36,
	.id = 40,
	.funcdata_count = 43,
	.funcdata_count_bytes = 1,
	.bytes = 44,
	.inline_tree = GO_INLINE_TREE_1_20,
	.inline_pcdata = 2,
	.inline_funcdata = 3,
};

/*
 * Up to Go 1.11 the count of funcdata has 4 bytes; later it is only the last of these bytes. So that byte is 0
 * in all functions of older versions, but not in all functions of later ones.
 */
static int count_is_a_byte(struct go_table *table, bool *is_byte)
{
	const struct go_header *header = &table->header;

	*is_byte = false;
	for (uint32_t i = 0; i < header->function_count && i < VOTERS_MAX; i++) {
		uint64_t function;
		uint8_t count;
		int err = elf_pages_read(&table->pages, header->index.offset + i * 16ULL + 8,
					 &function, sizeof(function));

		if (!err && function > header->functions.bytes - layout_1_12.bytes)
			err = fail(-EBADMSG, "a function of Go's table at %#" PRIx64, function);
		if (!err)
			err = elf_pages_read(&table->pages,
					     header->functions.offset + function +
						     layout_1_12.funcdata_count,
					     &count, sizeof(count));
		if (err)
			return err;
		if (count) {
			*is_byte = true;
			return 0;
		}
	}
	return 0;
}

static int set_layout_1_2(struct go_table *table)
{
	bool is_byte = true;
	int err = table->minor ? 0 : count_is_a_byte(table, &is_byte);

	if (err)
		return err;
	if (table->minor >= 13) {
		table->layout = layout_1_13;
	} else if (is_byte) {
		table->layout = layout_1_12;
		/*
		 * The file is of 1.12, or of a later version without build information: the format of the tree
		 * is not known.
		 */
		table->layout.inline_tree = GO_INLINE_TREE_NONE;
	} else {
		table->layout = layout_1_2;
	}
	return 0;
}

static int set_layout(struct go_table *table)
{
	switch (table->header.version) {
	case GO_TABLE_1_2:
		return set_layout_1_2(table);
	case GO_TABLE_1_16:
		table->layout = layout_1_16;
		return 0;
	case GO_TABLE_1_18:
		table->layout = layout_1_18;
		return 0;
	case GO_TABLE_1_20:
		table->layout = layout_1_20;
		return 0;
	}
	return fail(-EOPNOTSUPP, "Go's table has version %d", table->header.version);
}

static int set_addresses_from_module(struct go_table *table)
{
	struct go_module module;
	uint32_t first, last;
	int err = go_module_find(&module, &table->pages, &table->relocations, &table->header);

	if (!err)
		err = elf_pages_read(&table->pages, table->header.index.offset, &first,
				     sizeof(first));
	if (!err)
		err = elf_pages_read(&table->pages,
				     table->header.index.offset + table->header.index.bytes -
					     sizeof(last),
				     &last, sizeof(last));
	if (err)
		return err;
	table->text = module.text;
	table->funcdata = module.funcdata;
	table->first_address = module.text + first;
	table->end_address = module.text + last;
	table->header.functions.bytes = module.functions_bytes;
	return 0;
}

/* Before 1.18: addresses in the index, which may be relocated. */
static int set_addresses_from_index(struct go_table *table)
{
	const struct go_header *header = &table->header;
	uint64_t address = header->address + (header->index.offset - header->offset);
	int err = elf_relocations_word(&table->relocations, &table->pages, address,
				       &table->first_address);

	return err ? err :
		     elf_relocations_word(&table->relocations, &table->pages,
					  address + header->index.bytes - sizeof(uint64_t),
					  &table->end_address);
}

static bool is_executable(const struct elf_image *image, uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct elf_segment *segment = &image->segments[i];

		if (segment->type == PT_LOAD && segment->flags & PF_X &&
		    start >= segment->address && end > start &&
		    end - segment->address <= segment->file_bytes)
			return true;
	}
	return false;
}

/* Opens the table whose header is at @address, if there is one. */
static int open_table(struct go_table *table, uint64_t address, uint64_t bytes)
{
	const struct elf_image *image = table->pages.image;
	int err = go_header_read(&table->header, image, address, bytes);

	if (!err)
		err = table->header.version < GO_TABLE_1_18 ? set_addresses_from_index(table) :
							      set_addresses_from_module(table);
	if (err)
		return err;
	if (!is_executable(image, table->first_address, table->end_address))
		return fail(-EBADMSG,
			    "functions of Go from %#" PRIx64 " to %#" PRIx64 " are not executable",
			    table->first_address, table->end_address);
	return set_layout(table);
}

static int search_words(struct go_table *table, struct word_search *words)
{
	uint16_t machine = table->pages.image->machine;
	uint64_t upper_half = (uint64_t)go_header_upper_half(machine) << 32;
	uint32_t candidate_count = 0;
	uint64_t address, word;
	int more;

	while ((more = word_search_next_masked(words, ~(uint64_t)UINT32_MAX, upper_half, &address,
					       &word)) > 0) {
		int err;

		if (!go_header_is_magic(word, machine))
			continue;
		if (++candidate_count > CANDIDATES_MAX)
			return fail(-EBADMSG, "too many headers of Go's table");
		err = open_table(table, address, UINT64_MAX);
		/* A header of an unknown version may be the file's only one, and of a future Go. */
		if (!err || err == -EOPNOTSUPP || err == -ENOMEM)
			return err;
	}
	return more ? more : fail(-ENOENT, "no table of Go");
}

static int search_segments(struct go_table *table)
{
	struct word_search words;
	int err;

	word_search_init(&words, table->pages.image, 0, GO_TABLE_SEARCH_MAX_BYTES);
	err = search_words(table, &words);
	word_search_deinit(&words);
	return err;
}

static int find_table(struct go_table *table)
{
	/* The second name is for position-independent files up to 1.25 made by Go's own linker. */
	static const char *const names[] = { ".gopclntab", ".data.rel.ro.gopclntab" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct elf_section *section =
			elf_image_find_section(table->pages.image, names[i]);

		if (section && section->type != SHT_NOBITS)
			return open_table(table, section->address, section->size);
	}
	return search_segments(table);
}

int go_table_init(struct go_table *table, const struct elf_image *image)
{
	struct go_build_info info;
	int err;

	memset(table, 0, sizeof(*table));
	elf_pages_init(&table->pages, image);
	elf_relocations_init(&table->relocations, image);
	/* The build information is needed for details only, and files of Go 1.12 have none. */
	err = go_build_info_read(&info, &table->pages, &table->relocations);
	if (!err)
		table->minor = info.minor;
	if (err != -ENOMEM)
		err = find_table(table);
	if (err)
		go_table_deinit(table);
	return err;
}

void go_table_deinit(struct go_table *table)
{
	if (table)
		elf_pages_deinit(&table->pages);
}

void go_table_release(struct go_table *table)
{
	elf_pages_release(&table->pages);
}
