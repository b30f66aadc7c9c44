// SPDX-License-Identifier: Apache-2.0
/* Unwinds deferred samples, over the copy of the stack in each. */
#include "agent/deferred_unwinder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/unwind/user_unwind.h"
#include "lib/base/error.h"

struct deferred_unwinder {
	struct user_unwinder unwinder;
	struct user_unwind *unwind;
	struct emulated_trace trace;
	/* State of the current unwind. */
	const struct deferred_sample *sample;
	uint64_t stack_start;
};

/* Whether one of the @size bytes at @offset is in a page that is not in the copy. */
static bool is_missing(const struct deferred_unwinder *deferred, uint64_t offset, size_t size)
{
	uint64_t in_page = deferred->stack_start % DEFERRED_PAGE_BYTES;
	uint64_t first = (in_page + offset) / DEFERRED_PAGE_BYTES;
	uint64_t last = (in_page + offset + size - 1) / DEFERRED_PAGE_BYTES;

	for (uint64_t page = first; page <= last; page++)
		if (deferred->sample->missing_pages >> page & 1)
			return true;
	return false;
}

static int read_stack_copy(void *context, uint64_t address, void *bytes, size_t size)
{
	const struct deferred_unwinder *deferred = context;
	uint64_t offset = address - deferred->stack_start,
		 stack_bytes = deferred->sample->stack_bytes;

	if (!size || offset >= stack_bytes || size > stack_bytes - offset ||
	    is_missing(deferred, offset, size))
		return -EFAULT;
	memcpy(bytes, deferred->sample->stack + offset, size);
	return 0;
}

static uint32_t unwind(struct user_unwinder *unwinder, const struct deferred_sample *sample,
		       const struct user_tables *tables, uint64_t *words, uint32_t capacity,
		       bool *reached_end)
{
	struct deferred_unwinder *deferred = (struct deferred_unwinder *)unwinder;
	struct emulated_start start = {
		.frame_flags = sample->frame_flags,
		.unknown = sample->unknown,
	};

	memcpy(start.registers, sample->registers, sizeof(start.registers));
	deferred->sample = sample;
	deferred->stack_start = emulated_stack_pointer(&start) - sample->below_bytes;
	if (user_unwind_run(deferred->unwind, tables, read_stack_copy, deferred, &start,
			    &deferred->trace) ||
	    deferred->trace.word_count > capacity)
		return 0;
	memcpy(words, deferred->trace.words, deferred->trace.word_count * sizeof(*words));
	*reached_end = !deferred->trace.error;
	return deferred->trace.word_count;
}

static const struct user_unwinder_ops ops = { .unwind = unwind };

int deferred_unwinder_create(struct deferred_unwinder **deferred)
{
	struct deferred_unwinder *created = calloc(1, sizeof(*created));
	int err;

	if (!created)
		return fail(-ENOMEM, "no memory for the unwinds of deferred samples");
	err = user_unwind_create(&created->unwind);
	if (err) {
		deferred_unwinder_destroy(created);
		return err;
	}
	created->unwinder.ops = &ops;
	*deferred = created;
	return 0;
}

void deferred_unwinder_destroy(struct deferred_unwinder *deferred)
{
	if (!deferred)
		return;
	user_unwind_destroy(deferred->unwind);
	free(deferred);
}

struct user_unwinder *deferred_unwinder_interface(struct deferred_unwinder *deferred)
{
	return &deferred->unwinder;
}
