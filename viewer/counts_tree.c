/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/counts_tree.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"

size_t counts_tree_name_length(const struct stack_counts *counts, uint32_t id)
{
	const struct text_trait *trait = &counts->traits.items[id];
	const char *text = counts->strings.items[id];
	size_t length = strlen(text);
	bool is_marked = trait->kind == TEXT_KERNEL || trait->kind == TEXT_JIT || trait->flags;

	return is_marked && length > 4 && !strncmp(text + length - 4, "_[", 2) ? length - 4 :
										 length;
}

static int compare_strings(const void *a, const void *b, void *context)
{
	const struct stack_counts *counts = context;

	return strcmp(counts->strings.items[*(const uint32_t *)a],
		      counts->strings.items[*(const uint32_t *)b]);
}

/*
 * The rank of each text in text order, indexed by id. The caller frees it; NULL without memory.
 */
static uint32_t *rank_strings(const struct stack_counts *counts)
{
	size_t count = counts->strings.count;
	_cleanup_(free_pointer) uint32_t *sorted = calloc(count + 1, sizeof(*sorted));
	uint32_t *ranks = calloc(count + 1, sizeof(*ranks));

	if (!sorted || !ranks) {
		free(ranks);
		return NULL;
	}
	for (uint32_t i = 0; i < count; i++)
		sorted[i] = i;
	qsort_r(sorted, count, sizeof(*sorted), compare_strings, (void *)counts);
	for (uint32_t i = 0; i < count; i++)
		ranks[sorted[i]] = i;
	return ranks;
}

int counts_tree_init(struct flame_tree *tree, const struct stack_counts *counts, size_t max_nodes)
{
	_cleanup_(flame_stack_vector_deinit) struct flame_stack_vector stacks = { 0 };
	_cleanup_(free_pointer) uint32_t *ranks = rank_strings(counts);
	int err = ranks ? 0 : -ENOMEM;

	for (size_t i = 0; i < counts->stacks.sequences.count && !err; i++) {
		const struct counted_sequence *sequence = &counts->stacks.sequences.items[i];

		err = flame_stack_vector_push(
			&stacks, (struct flame_stack){
					 .ids = counts->stacks.numbers.items + sequence->first,
					 .length = sequence->length,
					 .count = sequence->count,
				 });
	}
	return err ? err : flame_tree_init(tree, &stacks, ranks, max_nodes);
}
