/* SPDX-License-Identifier: Apache-2.0 */
/* One line per stack. */

#include "reporter/folded.h"

#include <inttypes.h>

void folded_write(FILE *out, const struct stack_counts *counts)
{
	for (size_t i = 0; i < counts->stacks.sequences.count && !ferror(out); i++) {
		const struct counted_sequence *stack = &counts->stacks.sequences.items[i];

		stack_counts_write_stack(counts, stack, out);
		fprintf(out, " %" PRIu64 "\n", stack->count);
	}
}
