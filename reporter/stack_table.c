/* SPDX-License-Identifier: Apache-2.0 */
/* Where the samples come from, as comments; then one line per stack, with its share. */

#include "reporter/stack_table.h"

int stack_table_write(FILE *out, const struct stack_counts *counts,
		      const struct sample_snapshot *snapshot, const struct profile_info *info)
{
	int err = profile_info_write_lines(out, info, snapshot);

	for (size_t i = 0; i < counts->stacks.sequences.count; i++) {
		const struct counted_sequence *stack = &counts->stacks.sequences.items[i];

		fprintf(out, "%.1f%% ", 100.0 * (double)stack->count / (double)counts->total);
		stack_counts_write_stack(counts, stack, out);
		putc('\n', out);
	}
	return err;
}
