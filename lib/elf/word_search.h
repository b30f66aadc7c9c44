/* SPDX-License-Identifier: Apache-2.0 */
/** Iterates over the words of an ELF file's segments, for data that can only be found by its content. */
#ifndef LIB_ELF_WORD_SEARCH_H
#define LIB_ELF_WORD_SEARCH_H

#include <stddef.h>
#include <stdint.h>

#include "lib/elf/elf_image.h"

/** An iterator over words of 8 bytes that are aligned in memory, unrelocated. */
struct word_search {
	/** Borrowed. */
	const struct elf_image *image;
	const struct elf_segment *segments;
	uint32_t segment_count;
	/** The rest is private. */
	uint32_t flags;
	uint32_t segment_index;
	/** Offset in the segment, and bytes to be searched from the segment's start on. */
	uint64_t offset;
	uint64_t left;
	uint64_t *words;
	size_t word_count;
	size_t next_word;
	uint64_t address;
};

/** Iterates over the first @max_bytes of the segments that are loaded with all of @flags (PF_...). */
void word_search_init(struct word_search *search, const struct elf_image *image, uint32_t flags,
		      uint64_t max_bytes);
/** Iterates over a section. @segment is filled from it, and borrowed. */
void word_search_init_section(struct word_search *search, const struct elf_image *image,
			      const struct elf_section *section, struct elf_segment *segment);
void word_search_deinit(struct word_search *search);

/** Reads the next words: 1, 0 at the end, -ENOMEM, -EIO. Damaged parts of a segment are left out. */
int word_search_read(struct word_search *search);

/** Returns the next word and its ELF virtual address: 1, otherwise as word_search_read(). */
static inline int word_search_next(struct word_search *search, uint64_t *address, uint64_t *word)
{
	int more = search->next_word < search->word_count ? 1 : word_search_read(search);

	if (more <= 0)
		return more;
	*address = search->address + search->next_word * sizeof(*word);
	*word = search->words[search->next_word++];
	return 1;
}

/** As word_search_next() for words that are @value where @mask has ones. Rare words are found several times as fast. */
static inline int word_search_next_masked(struct word_search *search, uint64_t mask, uint64_t value,
					  uint64_t *address, uint64_t *word)
{
	int more;

	for (;;) {
		const uint64_t *words = search->words;
		size_t i = search->next_word, count = search->word_count;

		while (i < count && (words[i] & mask) != value)
			i++;
		search->next_word = i;
		if (i < count)
			return word_search_next(search, address, word);
		more = word_search_read(search);
		if (more <= 0)
			return more;
	}
}

#endif
