/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two searches, each linear in the file: for the word in writable segments, and for relocations that write it.
 * A candidate that is no moduledata costs 48 words, and the number of candidates is limited.
 */
#include "lib/elf/go_module.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/elf/word_search.h"

enum {
	/* Indexes of words: a slice is a pointer, a length and a capacity. */
	WORD_HEADER = 0,
	WORD_NAMES = 1,
	WORD_FILES = 4,
	WORD_FILE_NAMES = 7,
	WORD_VALUES = 10,
	WORD_FUNCTIONS = 13,
	WORD_INDEX = 16,
	WORD_FIRST_ADDRESS = 20,
	WORD_LAST_ADDRESS = 21,
	WORD_TEXT = 22,
	WORD_TEXT_END = 23,
	WORD_COUNT = 48,
	CANDIDATES_MAX = 64,
	/* From Go 1.26 on the funcdata follows the functions, aligned. */
	FUNCDATA_MAX_GAP_BYTES = 64,
};

/* The words behind the common ones, which depend on the version. */
struct layout {
	enum go_table_version version;
	uint32_t funcdata;
	/* The slice of sections of code. */
	uint32_t text_sections;
	/* The funcdata is part of the table, and the next word is its end. */
	bool is_in_table;
};

static const struct layout layouts[] = {
	/* 1.18, 1.19 */
	{ .version = GO_TABLE_1_18, .funcdata = 38, .text_sections = 39 },
	/* 1.27 */
	{ .version = GO_TABLE_1_20, .funcdata = 43, .text_sections = 45, .is_in_table = true },
	/* 1.26 */
	{ .version = GO_TABLE_1_20, .funcdata = 40, .text_sections = 42, .is_in_table = true },
	/* 1.20 to 1.25 */
	{ .version = GO_TABLE_1_20, .funcdata = 40, .text_sections = 41 },
};

struct search {
	struct elf_pages *pages;
	struct elf_relocations *relocations;
	const struct go_header *header;
	uint32_t candidate_count;
};

/* A slice over @part of the table, which starts at its address and has one length. */
static bool is_part(const uint64_t *words, const struct go_header *header,
		    const struct go_part *part)
{
	return words[0] == header->address + (part->offset - header->offset) &&
	       words[1] == words[2];
}

static bool fits_layout(const struct layout *layout, const struct go_header *header,
			const struct elf_image *image, const uint64_t *words)
{
	const uint64_t *sections = &words[layout->text_sections];
	uint64_t functions_end = words[WORD_FUNCTIONS] + words[WORD_FUNCTIONS + 1];
	uint64_t funcdata = words[layout->funcdata];

	/* More than one section of code exists only on other machines (splitTextSections()). */
	if (layout->version != header->version || sections[1] != 1 || sections[2] != 1)
		return false;
	if (layout->is_in_table)
		return funcdata >= functions_end &&
		       funcdata - functions_end < FUNCDATA_MAX_GAP_BYTES &&
		       words[layout->funcdata + 1] >= funcdata;
	return elf_image_bytes_at_address(image, funcdata) &&
	       elf_image_bytes_at_address(image, sections[0]);
}

/* The checks that the runtime makes when it starts (moduledataverify1()). */
static bool fits_index(struct elf_pages *pages, const struct go_header *header,
		       const uint64_t *words)
{
	uint32_t first, last;

	if (elf_pages_read(pages, header->index.offset, &first, sizeof(first)) ||
	    elf_pages_read(pages, header->index.offset + header->index.bytes - sizeof(last), &last,
			   sizeof(last)))
		return false;
	return first < last && words[WORD_FIRST_ADDRESS] == words[WORD_TEXT] + first &&
	       words[WORD_LAST_ADDRESS] == words[WORD_TEXT] + last &&
	       words[WORD_LAST_ADDRESS] <= words[WORD_TEXT_END] &&
	       words[WORD_TEXT] < words[WORD_TEXT_END];
}

/* -ENOENT if there is none at @address. */
static int try_module(struct search *search, uint64_t address, struct go_module *module)
{
	const struct go_header *header = search->header;
	uint64_t words[WORD_COUNT];
	int err = 0;

	if (++search->candidate_count > CANDIDATES_MAX)
		return fail(-EBADMSG, "too many pointers to Go's table");
	for (int i = 0; !err && i < WORD_COUNT; i++)
		err = elf_relocations_word(search->relocations, search->pages,
					   address + i * sizeof(words[0]), &words[i]);
	if (err)
		return err == -EBADMSG ? -ENOENT : err;
	if (words[WORD_HEADER] != header->address ||
	    !is_part(words + WORD_NAMES, header, &header->names) ||
	    !is_part(words + WORD_FILES, header, &header->files) ||
	    !is_part(words + WORD_FILE_NAMES, header, &header->file_names) ||
	    !is_part(words + WORD_VALUES, header, &header->values) ||
	    !is_part(words + WORD_FUNCTIONS, header, &header->functions) ||
	    !is_part(words + WORD_INDEX, header, &header->index) ||
	    words[WORD_FUNCTIONS + 1] > header->functions.bytes ||
	    words[WORD_INDEX + 1] != header->function_count + 1ULL ||
	    !fits_index(search->pages, header, words))
		return -ENOENT;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		if (!fits_layout(&layouts[i], header, search->pages->image, words))
			continue;
		*module = (struct go_module){
			.address = address,
			.text = words[WORD_TEXT],
			.text_end = words[WORD_TEXT_END],
			.funcdata = words[layouts[i].funcdata],
			.functions_bytes = words[WORD_FUNCTIONS + 1],
		};
		return 0;
	}
	return fail(-EOPNOTSUPP, "moduledata of an unknown version of Go at %#" PRIx64, address);
}

static int search_words(struct search *search, struct word_search *words, struct go_module *module)
{
	uint64_t address, word;
	int more;

	while ((more = word_search_next_masked(words, UINT64_MAX, search->header->address, &address,
					       &word)) > 0) {
		int err = try_module(search, address, module);

		if (err != -ENOENT)
			return err;
	}
	return more ? more : -ENOENT;
}

static int search_segments(struct search *search, struct go_module *module)
{
	struct word_search words;
	int err;

	word_search_init(&words, search->pages->image, PF_W, GO_MODULE_SEARCH_MAX_BYTES);
	err = search_words(search, &words, module);
	word_search_deinit(&words);
	return err;
}

static int search_relocations(struct search *search, struct go_module *module)
{
	uint64_t cursor = 0, address;
	int err;

	for (;;) {
		err = elf_relocations_find(search->relocations, search->pages,
					   search->header->address, &cursor, &address);
		if (!err)
			err = try_module(search, address, module);
		else if (err == -ENOENT)
			return fail(-ENOENT, "no moduledata for Go's table at %#" PRIx64,
				    search->header->address);
		if (err != -ENOENT)
			return err;
	}
}

int go_module_find(struct go_module *module, struct elf_pages *pages,
		   struct elf_relocations *relocations, const struct go_header *header)
{
	struct search search = { .pages = pages, .relocations = relocations, .header = header };
	int err = search_segments(&search, module);

	if (err == -ENOENT)
		err = search_relocations(&search, module);
	return err;
}
