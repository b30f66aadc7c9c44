// SPDX-License-Identifier: Apache-2.0
/* Unwinds first samples, over the copy of the stack in each. */
#include "agent/first_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/unwind/user_walk.h"
#include "lib/base/error.h"

struct first_walk {
	struct first_unwinder unwinder;
	struct user_walk *walk;
	struct emulated_trace trace;
	/* State of the current unwind. */
	const struct first_sample *sample;
	uint64_t stack_start;
};

static int read_stack_copy(void *context, uint64_t address, void *bytes, size_t size)
{
	const struct first_walk *walk = context;
	uint64_t offset = address - walk->stack_start, stack_bytes = walk->sample->stack_bytes;

	if (offset >= stack_bytes || size > stack_bytes - offset)
		return -EFAULT;
	memcpy(bytes, walk->sample->stack + offset, size);
	return 0;
}

static uint32_t unwind(struct first_unwinder *unwinder, const struct first_sample *sample,
		       const struct first_tables *tables, uint64_t *words, uint32_t capacity,
		       bool *reached_end)
{
	struct first_walk *walk = (struct first_walk *)unwinder;
	struct emulated_start start = {
		.frame_flags = sample->frame_flags,
		.unknown = sample->unknown,
	};

	memcpy(start.registers, sample->registers, sizeof(start.registers));
	walk->sample = sample;
	walk->stack_start = emulated_stack_pointer(&start) - sample->below_bytes;
	if (user_walk_run(walk->walk, tables, read_stack_copy, walk, &start, &walk->trace) ||
	    walk->trace.word_count > capacity)
		return 0;
	memcpy(words, walk->trace.words, walk->trace.word_count * sizeof(*words));
	*reached_end = !walk->trace.error;
	return walk->trace.word_count;
}

static const struct first_unwinder_ops ops = { .unwind = unwind };

int first_walk_create(struct first_walk **walk)
{
	struct first_walk *created = calloc(1, sizeof(*created));
	int err;

	if (!created)
		return fail(-ENOMEM, "no memory for the walks of first samples");
	err = user_walk_create(&created->walk);
	if (err) {
		first_walk_destroy(created);
		return err;
	}
	created->unwinder.ops = &ops;
	*walk = created;
	return 0;
}

void first_walk_destroy(struct first_walk *walk)
{
	if (!walk)
		return;
	user_walk_destroy(walk->walk);
	free(walk);
}

struct first_unwinder *first_walk_unwinder(struct first_walk *walk)
{
	return &walk->unwinder;
}
