/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/elf/word_search.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "lib/base/error.h"

enum {
	STEP_WORDS = 8192,
};

void word_search_init(struct word_search *search, const struct elf_image *image, uint32_t flags,
		      uint64_t max_bytes)
{
	*search = (struct word_search){
		.image = image,
		.segments = image->segments,
		.segment_count = image->segment_count,
		.flags = flags,
		.left = max_bytes,
	};
}

void word_search_init_section(struct word_search *search, const struct elf_image *image,
			      const struct elf_section *section, struct elf_segment *segment)
{
	*segment = (struct elf_segment){
		.type = PT_LOAD,
		.offset = section->offset,
		.address = section->address,
		.file_bytes = section->size,
	};
	*search = (struct word_search){
		.image = image,
		.segments = segment,
		.segment_count = 1,
		.left = section->size,
	};
}

void word_search_deinit(struct word_search *search)
{
	free(search->words);
}

static bool is_searched(const struct word_search *search, const struct elf_segment *segment)
{
	return segment->type == PT_LOAD && (segment->flags & search->flags) == search->flags;
}

static void leave_segment(struct word_search *search, const struct elf_segment *segment)
{
	if (is_searched(search, segment))
		search->left -= segment->file_bytes < search->left ? segment->file_bytes :
								     search->left;
	search->segment_index++;
	search->offset = 0;
}

/* As word_search_read(), but 0 at the end of the segment. */
static int read_segment(struct word_search *search, const struct elf_segment *segment)
{
	uint64_t bytes = segment->file_bytes < search->left ? segment->file_bytes : search->left;
	uint64_t count;
	int err;

	if (!search->offset)
		search->offset = -segment->address % sizeof(*search->words);
	if (!is_searched(search, segment) || search->offset >= bytes ||
	    segment->offset > UINT64_MAX - bytes)
		return 0;
	count = (bytes - search->offset) / sizeof(*search->words);
	if (count > STEP_WORDS)
		count = STEP_WORDS;
	err = elf_image_read(search->image, segment->offset + search->offset, search->words,
			     count * sizeof(*search->words));
	if (err)
		return err == -EBADMSG ? 0 : err;
	search->address = segment->address + search->offset;
	search->offset += count * sizeof(*search->words);
	search->word_count = count;
	search->next_word = 0;
	return count > 0;
}

int word_search_read(struct word_search *search)
{
	if (!search->words)
		search->words = malloc(STEP_WORDS * sizeof(*search->words));
	if (!search->words)
		return fail(-ENOMEM, "no memory to search a file");
	while (search->segment_index < search->segment_count) {
		const struct elf_segment *segment = &search->segments[search->segment_index];
		int more = read_segment(search, segment);

		if (more)
			return more;
		leave_segment(search, segment);
	}
	return 0;
}
